//! Sums, products, fills, and the sum over rows.

use crate::nn::batching::{Batching, infer};
use crate::nn::signature::{self, Signature};
use crate::nn::types::{ANY, FINITE, REAL};

piper_ir::dialect_ops! {
    /// `y = a + b`, value by value: both of the same shape.
    Add = "nn.add" {
        operands: { a: one(REAL), b: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure, Commutative],
        format: "$a `,` $b attr-dict `:` type($y)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).jointly_linear(), Batching(infer)],
    }

    /// `y = a b`, value by value: both of the same shape.
    Mul = "nn.mul" {
        operands: { a: one(REAL), b: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure, Commutative],
        format: "$a `,` $b attr-dict `:` type($y)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).linear_in(&["a", "b"]), Batching(infer)],
    }

    /// `y = x factor`; the factor is rounded to the element type first.
    Scale = "nn.scale" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        attrs: { factor: one(FINITE) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]).linear_in(&["x"]), Batching(infer)],
    }

    /// The sum over all leading dimensions, in ascending order: the gradient of a bias.
    ///
    /// `y[N] = sum over rows of dy[row, N]`
    SumRows = "nn.sum_rows" {
        operands: { dy: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$dy attr-dict `:` functional-type(operands, results)",
        verify: signature::verify,
        interfaces: [Signature::new(&["* N"], &["N"]).linear_in(&["dy"]), Batching(infer)],
    }

    /// The identity, through which no gradient flows.
    StopGradient = "nn.stop_gradient" {
        operands: { x: one(ANY) },
        results: { y: one(ANY) },
        traits: [Pure, SameOperandsAndResultType],
        format: "$x attr-dict `:` type($y)",
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]).linear_in(&["x"]), Batching(infer)],
    }

    /// A tensor filled with one value, rounded to the element type.
    ///
    /// `%one = nn.constant {value = 1.0} : tensor<f32>`
    Constant = "nn.constant" {
        results: { x: one(REAL) },
        attrs: { value: one(FINITE) },
        traits: [Pure, ConstantLike],
        format: "attr-dict `:` type($x)",
        verify: signature::verify,
        interfaces: [Signature::new(&[], &["*"]), Batching(infer)],
    }
}
