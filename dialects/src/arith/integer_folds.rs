//! What integer operations are worth when operands are known, equal, or undo each other.

use piper_ir::interfaces::{FoldInput, Folded, FoldedValue};
use piper_ir::{Attr, Op, Value};

use super::integer::{AddI, AndI, SubI, XOrI};
use super::numbers::{Int, int_attr, int_splat, map_ints};

/// Operand number `index`, if all its values are this one.
fn splat(input: &FoldInput<'_>, index: usize) -> Option<Int> {
    int_splat(input.ctx(), input.constant(index)?)
}

fn rhs_is(input: &FoldInput<'_>, test: impl Fn(Int) -> bool) -> bool {
    splat(input, 1).is_some_and(test)
}

/// The constant with this value of the type of the result.
fn known(input: &FoldInput<'_>, value: i128) -> Option<Attr> {
    int_attr(input.ctx(), input.result_type(), value)
}

fn both(input: &FoldInput<'_>, fold: impl Fn(Int, Int) -> Option<i128>) -> Folded {
    if input.constant(0).is_none() || input.constant(1).is_none() {
        return Folded::No;
    }
    let (a, b) = (input.constant(0), input.constant(1));
    map_ints(input.ctx(), a, b, input.result_type(), fold).into()
}

fn operands_of(input: &FoldInput<'_>, op: Op) -> (Value, Value) {
    (input.module.operand(op, 0), input.module.operand(op, 1))
}

pub(super) fn addi(input: &FoldInput<'_>) -> Folded {
    let (a, b) = (input.operand(0), input.operand(1));
    if rhs_is(input, Int::is_zero) {
        return a.into();
    }
    // (x - b) + b and b + (x - b)
    for (index, other) in [(0, b), (1, a)] {
        if let Some(sub) = input.operand_def(index, SubI::NAME) {
            let (x, y) = operands_of(input, sub);
            if y == other {
                return x.into();
            }
        }
    }
    both(input, |a, b| Some(a.signed().wrapping_add(b.signed())))
}

pub(super) fn subi(input: &FoldInput<'_>) -> Folded {
    let (a, b) = (input.operand(0), input.operand(1));
    if a == b {
        return known(input, 0).into();
    }
    if rhs_is(input, Int::is_zero) {
        return a.into();
    }
    if let Some(add) = input.operand_def(0, AddI::NAME) {
        let (x, y) = operands_of(input, add);
        if y == b {
            return x.into();
        }
        if x == b {
            return y.into();
        }
    }
    both(input, |a, b| Some(a.signed().wrapping_sub(b.signed())))
}

pub(super) fn muli(input: &FoldInput<'_>) -> Folded {
    if rhs_is(input, Int::is_zero) {
        return input.operand(1).into();
    }
    if rhs_is(input, Int::is_one) {
        return input.operand(0).into();
    }
    both(input, |a, b| Some(a.signed().wrapping_mul(b.signed())))
}

/// A division, which by one changes nothing.
fn division(input: &FoldInput<'_>, fold: impl Fn(Int, Int) -> Option<i128>) -> Folded {
    if rhs_is(input, Int::is_one) {
        return input.operand(0).into();
    }
    both(input, |a, b| if b.is_zero() { None } else { fold(a, b) })
}

/// The signed quotient, unless it overflows, and the remainder.
fn signed_division(a: Int, b: Int) -> Option<(i128, i128)> {
    let (x, y) = (a.signed(), b.signed());
    (!(x == a.min_signed() && y == -1)).then(|| (x / y, x % y))
}

pub(super) fn divui(input: &FoldInput<'_>) -> Folded {
    division(input, |a, b| Some((a.unsigned() / b.unsigned()) as i128))
}

pub(super) fn divsi(input: &FoldInput<'_>) -> Folded {
    division(input, |a, b| Some(signed_division(a, b)?.0))
}

pub(super) fn ceildivui(input: &FoldInput<'_>) -> Folded {
    division(input, |a, b| Some(a.unsigned().div_ceil(b.unsigned()) as i128))
}

pub(super) fn ceildivsi(input: &FoldInput<'_>) -> Folded {
    division(input, |a, b| {
        let (quotient, remainder) = signed_division(a, b)?;
        Some(quotient + i128::from(remainder != 0 && (remainder < 0) == (b.signed() < 0)))
    })
}

pub(super) fn floordivsi(input: &FoldInput<'_>) -> Folded {
    division(input, |a, b| {
        let (quotient, remainder) = signed_division(a, b)?;
        Some(quotient - i128::from(remainder != 0 && (remainder < 0) != (b.signed() < 0)))
    })
}

pub(super) fn remui(input: &FoldInput<'_>) -> Folded {
    if rhs_is(input, Int::is_one) {
        return known(input, 0).into();
    }
    both(input, |a, b| (!b.is_zero()).then(|| (a.unsigned() % b.unsigned()) as i128))
}

pub(super) fn remsi(input: &FoldInput<'_>) -> Folded {
    if rhs_is(input, Int::is_one) {
        return known(input, 0).into();
    }
    both(input, |a, b| (!b.is_zero()).then(|| a.signed().wrapping_rem(b.signed())))
}

/// What `value` is the complement of: `x` of `x ^ -1`.
fn complemented(input: &FoldInput<'_>, value: Value) -> Option<Value> {
    let module = input.module;
    let xor = module.defining_op(value).filter(|op| module.name_text(*op) == XOrI::NAME)?;
    let constant = piper_ir::interfaces::constant_of(module, module.operand(xor, 1))?;
    int_splat(module.ctx(), constant).is_some_and(Int::is_all_ones).then(|| module.operand(xor, 0))
}

fn are_complements(input: &FoldInput<'_>) -> bool {
    let (a, b) = (input.operand(0), input.operand(1));
    complemented(input, a) == Some(b) || complemented(input, b) == Some(a)
}

pub(super) fn andi(input: &FoldInput<'_>) -> Folded {
    let (a, b) = (input.operand(0), input.operand(1));
    if rhs_is(input, Int::is_zero) {
        return b.into();
    }
    if rhs_is(input, Int::is_all_ones) || a == b {
        return a.into();
    }
    if are_complements(input) {
        return known(input, 0).into();
    }
    // x & (x & y)
    for (index, this, other) in [(0, a, b), (1, b, a)] {
        if let Some(and) = input.operand_def(index, AndI::NAME) {
            let (x, y) = operands_of(input, and);
            if x == other || y == other {
                return this.into();
            }
        }
    }
    both(input, |a, b| Some(a.signed() & b.signed()))
}

pub(super) fn ori(input: &FoldInput<'_>) -> Folded {
    let (a, b) = (input.operand(0), input.operand(1));
    if rhs_is(input, Int::is_zero) || a == b {
        return a.into();
    }
    if rhs_is(input, Int::is_all_ones) {
        return b.into();
    }
    if are_complements(input) {
        return known(input, -1).into();
    }
    both(input, |a, b| Some(a.signed() | b.signed()))
}

pub(super) fn xori(input: &FoldInput<'_>) -> Folded {
    let (a, b) = (input.operand(0), input.operand(1));
    if rhs_is(input, Int::is_zero) {
        return a.into();
    }
    if a == b {
        return known(input, 0).into();
    }
    // (x ^ y) ^ y, in all orders
    for (index, other) in [(0, b), (1, a)] {
        if let Some(xor) = input.operand_def(index, XOrI::NAME) {
            let (x, y) = operands_of(input, xor);
            if x == other {
                return y.into();
            }
            if y == other {
                return x.into();
            }
        }
    }
    both(input, |a, b| Some(a.signed() ^ b.signed()))
}

/// A shift, which by zero changes nothing and by the width or more is not folded.
fn shift(input: &FoldInput<'_>, fold: impl Fn(Int, u32) -> i128) -> Folded {
    if rhs_is(input, Int::is_zero) {
        return input.operand(0).into();
    }
    both(input, |a, by| {
        let by = u32::try_from(by.unsigned()).ok().filter(|by| *by < a.width)?;
        Some(fold(a, by))
    })
}

pub(super) fn shli(input: &FoldInput<'_>) -> Folded {
    shift(input, |a, by| (a.unsigned() << by) as i128)
}

pub(super) fn shrui(input: &FoldInput<'_>) -> Folded {
    shift(input, |a, by| (a.unsigned() >> by) as i128)
}

pub(super) fn shrsi(input: &FoldInput<'_>) -> Folded {
    shift(input, |a, by| a.signed() >> by)
}

/// The lesser or greater of two: `absorbing` says that the second is always the result, `neutral` that it never is.
fn extremum(
    input: &FoldInput<'_>,
    absorbing: impl Fn(Int) -> bool,
    neutral: impl Fn(Int) -> bool,
    fold: impl Fn(Int, Int) -> i128,
) -> Folded {
    let (a, b) = (input.operand(0), input.operand(1));
    if a == b || rhs_is(input, neutral) {
        return a.into();
    }
    if rhs_is(input, absorbing) {
        return b.into();
    }
    both(input, |a, b| Some(fold(a, b)))
}

fn is_least_signed(int: Int) -> bool {
    int.signed() == int.min_signed()
}

fn is_greatest_signed(int: Int) -> bool {
    int.signed() == !int.min_signed()
}

pub(super) fn maxsi(input: &FoldInput<'_>) -> Folded {
    extremum(input, is_greatest_signed, is_least_signed, |a, b| a.signed().max(b.signed()))
}

pub(super) fn minsi(input: &FoldInput<'_>) -> Folded {
    extremum(input, is_least_signed, is_greatest_signed, |a, b| a.signed().min(b.signed()))
}

pub(super) fn maxui(input: &FoldInput<'_>) -> Folded {
    extremum(input, Int::is_all_ones, Int::is_zero, |a, b| a.unsigned().max(b.unsigned()) as i128)
}

pub(super) fn minui(input: &FoldInput<'_>) -> Folded {
    extremum(input, Int::is_zero, Int::is_all_ones, |a, b| a.unsigned().min(b.unsigned()) as i128)
}

fn two(first: FoldedValue, second: Option<Attr>) -> Folded {
    second.map_or(Folded::No, |second| Folded::Results(vec![first, FoldedValue::Constant(second)]))
}

fn result_type(input: &FoldInput<'_>, index: usize) -> piper_ir::Type {
    input.module.ty(input.module.result(input.op, index))
}

pub(super) fn addui_extended(input: &FoldInput<'_>) -> Folded {
    let ctx = input.ctx();
    let (ty, bit) = (result_type(input, 0), result_type(input, 1));
    if rhs_is(input, Int::is_zero) {
        return two(FoldedValue::Value(input.operand(0)), int_attr(ctx, bit, 0));
    }
    let (a, b) = (input.constant(0), input.constant(1));
    let sum = map_ints(ctx, a, b, ty, |a, b| Some(a.signed().wrapping_add(b.signed())));
    let overflow = map_ints(ctx, a, b, bit, |a, b| {
        let fits = a.unsigned().checked_add(b.unsigned()).is_some_and(|sum| sum <= a.mask());
        Some(i128::from(!fits))
    });
    sum.map_or(Folded::No, |sum| two(FoldedValue::Constant(sum), overflow))
}

/// Products in twice the width, of integers of up to 64 bits.
fn wide_product(input: &FoldInput<'_>, signed: bool) -> Folded {
    let ctx = input.ctx();
    let ty = result_type(input, 0);
    if rhs_is(input, Int::is_zero) {
        return two(FoldedValue::Value(input.operand(1)), int_attr(ctx, ty, 0));
    }
    if !signed && rhs_is(input, Int::is_one) {
        return two(FoldedValue::Value(input.operand(0)), int_attr(ctx, ty, 0));
    }
    let product = |a: Int, b: Int| {
        (a.width <= 64).then(|| match signed {
            true => (a.signed() * b.signed()) as u128,
            false => a.unsigned() * b.unsigned(),
        })
    };
    let (a, b) = (input.constant(0), input.constant(1));
    let low = map_ints(ctx, a, b, ty, |a, b| Some(product(a, b)? as i128));
    let high = map_ints(ctx, a, b, ty, |a, b| Some((product(a, b)? >> a.width) as i128));
    low.map_or(Folded::No, |low| two(FoldedValue::Constant(low), high))
}

pub(super) fn mulsi_extended(input: &FoldInput<'_>) -> Folded {
    wide_product(input, true)
}

pub(super) fn mului_extended(input: &FoldInput<'_>) -> Folded {
    wide_product(input, false)
}
