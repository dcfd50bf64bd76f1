//! `pipeline` and `dualpipe`: the stages of a tag, a place for each, and a row of the schedule for each rank.

use std::ops::Range;

use piper_dialects::strategy::{
    Directive, Home, Kind, OrderOp, PlaceOp, PlanSpec, Slice, SplitBackwardOp, SplitOp,
    filter_attr, homes_attrs, schedules,
};
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Context, Loc, Module, Op, Reporter};
use piper_schedule::generate::Config;
use piper_schedule::{Kind as Work, Placement, Rejected, Slot, Table};

use super::stages::{Stages, tagged_operations};
use super::{MICROBATCH_TAG, Primitives, axes, flow};

/// Replaces a `pipeline` by primitives, which are returned. Any other directive is left alone.
///
/// # Errors
/// A tag that names no stages, or a schedule that does not exist for this many stages, ranks and microbatches.
pub fn pipeline(
    module: &mut Module,
    plan: &PlanSpec,
    directive: &Directive,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Op>, PassFailed> {
    let Kind::Pipeline { axis, stages, schedule, microbatches, group, overlap, count } =
        &directive.kind
    else {
        return Ok(Vec::new());
    };
    let configure = |config: Config| {
        let config = group.map_or(config, |group| config.with_group(group));
        if *overlap { config.with_overlap() } else { config }
    };
    let named = Named { axis, tag: stages, count: *count, schedule, microbatches: *microbatches };
    expand(module, plan, directive, &named, configure, reporter)
}

/// Replaces a `dualpipe` by primitives, which are returned. Any other directive is left alone.
///
/// # Errors
/// As [`pipeline`].
pub fn dualpipe(
    module: &mut Module,
    plan: &PlanSpec,
    directive: &Directive,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Op>, PassFailed> {
    let Kind::DualPipe { axis, stages, microbatches, vee, count } = &directive.kind else {
        return Ok(Vec::new());
    };
    let schedule = if *vee { "dualpipev" } else { "dualpipe" };
    let named = Named { axis, tag: stages, count: *count, schedule, microbatches: *microbatches };
    expand(module, plan, directive, &named, |c| c, reporter)
}

/// What a directive says that names a schedule.
struct Named<'d> {
    axis: &'d str,
    tag: &'d str,
    count: Option<u32>,
    schedule: &'d str,
    microbatches: u32,
}

fn expand(
    module: &mut Module,
    plan: &PlanSpec,
    directive: &Directive,
    named: &Named<'_>,
    configure: impl FnOnce(Config) -> Config,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Op>, PassFailed> {
    let Named { axis, tag, count, schedule, microbatches } = *named;
    axes::check(module, plan, reporter)?;
    let ops = tagged_operations(module, plan);
    let stages = Stages::of(module, &ops, tag, directive.loc, reporter)?;
    let all = stages.all(module, &ops, tag, count, directive.loc, reporter)?;
    flow::check(module, &ops, tag, directive.loc, reporter)?;
    let ranks = plan.mesh.size(axis).ok_or(PassFailed)?;
    let schedules = schedules(module.ctx());
    let table = schedules
        .for_stages(schedule, all, ranks, microbatches)
        .and_then(|config| schedules.generate(schedule, &configure(config)))
        .map_err(|rejected| refuse(&rejected, directive.loc, reporter))?;
    Ok(primitives(module, directive, (axis, tag), &stages, &table))
}

/// Replaces a directive by the primitives that say a table. Stages that no operation has are empty: what the table runs of them is
/// left out.
pub(super) fn primitives(
    module: &mut Module,
    directive: &Directive,
    (axis, tag): (&str, &str),
    stages: &Stages,
    table: &Table,
) -> Vec<Op> {
    let ctx = module.ctx_arc();
    let slice = |rank: u32| Slice::new([(axis, rank)]);
    let mut primitives = Primitives::instead_of(module, directive.op);
    let number = |n: u32| ctx.int_attr(n.into());
    primitives.add(
        SplitOp::NAME,
        [("tag", Some(ctx.str_attr(MICROBATCH_TAG))), ("parts", Some(number(table.microbatches)))],
    );
    for &stage in stages.numbers() {
        let (homes, ranges) = homes_attrs(&ctx, &homes(&table.placement, stage, slice));
        let filter = filter_attr(&ctx, tag, number(stage));
        primitives.add(
            PlaceOp::NAME,
            [("filter", Some(filter)), ("homes", Some(homes)), ("microbatches", ranges)],
        );
    }
    if let Some(halved) = halved_stages(&ctx, stages, table) {
        let filter = filter_attr(&ctx, tag, halved);
        primitives.add(SplitBackwardOp::NAME, [("filter", Some(filter))]);
    }
    for (rank, slots) in (0u32..).zip(&table.ranks) {
        let row: Vec<String> = slots.iter().filter_map(|slot| text_of(slot, stages)).collect();
        // A rank whose stages are all empty has nothing to order.
        if row.is_empty() {
            continue;
        }
        primitives.add(
            OrderOp::NAME,
            [
                ("stages", Some(ctx.str_attr(tag))),
                ("slice", Some(slice(rank).to_attr(&ctx))),
                ("row", Some(ctx.str_attr(&row.join(" ")))),
            ],
        );
    }
    primitives.finish()
}

/// A slot without the actions of empty stages; `None` if nothing is left.
fn text_of(slot: &Slot, stages: &Stages) -> Option<String> {
    let kept = slot.actions().iter().copied().filter(|action| stages.contains(action.stage));
    match kept.collect::<Vec<_>>()[..] {
        [] => None,
        [only] => Some(Slot::from(only).to_string()),
        ref several => Some(Slot::Overlap(several.to_vec()).to_string()),
    }
}

fn refuse(rejected: &Rejected, loc: Loc, reporter: &mut Reporter<'_>) -> PassFailed {
    reporter.error(loc, rejected.to_string()).hint = rejected.hint.clone();
    PassFailed
}

/// The homes of a stage, one a direction, with the microbatches that travel in it.
fn homes(placement: &Placement, stage: u32, slice: impl Fn(u32) -> Slice) -> Vec<Home> {
    let ranks = &placement.homes[stage as usize];
    if placement.direction.is_empty() {
        return vec![Home { slice: slice(ranks[0]), microbatches: None }];
    }
    (0u32..)
        .zip(ranks)
        .map(|(way, rank)| Home {
            slice: slice(*rank),
            microbatches: Some(range_of(&placement.direction, way)),
        })
        .collect()
}

/// The microbatches of a direction. Generated schedules give every direction one range.
fn range_of(direction: &[u32], way: u32) -> Range<u32> {
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let first = direction.iter().position(|d| *d == way).unwrap_or(0);
    let last = direction.iter().rposition(|d| *d == way).map_or(first, |at| at + 1);
    number(first)..number(last)
}

/// The filter value of the stages whose backward the table runs in halves anywhere; none if there are none.
fn halved_stages(ctx: &Context, stages: &Stages, table: &Table) -> Option<Attr> {
    let mut halved: Vec<u32> = table
        .actions()
        .filter(|action| matches!(action.kind, Work::I | Work::W))
        .filter(|action| stages.contains(action.stage))
        .map(|action| action.stage)
        .collect();
    halved.sort_unstable();
    halved.dedup();
    match halved.len() {
        0 => None,
        n if n == stages.numbers().len() => Some(ctx.str_attr("*")),
        1 => Some(ctx.int_attr(halved[0].into())),
        _ => {
            let stages: Vec<Attr> = halved.iter().map(|s| ctx.int_attr((*s).into())).collect();
            Some(ctx.array_attr(stages))
        }
    }
}
