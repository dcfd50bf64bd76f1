//! Normalisation: the input gradient and the weight gradients are operations of their own, which compute the statistics
//! again.

use piper_dialects::nn::{LayerNorm, LayerNormDw, LayerNormDx, RmsNorm, RmsNormDw, RmsNormDx};
use piper_ir::{Op, Value};

use crate::autodiff::backward::Vjp;

pub(super) fn layer_norm(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let norm = LayerNorm(op);
    let (x, gamma, beta) = (norm.x(vjp.module), norm.gamma(vjp.module), norm.beta(vjp.module));
    if vjp.wants(x) {
        let dx = vjp.value(LayerNormDx::NAME, &[x, gamma, dy], x, op, &["eps"]);
        vjp.give(x, dx);
    }
    if vjp.wants(gamma) || vjp.wants(beta) {
        let dw = vjp.emit(LayerNormDw::NAME, &[x, dy], &[gamma, beta], op, &["eps"]);
        let (dgamma, dbeta) = (vjp.module.result(dw, 0), vjp.module.result(dw, 1));
        vjp.give(gamma, dgamma);
        vjp.give(beta, dbeta);
    }
}

pub(super) fn rms_norm(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let (x, gamma) = (RmsNorm(op).x(vjp.module), RmsNorm(op).gamma(vjp.module));
    if vjp.wants(x) {
        let dx = vjp.value(RmsNormDx::NAME, &[x, gamma, dy], x, op, &["eps"]);
        vjp.give(x, dx);
    }
    if vjp.wants(gamma) {
        let dgamma = vjp.value(RmsNormDw::NAME, &[x, dy], gamma, op, &["eps"]);
        vjp.give(gamma, dgamma);
    }
}
