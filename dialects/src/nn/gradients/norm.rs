//! Normalisation: the input gradient and the weight gradients are operations of their own, which compute the statistics
//! again.

use piper_ir::interfaces::Backward;
use piper_ir::interfaces::differentiable::emit_value;
use piper_ir::{Op, Value};

use crate::nn::{LayerNorm, LayerNormDw, LayerNormDx, RmsNorm, RmsNormDw, RmsNormDx};

pub(in crate::nn) fn layer_norm(cx: &mut dyn Backward, op: Op, dy: Value) {
    let norm = LayerNorm(op);
    let (x, gamma, beta) = (norm.x(cx.module()), norm.gamma(cx.module()), norm.beta(cx.module()));
    if cx.wants(x) {
        let dx = emit_value(cx, LayerNormDx::NAME, &[x, gamma, dy], x, op, &["eps"]);
        cx.give(x, dx);
    }
    if cx.wants(gamma) || cx.wants(beta) {
        let dw = cx.emit(LayerNormDw::NAME, &[x, dy], &[gamma, beta], op, &["eps"]);
        let (dgamma, dbeta) = (cx.module().result(dw, 0), cx.module().result(dw, 1));
        cx.give(gamma, dgamma);
        cx.give(beta, dbeta);
    }
}

pub(in crate::nn) fn rms_norm(cx: &mut dyn Backward, op: Op, dy: Value) {
    let (x, gamma) = (RmsNorm(op).x(cx.module()), RmsNorm(op).gamma(cx.module()));
    if cx.wants(x) {
        let dx = emit_value(cx, RmsNormDx::NAME, &[x, gamma, dy], x, op, &["eps"]);
        cx.give(x, dx);
    }
    if cx.wants(gamma) {
        let dgamma = emit_value(cx, RmsNormDw::NAME, &[x, dy], gamma, op, &["eps"]);
        cx.give(gamma, dgamma);
    }
}
