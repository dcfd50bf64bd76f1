//! A table drawn for people: time across, ranks down.
//!
//! Every slot takes one column, so a `B` is as wide as an `F` and the pattern of the schedule shows rather than its
//! timing; a slot stands in the column in which its inputs first allow it. Idle cells are dots. Long tables break into
//! blocks of columns that fit the given width.

use std::fmt::Write;
use std::ops::Range;

use crate::action::{Action, Kind, Slot};
use crate::check::Deadlock;
use crate::table::Table;

/// Whether cells name the stage (`3F1`) or only what is done (`F1`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StageNumbers {
    /// Only where some rank runs more than one stage.
    #[default]
    Auto,
    /// In every cell.
    Always,
    /// Nowhere.
    Never,
}

/// How [`render`] draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of text that a line may take; 0 means any number. One column of time is printed even where it is wider.
    pub width: usize,
    /// ANSI colours: forwards blue, whole backwards green, input gradients cyan, weight gradients yellow, overlapping
    /// slots magenta; bold for stages a rank holds beside its first, which is the other direction of a V or of DualPipe.
    pub colour: bool,
    /// Stage numbers in cells.
    pub stage_numbers: StageNumbers,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100, colour: false, stage_numbers: StageNumbers::Auto }
    }
}

/// Draws the table, one line a rank, each line ended by a newline.
///
/// # Errors
/// A table that deadlocks has no times to draw; the error is its cycle.
pub fn render(table: &Table, style: Style) -> Result<String, Deadlock> {
    let replay = table.replay_slots(|_| 1)?;
    let columns = usize::try_from(replay.makespan).unwrap_or(0);
    let mut grid: Vec<Vec<Option<&Slot>>> = vec![vec![None; columns]; table.ranks.len()];
    for ((cells, slots), spans) in grid.iter_mut().zip(&table.ranks).zip(replay.timeline()) {
        for (slot, span) in slots.iter().zip(spans) {
            cells[usize::try_from(span.start).unwrap_or(0)] = Some(slot);
        }
    }
    let first_stage: Vec<u32> = table
        .ranks
        .iter()
        .map(|slots| slots.iter().flat_map(Slot::actions).map(|a| a.stage).min().unwrap_or(0))
        .collect();
    let numbered = match style.stage_numbers {
        StageNumbers::Always => true,
        StageNumbers::Never => false,
        StageNumbers::Auto => {
            let several = |(slots, first): (&Vec<Slot>, &u32)| {
                slots.iter().flat_map(Slot::actions).any(|action| action.stage != *first)
            };
            table.ranks.iter().zip(&first_stage).any(several)
        }
    };
    let text = |slot: &Slot| cell_text(slot, numbered);
    let widths: Vec<usize> = (0..columns)
        .map(|t| {
            let cells = grid.iter().filter_map(|cells| cells[t]).map(|slot| text(slot).len());
            cells.chain([t.to_string().len()]).max().unwrap_or(1)
        })
        .collect();

    let last_rank = table.ranks.len().saturating_sub(1).to_string();
    let margin = "rank ".len() + last_rank.len();
    let mut out = String::new();
    for block in blocks(&widths, margin, style.width) {
        if block.start > 0 {
            out.push('\n');
        }
        let mut line = format!("{:margin$}", "time");
        block.clone().for_each(|t| write!(line, "  {t:<0$}", widths[t]).unwrap_or(()));
        push_line(&mut out, &line);
        for (rank, cells) in grid.iter().enumerate() {
            let mut line = format!("rank {rank:>0$}", last_rank.len());
            for t in block.clone() {
                let (shown, colour) = match cells[t] {
                    Some(slot) => (text(slot), ansi(slot, first_stage[rank])),
                    None => (".".to_string(), "2"),
                };
                let padding = widths[t] - shown.len();
                let drawn =
                    if style.colour { format!("\x1b[{colour}m{shown}\x1b[0m") } else { shown };
                write!(line, "  {drawn}{:padding$}", "").unwrap_or(());
            }
            push_line(&mut out, &line);
        }
    }
    Ok(out)
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Ranges of columns that fit a line each: as few as possible, and then as even as possible.
fn blocks(widths: &[usize], margin: usize, width: usize) -> Vec<Range<usize>> {
    let mut best = greedy_blocks(widths, margin, width);
    for narrower in (margin + 1..width).rev() {
        let blocks = greedy_blocks(widths, margin, narrower);
        if blocks.len() > best.len() {
            break;
        }
        best = blocks;
    }
    best
}

fn greedy_blocks(widths: &[usize], margin: usize, width: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut used) = (0, margin);
    for (t, cell) in widths.iter().enumerate() {
        if width > 0 && t > start && used + 2 + cell > width {
            blocks.push(start..t);
            (start, used) = (t, margin);
        }
        used += 2 + cell;
    }
    if start < widths.len() {
        blocks.push(start..widths.len());
    }
    blocks
}

fn cell_text(slot: &Slot, numbered: bool) -> String {
    let one = |action: &Action| {
        if numbered { action.to_string() } else { format!("{}{}", action.kind.letter(), action.mb) }
    };
    slot.actions().iter().map(one).collect::<Vec<_>>().join("&")
}

/// The SGR parameters of a cell.
fn ansi(slot: &Slot, first_stage: u32) -> &'static str {
    let action = match slot {
        Slot::One(action) => action,
        Slot::Overlap(_) => return "35",
    };
    match (action.kind, action.stage != first_stage) {
        (Kind::F, false) => "34",
        (Kind::F, true) => "1;34",
        (Kind::B, false) => "32",
        (Kind::B, true) => "1;32",
        (Kind::I, false) => "36",
        (Kind::I, true) => "1;36",
        (Kind::W, false) => "33",
        (Kind::W, true) => "1;33",
    }
}
