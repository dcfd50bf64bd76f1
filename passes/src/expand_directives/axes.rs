//! One axis of the mesh serves one purpose.

use piper_dialects::strategy::{Kind, PlanSpec, SubAxis};
use piper_ir::pass::{PassFailed, PassResult};
use piper_ir::{Loc, Module, Reporter};

/// Each axis is taken by one directive: as the axis it is over, or by places that fix coordinates of it.
pub(super) fn check(module: &Module, plan: &PlanSpec, reporter: &mut Reporter<'_>) -> PassResult {
    // Places share an axis among themselves, as they are the parts of one placement.
    let mut taken: Vec<(&str, bool, Loc, &str)> = Vec::new();
    let mut wrong = false;
    for directive in &plan.directives {
        let name = module.name_text(directive.op);
        let (axes, places): (Vec<&str>, bool) = match &directive.kind {
            Kind::Place { homes, .. } => {
                let fixed = homes.iter().flat_map(|home| &home.slice.fixed);
                (fixed.map(|(axis, _)| &**axis).collect(), true)
            }
            kind => (kind.axis().into_iter().collect(), false),
        };
        for axis in axes {
            match taken.iter().find(|(known, ..)| overlap(known, axis)) {
                None => taken.push((axis, places, directive.loc, name)),
                Some((_, true, ..)) if places => {}
                Some((_, _, _, "strategy.shard")) if may_follow_shard(&directive.kind) => {}
                Some((_, _, loc, first)) => {
                    wrong = true;
                    let message =
                        format!("'{name}' takes axis \"{axis}\", which '{first}' already uses");
                    reporter
                        .error(directive.loc, message)
                        .note(*loc, format!("'{first}' stands here"))
                        .hint(free_axes(plan));
                    // One message a directive: a place fixes an axis for each of its homes.
                    break;
                }
            }
        }
    }
    if wrong { Err(PassFailed) } else { Ok(()) }
}

/// Whether two axes, or parts of axes, have anything in common.
fn overlap(a: &str, b: &str) -> bool {
    match (SubAxis::parse(a), SubAxis::parse(b)) {
        (Some(a), Some(b)) => !a.is_disjoint(&b),
        (Some(part), None) => part.axis == b,
        (None, Some(part)) => part.axis == a,
        (None, None) => a == b,
    }
}

/// Several shards, of different segments, share an axis, also with the division of the batch of all others.
fn may_follow_shard(kind: &Kind) -> bool {
    matches!(kind, Kind::Shard { .. } | Kind::Replicate { .. } | Kind::Zero { .. })
}

fn free_axes(plan: &PlanSpec) -> String {
    let used: Vec<&str> = plan.directives.iter().filter_map(|d| d.kind.axis()).collect();
    let free: Vec<String> = plan
        .mesh
        .axes
        .iter()
        .filter(|axis| !used.contains(&&*axis.name))
        .map(|axis| format!("\"{}\"", axis.name))
        .collect();
    if free.is_empty() {
        "the mesh has no free axis; give it another".to_owned()
    } else {
        format!("not used yet: {}", free.join(", "))
    }
}
