//! Operations that work value by value.

use piper_ir::interfaces::{CostModel, Shardable};
use piper_ir::{AttrConstraint as A, TypeConstraint as T};

use crate::stablehlo::attrs::{COMPARISON, DIRECTION};
use crate::stablehlo::forms::{parse_same, print_plain};
use crate::stablehlo::infer;
use crate::stablehlo::rules::{self, linear_in_each, linear_jointly, pointwise};
use crate::stablehlo::syntax::elementwise as syntax;
use crate::stablehlo::types::{BOOLEAN, COMPLEX, FLOAT, INTEGER, NUMERIC, REAL_OR_COMPLEX};
use crate::stablehlo::verify::elementwise as verify;

/// Declares operations of two operands: `%lhs, %rhs : T`.
macro_rules! binary {
    ($(
        $(#[doc = $doc:expr])+
        $view:ident = $name:literal, $element:expr, [$($property:ident),*], $rule:expr, $flops:expr;
    )*) => {
        piper_ir::dialect_ops! {
            $(
                $(#[doc = $doc])+
                $view = $name {
                    operands: { lhs: one($element), rhs: one($element) },
                    results: { result: one($element) },
                    traits: [Pure $(, $property)*],
                    syntax: (parse_same, print_plain),
                    infer: infer::like_first,
                    verify: verify::same_types,
                    interfaces: [Shardable($rule), CostModel($flops)],
                }
            )*
        }
    };
}

/// Declares operations of one operand: `%operand : T`.
macro_rules! unary {
    ($(
        $(#[doc = $doc:expr])+
        $view:ident = $name:literal, $element:expr, $rule:expr, $flops:expr;
    )*) => {
        piper_ir::dialect_ops! {
            $(
                $(#[doc = $doc])+
                $view = $name {
                    operands: { operand: one($element) },
                    results: { result: one($element) },
                    traits: [Pure],
                    syntax: (parse_same, print_plain),
                    infer: infer::like_first,
                    verify: verify::same_types,
                    interfaces: [Shardable($rule), CostModel($flops)],
                }
            )*
        }
    };
}

/// Two operands of one type.
pub mod binary {
    use super::*;

    binary! {
        /// The sum; of booleans, "or".
        Add = "stablehlo.add", T::Tensor, [Commutative], linear_jointly, rules::one_flop;
        /// The difference.
        Subtract = "stablehlo.subtract", NUMERIC, [], linear_jointly, rules::one_flop;
        /// The product; of booleans, "and".
        Multiply = "stablehlo.multiply", T::Tensor, [Commutative], linear_in_each, rules::one_flop;
        /// The quotient; of integers, rounded towards zero.
        Divide = "stablehlo.divide", NUMERIC, [], rules::linear_in_first, rules::one_flop;
        /// The remainder, with the sign of the dividend.
        Remainder = "stablehlo.remainder", NUMERIC, [], pointwise, rules::one_flop;
        /// The greater one; NaN if either is. Of booleans, "or".
        Maximum = "stablehlo.maximum", T::Tensor, [Commutative], pointwise, rules::one_flop;
        /// The lesser one; NaN if either is. Of booleans, "and".
        Minimum = "stablehlo.minimum", T::Tensor, [Commutative], pointwise, rules::one_flop;
        /// The first one raised to the power of the second.
        Power = "stablehlo.power", NUMERIC, [], pointwise, rules::transcendental;
        /// The angle of the point with coordinates `rhs` and `lhs`.
        Atan2 = "stablehlo.atan2", REAL_OR_COMPLEX, [], pointwise, rules::transcendental;
        /// Bitwise or logical "and".
        And = "stablehlo.and", INTEGER, [Commutative], pointwise, rules::no_flops;
        /// Bitwise or logical "or".
        Or = "stablehlo.or", INTEGER, [Commutative], pointwise, rules::no_flops;
        /// Bitwise or logical "exclusive or".
        Xor = "stablehlo.xor", INTEGER, [Commutative], pointwise, rules::no_flops;
        /// Bits moved to the left.
        ShiftLeft = "stablehlo.shift_left", INTEGER, [], pointwise, rules::no_flops;
        /// Bits moved to the right, the sign kept.
        ShiftRightArithmetic = "stablehlo.shift_right_arithmetic", INTEGER, [], pointwise, rules::no_flops;
        /// Bits moved to the right, zeros from the left.
        ShiftRightLogical = "stablehlo.shift_right_logical", INTEGER, [], pointwise, rules::no_flops;
    }
}

/// One operand of the result's type.
pub mod unary {
    use super::*;

    unary! {
        /// The magnitude; of complex numbers, real.
        Abs = "stablehlo.abs", NUMERIC, pointwise, rules::one_flop;
        /// The cube root.
        Cbrt = "stablehlo.cbrt", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The next integer above.
        Ceil = "stablehlo.ceil", FLOAT, pointwise, rules::one_flop;
        /// The number of leading zero bits.
        CountLeadingZeros = "stablehlo.count_leading_zeros", INTEGER, pointwise, rules::no_flops;
        /// The cosine.
        Cosine = "stablehlo.cosine", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The exponential function.
        Exponential = "stablehlo.exponential", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The exponential function less one.
        ExponentialMinusOne = "stablehlo.exponential_minus_one", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The next integer below.
        Floor = "stablehlo.floor", FLOAT, pointwise, rules::one_flop;
        /// The natural logarithm.
        Log = "stablehlo.log", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The natural logarithm of one more.
        LogPlusOne = "stablehlo.log_plus_one", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The logistic function `1 / (1 + exp(-x))`.
        Logistic = "stablehlo.logistic", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The negative.
        Negate = "stablehlo.negate", NUMERIC, linear_in_each, rules::one_flop;
        /// Bitwise or logical "not".
        Not = "stablehlo.not", INTEGER, pointwise, rules::no_flops;
        /// The number of one bits.
        Popcnt = "stablehlo.popcnt", INTEGER, pointwise, rules::no_flops;
        /// The nearest integer, ties away from zero.
        RoundNearestAfz = "stablehlo.round_nearest_afz", FLOAT, pointwise, rules::one_flop;
        /// The nearest integer, ties to the even one.
        RoundNearestEven = "stablehlo.round_nearest_even", FLOAT, pointwise, rules::one_flop;
        /// The reciprocal of the square root.
        Rsqrt = "stablehlo.rsqrt", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The sign: -1, 0 or 1; of complex numbers, `x / |x|`.
        Sign = "stablehlo.sign", NUMERIC, pointwise, rules::one_flop;
        /// The sine.
        Sine = "stablehlo.sine", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The square root.
        Sqrt = "stablehlo.sqrt", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The tangent.
        Tan = "stablehlo.tan", REAL_OR_COMPLEX, pointwise, rules::transcendental;
        /// The hyperbolic tangent.
        Tanh = "stablehlo.tanh", REAL_OR_COMPLEX, pointwise, rules::transcendental;
    }
}

/// Operations whose operands and results differ in element type, or that take a choice.
pub mod mixed {
    use super::*;

    piper_ir::dialect_ops! {
        /// The value in another element type.
        ///
        /// Floats become integers by rounding towards zero; "true" is 1.
        ///
        /// ```mlir
        /// %y = stablehlo.convert %n : (tensor<4x8xi32>) -> tensor<4x8xf32>
        /// ```
        Convert = "stablehlo.convert" {
            operands: { operand: one(T::Tensor) },
            results: { result: one(T::Tensor) },
            traits: [Pure],
            syntax: (parse_same, print_plain),
            verify: verify::same_shapes,
            interfaces: [Shardable(pointwise), CostModel(rules::no_flops)],
        }

        /// Which values are neither infinite nor NaN.
        IsFinite = "stablehlo.is_finite" {
            operands: { x: one(FLOAT) },
            results: { y: one(BOOLEAN) },
            traits: [Pure],
            syntax: (parse_same, print_plain),
            infer: infer::booleans,
            verify: verify::same_shapes,
            interfaces: [Shardable(pointwise), CostModel(rules::no_flops)],
        }

        /// The real part.
        Real = "stablehlo.real" {
            operands: { operand: one(REAL_OR_COMPLEX) },
            results: { result: one(FLOAT) },
            traits: [Pure],
            syntax: (parse_same, print_plain),
            verify: verify::same_shapes,
            interfaces: [Shardable(linear_in_each), CostModel(rules::no_flops)],
        }

        /// The imaginary part.
        Imag = "stablehlo.imag" {
            operands: { operand: one(REAL_OR_COMPLEX) },
            results: { result: one(FLOAT) },
            traits: [Pure],
            syntax: (parse_same, print_plain),
            verify: verify::same_shapes,
            interfaces: [Shardable(linear_in_each), CostModel(rules::no_flops)],
        }

        /// Complex numbers from their parts.
        ///
        /// `stablehlo.complex %re, %im : tensor<4xcomplex<f32>>`
        Complex = "stablehlo.complex" {
            operands: { lhs: one(FLOAT), rhs: one(FLOAT) },
            results: { result: one(COMPLEX) },
            traits: [Pure],
            syntax: (syntax::parse_complex, syntax::print_complex),
            verify: verify::same_shapes,
            interfaces: [Shardable(linear_jointly), CostModel(rules::no_flops)],
        }

        /// Which pairs of values stand in a relation.
        ///
        /// ```mlir
        /// %lt = stablehlo.compare LT, %n, %n, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
        /// ```
        Compare = "stablehlo.compare" {
            operands: { lhs: one(T::Tensor), rhs: one(T::Tensor) },
            results: { result: one(BOOLEAN) },
            attrs: { comparison_direction: one(DIRECTION), compare_type: optional(COMPARISON) },
            traits: [Pure],
            syntax: (syntax::parse_compare, syntax::print_compare),
            infer: infer::booleans,
            verify: verify::compare,
            interfaces: [Shardable(pointwise), CostModel(rules::one_flop)],
        }

        /// Each value from one of two tensors, as a tensor of booleans (or one boolean) says.
        ///
        /// ```mlir
        /// %y = stablehlo.select %p, %x, %x : tensor<4x8xi1>, tensor<4x8xf32>
        /// ```
        Select = "stablehlo.select" {
            operands: { pred: one(BOOLEAN), on_true: one(T::Tensor), on_false: one(T::Tensor) },
            results: { result: one(T::Tensor) },
            traits: [Pure],
            syntax: (syntax::parse_select, syntax::print_select),
            infer: infer::like_second,
            verify: verify::select,
            interfaces: [Shardable(pointwise), CostModel(rules::no_flops)],
        }

        /// Values brought into a range: `stablehlo.clamp %min, %x, %max : tensor<4xf32>`. The bounds may be scalars.
        Clamp = "stablehlo.clamp" {
            operands: { min: one(T::Tensor), operand: one(T::Tensor), max: one(T::Tensor) },
            results: { result: one(T::Tensor) },
            traits: [Pure],
            syntax: (parse_same, print_plain),
            infer: infer::like_second,
            verify: verify::clamp,
            interfaces: [Shardable(pointwise), CostModel(rules::one_flop)],
        }

        /// Floats rounded to a smaller exponent and mantissa: `stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>`.
        ReducePrecision = "stablehlo.reduce_precision" {
            operands: { operand: one(FLOAT) },
            results: { output: one(FLOAT) },
            attrs: { exponent_bits: one(A::Int), mantissa_bits: one(A::Int) },
            traits: [Pure],
            syntax: (syntax::parse_reduce_precision, syntax::print_reduce_precision),
            infer: infer::like_first,
            verify: verify::same_types,
            interfaces: [Shardable(pointwise), CostModel(rules::no_flops)],
        }
    }
}
