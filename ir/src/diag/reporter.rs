//! Collecting diagnostics.

use super::{Diagnostic, Severity};
use crate::{Context, Loc};

/// Collects diagnostics. All of them are kept: one fault never hides another.
#[derive(Debug)]
pub struct Reporter<'c> {
    ctx: &'c Context,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    captures_stacks: bool,
}

impl<'c> Reporter<'c> {
    /// An empty collection.
    pub fn new(ctx: &'c Context) -> Self {
        Self { ctx, diagnostics: Vec::new(), errors: 0, captures_stacks: false }
    }

    /// An empty collection with the same settings, for a thread of its own.
    pub fn fork(&self) -> Self {
        Self { captures_stacks: self.captures_stacks, ..Self::new(self.ctx) }
    }

    /// Whether every diagnostic gets a note with the stack of calls that made it, for whoever looks for its source.
    pub fn capture_stacks(&mut self, captures: bool) {
        self.captures_stacks = captures;
    }

    /// The context that the locations belong to.
    pub fn ctx(&self) -> &'c Context {
        self.ctx
    }

    /// Adds a diagnostic, to be extended by notes and a hint.
    pub fn report(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        self.diagnostics.push(diagnostic);
        if self.captures_stacks {
            let stack = std::backtrace::Backtrace::force_capture();
            let unknown = self.ctx.unknown_loc();
            if let Some(last) = self.diagnostics.last_mut() {
                last.note(unknown, format!("diagnostic emitted with trace:\n{stack}"));
            }
        }
        self.diagnostics.last_mut().expect("just pushed")
    }

    /// Adds an error.
    pub fn error(&mut self, loc: Loc, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Diagnostic::new(Severity::Error, loc, message))
    }

    /// Adds a warning.
    pub fn warning(&mut self, loc: Loc, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Diagnostic::new(Severity::Warning, loc, message))
    }

    /// Adds a remark.
    pub fn remark(&mut self, loc: Loc, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Diagnostic::new(Severity::Remark, loc, message))
    }

    /// What was reported last, to be extended by whoever knows more.
    pub fn last_mut(&mut self) -> Option<&mut Diagnostic> {
        self.diagnostics.last_mut()
    }

    /// How many errors were reported.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// What was reported so far.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Takes what was reported.
    pub fn take(&mut self) -> Vec<Diagnostic> {
        self.errors = 0;
        std::mem::take(&mut self.diagnostics)
    }
}
