//! Reading the nodes of a graph: what directives select, where they run, how large axes are.

use piper_dialects::dag::{AxisSizes, Compute, MICROBATCH};
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

/// Sizes of the axes that distributions of a graph may name.
pub fn axis_sizes(module: &Module, graph: Op) -> AxisSizes {
    let ctx = module.ctx();
    let mut sizes = Vec::new();
    let mesh = module.attr_by(graph, "mesh").and_then(|a| a.as_symbol(ctx));
    if let Some(mesh) = mesh.and_then(|m| module.lookup_nearest(graph, m.text(ctx))) {
        let names = module.attr_by(mesh, "axes").and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
        let extents = module.attr_by(mesh, "sizes").and_then(|a| a.as_int_array(ctx)).unwrap_or(&[]);
        sizes.extend(names.iter().zip(extents).filter_map(|(n, s)| Some((ctx.name(n.as_str(ctx)?), *s))));
    }
    let microbatches = module.attr_by(graph, "microbatches").and_then(|a| a.as_int(ctx)).unwrap_or(1);
    sizes.push((ctx.name(MICROBATCH), microbatches));
    for op in module.ops(module.body()) {
        if module.name_text(op) == "strategy.group"
            && let (Some(name), Some(slices)) = (module.symbol_name(op), module.attr_by(op, "slices").and_then(|a| a.as_array(ctx)))
        {
            sizes.push((ctx.name(name), slices.len() as i64));
        }
    }
    AxisSizes(sizes)
}
