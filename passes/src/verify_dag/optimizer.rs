//! What is trained has a gradient, and what is updated is written back, once.

use piper_dialects::dag::{Compute, Project, Transfer};
use piper_dialects::func::Func;
use piper_ir::interfaces::Differentiable;
use piper_ir::interfaces::differentiable::differentiable;
use piper_ir::{Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checked;
use crate::replicate::buckets::layout;

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let module = graph.module;
    let mut commits: FxHashMap<Value, Op> = FxHashMap::default();
    for op in graph.named("dag.commit") {
        if let Some(first) = commits.insert(module.operand(op, 0), op) {
            let state =
                module.defining_op(module.operand(op, 0)).map_or("", |def| graph.name_of(def));
            reporter
                .error(module.op_loc(op), format!("\"{state}\" is written twice in a step"))
                .note(module.op_loc(first), "first written here");
        }
    }
    if graph.named("dag.update").next().is_none() {
        return;
    }
    let mut trained: FxHashSet<&str> =
        graph.named("dag.gradient").map(|op| graph.name_of(op)).collect();
    for op in graph.named("dag.state") {
        let parts = layout(module, op).unwrap_or_default();
        trained.extend(parts.iter().map(|(name, _)| name.text(graph.ctx())));
    }
    let states = graph
        .named("dag.parameter")
        .map(|op| (op, true))
        .chain(graph.named("dag.state").map(|op| (op, false)));
    for (op, is_parameter) in states {
        let (name, committed) = (graph.name_of(op), commits.contains_key(&module.result(op, 0)));
        // What is kept in a flat state is written with it.
        if is_parameter && module.attr_by(op, "flat").is_some() && trained.contains(name) {
            continue;
        }
        if is_parameter && !trained.contains(name) {
            if !is_frozen(graph, module.result(op, 0)) {
                reporter.error(
                    module.op_loc(op),
                    format!("the parameter \"{name}\" has no gradient, so it is not trained"),
                );
            }
        } else if !committed {
            let what = if is_parameter { "parameter" } else { "state" };
            reporter
                .error(
                    module.op_loc(op),
                    format!(
                        "the {what} \"{name}\" gets no new value, though there is an optimizer"
                    ),
                )
                .hint("a dag.commit writes it back");
        }
    }
}

/// Whether a parameter is used only where its gradient ends (`nn.stop_gradient`), or not at all.
fn is_frozen(graph: &Checked<'_>, value: Value) -> bool {
    let module = graph.module;
    module.uses(value).all(|used| {
        if Transfer::cast(module, used.op).is_some() || Project::cast(module, used.op).is_some() {
            return is_frozen(graph, module.result(used.op, 0));
        }
        let Some(node) = Compute::cast(module, used.op) else { return false };
        let callee = node.callee(module).as_symbol(graph.ctx()).expect("declared as a symbol");
        let body = module.lookup_nearest(used.op, callee.text(graph.ctx()));
        let arg = body
            .and_then(|body| Func(body).block(module))
            .and_then(|block| module.args(block).get(used.index).copied());
        arg.is_some_and(|arg| {
            let ends = |op| matches!(differentiable(module, op), Some(Differentiable::Stops));
            module.uses(arg).all(|used| ends(used.op))
        })
    })
}
