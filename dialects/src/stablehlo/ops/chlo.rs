//! The part of the `chlo` dialect (operations that decompose into StableHLO) that JAX prints.

use piper_ir::TypeConstraint as T;
use piper_ir::interfaces::{CostModel, Shardable};

use crate::stablehlo::rules::{self, pointwise};
use crate::stablehlo::syntax::library as syntax;
use crate::stablehlo::types::{FLOAT, INDEX, INTEGER, REAL_OR_COMPLEX};
use crate::stablehlo::verify::elementwise as verify;

/// Declares functions of one operand: `%operand : T -> U`.
macro_rules! unary {
    ($(
        $(#[doc = $doc:expr])+
        $view:ident = $name:literal;
    )*) => {
        piper_ir::dialect_ops! {
            /// The greatest values along the last dimension and where they stand.
            ///
            /// `%values, %indices = chlo.top_k(%x, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)`
            TopK = "chlo.top_k" {
                operands: { operand: one(T::Tensor) },
                results: { values: one(T::Tensor), indices: one(INTEGER) },
                attrs: { k: one(INDEX) },
                traits: [Pure],
                syntax: (syntax::parse_top_k, syntax::print_top_k),
            }

            /// The next representable number after the first in the direction of the second.
            NextAfter = "chlo.next_after" {
                operands: { x: one(FLOAT), y: one(FLOAT) },
                results: { result: one(FLOAT) },
                traits: [Pure],
                syntax: (syntax::parse_arrow, syntax::print_arrow),
                verify: verify::same_types,
                interfaces: [Shardable(pointwise), CostModel(rules::one_flop)],
            }

            /// The polygamma function of the order that the first operand gives.
            Polygamma = "chlo.polygamma" {
                operands: { n: one(FLOAT), x: one(FLOAT) },
                results: { result: one(FLOAT) },
                traits: [Pure],
                syntax: (syntax::parse_arrow, syntax::print_arrow),
                verify: verify::same_types,
                interfaces: [Shardable(pointwise), CostModel(rules::transcendental)],
            }

            /// The Hurwitz zeta function.
            Zeta = "chlo.zeta" {
                operands: { x: one(FLOAT), q: one(FLOAT) },
                results: { result: one(FLOAT) },
                traits: [Pure],
                syntax: (syntax::parse_arrow, syntax::print_arrow),
                verify: verify::same_types,
                interfaces: [Shardable(pointwise), CostModel(rules::transcendental)],
            }

            $(
                $(#[doc = $doc])+
                $view = $name {
                    operands: { operand: one(REAL_OR_COMPLEX) },
                    results: { result: one(REAL_OR_COMPLEX) },
                    traits: [Pure],
                    syntax: (syntax::parse_arrow, syntax::print_arrow),
                    verify: verify::same_types,
                    interfaces: [Shardable(pointwise), CostModel(rules::transcendental)],
                }
            )*
        }
    };
}

unary! {
    /// The inverse cosine.
    Acos = "chlo.acos";
    /// The inverse hyperbolic cosine.
    Acosh = "chlo.acosh";
    /// The inverse sine.
    Asin = "chlo.asin";
    /// The inverse hyperbolic sine.
    Asinh = "chlo.asinh";
    /// The inverse tangent.
    Atan = "chlo.atan";
    /// The inverse hyperbolic tangent.
    Atanh = "chlo.atanh";
    /// The hyperbolic cosine.
    Cosh = "chlo.cosh";
    /// The hyperbolic sine.
    Sinh = "chlo.sinh";
    /// The tangent.
    Tan = "chlo.tan";
    /// The error function.
    Erf = "chlo.erf";
    /// The inverse of the error function.
    ErfInv = "chlo.erf_inv";
    /// The complement of the error function.
    Erfc = "chlo.erfc";
    /// The logarithmic derivative of the gamma function.
    Digamma = "chlo.digamma";
    /// The logarithm of the gamma function's magnitude.
    Lgamma = "chlo.lgamma";
    /// The exponentially scaled modified Bessel function of order 1.
    BesselI1e = "chlo.bessel_i1e";
    /// The complex conjugate.
    Conj = "chlo.conj";
    /// The square.
    Square = "chlo.square";
}
