//! The optimizer is wired as it should be: each update takes one parameter with its own gradient and its own state, and what
//! it makes goes back to where that came from. All of these may have one type, so that no rule of types tells them apart.

use piper_ir::{Module, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checked;
use crate::replicate::buckets::{layout, master_name};

/// Suffixes of a rule's state, in the order of an update's operands.
const STATE: [(&str, &[&str]); 2] = [("sgd", &["m"]), ("adamw", &["m", "v"])];

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let module = graph.module;
    let mut used: FxHashMap<Op, Op> = FxHashMap::default();
    let mut states: FxHashSet<Op> = FxHashSet::default();
    for update in graph.named("dag.update") {
        let operands: Vec<Value> = module.operands(update).collect();
        let Some(gradient) = source(module, operands[1]).filter(|op| is(module, *op, "gradient"))
        else {
            let message = "an update takes the complete gradient that a dag.gradient gives";
            reporter.error(module.op_loc(update), message);
            continue;
        };
        if let Some(first) = used.insert(gradient, update) {
            let message =
                format!("the gradient of \"{}\" is used by two updates", graph.name_of(gradient));
            reporter
                .error(module.op_loc(update), message)
                .note(module.op_loc(first), "the other one is here");
        }
        let name = graph.name_of(gradient);
        let rule = module.attr_by(update, "rule").and_then(|r| r.as_str(graph.ctx())).unwrap_or("");
        let suffixes = STATE.iter().find(|s| s.0 == rule).map_or(&[][..], |s| s.1);
        let wanted =
            std::iter::once(None).chain(suffixes.iter().map(|s| Some(format!("{name}.{s}"))));
        let kept = operands[..1].iter().chain(&operands[2..]).take(module.num_results(update));
        for (value, wanted) in kept.zip(wanted) {
            let state = source(module, *value)
                .filter(|op| is(module, *op, "parameter") || is(module, *op, "state"));
            let found = state.map_or("", |op| graph.name_of(op));
            let fits = match &wanted {
                None => found == name || found == master_name(name),
                Some(wanted) => found == wanted,
            };
            if !fits {
                let wanted = wanted.unwrap_or_else(|| name.to_owned());
                let has = if found.is_empty() { "another value" } else { found };
                reporter
                    .error(
                        module.op_loc(update),
                        format!(
                            "the update by the gradient of \"{name}\" takes {has} for \"{wanted}\""
                        ),
                    )
                    .note(module.op_loc(gradient), "the gradient is here");
            }
            states.extend(state);
        }
    }
    if used.is_empty() {
        return;
    }
    for commit in graph.named("dag.commit") {
        let Some(state) = module.defining_op(module.operand(commit, 0)) else { continue };
        // What no optimizer keeps, a running statistic, may come from anywhere.
        let is_kept = is(module, state, "parameter") || states.contains(&state);
        if !is_kept || module.attr_by(state, "flat").is_some() {
            continue;
        }
        if !comes_back(graph, state, module.operand(commit, 1)) {
            let message = format!(
                "what is written to \"{}\" is not what an update of it gives",
                graph.name_of(state)
            );
            reporter
                .error(module.op_loc(commit), message)
                .note(module.op_loc(state), "it is declared here");
        }
    }
}

fn is(module: &Module, op: Op, what: &str) -> bool {
    module.name_text(op).strip_prefix("dag.") == Some(what)
}

/// What a value is, behind operations that only change its form or place.
fn source(module: &Module, mut value: Value) -> Option<Op> {
    loop {
        let def = module.defining_op(value)?;
        let changes_form = module.num_operands(def) == 1
            && module.num_results(def) == 1
            && !["gradient", "update", "compute"].iter().any(|what| is(module, def, what));
        if !changes_form {
            return Some(def);
        }
        value = module.operand(def, 0);
    }
}

/// Whether a value is the new content of a state: what the update of the state gives, or its part of what the update of a flat
/// copy gives.
fn comes_back(graph: &Checked<'_>, state: Op, mut value: Value) -> bool {
    let module = graph.module;
    let mut offset = None;
    loop {
        let Some(def) = module.defining_op(value) else { return false };
        if is(module, def, "update") {
            let number = module.results(def).position(|r| r == value).unwrap_or(0);
            let at = if number == 0 { 0 } else { number + 1 };
            let Some(from) = module.operands(def).nth(at).and_then(|v| source(module, v)) else {
                return false;
            };
            let name = graph.name_of(state);
            return match (offset, layout(module, from)) {
                (None, None) => from == state || graph.name_of(from) == master_name(name),
                (None, Some(parts)) => {
                    from == state || (parts.len() == 1 && parts[0].0.text(graph.ctx()) == name)
                }
                (Some(offset), Some(parts)) => {
                    number == 0
                        && parts.iter().any(|(n, at)| *at == offset && n.text(graph.ctx()) == name)
                }
                (Some(_), None) => false,
            };
        }
        if is(module, def, "unpack") && offset.is_none() {
            let number = module.results(def).position(|r| r == value);
            let offsets = module.attr_by(def, "offsets").and_then(|o| o.as_int_array(graph.ctx()));
            offset = number.zip(offsets).and_then(|(n, all)| all.get(n).copied());
            if offset.is_none() {
                return false;
            }
        } else if module.num_operands(def) != 1 || is(module, def, "compute") {
            return false;
        }
        value = module.operand(def, 0);
    }
}
