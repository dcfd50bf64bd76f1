//! Folding numbers: single ones, and vectors and tensors of them value by value.
//!
//! Integers are kept as the interned attributes have them: read as signed, `i1` as 0 or 1. The functions that fold see
//! the bits and the width; results are cut to the width. Floats are computed in `f64` and rounded to their type once, which
//! for `+ - * /` and the remainder gives the correctly rounded result of every format of at most 32 bits (a format of p
//! bits needs 2p + 2 in between; S. Figueroa, "When is double rounding innocuous?", 1995). Wider formats than `f64` are not
//! folded.

use piper_ir::{Attr, AttrData, Context, FloatKind, Type};

use super::types::{element, int_bits, is_static};

/// An integer as the functions that fold see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Int {
    value: i128,
    /// Its width in bits, at most 128.
    pub(super) width: u32,
}

impl Int {
    pub(super) fn new(value: i128, width: u32) -> Self {
        Self { value, width }
    }

    /// Read as a signed number.
    pub(super) fn signed(self) -> i128 {
        let spare = 128 - self.width;
        if spare == 128 { 0 } else { self.value << spare >> spare }
    }

    /// Read as an unsigned number.
    pub(super) fn unsigned(self) -> u128 {
        self.value as u128 & self.mask()
    }

    pub(super) fn mask(self) -> u128 {
        if self.width == 0 { 0 } else { u128::MAX >> (128 - self.width) }
    }

    /// The least signed number of the width.
    pub(super) fn min_signed(self) -> i128 {
        if self.width == 0 { 0 } else { i128::MIN >> (128 - self.width) }
    }

    pub(super) fn is_zero(self) -> bool {
        self.unsigned() == 0
    }

    pub(super) fn is_one(self) -> bool {
        self.unsigned() == 1
    }

    pub(super) fn is_all_ones(self) -> bool {
        self.unsigned() == self.mask()
    }
}

/// The integer that an attribute stands for: itself, or the one value of a splat.
pub(super) fn int_splat(ctx: &Context, attr: Attr) -> Option<Int> {
    match attr.data(ctx) {
        AttrData::Int { value, ty } => Some(Int::new(*value, int_bits(ctx, *ty)?)),
        AttrData::Dense { .. } => {
            let dense = attr.as_dense(ctx).filter(|dense| is_uniform(dense))?;
            Some(Int::new(dense.int(0)?, int_bits(ctx, dense.element)?))
        }
        _ => None,
    }
}

/// The float that an attribute stands for: itself, or the one value of a splat.
pub(super) fn float_splat(ctx: &Context, attr: Attr) -> Option<f64> {
    match attr.data(ctx) {
        AttrData::Float { ty, .. } => {
            ty.as_float(ctx).filter(|kind| is_exact(*kind)).and(attr.as_float(ctx))
        }
        AttrData::Dense { .. } => {
            let dense = attr.as_dense(ctx).filter(|dense| is_uniform(dense))?;
            dense.element.as_float(ctx).filter(|kind| is_exact(*kind))?;
            dense.float(0)
        }
        _ => None,
    }
}

fn is_uniform(dense: &piper_ir::Dense<'_>) -> bool {
    dense.is_splat() || dense.len() == 1
}

/// Whether every value of the format is an `f64`.
pub(super) fn is_exact(kind: FloatKind) -> bool {
    kind.bits() <= 64
}

/// An integer attribute of a type: a number, or a splat for a vector or tensor. `None` if there is none.
pub(super) fn int_attr(ctx: &Context, ty: Type, value: i128) -> Option<Attr> {
    int_bits(ctx, ty)?;
    if element(ctx, ty) == ty {
        return Some(ctx.int_attr_of(ty, value));
    }
    is_static(ctx, ty).then(|| ctx.dense_ints(ty, &[value]))
}

/// A float attribute of a type, as [`int_attr`].
pub(super) fn float_attr(ctx: &Context, ty: Type, value: f64) -> Option<Attr> {
    element(ctx, ty).as_float(ctx).filter(|kind| is_exact(*kind))?;
    if element(ctx, ty) == ty {
        return Some(ctx.float_attr_of(ty, value));
    }
    is_static(ctx, ty).then(|| ctx.dense_floats(ty, &[value]))
}

/// The values of a constant, and whether it is a single number or splat and so has one.
enum Values {
    Ints(Vec<i128>, u32),
    Floats(Vec<f64>),
}

impl Values {
    /// All values, or one if they are all the same and `expanded` is false.
    fn of(ctx: &Context, attr: Attr, expanded: Option<usize>) -> Option<Self> {
        if let Some(int) = int_splat(ctx, attr) {
            return Some(Values::Ints(vec![int.value; expanded.unwrap_or(1)], int.width));
        }
        if let Some(float) = float_splat(ctx, attr) {
            return Some(Values::Floats(vec![float; expanded.unwrap_or(1)]));
        }
        let dense = attr.as_dense(ctx)?;
        match int_bits(ctx, dense.element) {
            Some(width) => Some(Values::Ints(dense.ints()?.collect(), width)),
            None => {
                dense.element.as_float(ctx).filter(|kind| is_exact(*kind))?;
                Some(Values::Floats(dense.floats()?.collect()))
            }
        }
    }
}

fn len(ctx: &Context, attr: Attr) -> Option<usize> {
    match attr.data(ctx) {
        AttrData::Int { .. } | AttrData::Float { .. } => None,
        _ => attr.as_dense(ctx).filter(|dense| !is_uniform(dense)).map(|dense| dense.len()),
    }
}

fn ints_attr(ctx: &Context, ty: Type, values: &[i128]) -> Option<Attr> {
    match values {
        [one] => int_attr(ctx, ty, *one),
        _ => is_static(ctx, ty).then(|| ctx.dense_ints(ty, values)),
    }
}

fn floats_attr(ctx: &Context, ty: Type, values: &[f64]) -> Option<Attr> {
    match values {
        [one] => float_attr(ctx, ty, *one),
        _ => is_static(ctx, ty).then(|| ctx.dense_floats(ty, values)),
    }
}

/// Folds an integer operation on one constant. `None` if `fold` has no result for some value.
pub(super) fn map_int(
    ctx: &Context,
    a: Option<Attr>,
    ty: Type,
    fold: impl Fn(Int) -> Option<i128>,
) -> Option<Attr> {
    if let Some(AttrData::Int { value, ty: from }) = a.map(|a| a.data(ctx)) {
        return int_attr(ctx, ty, fold(Int::new(*value, int_bits(ctx, *from)?))?);
    }
    let Values::Ints(values, width) = Values::of(ctx, a?, None)? else { return None };
    let folded: Option<Vec<i128>> = values.into_iter().map(|v| fold(Int::new(v, width))).collect();
    ints_attr(ctx, ty, &folded?)
}

/// Folds an integer operation on two constants.
pub(super) fn map_ints(
    ctx: &Context,
    a: Option<Attr>,
    b: Option<Attr>,
    ty: Type,
    fold: impl Fn(Int, Int) -> Option<i128>,
) -> Option<Attr> {
    let (a, b) = (a?, b?);
    if let (AttrData::Int { value: x, ty: from }, AttrData::Int { value: y, .. }) =
        (a.data(ctx), b.data(ctx))
    {
        let width = int_bits(ctx, *from)?;
        return int_attr(ctx, ty, fold(Int::new(*x, width), Int::new(*y, width))?);
    }
    let expanded = len(ctx, a).or(len(ctx, b));
    let (Values::Ints(xs, width), Values::Ints(ys, other)) =
        (Values::of(ctx, a, expanded)?, Values::of(ctx, b, expanded)?)
    else {
        return None;
    };
    if width != other || xs.len() != ys.len() {
        return None;
    }
    let folded: Option<Vec<i128>> =
        xs.into_iter().zip(ys).map(|(x, y)| fold(Int::new(x, width), Int::new(y, width))).collect();
    ints_attr(ctx, ty, &folded?)
}

/// Folds a floating-point operation on one constant.
pub(super) fn map_float(
    ctx: &Context,
    a: Option<Attr>,
    ty: Type,
    fold: impl Fn(f64) -> Option<f64>,
) -> Option<Attr> {
    let Values::Floats(values) = Values::of(ctx, a?, None)? else { return None };
    let folded: Option<Vec<f64>> = values.into_iter().map(fold).collect();
    floats_attr(ctx, ty, &folded?)
}

/// The elements of two constants side by side; a splat has as many as the other.
fn float_pairs(
    ctx: &Context,
    a: Option<Attr>,
    b: Option<Attr>,
) -> Option<impl Iterator<Item = (f64, f64)> + use<>> {
    let (a, b) = (a?, b?);
    let expanded = len(ctx, a).or(len(ctx, b));
    let (Values::Floats(xs), Values::Floats(ys)) =
        (Values::of(ctx, a, expanded)?, Values::of(ctx, b, expanded)?)
    else {
        return None;
    };
    if xs.len() != ys.len() {
        return None;
    }
    Some(xs.into_iter().zip(ys))
}

/// Folds a floating-point operation on two constants. A NaN among them is the result; one that arises is the positive one.
pub(super) fn map_floats(
    ctx: &Context,
    a: Option<Attr>,
    b: Option<Attr>,
    ty: Type,
    fold: impl Fn(f64, f64) -> f64,
) -> Option<Attr> {
    let folded: Vec<f64> = float_pairs(ctx, a, b)?.map(|(x, y)| fold(x, y)).collect();
    floats_attr(ctx, ty, &folded)
}

/// The operands' NaN if one is, else what `fold` gives, any NaN of it as the positive one without a payload.
pub(super) fn with_nans(x: f64, y: f64, fold: impl Fn(f64, f64) -> f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if y.is_nan() {
        return y;
    }
    let result = fold(x, y);
    if result.is_nan() { f64::NAN.copysign(1.0) } else { result }
}

/// Folds a comparison of two floating-point constants to `i1`.
pub(super) fn compare_floats(
    ctx: &Context,
    a: Option<Attr>,
    b: Option<Attr>,
    ty: Type,
    fold: impl Fn(f64, f64) -> bool,
) -> Option<Attr> {
    let folded: Vec<i128> = float_pairs(ctx, a, b)?.map(|(x, y)| fold(x, y).into()).collect();
    ints_attr(ctx, ty, &folded)
}

/// Folds a conversion from integers to floating-point numbers: to the nearest, ties to even.
pub(super) fn int_to_float(ctx: &Context, a: Option<Attr>, ty: Type, signed: bool) -> Option<Attr> {
    let Values::Ints(values, width) = Values::of(ctx, a?, None)? else { return None };
    let is_f64 = element(ctx, ty).as_float(ctx) == Some(FloatKind::F64);
    let convert = |value: i128| {
        let int = Int::new(value, width);
        let (negative, size) = match signed {
            true => (int.signed() < 0, int.signed().unsigned_abs()),
            false => (false, int.unsigned()),
        };
        let size = if is_f64 { size as f64 } else { rounded_to_odd(size) };
        if negative { -size } else { size }
    };
    floats_attr(ctx, ty, &values.into_iter().map(convert).collect::<Vec<_>>())
}

/// The `f64` below or at an integer whose last bit says whether anything was lost, so that rounding it once more, to a
/// narrower format, rounds the integer.
fn rounded_to_odd(value: u128) -> f64 {
    let bits = 128 - value.leading_zeros();
    if bits <= 53 {
        return value as f64;
    }
    let lost = bits - 53;
    let kept = value >> lost | u128::from(value & ((1 << lost) - 1) != 0);
    kept as f64 * 2f64.powi(lost as i32)
}

/// Folds a conversion from floating-point numbers to integers, towards zero. `None` if one is out of range.
pub(super) fn float_to_int(ctx: &Context, a: Option<Attr>, ty: Type, signed: bool) -> Option<Attr> {
    let Values::Floats(values) = Values::of(ctx, a?, None)? else { return None };
    let width = int_bits(ctx, ty).filter(|width| *width > 0 && *width <= 64)?;
    let convert = |value: f64| {
        let whole = value.trunc();
        let top = 2f64.powi(if signed { width as i32 - 1 } else { width as i32 });
        let fits = if signed { whole >= -top && whole < top } else { whole >= 0.0 && whole < top };
        fits.then_some(whole as i128)
    };
    let folded: Option<Vec<i128>> = values.into_iter().map(convert).collect();
    ints_attr(ctx, ty, &folded?)
}

/// Folds a change of float format, if every value is kept exactly.
pub(super) fn change_format(ctx: &Context, a: Option<Attr>, ty: Type) -> Option<Attr> {
    let kind = element(ctx, ty).as_float(ctx).filter(|kind| is_exact(*kind))?;
    map_float(ctx, a, ty, |value| {
        let rounded = kind.round(value);
        (rounded == value && rounded.is_sign_negative() == value.is_sign_negative()
            || value.is_nan() && rounded.is_nan())
        .then_some(rounded)
    })
}

/// The same bits as another type of the same width.
pub(super) fn reinterpret(ctx: &Context, a: Option<Attr>, ty: Type) -> Option<Attr> {
    let (a, to) = (a?, element(ctx, ty));
    match a.data(ctx) {
        AttrData::Int { value, ty: from } => {
            let bits = Int::new(*value, int_bits(ctx, *from)?).unsigned();
            Some(match to.as_float(ctx) {
                Some(_) => ctx.attr(AttrData::Float { pattern: bits, ty }),
                None => ctx.int_attr_of(ty, bits as i128),
            })
        }
        AttrData::Float { pattern, .. } => Some(match to.as_float(ctx) {
            Some(_) => ctx.attr(AttrData::Float { pattern: *pattern, ty }),
            None => ctx.int_attr_of(ty, *pattern as i128),
        }),
        AttrData::Dense { .. } if is_static(ctx, ty) => {
            let dense = a.as_dense(ctx)?;
            (dense.element_bytes() as u64 == to.byte_width(ctx)?)
                .then(|| ctx.dense_attr(ty, dense.raw().to_vec()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_rounded_once() {
        // Halfway between two bf16 values but for the last bit: rounding to f64 first would lose it.
        let value: u128 = (1 << 70) + (1 << 62) + 1;
        assert_eq!(
            FloatKind::BF16.round(rounded_to_odd(value)),
            (1u128 << 70) as f64 + 2f64.powi(63)
        );
        assert_eq!(FloatKind::BF16.round(value as f64), 2f64.powi(70));
        assert_eq!(rounded_to_odd(u128::from(u32::MAX)), f64::from(u32::MAX));
    }

    #[test]
    fn widths_are_respected() {
        let int = Int::new(-1, 8);
        assert_eq!((int.signed(), int.unsigned(), int.min_signed()), (-1, 255, -128));
        assert!(Int::new(1, 1).is_all_ones() && Int::new(1, 1).signed() == -1);
        assert_eq!(Int::new(5, 0).signed(), 0);
    }
}
