//! Optimizer steps against numbers worked out by hand, the clip factor, and the tree of partial sums.

use piper_interp::{Tensor, ops};
use proptest::prelude::*;

fn f64s(values: &[f64]) -> Tensor {
    Tensor::new([values.len()], values.to_vec()).unwrap()
}

fn assert_close(found: &Tensor, expected: &[f64]) {
    for (found, expected) in found.to_f64().iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15, "{found} is not {expected}");
    }
}

#[test]
fn sgd_by_hand() {
    let mut p = f64s(&[1.0, -2.0]);
    let sgd = ops::Sgd { weight_decay: 0.1, momentum: 0.5 };
    // d = g * 0.5 + 0.1 p = [0.6, -1.2]; p - 0.1 d
    sgd.step::<f64>(&mut p, None, &f64s(&[1.0, -2.0]), 0.5, 0.1).unwrap();
    assert_close(&p, &[0.94, -1.88]);

    let (mut p, mut m) = (f64s(&[1.0]), f64s(&[2.0]));
    // d = 4 * 0.5 + 0.1 = 2.1; m = 0.5 * 2 + 2.1 = 3.1; p = 1 - 0.31
    sgd.step::<f64>(&mut p, Some(&mut m), &f64s(&[4.0]), 0.5, 0.1).unwrap();
    assert_close(&m, &[3.1]);
    assert_close(&p, &[0.69]);
}

#[test]
fn adamw_by_hand() {
    let adamw = ops::AdamW { beta1: 0.5, beta2: 0.75, eps: 0.0, weight_decay: 0.1 };
    let (mut p, mut m, mut v) = (f64s(&[1.0]), f64s(&[0.0]), f64s(&[0.0]));
    // g = 2: m = 1, v = 1; mhat = 1 / 0.5 = 2, vhat = 1 / 0.25 = 4; p = 1 - 0.1 (2 / 2 + 0.1) = 0.89
    adamw.step::<f64>(&mut p, &mut m, &mut v, &f64s(&[4.0]), 0.5, 0.1, 1).unwrap();
    assert_close(&p, &[0.89]);
    // g = -1: m = 0.5 - 0.5 = 0, v = 0.75 + 0.25 = 1; p = 0.89 - 0.1 * 0.1 * 0.89
    adamw.step::<f64>(&mut p, &mut m, &mut v, &f64s(&[-1.0]), 1.0, 0.1, 2).unwrap();
    assert_close(&m, &[0.0]);
    assert_close(&v, &[1.0]);
    assert_close(&p, &[0.8811]);
    let error = adamw.step::<f64>(&mut p, &mut m, &mut v, &f64s(&[1.0]), 1.0, 0.1, 0).unwrap_err();
    assert_eq!(error.to_string(), "adamw: step = 0, but steps start at 1");
}

#[test]
fn optimizers_refuse_operands_that_do_not_fit() {
    let sgd = ops::Sgd { weight_decay: 0.0, momentum: 0.0 };
    let error = sgd.step::<f64>(&mut f64s(&[1.0]), None, &f64s(&[1.0, 2.0]), 1.0, 0.1).unwrap_err();
    assert_eq!(error.to_string(), "sgd: dimension 0 of g is 2, but p makes it 1");
    let mut short = f64s(&[]);
    assert!(sgd.step::<f64>(&mut f64s(&[1.0]), Some(&mut short), &f64s(&[1.0]), 1.0, 0.1).is_err());
}

#[test]
fn clipping_only_shortens() {
    assert_eq!(ops::sum_squares::<f64>(&f64s(&[3.0, 4.0])).unwrap(), 25.0);
    assert!((ops::clip_scale::<f64>(25.0, 1.0) - 1.0 / (5.0 + 1e-6)).abs() < 1e-16);
    assert_eq!(ops::clip_scale::<f64>(25.0, 10.0), 1.0);
    assert_eq!(ops::clip_scale::<f32>(0.0, 1.0), 1.0);
    assert_eq!(ops::clip_scale::<f32>(f64::INFINITY, 1.0), 0.0);
    assert!(ops::clip_scale::<f32>(f64::NAN, 1.0).is_nan());
    // 1e4 squares of 1e-4 vanish beside 1 when summed in f32.
    let mut values = vec![1e-4f32; 10_000];
    values[0] = 1.0;
    let total = ops::sum_squares::<f32>(&Tensor::new([10_000], values).unwrap()).unwrap();
    assert!((total - 1.00009999).abs() < 1e-8, "{total}");
}

#[test]
fn the_tree_pairs_neighbours() {
    // Values for which the order of addition shows: ((0+1)+(2+3))+4.
    let v = [1e16f64, 1.0, -1e16, 3.0, 0.5];
    let grains: Vec<_> = v.iter().map(|&v| Tensor::scalar(v)).collect();
    let sum = ops::tree_sum::<f64>(&grains.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(sum.to_f64(), [((v[0] + v[1]) + (v[2] + v[3])) + v[4]]);
    assert!(ops::tree_sum::<f64>(&[]).is_err());
}

proptest! {
    #[test]
    fn aligned_subtrees_combine_to_the_same_bits(values in prop::collection::vec(-1e3f32..1e3, 1..40), log_block in 0u32..5) {
        let grains: Vec<_> = values.iter().map(|&v| Tensor::new([2], vec![v, v * 0.1]).unwrap()).collect();
        let whole = ops::tree_sum::<f32>(&grains.iter().collect::<Vec<_>>()).unwrap();
        let blocks: Vec<_> = grains
            .chunks(1 << log_block)
            .map(|block| ops::tree_sum::<f32>(&block.iter().collect::<Vec<_>>()).unwrap())
            .collect();
        prop_assert_eq!(ops::tree_sum::<f32>(&blocks.iter().collect::<Vec<_>>()).unwrap(), whole);
    }
}
