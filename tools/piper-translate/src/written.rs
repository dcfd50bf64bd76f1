//! The schedule in the form that is asked for.

use std::fmt::Write;

use piper_schedule::lower::Op;
use piper_schedule::table::{Style, render};
use piper_schedule::torch_csv;

use crate::args::{Args, Format};
use crate::directives;
use crate::source::Source;

/// The text of the schedule.
pub(crate) fn write(source: &Source, args: &Args) -> Result<String, String> {
    if let Some(instructions) = &source.instructions {
        return Ok(instructions.clone());
    }
    let communicates =
        source.program.ranks.iter().flatten().any(|op| !matches!(op, Op::Compute(_)));
    match args.format {
        Format::Csv => Ok(torch_csv::write_program(&source.program)),
        Format::Table if communicates => Ok(lines(source)),
        Format::Table => {
            let style = Style { width: args.width, ..Style::default() };
            render(&source.table, style).map_err(|error| format!("error: {error}\n"))
        }
        Format::Pir => directives::of(&source.table, &args.axis, &args.stages),
    }
}

/// A lowered program has no columns of time: one line a rank.
fn lines(source: &Source) -> String {
    let last = source.program.ranks.len().saturating_sub(1).to_string().len();
    let mut out = String::new();
    for (rank, row) in source.program.ranks.iter().enumerate() {
        let ops: Vec<String> = row.iter().map(Op::to_string).collect();
        let _ = writeln!(out, "rank {rank:>last$}  {}", ops.join(" "));
    }
    out
}
