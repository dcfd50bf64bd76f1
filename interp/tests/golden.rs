//! Operations, and a whole small GPT, against the numbers of JAX in f64. `golden/make.py` writes the files.

mod model;

use model::{Gpt, Tensors};
use piper_interp::{Init, Tensor, ops};
use serde_json::Value;

const TOLERANCE: f64 = 1e-10;

fn golden(text: &str) -> Value {
    serde_json::from_str(text).expect("golden files are JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn uniform(name: &str, shape: &[usize], bound: f64) -> Tensor {
    ops::parameter::<f64>(name, shape, Init::Uniform { low: -bound, high: bound }).unwrap()
}

fn tokens(name: &str, shape: &[usize], vocab: usize) -> Tensor {
    let pick = |v: &f64| ((v + 1.0) / 2.0 * vocab as f64).floor() as i32;
    Tensor::new(shape, uniform(name, shape, 1.0).to_f64().iter().map(pick).collect()).unwrap()
}

fn assert_close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error < TOLERANCE, "{what}[{i}]: {found} but JAX has {expected}");
    }
}

/// Compares a forward result and the gradients by its operands with the golden case `name`.
fn check(name: &str, y: &Tensor, gradients: &[Tensor]) {
    let case = &golden(include_str!("golden/operations.json"))[name];
    assert_close(name, &y.to_f64(), &numbers(&case["y"]));
    let expected = case["gradients"].as_array().unwrap();
    assert_eq!(expected.len(), gradients.len(), "{name}");
    for (i, (found, expected)) in gradients.iter().zip(expected).enumerate() {
        assert_close(&format!("{name} gradient {i}"), &found.to_f64(), &numbers(expected));
    }
}

#[test]
fn lookups_and_contractions() {
    let (x, w, wt) =
        (uniform("x", &[2, 3, 4], 1.0), uniform("w", &[4, 5], 1.0), uniform("w", &[5, 4], 1.0));
    let bias = uniform("bias", &[5], 1.0);
    let picks = tokens("tokens", &[2, 3], 5);
    let dy = uniform("dy", &[2, 3, 4], 1.0);
    check(
        "embedding",
        &ops::embedding::<f64>(&picks, &wt).unwrap(),
        &[ops::embedding_dw::<f64>(&picks, &dy, 5).unwrap()],
    );
    let dy = uniform("dy", &[2, 3, 5], 1.0);
    check(
        "linear",
        &ops::linear::<f64>(&x, &w, Some(&bias), false).unwrap(),
        &[
            ops::linear_dx::<f64>(&dy, &w, false).unwrap(),
            ops::linear_dw::<f64>(&x, &dy, false).unwrap(),
            ops::sum_rows::<f64>(&dy).unwrap(),
        ],
    );
    check(
        "linear_transposed",
        &ops::linear::<f64>(&x, &wt, None, true).unwrap(),
        &[
            ops::linear_dx::<f64>(&dy, &wt, true).unwrap(),
            ops::linear_dw::<f64>(&x, &dy, true).unwrap(),
        ],
    );
}

#[test]
fn norms_and_activations() {
    let (x, dy) = (uniform("x", &[2, 3, 4], 1.0), uniform("dy", &[2, 3, 4], 1.0));
    let (gamma, beta, eps) = (uniform("gamma", &[4], 1.0), uniform("beta", &[4], 1.0), model::EPS);
    let (dgamma, dbeta) = ops::layer_norm_dw::<f64>(&x, &dy, eps).unwrap();
    let dx = ops::layer_norm_dx::<f64>(&x, &gamma, &dy, eps).unwrap();
    check(
        "layer_norm",
        &ops::layer_norm::<f64>(&x, &gamma, &beta, eps).unwrap(),
        &[dx, dgamma, dbeta],
    );
    let dx = ops::rms_norm_dx::<f64>(&x, &gamma, &dy, eps).unwrap();
    let dgamma = ops::rms_norm_dw::<f64>(&x, &dy, eps).unwrap();
    check("rms_norm", &ops::rms_norm::<f64>(&x, &gamma, eps).unwrap(), &[dx, dgamma]);
    let (x, dy) = (uniform("x", &[2, 9], 5.0), uniform("dy", &[2, 9], 1.0));
    check("gelu", &ops::gelu::<f64>(&x).unwrap(), &[ops::gelu_dx::<f64>(&x, &dy).unwrap()]);
    check("silu", &ops::silu::<f64>(&x).unwrap(), &[ops::silu_dx::<f64>(&x, &dy).unwrap()]);
}

#[test]
fn attention_rotary_and_cross_entropy() {
    let (q, dy) = (uniform("q", &[2, 5, 12], 1.0), uniform("dy", &[2, 5, 12], 1.0));
    let (k, v) = (uniform("k", &[2, 5, 6], 1.0), uniform("v", &[2, 5, 6], 1.0));
    let (o, lse) = ops::attention::<f64>(&q, &k, &v, 4, 2).unwrap();
    let (dq, dk, dv) = ops::attention_dx::<f64>(&q, &k, &v, &o, &lse, &dy, 4, 2).unwrap();
    check("attention", &o, &[dq, dk, dv]);
    check("attention_lse", &lse, &[]);
    check(
        "rotary",
        &ops::rotary::<f64>(&q, 3, model::BASE, false).unwrap(),
        &[ops::rotary::<f64>(&dy, 3, model::BASE, true).unwrap()],
    );
    let (logits, targets) = (uniform("x", &[2, 3, 5], 3.0), tokens("tokens", &[2, 3], 5));
    let (loss, lse) = ops::cross_entropy::<f64>(&logits, &targets, 24).unwrap();
    let dloss = uniform("dy", &[], 1.0);
    for lse in [None, Some(&lse)] {
        let dlogits = ops::cross_entropy_dx::<f64>(&logits, &targets, &dloss, lse, 24).unwrap();
        check("cross_entropy", &loss, &[dlogits]);
    }
}

fn gpt() -> (Gpt, Tensors, Tensor, Tensor) {
    let gpt = Gpt { vocab: 7, d: 8, heads: 4, kv_heads: 2, ff: 12, layers: 2 };
    let p = gpt.parameters::<f64>(0.3);
    (gpt, p, tokens("inputs", &[2, 5], 7), tokens("targets", &[2, 5], 7))
}

#[test]
fn gpt_loss_and_gradients() {
    let golden = golden(include_str!("golden/gpt.json"));
    let (gpt, p, inputs, targets) = gpt();
    let (loss, gradients) = gpt.step::<f64>(&p, &inputs, &targets);
    assert_close("loss", &loss.to_f64(), &[golden["loss"].as_f64().unwrap()]);
    let expected = golden["gradients"].as_object().unwrap();
    assert_eq!(expected.len(), gradients.len());
    for (name, g) in &gradients {
        assert_close(name, &g.to_f64(), &numbers(&expected[name]));
    }
}

#[test]
fn gpt_losses_of_ten_steps() {
    let golden = golden(include_str!("golden/gpt.json"));
    let (gpt, start, inputs, targets) = gpt();

    let sgd = ops::Sgd { weight_decay: 0.01, momentum: 0.0 };
    let mut p = start.clone();
    let mut losses = Vec::new();
    for _ in 0..10 {
        let (loss, g) = gpt.step::<f64>(&p, &inputs, &targets);
        losses.extend(loss.to_f64());
        for (name, p) in &mut p {
            sgd.step::<f64>(p, None, &g[name], 1.0, 0.1).unwrap();
        }
    }
    assert_close("sgd", &losses, &numbers(&golden["sgd"]));

    let adamw = ops::AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 };
    let zeros = |t: &Tensor| Tensor::filled(t.shape.clone(), 0f64);
    let mut state: Vec<_> =
        start.into_iter().map(|(name, p)| (name, zeros(&p), zeros(&p), p)).collect();
    let mut losses = Vec::new();
    for step in 1..=10 {
        let p = state.iter().map(|(name, _, _, p)| (name.clone(), p.clone())).collect();
        let (loss, g) = gpt.step::<f64>(&p, &inputs, &targets);
        losses.extend(loss.to_f64());
        let total = g.values().map(|g| ops::sum_squares::<f64>(g).unwrap()).sum();
        let scale = ops::clip_scale::<f64>(total, 1.0);
        for (name, m, v, p) in &mut state {
            adamw.step::<f64>(p, m, v, &g[name.as_str()], scale, 0.01, step).unwrap();
        }
    }
    assert_close("adamw", &losses, &numbers(&golden["adamw"]));
}
