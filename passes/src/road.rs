//! The road from a model with a strategy to device programs: which passes, in which order.
//!
//! `piper-opt --pass NAME` runs what a pass builds on; what a *plan* needs depends on its directives as well: a plan that
//! shards nothing has nothing for `shard`, which says so. This is where that is decided, for every tool that goes the whole way.
//!
//! [`MODEL`] → [`to_graph`] → [`to_device`]; [`choose_plan`] comes first, as a file may hold several plans.

use piper_dialects::strategy::{Kind, PlanSpec, plans};
use piper_ir::{Module, Op};

use crate::apply::changes_some_microbatches;

/// Passes over the model as it is written, up to where its inputs can be looked at.
pub const MODEL: &str = "import-tags,inline-calls,expand-ops";

/// Why no plan was chosen, with what would help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoPlan {
    /// What is wrong.
    pub message: String,
    /// What would help.
    pub hint: String,
}

/// The plan of this name, or the only one; other plans are taken out of the module.
///
/// # Errors
/// No plan, several and none named, or none of the name. `file` is what messages call the module.
pub fn choose_plan(module: &mut Module, file: &str, wanted: Option<&str>) -> Result<Op, NoPlan> {
    let all = plans(module);
    let name = |op: &Op| module.symbol_name(*op).unwrap_or("").to_owned();
    let names: Vec<String> = all.iter().map(|op| format!("@{}", name(op))).collect();
    let found = match (wanted.map(|name| name.trim_start_matches('@')), &all[..]) {
        (Some(wanted), _) => {
            all.iter().copied().find(|op| name(op) == wanted).ok_or_else(|| NoPlan {
                message: format!("'{file}' has no plan @{wanted}"),
                hint: format!("its plans: {}", names.join(", ")),
            })?
        }
        (None, [only]) => *only,
        (None, []) => {
            return Err(NoPlan {
                message: format!("'{file}' has no strategy.plan, so there is nothing to train"),
                hint: "add one: strategy.plan @train for @loss on @mesh { ... }".to_owned(),
            });
        }
        (None, _) => {
            return Err(NoPlan {
                message: format!("'{file}' has {} plans", all.len()),
                hint: format!("choose one with --plan NAME: {}", names.join(", ")),
            });
        }
    };
    for plan in all.into_iter().filter(|plan| *plan != found) {
        module.erase(plan);
    }
    Ok(found)
}

/// Passes from a model, after [`MODEL`], to a placed, ordered and verified graph of the whole step. With `fixed_tree`, gradients
/// are added as a balanced tree over the grains of the batch, so that strategies agree bit for bit.
///
/// Directives are expanded before the graph is built, so that what is wrong with them is said of the model's operations.
pub fn to_graph(plan: &PlanSpec, fixed_tree: bool) -> String {
    let accumulate = if fixed_tree { "{accumulate=tree}" } else { "" };
    // What changes chunks comes before the batch is divided, as then there are few, unless microbatches differ.
    let differ = plan.directives.iter().any(|d| changes_some_microbatches(&d.kind));
    let bodies = match differ {
        false => format!("recompute,split-backward,split{accumulate}"),
        true => format!("split{accumulate},recompute,split-backward"),
    };
    let beside = after_the_batch(plan);
    format!(
        "expand-directives,tag,precision,autodiff,expand-ops{{differentiable=true}},repeat-casts,build-dag,{bodies},place{accumulate},order{accumulate}{beside},verify-dag"
    )
}

/// Passes from a graph to device programs with offsets, of kernels if they are wanted. With `gradients` every complete
/// gradient is an output.
pub fn to_device(kernels: bool, gradients: bool) -> String {
    let kernelize = if kernels { "kernelize," } else { "" };
    format!("lower-to-device{{probe-gradients={gradients}}},{kernelize}memory-plan")
}

/// The passes for what a plan has beside a division of the batch: they fail where there is nothing for them to do.
fn after_the_batch(plan: &PlanSpec) -> String {
    let mut passes = String::new();
    let has = |wanted: &dyn Fn(&Kind) -> bool| plan.directives.iter().any(|d| wanted(&d.kind));
    let sharded: Vec<&str> = plan
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            Kind::Shard { axis, .. } => Some(axis.as_str()),
            _ => None,
        })
        .collect();
    let mut pass = |wanted: bool, name: &str| {
        if wanted {
            passes.push(',');
            passes.push_str(name);
        }
    };
    pass(!sharded.is_empty(), "shard");
    // What is over the axis of a shard is done with it.
    let is_replicated = |kind: &Kind| match kind {
        Kind::Replicate { axis, .. } | Kind::Zero { axis, .. } => !sharded.contains(&axis.as_str()),
        _ => false,
    };
    pass(has(&is_replicated), "replicate");
    pass(has(&|kind| matches!(kind, Kind::Precision { .. })), "hoist-casts");
    pass(has(&|kind| matches!(kind, Kind::Optimizer(_) | Kind::Update(_))), "update");
    // Directives are expanded by then: what is named here is there as primitives.
    let overlaps =
        |kind: &Kind| matches!(kind, Kind::Interleave { .. } | Kind::Overlap { off: false, .. });
    pass(has(&overlaps), "overlap");
    let gives_resources = |kind: &Kind| {
        matches!(
            kind,
            Kind::Stream(_) | Kind::Partition(_) | Kind::Overlap { .. } | Kind::SmPartition { .. }
        )
    };
    pass(has(&gives_resources), "resource");
    passes
}
