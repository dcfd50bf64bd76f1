//! Sums of contributions: finding what is added, and adding it in another order.

use piper_dialects::dag::Add;
use piper_ir::{Builder, Module, Op, Value};

use crate::build_dag::add;

/// How a sum is ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One after the other: the least memory, as a running sum is updated in place.
    Chain,
    /// A balanced binary tree over the order of the summands: the same bits whatever the schedule, if the order is.
    Tree,
}

/// The values a sum is made of, left to right: `value` itself unless it is a `dag.add`.
pub fn summands(module: &Module, value: Value) -> Vec<Value> {
    let (mut found, mut stack) = (Vec::new(), vec![value]);
    while let Some(value) = stack.pop() {
        match module.defining_op(value).and_then(|op| Add::cast(module, op)) {
            Some(sum) => stack.extend([sum.b(module), sum.a(module)]),
            None => found.push(value),
        }
    }
    found
}

/// Inserts the sum of values that hold different contributions.
pub fn sum(b: &mut Builder<'_>, values: &[Value], shape: Shape) -> Value {
    match (values, shape) {
        ([only], _) => *only,
        (_, Shape::Chain) => values[1..].iter().fold(values[0], |total, &next| add(b, total, next)),
        (_, Shape::Tree) => {
            // The left half is the largest power of two below the length, so that aligned halves are subtrees of the whole.
            let (left, right) = values.split_at((values.len() / 2 + 1).next_power_of_two().min(values.len() - 1).max(1));
            let (left, right) = (sum(b, left, shape), sum(b, right, shape));
            add(b, left, right)
        }
    }
}

/// Erases a sum's operations that have no use any more, from the outermost inwards.
pub fn erase_unused(module: &mut Module, value: Value) {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        let Some(op) = module.defining_op(value) else { continue };
        if Add::cast(module, op).is_none() || module.has_used_result(op) {
            continue;
        }
        stack.extend(module.operands(op).collect::<Vec<_>>());
        module.erase(op);
    }
}

/// The `dag.gradient` operations of a graph.
pub fn gradients(module: &Module, graph: Op) -> Vec<Op> {
    let block = module.only_block(graph).expect("a graph has a block");
    module.ops(block).filter(|op| module.name_text(*op) == "dag.gradient").collect()
}
