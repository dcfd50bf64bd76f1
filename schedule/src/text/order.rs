//! The `order` language: a schedule written by hand.
//!
//! One rank a line, slots in the order in which the rank runs them, `|` between actions that may overlap:
//!
//! ```text
//! 0F0 0F1 (0F2 | 0B0) 0I1 0W1   // rank 0
//! 1F0 1B0 ...
//! ```
//!
//! Blank lines and comments (`//`, `#`) count for nothing; `.` is an idle cell, which may line columns up, and stands alone
//! for a rank that does nothing. [`print()`] writes a table so that reading it back and printing it again changes nothing.

use pest::Parser as _;

use super::{Span, TextError, action_of, table_of};
use crate::action::Slot;
use crate::table::Table;

#[allow(missing_docs)]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "text/order.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

/// Where the slots of a parsed order stand in its text: `slots[rank][slot]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderSpans {
    /// Spans parallel to [`Table::ranks`].
    pub slots: Vec<Vec<Span>>,
}

/// Reads a table; a stage's homes are the ranks where its actions stand. The table is not checked, see [`Table::check`].
///
/// # Errors
/// The first mistake, with its line and column.
pub fn parse(text: &str) -> Result<Table, TextError> {
    parse_with_spans(text).map(|(table, _)| table)
}

/// As [`parse`], with the places of the slots, so that what [`Table::check`] finds can be shown in the text.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_spans(text: &str) -> Result<(Table, OrderSpans), TextError> {
    let mut parsed =
        Grammar::parse(Rule::order, text).map_err(|error| structure_error(text, &error))?;
    let (mut rows, mut spans) = (Vec::new(), OrderSpans::default());
    for line in parsed.next().into_iter().flat_map(pest::iterators::Pair::into_inner) {
        if line.as_rule() != Rule::line || line.clone().into_inner().next().is_none() {
            continue;
        }
        let (mut row, mut row_spans) = (Vec::new(), Vec::new());
        for slot in line.into_inner() {
            let span = Span::of(slot.as_span());
            match slot.as_rule() {
                Rule::idle => continue,
                Rule::overlap => {
                    let words = slot.into_inner().filter(|part| part.as_rule() == Rule::word);
                    let members: Result<Vec<_>, _> =
                        words.map(|word| action_of(text, Span::of(word.as_span()))).collect();
                    row.push(Slot::Overlap(members?));
                }
                _ => row.push(word_slot(text, span)?.into()),
            }
            row_spans.push(span);
        }
        rows.push(row);
        spans.slots.push(row_spans);
    }
    if rows.is_empty() {
        return Err(TextError::new(text, Span::new(0, 0), "the order is empty")
            .expecting("one line a rank, such as 0F0 0F1 0B0 0B1"));
    }
    Ok((table_of(text, rows)?, spans))
}

fn word_slot(text: &str, span: Span) -> Result<crate::action::Action, TextError> {
    action_of(text, span).map_err(|error| {
        let word = &text[span.start..span.end];
        if word.contains(',') || word.contains(';') {
            let mark = if word.contains(',') { ',' } else { ';' };
            return error.hint(format!("separate slots by spaces, not by '{mark}'"));
        }
        if word.contains("OVERLAP") { error.hint(TORCH_PAIR) } else { error }
    })
}

const TORCH_PAIR: &str = "this is the spelling of torch's CSV; here a pair is written (3F1 | 0B2)";

fn structure_error(text: &str, error: &pest::error::Error<Rule>) -> TextError {
    let phrase = |rule: &Rule| match rule {
        Rule::word | Rule::overlap => Some("an action such as 3F1"),
        Rule::bar => Some("'|'"),
        Rule::close => Some("')'"),
        _ => None,
    };
    let built = TextError::from_pest(text, error, phrase);
    let at = built.span.start;
    let before = text[..at].trim_end_matches([' ', '\t', '\r']);
    let open = before.rfind(['(', ')', '\n']).filter(|at| before[*at..].starts_with('('));
    let next = text[at..].chars().next();
    match (open, next) {
        (Some(open), _)
            if text[open..].split('\n').next().is_some_and(|line| line.contains(';')) =>
        {
            built.hint(TORCH_PAIR)
        }
        (Some(_), Some(')')) => {
            built.hint("an overlap has at least two actions, as in (0F2 | 0B0)")
        }
        (Some(_), Some('(')) => built.hint("overlaps do not nest; write (0F2 | 0B0 | 1W0)"),
        (Some(_), None | Some('\n')) => {
            built.hint("the '(' of this slot is not closed on its line")
        }
        (Some(_), _) => built.hint("separate the actions of an overlap by '|'"),
        (None, Some('|')) => built.hint("put overlapping actions in parentheses: (0F2 | 0B0)"),
        (None, Some(')')) => built.hint("no '(' is open here"),
        _ => built,
    }
}

/// Writes a table in the form that [`parse`] reads.
pub fn print(table: &Table) -> String {
    let mut out = String::new();
    for slots in &table.ranks {
        if slots.is_empty() {
            out.push('.');
        }
        out.push_str(&slots.iter().map(Slot::to_string).collect::<Vec<_>>().join(" "));
        out.push('\n');
    }
    out
}
