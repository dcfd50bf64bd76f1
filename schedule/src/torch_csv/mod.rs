//! torch's pipeline-schedule CSV, compute-only here and with communication in [`read_program`].
//!
//! `torch.distributed.pipelining` writes a schedule as one line a rank, cells separated by commas: `0F1`, `3B0`, `3I0`,
//! `3W0`, fused pairs `(3F1;0B2)OVERLAP_F_B`, and empty cells where a rank idles. Idle cells are dropped on reading: a
//! table holds an order, and the times follow from it. Communication and parameter cells (`0SEND_F0`, `0UNSHARD`) are
//! refused by [`read`], because Piper derives communication itself.

mod program;

pub use program::{ProgramSpans, read_op, read_program, write_program};

use crate::action::{Action, Kind, Slot};
use crate::suggest::closest;
use crate::table::Table;
use crate::text::{Span, TextError, action_of, table_of};

/// torch's other actions, all of which come after the compute-only form.
const LOWERED: [&str; 7] =
    ["SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"];

const FUSED: &str = ")OVERLAP_F_B";

/// Reads a table; homes are where actions stand. Lines that are wholly blank are skipped.
///
/// # Errors
/// The first cell that is not a compute action, with its place.
pub fn read(text: &str) -> Result<Table, TextError> {
    let mut rows = Vec::new();
    for line in cells(text) {
        let mut row = Vec::new();
        for (at, cell) in line {
            row.extend(read_cell(text, at, cell)?);
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(empty(text));
    }
    table_of(text, rows)
}

fn empty(text: &str) -> TextError {
    TextError::new(text, Span::new(0, 0), "the schedule is empty").expecting("one line a rank")
}

/// The lines that are not wholly blank, each as its cells with their offsets in `text`.
fn cells(text: &str) -> impl Iterator<Item = Vec<(usize, &str)>> {
    let mut offset = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let mut at = offset;
        offset += line.len();
        if line.trim().is_empty() {
            return None;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        let cells = line.split(',').map(|cell| {
            at += cell.len() + 1;
            (at - cell.len() - 1, cell)
        });
        Some(cells.collect())
    })
}

/// One cell: nothing, an action, or a fused pair. `at` is the offset of `cell` in `text`.
///
/// # Errors
/// What is wrong with the cell.
pub fn read_cell(text: &str, at: usize, cell: &str) -> Result<Option<Slot>, TextError> {
    let start = at + (cell.len() - cell.trim_start().len());
    let cell = cell.trim();
    let span = Span::new(start, start + cell.len());
    if matches!(cell, "" | "." | "\"\"") {
        return Ok(None);
    }
    let Some(inside) = cell.strip_prefix('(') else {
        return read_action(text, start, cell).map(|action| Some(action.into()));
    };
    let Some(inside) = inside.strip_suffix(FUSED) else {
        return Err(TextError::new(text, span, format!("'{cell}' is not a fused pair"))
            .expecting("a pair such as (3F1;0B2)OVERLAP_F_B"));
    };
    let mut members = Vec::new();
    let mut member_at = start + 1;
    for member in inside.split(';') {
        members.push(read_action(text, member_at, member)?);
        member_at += member.len() + 1;
    }
    match members[..] {
        [_, _] => Ok(Some(Slot::Overlap(members))),
        _ => Err(TextError::new(
            text,
            span,
            format!("a fused pair has two actions; this has {}", members.len()),
        )),
    }
}

fn read_action(text: &str, at: usize, cell: &str) -> Result<Action, TextError> {
    let word = cell
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(|c: char| c.is_ascii_digit());
    let span = Span::new(at, at + cell.len());
    if LOWERED.contains(&word) {
        return Err(TextError::new(text, span, format!("'{cell}' is not a compute action"))
            .expecting("F, B, I, W or (..;..)OVERLAP_F_B")
            .hint("write the compute-only CSV (`_dump_csv(..., format=\"compute_only\")`); communication is derived from it"));
    }
    action_of(text, span).map_err(|error| match closest(word, LOWERED) {
        Some(near) if word.len() > 1 => {
            error.hint(format!("did you mean {near}? Only compute actions are read"))
        }
        _ => error,
    })
}

/// Writes a table in the order of its ranks, without idle cells; a rank that does nothing is one idle cell (`""`), since a
/// blank line is no rank.
///
/// # Errors
/// The first slot that torch has no spelling for: its only overlap is one `F` with one `B` or `I`.
pub fn write(table: &Table) -> Result<String, Slot> {
    let mut out = String::new();
    for slots in &table.ranks {
        let cells: Result<Vec<String>, Slot> = slots.iter().map(write_slot).collect();
        let line = cells?.join(",");
        out.push_str(if line.is_empty() { "\"\"" } else { &line });
        out.push('\n');
    }
    Ok(out)
}

fn write_slot(slot: &Slot) -> Result<String, Slot> {
    match slot.actions() {
        [action] => Ok(action.to_string()),
        [a, b] => {
            let (f, b) = if a.kind == Kind::F { (a, b) } else { (b, a) };
            let fused = f.kind == Kind::F && matches!(b.kind, Kind::B | Kind::I);
            if fused { Ok(format!("({f};{b}{FUSED}")) } else { Err(slot.clone()) }
        }
        _ => Err(slot.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn a_rank_that_does_nothing_is_still_a_rank() {
        let table = read(" . \n0F0,,0B0\n").expect("a table of two ranks");
        assert_eq!(table.ranks.len(), 2);
        let text = write(&table).expect("plain actions");
        assert_eq!(text, "\"\"\n0F0,0B0\n");
        assert_eq!(write(&read(&text).expect("just written")), Ok(text));
    }
}
