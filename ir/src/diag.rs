//! Diagnostics: what users read. One type for parser, verifier, passes and tools, one renderer.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::{Context, Loc, Sources};

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

/// Collects diagnostics. All of them are kept: one fault never hides another.
#[derive(Debug)]
pub struct Reporter<'c> {
    ctx: &'c Context,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
}

impl<'c> Reporter<'c> {
    /// An empty collection.
    pub fn new(ctx: &'c Context) -> Self {
        Self { ctx, diagnostics: Vec::new(), errors: 0 }
    }

    /// The context that the locations belong to.
    pub fn ctx(&self) -> &'c Context {
        self.ctx
    }

    /// Adds a diagnostic, to be extended by notes and a hint.
    pub fn report(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        self.diagnostics.push(diagnostic);
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

/// Renders a diagnostic with the source lines it speaks of.
pub fn render(ctx: &Context, sources: &Sources, diagnostic: &Diagnostic, colour: bool) -> String {
    let level = |severity| match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Remark => Level::INFO.with_name("remark"),
        Severity::Note => Level::NOTE,
    };
    let place = |group: Group<'static>, loc: Loc, kind: AnnotationKind| match loc.file_position(ctx)
    {
        None => group,
        Some((file, line, col)) => match sources.get(file).and_then(|f| f.line(line)) {
            None => group.element(
                annotate_snippets::Origin::path(file.to_owned())
                    .line(line as usize)
                    .char_column(col as usize),
            ),
            Some(text) => {
                let span = token_at(text, col as usize - 1);
                group.element(
                    Snippet::source(text.to_owned())
                        .line_start(line as usize)
                        .path(file.to_owned())
                        .annotation(kind.span(span)),
                )
            }
        },
    };
    let title = Group::with_title(
        level(diagnostic.severity).primary_title(escape_control(&diagnostic.message)),
    );
    let mut groups = vec![place(title, diagnostic.loc, AnnotationKind::Primary)];
    for note in &diagnostic.notes {
        let title = Group::with_title(Level::NOTE.secondary_title(escape_control(&note.message)));
        groups.push(place(title, note.loc, AnnotationKind::Primary));
    }
    if let Some(hint) = &diagnostic.hint {
        groups.push(Group::with_title(Level::HELP.secondary_title(escape_control(hint))));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&groups)
}

/// Text from a file is quoted in messages; it must not reach the terminal as control sequences.
fn escape_control(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() && c != '\n' {
                c.escape_default().collect::<Vec<_>>()
            } else {
                vec![c]
            }
        })
        .collect()
}

/// The extent of the word that begins at a byte of a line, at least one character.
fn token_at(line: &str, start: usize) -> Range<usize> {
    let mut start = start.min(line.len());
    while !line.is_char_boundary(start) {
        start -= 1;
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    let rest = &line[start..];
    let mut chars = rest.chars();
    let len = match chars.next() {
        None => 0,
        Some('"') => rest[1..].find('"').map_or(rest.len(), |i| i + 2),
        Some(c) if is_word(c) || "%@#!^".contains(c) => {
            c.len_utf8() + chars.take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>()
        }
        Some(c) => c.len_utf8(),
    };
    start..start + len
}

/// The candidate closest to a misspelt word, if one is close enough to be meant.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (edit_distance(word, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// Levenshtein distance with adjacent transpositions counted as one.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn close_words_are_suggested_and_distant_ones_are_not() {
        assert_eq!(did_you_mean("dualpiep", ["pipeline", "dualpipe"]), Some("dualpipe"));
        assert_eq!(did_you_mean("xyz", ["pipeline", "dualpipe"]), None);
    }
}
