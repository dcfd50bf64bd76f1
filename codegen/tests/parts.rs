//! Kernels in parts, on threads: the same bits whatever the number, and those of the whole.
#![cfg(feature = "llvm")]

mod support;

use piper_codegen::catalog;
use piper_codegen::kernel::{
    Access, Attention, Body, CrossEntropy, Dtype, Embedding, Epilogue, Gemm, Kernel, Map, Mode,
    Norm, NormKind, Operand,
};
use piper_codegen::scalar::{Real, ScalarOp, ScalarProgram};
use proptest::prelude::*;
use support::{Native, levels, random_data};

const REALS: [Dtype; 3] = [Dtype::F32, Dtype::F64, Dtype::Bf16];

/// Compares the parts with the whole, and the whole with the reference.
fn check(kernels: &[Kernel], factor: f64) {
    for level in levels() {
        let native = Native::new(kernels, level);
        for (seed, kernel) in kernels.iter().enumerate() {
            let data = random_data(kernel, seed as u64, 40);
            support::check_one(&native, kernel, &data, &[0.01], factor, level);
            compare(&native, kernel, &data);
        }
    }
}

fn compare(native: &Native, kernel: &Kernel, data: &[support::Data]) {
    let most = kernel.split().parts;
    let whole = native.run(kernel, data, &[0.01]);
    for parts in [1, 2, 3, 4, 7, 16, 61, most].into_iter().filter(|parts| *parts <= most) {
        let divided = native.run_in_parts(kernel, data, &[0.01], parts);
        for (i, (a, b)) in whole.iter().zip(&divided).enumerate() {
            assert!(a.bits() == b.bits(), "{kernel:?}: parameter {i} differs in {parts} parts");
        }
    }
}

fn kernels(bodies: impl IntoIterator<Item = Body>, dtype: Dtype) -> Vec<Kernel> {
    let kernels = bodies.into_iter().map(|body| Kernel::new(dtype, body));
    let kernels: Vec<Kernel> = kernels.collect();
    for kernel in &kernels {
        assert!(kernel.split().parts > 1, "{kernel:?} is too small to be divided");
    }
    kernels
}

fn gemm(m: u64, n: u64, k: u64) -> Gemm {
    let (transpose_a, transpose_b, bias, accumulate) = (false, false, false, false);
    Gemm { m, n, k, transpose_a, transpose_b, batch: 1, bias, accumulate, epilogue: None }
}

#[test]
fn products_are_cut_along_the_longer_side() {
    let mut body = ScalarProgram::default();
    let [product, row, full] = [0, 1, 2].map(|i| body.push(ScalarOp::Input(i)));
    let sum = body.push(ScalarOp::Add(product, row));
    let scaled = body.push(ScalarOp::Mul(sum, full));
    body.results = vec![scaled, sum];
    let epilogue = Some(Epilogue { operands: vec![Access::Row, Access::Full], scalars: 0, body });
    for dtype in REALS {
        let mut products = vec![];
        for (m, n, k) in [(200, 70, 90), (70, 200, 90), (25, 331, 401)] {
            for (transpose_a, transpose_b) in [(false, false), (false, true), (true, false)] {
                let plain = Gemm { transpose_a, transpose_b, ..gemm(m, n, k) };
                products.push(Gemm { accumulate: true, ..plain.clone() });
                products.push(Gemm { bias: true, epilogue: epilogue.clone(), ..plain.clone() });
                products.push(Gemm { batch: 3, ..plain });
            }
        }
        // More rows than sums are held of at once, and a batch of small products.
        products.push(gemm(1100, 40, 400));
        products.push(Gemm { batch: 30, ..gemm(20, 33, 40) });
        check(&kernels(products.into_iter().map(Body::Gemm), dtype), 100.0);
    }
}

#[test]
fn elements_rows_and_columns() {
    let eps = Real::new(1e-5);
    let loss = CrossEntropy { rows: 177, vocab: 101, denominator: 7, lse: true };
    for dtype in REALS {
        let mut bodies = vec![
            Body::Rotary {
                batch: 3,
                seq: 50,
                heads: 4,
                head_dim: 34,
                base: Real::new(1e4),
                inverse: true,
            },
            Body::Embedding(Embedding { rows: 333, vocab: 40, dim: 130 }),
            Body::EmbeddingDw(Embedding { rows: 333, vocab: 40, dim: 130 }),
            Body::SumRows { rows: 333, cols: 301 },
            Body::SwapBlocks { a: 33, b: 31, block: 101 },
            Body::SumSquares { elems: 100_001 },
            Body::CrossEntropy(loss),
            Body::CrossEntropyDx(loss),
            Body::CrossEntropyDx(CrossEntropy { lse: false, ..loss }),
        ];
        for kind in [NormKind::Layer, NormKind::Rms] {
            let norm = Norm { kind, rows: 99, cols: 301, eps };
            bodies.extend([Body::Norm(norm), Body::NormDw(norm)]);
            bodies.extend([false, true].map(|adds| Body::NormDx { norm, adds }));
        }
        for to in REALS.into_iter().filter(|to| *to != dtype) {
            bodies.push(Body::Cast { elems: 70_003, to });
        }
        check(&kernels(bodies, dtype), 400.0);
    }
}

#[test]
fn attention_by_heads() {
    let shape = Attention { batch: 2, seq: 150, heads: 6, kv_heads: 3, head_dim: 20 };
    for dtype in REALS {
        let bodies = [true, false].map(|lse| Body::Attention { shape, lse });
        check(&kernels(bodies, dtype), 60.0);
        check(&kernels([Body::AttentionDx(shape)], dtype), 200.0);
    }
}

#[test]
fn maps() {
    let mut body = ScalarProgram::default();
    let [full, row, column, one] = [0, 1, 2, 3].map(|i| body.push(ScalarOp::Input(i)));
    let sum = body.push(ScalarOp::Add(full, row));
    let product = body.push(ScalarOp::Mul(sum, column));
    let result = body.push(ScalarOp::Sub(product, one));
    body.results = vec![result];
    let read = |access| Operand { access, mode: Mode::Read };
    let operands = vec![
        Operand { access: Access::Full, mode: Mode::ReadWrite },
        read(Access::Row),
        read(Access::Column),
        read(Access::Scalar),
    ];
    let map = Map {
        rows: 123,
        cols: 201,
        operands,
        scalars: 0,
        uniforms: ScalarProgram::default(),
        body,
        stores: vec![0],
    };
    for dtype in REALS {
        let mut kernels = kernels([Body::Map(map.clone())], dtype);
        kernels.push(catalog::gelu(dtype, 50_001));
        kernels.push(catalog::sgd(dtype, 50_001, 0.1, Some(0.9)));
        check(&kernels, 20.0);
    }
}

#[test]
fn what_is_small_stays_whole() {
    for kernel in [
        catalog::add(Dtype::F32, 1000),
        Kernel::new(Dtype::F32, Body::Gemm(gemm(32, 32, 32))),
        Kernel::new(Dtype::F64, Body::SumSquares { elems: 8192 }),
        Kernel::new(Dtype::F32, Body::ClipScale { max_norm: Real::new(1.0) }),
    ] {
        assert_eq!(kernel.split().parts, 1, "{kernel:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn random_products(
        dtype in prop_oneof![Just(Dtype::F32), Just(Dtype::F64), Just(Dtype::Bf16)],
        (m, n, k) in (30_u64..220, 30_u64..220, 100_u64..800),
        [transpose_a, transpose_b, accumulate] in any::<[bool; 3]>(),
        batch in 1_u64..4,
        seed: u64,
    ) {
        let gemm = Gemm { transpose_a, transpose_b, accumulate, batch, ..gemm(m, n, k) };
        let kernel = Kernel::new(dtype, Body::Gemm(gemm));
        if kernel.split().parts > 1 {
            let level = piper_codegen::Target::host_level();
            let native = Native::new(std::slice::from_ref(&kernel), level);
            compare(&native, &kernel, &random_data(&kernel, seed, 1));
        }
    }
}
