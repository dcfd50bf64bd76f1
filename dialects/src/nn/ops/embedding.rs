//! Rows of a table by token.

use crate::nn::batching::{Batching, infer};
use crate::nn::signature::{self, Signature};
use crate::nn::types::{COUNT, INDICES, REAL};

piper_ir::dialect_ops! {
    /// Rows of a table picked by token.
    ///
    /// `y[b, s, :] = w[tokens[b, s], :]`, with `tokens: i32[B, S]`, `w[V, D]`, `y[B, S, D]`. A token outside `0..V` is an error at
    /// run time.
    Embedding = "nn.embedding" {
        operands: { tokens: one(INDICES), w: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$tokens `,` $w attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["B S", "V D"], &["B S D"])
                .linear_in(&["w"])
                .whole(&[("V", "tokens index all rows")]),
            Batching(infer),
        ],
    }

    /// Weight gradient of `nn.embedding`.
    ///
    /// `dw[v, :]` is the sum of `dy[b, s, :]` over the positions with `tokens[b, s] = v`, in ascending order of `(b, s)`.
    /// `tokens: i32[B, S]`, `dy[B, S, D]`, `dw[V, D]` with `V = vocab`.
    EmbeddingDw = "nn.embedding_dw" {
        operands: { tokens: one(INDICES), dy: one(REAL) },
        results: { dw: one(REAL) },
        attrs: { vocab: one(COUNT) },
        traits: [Pure],
        format: "$tokens `,` $dy attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [
            Signature::new(&["B S", "B S D"], &["V D"]).sized(&[("V", "vocab")]).linear_in(&["dy"]),
            Batching(infer),
        ],
    }
}
