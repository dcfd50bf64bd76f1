//! Every operation has one place, and every filter selects something.

use piper_dialects::strategy::{Kind, PlanSpec};
use piper_ir::{Module, Reporter};
use piper_schedule::text::filter::{Filter, Pattern};

use super::stages::{TaggedOp, report_unknown_tag, tagged_operations};

/// Tags that the compiler gives; they are not on the operations yet.
const GIVEN: &[&str] = &["MB", "PASS"];

/// Further operations without a place are counted, not listed.
const LISTED: usize = 5;

/// True if nothing was wrong.
pub(super) fn check(module: &Module, plan: &PlanSpec, reporter: &mut Reporter<'_>) -> bool {
    let before = reporter.error_count();
    let ops = tagged_operations(module, plan);
    for directive in &plan.directives {
        match &directive.kind {
            Kind::Place { filter, .. }
            | Kind::SplitBackward { filter }
            | Kind::Shard { filter, .. }
            | Kind::Recompute { filter, .. }
            | Kind::Tag { filter, .. } => {
                selects_something(&ops, filter, directive.loc, reporter);
            }
            Kind::Order { stages, .. } if ops.iter().all(|op| op.tag(stages).is_none()) => {
                report_unknown_tag(&ops, stages, directive.loc, reporter);
            }
            _ => {}
        }
    }
    if reporter.error_count() == before {
        one_place_each(module, plan, &ops, reporter);
    }
    reporter.error_count() == before
}

fn selects(filter: &Filter, op: &TaggedOp) -> bool {
    let mut known = filter.clone();
    known.clauses.retain(|clause| !GIVEN.contains(&&*clause.tag));
    known.matches(|tag| op.tag(tag))
}

fn selects_something(
    ops: &[TaggedOp],
    filter: &Filter,
    loc: piper_ir::Loc,
    reporter: &mut Reporter<'_>,
) {
    if ops.iter().any(|op| selects(filter, op)) {
        return;
    }
    let asks_absence =
        |values: &[(Pattern, _)]| values.iter().any(|(p, _)| *p == Pattern::Untagged);
    let unknown = filter.clauses.iter().find(|clause| {
        !GIVEN.contains(&&*clause.tag)
            && !asks_absence(&clause.values)
            && ops.iter().all(|op| op.tag(&clause.tag).is_none())
    });
    if let Some(clause) = unknown {
        return report_unknown_tag(ops, &clause.tag, loc, reporter);
    }
    let error = reporter.error(loc, format!("{filter} matches no operation"));
    if let [clause] = &filter.clauses[..] {
        let mut values: Vec<&str> = ops.iter().filter_map(|op| op.tag(&clause.tag)).collect();
        values.sort_by_key(|value| (value.parse::<i64>().unwrap_or(i64::MAX), *value));
        values.dedup();
        error.hint(format!("{} has the values {}", clause.tag, values.join(", ")));
    }
}

fn one_place_each(module: &Module, plan: &PlanSpec, ops: &[TaggedOp], reporter: &mut Reporter<'_>) {
    let places: Vec<_> = plan
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            Kind::Place { filter, homes } => Some((d, filter, homes)),
            _ => None,
        })
        .collect();
    let Some((first, ..)) = places.first() else { return };
    let mut homeless = 0;
    let mut reported: Vec<piper_ir::Loc> = Vec::new();
    for op in ops {
        let mut fitting = places.iter().filter(|(_, filter, _)| selects(filter, op));
        let Some((placed, _, homes)) = fitting.next() else {
            // An operation and its gradient stand at one place of the text.
            let loc = module.op_loc(op.op);
            if reported.contains(&loc) {
                continue;
            }
            reported.push(loc);
            homeless += 1;
            if homeless <= LISTED {
                report_homeless(module, op, first.loc, reporter);
            }
            continue;
        };
        if let Some((again, ..)) = fitting.find(|(_, _, other)| *other != *homes) {
            reporter
                .error(module.op_loc(op.op), "this operation is placed twice, on different devices")
                .note(placed.loc, "once here")
                .note(again.loc, "and again here");
            return;
        }
    }
    if homeless > LISTED {
        let more = homeless - LISTED;
        reporter.error(first.loc, format!("{more} more operations have no place"));
    }
}

fn report_homeless(
    module: &Module,
    op: &TaggedOp,
    first: piper_ir::Loc,
    reporter: &mut Reporter<'_>,
) {
    let name = module.name_text(op.op);
    let tags: Vec<String> =
        op.tags.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let tags = if tags.is_empty() {
        "it has no tags".to_owned()
    } else {
        format!("its tags are {{{}}}", tags.join(", "))
    };
    reporter
        .error(module.op_loc(op.op), format!("'{name}' has no place: {tags}"))
        .note(first, "operations are placed from here on")
        .hint("put it into the strategy.annotate of a stage, or place its tags");
}
