//! `order`: the schedule of a slice, from actions to nodes.
//!
//! An action `2B3` stands for every node of stage 2, microbatch 3 and that kind; a stage of several segments has several, in
//! the order in which they run. `B` of a stage whose backward is split stands for its `BI` and then its `BW`. A half that a
//! stage does not have (no weights, say) is nothing, and so is the backward of a stage before all that is trained. Running sums of gradients follow the order, so that each contribution
//! is added when it is made.

use piper_dialects::dag::{Compute, Dist, Home};
use piper_dialects::strategy::Slice;
use piper_ir::pass::PassFailed;
use piper_ir::{Builder, Loc, Module, Op, Reporter, Value};
use piper_schedule::{Action, Kind, Slot};
use rustc_hash::FxHashMap;

use crate::accumulate::{Shape, Sums, erase_unused, summands};
use crate::nodes::{compute_nodes, node_tag, tag_of};

/// One directive: what the devices of a slice run.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Row {
    pub stages: String,
    pub slice: Slice,
    pub row: Vec<Slot>,
    pub loc: Loc,
}

/// Orders a graph, which is split and placed. Chains of contributions follow the order, trees stay as they are.
///
/// # Errors
/// An action without a node; a node that no row has, or two.
pub fn run(
    module: &mut Module,
    graph: Op,
    rows: &[Row],
    shape: Shape,
    reporter: &mut Reporter<'_>,
) -> Result<(), PassFailed> {
    let ctx = module.ctx_arc();
    let nodes = compute_nodes(module, graph);
    let mut by_action: FxHashMap<(String, String, &str), Vec<Op>> = FxHashMap::default();
    let Some(first) = rows.first() else { return Ok(()) };
    for &node in &nodes {
        let (stage, mb) = (tag_of(module, node, &first.stages), tag_of(module, node, "MB"));
        let kind = Compute(node).kind(module).as_str(&ctx).unwrap_or("F");
        by_action
            .entry((stage.unwrap_or_default(), mb.unwrap_or_else(|| "0".to_owned()), kind))
            .or_default()
            .push(node);
    }
    let errors = reporter.error_count();
    let mut position: FxHashMap<Op, (usize, usize)> = FxHashMap::default();
    for (r, row) in rows.iter().enumerate() {
        let mut slots = Vec::new();
        for slot in &row.row {
            let mut members = Vec::new();
            for action in slot.actions() {
                for node in nodes_of(action, &by_action, row.loc, reporter) {
                    if let Some((other, _)) = position.insert(node, (r, position.len())) {
                        let message =
                            format!("node '{}' is in the order twice", node_tag(module, node));
                        reporter
                            .error(row.loc, message)
                            .note(rows[other].loc, "it is here already");
                    }
                    members.push(ctx.symbol_attr(&node_tag(module, node)));
                }
            }
            match slot {
                Slot::One(_) => {
                    slots.extend(members.into_iter().map(|node| ctx.array_attr(vec![node])))
                }
                Slot::Overlap(_) if members.is_empty() => {}
                Slot::Overlap(_) => slots.push(ctx.array_attr(members)),
            }
        }
        let block = module.only_block(graph).expect("a graph has a block");
        let mut b = Builder::at_end(module, block);
        b.set_loc(row.loc);
        let state = b.state("dag.order").attr(&ctx, "slice", row.slice.to_attr(&ctx)).attr(
            &ctx,
            "slots",
            ctx.array_attr(slots),
        );
        b.insert(state);
    }
    if let Some(node) = nodes.iter().find(|node| !position.contains_key(node)) {
        reporter
            .error(rows[0].loc, format!("the order misses node '{}'", node_tag(module, *node)))
            .note(module.op_loc(*node), "the node");
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    let gradients = match shape {
        Shape::Chain => crate::accumulate::gradients(module, graph),
        // A tree is the same whatever the order.
        Shape::Tree => Vec::new(),
    };
    for gradient in gradients {
        follow(module, gradient, &position);
    }
    Ok(())
}

/// The nodes of an action, in running order.
fn nodes_of(
    action: &Action,
    by_action: &FxHashMap<(String, String, &str), Vec<Op>>,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Vec<Op> {
    let get = |kind| {
        by_action
            .get(&(action.stage.to_string(), action.mb.to_string(), kind))
            .cloned()
            .unwrap_or_default()
    };
    let (nodes, required) = match action.kind {
        Kind::F => (get("F"), true),
        Kind::B => {
            (if get("B").is_empty() { [get("BI"), get("BW")].concat() } else { get("B") }, true)
        }
        Kind::I => (get("BI"), get("BW").is_empty()),
        Kind::W => (get("BW"), get("BI").is_empty()),
    };
    if nodes.is_empty() && required {
        let stage = action.stage.to_string();
        let is_frozen = !by_action.keys().any(|(known, _, kind)| *known == stage && *kind != "F");
        if is_frozen && action.kind != Kind::F {
            return nodes;
        }
        let error = format!(
            "the order has {action}, but stage {stage} has no such node for microbatch {}",
            action.mb
        );
        let hint = "a schedule with I and W needs 'split_backward' before it";
        // What is wrong with one microbatch is wrong with all.
        let is_new =
            !reporter.diagnostics().iter().any(|known| known.hint.as_deref() == Some(hint));
        if is_new {
            reporter.error(loc, error).hint(hint);
        }
    }
    nodes
}

/// Adds the contributions of each slice in the order in which they are made.
fn follow(module: &mut Module, gradient: Op, position: &FxHashMap<Op, (usize, usize)>) {
    let ctx = module.ctx_arc();
    // The sums stand under the gradient itself, or under the join of a group.
    let mut at = module.operand(gradient, 0);
    while let Some(def) = module.defining_op(at) {
        if !matches!(module.name_text(def), "dag.all_reduce" | "dag.reduce_scatter") {
            break;
        }
        at = module.operand(def, 0);
    }
    let roots: Vec<(Op, usize)> = match module.defining_op(at) {
        Some(join) if module.name_text(join) == "dag.join" => {
            (0..module.num_operands(join)).map(|i| (join, i)).collect()
        }
        _ => module.uses(at).map(|u| (u.op, u.index)).take(1).collect(),
    };
    for (user, index) in roots {
        let old = module.operand(user, index);
        let mut values = summands(module, old);
        if values.len() < 3
            || !Dist::of(&ctx, module.ty(old)).is_some_and(|d| matches!(d.home, Home::Slice(_)))
        {
            continue;
        }
        let made = |v: &Value| module.defining_op(*v).and_then(|op| position.get(&op)).map(|p| p.1);
        let keys: Vec<_> = values.iter().map(made).collect();
        if keys.is_sorted() {
            continue;
        }
        values.sort_by_key(|v| made(v));
        let mut b = Builder::before(module, user);
        let total = Sums::default().sum(&mut b, &values, Shape::Chain);
        module.set_operand(user, index, total);
        erase_unused(module, old);
    }
}
