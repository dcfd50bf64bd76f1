//! What comparisons and choices are worth when operands are known or equal.

use piper_ir::interfaces::{FoldInput, Folded};
use piper_ir::{Attr, Op, Value};

use super::cast::{ExtSI, ExtUI};
use super::compare::{CmpI, FLOAT_PREDICATES, INT_PREDICATES};
use super::numbers::{Int, compare_floats, float_splat, int_attr, int_splat, map_ints};

/// The predicate of a comparison, by its word.
fn predicate(input: &FoldInput<'_>, cases: &'static [&'static str]) -> &'static str {
    let number = input.module.slot(input.op, 0).and_then(|number| number.as_int(input.ctx()));
    number.and_then(|n| cases.get(usize::try_from(n).ok()?)).copied().unwrap_or("eq")
}

fn known(input: &FoldInput<'_>, value: bool) -> Folded {
    int_attr(input.ctx(), input.result_type(), value.into()).into()
}

/// Whether the comparison holds.
pub(super) fn holds(predicate: &str, a: Int, b: Int) -> bool {
    match predicate {
        "eq" => a.unsigned() == b.unsigned(),
        "ne" => a.unsigned() != b.unsigned(),
        "slt" => a.signed() < b.signed(),
        "sle" => a.signed() <= b.signed(),
        "sgt" => a.signed() > b.signed(),
        "sge" => a.signed() >= b.signed(),
        "ult" => a.unsigned() < b.unsigned(),
        "ule" => a.unsigned() <= b.unsigned(),
        "ugt" => a.unsigned() > b.unsigned(),
        _ => a.unsigned() >= b.unsigned(),
    }
}

/// The predicate with the operands exchanged.
fn exchanged(predicate: &str) -> &'static str {
    match predicate {
        "slt" => "sgt",
        "sle" => "sge",
        "sgt" => "slt",
        "sge" => "sle",
        "ult" => "ugt",
        "ule" => "uge",
        "ugt" => "ult",
        "uge" => "ule",
        "ne" => "ne",
        _ => "eq",
    }
}

/// `x` of an extension of an `i1` that was compared with zero.
fn extended_bit(input: &FoldInput<'_>) -> Option<Value> {
    let ext = input.operand_def(0, ExtSI::NAME).or_else(|| input.operand_def(0, ExtUI::NAME))?;
    let value = input.module.operand(ext, 0);
    (super::types::int_bits(input.ctx(), input.module.ty(value)) == Some(1)).then_some(value)
}

pub(super) fn cmpi(input: &FoldInput<'_>) -> Folded {
    let predicate = predicate(input, INT_PREDICATES);
    if input.operand(0) == input.operand(1) {
        return known(input, matches!(predicate, "eq" | "sle" | "sge" | "ule" | "uge"));
    }
    let rhs = input.constant(1).and_then(|attr| int_splat(input.ctx(), attr));
    if let Some(rhs) = rhs {
        if predicate == "ne" && rhs.is_zero() {
            if let Some(bit) = extended_bit(input) {
                return bit.into();
            }
            if rhs.width == 1 {
                return input.operand(0).into();
            }
        }
        if predicate == "eq" && rhs.width == 1 && rhs.is_one() {
            return input.operand(0).into();
        }
    }
    let (a, b) = (input.constant(0), input.constant(1));
    match (a, b) {
        (Some(_), Some(_)) => {
            let fold = |a, b| Some(holds(predicate, a, b).into());
            map_ints(input.ctx(), a, b, input.result_type(), fold).into()
        }
        // The constant goes to the right.
        (Some(_), None) => {
            let word = exchanged(predicate);
            let number = INT_PREDICATES.iter().position(|case| *case == word).unwrap_or(0);
            let attr = input.ctx().int_attr(number as i64);
            Folded::InPlace {
                operands: Some(vec![input.operand(1), input.operand(0)]),
                slots: vec![(0, Some(attr))],
            }
        }
        _ => Folded::No,
    }
}

pub(super) fn cmpf(input: &FoldInput<'_>) -> Folded {
    let predicate = predicate(input, FLOAT_PREDICATES);
    let is_nan = |attr: Option<Attr>| {
        attr.and_then(|attr| float_splat(input.ctx(), attr)).is_some_and(f64::is_nan)
    };
    // With a NaN the other operand does not matter.
    if is_nan(input.constant(0)) || is_nan(input.constant(1)) {
        return known(input, predicate.starts_with('u') || predicate == "true");
    }
    match predicate {
        "false" => return known(input, false),
        "true" => return known(input, true),
        _ => {}
    }
    let (a, b) = (input.constant(0), input.constant(1));
    compare_floats(input.ctx(), a, b, input.result_type(), |x, y| {
        let unordered = x.is_nan() || y.is_nan();
        let ordered = match &predicate[1..] {
            "eq" => x == y,
            "gt" => x > y,
            "ge" => x >= y,
            "lt" => x < y,
            "le" => x <= y,
            "ne" => x != y,
            // ord, uno
            _ => return unordered == (predicate == "uno"),
        };
        if unordered { predicate.starts_with('u') } else { ordered }
    })
    .into()
}

/// Whether a value is one of the operands of a comparison for equality or inequality: `(is it "eq", lhs, rhs)`.
fn equality(input: &FoldInput<'_>) -> Option<(bool, Value, Value)> {
    let compare: Op = input.operand_def(0, CmpI::NAME)?;
    let number = input.module.slot(compare, 0)?.as_int(input.ctx())?;
    (number < 2)
        .then(|| (number == 0, input.module.operand(compare, 0), input.module.operand(compare, 1)))
}

pub(super) fn select(input: &FoldInput<'_>) -> Folded {
    let (then, otherwise) = (input.operand(1), input.operand(2));
    if then == otherwise {
        return then.into();
    }
    let ctx = input.ctx();
    if let Some(condition) = input.constant(0).and_then(|attr| int_splat(ctx, attr)) {
        return if condition.is_zero() { otherwise.into() } else { then.into() };
    }
    let ty = input.result_type();
    // A choice between true and false is the condition itself.
    if super::types::element(ctx, ty) == ctx.i1() && input.module.ty(input.operand(0)) == ty {
        let bit = |index| input.constant(index).and_then(|attr| int_splat(ctx, attr));
        if bit(1).is_some_and(Int::is_one) && bit(2).is_some_and(Int::is_zero) {
            return input.operand(0).into();
        }
    }
    // Of two values that are equal where the first would be chosen, the other will do.
    if let Some((is_eq, a, b)) = equality(input)
        && ((a == then && b == otherwise) || (a == otherwise && b == then))
    {
        return if is_eq { otherwise.into() } else { then.into() };
    }
    // Known conditions, one for each value.
    let (Some(conditions), Some(a), Some(b)) =
        (input.constant(0), input.constant(1), input.constant(2))
    else {
        return Folded::No;
    };
    choose(input, conditions, a, b).into()
}

/// Chooses value by value among constants.
fn choose(input: &FoldInput<'_>, conditions: Attr, a: Attr, b: Attr) -> Option<Attr> {
    let ctx = input.ctx();
    let (conditions, a, b) = (conditions.as_dense(ctx)?, a.as_dense(ctx)?, b.as_dense(ctx)?);
    let mut bytes = Vec::with_capacity(a.element_bytes() * a.len());
    for at in 0..conditions.len() {
        let from = if conditions.bool(at)? { &a } else { &b };
        bytes.extend_from_slice(from.bytes_at(at));
    }
    Some(ctx.dense_attr(input.result_type(), bytes))
}
