//! `split_backward`: cuts backward chunks into input gradients (`BI`) and weight gradients (`BW`).
//!
//! The cut is along the operations' `pass`, which `autodiff` decided: cotangents of activations are BI, of parameters BW. What
//! BW needs of BI's values becomes a result of BI: an explicit, counted residual. A backward chunk with only one kind of
//! operation keeps its body and changes its kind.
//!
//! Forward operations that `recompute` has put into a backward stand in `BI` if it needs them, else in `BW`; what both need is
//! a residual like any other, or, if the body says so (`WEIGHTS`), computed in `BW` once more.

use piper_dialects::dag::Compute;
use piper_dialects::func;
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Builder, Module, Op, Reporter, Value};
use piper_schedule::text::filter::Filter;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::nodes::{compute_nodes, node_tag, node_tags_match};
use crate::outline::{Body, erase_uncalled, residual_types};

/// On a body: `"again"` if its weight gradients compute forward values of their own.
pub(crate) const WEIGHTS: &str = "recompute_weights";

/// Splits the backward nodes that `filter` selects. Returns how many.
///
/// # Errors
/// The filter selects no backward node.
pub fn run(
    module: &mut Module,
    graph: Op,
    filter: &Filter,
    at: piper_ir::Loc,
    reporter: &mut Reporter<'_>,
) -> Result<u64, PassFailed> {
    let ctx = module.ctx_arc();
    let selected: Vec<Op> = compute_nodes(module, graph)
        .into_iter()
        .filter(|op| {
            Compute(*op).kind(module).as_str(&ctx) == Some("B")
                && node_tags_match(module, *op, filter)
        })
        .collect();
    if selected.is_empty() {
        reporter.error(at, "'split_backward' selects no backward node");
        return Err(PassFailed);
    }
    let mut halves: FxHashMap<Attr, Halves> = FxHashMap::default();
    for &op in &selected {
        let callee = Compute(op).callee(module);
        let cut = match halves.get(&callee) {
            Some(cut) => cut.clone(),
            None => {
                let body = module
                    .lookup_nearest(graph, callee.as_symbol(&ctx).ok_or(PassFailed)?.text(&ctx))
                    .ok_or(PassFailed)?;
                let cut = cut(module, body);
                halves.insert(callee, cut.clone());
                cut
            }
        };
        replace(module, op, &cut);
    }
    erase_uncalled(module, graph, halves.keys().copied());
    Ok(selected.len() as u64)
}

/// How a body is cut.
#[derive(Clone)]
enum Halves {
    /// All operations are of this kind.
    Whole(&'static str),
    Cut {
        input: Half,
        weight: Half,
    },
}

/// One half: its function, which of the body's arguments it takes (with the other half's residuals after them, by position
/// among its results), and which of the body's results it gives.
#[derive(Clone)]
struct Half {
    callee: Attr,
    arguments: Vec<usize>,
    residuals: Vec<usize>,
    results: Vec<usize>,
    extra_results: usize,
}

/// Cuts a body into two functions.
fn cut(module: &mut Module, body: Op) -> Halves {
    let ctx = module.ctx_arc();
    let block = module.only_block(body).expect("a chunk has a body");
    let end = func::Func(body).terminator(module).expect("a body ends with a return");
    let pass = |module: &Module, op: Op| module.attr_by(op, "pass").and_then(|a| a.as_str(&ctx));
    let ops: Vec<Op> = module.ops(block).filter(|op| *op != end.0).collect();
    let of_pass = |module: &Module, wanted: &[&str]| -> FxHashSet<Op> {
        let is_wanted = |op: &Op| wanted.contains(&pass(module, *op).unwrap_or("BI"));
        ops.iter().copied().filter(is_wanted).collect()
    };
    let (mut weight, forward) = (of_pass(module, &["BW"]), of_pass(module, &["F"]));
    if weight.is_empty() || weight.len() + forward.len() == ops.len() {
        return Halves::Whole(if weight.is_empty() { "BI" } else { "BW" });
    }
    let mut input: FxHashSet<Op> =
        ops.iter().copied().filter(|op| !weight.contains(op) && !forward.contains(op)).collect();
    // Recomputed operations stand where they are needed first; see the head of this file.
    let again = module.attr_by(body, WEIGHTS).is_some();
    for &op in ops.iter().rev().filter(|op| forward.contains(op)) {
        let is_read_by = |half: &FxHashSet<Op>| {
            module.results(op).any(|v| module.uses(v).any(|used| half.contains(&used.op)))
        };
        let (by_input, by_weight) = (is_read_by(&input), is_read_by(&weight));
        if by_input {
            input.insert(op);
        }
        if by_weight && (again || !by_input) {
            weight.insert(op);
        }
    }
    let arguments: Vec<Value> = module.args(block).to_vec();
    let returned: Vec<Value> = module.operands(end.0).collect();
    let of_weight = |module: &Module, value: Value| {
        module.defining_op(value).is_some_and(|op| weight.contains(&op))
    };
    // Values of BI that BW reads.
    let mut residuals: Vec<Value> = Vec::new();
    for &op in ops.iter().filter(|op| weight.contains(op)) {
        for value in module.operands(op) {
            let inside = module.defining_op(value).is_some_and(|def| !weight.contains(&def));
            if inside && !residuals.contains(&value) {
                residuals.push(value);
            }
        }
    }
    let name = module.symbol_name(body).unwrap_or("b").to_owned();
    let (weight_results, input_results): (Vec<usize>, Vec<usize>) =
        (0..returned.len()).partition(|&i| of_weight(module, returned[i]));
    let input_ops: Vec<Op> = ops.iter().copied().filter(|op| input.contains(op)).collect();
    let weight_ops: Vec<Op> = ops.iter().copied().filter(|op| weight.contains(op)).collect();
    let used = |module: &Module, ops: &[Op]| -> Vec<usize> {
        let read: FxHashSet<Value> = ops.iter().flat_map(|op| module.operands(*op)).collect();
        (0..arguments.len()).filter(|&i| read.contains(&arguments[i])).collect()
    };
    let (input_args, weight_args) = (used(module, &input_ops), used(module, &weight_ops));
    let input_outputs: Vec<Value> =
        input_results.iter().map(|&i| returned[i]).chain(residuals.iter().copied()).collect();
    let weight_outputs: Vec<Value> = weight_results.iter().map(|&i| returned[i]).collect();
    let along = crate::batching::along(module, body, &mut Reporter::new(&ctx)).unwrap_or_default();
    let mut half = |suffix: &str, ops: &[Op], inputs: &[Value], outputs: &[Value]| {
        let name = format!("{name}.{suffix}");
        let half = Body { name: &name, ops, inputs, outputs, along: &along, dropped: &["pass"] };
        half.outline(Builder::after(module, body), &[]);
        ctx.symbol_attr(&name)
    };
    let input = half("i", &input_ops, &pick(&arguments, &input_args), &input_outputs);
    let weight_inputs = [pick(&arguments, &weight_args), residuals.clone()].concat();
    let weight_body = half("w", &weight_ops, &weight_inputs, &weight_outputs);
    let first_residual = input_results.len();
    Halves::Cut {
        input: Half {
            callee: input,
            arguments: input_args,
            residuals: Vec::new(),
            results: input_results,
            extra_results: residuals.len(),
        },
        weight: Half {
            callee: weight_body,
            arguments: weight_args,
            residuals: (first_residual..first_residual + residuals.len()).collect(),
            results: weight_results,
            extra_results: 0,
        },
    }
}

fn pick(values: &[Value], which: &[usize]) -> Vec<Value> {
    which.iter().map(|&i| values[i]).collect()
}

/// Replaces a `B` node by its halves.
fn replace(module: &mut Module, op: Op, halves: &Halves) {
    let ctx = module.ctx_arc();
    let node = node_tag(module, op);
    let renamed = |kind: &str| format!("{}{}", kind.to_lowercase(), node.trim_start_matches('b'));
    match halves {
        Halves::Whole(kind) => {
            module.set_attr_by(op, "kind", ctx.str_attr(kind));
            module.set_attr_by(op, "node", ctx.str_attr(&renamed(kind)));
        }
        Halves::Cut { input, weight } => {
            let operands: Vec<Value> = module.operands(op).collect();
            let results: Vec<Value> = module.results(op).collect();
            let mut residual_values: Vec<Value> = Vec::new();
            for (half, kind) in [(input, "BI"), (weight, "BW")] {
                let mut inputs = pick(&operands, &half.arguments);
                inputs.extend(half.residuals.iter().map(|&i| residual_values[i]));
                let mut types: Vec<_> =
                    half.results.iter().map(|&i| module.ty(results[i])).collect();
                types.extend(extra_types(module, op, half, types.len()));
                let tags = Compute(op).tags(module);
                let mut b = Builder::before(module, op);
                let state = b
                    .state("dag.compute")
                    .operands(inputs)
                    .results(types)
                    .attr(&ctx, "callee", half.callee)
                    .attr(&ctx, "node", ctx.str_attr(&renamed(kind)))
                    .attr(&ctx, "kind", ctx.str_attr(kind))
                    .attr(&ctx, "tags", tags);
                let new = b.insert(state);
                for (i, value) in half.results.iter().zip(module.results(new)) {
                    if module.is_used(results[*i]) {
                        module.replace_uses(results[*i], value);
                    }
                }
                if kind == "BI" {
                    residual_values = module.results(new).collect();
                }
            }
            module.erase(op);
        }
    }
}

/// Types of the residuals that the input half gives, after its `first` results.
fn extra_types(module: &Module, op: Op, half: &Half, first: usize) -> Vec<piper_ir::Type> {
    let ctx = module.ctx();
    if half.extra_results == 0 {
        return Vec::new();
    }
    let body = module
        .lookup_nearest(op, half.callee.as_symbol(ctx).map_or("", |n| n.text(ctx)))
        .expect("just made");
    let mut quiet = Reporter::new(ctx);
    let along = crate::batching::results_along(module, body, &mut quiet).unwrap_or_default();
    let (_, results) = func::Func(body).signature(module);
    let extra: Vec<_> = results.iter().copied().zip(along).skip(first).collect();
    residual_types(module, op, &extra)
}
