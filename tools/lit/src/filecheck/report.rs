//! Failure texts: each quotes the directive and the input, both as `file:line:column`.

use std::fmt::Write as _;

use super::Source;
use super::directive::{Fault, Kind, Place};
use super::matcher::{Mismatch, Reason};

/// Longest input line and farthest line that the search for a likely intended match looks at.
const SIMILAR_LINES: usize = 400;
const SIMILAR_LENGTH: usize = 200;

/// Input lines shown before and after the place where the search began.
const CONTEXT_BEFORE: usize = 2;
const CONTEXT_AFTER: usize = 14;

pub(crate) fn fault(check_file: Source<'_>, fault: &Fault) -> String {
    match fault.place {
        Some(place) => located(check_file, place, "error", &fault.message),
        None => format!("error: {}\n", fault.message),
    }
}

pub(crate) fn mismatches(
    check_file: Source<'_>,
    input: Source<'_>,
    failures: &[Mismatch<'_>],
) -> String {
    let mut out = String::new();
    for failure in failures {
        out.push_str(&mismatch(check_file, input, failure));
    }
    if let Some(first) = failures.first() {
        out.push_str(&context(input, first.searched.0));
    }
    out
}

fn mismatch(check_file: Source<'_>, input: Source<'_>, failure: &Mismatch<'_>) -> String {
    let directive = failure.directive;
    let name = match directive.kind {
        Kind::Plain(n) if n > 1 => {
            directive.name.rsplit_once('-').map_or(directive.name.as_str(), |(head, _)| head)
        }
        _ => &directive.name,
    };
    let head = |message: &str| {
        let text = format!("{name}: {message}");
        if directive.place.line == 0 {
            format!("command line: error: {text}\n")
        } else {
            located(check_file, directive.place, "error", &text)
        }
    };
    let note = |offset: usize, message: &str| {
        located(input, place_of(input.text, offset), "note", message)
    };
    let mut out = match &failure.reason {
        Reason::NotFound { matched_before } => {
            let progress = match directive.kind {
                Kind::Plain(n) if n > 1 => format!(" ({matched_before} out of {n})"),
                _ => String::new(),
            };
            head(&format!("expected string not found in input{progress}"))
                + &note(failure.searched.0, "scanning from here")
        }
        Reason::Misplaced { message, found, previous_end } => {
            let what = match directive.kind {
                Kind::Same => "same",
                Kind::Empty => "empty",
                _ => "next",
            };
            head(message)
                + &note(found.start, &format!("'{what}' match was here"))
                + &note(*previous_end, "previous match ended here")
        }
        Reason::Excluded(found) => {
            head("excluded string found in input") + &note(found.start, "found here")
        }
        Reason::Broken(message) => head(message) + &note(failure.searched.0, "scanning from here"),
    };
    for name in directive.pattern.used_variables() {
        let value = failure
            .variables
            .strings
            .get(name)
            .cloned()
            .or_else(|| failure.variables.numbers.get(name).map(|(n, _)| n.to_string()));
        let _ = match value {
            Some(value) => writeln!(out, "  note: with \"{name}\" equal to \"{value}\""),
            None => writeln!(out, "  note: \"{name}\" is not defined at this point"),
        };
    }
    if matches!(failure.reason, Reason::NotFound { .. })
        && let Some(offset) = similar_line(check_file, directive.place, input, failure.searched)
    {
        out.push_str(&note(offset, "possible intended match here"));
    }
    out
}

fn located(source: Source<'_>, place: Place, severity: &str, message: &str) -> String {
    let line = source.text.lines().nth(place.line.saturating_sub(1)).unwrap_or("");
    // Tabs stay tabs in the margin, so that the caret stands under its column.
    let margin: String =
        line.chars().take(place.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!(
        "{}:{}:{}: {severity}: {message}\n{line}\n{margin}^\n",
        source.name, place.line, place.column
    )
}

fn place_of(text: &str, offset: usize) -> Place {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// The input around the place where the first failed search began.
fn context(input: Source<'_>, offset: usize) -> String {
    let line = place_of(input.text, offset).line;
    let first = line.saturating_sub(CONTEXT_BEFORE).max(1);
    let mut out = String::from("input was:\n");
    for (index, text) in
        input.text.lines().enumerate().skip(first - 1).take(CONTEXT_BEFORE + CONTEXT_AFTER)
    {
        let number = index + 1;
        let mark = if number == line { '>' } else { ' ' };
        let _ = writeln!(out, "{mark}{number:>5}: {text}");
    }
    out
}

/// The line of the searched input nearest to the directive's text, if any is near at all.
fn similar_line(
    check_file: Source<'_>,
    place: Place,
    input: Source<'_>,
    (start, end): (usize, usize),
) -> Option<usize> {
    let line = check_file.text.lines().nth(place.line.checked_sub(1)?)?;
    let wanted: Vec<char> =
        line.get(place.column - 1..)?.trim().chars().take(SIMILAR_LENGTH).collect();
    let mut best: Option<(usize, usize)> = None;
    let mut offset = start;
    for text in input.text[start..end].split_inclusive('\n').take(SIMILAR_LINES) {
        let trimmed = text.trim();
        let candidate: Vec<char> = trimmed.chars().take(SIMILAR_LENGTH).collect();
        if !candidate.is_empty() {
            let distance = edit_distance(&wanted, &candidate);
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, offset + (text.len() - text.trim_start().len())));
            }
        }
        offset += text.len();
    }
    best.filter(|(distance, _)| distance * 3 <= wanted.len() * 2).map(|(_, offset)| offset)
}

/// Levenshtein distance, one row at a time.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
