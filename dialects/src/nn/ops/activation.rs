//! Activation functions, value by value.

use piper_ir::interfaces::{CostModel, Differentiable, Shardable};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{self, Signature};
use crate::nn::types::REAL;
use crate::nn::{cost, gradients};

piper_ir::dialect_ops! {
    /// The Gaussian error linear unit (Hendrycks and Gimpel 2016), in its tanh form.
    ///
    /// `y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    ///
    /// ```mlir
    /// %y = nn.gelu %x : tensor<4x8x16xf32>
    /// ```
    Gelu = "nn.gelu" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]), Shardable(factors), CostModel(cost::a_result::<18>), Differentiable::Rule(gradients::elementwise::gelu), Fusion::Elementwise],
    }

    /// Gradient of `nn.gelu`.
    ///
    /// With `u = sqrt(2/pi) (x + 0.044715 x^3)` and `t = tanh u`:
    /// `dx = dy (0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2))`
    ///
    /// ```mlir
    /// %dx = nn.gelu_dx %x, %dy : tensor<4x8x16xf32>
    /// ```
    GeluDx = "nn.gelu_dx" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` type($dx)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).linear_in(&["dy"]), Shardable(factors), CostModel(cost::a_result::<25>), Fusion::Elementwise],
    }

    /// The sigmoid linear unit, also called swish: `y = x sigmoid(x)`.
    ///
    /// ```mlir
    /// %y = nn.silu %x : tensor<4x8x16xf32>
    /// ```
    Silu = "nn.silu" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]), Shardable(factors), CostModel(cost::a_result::<14>), Differentiable::Rule(gradients::elementwise::silu), Fusion::Elementwise],
    }

    /// Gradient of `nn.silu`.
    ///
    /// `dx = dy s (1 + x (1 - s))` with `s = sigmoid(x)`.
    ///
    /// ```mlir
    /// %dx = nn.silu_dx %x, %dy : tensor<4x8x16xf32>
    /// ```
    SiluDx = "nn.silu_dx" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dx: one(REAL) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` type($dx)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).linear_in(&["dy"]), Shardable(factors), CostModel(cost::a_result::<18>), Fusion::Elementwise],
    }
}
