//! Reading the nodes of a graph, and what directives select.

use piper_dialects::dag::Compute;
use piper_dialects::strategy::tag_text;
use piper_ir::{Module, Op};
use piper_schedule::text::filter::{Filter, Pattern};
use rustc_hash::FxHashMap;

/// The compute nodes of a graph, in text order.
pub fn compute_nodes(module: &Module, graph: Op) -> Vec<Op> {
    let block = module.only_block(graph).expect("a graph has a block");
    module.ops(block).filter(|op| Compute::cast(module, *op).is_some()).collect()
}

/// Selects nodes by filters, looking only at those that have the value of the filter's first plain clause.
pub struct Selector<'m> {
    module: &'m Module,
    nodes: &'m [Op],
    by_tag: FxHashMap<String, FxHashMap<String, Vec<Op>>>,
}

impl<'m> Selector<'m> {
    /// Selects among `nodes`.
    pub fn new(module: &'m Module, nodes: &'m [Op]) -> Self {
        Self { module, nodes, by_tag: FxHashMap::default() }
    }

    /// The nodes that a filter selects, in order.
    pub fn select(&mut self, filter: &Filter) -> Vec<Op> {
        let plain = filter.clauses.iter().find_map(|clause| match &clause.values[..] {
            [(Pattern::Is(value), _)] => Some((&clause.tag, value)),
            _ => None,
        });
        let candidates = match plain {
            None => self.nodes,
            Some((tag, value)) => {
                if !self.by_tag.contains_key(tag) {
                    let mut by_value: FxHashMap<String, Vec<Op>> = FxHashMap::default();
                    for &node in self.nodes {
                        if let Some(value) = tag_of(self.module, node, tag) {
                            by_value.entry(value).or_default().push(node);
                        }
                    }
                    self.by_tag.insert(tag.clone(), by_value);
                }
                self.by_tag[tag].get(value).map_or(&[][..], Vec::as_slice)
            }
        };
        candidates.iter().copied().filter(|op| node_tags_match(self.module, *op, filter)).collect()
    }
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
