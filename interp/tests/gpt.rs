//! The operations composed to a whole model: its gradient, its training, and a step of the size the demo uses.

mod model;

use model::Gpt;
use piper_interp::{Real, Tensor, ops};

/// A batch of tokens and the tokens that follow them, from a short cycle that a model can learn.
fn batch(b: usize, s: usize, vocab: usize) -> (Tensor, Tensor) {
    let token = |b: usize, s: usize| ((b * 3 + s * s + s / 3) % vocab) as i32;
    let take = |shift: usize| {
        let values =
            (0..b).flat_map(|b| (0..s).map(move |s| token(b, s + shift))).collect::<Vec<_>>();
        Tensor::new([b, s], values).unwrap()
    };
    (take(0), take(1))
}

#[test]
fn gradient_of_two_layers_matches_differences() {
    let gpt = Gpt { vocab: 7, d: 8, heads: 4, kv_heads: 2, ff: 12, layers: 2 };
    let p = gpt.parameters::<f64>(0.3);
    let (tokens, targets) = batch(2, 5, 7);
    let (_, gradient) = gpt.step::<f64>(&p, &tokens, &targets);
    assert_eq!(p.keys().collect::<Vec<_>>(), gradient.keys().collect::<Vec<_>>());
    let h = 1e-5;
    let mut checked = 0;
    for (name, value) in &p {
        let analytic = gradient[name].to_f64();
        assert_eq!(gradient[name].shape, value.shape, "{name}");
        // A constant added to all keys shifts every score of a query alike, which softmax does not see.
        let invariant = name == "1.k.bias";
        assert_eq!(analytic.iter().all(|g| g.abs() < 1e-6), invariant, "{name}: {analytic:?}");
        for i in (0..value.len()).step_by(3) {
            let loss = |by: f64| {
                let mut moved = p.clone();
                moved.get_mut(name).and_then(Tensor::values_mut::<f64>).unwrap()[i] += by;
                gpt.step::<f64>(&moved, &tokens, &targets).0.to_f64()[0]
            };
            let numeric = (loss(h) - loss(-h)) / (2.0 * h);
            assert!(
                (numeric - analytic[i]).abs() < 1e-8,
                "{name}[{i}]: {} but differences give {numeric}",
                analytic[i]
            );
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn microbatch_gradients_add_up_to_the_batch_gradient() {
    let gpt = Gpt { vocab: 7, d: 8, heads: 4, kv_heads: 2, ff: 12, layers: 2 };
    let p = gpt.parameters::<f64>(0.3);
    let (tokens, targets) = batch(4, 5, 7);
    let (_, whole) = gpt.step::<f64>(&p, &tokens, &targets);
    let quarters: Vec<_> = (0..4)
        .map(|i| {
            let part = |t: &Tensor| t.slice(0, i..i + 1).unwrap();
            gpt.step::<f64>(&p, &part(&tokens), &part(&targets)).1
        })
        .collect();
    for (name, whole) in &whole {
        // Each part here divides by its own count, a quarter of the batch's.
        let parts: Vec<_> = quarters.iter().map(|g| &g[name]).collect();
        let sum = ops::scale::<f64>(&ops::tree_sum::<f64>(&parts).unwrap(), 0.25).unwrap();
        for (sum, whole) in sum.to_f64().iter().zip(whole.to_f64()) {
            assert!((sum - whole).abs() < 1e-13, "{name}");
        }
    }
}

/// The losses of `steps` steps of AdamW with clipping.
fn train<T: Real>(gpt: &Gpt, b: usize, s: usize, std: f64, steps: u32) -> Vec<f64> {
    let mut p = gpt.parameters::<T>(std);
    let (tokens, targets) = batch(b, s, gpt.vocab);
    let zeros = |t: &Tensor| Tensor::zeros(t.shape.clone(), T::TYPE);
    let mut moments: Vec<_> = p.values().map(|t| (zeros(t), zeros(t))).collect();
    let adamw = ops::AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 };
    (1..=steps)
        .map(|t| {
            let (loss, g) = gpt.step::<T>(&p, &tokens, &targets);
            let total = g.values().map(|g| ops::sum_squares::<T>(g).unwrap()).sum();
            let scale = ops::clip_scale::<T>(total, 1.0);
            for ((name, p), (m, v)) in p.iter_mut().zip(&mut moments) {
                adamw.step::<T>(p, m, v, &g[name], scale, 1e-2, t).unwrap();
            }
            loss.to_f64()[0]
        })
        .collect()
}

#[test]
fn training_lowers_the_loss_and_f32_follows_f64() {
    let gpt = Gpt { vocab: 7, d: 16, heads: 4, kv_heads: 2, ff: 24, layers: 2 };
    let double = train::<f64>(&gpt, 4, 8, 0.2, 30);
    let single = train::<f32>(&gpt, 4, 8, 0.2, 30);
    assert!(double[29] < 0.5 * double[0], "{double:?}");
    assert_eq!(single, train::<f32>(&gpt, 4, 8, 0.2, 30), "two runs give the same bits");
    for (single, double) in single[..5].iter().zip(&double) {
        assert!((single - double).abs() < 1e-5 * double, "{single} {double}");
    }
}
