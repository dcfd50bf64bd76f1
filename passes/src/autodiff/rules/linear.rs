//! `y = x w + bias`: `dx = dy w^T`, `dw = x^T dy`, `dbias` the sum of `dy` over rows.

use piper_dialects::nn::{Linear, LinearDw, LinearDx, SumRows};
use piper_ir::{Op, Value};

use crate::autodiff::backward::Vjp;

pub(super) fn linear(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let linear = Linear(op);
    let (x, w, bias) = (linear.x(vjp.module), linear.w(vjp.module), linear.bias(vjp.module));
    if vjp.wants(x) {
        let dx = vjp.value(LinearDx::NAME, &[dy, w], x, op, &["transpose_w"]);
        vjp.give(x, dx);
    }
    if vjp.wants(w) {
        let dw = vjp.value(LinearDw::NAME, &[x, dy], w, op, &["transpose_w"]);
        vjp.give(w, dw);
    }
    if let Some(bias) = bias.filter(|b| vjp.wants(*b)) {
        let dbias = vjp.value(SumRows::NAME, &[dy], bias, op, &[]);
        vjp.give(bias, dbias);
    }
}
