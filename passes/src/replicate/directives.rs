//! Which directives of a plan a pass on a graph consumes, and what its options say beside them.

use piper_dialects::dag::Graph;
use piper_dialects::strategy::{Directive, Kind, PlanOp, plans};
use piper_ir::{Module, Op};

/// The directives of the plan that a graph came from, in text order. Empty if no plan is left.
///
/// A plan belongs to a graph of the same function and mesh.
pub fn of_graph(module: &Module, graph: Op) -> Vec<Directive> {
    let Some(view) = Graph::cast(module, graph) else { return Vec::new() };
    let (function, mesh) = (view.function(module), view.mesh(module));
    let plan = plans(module)
        .into_iter()
        .find(|op| PlanOp(*op).function(module) == function && PlanOp(*op).mesh(module) == mesh);
    let Some(block) = plan.and_then(|plan| module.only_block(plan)) else { return Vec::new() };
    module
        .ops(block)
        .filter_map(|op| {
            Some(Directive { op, loc: module.op_loc(op), kind: Kind::read(module, op)? })
        })
        .collect()
}

/// The directive as it is written, for messages: `strategy.replicate`.
pub fn spelling<'m>(module: &'m Module, directive: &Directive) -> &'m str {
    module.name_text(directive.op)
}
