//! `y[b, s] = w[tokens[b, s]]`: `dw` gathers the rows of `dy` by token.

use piper_ir::interfaces::Backward;
use piper_ir::{Op, Value};

use crate::nn::{Embedding, EmbeddingDw};

pub(in crate::nn) fn embedding(cx: &mut dyn Backward, op: Op, dy: Value) {
    let (tokens, w) = (Embedding(op).tokens(cx.module()), Embedding(op).w(cx.module()));
    let ctx = cx.module().ctx_arc();
    let rows = cx.module().ty(w).as_tensor(&ctx).map_or(0, |(shape, _)| shape[0]);
    let scatter = cx.emit(EmbeddingDw::NAME, &[tokens, dy], &[w], op, &[]);
    cx.module_mut().set_attr_by(scatter, "vocab", ctx.int_attr(rows));
    let dw = cx.module().result(scatter, 0);
    cx.give(w, dw);
}
