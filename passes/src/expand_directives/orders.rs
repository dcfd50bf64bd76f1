//! The orders of a plan form one schedule: complete, nothing twice, free of deadlock.

use piper_dialects::strategy::{Directive, Home, Kind, PlanSpec, Slice};
use piper_ir::{Loc, Module, Reporter};
use piper_schedule::text::filter::Filter;
use piper_schedule::{Action, Deadlock, Kind as Work, Placement, Position, Problem, Slot, Table};

use super::MICROBATCH_TAG;
use super::check::microbatches;
use super::stages::{Stages, tagged_operations};

/// Further problems are counted, not listed: one slip breaks every microbatch alike.
const LISTED: usize = 8;

/// One rank's row.
struct Row<'p> {
    directive: &'p Directive,
    slice: &'p Slice,
    slots: &'p [Slot],
}

/// A place of the plan.
struct Placed<'p> {
    filter: &'p Filter,
    homes: &'p [Home],
    loc: Loc,
}

pub(super) fn check(module: &Module, plan: &PlanSpec, reporter: &mut Reporter<'_>) {
    let places: Vec<Placed<'_>> = plan
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            Kind::Place { filter, homes } => Some(Placed { filter, homes, loc: d.loc }),
            _ => None,
        })
        .collect();
    let mut tags: Vec<(&str, Loc)> = Vec::new();
    for directive in &plan.directives {
        if let Kind::Order { stages, .. } = &directive.kind
            && tags.iter().all(|(known, _)| known != stages)
        {
            tags.push((stages, directive.loc));
        }
    }
    if let [(first, at), (second, loc), ..] = tags[..] {
        let message =
            format!("orders by \"{second}\" beside orders by \"{first}\": a plan has one pipeline");
        reporter.error(loc, message).note(at, "the other orders begin here");
        return;
    }
    // Where places were consumed by earlier passes, the graph's own verifier watches.
    if places.is_empty() {
        return;
    }
    let Some(&(tag, loc)) = tags.first() else {
        let slices = home_slices(&places);
        if let [first, second, ..] = slices[..] {
            reporter
                .error(plan.directives.iter().map(|d| d.loc).next().unwrap_or(places[0].loc), format!("nothing says in which order {first}, {second} and other ranks run their stages"))
                .hint("add a strategy.order for each, or use strategy.pipeline");
        }
        return;
    };
    check_rows(module, plan, &places, tag, loc, reporter);
}

fn home_slices<'p>(places: &[Placed<'p>]) -> Vec<&'p Slice> {
    let mut slices: Vec<&Slice> =
        places.iter().flat_map(|place| place.homes).map(|home| &home.slice).collect();
    slices.sort();
    slices.dedup();
    slices
}

fn check_rows(
    module: &Module,
    plan: &PlanSpec,
    places: &[Placed<'_>],
    tag: &str,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) {
    let ops = tagged_operations(module, plan);
    // Numbers may be missing: stages that are placed and ordered are all there are.
    let Ok(stages) = Stages::of(module, &ops, tag, loc, reporter) else { return };
    let (microbatches, _) = microbatches(module, plan);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for directive in &plan.directives {
        let Kind::Order { slice, row, .. } = &directive.kind else { continue };
        if let Some(first) = rows.iter().find(|row| !row.slice.is_disjoint(slice)) {
            reporter
                .error(directive.loc, format!("a second order for devices of {slice}"))
                .note(first.directive.loc, format!("the first one, for {}", first.slice));
            return;
        }
        rows.push(Row { directive, slice, slots: row });
    }
    let without =
        home_slices(places).into_iter().find(|home| rows.iter().all(|row| row.slice != *home));
    if let Some(home) = without {
        let place = places.iter().find(|place| place.homes.iter().any(|h| h.slice == *home));
        let error = reporter.error(loc, format!("there is no order for {home}"));
        if let Some(place) = place {
            error.note(place.loc, "which is given work here");
        }
        error.hint(format!("add strategy.order stages = \"{tag}\" on {home} \"...\""));
        return;
    }
    let numbers = stages.numbers();
    let Some(placement) = placement(places, &rows, tag, numbers, microbatches, reporter) else {
        return;
    };
    halves_are_split(plan, &rows, tag, reporter);
    let ranks = rows.iter().map(|row| compact(row.slots, numbers)).collect();
    let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    let table = Table { ranks, stages: count, microbatches, placement };
    let Err(problems) = table.check() else { return };
    let told = Told { rows: &rows, tag, stages: &stages, loc };
    for problem in problems.0.iter().take(LISTED) {
        told.report(problem, reporter);
    }
    if problems.0.len() > LISTED {
        reporter.error(loc, format!("{} more faults in the orders", problems.0.len() - LISTED));
    }
}

/// A row with stages numbered without gaps, as a [`Table`] has them; a stage that is none is beyond these.
fn compact(slots: &[Slot], numbers: &[u32]) -> Vec<Slot> {
    let beyond = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    let renumbered = |action: &Action| {
        let stage = match numbers.binary_search(&action.stage) {
            Ok(at) => u32::try_from(at).unwrap_or(u32::MAX),
            Err(_) => beyond.saturating_add(action.stage),
        };
        Action { stage, ..*action }
    };
    let slot = |slot: &Slot| match slot {
        Slot::One(action) => Slot::One(renumbered(action)),
        Slot::Overlap(actions) => Slot::Overlap(actions.iter().map(renumbered).collect()),
    };
    slots.iter().map(slot).collect()
}

/// The home of every stage and microbatch as a row of the table.
fn placement(
    places: &[Placed<'_>],
    rows: &[Row<'_>],
    tag: &str,
    stages: &[u32],
    microbatches: u32,
    reporter: &mut Reporter<'_>,
) -> Option<Placement> {
    let rank_of = |slice: &Slice| {
        let at = rows.iter().position(|row| row.slice == slice)?;
        u32::try_from(at).ok()
    };
    let homes: Option<Vec<&Placed<'_>>> = stages
        .iter()
        .map(|stage| {
            let stage = stage.to_string();
            // Other tags of the filter cannot divide a stage: `coverage` has found one place for each operation.
            places.iter().find(|place| {
                let clause = place.filter.clauses.iter().find(|clause| clause.tag == tag);
                let only = Filter { clauses: clause.cloned().into_iter().collect() };
                only.matches(|_| Some(stage.as_str()))
            })
        })
        .collect();
    let homes = homes?;
    // Microbatches that meet the same ranks travel in one direction.
    let mut paths: Vec<Vec<u32>> = Vec::new();
    let mut direction = Vec::new();
    for mb in 0..microbatches {
        let mut path = Vec::new();
        for place in &homes {
            let home = place
                .homes
                .iter()
                .find(|home| home.microbatches.as_ref().is_none_or(|range| range.contains(&mb)));
            let Some(rank) = home.and_then(|home| rank_of(&home.slice)) else {
                reporter
                    .error(place.loc, format!("no home runs microbatch {mb} of {microbatches}"));
                return None;
            };
            path.push(rank);
        }
        let known = paths.iter().position(|other| *other == path);
        let way = known.unwrap_or_else(|| {
            paths.push(path);
            paths.len() - 1
        });
        direction.push(u32::try_from(way).unwrap_or(u32::MAX));
    }
    let homes = (0..stages.len()).map(|stage| paths.iter().map(|path| path[stage]).collect());
    let homes = homes.collect();
    if paths.len() <= 1 {
        direction.clear();
    }
    Some(Placement { homes, direction })
}

/// `I` and `W` need a backward that is cut in two.
fn halves_are_split(plan: &PlanSpec, rows: &[Row<'_>], tag: &str, reporter: &mut Reporter<'_>) {
    let filters: Vec<&Filter> = plan
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            Kind::SplitBackward { filter } => Some(filter),
            _ => None,
        })
        .collect();
    for row in rows {
        let actions = row.slots.iter().flat_map(Slot::actions);
        let unsplit =
            actions.filter(|action| matches!(action.kind, Work::I | Work::W)).find(|action| {
                let (stage, mb) = (action.stage.to_string(), action.mb.to_string());
                let value = |name: &str| match name {
                    MICROBATCH_TAG => Some(mb.as_str()),
                    // Its backward, or either half of it.
                    "PASS" => Some("B"),
                    name => (name == tag).then_some(stage.as_str()),
                };
                filters.iter().all(|filter| !filter.matches(|name| value(name)))
            });
        if let Some(action) = unsplit {
            reporter
                .error(
                    row.directive.loc,
                    format!(
                        "{action} is half a backward, but the backward of stage {} is not split",
                        action.stage
                    ),
                )
                .hint(format!("add strategy.split_backward {{{tag} = *}}"));
            return;
        }
    }
}

/// What messages about a table need to speak of the file.
struct Told<'a> {
    rows: &'a [Row<'a>],
    tag: &'a str,
    stages: &'a Stages,
    loc: Loc,
}

impl Told<'_> {
    /// An action with the number that its stage has in the file.
    fn action(&self, action: &Action) -> Action {
        let numbers = self.stages.numbers();
        let beyond = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let stage = match numbers.get(action.stage as usize) {
            Some(number) => *number,
            None => action.stage - beyond,
        };
        Action { stage, ..*action }
    }

    fn report(&self, problem: &Problem, reporter: &mut Reporter<'_>) {
        let Told { rows, tag, loc, .. } = *self;
        let row = |rank: u32| &rows[rank as usize];
        let at =
            |position: &Position| format!("slot {} of {}", position.slot, row(position.rank).slice);
        let loc_of = |position: &Position| row(position.rank).directive.loc;
        let home_of = |home: &Option<u32>| home.map(row);
        match problem {
            Problem::OutOfRange { at: position, action, stages, microbatches } => {
                let (action, has_gap) =
                    (self.action(action), self.stages.numbers().last() >= Some(stages));
                let there = if has_gap {
                    format!("the stages {}", self.stages.listed())
                } else {
                    format!("{stages} stages")
                };
                reporter.error(
                loc_of(position),
                format!("{}: {action} does not exist: there are {there} and {microbatches} microbatches, counted from 0", at(position)),
            );
            }
            Problem::NotAtHome { at: position, action, home } => {
                let action = self.action(action);
                let message = format!("{}: {action} does not belong here", at(position));
                let error = reporter.error(loc_of(position), message);
                if let Some(home) = home_of(home) {
                    error.hint(format!(
                        "{tag} = {} is placed on {} for microbatch {}",
                        action.stage, home.slice, action.mb
                    ));
                }
            }
            Problem::Repeated { action, first, again } => {
                let action = self.action(action);
                reporter
                    .error(loc_of(again), format!("{}: {action} runs a second time", at(again)))
                    .note(loc_of(first), format!("already run in {}", at(first)))
                    .hint("remove one of the two");
            }
            Problem::Missing { action, home } => {
                let action = self.action(action);
                let (loc, slice) = home_of(home).map_or((loc, String::new()), |row| {
                    (row.directive.loc, format!(" in the order of {}", row.slice))
                });
                reporter
                    .error(loc, format!("{action} is missing{slice}"))
                    .hint("every stage runs F and B (or I and W) once for every microbatch");
            }
            Problem::Unplaced { stage } => {
                let stage = self.action(&Action::new(*stage, Work::F, 0)).stage;
                reporter.error(loc, format!("{tag} = {stage} has no place"));
            }
            Problem::WholeAndHalf { whole, half } => {
                reporter
                    .error(
                        loc_of(&half.1),
                        format!(
                            "{}: {} repeats a part of {}",
                            at(&half.1),
                            self.action(&half.0),
                            self.action(&whole.0)
                        ),
                    )
                    .note(
                        loc_of(&whole.1),
                        format!("{} stands in {}", self.action(&whole.0), at(&whole.1)),
                    )
                    .hint("write either B, or I and W");
            }
            Problem::Deadlock(deadlock) => self.deadlock(deadlock, reporter),
        }
    }

    fn deadlock(&self, deadlock: &Deadlock, reporter: &mut Reporter<'_>) {
        let rows = self.rows;
        let row = |position: &Position| &rows[position.rank as usize];
        let line = |action: &Action, at: &Position, waits: &Action, found: &Position| {
            let place = if found == at {
                "which stands in the same slot, so the two cannot overlap".to_owned()
            } else if found.rank == at.rank {
                format!("which comes only later, in slot {}", found.slot)
            } else {
                format!("which is slot {} of {}", found.slot, row(found).slice)
            };
            let (action, waits) = (self.action(action), self.action(waits));
            format!("{} waits in slot {}: {action} needs {waits}, {place}", row(at).slice, at.slot)
        };
        let [first, others @ ..] = &deadlock.cycle[..] else { return };
        let told = line(&first.action, &first.at, &first.waits_for, &first.found_at);
        let error =
            reporter.error(row(&first.at).directive.loc, format!("the orders deadlock: {told}"));
        for stuck in others {
            let told = line(&stuck.action, &stuck.at, &stuck.waits_for, &stuck.found_at);
            error.note(row(&stuck.at).directive.loc, told);
        }
        // What the last one waits for stands in the row of the first.
        let last = others.last().unwrap_or(first);
        let slice = row(&first.at).slice;
        if last.found_at == first.at {
            let (waits, action) = (self.action(&last.waits_for), self.action(&first.action));
            error.hint(format!("give {waits} and {action} slots of their own"));
        } else {
            let (waits, action) = (self.action(&last.waits_for), self.action(&first.action));
            error.hint(format!("in the order of {slice}, put {waits} before {action}"));
        }
    }
}
