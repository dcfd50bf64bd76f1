//! Which operations of a graph are which work.

use piper_dialects::dag::{Compute, Dist, collective_axes};
use piper_dialects::strategy::{StreamSpec, Work};
use piper_ir::{Module, Op, Value};

use crate::nodes::node_tags_match;

/// Whether an operation is a collective.
pub(crate) fn is_collective(module: &Module, op: Op) -> bool {
    matches!(
        module.name_text(op),
        "dag.all_reduce" | "dag.reduce_scatter" | "dag.all_gather" | "dag.all_to_all"
    )
}

/// Whether an operation only moves a value on its way between nodes.
fn is_way(module: &Module, op: Op) -> bool {
    is_collective(module, op) || module.name_text(op) == "dag.transfer"
}

/// Whether a collective stands between compute nodes: it is of activations or their gradients.
pub(crate) fn is_exchange(module: &Module, op: Op) -> bool {
    is_collective(module, op)
        && comes_from_node(module, module.operand(op, 0))
        && goes_to_node(module, module.result(op, 0))
}

fn comes_from_node(module: &Module, mut value: Value) -> bool {
    while let Some(def) = module.defining_op(value) {
        if Compute::cast(module, def).is_some() {
            return true;
        }
        if !is_way(module, def) {
            return false;
        }
        value = module.operand(def, 0);
    }
    false
}

fn goes_to_node(module: &Module, value: Value) -> bool {
    let mut values = vec![value];
    while let Some(value) = values.pop() {
        for used in module.uses(value) {
            if Compute::cast(module, used.op).is_some() {
                return true;
            }
            if is_way(module, used.op) {
                values.push(module.result(used.op, 0));
            }
        }
    }
    false
}

/// Whether a stream is for an operation.
pub(crate) fn takes(module: &Module, spec: &StreamSpec, op: Op) -> bool {
    let is = |work: &Work| match work {
        Work::Compute => {
            Compute::cast(module, op).is_some()
                && spec.filter.as_ref().is_none_or(|filter| node_tags_match(module, op, filter))
        }
        Work::Transfer => module.name_text(op) == "dag.transfer",
        Work::Exchange => is_exchange(module, op),
        Work::AllToAll => module.name_text(op) == "dag.all_to_all",
        Work::AllReduce => module.name_text(op) == "dag.all_reduce",
        Work::ReduceScatter => module.name_text(op) == "dag.reduce_scatter",
        Work::AllGather => module.name_text(op) == "dag.all_gather",
    };
    spec.work.iter().any(is) && spec.over.as_ref().is_none_or(|axis| is_over(module, op, axis))
}

/// Whether a collective is over an axis, or a transfer goes along it.
fn is_over(module: &Module, op: Op, axis: &str) -> bool {
    let ctx = module.ctx();
    let axis = ctx.name(axis);
    if let Some(axes) = module.attr_by(op, "axes") {
        return collective_axes(ctx, axes).contains(&axis);
    }
    if module.name_text(op) != "dag.transfer" {
        return false;
    }
    let at = |value: Value| Dist::of(ctx, module.ty(value)).and_then(|dist| dist.coordinate(axis));
    at(module.operand(op, 0)) != at(module.result(op, 0))
}
