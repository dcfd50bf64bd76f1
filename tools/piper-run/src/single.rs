//! The reference of a strategy: the same model on one device, with the batch divided as the strategy divides it.
//!
//! A strategy of M microbatches on D replicas adds M x D partial results, its *grains*. One device that runs as many
//! microbatches computes the same grains from the same rows, so what remains to differ is the order of additions.

use piper_dialects::strategy::{Kind, PlanSpec};
use piper_ir::{Builder, Module, Op};

/// Into how many parts a plan divides the batch: microbatches times replicas.
pub fn grains(plan: &PlanSpec) -> i64 {
    let mut grains = 1;
    for directive in &plan.directives {
        grains *= match &directive.kind {
            Kind::Replicate { axis, .. } | Kind::Zero { axis, .. } => {
                plan.mesh.size(axis).map_or(1, i64::from)
            }
            kind => kind.microbatches().map_or(1, i64::from),
        };
    }
    grains
}

/// Turns a plan into its reference: a mesh of one device, the batch in as many parts, the same optimizer. Other plans on the
/// mesh must be gone.
pub fn make_single(module: &mut Module, plan: &PlanSpec) {
    let ctx = module.ctx_arc();
    let parts = grains(plan);
    let sizes = vec![1; plan.mesh.axes.len()];
    module.set_attr_by(plan.mesh_op, "sizes", ctx.int_array_attr(&sizes));
    // Groups name coordinates that one device does not have, and nothing needs them there.
    let groups: Vec<Op> =
        module.ops(module.body()).filter(|op| module.name_text(*op) == "strategy.group").collect();
    groups.into_iter().for_each(|op| module.erase(op));
    for directive in &plan.directives {
        if !matches!(directive.kind, Kind::Optimizer(_) | Kind::Update(_) | Kind::Precision { .. })
        {
            module.erase(directive.op);
        }
    }
    if parts == 1 {
        return;
    }
    let loc = module.op_loc(plan.op);
    let Some(block) = module.only_block(plan.op) else { return };
    let first = module.first_op(block);
    let mut b = match first {
        Some(first) => Builder::before(module, first),
        None => Builder::at_end(module, block),
    };
    let state = b
        .state("strategy.split")
        .attr(&ctx, "tag", ctx.str_attr(piper_passes::expand_directives::MICROBATCH_TAG))
        .attr(&ctx, "parts", ctx.int_attr(parts));
    b.set_loc(loc).insert(state);
}
