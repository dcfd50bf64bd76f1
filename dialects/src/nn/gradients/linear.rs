//! `y = x w + bias`: `dx = dy w^T`, `dw = x^T dy`, `dbias` the sum of `dy` over rows.

use piper_ir::interfaces::Backward;
use piper_ir::interfaces::differentiable::emit_value;
use piper_ir::{Op, Value};

use crate::nn::{Linear, LinearDw, LinearDx, SumRows};

pub(in crate::nn) fn linear(cx: &mut dyn Backward, op: Op, dy: Value) {
    let linear = Linear(op);
    let (x, w, bias) = (linear.x(cx.module()), linear.w(cx.module()), linear.bias(cx.module()));
    if cx.wants(x) {
        let dx = emit_value(cx, LinearDx::NAME, &[dy, w], x, op, &["transpose_w"]);
        cx.give(x, dx);
    }
    if cx.wants(w) {
        let dw = emit_value(cx, LinearDw::NAME, &[x, dy], w, op, &["transpose_w"]);
        cx.give(w, dw);
    }
    if let Some(bias) = bias.filter(|b| cx.wants(*b)) {
        let dbias = emit_value(cx, SumRows::NAME, &[dy], bias, op, &[]);
        cx.give(bias, dbias);
    }
}
