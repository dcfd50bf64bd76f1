//! `y[b, s] = w[tokens[b, s]]`: `dw` gathers the rows of `dy` by token.

use piper_dialects::nn::{Embedding, EmbeddingDw};
use piper_ir::{Op, Value};

use crate::autodiff::backward::Vjp;

pub(super) fn embedding(vjp: &mut Vjp<'_>, op: Op, dy: Value) {
    let (tokens, w) = (Embedding(op).tokens(vjp.module), Embedding(op).w(vjp.module));
    let ctx = vjp.module.ctx_arc();
    let rows = vjp.module.ty(w).as_tensor(&ctx).map_or(0, |(shape, _)| shape[0]);
    let scatter = vjp.emit(EmbeddingDw::NAME, &[tokens, dy], &[w], op, &[]);
    vjp.module.set_attr_by(scatter, "vocab", ctx.int_attr(rows));
    let dw = vjp.module.result(scatter, 0);
    vjp.give(w, dw);
}
