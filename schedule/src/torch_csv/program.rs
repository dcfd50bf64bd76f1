//! torch's CSV with communication: compute cells, and beside them `0SEND_F1`, `1RECV_F1`, `0UNSHARD`, `0RESHARD`,
//! `0REDUCE_GRAD`. Transfers posted together are one cell, `{0SEND_F1;0RECV_B0}`.

use super::{LOWERED, cells, empty, read_cell};
use crate::lower::{Leg, Op, Program, Transfer};
use crate::suggest::closest;
use crate::text::{LARGEST, Span, TextError, table_of};

/// Where the operations of a program stand in its text: `ops[rank][op]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramSpans {
    /// Spans parallel to [`Program::ranks`].
    pub ops: Vec<Vec<Span>>,
}

/// Reads a program; homes are where computations stand. It is not checked, see [`Program::check`]. Idle cells are
/// dropped.
///
/// # Errors
/// The first cell that is no operation, with its place.
pub fn read_program(text: &str) -> Result<(Program, ProgramSpans), TextError> {
    let (mut rows, mut spans) = (Vec::new(), ProgramSpans::default());
    for line in cells(text) {
        let (mut row, mut row_spans) = (Vec::new(), Vec::new());
        for (at, cell) in line {
            if let Some(op) = read_op(text, at, cell)? {
                let start = at + (cell.len() - cell.trim_start().len());
                row.push(op);
                row_spans.push(Span::new(start, start + cell.trim().len()));
            }
        }
        rows.push(row);
        spans.ops.push(row_spans);
    }
    if rows.is_empty() {
        return Err(empty(text));
    }
    let slots = |row: &Vec<Op>| {
        let slot = |op: &Op| match op {
            Op::Compute(slot) => Some(slot.clone()),
            _ => None,
        };
        row.iter().filter_map(slot).collect()
    };
    let table = table_of(text, rows.iter().map(slots).collect())?;
    let program = Program { ranks: rows, ..Program::of(&table) };
    Ok((program, spans))
}

/// One cell: nothing, or an operation. `at` is the offset of `cell` in `text`.
///
/// # Errors
/// What is wrong with the cell.
pub fn read_op(text: &str, at: usize, cell: &str) -> Result<Option<Op>, TextError> {
    let start = at + (cell.len() - cell.trim_start().len());
    let cell = cell.trim();
    if let Some(inside) = cell.strip_prefix('{') {
        let Some(inside) = inside.strip_suffix('}') else {
            let span = Span::new(start, start + cell.len());
            let message = format!("the '{{' of '{cell}' is not closed in its cell");
            return Err(TextError::new(text, span, message)
                .expecting("a batch of transfers such as {0SEND_F1;0RECV_B0}"));
        };
        let mut transfers = Vec::new();
        let mut member_at = start + 1;
        for member in inside.split(';') {
            let span = Span::new(member_at, member_at + member.len());
            match lowered(text, span)? {
                Some(Op::Transfer(transfer)) => transfers.push(transfer),
                _ => {
                    let message = format!("'{member}' is not a transfer");
                    return Err(TextError::new(text, span, message)
                        .expecting("SEND_F, RECV_F, SEND_B or RECV_B, as in {0SEND_F1;0RECV_B0}"));
                }
            }
            member_at += member.len() + 1;
        }
        return Ok(Some(Op::Batch(transfers)));
    }
    match lowered(text, Span::new(start, start + cell.len()))? {
        Some(op) => Ok(Some(op)),
        None => Ok(read_cell(text, at, cell)?.map(Op::Compute)),
    }
}

/// The operation at `span`, if it is one of those that lowering adds.
fn lowered(text: &str, span: Span) -> Result<Option<Op>, TextError> {
    let cell = &text[span.start..span.end];
    let digits = |part: &str| part.bytes().take_while(u8::is_ascii_digit).count();
    let (stage, rest) = cell.split_at(digits(cell));
    let word = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let mb = &rest[word.len()..];
    let wrong = |message: String| TextError::new(text, span, message);
    if !LOWERED.contains(&word) {
        return match closest(word, LOWERED) {
            Some(near) if word.len() > 3 => Err(wrong(format!("'{cell}' is not an operation"))
                .hint(format!("did you mean {stage}{near}{mb}?"))),
            _ => Ok(None),
        };
    }
    let leg = Leg::NAMES.iter().find(|(_, name)| *name == word);
    let number = |digits: &str, what: &str| match digits.parse() {
        Ok(number) if number <= LARGEST => Ok(number),
        Ok(_) | Err(_) if !digits.is_empty() => {
            Err(wrong(format!("'{cell}': the number is too large"))
                .expecting(format!("stages and microbatches up to {LARGEST}")))
        }
        _ => Err(wrong(format!("'{cell}' names no {what}"))
            .expecting("an operation such as 0SEND_F1 or 0UNSHARD")),
    };
    let stage = number(stage, "stage")?;
    match (leg, word) {
        (Some((leg, _)), _) => {
            Ok(Some(Op::Transfer(Transfer::new(stage, *leg, number(mb, "microbatch")?))))
        }
        (None, _) if !mb.is_empty() => {
            Err(wrong(format!("'{cell}': {word} is for a whole stage and takes no microbatch"))
                .hint(format!("write {stage}{word}")))
        }
        (None, "UNSHARD") => Ok(Some(Op::Unshard(stage))),
        (None, "RESHARD") => Ok(Some(Op::Reshard(stage))),
        _ => Ok(Some(Op::ReduceGrad(stage))),
    }
}

/// Writes a program, one line a rank, without idle cells; a rank that does nothing is one idle cell (`""`).
pub fn write_program(program: &Program) -> String {
    let mut out = String::new();
    for row in &program.ranks {
        let cells: Vec<String> =
            row.iter().filter(|op| **op != Op::Idle).map(Op::to_string).collect();
        out.push_str(if cells.is_empty() { "\"\"" } else { "" });
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}
