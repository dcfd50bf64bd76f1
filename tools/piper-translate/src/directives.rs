//! The primitives of a `strategy.plan` that say what a table says: the split into microbatches, a place for every stage,
//! which backwards are halved, and one `strategy.order` a rank. They are what `expand-directives` writes for a named
//! schedule, so an imported table works like a built-in one.

use std::fmt::Write;

use piper_schedule::{Kind, Slot, Table};

/// The lines of the primitives for ranks along `axis` and stages numbered by `tag`.
pub(crate) fn of(table: &Table, axis: &str, tag: &str) -> Result<String, String> {
    let is_word = |text: &str| {
        text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for (what, name) in [("axis", axis), ("stages", tag)] {
        if !is_word(name) {
            return Err(format!(
                "error: --{what}='{name}' is not a name; expected letters, digits and '_'\n"
            ));
        }
    }
    let mut out = format!("strategy.split \"MB\" into {}\n", table.microbatches);
    for (stage, homes) in table.placement.homes.iter().enumerate() {
        let _ = match (&homes[..], table.placement.direction.is_empty()) {
            ([], _) => continue,
            ([rank], _) | ([rank, ..], true) => {
                writeln!(out, "strategy.place {{{tag} = {stage}}} on {{{axis} = {rank}}}")
            }
            (ranks, false) => {
                let slices: Vec<String> =
                    ranks.iter().map(|rank| format!("{{{axis} = {rank}}}")).collect();
                let ranges: Result<Vec<String>, String> =
                    (0u32..).zip(ranks).map(|(way, _)| range(table, way)).collect();
                writeln!(
                    out,
                    "strategy.place {{{tag} = {stage}}} on [{}] microbatches = [{}]",
                    slices.join(", "),
                    ranges?.join(", ")
                )
            }
        };
    }
    if let Some(stages) = halved(table) {
        let _ = writeln!(out, "strategy.split_backward {{{tag} = {stages}}}");
    }
    for (rank, slots) in table.ranks.iter().enumerate() {
        let row: Vec<String> = slots.iter().map(Slot::to_string).collect();
        let row = row.join(" ");
        let _ = writeln!(out, "strategy.order stages = \"{tag}\" on {{{axis} = {rank}}} \"{row}\"");
    }
    Ok(out)
}

/// The microbatches that travel in direction `way`, as `start:end`.
fn range(table: &Table, way: u32) -> Result<String, String> {
    let direction = &table.placement.direction;
    let first = direction.iter().position(|d| *d == way).unwrap_or(0);
    let end = direction.iter().rposition(|d| *d == way).map_or(first, |last| last + 1);
    match direction[first..end].iter().all(|d| *d == way) {
        true => Ok(format!("{first}:{end}")),
        false => Err(format!(
            "error: microbatches {first} to {} of one direction are interrupted by another's\n  \
             = hint: a plan places a stage's microbatches by ranges; number each direction's \
             microbatches one after another\n",
            end - 1
        )),
    }
}

/// Stages whose backward the table runs in halves, as a filter writes them.
fn halved(table: &Table) -> Option<String> {
    let halves = table.actions().filter(|action| matches!(action.kind, Kind::I | Kind::W));
    let stages: std::collections::BTreeSet<u32> = halves.map(|action| action.stage).collect();
    match stages.len() {
        0 => None,
        n if n == table.stages as usize => Some("*".into()),
        _ => Some(stages.iter().map(u32::to_string).collect::<Vec<_>>().join("|")),
    }
}
