//! `table`: a schedule that is written out, row by row.

use piper_dialects::strategy::{Directive, Kind, PlanSpec};
use piper_ir::pass::PassFailed;
use piper_ir::{Module, Op, Reporter};
use piper_schedule::{Placement, Table};

use super::pipeline::primitives;
use super::stages::{Stages, tagged_operations};
use super::{axes, flow};

/// Replaces a `table` by primitives, which are returned. Any other directive is left alone. What is wrong with the rows as a schedule is
/// found when the [plan is checked](super::check()).
///
/// # Errors
/// A tag that names no stages; a stage that no row runs; homes whose microbatches are no ranges.
pub fn table(
    module: &mut Module,
    plan: &PlanSpec,
    directive: &Directive,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Op>, PassFailed> {
    let Kind::Table { axis, stages: tag, rows, microbatches } = &directive.kind else {
        return Ok(Vec::new());
    };
    axes::check(module, plan, reporter)?;
    let ops = tagged_operations(module, plan);
    let stages = Stages::of(module, &ops, tag, directive.loc, reporter)?;
    flow::check(module, &ops, tag, directive.loc, reporter)?;
    let mut table = Table::from_rows(rows.clone());
    let ran = |stage: u32| table.actions().any(|action| action.stage == stage);
    if let Some(stage) = stages.numbers().iter().find(|stage| !ran(**stage)) {
        reporter
            .error(directive.loc, format!("no row runs stage {stage}, which the model has"))
            .hint(format!("add {stage}F0, {stage}B0 and so on to the row of a rank"));
        return Err(PassFailed);
    }
    if let Some(action) = table.actions().find(|action| !stages.contains(action.stage)) {
        let rank = rows.iter().position(|row| row.iter().any(|s| s.actions().contains(&action)));
        reporter
            .error(
                directive.loc,
                format!(
                    "row {}: {action} does not exist: no operation has {tag} = {}",
                    rank.unwrap_or(0),
                    action.stage
                ),
            )
            .hint(format!("the stages are {}", stages.listed()));
        return Err(PassFailed);
    }
    table.microbatches = *microbatches;
    let placement = Placement::implied(rows, table.stages, *microbatches);
    // A direction is written as a range of microbatches.
    let ways = placement.direction.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if ways + 1 > placement.directions().max(1) as usize {
        reporter
            .error(directive.loc, "stages change their ranks from microbatch to microbatch more often than there are ways through the ranks")
            .hint("number the microbatches so that those that go one way through the ranks are neighbours");
        return Err(PassFailed);
    }
    table.placement = placement;
    Ok(primitives(module, directive, (axis, tag), &stages, &table))
}
