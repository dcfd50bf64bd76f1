//! Reading the nodes of a graph, and what directives select.

use piper_dialects::dag::Compute;
use piper_dialects::strategy::tag_text;
use piper_ir::{Module, Op};
use piper_schedule::text::filter::Filter;

/// The compute nodes of a graph, in text order.
pub fn compute_nodes(module: &Module, graph: Op) -> Vec<Op> {
    let block = module.only_block(graph).expect("a graph has a block");
    module.ops(block).filter(|op| Compute::cast(module, *op).is_some()).collect()
}

/// The graphs of a module.
pub fn graphs(module: &Module) -> Vec<Op> {
    module.ops(module.body()).filter(|op| module.name_text(*op) == "dag.graph").collect()
}

/// The node's name.
pub fn node_tag(module: &Module, op: Op) -> String {
    Compute(op).node(module).as_str(module.ctx()).unwrap_or("").to_owned()
}

/// The value of one of the node's tags; its kind is the tag `PASS`.
pub fn tag_of(module: &Module, op: Op, tag: &str) -> Option<String> {
    let ctx = module.ctx();
    if tag == "PASS" {
        return Compute(op).kind(module).as_str(ctx).map(str::to_owned);
    }
    tag_text(ctx, Compute(op).tags(module).get(ctx, tag)?)
}

/// Whether a filter selects the node.
pub fn node_tags_match(module: &Module, op: Op, filter: &Filter) -> bool {
    filter.matches(|tag| tag_of(module, op, tag))
}
