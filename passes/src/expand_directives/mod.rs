//! `expand-directives`: named directives become the primitives they stand for, in the file, for all to read.
//!
//! Input: `strategy.plan`s. Output: the same plans with `pipeline`, `dualpipe`, `table`, `layout`, `zero`, `overlap`,
//! `sm_partition` and `optimizer` replaced by `tag`, `split`, `place`, `split_backward`, `order`, `replicate`, `resource` and `update`,
//! in place and with the directive's location; then the plan is
//! [checked](check) as a whole. Running it again changes nothing. The passes named after a directive expand theirs by the
//! functions [`pipeline`], [`dualpipe`], [`table`], [`zero`] and [`optimizer`] here.
//!
//! ```mlir
//! // before: a mesh with "pp" = 2, two stages
//! strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 2
//! // after
//! strategy.split "MB" into 2
//! strategy.place {PP = 0} on {pp = 0}
//! strategy.place {PP = 1} on {pp = 1}
//! strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0B1"
//! strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
//! ```

mod axes;
mod check;
mod coverage;
mod flow;
mod layout;
mod orders;
mod pipeline;
mod resources;
mod stages;
mod table;
#[cfg(test)]
mod tests;

use piper_dialects::strategy::{
    Directive, Kind, PlanSpec, ReplicateOp, SHARDING_OPTIONS, UpdateOp, copy_optimizer, plans,
};
use piper_ir::pass::{PassFailed, PassInfo, PassResult};
use piper_ir::{Attr, Builder, Module, Op, Reporter};

pub use check::check;
pub use layout::layout;
pub use pipeline::{dualpipe, pipeline};
pub use resources::{overlap, sm_partition};
pub use stages::{Stages, TaggedOp, tagged_operations};
pub use table::table;

/// The tag that numbers the microbatches.
pub const MICROBATCH_TAG: &str = "MB";

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn(
        "expand-directives",
        "Replace named directives by the primitives they stand for, and check the plan",
        |cx| {
            let expanded = run(cx.module, cx.reporter)?;
            cx.count("expanded", expanded);
            Ok(())
        },
    );
    vec![info.describe(
        "pipeline, dualpipe and table become split, place, split_backward and order; zero becomes replicate; overlap and sm_partition become \
         resource; optimizer becomes update. \
         Fails where a plan uses an axis twice, leaves an operation without a place, or has orders that miss, repeat or deadlock.",
    )]
}

/// Expands all named directives of all plans and checks the plans. Returns how many directives were expanded.
///
/// # Errors
/// Reported; plans that stand beside a wrong one are still expanded and checked.
pub fn run(module: &mut Module, reporter: &mut Reporter<'_>) -> Result<u64, PassFailed> {
    let (mut count, mut result) = (0, Ok(()));
    for op in plans(module) {
        result = expand_plan(module, op, &mut count, reporter).and(result);
    }
    result.map(|()| count)
}

fn expand_plan(
    module: &mut Module,
    op: Op,
    count: &mut u64,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let plan = read(module, op, reporter)?;
    axes::check(module, &plan, reporter)?;
    crate::refine_mesh::run(module, op, reporter)?;
    let mut plan = read(module, op, reporter)?;
    // Before schedules are made for microbatches that do not exist.
    let errors = reporter.error_count();
    check::batch(module, &plan, reporter);
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    let mut result = Ok(());
    let mut named: Vec<_> = plan.directives.iter().filter(|d| d.kind.is_named()).cloned().collect();
    // Layouts give the tags that others speak of. Whether the backward is split already, and which streams compute, is known when
    // everything else is expanded.
    named.sort_by_key(|directive| match directive.kind {
        Kind::Layout { .. } => 0,
        Kind::Overlap { .. } | Kind::SmPartition { .. } => 2,
        _ => 1,
    });
    for directive in &named {
        let expanded = match &directive.kind {
            Kind::Pipeline { .. } => pipeline(module, &plan, directive, reporter),
            Kind::DualPipe { .. } => dualpipe(module, &plan, directive, reporter),
            Kind::Table { .. } => table(module, &plan, directive, reporter),
            Kind::Layout { .. } => layout(module, &plan, directive, reporter),
            Kind::Zero { .. } => Ok(zero(module, directive)),
            Kind::Overlap { .. } => {
                let is_split = resources::splits_backward(module, op);
                Ok(overlap(module, directive, !is_split))
            }
            Kind::SmPartition { .. } => sm_partition(module, directive, reporter),
            _ => Ok(optimizer(module, directive)),
        };
        *count += u64::from(expanded.is_ok());
        // Without its stages nothing can be said of a pipeline.
        if matches!(directive.kind, Kind::Layout { .. }) {
            expanded?;
            plan = read(module, op, reporter)?;
        } else {
            result = expanded.map(|_| ()).and(result);
        }
    }
    result?;
    let plan = read(module, op, reporter)?;
    check(module, &plan, reporter)
}

/// The plan; a plan that does not verify is reported.
fn read(module: &Module, op: Op, reporter: &mut Reporter<'_>) -> Result<PlanSpec, PassFailed> {
    PlanSpec::read(module, op).ok_or_else(|| {
        if piper_ir::verify::verify_op(module, op, reporter) {
            reporter.error(module.op_loc(op), "the plan's mesh does not verify");
        }
        PassFailed
    })
}

/// Replaces a `zero` by the `replicate` it stands for, which is returned. Any other directive is left alone.
pub fn zero(module: &mut Module, directive: &Directive) -> Vec<Op> {
    let Kind::Zero { axis, sharding } = &directive.kind else { return Vec::new() };
    let ctx = module.ctx_arc();
    let attrs =
        [("axis", Some(ctx.str_attr(axis))), ("zero", Some(ctx.int_attr(sharding.stage.into())))];
    let options = SHARDING_OPTIONS.map(|name| (name, module.attr_by(directive.op, name)));
    let mut primitives = Primitives::instead_of(module, directive.op);
    primitives.add(ReplicateOp::NAME, attrs.into_iter().chain(options));
    primitives.finish()
}

/// Replaces an `optimizer` by the `update` it stands for, which is returned. Any other directive is left alone.
pub fn optimizer(module: &mut Module, directive: &Directive) -> Vec<Op> {
    let Kind::Optimizer(_) = &directive.kind else { return Vec::new() };
    let attrs = copy_optimizer(module, directive.op);
    let mut primitives = Primitives::instead_of(module, directive.op);
    let mut state = primitives.builder.state(UpdateOp::NAME);
    state.attrs = attrs;
    let op = primitives.builder.insert(state);
    primitives.made.push(op);
    primitives.finish()
}

/// Inserts primitives where a directive stands, with its location, and then erases it.
struct Primitives<'m> {
    builder: Builder<'m>,
    directive: Op,
    made: Vec<Op>,
}

impl<'m> Primitives<'m> {
    fn instead_of(module: &'m mut Module, directive: Op) -> Self {
        Self { builder: Builder::before(module, directive), directive, made: Vec::new() }
    }

    fn add<'a>(&mut self, name: &str, attrs: impl IntoIterator<Item = (&'a str, Option<Attr>)>) {
        let ctx = self.builder.module.ctx_arc();
        let state = attrs
            .into_iter()
            .fold(self.builder.state(name), |state, (key, attr)| state.attr_if(&ctx, key, attr));
        let op = self.builder.insert(state);
        self.made.push(op);
    }

    fn finish(self) -> Vec<Op> {
        self.builder.module.erase(self.directive);
        self.made
    }
}
