//! Every kernel family but matrix products against the reference, on every vector level of this machine.
#![cfg(feature = "llvm")]

mod support;

use piper_codegen::catalog::{self, AdamW};
use piper_codegen::kernel::{
    Access, Attention, Body, CrossEntropy, Dtype, Embedding, Kernel, Map, Mode, Norm, NormKind,
    Operand, bf16_from_f32, bf16_to_f32,
};
use piper_codegen::scalar::{Real, ScalarOp, ScalarProgram};
use support::{Data, Native, check, check_one, levels, random_data};

const REALS: [Dtype; 3] = [Dtype::F32, Dtype::F64, Dtype::Bf16];

#[test]
fn catalogue() {
    let c = AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 };
    for dtype in REALS {
        let mut kernels = vec![];
        for elems in [1, 7, 16, 33, 50, 257, 1000] {
            kernels.extend([
                catalog::add(dtype, elems),
                catalog::mul(dtype, elems),
                catalog::scale(dtype, elems, 0.3),
                catalog::copy(dtype, elems),
                catalog::fill(dtype, elems, 2.5),
                catalog::gelu(dtype, elems),
                catalog::gelu_dx(dtype, elems),
                catalog::silu(dtype, elems),
                catalog::silu_dx(dtype, elems),
                catalog::sgd(dtype, elems, 0.1, None),
                catalog::sgd(dtype, elems, 0.1, Some(0.9)),
            ]);
        }
        check(&kernels, &[0.01], 1, 10.0);
        // Second moments are not negative, so AdamW has data of its own.
        let adamw = catalog::adamw(dtype, 77, c);
        for level in levels() {
            let native = Native::new(std::slice::from_ref(&adamw), level);
            let mut data = random_data(&adamw, 5, 1);
            match &mut data[3] {
                Data::F32(v) => v.iter_mut().for_each(|x| *x = x.abs()),
                Data::F64(v) => v.iter_mut().for_each(|x| *x = x.abs()),
                Data::Bf16(v) => v.iter_mut().for_each(|x| *x &= 0x7fff),
                Data::I32(_) => unreachable!(),
            }
            for step in [1.0, 2.0, 1000.0, 1e6] {
                check_one(&native, &adamw, &data, &[0.01, step], 10.0, level);
            }
        }
    }
}

/// Far from zero, where a square or a cube overflows before what it is multiplied with vanishes.
#[test]
fn activations_of_extreme_values() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let inner = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    let gelu = |x: f64| x * sigmoid(2.0 * inner(x));
    let gelu_dx = |x: f64| {
        let s = sigmoid(2.0 * inner(x));
        let slope = 2.0 * (2.0 / std::f64::consts::PI).sqrt() * (1.0 + 3.0 * 0.044_715 * x * x);
        s + s * (1.0 - s) * x * slope
    };
    let silu = |x: f64| x * sigmoid(x);
    let silu_dx = |x: f64| sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)));
    let magnitudes = [0.0, 1e-30, 0.5, 3.0, 6.0, 20.0, 87.0, 89.0, 1e3, 1e10, 1e12, 1e14, 1e18];
    let x: Vec<f32> = magnitudes.iter().flat_map(|x| [*x, -x]).collect();
    let elems = x.len() as u64;
    type Function<'f> = &'f dyn Fn(f64) -> f64;
    let cases: [(Kernel, Function<'_>); 4] = [
        (catalog::gelu(Dtype::F32, elems), &gelu),
        (catalog::gelu_dx(Dtype::F32, elems), &gelu_dx),
        (catalog::silu(Dtype::F32, elems), &silu),
        (catalog::silu_dx(Dtype::F32, elems), &silu_dx),
    ];
    for (kernel, exact) in cases {
        let mut data = vec![Data::F32(x.clone()), Data::F32(vec![0.0; x.len()])];
        if kernel.parameters().len() == 3 {
            data.insert(1, Data::F32(vec![1.0; x.len()]));
        }
        for level in levels() {
            let native = Native::new(std::slice::from_ref(&kernel), level);
            let Some(Data::F32(y)) = native.run(&kernel, &data, &[]).pop() else { unreachable!() };
            for (&x, &y) in x.iter().zip(&y) {
                let exact = exact(f64::from(x));
                let error = (f64::from(y) - exact).abs();
                assert!(error <= 1e-6 + 1e-6 * exact.abs(), "{level:?} {kernel:?} of {x:e}: {y:e}");
            }
        }
    }
}

/// All operations, all access kinds, two outputs, one in place.
fn wide_map(rows: u64, cols: u64) -> Map {
    let mut p = ScalarProgram::default();
    let [full, row, column, one, own] = [0, 1, 2, 3, 4].map(|i| p.push(ScalarOp::Input(i)));
    let s = p.push(ScalarOp::Scalar(0));
    let sum = p.push(ScalarOp::Add(full, row));
    let larger = p.push(ScalarOp::Max(sum, column));
    let smaller = p.push(ScalarOp::Min(larger, one));
    let square = p.push(ScalarOp::Mul(smaller, smaller));
    let two = p.constant(2.0);
    let positive = p.push(ScalarOp::Add(square, two));
    let root = p.push(ScalarOp::Rsqrt(positive));
    let plain = p.push(ScalarOp::Sqrt(positive));
    let log = p.push(ScalarOp::Log(positive));
    let less = p.push(ScalarOp::Less(full, row));
    let chosen = p.push(ScalarOp::Select(less, root, log));
    let at_most = p.push(ScalarOp::LessEqual(column, one));
    let chosen = p.push(ScalarOp::Select(at_most, chosen, plain));
    let equal = p.push(ScalarOp::Equal(smaller, one));
    let chosen = p.push(ScalarOp::Select(equal, chosen, own));
    let negative = p.push(ScalarOp::Neg(chosen));
    let ratio = p.push(ScalarOp::Div(negative, positive));
    let scaled = p.push(ScalarOp::Mul(ratio, s));
    let difference = p.push(ScalarOp::Sub(own, scaled));
    p.results = vec![difference, scaled];
    let read = |access| Operand { access, mode: Mode::Read };
    let mut operands =
        [Access::Full, Access::Row, Access::Column, Access::Scalar].map(read).to_vec();
    operands.push(Operand { access: Access::Full, mode: Mode::ReadWrite });
    operands.push(Operand { access: Access::Full, mode: Mode::Write });
    let uniforms = ScalarProgram::identity_scalars(1);
    Map { rows, cols, operands, scalars: 1, uniforms, body: p, stores: vec![4, 5] }
}

#[test]
fn maps_with_broadcasts() {
    for dtype in REALS {
        let shapes = [(1, 1), (3, 5), (5, 16), (4, 33), (17, 8), (2, 100), (7, 257)];
        let kernels: Vec<_> = shapes
            .into_iter()
            .map(|(rows, cols)| Kernel::new(dtype, Body::Map(wide_map(rows, cols))))
            .collect();
        check(&kernels, &[1.5], 1, 10.0);
    }
}

#[test]
fn a_map_gives_the_same_bits_at_every_position_and_on_every_cpu() {
    for dtype in REALS {
        let kernels = [catalog::gelu(dtype, 3), catalog::gelu(dtype, 37)];
        let constant = |elems: usize| match dtype {
            Dtype::Bf16 => vec![Data::Bf16(vec![0x3ebd; elems]), Data::Bf16(vec![0; elems])],
            Dtype::F32 => vec![Data::F32(vec![0.37; elems]), Data::F32(vec![0.0; elems])],
            _ => vec![Data::F64(vec![0.37; elems]), Data::F64(vec![0.0; elems])],
        };
        for level in levels() {
            let native = Native::new(&kernels, level);
            let mut bits = native.run(&kernels[0], &constant(3), &[])[1].bits();
            bits.extend(native.run(&kernels[1], &constant(37), &[])[1].bits());
            assert!(bits.iter().all(|b| *b == bits[0]), "{level:?}: vector body and tail differ");
        }
        // Without transcendental functions every CPU gives the same bits, those of the reference.
        let kernel = Kernel::new(dtype, Body::Map(Map { body: linear(), ..wide_map(7, 29) }));
        let data = random_data(&kernel, 9, 1);
        let expected = support::by_reference(&kernel, &data, &[1.5]);
        for level in levels() {
            let actual =
                Native::new(std::slice::from_ref(&kernel), level).run(&kernel, &data, &[1.5]);
            assert!(expected.iter().zip(&actual).all(|(e, a)| e.bits() == a.bits()), "{level:?}");
        }
    }
}

/// `own - (full * row + column / one)`: a multiply-add that must not be fused.
fn linear() -> ScalarProgram {
    let mut p = ScalarProgram::default();
    let [full, row, column, one, own] = [0, 1, 2, 3, 4].map(|i| p.push(ScalarOp::Input(i)));
    let product = p.push(ScalarOp::Mul(full, row));
    let quotient = p.push(ScalarOp::Div(column, one));
    let sum = p.push(ScalarOp::Add(product, quotient));
    let difference = p.push(ScalarOp::Sub(own, sum));
    p.results = vec![difference, sum];
    p
}

#[test]
fn norms() {
    for dtype in REALS {
        let mut kernels = vec![];
        for (rows, cols) in [(1, 1), (3, 7), (5, 16), (4, 100), (2, 129), (33, 257), (7, 33)] {
            for kind in [NormKind::Layer, NormKind::Rms] {
                let n = Norm { kind, rows, cols, eps: Real::new(1e-5) };
                kernels.extend(
                    [
                        Body::Norm(n),
                        Body::NormDx { norm: n, adds: false },
                        Body::NormDx { norm: n, adds: true },
                        Body::NormDw(n),
                    ]
                    .map(|body| Kernel::new(dtype, body)),
                );
            }
        }
        // A single column has no variance, so its reciprocal deviation is 1/sqrt(eps) and amplifies rounding.
        check(&kernels, &[], 1, 400.0);
    }
}

#[test]
fn attention() {
    for dtype in REALS {
        let mut kernels = vec![];
        for (batch, seq, heads, kv_heads, head_dim) in [
            (1, 1, 1, 1, 1),
            (2, 5, 2, 1, 3),
            (1, 64, 4, 4, 32),
            (2, 33, 4, 2, 16),
            (1, 130, 2, 1, 8),
            (1, 300, 1, 1, 5),
            (2, 257, 2, 1, 33),
            (1, 7, 1, 1, 7),
            // Grouped heads over several blocks of keys, and heads wider than a register tile.
            (1, 193, 3, 1, 80),
            (2, 128, 2, 2, 64),
            (1, 129, 1, 1, 128),
        ] {
            let shape = Attention { batch, seq, heads, kv_heads, head_dim };
            kernels.push(Kernel::new(dtype, Body::Attention { shape, lse: false }));
            kernels.push(Kernel::new(dtype, Body::Attention { shape, lse: true }));
            kernels.push(Kernel::new(dtype, Body::AttentionDx(shape)));
        }
        // The gradient takes any lse: weights then need not sum to one, and are only somewhat larger.
        check(&kernels, &[], 1, 60.0);
    }
}

#[test]
fn rotary_positions_and_their_inverse() {
    for dtype in REALS {
        let mut kernels = vec![];
        for (batch, seq, heads, head_dim) in
            [(1, 1, 1, 2), (2, 7, 3, 10), (1, 20, 2, 64), (2, 3, 1, 36), (1, 257, 1, 66)]
        {
            for inverse in [false, true] {
                let base = Real::new(10000.0);
                kernels.push(Kernel::new(
                    dtype,
                    Body::Rotary { batch, seq, heads, head_dim, base, inverse },
                ));
            }
        }
        check(&kernels, &[], 1, 1.0);
    }
}

#[test]
fn losses() {
    for dtype in REALS {
        let mut kernels = vec![];
        for (rows, vocab) in [(1, 11), (5, 16), (9, 257), (64, 256), (2, 50), (7, 33), (257, 11)] {
            for lse in [false, true] {
                let c = CrossEntropy { rows, vocab, denominator: 3, lse };
                kernels.push(Kernel::new(dtype, Body::CrossEntropy(c)));
                kernels.push(Kernel::new(dtype, Body::CrossEntropyDx(c)));
            }
        }
        check(&kernels, &[], 11, 20.0);
    }
}

#[test]
fn tables_sums_and_clipping() {
    for dtype in REALS {
        let mut kernels = vec![];
        for (rows, vocab, dim) in [(1, 4, 1), (9, 5, 16), (20, 7, 37), (7, 4, 33), (33, 4, 257)] {
            let e = Embedding { rows, vocab, dim };
            kernels.push(Kernel::new(dtype, Body::Embedding(e)));
            kernels.push(Kernel::new(dtype, Body::EmbeddingDw(e)));
            kernels.push(Kernel::new(dtype, Body::SumRows { rows, cols: dim }));
            let (a, b, block) = (rows.max(1), 3, dim);
            kernels.push(Kernel::new(dtype, Body::SwapBlocks { a, b, block }));
            kernels.push(Kernel::new(dtype, Body::SumSquares { elems: rows * dim }));
        }
        kernels.push(Kernel::new(dtype, Body::ClipScale { max_norm: Real::new(0.1) }));
        // Same order of operations on both sides: the same bits.
        check(&kernels, &[], 4, 0.0);
    }
}

#[test]
fn illegal_tokens_give_nan_and_touch_nothing_else() {
    let (rows, vocab, dim) = (4, 3, 5);
    let e = Embedding { rows, vocab, dim };
    let c = CrossEntropy { rows, vocab, denominator: 4, lse: true };
    let bodies =
        [Body::Embedding(e), Body::EmbeddingDw(e), Body::CrossEntropy(c), Body::CrossEntropyDx(c)];
    let kernels = bodies.map(|body| Kernel::new(Dtype::F32, body));
    let native = Native::new(&kernels, piper_codegen::Target::host_level());
    for kernel in &kernels {
        let mut data = random_data(kernel, 1, 3);
        for d in &mut data {
            if let Data::I32(tokens) = d {
                tokens.copy_from_slice(&[1, -1, 3, i32::MAX]);
            }
        }
        check_one(&native, kernel, &data, &[], 10.0, piper_codegen::Target::host_level());
    }
}

/// Nothing licenses LLVM to reassociate or contract, so unoptimised code gives the same bits.
#[test]
fn optimisation_does_not_change_bits() {
    for dtype in REALS {
        let n = Norm { kind: NormKind::Layer, rows: 3, cols: 37, eps: Real::new(1e-5) };
        let shape = Attention { batch: 1, seq: 70, heads: 2, kv_heads: 1, head_dim: 9 };
        let c = CrossEntropy { rows: 3, vocab: 37, denominator: 3, lse: false };
        let bodies = [
            Body::Map(wide_map(3, 37)),
            Body::NormDx { norm: n, adds: true },
            Body::Attention { shape, lse: true },
            Body::AttentionDx(shape),
            Body::CrossEntropyDx(c),
        ];
        let kernels = bodies.map(|body| Kernel::new(dtype, body));
        for level in levels() {
            let plain = Native::optimised(&kernels, level, piper_codegen::OptLevel::None);
            let full = Native::new(&kernels, level);
            for kernel in &kernels {
                let data = random_data(kernel, 11, 37);
                let (a, b) = (plain.run(kernel, &data, &[0.5]), full.run(kernel, &data, &[0.5]));
                assert!(
                    a.iter().zip(&b).all(|(a, b)| a.bits() == b.bits()),
                    "{level:?} {kernel:?}"
                );
            }
        }
    }
}

/// Large results go past the caches where they are aligned; they are the same, and nothing beyond them is touched.
#[test]
fn large_results_are_the_same_wherever_they_lie() {
    let (rows, cols) = (8200, 1024);
    let norm = Norm { kind: NormKind::Rms, rows, cols, eps: Real::new(1e-5) };
    let narrow = Body::Cast { elems: 2 * rows * cols + 21, to: Dtype::Bf16 };
    let mut biased = ScalarProgram::default();
    let [x, bias] = [0, 1].map(|i| biased.push(ScalarOp::Input(i)));
    let sum = biased.push(ScalarOp::Add(x, bias));
    biased.results = vec![sum];
    let operand = |access, mode| Operand { access, mode };
    let operands =
        [(Access::Full, Mode::Read), (Access::Row, Mode::Read), (Access::Full, Mode::Write)]
            .map(|(access, mode)| operand(access, mode))
            .to_vec();
    let uniforms = ScalarProgram::default();
    let biased = Map {
        rows: 16_411,
        cols: 1056,
        operands,
        scalars: 0,
        uniforms,
        body: biased,
        stores: vec![2],
    };
    let kernels = [
        catalog::add(Dtype::F32, rows * cols + 5),
        catalog::silu(Dtype::Bf16, 2 * rows * cols + 21),
        Kernel::new(Dtype::Bf16, Body::Map(biased)),
        Kernel::new(Dtype::F32, Body::NormDx { norm, adds: true }),
        Kernel::new(Dtype::F32, narrow.clone()),
        Kernel::new(Dtype::F64, narrow),
    ];
    let natives: Vec<Native> =
        levels().into_iter().map(|level| Native::new(&kernels, level)).collect();
    for kernel in &kernels {
        let (result, arguments) = {
            let mut parameters = kernel.parameters();
            (parameters.pop().expect("a result"), parameters)
        };
        let mut random = support::Random(7);
        let inputs: Vec<Vec<u8>> = arguments
            .iter()
            .map(|p| (0..p.elems).flat_map(|_| stored(random.unit(), p.dtype)).collect())
            .collect();
        let bytes = (result.elems * result.dtype.bytes()) as usize;
        let size = result.dtype.bytes() as usize;
        let bf16 = |n: usize, i: usize| {
            let bits = inputs[n][2 * i..][..2].try_into().expect("two bytes");
            bf16_to_f32(u16::from_ne_bytes(bits))
        };
        let expected: Option<Box<dyn Fn(usize) -> Vec<u8>>> = match (&kernel.body, kernel.dtype) {
            (Body::Map(_), Dtype::F32) => Some(Box::new(|i| {
                (f32_at(&inputs[0], i) + f32_at(&inputs[1], i)).to_ne_bytes().to_vec()
            })),
            (Body::Map(map), Dtype::Bf16) if map.rows > 1 => Some(Box::new(|i| {
                let sum = bf16(0, i) + bf16(1, i % map.cols as usize);
                bf16_from_f32(sum).to_ne_bytes().to_vec()
            })),
            (Body::Cast { .. }, Dtype::F32) => {
                Some(Box::new(|i| bf16_from_f32(f32_at(&inputs[0], i)).to_ne_bytes().to_vec()))
            }
            _ => None,
        };
        let at = |native: &Native, offset: usize| {
            let mut out = vec![7; bytes + 256];
            let first = out.as_ptr().align_offset(64) + offset;
            let mut inputs = inputs.clone();
            let mut buffers: Vec<&mut [u8]> = inputs.iter_mut().map(|i| &mut i[..]).collect();
            buffers.push(&mut out[first..first + bytes]);
            native.run_in_place(kernel, &mut buffers);
            assert!(out[..first].iter().chain(&out[first + bytes..]).all(|&x| x == 7));
            out[first..first + bytes].to_vec()
        };
        for native in &natives {
            let aligned = at(native, 0);
            assert!(aligned == at(native, 12), "{kernel:?}");
            let Some(expected) = &expected else { continue };
            // A step that meets every place within a vector.
            for i in (0..bytes / size).step_by(97) {
                assert_eq!(aligned[i * size..][..size], expected(i), "element {i}");
            }
        }
    }
}

fn f32_at(bytes: &[u8], index: usize) -> f32 {
    f32::from_ne_bytes(bytes[4 * index..][..4].try_into().expect("four bytes"))
}

/// The bytes of a number as an element of a buffer.
fn stored(value: f64, dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F64 => value.to_ne_bytes().to_vec(),
        Dtype::Bf16 => bf16_from_f32(value as f32).to_ne_bytes().to_vec(),
        _ => (value as f32).to_ne_bytes().to_vec(),
    }
}

/// A row of which only one class is possible, and one of large logits of either sign.
#[test]
fn losses_of_extreme_logits() {
    for (dtype, vocab) in
        [(Dtype::F32, 50), (Dtype::F64, 50), (Dtype::F32, 300), (Dtype::Bf16, 300)]
    {
        let c = CrossEntropy { rows: 2, vocab, denominator: 2, lse: true };
        let plain = CrossEntropy { lse: false, ..c };
        let kernels = [Body::CrossEntropy(c), Body::CrossEntropyDx(plain), Body::CrossEntropyDx(c)]
            .map(|body| Kernel::new(dtype, body));
        for level in levels() {
            let native = Native::new(&kernels, level);
            let mut lse = None;
            for kernel in &kernels {
                let mut data = random_data(kernel, 3, 1);
                for class in 0..vocab as usize {
                    let extreme = [-80.0, 60.0, -1000.0][class % 3];
                    data[0].set(class, if class == 0 { 1.0 } else { f64::NEG_INFINITY });
                    data[0].set(vocab as usize + class, extreme);
                }
                match kernel.body {
                    Body::CrossEntropy(_) => lse = native.run(kernel, &data, &[]).pop(),
                    Body::CrossEntropyDx(c) if c.lse => data[3] = lse.clone().expect("found"),
                    _ => {}
                }
                check_one(&native, kernel, &data, &[], 100.0, level);
            }
        }
    }
}

/// Rows whose logits lie far from zero all together: the log-sum-exp is rounded to f32, and probabilities inherit that error.
#[test]
fn losses_of_logits_with_a_large_offset() {
    let (rows, vocab, offset) = (3, 257, 1e4);
    let c = CrossEntropy { rows, vocab, denominator: 3, lse: true };
    let kernels =
        [Body::CrossEntropy(c), Body::CrossEntropyDx(c)].map(|body| Kernel::new(Dtype::F32, body));
    // Half a step of f32 from 8192 to 16384, and a little for exponentials and sums.
    let tolerance = f64::from(2f32).powi(-11) + 1e-5;
    for level in levels() {
        let native = Native::new(&kernels, level);
        let mut data = random_data(&kernels[0], 6, vocab);
        for (at, near) in data[0].doubles().into_iter().enumerate() {
            data[0].set(at, offset + 3.0 * near);
        }
        let (logits, targets) = (data[0].doubles(), data[1].doubles());
        data[2].set(0, 0.0);
        let forward = native.run(&kernels[0], &data, &[]);
        let mut data = random_data(&kernels[1], 6, vocab);
        data[..2].clone_from_slice(&forward[..2]);
        data[2].set(0, 1.0);
        data[3] = forward[3].clone();
        let found = native.run(&kernels[1], &data, &[]).pop().expect("a result").doubles();
        let mut loss = 0.0;
        for (r, row) in logits.chunks_exact(vocab as usize).enumerate() {
            let lse = offset + row.iter().map(|z| (z - offset).exp()).sum::<f64>().ln();
            let target = targets[r] as usize;
            loss += (lse - row[target]) / 3.0;
            assert!((forward[3].doubles()[r] - lse).abs() <= tolerance, "{level:?}");
            for (class, z) in row.iter().enumerate() {
                let probability = (z - lse).exp();
                let is_target = if class == target { 1.0 } else { 0.0 };
                let error = found[r * vocab as usize + class] * 3.0 + is_target - probability;
                // What is taken from one at the target is rounded once more.
                let bound = tolerance * probability + 2e-7 * is_target;
                assert!(
                    error.abs() <= bound,
                    "{level:?} {r} {class}: {error:e} of {probability:e}"
                );
            }
        }
        let error = forward[2].doubles()[0] - loss;
        assert!(error.abs() <= tolerance, "{level:?}: {error:e} of {loss}");
    }
}

/// A gradient that is given the log-sum-exp has the bits of one that finds it, so that computing a loss again changes nothing.
#[test]
fn the_gradient_of_a_loss_is_the_same_with_and_without_its_log_sum_exp() {
    for dtype in [Dtype::F32, Dtype::F64] {
        let c = CrossEntropy { rows: 5, vocab: 300, denominator: 3, lse: true };
        let plain = CrossEntropy { lse: false, ..c };
        let kernels = [Body::CrossEntropy(c), Body::CrossEntropyDx(c), Body::CrossEntropyDx(plain)]
            .map(|body| Kernel::new(dtype, body));
        for level in levels() {
            let native = Native::new(&kernels, level);
            let loss = native.run(&kernels[0], &random_data(&kernels[0], 9, 300), &[]);
            let gradient = |kernel: &Kernel| {
                let mut data = random_data(kernel, 4, 300);
                data[..2].clone_from_slice(&loss[..2]);
                data[2].set(0, 0.75);
                if data.len() == 5 {
                    data[3] = loss[3].clone();
                }
                native.run(kernel, &data, &[]).pop().expect("a result")
            };
            let [given, found] = [1, 2].map(|i| gradient(&kernels[i]));
            assert!(given.bits() == found.bits(), "{level:?} {dtype:?}");
        }
    }
}
