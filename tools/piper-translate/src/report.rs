//! What is wrong with a schedule, at its place in the file.

use std::fmt::Write;

use piper_schedule::generate::Rejected;
use piper_schedule::lower::{Fault, Op, Program};
use piper_schedule::text::Span;
use piper_schedule::torch_csv::ProgramSpans;
use piper_schedule::{Position, Problem, TextError};

/// Further faults are counted, not printed: one slip often breaks every microbatch alike.
const PRINTED: usize = 5;

/// Characters of a row that are shown: rows of a thousand cells do not help.
const SHOWN: usize = 88;

/// A configuration that a schedule does not exist for.
pub(crate) fn rejected(rejected: &Rejected) -> String {
    let mut out = format!("error: {rejected}\n");
    if let Some(hint) = &rejected.hint {
        let _ = writeln!(out, "  = hint: {hint}");
    }
    out
}

/// A cell that is no operation.
pub(crate) fn text_error(file: &str, error: &TextError) -> String {
    let mut message = error.message.clone();
    if let Some(expected) = &error.expected {
        let _ = write!(message, "; expected {expected}");
    }
    let length = error.span.end.saturating_sub(error.span.start);
    let place = Place {
        line: error.line as usize,
        column: error.column as usize,
        length,
        row: error.source_line(),
    };
    let mut out = format!("error: {message}\n");
    place.draw(&mut out, file);
    if let Some(hint) = &error.hint {
        let _ = writeln!(out, "  = hint: {hint}");
    }
    out
}

/// What [`piper_schedule::lower::Program::check`] found.
pub(crate) fn faults(
    file: &str,
    text: &str,
    (program, spans): (&Program, &ProgramSpans),
    faults: &[Fault],
    buffered: bool,
) -> String {
    let mut out = String::new();
    for fault in faults.iter().take(PRINTED) {
        one(&mut out, file, text, spans, explain(program, fault, buffered));
    }
    if let Some(more @ 1..) = faults.len().checked_sub(PRINTED) {
        let _ = writeln!(out, "... and {more} more");
    }
    out
}

fn one(out: &mut String, file: &str, text: &str, spans: &ProgramSpans, explained: Explained) {
    let Explained { message, places, hint } = explained;
    let _ = writeln!(out, "error: {message}");
    for (at, (position, note)) in places.iter().enumerate() {
        if at > 0 || !note.is_empty() {
            let _ = writeln!(out, "note: {note}");
        }
        if let Some(span) = span_of(spans, *position) {
            Place::of(text, span).draw(out, file);
        }
    }
    if places.is_empty() {
        let _ = writeln!(out, " --> {file}");
    }
    if !hint.is_empty() {
        let _ = writeln!(out, "  = hint: {hint}");
    }
}

/// The place of an operation; one past the end of a row is the row's last operation.
fn span_of(spans: &ProgramSpans, at: Position) -> Option<Span> {
    let row = spans.ops.get(at.rank as usize)?;
    row.get(at.slot as usize).or(row.last()).copied()
}

struct Explained {
    message: String,
    /// Where, and what is there; the first note may be empty.
    places: Vec<(Position, String)>,
    hint: String,
}

fn explain(program: &Program, fault: &Fault, buffered: bool) -> Explained {
    let explained = |message: String, places: Vec<(Position, String)>, hint: &str| Explained {
        message,
        places,
        hint: hint.to_string(),
    };
    let here = |at: &Position| vec![(*at, String::new())];
    let belongs = |home: &Option<u32>| match home {
        Some(home) => format!("its stage lives on rank {home}"),
        None => "its stage lives on no rank".to_string(),
    };
    match fault {
        Fault::Compute(problem) => compute(program, problem),
        Fault::OutOfRange { at, op, stages, microbatches } => explained(
            format!("{op} names a stage or microbatch that nothing computes"),
            here(at),
            &format!("there are {stages} stages and {microbatches} microbatches, counted from 0"),
        ),
        Fault::NotAtHome { at, op, home } => {
            let message = format!("{op} does not belong on rank {}", at.rank);
            explained(message, here(at), &belongs(home))
        }
        Fault::Needless { at, transfer } => explained(
            format!("{transfer} has no other side"),
            here(at),
            "the model ends here, or the neighbouring stage is on this rank; remove it",
        ),
        Fault::Repeated { op, first, again } => repeated(op, *first, *again),
        Fault::Missing { transfer, rank, action, at } => {
            let (way, place) = match transfer.leg.is_send() {
                true => ("sends what this computes", "after"),
                false => ("receives what this needs", "before"),
            };
            explained(
                format!("{transfer} is missing on rank {rank}: nothing {way}"),
                here(at),
                &format!("add {transfer} {place} {action}"),
            )
        }
        Fault::NotGathered { at, action } => explained(
            format!("{action} runs while the parameters of stage {} are not gathered", action.stage),
            here(at),
            &format!("put {}UNSHARD before it", action.stage),
        ),
        Fault::Gathered { at, op: op @ Op::Unshard(stage) } => explained(
            format!("{op}: the parameters of stage {stage} are already gathered"),
            here(at),
            "remove it",
        ),
        Fault::Gathered { at, op } => explained(
            format!("{op}: the parameters of this stage are not gathered"),
            here(at),
            "remove it",
        ),
        Fault::EarlyReduce { at, stage, later, found_at } => explained(
            format!("{stage}REDUCE_GRAD comes too early"),
            vec![
                (*at, String::new()),
                (*found_at, format!("{later} contributes to the same gradients later")),
            ],
            "reduce after the stage's last B or W",
        ),
        Fault::Crossed { at, send, paired_at, paired } => explained(
            format!("{send} and {paired} are paired, but are not one transfer"),
            vec![
                (*at, String::new()),
                (*paired_at, "transfers between two ranks pair in their order, and this one has the same number".into()),
            ],
            "send and receive in the same order on both sides",
        ),
        Fault::Deadlock(circle) => explained(
            "the ranks wait for one another for ever".into(),
            circle
                .0
                .iter()
                .map(|waiting| {
                    let what = &waiting.what;
                    let (rank, other) = (waiting.at.rank, waiting.found_at.rank);
                    let text = match rank == other {
                        true => format!(
                            "rank {rank} stands at {what}, which waits for {}, which the rank itself runs only later",
                            waiting.waits_for
                        ),
                        false => format!(
                            "rank {rank} stands at {what}, which waits for {} on rank {other}",
                            waiting.waits_for
                        ),
                    };
                    (waiting.at, text)
                })
                .collect(),
            match buffered {
                true => "move what is waited for before what waits",
                false => "both sides of a transfer wait for each other: put one rank's receive before its send, or, if sends are buffered, say --buffered-sends",
            },
        ),
    }
}

fn repeated(op: &str, first: Position, again: Position) -> Explained {
    Explained {
        message: format!("{op} runs a second time"),
        places: vec![(again, String::new()), (first, "it already runs here".into())],
        hint: "remove one of the two".into(),
    }
}

fn compute(program: &Program, problem: &Problem) -> Explained {
    let explained = |message: String, places: Vec<(Position, String)>, hint: &str| Explained {
        message,
        places,
        hint: hint.to_string(),
    };
    // A row that lacks something is shown by its last cell.
    let row = |rank: &Option<u32>| match rank {
        Some(rank) => vec![(Position { rank: *rank, slot: u32::MAX }, String::new())],
        None => Vec::new(),
    };
    match problem {
        Problem::OutOfRange { at, action, stages, microbatches } => explained(
            format!("{action} does not exist"),
            vec![(*at, String::new())],
            &format!("there are {stages} stages and {microbatches} microbatches, counted from 0"),
        ),
        Problem::NotAtHome { at, action, home } => explained(
            format!("{action} does not belong on rank {}", at.rank),
            vec![(*at, String::new())],
            &home.map_or(String::new(), |home| {
                format!("for this microbatch its stage lives on rank {home}")
            }),
        ),
        Problem::Repeated { action, first, again } => {
            repeated(&action.to_string(), *first, *again)
        }
        Problem::Missing { action, home } => explained(
            match home {
                Some(home) => format!("{action} is missing on rank {home}"),
                None => format!("{action} is missing"),
            },
            row(home),
            "every stage runs F and B (or I and W) once for every microbatch",
        ),
        Problem::Unplaced { stage } => explained(
            format!("stage {stage} runs on no rank"),
            later_stage(program, *stage).into_iter().collect(),
            "stages are counted from 0 without a gap",
        ),
        Problem::WholeAndHalf { whole, half } => explained(
            format!("{} repeats a part of {}", half.0, whole.0),
            vec![(half.1, String::new()), (whole.1, format!("{} runs here", whole.0))],
            "write either B, or I and W",
        ),
        Problem::Deadlock(deadlock) => explained(
            "the ranks wait for one another for ever".into(),
            deadlock
                .cycle
                .iter()
                .map(|stuck| {
                    let (action, other) = (stuck.action, stuck.waits_for);
                    let text = match stuck.at.rank == stuck.found_at.rank {
                        true if stuck.at == stuck.found_at => {
                            format!("{action} waits for {other} of the same slot")
                        }
                        true => format!(
                            "rank {} stands at {action}, which waits for {other}, which the rank itself runs only later",
                            stuck.at.rank
                        ),
                        false => format!(
                            "rank {} stands at {action}, which waits for {other} on rank {}",
                            stuck.at.rank, stuck.found_at.rank
                        ),
                    };
                    (stuck.at, text)
                })
                .collect(),
            "move what is waited for before what waits",
        ),
    }
}

/// Where a stage after `stage` runs, which is why there must be one.
fn later_stage(program: &Program, stage: u32) -> Option<(Position, String)> {
    program.positions().find_map(|(at, op)| {
        let later = op.actions().iter().find(|action| action.stage > stage)?;
        Some((at, format!("there is a stage {} here", later.stage)))
    })
}

/// A part of one line.
struct Place<'a> {
    /// From 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
    /// Characters to underline.
    length: usize,
    /// The whole line.
    row: &'a str,
}

impl<'a> Place<'a> {
    fn of(text: &'a str, span: Span) -> Place<'a> {
        let before = &text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            length: text[span.start..span.end].chars().count(),
            row: text[line_start..].lines().next().unwrap_or(""),
        }
    }

    fn draw(&self, out: &mut String, file: &str) {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let indent = self.column - 1;
        let length = self.length.max(1);
        let skipped = match indent + length > SHOWN {
            true => indent.saturating_sub(SHOWN / 2),
            false => 0,
        };
        let shown: String = self.row.chars().skip(skipped).take(SHOWN).collect();
        let (head, tail) = (
            if skipped > 0 { "..." } else { "" },
            if self.row.chars().count() > skipped + SHOWN { "..." } else { "" },
        );
        let under = " ".repeat(head.len() + indent - skipped) + &"^".repeat(length.min(SHOWN));
        let _ = writeln!(out, "{margin}--> {file}:{}:{}", self.line, self.column);
        let _ = writeln!(out, "{margin} |\n{number} | {head}{shown}{tail}\n{margin} | {under}");
    }
}
