//! What a launch costs, from shapes alone: operations and bytes, counted as code generation counts them.

use piper_dialects::nn;
use piper_ir::{Module, Op, Value};

/// Floating-point operations of one operation: a multiply-add is two, a transcendental function ten.
pub(super) fn flops(module: &Module, op: Op) -> u64 {
    let elems = |value: Value| module.ty(value).num_elements(module.ctx()).unwrap_or(0);
    let size = |value: Value, dim: usize| {
        let shape = module.ty(value).as_tensor(module.ctx()).map_or(&[][..], |(shape, _)| shape);
        shape.iter().rev().nth(dim).map_or(1, |&n| u64::try_from(n).unwrap_or(0))
    };
    let first = || module.operand(op, 0);
    let result = || elems(module.result(op, 0));
    match module.name_text(op) {
        nn::Add::NAME | nn::Mul::NAME | nn::Scale::NAME => result(),
        nn::Gelu::NAME => 18 * result(),
        nn::GeluDx::NAME => 27 * result(),
        nn::Silu::NAME => 14 * result(),
        nn::SiluDx::NAME => 18 * result(),
        nn::Linear::NAME => {
            let bias = u64::from(nn::Linear(op).bias(module).is_some());
            result() * (2 * size(first(), 0) + bias)
        }
        nn::LinearDx::NAME => result() * 2 * size(first(), 0),
        nn::LinearDw::NAME => result() * 2 * (elems(first()) / size(first(), 0).max(1)),
        nn::LayerNorm::NAME | nn::RmsNorm::NAME => 8 * elems(first()),
        nn::LayerNormDx::NAME | nn::RmsNormDx::NAME => 14 * elems(first()),
        nn::LayerNormDw::NAME | nn::RmsNormDw::NAME => 9 * elems(first()),
        // Two products forward, five backward, over the half of the scores that causality leaves.
        name @ (nn::Attention::NAME | nn::AttentionDx::NAME) => {
            let heads =
                module.attr_by(op, "heads").and_then(|h| h.as_int(module.ctx())).unwrap_or(1);
            let heads = u64::try_from(heads).unwrap_or(1).max(1);
            let (sequence, head) = (size(first(), 1), size(first(), 0) / heads);
            let scores = size(first(), 2) * heads * sequence * (sequence + 1) / 2;
            scores * if name == nn::Attention::NAME { 4 * head + 14 } else { 10 * head + 15 }
        }
        nn::Rotary::NAME => 3 * result(),
        nn::CrossEntropy::NAME => 13 * elems(first()),
        nn::CrossEntropyDx::NAME => 15 * elems(first()),
        nn::EmbeddingDw::NAME => elems(module.operand(op, 1)),
        nn::SumRows::NAME => elems(first()),
        _ => 0,
    }
}

/// Bytes that a launch with these arguments and results must at least move.
pub(super) fn bytes(module: &Module, ops: &[Op], arguments: &[Value], results: &[Value]) -> u64 {
    let size = |value: &Value| module.ty(*value).num_bytes(module.ctx()).unwrap_or(0);
    if let [op] = ops
        && nn::Embedding::cast(module, *op).is_some()
    {
        // Of the table only the rows that are picked.
        return size(&arguments[0]) + 2 * results.iter().map(size).sum::<u64>();
    }
    arguments.iter().chain(results).map(size).sum()
}
