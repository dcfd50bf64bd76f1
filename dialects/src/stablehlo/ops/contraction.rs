//! Products of tensors.

use piper_ir::interfaces::{CostModel, Shardable};
use piper_ir::{AttrConstraint as A, TypeConstraint as T};

use crate::stablehlo::attrs::{DOT_ATTR, PRECISIONS};
use crate::stablehlo::infer;
use crate::stablehlo::rules;
use crate::stablehlo::syntax::{contraction as syntax, convolution};
use crate::stablehlo::verify::contraction as verify;

piper_ir::dialect_ops! {
    /// A product summed over some dimensions and taken side by side over others.
    ///
    /// The result has the batching dimensions first, then what is left of the first operand, then of the second.
    ///
    /// ```mlir
    /// %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    /// ```
    DotGeneral = "stablehlo.dot_general" {
        operands: { lhs: one(T::Tensor), rhs: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: {
            dot_dimension_numbers: one(DOT_ATTR),
            precision_config: optional(PRECISIONS),
            algorithm: optional(A::Dialect("stablehlo.dot_algorithm")),
        },
        traits: [Pure],
        syntax: (syntax::parse_dot_general, syntax::print_dot_general),
        infer: infer::dot_general,
        verify: verify::dot_general,
        interfaces: [Shardable(rules::dot_general), CostModel(rules::dot_general_cost)],
    }

    /// The product of two matrices or vectors: the last dimension of the first with the first of the second.
    ///
    /// ```mlir
    /// %y = stablehlo.dot %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    /// ```
    Dot = "stablehlo.dot" {
        operands: { lhs: one(T::Tensor), rhs: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { precision_config: optional(PRECISIONS) },
        traits: [Pure],
        syntax: (syntax::parse_dot, syntax::print_dot),
        verify: verify::dot,
        interfaces: [Shardable(rules::dot_general), CostModel(rules::dot_general_cost)],
    }

    /// A convolution over windows of spatial dimensions.
    ///
    /// `stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad =
    /// [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (T, U) -> V`
    Convolution = "stablehlo.convolution" {
        operands: { lhs: one(T::Tensor), rhs: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: {
            window_strides: optional(A::Any),
            padding: optional(A::Any),
            lhs_dilation: optional(A::Any),
            rhs_dilation: optional(A::Any),
            window_reversal: optional(A::Any),
            dimension_numbers: one(A::Dialect("stablehlo.conv")),
            feature_group_count: one(A::Int),
            batch_group_count: one(A::Int),
            precision_config: optional(PRECISIONS),
        },
        traits: [Pure],
        syntax: (convolution::parse, convolution::print),
    }
}
