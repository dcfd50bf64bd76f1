//! What operands and attributes of StableHLO operations may be.

use piper_ir::{AttrConstraint, Context, Type, TypeConstraint, TypeData};

/// Element types of dialects that nobody here knows (quantised ones) pass every test.
fn element_is(ctx: &Context, ty: Type, accepts: impl Fn(&Context, &TypeData) -> bool) -> bool {
    let element = ty.as_tensor(ctx).map(|(_, element)| element.data(ctx));
    element.is_some_and(|data| matches!(data, TypeData::Opaque { .. }) || accepts(ctx, data))
}

fn is_float(_: &Context, data: &TypeData) -> bool {
    matches!(data, TypeData::Float(_))
}

fn is_complex(_: &Context, data: &TypeData) -> bool {
    matches!(data, TypeData::Complex(_))
}

fn is_integer(_: &Context, data: &TypeData) -> bool {
    matches!(data, TypeData::Integer { .. } | TypeData::Index)
}

fn is_boolean(ctx: &Context, data: &TypeData) -> bool {
    data == ctx.i1().data(ctx)
}

/// Floating-point numbers.
pub(super) const FLOAT: TypeConstraint =
    TypeConstraint::Pred("a tensor of floating-point numbers", |ctx, ty| {
        element_is(ctx, ty, is_float)
    });

/// Complex numbers.
pub(super) const COMPLEX: TypeConstraint =
    TypeConstraint::Pred("a tensor of complex numbers", |ctx, ty| element_is(ctx, ty, is_complex));

/// Floating-point or complex numbers.
pub(super) const REAL_OR_COMPLEX: TypeConstraint =
    TypeConstraint::Pred("a tensor of floating-point or complex numbers", |ctx, ty| {
        element_is(ctx, ty, |ctx, data| is_float(ctx, data) || is_complex(ctx, data))
    });

/// Integers and booleans.
pub(super) const INTEGER: TypeConstraint =
    TypeConstraint::Pred("a tensor of integers or booleans", |ctx, ty| {
        element_is(ctx, ty, is_integer)
    });

/// Booleans.
pub(super) const BOOLEAN: TypeConstraint =
    TypeConstraint::Pred("a tensor of booleans (i1)", |ctx, ty| element_is(ctx, ty, is_boolean));

/// Numbers, not booleans.
pub(super) const NUMERIC: TypeConstraint =
    TypeConstraint::Pred("a tensor of numbers", |ctx, ty| {
        element_is(ctx, ty, |ctx, data| !is_boolean(ctx, data))
    });

/// A dimension or another number from 0.
pub(super) const INDEX: AttrConstraint =
    AttrConstraint::Pred("an integer, 0 or more", |ctx, attr| {
        attr.as_int(ctx).is_some_and(|n| n >= 0)
    });

/// A list of integers, `array<i64: ...>`.
pub(super) const LIST: AttrConstraint = AttrConstraint::IntArray;
