//! What the compiler says, as values: they outlive the module they speak of, and nothing is printed.

use std::fmt;

use piper_ir::diag::{Position, position, render};
use piper_ir::pass::RegisterError;
use piper_ir::{Context, Diagnostic, Severity, Sources};

/// A further fact of a [`Message`], at a place of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct MessageNote {
    pub place: Option<Position>,
    pub text: String,
}

/// A diagnostic, resolved to files and lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// How serious it is.
    pub severity: Severity,
    /// What it says.
    pub text: String,
    /// Where, if it is about a line of a source.
    pub place: Option<Position>,
    /// Further facts.
    pub notes: Vec<MessageNote>,
    /// What to do about it.
    pub hint: Option<String>,
    /// All of it with the source lines, as the tools print it; ends with a line break.
    pub rendered: String,
}

impl Message {
    /// Resolves a diagnostic of a module.
    pub fn of(ctx: &Context, sources: &Sources, diagnostic: &Diagnostic) -> Self {
        let note = |note: &piper_ir::diag::Note| MessageNote {
            place: position(ctx, sources, note.loc),
            text: note.message.clone(),
        };
        Self {
            severity: diagnostic.severity,
            text: diagnostic.message.clone(),
            place: position(ctx, sources, diagnostic.loc),
            notes: diagnostic.notes.iter().map(note).collect(),
            hint: diagnostic.hint.clone(),
            rendered: format!("{}\n", render(ctx, sources, diagnostic, false)),
        }
    }

    fn without_place(text: String, hint: Option<String>) -> Self {
        let ctx = Context::new([]);
        let mut diagnostic = Diagnostic::new(Severity::Error, ctx.unknown_loc(), text);
        diagnostic.hint = hint;
        Self::of(&ctx, &Sources::default(), &diagnostic)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered)
    }
}

/// Why there is no result: at least one error, and what else was said before it. Shown as the tools print it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    messages: Vec<Message>,
}

impl Failure {
    /// An error about no line of a source.
    pub fn new(message: impl Into<String>) -> Self {
        Self { messages: vec![Message::without_place(message.into(), None)] }
    }

    /// An error with what to do about it.
    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { messages: vec![Message::without_place(message.into(), Some(hint.into()))] }
    }

    /// The failure that these diagnostics tell, with their source lines.
    pub fn of(ctx: &Context, sources: &Sources, diagnostics: &[Diagnostic]) -> Self {
        Self { messages: diagnostics.iter().map(|d| Message::of(ctx, sources, d)).collect() }
    }

    /// What was said, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.messages.iter().try_for_each(|message| f.write_str(&message.rendered))
    }
}

impl std::error::Error for Failure {}

impl From<RegisterError> for Failure {
    fn from(why: RegisterError) -> Self {
        Self { messages: vec![Message::without_place(why.to_string(), why.hint())] }
    }
}
