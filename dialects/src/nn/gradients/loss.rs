//! Cross-entropy: `dlogits = (exp(logits - lse) - onehot) dloss / denominator`, with the log-sum-exp that the forward operation
//! then gives as a second result, so that the gradient is one pass over the logits. Stored in bf16 it would cost probabilities
//! their second digit, so there the gradient finds it again.

use piper_ir::interfaces::Backward;
use piper_ir::interfaces::differentiable::emit_value;
use piper_ir::{FloatKind, Op, Value};

use super::statistics::with_lse;
use crate::nn::{CrossEntropy, CrossEntropyDx};

pub(in crate::nn) fn cross_entropy(cx: &mut dyn Backward, op: Op, dloss: Value) {
    let view = CrossEntropy(op);
    let (logits, targets) = (view.logits(cx.module()), view.targets(cx.module()));
    let Some((shape, element)) = cx.module().ty(logits).as_tensor(cx.module().ctx()) else {
        unreachable!("verified: logits are a tensor")
    };
    let mut operands = vec![logits, targets, dloss];
    let mut of = op;
    if element.as_float(cx.module().ctx()) != Some(FloatKind::BF16) {
        let rows = shape[..shape.len() - 1].to_vec();
        of = with_lse(cx, op, &rows);
        operands.push(cx.module().result(of, 1));
    }
    let dlogits = emit_value(cx, CrossEntropyDx::NAME, &operands, logits, of, &["denominator"]);
    cx.give(logits, dlogits);
}
