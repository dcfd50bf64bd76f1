//! What a launch costs: the sum of what its operations say of themselves (interface `CostModel`), and the bytes that go in and
//! out. Of a function that is only declared, what was said of it.

use piper_dialects::func::declared::GivenCost;
use piper_dialects::nn::GivenCostOf;
use piper_ir::interfaces::cost::{bytes as size, cost};
use piper_ir::{Attr, Context, Module, Op, Value};

/// The cost of a launch with these arguments and results; `is_own`: it is a kernel of its own kind.
pub(super) fn of(
    module: &Module,
    ops: &[Op],
    is_own: bool,
    arguments: &[Value],
    results: &[Value],
) -> GivenCost {
    if let [op] = ops
        && let Some(given) = GivenCostOf::of(module, *op)
    {
        let moved = given.flops.map(|_| bytes(module, ops, is_own, arguments, results) as f64);
        return GivenCost { bytes: given.bytes.or(moved), ..given };
    }
    GivenCost {
        flops: Some(flops(module, ops) as f64),
        bytes: Some(bytes(module, ops, is_own, arguments, results) as f64),
        seconds: None,
    }
}

/// The cost as a dictionary, where operations and bytes do not say all of it.
pub(super) fn stated(ctx: &Context, cost: GivenCost) -> Option<Attr> {
    if cost.seconds.is_none() && (cost.flops.is_some() || cost.bytes.is_none()) {
        return None;
    }
    let numbers = [("flops", cost.flops), ("bytes", cost.bytes), ("seconds", cost.seconds)];
    let entries = numbers
        .into_iter()
        .filter_map(|(name, number)| Some((ctx.name(name), ctx.float_attr(number?))));
    Some(ctx.dict_attr(entries))
}

/// Floating-point operations of the operations of a launch.
fn flops(module: &Module, ops: &[Op]) -> u64 {
    ops.iter().filter_map(|op| cost(module, *op)).map(|cost| cost.flops).sum()
}

/// Bytes that a launch must at least move. A kernel of its own kind knows best what it reads of its arguments.
fn bytes(module: &Module, ops: &[Op], is_own: bool, arguments: &[Value], results: &[Value]) -> u64 {
    if let ([op], true) = (ops, is_own)
        && let Some(cost) = cost(module, *op)
    {
        return cost.bytes();
    }
    arguments.iter().chain(results).map(|value| size(module, *value)).sum()
}
