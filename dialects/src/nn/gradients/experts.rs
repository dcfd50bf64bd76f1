//! `dispatch` and `combine` are each other's transpose; a product for each expert goes back as any product does.

use piper_ir::interfaces::Backward;
use piper_ir::interfaces::differentiable::emit_value;
use piper_ir::{Op, Value};

use crate::nn::{Combine, Dispatch, ExpertLinear, ExpertLinearDw, ExpertLinearDx};

pub(in crate::nn) fn dispatch(cx: &mut dyn Backward, op: Op, dy: Value) {
    let x = Dispatch(op).x(cx.module());
    if cx.wants(x) {
        let dx = emit_value(cx, Combine::NAME, &[dy], x, op, &[]);
        cx.give(x, dx);
    }
}

pub(in crate::nn) fn combine(cx: &mut dyn Backward, op: Op, dx: Value) {
    let y = Combine(op).y(cx.module());
    if !cx.wants(y) {
        return;
    }
    let dy = emit_value(cx, Dispatch::NAME, &[dx], y, op, &[]);
    let (ctx, made) = (cx.module().ctx_arc(), cx.module().defining_op(dy));
    let experts = cx.module().ty(y).as_tensor(&ctx).and_then(|(shape, _)| shape.first().copied());
    if let (Some(made), Some(experts)) = (made, experts) {
        cx.module_mut().set_attr_by(made, "experts", ctx.int_attr(experts));
    }
    cx.give(y, dy);
}

pub(in crate::nn) fn linear(cx: &mut dyn Backward, op: Op, dy: Value) {
    let (x, w) = (ExpertLinear(op).x(cx.module()), ExpertLinear(op).w(cx.module()));
    if cx.wants(x) {
        let dx = emit_value(cx, ExpertLinearDx::NAME, &[dy, w], x, op, &[]);
        cx.give(x, dx);
    }
    if cx.wants(w) {
        let dw = emit_value(cx, ExpertLinearDw::NAME, &[x, dy], w, op, &[]);
        cx.give(w, dw);
    }
}
