//! Integer arithmetic. Numbers have no sign; the operations that care say which one they read (`divui`, `divsi`).

// Attributes are named as in MLIR's text.
#![allow(non_snake_case)]

use piper_ir::AttrConstraint;
use piper_ir::interfaces::{Canonicalize, Fold};

use super::flags::IS_OVERFLOW;
use super::types::{BOOLS, INTEGERS};
use super::{integer_folds as folds, patterns, syntax, verify};

piper_ir::dialect_ops! {
    /// The sum of two integers, wrapping around.
    ///
    /// `arith.addi %a, %b overflow<nsw> : i32`. With `nsw` or `nuw` the program promises that it does not wrap.
    AddI = "arith.addi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { overflowFlags: optional(IS_OVERFLOW) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::addi), Canonicalize(patterns::addi)],
    }

    /// The difference of two integers, wrapping around.
    SubI = "arith.subi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { overflowFlags: optional(IS_OVERFLOW) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::subi), Canonicalize(patterns::subi)],
    }

    /// The product of two integers, wrapping around.
    MulI = "arith.muli" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { overflowFlags: optional(IS_OVERFLOW) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::muli), Canonicalize(patterns::muli)],
    }

    /// The quotient of two unsigned integers, rounded towards zero. Division by zero is undefined.
    DivUI = "arith.divui" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { isExact: optional(AttrConstraint::Unit) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::divui)],
    }

    /// The quotient of two signed integers, rounded towards zero. Division by zero and overflow are undefined.
    DivSI = "arith.divsi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { isExact: optional(AttrConstraint::Unit) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::divsi)],
    }

    /// The quotient of two unsigned integers, rounded up.
    CeilDivUI = "arith.ceildivui" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::ceildivui)],
    }

    /// The quotient of two signed integers, rounded up.
    CeilDivSI = "arith.ceildivsi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::ceildivsi)],
    }

    /// The quotient of two signed integers, rounded down.
    FloorDivSI = "arith.floordivsi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::floordivsi)],
    }

    /// The remainder of two unsigned integers.
    RemUI = "arith.remui" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::remui)],
    }

    /// The remainder of two signed integers, with the sign of the first.
    RemSI = "arith.remsi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::remsi)],
    }

    /// The bits set in both.
    AndI = "arith.andi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::andi), Canonicalize(patterns::andi)],
    }

    /// The bits set in either.
    OrI = "arith.ori" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::ori), Canonicalize(patterns::ori)],
    }

    /// The bits set in one of both.
    XOrI = "arith.xori" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::xori), Canonicalize(patterns::xori)],
    }

    /// The bits moved up; zeros come in. Shifting by the width or more is undefined.
    ShLI = "arith.shli" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { overflowFlags: optional(IS_OVERFLOW) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::shli)],
    }

    /// The bits moved down; zeros come in. Shifting by the width or more is undefined.
    ShRUI = "arith.shrui" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { isExact: optional(AttrConstraint::Unit) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::shrui)],
    }

    /// The bits moved down; copies of the sign come in. Shifting by the width or more is undefined.
    ShRSI = "arith.shrsi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        attrs: { isExact: optional(AttrConstraint::Unit) },
        traits: [Pure, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::shrsi)],
    }

    /// The greater of two signed integers.
    MaxSI = "arith.maxsi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::maxsi)],
    }

    /// The greater of two unsigned integers.
    MaxUI = "arith.maxui" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::maxui)],
    }

    /// The lesser of two signed integers.
    MinSI = "arith.minsi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::minsi)],
    }

    /// The lesser of two unsigned integers.
    MinUI = "arith.minui" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_same, syntax::print_same),
        interfaces: [Fold(folds::minui)],
    }

    /// The sum of two unsigned integers, and whether it wrapped around.
    ///
    /// `%sum, %overflow = arith.addui_extended %a, %b : i32, i1`
    AddUIExtended = "arith.addui_extended" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { sum: one(INTEGERS), overflow: one(BOOLS) },
        traits: [Pure, Commutative],
        syntax: (syntax::parse_with_overflow, syntax::print_with_overflow),
        verify: verify::extended,
        interfaces: [Fold(folds::addui_extended), Canonicalize(patterns::addui_extended)],
    }

    /// The product of two signed integers in twice the width: low and high half.
    MulSIExtended = "arith.mulsi_extended" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { low: one(INTEGERS), high: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_two, syntax::print_same),
        interfaces: [Fold(folds::mulsi_extended), Canonicalize(patterns::mulsi_extended)],
    }

    /// The product of two unsigned integers in twice the width: low and high half.
    MulUIExtended = "arith.mului_extended" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { low: one(INTEGERS), high: one(INTEGERS) },
        traits: [Pure, Commutative, SameOperandsAndResultType],
        syntax: (syntax::parse_two, syntax::print_same),
        interfaces: [Fold(folds::mului_extended), Canonicalize(patterns::mului_extended)],
    }
}
