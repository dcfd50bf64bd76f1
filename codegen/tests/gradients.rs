//! The reference itself: every gradient kernel against central differences of its forward kernel, in f64. Needs no
//! LLVM.

mod support;

use piper_codegen::catalog;
use piper_codegen::kernel::{
    Attention, Body, CrossEntropy, Dtype, Embedding, Kernel, Norm, NormKind,
};
use piper_codegen::scalar::Real;
use support::{Data, by_reference, random_data};

const STEP: f64 = 1e-5;

fn kernel(body: Body) -> Kernel {
    Kernel::new(Dtype::F64, body)
}

fn values(data: &Data) -> &[f64] {
    match data {
        Data::F64(v) => v,
        other => panic!("expected f64, found {other:?}"),
    }
}

/// `sum(forward(inputs)[output] * weights)` as a function of one element of one input, differentiated numerically.
fn numeric(
    forward: &Kernel,
    data: &[Data],
    input: usize,
    output: usize,
    weights: &[f64],
) -> Vec<f64> {
    let objective = |element: usize, change: f64| {
        let mut moved = data.to_vec();
        let Data::F64(v) = &mut moved[input] else { panic!("inputs differentiated are f64") };
        v[element] += change;
        let results = by_reference(forward, &moved, &[]);
        values(&results[output]).iter().zip(weights).map(|(y, w)| y * w).sum::<f64>()
    };
    (0..values(&data[input]).len())
        .map(|i| (objective(i, STEP) - objective(i, -STEP)) / (2.0 * STEP))
        .collect()
}

fn assert_close(name: &str, exact: &[f64], numeric: &[f64]) {
    assert_eq!(exact.len(), numeric.len(), "{name}");
    for (i, (e, n)) in exact.iter().zip(numeric).enumerate() {
        assert!(
            (e - n).abs() <= 2e-8 * (1.0 + e.abs()),
            "{name} element {i}: {e} against numeric {n}"
        );
    }
}

#[test]
fn norms() {
    for kind in [NormKind::Layer, NormKind::Rms] {
        let n = Norm { kind, rows: 3, cols: 5, eps: Real::new(1e-2) };
        let forward = kernel(Body::Norm(n));
        let data = random_data(&forward, 1, 1);
        let output = data.len() - 1;
        let dy = random_data(&forward, 2, 1)[output].clone();
        let (x, gamma) = (data[0].clone(), data[1].clone());
        let dx = kernel(Body::NormDx { norm: n, adds: false });
        let result = by_reference(&dx, &[x.clone(), gamma, dy.clone(), x.clone()], &[]);
        assert_close("dx", values(&result[3]), &numeric(&forward, &data, 0, output, values(&dy)));
        let dw = kernel(Body::NormDw(n));
        let result =
            by_reference(&dw, &[&[x, dy.clone()][..], &random_data(&dw, 3, 1)[2..]].concat(), &[]);
        assert_close(
            "dgamma",
            values(&result[2]),
            &numeric(&forward, &data, 1, output, values(&dy)),
        );
        if kind == NormKind::Layer {
            assert_close(
                "dbeta",
                values(&result[3]),
                &numeric(&forward, &data, 2, output, values(&dy)),
            );
        }
    }
}

#[test]
fn attention() {
    let shape = Attention { batch: 2, seq: 4, heads: 4, kv_heads: 2, head_dim: 3 };
    let forward = kernel(Body::Attention { shape, lse: true });
    let data = random_data(&forward, 1, 1);
    let results = by_reference(&forward, &data, &[]);
    let d_o = random_data(&forward, 2, 1)[3].clone();
    let backward = kernel(Body::AttentionDx(shape));
    let mut inputs = random_data(&backward, 3, 1);
    inputs[..5].clone_from_slice(&results);
    inputs[5] = d_o.clone();
    let gradients = by_reference(&backward, &inputs, &[]);
    for (i, name) in ["dq", "dk", "dv"].into_iter().enumerate() {
        assert_close(
            name,
            values(&gradients[6 + i]),
            &numeric(&forward, &data, i, 3, values(&d_o)),
        );
    }
}

#[test]
fn cross_entropy() {
    let c = CrossEntropy { rows: 4, vocab: 6, denominator: 7, lse: true };
    let with_lse = kernel(Body::CrossEntropy(c));
    let data = by_reference(&with_lse, &random_data(&with_lse, 1, 6), &[]);
    let plain = CrossEntropy { lse: false, ..c };
    let numeric = numeric(&kernel(Body::CrossEntropy(plain)), &data[..3], 0, 2, &[1.5]);
    for c in [c, plain] {
        let backward = kernel(Body::CrossEntropyDx(c));
        let mut inputs = random_data(&backward, 1, 6);
        inputs[..2].clone_from_slice(&data[..2]);
        inputs[2] = Data::F64(vec![1.5]);
        if c.lse {
            inputs[3] = data[3].clone();
        }
        let gradient = by_reference(&backward, &inputs, &[]);
        assert_close("dlogits", values(gradient.last().unwrap()), &numeric);
    }
}

#[test]
fn activations() {
    let pairs = [
        (catalog::gelu(Dtype::F64, 50), catalog::gelu_dx(Dtype::F64, 50)),
        (catalog::silu(Dtype::F64, 50), catalog::silu_dx(Dtype::F64, 50)),
    ];
    for (forward, backward) in pairs {
        let mut inputs = random_data(&backward, 4, 1);
        let Data::F64(x) = &mut inputs[0] else { unreachable!() };
        x.iter_mut().for_each(|x| *x *= 3.0);
        let gradient = by_reference(&backward, &inputs, &[]);
        let data = [inputs[0].clone(), inputs[2].clone()];
        assert_close(
            "dx",
            values(&gradient[2]),
            &numeric(&forward, &data, 0, 1, values(&inputs[1])),
        );
    }
}

#[test]
fn embedding_and_rotary_are_linear_so_their_gradients_are_transposes() {
    let e = Embedding { rows: 7, vocab: 4, dim: 3 };
    let forward = kernel(Body::Embedding(e));
    let data = random_data(&forward, 1, 4);
    let backward = kernel(Body::EmbeddingDw(e));
    let mut inputs = random_data(&backward, 2, 4);
    inputs[0] = data[0].clone();
    let gradient = by_reference(&backward, &inputs, &[]);
    assert_close("dw", values(&gradient[2]), &numeric(&forward, &data, 1, 2, values(&inputs[1])));

    let rotary = |inverse| {
        kernel(Body::Rotary {
            batch: 2,
            seq: 5,
            heads: 2,
            head_dim: 6,
            base: Real::new(100.0),
            inverse,
        })
    };
    let data = random_data(&rotary(false), 3, 1);
    let gradient = by_reference(&rotary(true), &data, &[]);
    assert_close(
        "dx",
        values(&gradient[1]),
        &numeric(&rotary(false), &data, 0, 1, values(&data[0])),
    );
    let there = by_reference(&rotary(false), &data, &[]);
    let back = by_reference(&rotary(true), &[there[1].clone(), there[1].clone()], &[]);
    assert_close("round trip", values(&back[1]), values(&data[0]));
}

/// AdamW's first step with bias correction moves every parameter by the learning rate times the gradient's sign, if
/// there is no decay and eps is negligible.
#[test]
fn adamw_starts_with_a_sign_step() {
    let c = catalog::AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-12, weight_decay: 0.0 };
    let kernel = catalog::adamw(Dtype::F64, 3, c);
    let data = [
        Data::F64(vec![1.0, 2.0, 3.0]),
        Data::F64(vec![0.5, -4.0, 1e-3]),
        Data::F64(vec![0.0; 3]),
        Data::F64(vec![0.0; 3]),
        Data::F64(vec![1.0]),
    ];
    let result = by_reference(&kernel, &data, &[0.1, 1.0]);
    assert_close("p", values(&result[0]), &[0.9, 2.1, 2.9]);
}
