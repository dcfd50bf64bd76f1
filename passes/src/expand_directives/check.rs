//! A plan of primitives as a whole: what one directive alone cannot know.

use piper_dialects::strategy::{Directive, Kind, PlanSpec};
use piper_dialects::{dag, func};
use piper_ir::pass::{PassFailed, PassResult};
use piper_ir::{Loc, Module, Reporter};

use super::{axes, coverage, orders};

/// Checks a plan without named directives: axes, the division of the batch, places, orders.
///
/// # Errors
/// Everything that is wrong, each at its directive or operation.
pub fn check(module: &Module, plan: &PlanSpec, reporter: &mut Reporter<'_>) -> PassResult {
    let before = reporter.error_count();
    let fine = axes::check(module, plan, reporter).is_ok();
    only_one(
        plan,
        "a plan updates the parameters once",
        |kind| matches!(kind, Kind::Update(_)),
        reporter,
    );
    only_one(
        plan,
        "a plan splits the batch once",
        |kind| matches!(kind, Kind::Split { .. }),
        reporter,
    );
    batch(module, plan, reporter);
    let partitions: Vec<_> = plan
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            Kind::Partition(spec) => Some((spec.clone(), d.loc)),
            _ => None,
        })
        .collect();
    crate::resource::check_partitions(&partitions, reporter);
    if fine && coverage::check(module, plan, reporter) {
        orders::check(module, plan, reporter);
    }
    if reporter.error_count() > before { Err(PassFailed) } else { Ok(()) }
}

fn only_one(plan: &PlanSpec, rule: &str, is_one: fn(&Kind) -> bool, reporter: &mut Reporter<'_>) {
    let mut found = plan.directives.iter().filter(|d| is_one(&d.kind));
    let Some(first) = found.next() else { return };
    for again in found {
        reporter.error(again.loc, rule.to_owned()).note(first.loc, "already done here");
    }
}

/// Microbatches of the plan, with the directive that says so; 1 where nothing splits.
pub(super) fn microbatches(module: &Module, plan: &PlanSpec) -> (u32, Option<Loc>) {
    let split = plan.directives.iter().find_map(|d| Some((d.kind.microbatches()?, Some(d.loc))));
    // A graph that is already split says itself how often.
    let done = || {
        let count = module.attr_by(plan.function, "microbatches")?.as_int(module.ctx())?;
        u32::try_from(count).ok()
    };
    split.unwrap_or_else(|| (done().unwrap_or(1), None))
}

/// The batch dimension of every input divides into microbatches times replicas.
pub(super) fn batch(module: &Module, plan: &PlanSpec, reporter: &mut Reporter<'_>) {
    let (parts, split) = microbatches(module, plan);
    let replicas: Vec<(&Directive, u32)> = plan
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            Kind::Replicate { axis, .. } | Kind::Zero { axis, .. } => {
                Some((d, plan.mesh.size(axis)?))
            }
            _ => None,
        })
        .collect();
    let Some(loc) = split.or(replicas.first().map(|(d, _)| d.loc)) else { return };
    let copies: i64 = replicas.iter().map(|(_, size)| i64::from(*size)).product();
    let grains = i64::from(parts) * copies;
    // All inputs share the batch: one message says it.
    let inputs = batch_dimensions(module, plan);
    if grains > 1 && inputs.is_empty() {
        reporter
            .error(loc, "there is no batch to divide: no input has a batch dimension")
            .note(module.op_loc(plan.function), "the inputs are declared here")
            .hint("say which dimension it is, as in {role = \"data\", batch_dim = 0}");
        return;
    }
    let Some((name, dim, extent, at)) =
        inputs.into_iter().find(|(.., extent, _)| extent % grains != 0)
    else {
        return;
    };
    let mut what = format!("{parts} microbatches");
    if copies > 1 {
        what.push_str(&format!(" on {copies} replicas"));
    }
    let message =
        format!("{what} do not divide the batch of {extent} (dimension {dim} of '{name}')");
    let error = reporter.error(loc, message);
    if at.file_position(module.ctx()).is_some() {
        error.note(at, "the batch dimension is declared here");
    }
    let multiple = format!("a batch that is a multiple of {grains}");
    error.hint(match (1..=i64::from(parts)).rev().find(|parts| extent % (parts * copies) == 0) {
        Some(fitting) => format!("use {fitting} microbatches, or {multiple}"),
        None => format!("use {multiple}"),
    });
}

/// The inputs with a batch dimension: name, dimension, extent, where declared.
fn batch_dimensions(module: &Module, plan: &PlanSpec) -> Vec<(String, usize, i64, Loc)> {
    let ctx = module.ctx();
    let Some(block) = module.only_block(plan.function) else { return Vec::new() };
    let extent = |ty: piper_ir::Type, dim: usize| ty.as_tensor(ctx)?.0.get(dim).copied();
    let dim_of = |attr: Option<piper_ir::Attr>| usize::try_from(attr?.as_int(ctx)?).ok();
    let loc = module.op_loc(plan.function);
    if func::Func::cast(module, plan.function).is_some() {
        let args = module.args(block).iter().enumerate();
        return args
            .filter_map(|(i, arg)| {
                let dim = dim_of(func::arg_attr(module, plan.function, i, "batch_dim"))?;
                let name =
                    module.value_name(*arg).map_or(format!("arg{i}"), |n| n.text(ctx).to_owned());
                Some((format!("%{name}"), dim, extent(module.ty(*arg), dim)?, loc))
            })
            .collect();
    }
    let inputs = module.ops(block).filter_map(|op| dag::Input::cast(module, op));
    inputs
        .filter_map(|input| {
            let dim = dim_of(module.attr_by(input.0, "batch_dim"))?;
            let tensor = dag::Dist::of(ctx, module.ty(input.value(module)))?.tensor;
            let name = input.name(module).as_str(ctx)?.to_owned();
            Some((name, dim, extent(tensor, dim)?, module.op_loc(input.0)))
        })
        .collect()
}
