//! What can be wrong with a PTX text, said where it stands.

use std::fmt;

/// A place in a PTX text: both count from one, the column in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The line, from one.
    pub line: u32,
    /// The column in bytes, from one.
    pub column: u32,
}

/// A text that is no PTX, or PTX that the interpreter does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SourceError {
    /// Where.
    pub place: Place,
    /// What is wrong, and what was expected.
    pub message: String,
    /// The line of the text.
    pub text: String,
    /// What to do about it, if anything is known.
    pub hint: Option<String>,
}

impl SourceError {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), text: String::new(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with its line of `source`.
    pub(crate) fn with_text(mut self, source: &str) -> Self {
        self.text = line_of(source, self.place.line);
        self
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.place.line, self.place.column, self.message)?;
        if !self.text.is_empty() {
            write!(f, "\n  | {}", self.text.trim())?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// Line number `line` (from one) of `source`, without its end and without a trailing comment.
pub(crate) fn line_of(source: &str, line: u32) -> String {
    let text = source.lines().nth((line as usize).saturating_sub(1)).unwrap_or_default();
    let code = text.split("//").next().unwrap_or_default();
    code.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}
