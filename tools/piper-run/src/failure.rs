//! What ends a run: a message for the user, ready to print.

use piper_ir::diag::render;
use piper_ir::{Context, Diagnostic, Severity, Sources};

/// A rendered message. The run ends with exit status 1, and nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// An error about no line of a source.
    pub fn new(message: impl Into<String>) -> Self {
        Self::rendered(message.into(), None)
    }

    /// An error with what to do about it.
    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::rendered(message.into(), Some(hint.into()))
    }

    fn rendered(message: String, hint: Option<String>) -> Self {
        let ctx = Context::new([]);
        let mut diagnostic = Diagnostic::new(Severity::Error, ctx.unknown_loc(), message);
        diagnostic.hint = hint;
        Self::of(&ctx, &Sources::default(), &[diagnostic])
    }

    /// The failure that these diagnostics tell, with their source lines.
    pub fn of(ctx: &Context, sources: &Sources, diagnostics: &[Diagnostic]) -> Self {
        let lines = diagnostics.iter().map(|d| format!("{}\n", render(ctx, sources, d, false)));
        Self(lines.collect())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
