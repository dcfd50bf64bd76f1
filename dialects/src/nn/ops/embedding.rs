//! Rows of a table by token.

use piper_ir::interfaces::{CostModel, Differentiable, Shardable};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{self, Signature};
use crate::nn::types::{COUNT, INDICES, REAL};
use crate::nn::{cost, gradients};

piper_ir::dialect_ops! {
    /// Rows of a table picked by token.
    ///
    /// `y[b, s, :] = w[tokens[b, s], :]`, with `tokens: i32[B, S]`, `w[V, D]`, `y[B, S, D]`. A token outside `0..V` is an error at
    /// run time.
    ///
    /// ```mlir
    /// %e = nn.embedding %tokens, %table : (tensor<4x8xi32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
    /// ```
    Embedding = "nn.embedding" {
        operands: { tokens: one(INDICES), w: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$tokens `,` $w attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["B S", "V D"], &["B S D"])
                .linear_in(&["w"])
                .whole(&[("V", "tokens index all rows")]),
            Shardable(factors), CostModel(cost::embedding), Differentiable::Rule(gradients::embedding::embedding), Fusion::Alone("embedding"),
        ],
    }

    /// Weight gradient of `nn.embedding`.
    ///
    /// `dw[v, :]` is the sum of `dy[b, s, :]` over the positions with `tokens[b, s] = v`, in ascending order of `(b, s)`.
    /// `tokens: i32[B, S]`, `dy[B, S, D]`, `dw[V, D]` with `V = vocab`.
    ///
    /// ```mlir
    /// %dw = nn.embedding_dw %tokens, %dy {vocab = 64} : (tensor<4x8xi32>, tensor<4x8x16xf32>) -> tensor<64x16xf32>
    /// ```
    EmbeddingDw = "nn.embedding_dw" {
        operands: { tokens: one(INDICES), dy: one(REAL) },
        results: { dw: one(REAL) },
        attrs: { vocab: one(COUNT) },
        traits: [Pure],
        format: "$tokens `,` $dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["B S", "B S D"], &["V D"]).sized(&[("V", "vocab")]).linear_in(&["dy"]),
            Shardable(factors), CostModel(cost::an_operand::<1, 1>), Fusion::Alone("embedding_dw"),
        ],
    }
}
