//! What the operations cost, counted as code generation counts: a multiply-add is two operations, a transcendental function
//! ten.

use piper_ir::interfaces::Cost;
use piper_ir::interfaces::cost::{bytes, elements};
use piper_ir::{Module, Op, Value};

/// The size of a dimension, counted from the last; 1 if there is none.
fn size(module: &Module, value: Value, from_last: usize) -> u64 {
    let shape = module.ty(value).as_tensor(module.ctx()).map_or(&[][..], |(shape, _)| shape);
    shape.iter().rev().nth(from_last).map_or(1, |&n| u64::try_from(n).unwrap_or(0))
}

/// `N` operations a value of the first result.
pub(super) fn a_result<const N: u64>(module: &Module, op: Op) -> Cost {
    Cost::moving_all(module, op, N * elements(module, module.result(op, 0)))
}

/// `N` operations a value of operand number `OPERAND`.
pub(super) fn an_operand<const OPERAND: usize, const N: u64>(module: &Module, op: Op) -> Cost {
    Cost::moving_all(module, op, N * elements(module, module.operand(op, OPERAND)))
}

/// A multiply-add for each value of the result and each place along the last dimension of the first operand; an addition for
/// a bias.
pub(super) fn product(module: &Module, op: Op) -> Cost {
    let bias = u64::from(module.num_operands(op) > 2);
    let depth = size(module, module.operand(op, 0), 0);
    Cost::moving_all(module, op, elements(module, module.result(op, 0)) * (2 * depth + bias))
}

/// A multiply-add for each value of the result and each row.
pub(super) fn product_over_rows(module: &Module, op: Op) -> Cost {
    let x = module.operand(op, 0);
    let rows = elements(module, x) / size(module, x, 0).max(1);
    Cost::moving_all(module, op, elements(module, module.result(op, 0)) * 2 * rows)
}

/// A multiply-add for each value of the result and each row of its expert.
pub(super) fn product_over_expert_rows(module: &Module, op: Op) -> Cost {
    let x = module.operand(op, 0);
    let rows = size(module, x, 2) * size(module, x, 1);
    Cost::moving_all(module, op, elements(module, module.result(op, 0)) * 2 * rows)
}

/// `PRODUCTS` products over the half of the scores that causality leaves, and `A_SCORE` operations a score besides: two
/// products forward, five backward.
pub(super) fn attention<const PRODUCTS: u64, const A_SCORE: u64>(module: &Module, op: Op) -> Cost {
    let q = module.operand(op, 0);
    let heads = module.attr_by(op, "heads").and_then(|h| h.as_int(module.ctx())).unwrap_or(1);
    let heads = u64::try_from(heads).unwrap_or(1).max(1);
    let (sequence, head) = (size(module, q, 1), size(module, q, 0) / heads);
    let scores = size(module, q, 2) * heads * sequence * (sequence + 1) / 2;
    Cost::moving_all(module, op, scores * (2 * PRODUCTS * head + A_SCORE))
}

/// An exponential for each logit, and one more where the log-sum-exp is not given.
pub(super) fn cross_entropy_dx(module: &Module, op: Op) -> Cost {
    let a_logit = if module.num_operands(op) > 3 { 13 } else { 26 };
    Cost::moving_all(module, op, elements(module, module.operand(op, 0)) * a_logit)
}

/// Of the table only the rows that are picked are read.
pub(super) fn embedding(module: &Module, op: Op) -> Cost {
    let picked = bytes(module, module.result(op, 0));
    Cost { flops: 0, read: bytes(module, module.operand(op, 0)) + picked, written: picked }
}
