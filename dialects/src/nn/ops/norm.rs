//! Normalisation over the last dimension. The backward operations compute the statistics again rather than keep them.

use piper_ir::interfaces::{CostModel, Differentiable, Shardable};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{self, Signature};
use crate::nn::types::{EPS, REAL};
use crate::nn::{cost, gradients};

/// Why `D` stays whole.
const STATISTICS: &[(&str, &str)] = &[("D", "the statistics are taken over it")];

piper_ir::dialect_ops! {
    /// Layer normalisation (Ba, Kiros and Hinton 2016).
    ///
    /// `y = (x - mean(x)) / sqrt(var(x) + eps) * gamma + beta` over the last dimension, with the biased variance.
    /// `x[.., D]`, `gamma[D]`, `beta[D]`, `y[.., D]`.
    ///
    /// ```mlir
    /// %y = nn.layer_norm %x, %gamma, %beta {eps = 1.0e-5} : (tensor<4x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
    /// ```
    LayerNorm = "nn.layer_norm" {
        operands: { x: one(REAL), gamma: one(REAL), beta: one(REAL) },
        results: { y: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma `,` $beta attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["* D", "D", "D"], &["* D"]).whole(STATISTICS), Shardable(factors), CostModel(cost::an_operand::<0, 8>), Differentiable::Rule(gradients::norm::layer_norm), Fusion::Alone("norm")],
    }

    /// Input gradient of `nn.layer_norm`.
    ///
    /// With `g = dy gamma`, `r = 1 / sqrt(var(x) + eps)` and `xhat = (x - mean(x)) r`:
    /// `dx = r (g - mean(g) - xhat mean(g xhat))`.
    ///
    /// ```mlir
    /// %dx = nn.layer_norm_dx %x, %gamma, %dy {eps = 1.0e-5} : (tensor<4x8x16xf32>, tensor<16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    /// ```
    LayerNormDx = "nn.layer_norm_dx" {
        operands: { x: one(REAL), gamma: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma `,` $dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "D", "* D"], &["* D"]).linear_in(&["gamma", "dy"]).whole(STATISTICS),
            Shardable(factors), CostModel(cost::an_operand::<0, 14>), Fusion::Adding("norm_dx"),
        ],
    }

    /// Weight gradients of `nn.layer_norm`.
    ///
    /// `dgamma[D] = sum over rows of dy xhat` and `dbeta[D] = sum over rows of dy`, with `xhat` as in `nn.layer_norm_dx`.
    ///
    /// ```mlir
    /// %dgamma, %dbeta = nn.layer_norm_dw %x, %dy {eps = 1.0e-5} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    /// ```
    LayerNormDw = "nn.layer_norm_dw" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dgamma: one(REAL), dbeta: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "* D"], &["D", "D"]).linear_in(&["dy"]).whole(STATISTICS),
            Shardable(factors), CostModel(cost::an_operand::<0, 9>), Fusion::Alone("norm_dw"),
        ],
    }

    /// Root-mean-square normalisation (Zhang and Sennrich 2019).
    ///
    /// `y = x / sqrt(mean(x^2) + eps) * gamma` over the last dimension. `x[.., D]`, `gamma[D]`, `y[.., D]`.
    ///
    /// ```mlir
    /// %y = nn.rms_norm %x, %gamma {eps = 1.0e-6} : (tensor<4x8x16xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
    /// ```
    RmsNorm = "nn.rms_norm" {
        operands: { x: one(REAL), gamma: one(REAL) },
        results: { y: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "D"], &["* D"]).linear_in(&["gamma"]).whole(STATISTICS),
            Shardable(factors), CostModel(cost::an_operand::<0, 8>), Differentiable::Rule(gradients::norm::rms_norm), Fusion::Alone("norm"),
        ],
    }

    /// Input gradient of `nn.rms_norm`.
    ///
    /// With `g = dy gamma`, `r = 1 / sqrt(mean(x^2) + eps)` and `xhat = x r`: `dx = r (g - xhat mean(g xhat))`.
    ///
    /// ```mlir
    /// %dx = nn.rms_norm_dx %x, %gamma, %dy {eps = 1.0e-6} : (tensor<4x8x16xf32>, tensor<16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    /// ```
    RmsNormDx = "nn.rms_norm_dx" {
        operands: { x: one(REAL), gamma: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $gamma `,` $dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "D", "* D"], &["* D"]).linear_in(&["gamma", "dy"]).whole(STATISTICS),
            Shardable(factors), CostModel(cost::an_operand::<0, 14>), Fusion::Adding("norm_dx"),
        ],
    }

    /// Weight gradient of `nn.rms_norm`.
    ///
    /// `dgamma[D] = sum over rows of dy xhat`, with `xhat` as in `nn.rms_norm_dx`.
    ///
    /// ```mlir
    /// %dgamma = nn.rms_norm_dw %x, %dy {eps = 1.0e-6} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<16xf32>
    /// ```
    RmsNormDw = "nn.rms_norm_dw" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dgamma: one(REAL) },
        attrs: { eps: one(EPS) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* D", "* D"], &["D"]).linear_in(&["dy"]).whole(STATISTICS),
            Shardable(factors), CostModel(cost::an_operand::<0, 9>), Fusion::Alone("norm_dw"),
        ],
    }
}
