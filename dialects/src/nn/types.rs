//! What the operands of `nn` operations may be.

use piper_ir::types::DYNAMIC;
use piper_ir::{AttrConstraint, Context, FloatKind, Type, TypeConstraint, TypeData};

/// A tensor of f32, f64 or bf16.
pub(super) const REAL: TypeConstraint =
    TypeConstraint::Pred("a tensor of f32, f64 or bf16 with static shape", is_real);

/// A real tensor, or one of bf16, which is stored and added.
pub(super) const STORED_REAL: TypeConstraint =
    TypeConstraint::Pred("a tensor of f32, f64 or bf16 with static shape", is_stored_real);

/// Any tensor that a plan can hold.
pub(super) const STORED: TypeConstraint =
    TypeConstraint::Pred("a tensor of f32, f64, bf16 or i32 with static shape", |ctx, ty| {
        is_stored_real(ctx, ty) || static_element(ctx, ty) == Some(ctx.i32())
    });

/// A scalar tensor of f32 or f64.
pub(super) const SCALAR: TypeConstraint =
    TypeConstraint::Pred("a scalar tensor, tensor<f32> or tensor<f64>", |ctx, ty| {
        is_real(ctx, ty) && ty.as_tensor(ctx).is_some_and(|(shape, _)| shape.is_empty())
    });

/// A tensor of i32.
pub(super) const INDICES: TypeConstraint =
    TypeConstraint::Pred("a tensor of i32 with static shape", |ctx, ty| {
        static_element(ctx, ty) == Some(ctx.i32())
    });

/// A count: an integer above 0.
pub(super) const COUNT: AttrConstraint =
    AttrConstraint::Pred("a positive integer", |ctx, attr| attr.as_int(ctx).is_some_and(|v| v > 0));

/// A finite floating-point number above 0.
pub(super) const POSITIVE: AttrConstraint =
    AttrConstraint::Pred("a positive floating-point number", |ctx, attr| {
        attr.as_float(ctx).is_some_and(|v| v > 0.0 && v.is_finite())
    });

/// A finite floating-point number.
pub(super) const FINITE: AttrConstraint =
    AttrConstraint::Pred("a finite floating-point number", |ctx, attr| {
        attr.as_float(ctx).is_some_and(f64::is_finite)
    });

/// A floating-point number that is not negative.
pub(super) const EPS: AttrConstraint =
    AttrConstraint::Pred("a floating-point number, 0 or more", |ctx, attr| {
        attr.as_float(ctx).is_some_and(|v| v >= 0.0 && v.is_finite())
    });

fn static_element(ctx: &Context, ty: Type) -> Option<Type> {
    match ty.data(ctx) {
        TypeData::Tensor { shape, element, encoding: None } if !shape.contains(&DYNAMIC) => {
            Some(*element)
        }
        _ => None,
    }
}

fn is_real(ctx: &Context, ty: Type) -> bool {
    static_element(ctx, ty)
        .and_then(|element| element.as_float(ctx))
        .is_some_and(|kind| matches!(kind, FloatKind::F32 | FloatKind::F64 | FloatKind::BF16))
}

fn is_stored_real(ctx: &Context, ty: Type) -> bool {
    static_element(ctx, ty)
        .and_then(|element| element.as_float(ctx))
        .is_some_and(|kind| matches!(kind, FloatKind::F32 | FloatKind::F64 | FloatKind::BF16))
}
