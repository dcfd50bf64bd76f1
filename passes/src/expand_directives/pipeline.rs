//! `pipeline` and `dualpipe`: the stages of a tag, a place for each, and a row of the schedule for each rank.

use std::ops::Range;

use piper_dialects::strategy::{
    Directive, Home, Kind, OrderOp, PlaceOp, PlanSpec, Slice, SplitBackwardOp, SplitOp,
    filter_attr, homes_attrs,
};
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Context, Loc, Module, Op, Reporter};
use piper_schedule::generate::{Config, generate};
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
    let Kind::Pipeline { axis, stages, schedule, microbatches, group, overlap } = &directive.kind
    else {
        return Ok(Vec::new());
    };
    let configure = |config: Config| {
        let config = group.map_or(config, |group| config.with_group(group));
        if *overlap { config.with_overlap() } else { config }
    };
    expand(module, plan, directive, (axis, stages, schedule, *microbatches), configure, reporter)
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
    let Kind::DualPipe { axis, stages, microbatches, vee } = &directive.kind else {
        return Ok(Vec::new());
    };
    let schedule = if *vee { "dualpipev" } else { "dualpipe" };
    expand(module, plan, directive, (axis, stages, schedule, *microbatches), |c| c, reporter)
}

fn expand(
    module: &mut Module,
    plan: &PlanSpec,
    directive: &Directive,
    (axis, tag, schedule, microbatches): (&str, &str, &str, u32),
    configure: impl FnOnce(Config) -> Config,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Op>, PassFailed> {
    let ctx = module.ctx_arc();
    axes::check(module, plan, reporter)?;
    let ops = tagged_operations(module, plan);
    let stages = Stages::count(module, &ops, tag, directive.loc, reporter)?.count;
    flow::check(module, &ops, tag, directive.loc, reporter)?;
    let ranks = plan.mesh.size(axis).ok_or(PassFailed)?;
    let table = Config::for_stages(schedule, stages, ranks, microbatches)
        .and_then(|config| generate(schedule, &configure(config)))
        .map_err(|rejected| refuse(&rejected, directive.loc, reporter))?;

    let slice = |rank: u32| Slice::new([(axis, rank)]);
    let mut primitives = Primitives::instead_of(module, directive.op);
    let number = |n: u32| ctx.int_attr(n.into());
    primitives.add(
        SplitOp::NAME,
        [("tag", Some(ctx.str_attr(MICROBATCH_TAG))), ("parts", Some(number(microbatches)))],
    );
    for stage in 0..stages {
        let (homes, ranges) = homes_attrs(&ctx, &homes(&table.placement, stage, slice));
        let filter = filter_attr(&ctx, tag, number(stage));
        primitives.add(
            PlaceOp::NAME,
            [("filter", Some(filter)), ("homes", Some(homes)), ("microbatches", ranges)],
        );
    }
    if let Some(halved) = halved_stages(&ctx, &table) {
        let filter = filter_attr(&ctx, tag, halved);
        primitives.add(SplitBackwardOp::NAME, [("filter", Some(filter))]);
    }
    for (rank, slots) in (0u32..).zip(&table.ranks) {
        let row = slots.iter().map(Slot::to_string).collect::<Vec<_>>().join(" ");
        primitives.add(
            OrderOp::NAME,
            [
                ("stages", Some(ctx.str_attr(tag))),
                ("slice", Some(slice(rank).to_attr(&ctx))),
                ("row", Some(ctx.str_attr(&row))),
            ],
        );
    }
    Ok(primitives.finish())
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
fn halved_stages(ctx: &Context, table: &Table) -> Option<Attr> {
    let mut halved: Vec<u32> = table
        .actions()
        .filter(|action| matches!(action.kind, Work::I | Work::W))
        .map(|action| action.stage)
        .collect();
    halved.sort_unstable();
    halved.dedup();
    match halved.len() {
        0 => None,
        n if n == table.stages as usize => Some(ctx.str_attr("*")),
        1 => Some(ctx.int_attr(halved[0].into())),
        _ => {
            let stages: Vec<Attr> = halved.iter().map(|s| ctx.int_attr((*s).into())).collect();
            Some(ctx.array_attr(stages))
        }
    }
}
