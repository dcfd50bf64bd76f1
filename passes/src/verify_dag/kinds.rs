//! What differs from device to device is a shard where its body makes a shard, and a partial sum where it makes a summand.
//!
//! Which of the two it is follows from the body, axis by axis, by the factor rules of its operations (Shardable): a contraction
//! over a divided dimension gives summands, everything else keeps a dimension. The type of a result has to say the same, or parts
//! would be put side by side that should be added, or the other way about. [`axes`](super::axes) has checked that a result names the axes it
//! should; this is about how. A body that the rules do not lead through (a declaration, a kernel, an operation without a rule) is
//! taken at its word.

use piper_dialects::dag::{Dist, MICROBATCH};
use piper_dialects::func::Func;
use piper_ir::interfaces::Along;
use piper_ir::{Module, Name, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checked;
use crate::batching::along_from;

/// What bodies make of arguments that vary so; `None` where no rule says.
type Known = FxHashMap<(Op, Vec<Along>), Option<Vec<Along>>>;

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let (module, ctx) = (graph.module, graph.ctx());
    let functions = graph.functions();
    let mut known = Known::default();
    for node in graph.nodes() {
        let callee = node.callee(module).as_symbol(ctx).expect("declared as a symbol").text(ctx);
        let Some(&body) = functions.get(callee) else { continue };
        if Func(body).block(module).is_none() {
            continue;
        }
        let operands: Vec<_> = module.operands(node.0).map(|value| graph.dist(value)).collect();
        let axes: FxHashSet<Name> =
            operands.iter().flat_map(|dist| dist.dims.iter().flatten()).copied().collect();
        for axis in axes {
            let given: Vec<Along> = operands.iter().map(|dist| along(dist, axis)).collect();
            let made = known
                .entry((body, given))
                .or_insert_with_key(|(body, given)| results_along(module, *body, given));
            for (at, (result, made)) in
                module.results(node.0).zip(made.iter().flatten()).enumerate()
            {
                let dist = graph.dist(result);
                if let Some(what) = fault(graph, &dist, axis, *made) {
                    let name = node.node(module).as_str(ctx).unwrap_or("");
                    reporter
                        .error(
                            module.op_loc(node.0),
                            format!("result {at} of node '{name}' {what}"),
                        )
                        .note(module.op_loc(body), "the body is here");
                }
            }
        }
    }
}

/// How a value varies along an axis, according to its type.
fn along(dist: &Dist, axis: Name) -> Along {
    match dist.dims.iter().position(|axes| axes.contains(&axis)) {
        Some(dim) => Along::Dim(dim),
        None if dist.partial.contains(&axis) => Along::Sum,
        None => Along::Whole,
    }
}

/// What is wrong with the type of a result that its body makes so.
fn fault(graph: &Checked<'_>, dist: &Dist, axis: Name, made: Along) -> Option<String> {
    let ctx = graph.ctx();
    let text = axis.text(ctx);
    let ty = || dist.ty(ctx).display(ctx);
    // The parts of a sum over microbatches are named one by one.
    let held = text == MICROBATCH && dist.held.is_some();
    match (made, along(dist, axis)) {
        (Along::Sum, Along::Dim(dim)) => Some(format!(
            "is a shard along \"{text}\" of dimension {dim} according to {}, but its body makes a part of a sum over \"{text}\"",
            ty()
        )),
        (Along::Dim(dim), Along::Sum) => Some(format!(
            "is a partial sum over \"{text}\" according to {}, but its body makes a shard along \"{text}\" of dimension {dim}",
            ty()
        )),
        (Along::Dim(dim), Along::Whole) if held => Some(format!(
            "holds a contribution of a microbatch according to {}, but its body makes the microbatch's rows of dimension {dim}",
            ty()
        )),
        (Along::Dim(dim), Along::Dim(other)) if dim != other => Some(format!(
            "is a shard along \"{text}\" of dimension {other} according to {}, but its body makes a shard of dimension {dim}",
            ty()
        )),
        _ => None,
    }
}

/// How the results of a body vary, if the rules of its operations say.
fn results_along(module: &Module, body: Op, arguments: &[Along]) -> Option<Vec<Along>> {
    let end = Func(body).terminator(module)?;
    // What the rules do not lead through is no fault of the graph.
    let mut unsaid = Reporter::new(module.ctx());
    let along = along_from(module, body, arguments, "this", &mut unsaid).ok()?;
    let of = |value: Value| along.get(&value).copied().unwrap_or(Along::Whole);
    Some(module.operands(end.0).map(of).collect())
}
