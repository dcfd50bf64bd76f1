//! Operations that work value by value.

use piper_dialects::nn::{Add, Gelu, GeluDx, Mul, Scale, Silu, SiluDx};
use piper_ir::{Op, Value};

use crate::autodiff::backward::Vjp;

pub(super) fn gelu(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let x = Gelu(op).x(vjp.module);
    let dx = vjp.value(GeluDx::NAME, &[x, dy], x, op, &[]);
    vjp.give(x, dx);
}

pub(super) fn silu(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let x = Silu(op).x(vjp.module);
    let dx = vjp.value(SiluDx::NAME, &[x, dy], x, op, &[]);
    vjp.give(x, dx);
}

pub(super) fn add(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let (a, b) = (Add(op).a(vjp.module), Add(op).b(vjp.module));
    vjp.give(a, dy);
    vjp.give(b, dy);
}

pub(super) fn mul(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let (a, b) = (Mul(op).a(vjp.module), Mul(op).b(vjp.module));
    for (operand, other) in [(a, b), (b, a)] {
        if vjp.wants(operand) {
            let d = vjp.value(Mul::NAME, &[dy, other], operand, op, &[]);
            vjp.give(operand, d);
        }
    }
}

pub(super) fn scale(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let x = Scale(op).x(vjp.module);
    let dx = vjp.value(Scale::NAME, &[dy], x, op, &["factor"]);
    vjp.give(x, dx);
}
