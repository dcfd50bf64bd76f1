//! Contractions with a weight matrix.

use piper_ir::AttrConstraint;

use crate::nn::batching::{Batching, infer};
use crate::nn::signature::{self, Signature};
use crate::nn::types::REAL;

piper_ir::dialect_ops! {
    /// A linear layer.
    ///
    /// `y[.., N] = x[.., K] w[K, N] + bias[N]`; with `transpose_w` the weight is stored `[N, K]`. The bias is optional.
    Linear = "nn.linear" {
        operands: { x: one(REAL), w: one(REAL), bias: optional(REAL) },
        results: { y: one(REAL) },
        attrs: { transpose_w: optional(AttrConstraint::Unit) },
        traits: [Pure],
        format: "$x `,` $w (`,` $bias^)? attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* K", "K N", "N"], &["* N"]).linear_in(&["x", "w"]).added(&["bias"]),
            Batching(infer),
        ],
    }

    /// Input gradient of `nn.linear`.
    ///
    /// `dx[.., K] = dy[.., N] w^T`; with `transpose_w` the weight is stored `[N, K]`.
    LinearDx = "nn.linear_dx" {
        operands: { dy: one(REAL), w: one(REAL) },
        results: { dx: one(REAL) },
        attrs: { transpose_w: optional(AttrConstraint::Unit) },
        traits: [Pure],
        format: "$dy `,` $w attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* N", "K N"], &["* K"]).linear_in(&["dy", "w"]),
            Batching(infer),
        ],
    }

    /// Weight gradient of `nn.linear`.
    ///
    /// `dw[K, N] = sum over rows of x[row, K] dy[row, N]`; with `transpose_w` the result is `[N, K]`, as the weight is.
    LinearDw = "nn.linear_dw" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dw: one(REAL) },
        attrs: { transpose_w: optional(AttrConstraint::Unit) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* K", "* N"], &["K N"]).linear_in(&["x", "dy"]),
            Batching(infer),
        ],
    }
}
