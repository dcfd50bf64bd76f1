//! Sums, products, fills, and the sum over rows.

use piper_ir::interfaces::{CostModel, Differentiable, Shardable};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{self, Signature};
use crate::nn::types::{FINITE, REAL, STORED, STORED_REAL};
use crate::nn::{cost, gradients};

piper_ir::dialect_ops! {
    /// `y = a + b`, value by value: both of the same shape.
    ///
    /// ```mlir
    /// %y = nn.add %x, %dy : tensor<4x8x16xf32>
    /// ```
    Add = "nn.add" {
        operands: { a: one(STORED_REAL), b: one(STORED_REAL) },
        results: { y: one(STORED_REAL) },
        traits: [Pure, Commutative],
        format: "$a `,` $b attr-dict `:` type($y)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).jointly_linear(), Shardable(factors), CostModel(cost::a_result::<1>), Differentiable::Rule(gradients::elementwise::add), Fusion::Sum],
    }

    /// `y = a b`, value by value: both of the same shape.
    ///
    /// ```mlir
    /// %y = nn.mul %x, %dy : tensor<4x8x16xf32>
    /// ```
    Mul = "nn.mul" {
        operands: { a: one(REAL), b: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure, Commutative],
        format: "$a `,` $b attr-dict `:` type($y)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*", "*"], &["*"]).linear_in(&["a", "b"]), Shardable(factors), CostModel(cost::a_result::<1>), Differentiable::Rule(gradients::elementwise::mul), Fusion::Elementwise],
    }

    /// `y = x factor`; the factor is rounded to the element type first.
    ///
    /// ```mlir
    /// %y = nn.scale %x {factor = 0.125} : tensor<4x8x16xf32>
    /// ```
    Scale = "nn.scale" {
        operands: { x: one(STORED_REAL) },
        results: { y: one(STORED_REAL) },
        attrs: { factor: one(FINITE) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]).linear_in(&["x"]), Shardable(factors), CostModel(cost::a_result::<1>), Differentiable::Rule(gradients::elementwise::scale), Fusion::Elementwise],
    }

    /// The same values in another element type, rounded to the nearest, ties to even.
    ///
    /// ```mlir
    /// %y = nn.cast %x : tensor<4x8x16xf32> to tensor<4x8x16xbf16>
    /// ```
    Convert = "nn.cast" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$x attr-dict `:` type($x) `to` type($y)",
        verify: signature::verify_cast,
        interfaces: [Signature::new(&["*"], &["*"]).linear_in(&["x"]), Shardable(factors), CostModel(cost::a_result::<0>), Differentiable::Rule(gradients::elementwise::cast), Fusion::Alone("cast")],
    }

    /// The sum over all leading dimensions, in ascending order: the gradient of a bias.
    ///
    /// `y[N] = sum over rows of dy[row, N]`
    ///
    /// ```mlir
    /// %db = nn.sum_rows %dh : (tensor<4x8x32xf32>) -> tensor<32xf32>
    /// ```
    SumRows = "nn.sum_rows" {
        operands: { dy: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["* N"], &["N"]).linear_in(&["dy"]), Shardable(factors), CostModel(cost::an_operand::<0, 1>), Fusion::Alone("sum_rows")],
    }

    /// The identity, through which no gradient flows.
    ///
    /// ```mlir
    /// %y = nn.stop_gradient %x : tensor<4x8x16xf32>
    /// ```
    StopGradient = "nn.stop_gradient" {
        operands: { x: one(STORED) },
        results: { y: one(STORED) },
        traits: [Pure, SameOperandsAndResultType],
        format: "$x attr-dict `:` type($y)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["*"], &["*"]).linear_in(&["x"]), Shardable(factors), CostModel(cost::a_result::<0>), Differentiable::Stops],
    }

    /// A tensor filled with one value, rounded to the element type.
    ///
    /// `%one = nn.constant {value = 1.0} : tensor<f32>`
    ///
    /// ```mlir
    /// %one = nn.constant {value = 1.0} : tensor<f32>
    /// ```
    Constant = "nn.constant" {
        results: { x: one(STORED_REAL) },
        attrs: { value: one(FINITE) },
        traits: [Pure, ConstantLike],
        format: "attr-dict `:` type($x)",
        verify: signature::verify,
        interfaces: [Signature::new(&[], &["*"]), Shardable(factors), CostModel(cost::a_result::<0>), Fusion::Fill],
    }
}
