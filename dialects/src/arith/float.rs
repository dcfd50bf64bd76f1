//! Floating-point arithmetic, IEEE 754 unless `fastmath` flags allow more.

use piper_ir::interfaces::{Canonicalize, Fold};

use super::flags::IS_FASTMATH;
use super::types::FLOATS;
use super::{float_folds as folds, patterns, syntax};

piper_ir::dialect_ops! {
    /// The number with the other sign.
    ///
    /// `arith.negf %x fastmath<nnan> : f32`
    NegF = "arith.negf" {
        operands: { operand: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::negf)],
    }

    /// The sum, rounded to nearest.
    AddF = "arith.addf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::addf)],
    }

    /// The difference, rounded to nearest.
    SubF = "arith.subf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::subf)],
    }

    /// The product, rounded to nearest.
    MulF = "arith.mulf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::mulf), Canonicalize(patterns::mulf)],
    }

    /// The quotient, rounded to nearest.
    DivF = "arith.divf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::divf), Canonicalize(patterns::divf)],
    }

    /// The remainder of a division rounded towards zero: it has the sign of the first operand.
    RemF = "arith.remf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::remf)],
    }

    /// The greater of two; a NaN if one is, and -0 is less than +0.
    MaximumF = "arith.maximumf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::maximumf)],
    }

    /// The lesser of two; a NaN if one is, and -0 is less than +0.
    MinimumF = "arith.minimumf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::minimumf)],
    }

    /// The greater of two; the other one if one is a NaN.
    MaxNumF = "arith.maxnumf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::maxnumf)],
    }

    /// The lesser of two; the other one if one is a NaN.
    MinNumF = "arith.minnumf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::minnumf)],
    }
}
