//! Conversions between types of numbers.

// Attributes are named as in MLIR's text.
#![allow(non_snake_case)]

use piper_ir::AttrConstraint;
use piper_ir::interfaces::{Canonicalize, Fold};

use super::flags::{IS_FASTMATH, IS_OVERFLOW};
use super::types::{FIXED_INTEGERS, FLOATS, INTEGERS, NUMBERS};
use super::{cast_folds as folds, patterns, syntax, verify};

/// A rounding mode by its number: see [`syntax::ROUNDING`].
const ROUNDING_MODE: AttrConstraint =
    AttrConstraint::Pred("a rounding mode, 0 to 4", |ctx, attr| {
        attr.as_int(ctx).is_some_and(|mode| (0..syntax::ROUNDING.len() as i64).contains(&mode))
    });

piper_ir::dialect_ops! {
    /// A wider integer of the same unsigned value: `arith.extui %a : i8 to i32`.
    ExtUI = "arith.extui" {
        operands: { input: one(FIXED_INTEGERS) },
        results: { out: one(FIXED_INTEGERS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::widens_int,
        interfaces: [Fold(folds::extui)],
    }

    /// A wider integer of the same signed value.
    ExtSI = "arith.extsi" {
        operands: { input: one(FIXED_INTEGERS) },
        results: { out: one(FIXED_INTEGERS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::widens_int,
        interfaces: [Fold(folds::extsi), Canonicalize(patterns::extsi)],
    }

    /// The low bits of an integer.
    TruncI = "arith.trunci" {
        operands: { input: one(FIXED_INTEGERS) },
        results: { out: one(FIXED_INTEGERS) },
        attrs: { overflowFlags: optional(IS_OVERFLOW) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::narrows_int,
        interfaces: [Fold(folds::trunci), Canonicalize(patterns::trunci)],
    }

    /// The same number in a wider format.
    ExtF = "arith.extf" {
        operands: { input: one(FLOATS) },
        results: { out: one(FLOATS) },
        attrs: { fastmath: optional(IS_FASTMATH) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::widens_float,
        interfaces: [Fold(folds::extf)],
    }

    /// The number rounded to a narrower format, to nearest unless a mode is given.
    ///
    /// `arith.truncf %x toward_zero : f32 to bf16`
    TruncF = "arith.truncf" {
        operands: { input: one(FLOATS) },
        results: { out: one(FLOATS) },
        attrs: { roundingmode: optional(ROUNDING_MODE), fastmath: optional(IS_FASTMATH) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::narrows_float,
        interfaces: [Fold(folds::truncf)],
    }

    /// The floating-point number nearest to an unsigned integer.
    UIToFP = "arith.uitofp" {
        operands: { input: one(FIXED_INTEGERS) },
        results: { out: one(FLOATS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::same_shape,
        interfaces: [Fold(folds::uitofp)],
    }

    /// The floating-point number nearest to a signed integer.
    SIToFP = "arith.sitofp" {
        operands: { input: one(FIXED_INTEGERS) },
        results: { out: one(FLOATS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::same_shape,
        interfaces: [Fold(folds::sitofp)],
    }

    /// The unsigned integer next to a number towards zero. One that does not fit is undefined.
    FPToUI = "arith.fptoui" {
        operands: { input: one(FLOATS) },
        results: { out: one(FIXED_INTEGERS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::same_shape,
        interfaces: [Fold(folds::fptoui)],
    }

    /// The signed integer next to a number towards zero. One that does not fit is undefined.
    FPToSI = "arith.fptosi" {
        operands: { input: one(FLOATS) },
        results: { out: one(FIXED_INTEGERS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::same_shape,
        interfaces: [Fold(folds::fptosi)],
    }

    /// Between `index` and an integer of fixed width, read as signed.
    IndexCast = "arith.index_cast" {
        operands: { input: one(INTEGERS) },
        results: { out: one(INTEGERS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::index_cast,
        interfaces: [Fold(folds::index_cast), Canonicalize(patterns::index_cast)],
    }

    /// Between `index` and an integer of fixed width, read as unsigned.
    IndexCastUI = "arith.index_castui" {
        operands: { input: one(INTEGERS) },
        results: { out: one(INTEGERS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::index_cast,
        interfaces: [Fold(folds::index_castui), Canonicalize(patterns::index_castui)],
    }

    /// The same bits as another type of the same width.
    Bitcast = "arith.bitcast" {
        operands: { input: one(NUMBERS) },
        results: { out: one(NUMBERS) },
        traits: [Pure],
        syntax: (syntax::parse_cast, syntax::print_cast),
        verify: verify::bitcast,
        interfaces: [Fold(folds::bitcast), Canonicalize(patterns::bitcast)],
    }
}
