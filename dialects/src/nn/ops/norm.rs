//! Normalisation over the last dimension. The backward operations compute the statistics again rather than keep them.

use crate::nn::batching::{Batching, infer};
use crate::nn::signature::{self, Signature};
use crate::nn::types::{EPS, REAL};

/// Why `D` stays whole.
const STATISTICS: &[(&str, &str)] = &[("D", "the statistics are taken over it")];

piper_ir::dialect_ops! {
    /// Layer normalisation (Ba, Kiros and Hinton 2016).
    ///
    /// `y = (x - mean(x)) / sqrt(var(x) + eps) * gamma + beta` over the last dimension, with the biased variance.
    /// `x[.., D]`, `gamma[D]`, `beta[D]`, `y[.., D]`.
    LayerNorm = "nn.layer_norm" {
        operands: { x: one(REAL), gamma: one(REAL), beta: one(REAL) },
        results: { y: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma `,` $beta attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [Signature::new(&["* D", "D", "D"], &["* D"]).whole(STATISTICS), Batching(infer)],
    }

    /// Input gradient of `nn.layer_norm`.
    ///
    /// With `g = dy gamma`, `r = 1 / sqrt(var(x) + eps)` and `xhat = (x - mean(x)) r`:
    /// `dx = r (g - mean(g) - xhat mean(g xhat))`.
    LayerNormDx = "nn.layer_norm_dx" {
        operands: { x: one(REAL), gamma: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma `,` $dy attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "D", "* D"], &["* D"]).linear_in(&["gamma", "dy"]).whole(STATISTICS),
            Batching(infer),
        ],
    }

    /// Weight gradients of `nn.layer_norm`.
    ///
    /// `dgamma[D] = sum over rows of dy xhat` and `dbeta[D] = sum over rows of dy`, with `xhat` as in `nn.layer_norm_dx`.
    LayerNormDw = "nn.layer_norm_dw" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dgamma: one(REAL), dbeta: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "* D"], &["D", "D"]).linear_in(&["dy"]).whole(STATISTICS),
            Batching(infer),
        ],
    }

    /// Root-mean-square normalisation (Zhang and Sennrich 2019).
    ///
    /// `y = x / sqrt(mean(x^2) + eps) * gamma` over the last dimension. `x[.., D]`, `gamma[D]`, `y[.., D]`.
    RmsNorm = "nn.rms_norm" {
        operands: { x: one(REAL), gamma: one(REAL) },
        results: { y: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "D"], &["* D"]).linear_in(&["gamma"]).whole(STATISTICS),
            Batching(infer),
        ],
    }

    /// Input gradient of `nn.rms_norm`.
    ///
    /// With `g = dy gamma`, `r = 1 / sqrt(mean(x^2) + eps)` and `xhat = x r`: `dx = r (g - xhat mean(g xhat))`.
    RmsNormDx = "nn.rms_norm_dx" {
        operands: { x: one(REAL), gamma: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma `,` $dy attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "D", "* D"], &["* D"]).linear_in(&["gamma", "dy"]).whole(STATISTICS),
            Batching(infer),
        ],
    }

    /// Weight gradient of `nn.rms_norm`.
    ///
    /// `dgamma[D] = sum over rows of dy xhat`, with `xhat` as in `nn.rms_norm_dx`.
    RmsNormDw = "nn.rms_norm_dw" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dgamma: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "* D"], &["D"]).linear_in(&["dy"]).whole(STATISTICS),
            Batching(infer),
        ],
    }
}
