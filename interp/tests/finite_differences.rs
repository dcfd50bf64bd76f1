//! Every backward operation against central differences of its forward operation, in f64, on random small shapes.

use piper_interp::{Init, Tensor, ops};
use proptest::prelude::*;

/// Well-scattered values in -1..1 that depend on `seed`.
fn values(seed: u64, shape: &[usize]) -> Tensor {
    ops::parameter::<f64>(&format!("v{seed}"), shape, Init::Uniform { low: -1.0, high: 1.0 })
        .unwrap()
}

fn tokens(seed: u64, shape: &[usize], vocab: usize) -> Tensor {
    let picks = values(seed, shape)
        .to_f64()
        .iter()
        .map(|v| ((v + 1.0) / 2.0 * vocab as f64) as i32)
        .collect::<Vec<_>>();
    Tensor::new(shape, picks).unwrap()
}

fn inner(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.shape, b.shape);
    a.to_f64().iter().zip(b.to_f64()).map(|(a, b)| a * b).sum()
}

/// Checks `gradient` against the central differences of `loss` at `at`, value by value.
fn check(what: &str, at: &Tensor, gradient: &Tensor, loss: impl Fn(&Tensor) -> f64) {
    assert_eq!(at.shape, gradient.shape, "{what}");
    let h = 1e-5;
    for (i, &analytic) in gradient.to_f64().iter().enumerate() {
        let moved = |by: f64| {
            let mut x = at.clone();
            x.values_mut::<f64>().unwrap()[i] += by;
            loss(&x)
        };
        let numeric = (moved(h) - moved(-h)) / (2.0 * h);
        let tolerance = 1e-7 * (1.0 + analytic.abs());
        assert!(
            (numeric - analytic).abs() < tolerance,
            "{what}[{i}]: {analytic} but differences give {numeric}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn linear(lead in prop::collection::vec(1usize..4, 0..3), k in 1usize..5, n in 1usize..5, transpose: bool, seed: u64) {
        let x = values(seed, &[lead.as_slice(), &[k]].concat());
        let w = values(seed ^ 1, &if transpose { [n, k] } else { [k, n] });
        let bias = values(seed ^ 2, &[n]);
        let dy = values(seed ^ 3, &[lead.as_slice(), &[n]].concat());
        let loss = |x: &Tensor, w: &Tensor, b: &Tensor| {
            inner(&ops::linear::<f64>(x, w, Some(b), transpose).unwrap(), &dy)
        };
        check("dx", &x, &ops::linear_dx::<f64>(&dy, &w, transpose).unwrap(), |x| loss(x, &w, &bias));
        check("dw", &w, &ops::linear_dw::<f64>(&x, &dy, transpose).unwrap(), |w| loss(&x, w, &bias));
        check("dbias", &bias, &ops::sum_rows::<f64>(&dy).unwrap(), |b| loss(&x, &w, b));
    }

    #[test]
    fn embedding(b in 1usize..4, s in 1usize..4, vocab in 1usize..6, d in 1usize..4, seed: u64) {
        let tokens = tokens(seed, &[b, s], vocab);
        let w = values(seed ^ 1, &[vocab, d]);
        let dy = values(seed ^ 2, &[b, s, d]);
        let dw = ops::embedding_dw::<f64>(&tokens, &dy, vocab).unwrap();
        check("dw", &w, &dw, |w| inner(&ops::embedding::<f64>(&tokens, w).unwrap(), &dy));
    }

    #[test]
    fn experts(g in 1usize..4, e in 1usize..4, c in 1usize..3, k in 1usize..4, n in 1usize..4, seed: u64) {
        let x = values(seed, &[g, e * c, k]);
        let (sorted, w) = (ops::dispatch::<f64>(&x, e).unwrap(), values(seed ^ 1, &[e, k, n]));
        prop_assert_eq!(&ops::combine::<f64>(&sorted).unwrap().to_f64(), &x.to_f64());
        let dy = values(seed ^ 2, &[e, g, c, n]);
        let loss = |x: &Tensor, w: &Tensor| inner(&ops::expert_linear::<f64>(x, w).unwrap(), &dy);
        let dx = ops::expert_linear_dx::<f64>(&dy, &w).unwrap();
        check("dx", &sorted, &dx, |x| loss(x, &w));
        check("dw", &w, &ops::expert_linear_dw::<f64>(&sorted, &dy).unwrap(), |w| loss(&sorted, w));
        // The transpose of sorting is putting back.
        let through = ops::combine::<f64>(&dx).unwrap();
        check("through dispatch", &x, &through, |x| loss(&ops::dispatch::<f64>(x, e).unwrap(), &w));
    }

    #[test]
    fn layer_norm(lead in prop::collection::vec(1usize..4, 0..3), d in 2usize..6, seed: u64) {
        let shape = [lead.as_slice(), &[d]].concat();
        let (x, dy) = (values(seed, &shape), values(seed ^ 1, &shape));
        let (gamma, beta) = (values(seed ^ 2, &[d]), values(seed ^ 3, &[d]));
        let eps = 0.1;
        let loss = |x: &Tensor, gamma: &Tensor, beta: &Tensor| {
            inner(&ops::layer_norm::<f64>(x, gamma, beta, eps).unwrap(), &dy)
        };
        let (dgamma, dbeta) = ops::layer_norm_dw::<f64>(&x, &dy, eps).unwrap();
        check("dx", &x, &ops::layer_norm_dx::<f64>(&x, &gamma, &dy, eps).unwrap(), |x| loss(x, &gamma, &beta));
        check("dgamma", &gamma, &dgamma, |gamma| loss(&x, gamma, &beta));
        check("dbeta", &beta, &dbeta, |beta| loss(&x, &gamma, beta));
    }

    #[test]
    fn rms_norm(lead in prop::collection::vec(1usize..4, 0..3), d in 1usize..6, seed: u64) {
        let shape = [lead.as_slice(), &[d]].concat();
        let (x, dy, gamma) = (values(seed, &shape), values(seed ^ 1, &shape), values(seed ^ 2, &[d]));
        let eps = 0.1;
        let loss = |x: &Tensor, gamma: &Tensor| inner(&ops::rms_norm::<f64>(x, gamma, eps).unwrap(), &dy);
        check("dx", &x, &ops::rms_norm_dx::<f64>(&x, &gamma, &dy, eps).unwrap(), |x| loss(x, &gamma));
        check("dgamma", &gamma, &ops::rms_norm_dw::<f64>(&x, &dy, eps).unwrap(), |gamma| loss(&x, gamma));
    }

    #[test]
    fn pointwise(shape in prop::collection::vec(1usize..4, 0..4), seed: u64) {
        let x = ops::scale::<f64>(&values(seed, &shape), 4.0).unwrap();
        let (b, dy) = (values(seed ^ 1, &shape), values(seed ^ 2, &shape));
        check("gelu", &x, &ops::gelu_dx::<f64>(&x, &dy).unwrap(), |x| inner(&ops::gelu::<f64>(x).unwrap(), &dy));
        check("silu", &x, &ops::silu_dx::<f64>(&x, &dy).unwrap(), |x| inner(&ops::silu::<f64>(x).unwrap(), &dy));
        check("mul", &x, &ops::mul::<f64>(&dy, &b).unwrap(), |x| inner(&ops::mul::<f64>(x, &b).unwrap(), &dy));
        check("add", &x, &dy, |x| inner(&ops::add::<f64>(x, &b).unwrap(), &dy));
        check("scale", &x, &ops::scale::<f64>(&dy, 0.3).unwrap(), |x| inner(&ops::scale::<f64>(x, 0.3).unwrap(), &dy));
    }

    #[test]
    fn attention(b in 1usize..3, s in 1usize..5, kv_heads in 1usize..3, group in 1usize..4, hd in 1usize..4, seed: u64) {
        let heads = kv_heads * group;
        let (q, d_o) = (values(seed, &[b, s, heads * hd]), values(seed ^ 1, &[b, s, heads * hd]));
        let (k, v) = (values(seed ^ 2, &[b, s, kv_heads * hd]), values(seed ^ 3, &[b, s, kv_heads * hd]));
        let forward = |q: &Tensor, k: &Tensor, v: &Tensor| ops::attention::<f64>(q, k, v, heads, kv_heads).unwrap();
        let (o, lse) = forward(&q, &k, &v);
        let (dq, dk, dv) = ops::attention_dx::<f64>(&q, &k, &v, &o, &lse, &d_o, heads, kv_heads).unwrap();
        check("dq", &q, &dq, |q| inner(&forward(q, &k, &v).0, &d_o));
        check("dk", &k, &dk, |k| inner(&forward(&q, k, &v).0, &d_o));
        check("dv", &v, &dv, |v| inner(&forward(&q, &k, v).0, &d_o));
    }

    #[test]
    fn attention_reads_no_later_position(s in 2usize..6, seed: u64) {
        let (q, k, v) = (values(seed, &[1, s, 4]), values(seed ^ 1, &[1, s, 2]), values(seed ^ 2, &[1, s, 2]));
        let (whole, _) = ops::attention::<f64>(&q, &k, &v, 2, 1).unwrap();
        let cut = |t: &Tensor| t.slice(1, 0..s - 1).unwrap();
        let (part, _) = ops::attention::<f64>(&cut(&q), &cut(&k), &cut(&v), 2, 1).unwrap();
        prop_assert_eq!(cut(&whole), part);
    }

    #[test]
    fn rotary(b in 1usize..3, s in 1usize..6, heads in 1usize..3, half in 1usize..4, seed: u64) {
        let shape = [b, s, heads * half * 2];
        let (x, dy) = (values(seed, &shape), values(seed ^ 1, &shape));
        let turn = |x: &Tensor, inverse| ops::rotary::<f64>(x, heads, 10000.0, inverse).unwrap();
        check("dx", &x, &turn(&dy, true), |x| inner(&turn(x, false), &dy));
        for (back, x) in turn(&turn(&x, false), true).to_f64().iter().zip(x.to_f64()) {
            prop_assert!((back - x).abs() < 1e-14);
        }
    }

    #[test]
    fn cross_entropy(lead in prop::collection::vec(1usize..4, 0..3), vocab in 1usize..6, denominator in 1i64..20, seed: u64) {
        let logits = ops::scale::<f64>(&values(seed, &[lead.as_slice(), &[vocab]].concat()), 3.0).unwrap();
        let targets = tokens(seed ^ 1, &lead, vocab);
        let dloss = Tensor::scalar(0.7);
        let dlogits = ops::cross_entropy_dx::<f64>(&logits, &targets, &dloss, None, denominator).unwrap();
        check("dlogits", &logits, &dlogits, |logits| {
            0.7 * ops::cross_entropy::<f64>(logits, &targets, denominator).unwrap().0.to_f64()[0]
        });
        for row in dlogits.to_f64().chunks(vocab) {
            prop_assert!(row.iter().sum::<f64>().abs() < 1e-14, "softmax and one-hot both sum to one");
        }
    }

    #[test]
    fn losses_of_microbatches_add_up_to_the_mean(b in 2usize..6, vocab in 2usize..5, seed: u64) {
        let (logits, targets) = (values(seed, &[b, 3, vocab]), tokens(seed ^ 1, &[b, 3], vocab));
        let count = (b * 3) as i64;
        let whole = ops::cross_entropy::<f64>(&logits, &targets, count).unwrap().0.to_f64()[0];
        let parts: f64 = (0..b)
            .map(|i| {
                let (logits, targets) = (logits.slice(0, i..i + 1).unwrap(), targets.slice(0, i..i + 1).unwrap());
                ops::cross_entropy::<f64>(&logits, &targets, count).unwrap().0.to_f64()[0]
            })
            .sum();
        prop_assert!((whole - parts).abs() < 1e-14);
    }

    #[test]
    fn norms_do_what_their_names_say(d in 2usize..9, seed: u64) {
        let x = values(seed, &[3, d]);
        let (one, zero) = (Tensor::filled([d], 1f64), Tensor::filled([d], 0f64));
        for row in ops::layer_norm::<f64>(&x, &one, &zero, 0.0).unwrap().to_f64().chunks(d) {
            let (mean, square) = (row.iter().sum::<f64>() / d as f64, row.iter().map(|y| y * y).sum::<f64>() / d as f64);
            prop_assert!(mean.abs() < 1e-9 && (square - 1.0).abs() < 1e-9);
        }
        for row in ops::rms_norm::<f64>(&x, &one, 0.0).unwrap().to_f64().chunks(d) {
            prop_assert!((row.iter().map(|y| y * y).sum::<f64>() / d as f64 - 1.0).abs() < 1e-12);
        }
    }
}
