//! Attention, whose gradient needs the log-sum-exp that the forward operation then gives as a second result, and rotary
//! positions, whose gradient turns back.

use piper_ir::interfaces::Backward;
use piper_ir::{Op, OpState, Value};

use crate::nn::{Attention, AttentionDx, Rotary};

pub(in crate::nn) fn attention(cx: &mut dyn Backward, op: Op, d_o: Value) {
    let op = with_lse(cx, op);
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

/// The operation with both results; the one without is replaced.
fn with_lse(cx: &mut dyn Backward, op: Op) -> Op {
    let module = cx.module_mut();
    if module.num_results(op) == 2 {
        return op;
    }
    let ctx = module.ctx_arc();
    let (q, o) = (Attention(op).q(module), module.result(op, 0));
    let heads = Attention(op).heads(module).as_int(&ctx).unwrap_or(0);
    let Some((&[b, s, _], element)) = module.ty(q).as_tensor(&ctx) else {
        unreachable!("verified: q has the form [B, S, H*hd]")
    };
    let lse = ctx.tensor(&[b, heads, s], element);
    let mut state = OpState::new(module.name(op), module.op_loc(op))
        .operands(module.operands(op))
        .results([module.ty(o), lse]);
    state.attrs = module.all_attrs(op);
    let new = module.create(state);
    module.insert_before(op, new);
    let replacement = module.result(new, 0);
    if let Some(name) = module.value_name(o) {
        let text = format!("{}_lse", name.text(&ctx));
        let (lse, lse_name) = (module.result(new, 1), ctx.name(&text));
        module.set_value_name(replacement, name);
        module.set_value_name(lse, lse_name);
    }
    module.replace_uses(o, replacement);
    module.erase(op);
    new
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
