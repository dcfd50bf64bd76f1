//! Constants.

use piper_ir::{Attr, AttrConstraint, Context, Loc, OpState, Type, TypeConstraint};

use super::{syntax, verify};

piper_ir::dialect_ops! {
    /// A number, or a vector or tensor of numbers: `arith.constant 42 : i32`, `arith.constant dense<1.0> : tensor<4xf32>`.
    Constant = "arith.constant" {
        results: { result: one(TypeConstraint::Any) },
        attrs: { value: one(AttrConstraint::Any) },
        traits: [Pure, ConstantLike],
        syntax: (syntax::parse_constant, syntax::print_constant),
        verify: verify::constant,
    }
}

/// A constant of this value and type; `None` if the value is of another type or can stand in no constant.
pub(super) fn materialize(ctx: &Context, value: Attr, ty: Type, loc: Loc) -> Option<OpState> {
    (value.ty(ctx) == Some(ty) && verify::is_constant_value(ctx, value, ty))
        .then(|| constant_state(ctx, value, ty, loc))
}

/// `arith.constant value`; the value is of type `ty`.
pub fn constant_state(ctx: &Context, value: Attr, ty: Type, loc: Loc) -> OpState {
    OpState::new(ctx.op_name(Constant::NAME), loc).results([ty]).attr(ctx, "value", value)
}
