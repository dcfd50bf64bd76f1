//! What differs from device to device is a shard or a partial sum, and nothing else is.
//!
//! A body computes alike on all devices, so what it gives differs along an axis exactly if something that it is made of does.
//! Such a result has to name the axis: as the shards it is one of, or as the sum it is a part of. Left out, devices would
//! take different numbers for the same one, and a gradient would lack the other replicas' part; named without need, equal
//! numbers would be added up. This is where the types of results, which passes write down, meet the data.

use piper_dialects::dag::{Dist, Home, MICROBATCH};
use piper_dialects::func::Func;
use piper_ir::{Module, Name, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checked;

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let (module, ctx) = (graph.module, graph.ctx());
    let functions = graph.functions();
    let mut uses: FxHashMap<Op, Vec<Vec<usize>>> = FxHashMap::default();
    for node in graph.nodes() {
        let callee = node.callee(module).as_symbol(ctx).expect("declared as a symbol").text(ctx);
        let Some(&body) = functions.get(callee) else { continue };
        let made_of = uses.entry(body).or_insert_with(|| arguments_of_results(module, body));
        let operands: Vec<Value> = module.operands(node.0).collect();
        for ((number, result), arguments) in module.results(node.0).enumerate().zip(made_of) {
            // A constant, which may be a part of any sum.
            if arguments.is_empty() {
                continue;
            }
            let (mut differs, mut is_batch) = (Vec::new(), false);
            for dist in arguments.iter().filter_map(|at| Some(graph.dist(*operands.get(*at)?))) {
                differs.extend(dist.dims.iter().flatten().filter(|a| a.text(ctx) != MICROBATCH));
                is_batch |= dist.dims.iter().flatten().any(|a| a.text(ctx) == MICROBATCH);
            }
            let dist = graph.dist(result);
            let name = || node.node(module).as_str(ctx).unwrap_or("").to_owned();
            let fault = fault(graph, &dist, &differs, is_batch);
            if let Some((axis, message)) = fault {
                let from = operands.iter().enumerate().find(|(at, value)| {
                    let has = graph.dist(**value).dims.iter().flatten().any(|a| *a == axis);
                    arguments.contains(at) && has
                });
                let error = reporter.error(
                    module.op_loc(node.0),
                    format!("result {number} of node '{}' {message}", name()),
                );
                if let Some(def) = from.and_then(|(_, value)| module.defining_op(*value)) {
                    let axis = axis.text(ctx);
                    error.note(module.op_loc(def), format!("this differs along \"{axis}\""));
                }
            }
        }
    }
}

/// What is wrong with a result, and the axis it is about.
fn fault(
    graph: &Checked<'_>,
    dist: &Dist,
    differs: &[Name],
    is_batch: bool,
) -> Option<(Name, String)> {
    let ctx = graph.ctx();
    let ty = || dist.ty(ctx).display(ctx);
    let named: Vec<Name> = dist.dims.iter().flatten().chain(&dist.partial).copied().collect();
    if let Some(axis) = differs.iter().find(|axis| !named.contains(axis)) {
        let text = axis.text(ctx);
        let message = format!(
            "is made of values that differ along \"{text}\", but is the same along it according to {}: the sum over \"{text}\" would be left out",
            ty()
        );
        return Some((*axis, message));
    }
    let unneeded = |axis: &&Name| axis.text(ctx) != MICROBATCH && !differs.contains(axis);
    if let Some(axis) = dist.partial.iter().find(unneeded) {
        let text = axis.text(ctx);
        let message = format!(
            "is a partial sum over \"{text}\", but nothing it is made of differs along it: it would be multiplied"
        );
        return Some((*axis, message));
    }
    let mb = ctx.name(MICROBATCH);
    let is_slice = matches!(dist.home, Home::Slice(_));
    let is_one = dist.coordinate(mb).is_some() || dist.held.is_some() || named.contains(&mb);
    if is_batch && is_slice && !is_one && graph.sizes.get(mb).is_some_and(|size| size > 1) {
        let message = format!(
            "is made of one microbatch, but is of all of them according to {}: the others would be left out",
            ty()
        );
        return Some((mb, message));
    }
    None
}

/// For every result of a function the arguments it is made of. Empty for a declaration, of which nothing is known.
fn arguments_of_results(module: &Module, body: Op) -> Vec<Vec<usize>> {
    let Some(block) = Func(body).block(module) else { return Vec::new() };
    let arguments: FxHashMap<Value, usize> =
        module.args(block).iter().enumerate().map(|(at, arg)| (*arg, at)).collect();
    let Some(end) = module.ops(block).last() else { return Vec::new() };
    let of = |value: Value| {
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            if !seen.insert(value) {
                continue;
            }
            match module.defining_op(value) {
                Some(def) => stack.extend(module.operands(def)),
                None => found.extend(arguments.get(&value)),
            }
        }
        found.sort_unstable();
        found
    };
    module.operands(end).map(of).collect()
}
