//! Cross-entropy: `dlogits = (softmax - onehot) dloss / denominator`.

use piper_ir::interfaces::Backward;
use piper_ir::interfaces::differentiable::emit_value;
use piper_ir::{Op, Value};

use crate::nn::{CrossEntropy, CrossEntropyDx};

pub(in crate::nn) fn cross_entropy(cx: &mut dyn Backward, op: Op, dloss: Value) {
    let (logits, targets) =
        (CrossEntropy(op).logits(cx.module()), CrossEntropy(op).targets(cx.module()));
    let operands = [logits, targets, dloss];
    let dlogits = emit_value(cx, CrossEntropyDx::NAME, &operands, logits, op, &["denominator"]);
    cx.give(logits, dlogits);
}
