//! What floating-point operations are worth when operands are known.

use piper_ir::interfaces::{FoldInput, Folded};

use super::flags::{NNAN, NSZ, fastmath};
use super::float::NegF;
use super::numbers::{float_splat, map_float, map_floats, with_nans};

fn rhs_is(input: &FoldInput<'_>, test: impl Fn(f64) -> bool) -> bool {
    input.constant(1).and_then(|attr| float_splat(input.ctx(), attr)).is_some_and(test)
}

fn both(input: &FoldInput<'_>, fold: impl Fn(f64, f64) -> f64) -> Folded {
    let (a, b) = (input.constant(0), input.constant(1));
    map_floats(input.ctx(), a, b, input.result_type(), |x, y| with_nans(x, y, &fold)).into()
}

fn is_positive_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_positive()
}

fn is_negative_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

pub(super) fn negf(input: &FoldInput<'_>) -> Folded {
    if let Some(inner) = input.operand_def(0, NegF::NAME) {
        return input.module.operand(inner, 0).into();
    }
    map_float(input.ctx(), input.constant(0), input.result_type(), |x| Some(-x)).into()
}

pub(super) fn addf(input: &FoldInput<'_>) -> Folded {
    // x + 0 is x only if x is not -0.
    if rhs_is(input, is_negative_zero) {
        return input.operand(0).into();
    }
    both(input, |x, y| x + y)
}

pub(super) fn subf(input: &FoldInput<'_>) -> Folded {
    if rhs_is(input, is_positive_zero) {
        return input.operand(0).into();
    }
    both(input, |x, y| x - y)
}

pub(super) fn mulf(input: &FoldInput<'_>) -> Folded {
    if rhs_is(input, |y| y == 1.0) {
        return input.operand(0).into();
    }
    // 0 x is 0 only without NaNs (and infinities, which would give one) and signs of zeros.
    let flags = fastmath(input.module, input.op);
    if flags & (NNAN | NSZ) == NNAN | NSZ && rhs_is(input, |y| y == 0.0) {
        return input.operand(1).into();
    }
    both(input, |x, y| x * y)
}

pub(super) fn divf(input: &FoldInput<'_>) -> Folded {
    if rhs_is(input, |y| y == 1.0) {
        return input.operand(0).into();
    }
    both(input, |x, y| x / y)
}

pub(super) fn remf(input: &FoldInput<'_>) -> Folded {
    both(input, |x, y| x % y)
}

/// The lesser or greater of two: `neutral` is a value that never is the result unless the other one is equal.
fn extremum(
    input: &FoldInput<'_>,
    neutral: impl Fn(f64) -> bool,
    fold: impl Fn(f64, f64) -> f64,
) -> Folded {
    if input.operand(0) == input.operand(1) || rhs_is(input, neutral) {
        return input.operand(0).into();
    }
    let (a, b) = (input.constant(0), input.constant(1));
    map_floats(input.ctx(), a, b, input.result_type(), fold).into()
}

/// The greater, where -0 is less than 0.
fn greater(x: f64, y: f64) -> f64 {
    if x > y || (x == y && x.is_sign_positive()) { x } else { y }
}

/// The lesser, where -0 is less than 0.
fn lesser(x: f64, y: f64) -> f64 {
    if x < y || (x == y && x.is_sign_negative()) { x } else { y }
}

pub(super) fn maximumf(input: &FoldInput<'_>) -> Folded {
    extremum(input, |y| y == f64::NEG_INFINITY, |x, y| with_nans(x, y, greater))
}

pub(super) fn minimumf(input: &FoldInput<'_>) -> Folded {
    extremum(input, |y| y == f64::INFINITY, |x, y| with_nans(x, y, lesser))
}

/// The other one, if one is a NaN.
fn without_nans(x: f64, y: f64, fold: impl Fn(f64, f64) -> f64) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ => fold(x, y),
    }
}

pub(super) fn maxnumf(input: &FoldInput<'_>) -> Folded {
    extremum(input, f64::is_nan, |x, y| without_nans(x, y, greater))
}

pub(super) fn minnumf(input: &FoldInput<'_>) -> Folded {
    extremum(input, f64::is_nan, |x, y| without_nans(x, y, lesser))
}
