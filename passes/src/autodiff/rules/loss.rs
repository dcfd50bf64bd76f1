//! Cross-entropy: `dlogits = (softmax - onehot) dloss / denominator`.

use piper_dialects::nn::{CrossEntropy, CrossEntropyDx};
use piper_ir::{Op, Value};

use crate::autodiff::backward::Vjp;

pub(super) fn cross_entropy(vjp: &mut Vjp<'_>, op: Op, dloss: Value) {
    let (logits, targets) =
        (CrossEntropy(op).logits(vjp.module), CrossEntropy(op).targets(vjp.module));
    let operands = [logits, targets, dloss];
    let dlogits = vjp.value(CrossEntropyDx::NAME, &operands, logits, op, &["denominator"]);
    vjp.give(logits, dlogits);
}
