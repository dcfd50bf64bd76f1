//! The operations of a graph in an order in which they can run: a graph region has none of its own.

use piper_ir::{Module, Op};

/// The operations of a graph, each after those whose results it uses, else in text order; nothing but data edges counts.
///
/// # Errors
/// The operations that depend on themselves, or on ones that do.
pub fn data_order(module: &Module, graph: Op) -> Result<Vec<Op>, Vec<Op>> {
    let block = module.only_block(graph).expect("a graph has a block");
    let ops: Vec<Op> = module.ops(block).collect();
    let mut waiting: Vec<u32> = vec![0; module.op_capacity()];
    for &op in &ops {
        let inside =
            |v| module.defining_op(v).is_some_and(|d| module.parent_block(d) == Some(block));
        waiting[op.index()] = module.operands(op).filter(|v| inside(*v)).count() as u32;
    }
    let mut order = Vec::with_capacity(ops.len());
    // Text order is nearly always an order in which they can run, so later operations wait for a second sweep.
    let mut ready = std::collections::VecDeque::new();
    ready.extend(ops.iter().copied().filter(|op| waiting[op.index()] == 0));
    while let Some(op) = ready.pop_front() {
        order.push(op);
        for value in module.results(op) {
            for used in module.uses(value) {
                let left = &mut waiting[used.op.index()];
                *left -= 1;
                if *left == 0 {
                    ready.push_back(used.op);
                }
            }
        }
    }
    if order.len() == ops.len() {
        return Ok(order);
    }
    Err(ops.into_iter().filter(|op| waiting[op.index()] > 0).collect())
}
