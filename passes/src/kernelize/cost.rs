//! What a launch costs: the sum of what its operations say of themselves (interface `CostModel`), and the bytes that go in and
//! out.

use piper_ir::interfaces::cost::{bytes as size, cost};
use piper_ir::{Module, Op, Value};

/// Floating-point operations of the operations of a launch.
pub(super) fn flops(module: &Module, ops: &[Op]) -> u64 {
    ops.iter().filter_map(|op| cost(module, *op)).map(|cost| cost.flops).sum()
}

/// Bytes that a launch with these arguments and results must at least move. A kernel of its own kind (`is_own`) knows best
/// what it reads of its arguments.
pub(super) fn bytes(
    module: &Module,
    ops: &[Op],
    is_own: bool,
    arguments: &[Value],
    results: &[Value],
) -> u64 {
    if let ([op], true) = (ops, is_own)
        && let Some(cost) = cost(module, *op)
    {
        return cost.bytes();
    }
    arguments.iter().chain(results).map(|value| size(module, *value)).sum()
}
