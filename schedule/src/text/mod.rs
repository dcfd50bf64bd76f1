//! The little languages and the error they share.
//!
//! Each has a small pest grammar for its structure; words inside are judged by hand, because a grammar can only say
//! "unexpected token" where a person wants to hear that `0f1` should be `0F1`. pest's own errors never reach the user:
//! [`TextError`] carries the place, what was expected there in words, and a hint.

pub mod filter;
pub mod layout;
pub mod order;
pub mod pipeline;

use std::fmt;

use crate::action::{Action, Kind, Slot};
use crate::table::Table;

/// Half-open range of byte offsets in the text that was parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    fn of(span: pest::Span<'_>) -> Span {
        Span { start: span.start(), end: span.end() }
    }
}

/// A mistake in one of the little languages, with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Line of the start, from 1.
    pub line: u32,
    /// Column of the start in characters, from 1.
    pub column: u32,
    /// What would have been accepted there.
    pub expected: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    source_line: String,
}

impl TextError {
    pub(crate) fn new(text: &str, span: Span, message: impl Into<String>) -> TextError {
        let before = &text[..span.start.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let count = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
        TextError {
            message: message.into(),
            span,
            line: count(before.matches('\n').count()),
            column: count(before[line_start..].chars().count()),
            expected: None,
            hint: None,
            source_line: text[line_start..].lines().next().unwrap_or("").to_string(),
        }
    }

    pub(crate) fn expecting(self, expected: impl Into<String>) -> TextError {
        TextError { expected: Some(expected.into()), ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> TextError {
        TextError { hint: Some(hint.into()), ..self }
    }

    /// Words for a grammar's complaint. `phrase` names a rule as a user would, or gives none for rules that need no
    /// mention beside the others.
    fn from_pest<R: pest::RuleType>(
        text: &str,
        error: &pest::error::Error<R>,
        phrase: impl Fn(&R) -> Option<&'static str>,
    ) -> TextError {
        let at = match error.location {
            pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => at,
        };
        let found = text[at..].chars().next();
        let message = match found {
            None => "the text ends too early".to_string(),
            Some('\n') => "the line ends too early".to_string(),
            Some(c) => format!("unexpected '{c}'"),
        };
        let built =
            TextError::new(text, Span::new(at, at + found.map_or(0, char::len_utf8)), message);
        let mut expected: Vec<&str> = match &error.variant {
            pest::error::ErrorVariant::ParsingError { positives, .. } => {
                positives.iter().filter_map(phrase).collect()
            }
            pest::error::ErrorVariant::CustomError { .. } => Vec::new(),
        };
        expected.sort_unstable();
        expected.dedup();
        match expected.split_last() {
            None => built,
            Some((only, [])) => built.expecting(*only),
            Some((last, others)) => built.expecting(format!("{} or {last}", others.join(", "))),
        }
    }

    /// The line the mistake stands in, for renderers that draw their own snippet.
    pub fn source_line(&self) -> &str {
        &self.source_line
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        let indent = self.column as usize - 1;
        let left = self.source_line.chars().count().saturating_sub(indent);
        let width = (self.span.end.saturating_sub(self.span.start)).clamp(1, left.max(1));
        write!(f, "\n  | {}\n  | {:indent$}{:^<width$}", self.source_line, "", "")?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  = hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TextError {}

/// The action written at `span` of `text`, such as `3F1`.
pub(crate) fn action_of(text: &str, span: Span) -> Result<Action, TextError> {
    let word = &text[span.start..span.end];
    let wrong =
        |message: String| TextError::new(text, span, message).expecting("an action such as 3F1");
    let digits = |part: &str| part.bytes().take_while(u8::is_ascii_digit).count();
    let (stage, rest) = word.split_at(digits(word));
    let mut letters = rest.chars();
    let letter = letters.next();
    let mb = letters.as_str();
    let Some(letter) = letter else { return Err(wrong(format!("'{word}' names no action"))) };
    let Some(kind) = Kind::from_letter(letter.to_ascii_uppercase()) else {
        let error = TextError::new(text, span, format!("'{word}': there is no action '{letter}'"));
        return Err(
            error.expecting("F (forward), B (backward), I (input gradient) or W (weight gradient)")
        );
    };
    if digits(mb) != mb.len() {
        return Err(wrong(format!("'{word}' is not an action")));
    }
    if stage.is_empty() {
        return Err(wrong(format!("'{word}' names no stage"))
            .hint(format!("for stage 0 write 0{}{mb}", kind.letter())));
    }
    if mb.is_empty() {
        return Err(wrong(format!("'{word}' names no microbatch"))
            .hint(format!("for microbatch 0 write {stage}{}0", kind.letter())));
    }
    if kind.letter() != letter {
        return Err(TextError::new(text, span, format!("'{word}' is not an action"))
            .hint(format!("did you mean {stage}{}{mb}?", kind.letter())));
    }
    match (stage.parse(), mb.parse()) {
        (Ok(stage), Ok(mb)) if stage <= LARGEST && mb <= LARGEST => {
            Ok(Action::new(stage, kind, mb))
        }
        _ => Err(TextError::new(text, span, format!("'{word}': the number is too large"))
            .expecting(format!("stages and microbatches up to {LARGEST}"))),
    }
}

/// Largest stage or microbatch text may name: a slip of the keyboard must not make a table of 2^32 stages.
pub(crate) const LARGEST: u32 = 9_999;

/// Most stages times microbatches of a table read from text, for the same reason: `9999F9999` is one action, but the
/// tables that prove it incomplete would take gigabytes.
const MOST_CELLS: u64 = 1 << 20;

/// The table of these rows, unless single actions far out make it absurdly large.
pub(crate) fn table_of(text: &str, rows: Vec<Vec<Slot>>) -> Result<Table, TextError> {
    let actions = || rows.iter().flatten().flat_map(Slot::actions);
    let stage = actions().map(|action| action.stage).max().unwrap_or(0);
    let mb = actions().map(|action| action.mb).max().unwrap_or(0);
    if (u64::from(stage) + 1) * (u64::from(mb) + 1) > MOST_CELLS {
        let message = format!("the order names stage {stage} and microbatch {mb}");
        return Err(TextError::new(text, Span::new(0, 0), message)
            .expecting(format!("at most {MOST_CELLS} pairs of a stage and a microbatch")));
    }
    Ok(Table::from_rows(rows))
}
