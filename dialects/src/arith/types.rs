//! What `arith` computes with: numbers, and vectors and tensors of them, value by value.

use piper_ir::{Context, Signedness, Type, TypeConstraint, TypeData};

/// A signless integer or `index`, or a vector or tensor of them.
pub(super) const INTEGERS: TypeConstraint = TypeConstraint::Pred(
    "a signless integer or index, or a vector or tensor of them",
    |ctx, ty| is_signless(ctx, element(ctx, ty)) || element(ctx, ty) == ctx.index(),
);

/// A signless integer, or a vector or tensor of them: no `index`.
pub(super) const FIXED_INTEGERS: TypeConstraint = TypeConstraint::Pred(
    "a signless integer of fixed width, or a vector or tensor of them",
    |ctx, ty| is_signless(ctx, element(ctx, ty)),
);

/// A floating-point number, or a vector or tensor of them.
pub(super) const FLOATS: TypeConstraint =
    TypeConstraint::Pred("a floating-point number, or a vector or tensor of them", |ctx, ty| {
        element(ctx, ty).as_float(ctx).is_some()
    });

/// `i1`, or a vector or tensor of it.
pub(super) const BOOLS: TypeConstraint =
    TypeConstraint::Pred("i1, or a vector or tensor of it", |ctx, ty| element(ctx, ty) == ctx.i1());

/// A number, or a vector or tensor of them.
pub(super) const NUMBERS: TypeConstraint =
    TypeConstraint::Pred("a number, or a vector or tensor of them", |ctx, ty| {
        let element = element(ctx, ty);
        is_signless(ctx, element) || element == ctx.index() || element.as_float(ctx).is_some()
    });

/// The type of the numbers in a vector or tensor; the type itself for anything else.
pub(super) fn element(ctx: &Context, ty: Type) -> Type {
    match ty.data(ctx) {
        TypeData::Tensor { element, .. }
        | TypeData::UnrankedTensor { element }
        | TypeData::Vector { element, .. } => *element,
        _ => ty,
    }
}

fn is_signless(ctx: &Context, ty: Type) -> bool {
    matches!(ty.data(ctx), TypeData::Integer { signedness: Signedness::Signless, .. })
}

/// Bits of an integer, 64 for `index`; `None` if it is no integer or has more than 128.
pub(super) fn int_bits(ctx: &Context, ty: Type) -> Option<u32> {
    match element(ctx, ty).data(ctx) {
        TypeData::Integer { width, .. } if *width <= 128 => Some(*width),
        TypeData::Index => Some(64),
        _ => None,
    }
}

/// Bits of a number.
pub(super) fn bits(ctx: &Context, ty: Type) -> Option<u32> {
    let element = element(ctx, ty);
    match element.data(ctx) {
        TypeData::Integer { width, .. } => Some(*width),
        TypeData::Float(kind) => Some(kind.bits()),
        TypeData::Index => Some(64),
        _ => None,
    }
}

/// A type of the same shape with another element.
pub(super) fn with_element(ctx: &Context, ty: Type, new: Type) -> Type {
    let mut data = ty.data(ctx).clone();
    match &mut data {
        TypeData::Tensor { element, .. }
        | TypeData::UnrankedTensor { element }
        | TypeData::Vector { element, .. } => {
            *element = new;
            ctx.ty(data)
        }
        _ => new,
    }
}

/// Whether two types have the same shape, or are both single numbers.
pub(super) fn same_shape(ctx: &Context, a: Type, b: Type) -> bool {
    with_element(ctx, a, ctx.i1()) == with_element(ctx, b, ctx.i1())
}

/// Whether a constant can be written for every value of the type: it is a number or of static shape.
pub(super) fn is_static(ctx: &Context, ty: Type) -> bool {
    match ty.data(ctx) {
        TypeData::Tensor { shape, .. } => !shape.contains(&piper_ir::DYNAMIC),
        TypeData::UnrankedTensor { .. } => false,
        _ => true,
    }
}
