//! Showing a diagnostic with the source lines it speaks of.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Note, Severity};
use crate::{Context, Loc, LocData, Sources};

/// Calls shown for one diagnostic; deeper ones are not what a reader looks for.
const MOST_CALLS: usize = 10;

/// Lines of more bytes are not quoted: nobody reads them, and they would be quoted anew with each error.
const LONGEST_LINE: usize = 1000;

/// A byte order mark may begin a file; editors show nothing there and count no column.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A place in a file, as people and editors count: from 1, columns in characters. A tab is one character, and so is
/// whatever is written with several bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Position {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Where the word that begins there ends, one past its last character. The same as `column` if the source is not known.
    pub end_column: u32,
    /// The line's text without its end, if the source is known and the line is not longer than a screen.
    pub text: Option<String>,
}

/// The first file position inside a location.
pub fn position(ctx: &Context, sources: &Sources, loc: Loc) -> Option<Position> {
    let (file, line, col) = loc.file_position(ctx)?;
    let text = sources.get(file).and_then(|source| source.line(line));
    let (column, end_column) = match text {
        None => (col, col),
        Some(text) => {
            let span = token_at(text, (col as usize).saturating_sub(1));
            let mark = usize::from(line == 1 && text.starts_with(BYTE_ORDER_MARK));
            let count = |end: usize| (text[..end].chars().count() - mark.min(end)) as u32 + 1;
            (count(span.start), count(span.end))
        }
    };
    let text = text.filter(|text| text.len() <= LONGEST_LINE);
    let text = text.map(|text| without_mark(text).to_owned());
    Some(Position { file: file.to_owned(), line, column, end_column, text })
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The calls that led to a location, innermost first.
fn callers(ctx: &Context, loc: Loc, found: &mut Vec<Note>) {
    if found.len() == MOST_CALLS {
        return;
    }
    match loc.data(ctx) {
        LocData::CallSite { callee, caller } => {
            callers(ctx, callee, found);
            if found.len() < MOST_CALLS {
                found.push(Note { loc: caller, message: "called from here".to_owned() });
                callers(ctx, caller, found);
            }
        }
        LocData::Named { child, .. } => callers(ctx, child, found),
        LocData::Fused { locs, .. } => {
            // The part that has a position is the one that is shown.
            if let Some(first) = locs.iter().find(|loc| loc.file_position(ctx).is_some()) {
                callers(ctx, *first, found);
            }
        }
        LocData::Unknown | LocData::File { .. } | LocData::FileRange { .. } => {}
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
                Origin::path(file.to_owned()).line(line as usize).char_column(col as usize),
            ),
            Some(text) if text.len() > LONGEST_LINE => {
                let column = text
                    .get(..col as usize - 1)
                    .map_or(col as usize, |before| without_mark(before).chars().count() + 1);
                group.element(Origin::path(file.to_owned()).line(line as usize).char_column(column))
            }
            Some(text) => {
                let shown = without_mark(text);
                let mark = text.len() - shown.len();
                let span = token_at(shown, (col as usize).saturating_sub(1 + mark));
                group.element(
                    Snippet::source(shown.to_owned())
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
    let mut calls = Vec::new();
    callers(ctx, diagnostic.loc, &mut calls);
    for note in calls.iter().chain(&diagnostic.notes) {
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

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
