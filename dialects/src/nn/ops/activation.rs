//! Activation functions, value by value.

use crate::nn::batching::{Batching, infer};
use crate::nn::signature::{self, Signature};
use crate::nn::types::REAL;

piper_ir::dialect_ops! {
    /// The Gaussian error linear unit (Hendrycks and Gimpel 2016), in its tanh form.
    ///
    /// `y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    Gelu = "nn.gelu" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]), Batching(infer)],
    }

    /// Gradient of `nn.gelu`.
    ///
    /// With `u = sqrt(2/pi) (x + 0.044715 x^3)` and `t = tanh u`:
    /// `dx = dy (0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2))`
    GeluDx = "nn.gelu_dx" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` type($dx)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).linear_in(&["dy"]), Batching(infer)],
    }

    /// The sigmoid linear unit, also called swish: `y = x sigmoid(x)`.
    Silu = "nn.silu" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]), Batching(infer)],
    }

    /// Gradient of `nn.silu`.
    ///
    /// `dx = dy s (1 + x (1 - s))` with `s = sigmoid(x)`.
    SiluDx = "nn.silu_dx" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` type($dx)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).linear_in(&["dy"]), Batching(infer)],
    }
}
