//! Contractions with a weight matrix.

use piper_ir::AttrConstraint;
use piper_ir::interfaces::{CostModel, Differentiable, Shardable};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{self, Signature};
use crate::nn::types::REAL;
use crate::nn::{cost, gradients};

piper_ir::dialect_ops! {
    /// A linear layer.
    ///
    /// `y[.., N] = x[.., K] w[K, N] + bias[N]`; with `transpose_w` the weight is stored `[N, K]`. The bias is optional.
    ///
    /// ```mlir
    /// %y = nn.linear %x, %w : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    /// %z = nn.linear %y, %w, %gamma {transpose_w} : (tensor<4x8x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
    /// ```
    Linear = "nn.linear" {
        operands: { x: one(REAL), w: one(REAL), bias: optional(REAL) },
        results: { y: one(REAL) },
        attrs: { transpose_w: optional(AttrConstraint::Unit) },
        traits: [Pure],
        format: "$x `,` $w (`,` $bias^)? attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* K", "K N", "N"], &["* N"]).linear_in(&["x", "w"]).added(&["bias"]),
            Shardable(factors), CostModel(cost::product), Differentiable::Rule(gradients::linear::linear), Fusion::Product,
        ],
    }

    /// Input gradient of `nn.linear`.
    ///
    /// `dx[.., K] = dy[.., N] w^T`; with `transpose_w` the weight is stored `[N, K]`.
    ///
    /// ```mlir
    /// %dx = nn.linear_dx %dh, %w : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    /// ```
    LinearDx = "nn.linear_dx" {
        operands: { dy: one(REAL), w: one(REAL) },
        results: { dx: one(REAL) },
        attrs: { transpose_w: optional(AttrConstraint::Unit) },
        traits: [Pure],
        format: "$dy `,` $w attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* N", "K N"], &["* K"]).linear_in(&["dy", "w"]),
            Shardable(factors), CostModel(cost::product), Fusion::Product,
        ],
    }

    /// Weight gradient of `nn.linear`.
    ///
    /// `dw[K, N] = sum over rows of x[row, K] dy[row, N]`; with `transpose_w` the result is `[N, K]`, as the weight is.
    ///
    /// ```mlir
    /// %dw = nn.linear_dw %x, %dh : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
    /// ```
    LinearDw = "nn.linear_dw" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dw: one(REAL) },
        attrs: { transpose_w: optional(AttrConstraint::Unit) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* K", "* N"], &["K N"]).linear_in(&["x", "dy"]),
            Shardable(factors), CostModel(cost::product_over_rows), Fusion::Product,
        ],
    }
}
