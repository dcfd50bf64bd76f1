//! Comparisons, and choosing by them.

use piper_ir::AttrConstraint;
use piper_ir::interfaces::{Canonicalize, Fold};

use super::flags::IS_FASTMATH;
use super::types::{BOOLS, FLOATS, INTEGERS};
use super::{compare_folds as folds, patterns, syntax, verify};

/// The predicates of `arith.cmpi`, by number.
pub(super) const INT_PREDICATES: &[&str] =
    &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

/// The predicates of `arith.cmpf`, by number: `o` is false, `u` true if an operand is a NaN.
pub(super) const FLOAT_PREDICATES: &[&str] = &[
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule",
    "une", "uno", "true",
];

const INT_PREDICATE: AttrConstraint = AttrConstraint::Pred("a predicate, 0 to 9", |ctx, attr| {
    attr.as_int(ctx).is_some_and(|number| (0..10).contains(&number))
});

const FLOAT_PREDICATE: AttrConstraint =
    AttrConstraint::Pred("a predicate, 0 to 15", |ctx, attr| {
        attr.as_int(ctx).is_some_and(|number| (0..16).contains(&number))
    });

piper_ir::dialect_ops! {
    /// Compares integers: `arith.cmpi slt, %a, %b : i32`.
    ///
    /// `eq`, `ne`; as signed numbers `slt`, `sle`, `sgt`, `sge`; as unsigned ones `ult`, `ule`, `ugt`, `uge`.
    CmpI = "arith.cmpi" {
        operands: { lhs: one(INTEGERS), rhs: one(INTEGERS) },
        results: { result: one(BOOLS) },
        attrs: { predicate: one(INT_PREDICATE) },
        traits: [Pure],
        syntax: (
            |p| syntax::parse_compare(p, INT_PREDICATES),
            |p, op| syntax::print_compare(p, op, INT_PREDICATES)
        ),
        verify: verify::compare,
        interfaces: [Fold(folds::cmpi), Canonicalize(patterns::cmpi)],
    }

    /// Compares floating-point numbers: `arith.cmpf olt, %a, %b : f32`.
    ///
    /// `oeq ogt oge olt ole one ord` are false if an operand is a NaN, `ueq ugt uge ult ule une uno` true; `false` and
    /// `true` look at nothing.
    CmpF = "arith.cmpf" {
        operands: { lhs: one(FLOATS), rhs: one(FLOATS) },
        results: { result: one(BOOLS) },
        attrs: { predicate: one(FLOAT_PREDICATE), fastmath: optional(IS_FASTMATH) },
        traits: [Pure],
        syntax: (
            |p| syntax::parse_compare(p, FLOAT_PREDICATES),
            |p, op| syntax::print_compare(p, op, FLOAT_PREDICATES)
        ),
        verify: verify::compare,
        interfaces: [Fold(folds::cmpf)],
    }

    /// The second operand if the first holds, else the third: `arith.select %c, %a, %b : i32`.
    ///
    /// With a vector or tensor of conditions each value is chosen by its own:
    /// `arith.select %c, %a, %b : tensor<4xi1>, tensor<4xf32>`.
    Select = "arith.select" {
        operands: { condition: one(BOOLS), true_value: one(piper_ir::TypeConstraint::Any), false_value: one(piper_ir::TypeConstraint::Any) },
        results: { result: one(piper_ir::TypeConstraint::Any) },
        traits: [Pure],
        syntax: (syntax::parse_select, syntax::print_select),
        verify: verify::select,
        interfaces: [Fold(folds::select), Canonicalize(patterns::select)],
    }
}
