//! The backward rules, one file a family: how a gradient goes back through each operation. A rule gives each operand that
//! wants one its cotangent; differentiation finds it as the operation's [`Differentiable`](piper_ir::interfaces::Differentiable)
//! interface.
//!
//! Also the arithmetic of cotangents: [`one`], [`sum`] and [`copy`] are what a sweep itself emits.

pub(super) mod attention;
pub(super) mod elementwise;
pub(super) mod embedding;
pub(super) mod experts;
pub(super) mod linear;
pub(super) mod loss;
pub(super) mod norm;
pub(super) mod opaque;
mod statistics;

use piper_ir::{Context, Loc, OpState, Type, Value};

use super::{Add, Constant, Scale};

/// The cotangent of a loss by itself: a tensor of ones.
pub fn one(ctx: &Context, loc: Loc, ty: Type) -> OpState {
    OpState::new(ctx.op_name(Constant::NAME), loc).results([ty]).attr(
        ctx,
        "value",
        ctx.float_attr(1.0),
    )
}

/// The sum of two contributions to a cotangent of type `ty`.
pub fn sum(ctx: &Context, loc: Loc, ty: Type, a: Value, b: Value) -> OpState {
    OpState::new(ctx.op_name(Add::NAME), loc).operands([a, b]).results([ty])
}

/// A cotangent of type `ty` as a value of its own.
pub fn copy(ctx: &Context, loc: Loc, ty: Type, of: Value) -> OpState {
    OpState::new(ctx.op_name(Scale::NAME), loc).operands([of]).results([ty]).attr(
        ctx,
        "factor",
        ctx.float_attr(1.0),
    )
}
