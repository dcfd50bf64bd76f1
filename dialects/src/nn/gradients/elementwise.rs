//! Operations that work value by value.

use piper_ir::interfaces::Backward;
use piper_ir::interfaces::differentiable::emit_value;
use piper_ir::{Op, Value};

use crate::nn::{Add, Convert, Gelu, GeluDx, Mul, Scale, Silu, SiluDx};

pub(in crate::nn) fn gelu(cx: &mut dyn Backward, op: Op, dy: Value) {
    let x = Gelu(op).x(cx.module());
    let dx = emit_value(cx, GeluDx::NAME, &[x, dy], x, op, &[]);
    cx.give(x, dx);
}

pub(in crate::nn) fn silu(cx: &mut dyn Backward, op: Op, dy: Value) {
    let x = Silu(op).x(cx.module());
    let dx = emit_value(cx, SiluDx::NAME, &[x, dy], x, op, &[]);
    cx.give(x, dx);
}

pub(in crate::nn) fn add(cx: &mut dyn Backward, op: Op, dy: Value) {
    let (a, b) = (Add(op).a(cx.module()), Add(op).b(cx.module()));
    cx.give(a, dy);
    cx.give(b, dy);
}

pub(in crate::nn) fn mul(cx: &mut dyn Backward, op: Op, dy: Value) {
    let (a, b) = (Mul(op).a(cx.module()), Mul(op).b(cx.module()));
    for (operand, other) in [(a, b), (b, a)] {
        if cx.wants(operand) {
            let d = emit_value(cx, Mul::NAME, &[dy, other], operand, op, &[]);
            cx.give(operand, d);
        }
    }
}

pub(in crate::nn) fn scale(cx: &mut dyn Backward, op: Op, dy: Value) {
    let x = Scale(op).x(cx.module());
    let dx = emit_value(cx, Scale::NAME, &[dy], x, op, &["factor"]);
    cx.give(x, dx);
}

pub(in crate::nn) fn cast(cx: &mut dyn Backward, op: Op, dy: Value) {
    let x = Convert(op).x(cx.module());
    let dx = emit_value(cx, Convert::NAME, &[dy], x, op, &[]);
    cx.give(x, dx);
}
