//! Diagnostics: what users read. One type for parser, verifier, passes and tools, one renderer.

mod render;
mod reporter;
mod suggest;

pub use render::{Position, position, render};
pub use reporter::Reporter;
pub use suggest::did_you_mean;

use crate::Loc;

/// How serious a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum Severity {
    Error,
    Warning,
    Remark,
    Note,
}

impl Severity {
    /// `error`, `warning`, `remark` or `note`.
    pub fn text(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
            Severity::Note => "note",
        }
    }
}

/// A further fact, at a place of its own.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Note {
    pub loc: Loc,
    pub message: String,
}

/// A message about a place, with notes about others and a hint on what to do.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Diagnostic {
    pub severity: Severity,
    pub loc: Loc,
    pub message: String,
    pub notes: Vec<Note>,
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without notes.
    pub fn new(severity: Severity, loc: Loc, message: impl Into<String>) -> Self {
        Self { severity, loc, message: message.into(), notes: Vec::new(), hint: None }
    }

    /// Adds a fact about another place.
    pub fn note(&mut self, loc: Loc, message: impl Into<String>) -> &mut Self {
        self.notes.push(Note { loc, message: message.into() });
        self
    }

    /// Says what to do about it.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }
}
