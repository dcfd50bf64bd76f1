//! Attention, whose gradient needs the log-sum-exp that the forward operation then gives as a second result, and rotary
//! positions, whose gradient turns back.

use piper_ir::interfaces::Backward;
use piper_ir::{Op, Value};

use super::statistics::with_lse;
use crate::nn::{Attention, AttentionDx, Rotary};

pub(in crate::nn) fn attention(cx: &mut dyn Backward, op: Op, d_o: Value) {
    let view = Attention(op);
    let ctx = cx.module().ctx();
    let heads = view.heads(cx.module()).as_int(ctx).unwrap_or(0);
    let Some((&[b, s, _], _)) = cx.module().ty(view.q(cx.module())).as_tensor(ctx) else {
        unreachable!("verified: q has the form [B, S, H*hd]")
    };
    let op = with_lse(cx, op, &[b, heads, s]);
    let view = Attention(op);
    let (q, k, v) = (view.q(cx.module()), view.k(cx.module()), view.v(cx.module()));
    let (o, lse) = (cx.module().result(op, 0), cx.module().result(op, 1));
    let attrs = ["heads", "kv_heads"];
    let back = cx.emit(AttentionDx::NAME, &[q, k, v, o, lse, d_o], &[q, k, v], op, &attrs);
    for (i, operand) in [q, k, v].into_iter().enumerate() {
        let d = cx.module().result(back, i);
        cx.give(operand, d);
    }
}

pub(in crate::nn) fn rotary(cx: &mut dyn Backward, op: Op, dy: Value) {
    let x = Rotary(op).x(cx.module());
    let turned_back = Rotary(op).inverse(cx.module()).is_none();
    let back = cx.emit(Rotary::NAME, &[dy], &[x], op, &["heads", "base"]);
    if turned_back {
        let unit = cx.module().ctx().unit();
        cx.module_mut().set_attr_by(back, "inverse", unit);
    }
    let dx = cx.module().result(back, 0);
    cx.give(x, dx);
}
