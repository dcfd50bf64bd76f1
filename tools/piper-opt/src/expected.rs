//! `--verify-diagnostics`: comments in the input say which diagnostics must come, and on which line.
//!
//! `expected-error`, `-warning`, `-remark` and `-note`, then optionally `-re` for messages with `{{regular expressions}}`,
//! then optionally `@+n`, `@-n`, `@above`, `@below` or `@unknown` instead of the comment's own line, then the message
//! between `{{` and `}}`: a part of the real one is enough. What comes unexpected is a fault as much as what does not come.

use piper_ir::{Context, Diagnostic, Loc, Severity};
use regex::Regex;

/// Where a diagnostic is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Line(u32),
    Unknown,
    /// In another file: nothing there can be expected.
    Elsewhere,
}

#[derive(Debug)]
enum Message {
    Part(String),
    Regex(Regex),
}

/// One expectation.
#[derive(Debug)]
struct Expected {
    severity: Severity,
    place: Place,
    message: Message,
    /// As written, for the report.
    text: String,
    /// The comment's own line.
    line: u32,
    met: bool,
}

/// A fault: the line it is about, if any, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: Option<u32>,
    pub(crate) message: String,
    /// How to mend it.
    pub(crate) hint: Option<String>,
    /// Whether it is a diagnostic that nobody expected, rather than an expectation that was not met or is malformed.
    pub(crate) is_surplus: bool,
}

/// Compares diagnostics with the comments of `text`, the text of the file called `file`.
pub(crate) fn compare(
    ctx: &Context,
    file: &str,
    text: &str,
    diagnostics: &[Diagnostic],
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut expected = read(text, &mut faults);
    let mut surplus: Vec<(Severity, Place, &str)> = Vec::new();
    for diagnostic in diagnostics {
        let notes = diagnostic.notes.iter().map(|note| (Severity::Note, note.loc, &*note.message));
        let whole = std::iter::once((diagnostic.severity, diagnostic.loc, &*diagnostic.message));
        for (severity, loc, message) in whole.chain(notes) {
            let place = place_of(ctx, file, loc);
            let matching = expected.iter_mut().find(|e| {
                !e.met && e.severity == severity && e.place == place && e.message.accepts(message)
            });
            match matching {
                Some(expected) => expected.met = true,
                None => surplus.push((severity, place, message)),
            }
        }
    }
    for expected in expected.iter().filter(|e| !e.met) {
        let what = expected.severity.text();
        let message = match expected.place {
            Place::Line(line) if line != expected.line => {
                format!("expected {what} '{}' did not come on line {line}", expected.text)
            }
            _ => format!("expected {what} '{}' did not come", expected.text),
        };
        // What came instead is usually the same on another line or of another kind.
        let near = surplus.iter().find(|(_, _, message)| expected.message.accepts(message));
        let hint = near.map(|(severity, place, _)| match place {
            Place::Line(line) => format!("it came as {} on line {line}", severity.text()),
            Place::Unknown => format!("it came as {} @unknown", severity.text()),
            Place::Elsewhere => format!("it came as {} in another file", severity.text()),
        });
        faults.push(Fault { line: Some(expected.line), message, hint, is_surplus: false });
    }
    faults.extend(surplus.into_iter().map(|(severity, place, message)| Fault {
        line: if let Place::Line(line) = place { Some(line) } else { None },
        message: format!("unexpected {}: {message}", severity.text()),
        hint: None,
        is_surplus: true,
    }));
    faults.sort_by_key(|fault| fault.line);
    faults
}

fn place_of(ctx: &Context, file: &str, loc: Loc) -> Place {
    match loc.file_position(ctx) {
        Some((name, line, _)) if name == file => Place::Line(line),
        Some(_) => Place::Elsewhere,
        None => Place::Unknown,
    }
}

impl Message {
    fn accepts(&self, message: &str) -> bool {
        match self {
            Self::Part(part) => message.contains(&**part),
            Self::Regex(regex) => regex.is_match(message),
        }
    }
}

/// The expectations of a text; a malformed one is a fault.
fn read(text: &str, faults: &mut Vec<Fault>) -> Vec<Expected> {
    let mut expected = Vec::new();
    // `@below` looks for the next line without an expectation, `@above` for the previous one.
    let mut above = 0;
    let mut waiting_below: Vec<usize> = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        let mut any = false;
        let comment = line.find("//").map_or("", |at| &line[at..]);
        let mut rest = comment;
        while let Some(at) = rest.find("expected-") {
            rest = &rest[at + "expected-".len()..];
            let end = rest.find("expected-").unwrap_or(rest.len());
            let Some(parsed) = directive(&rest[..end], number, above) else { continue };
            any = true;
            match parsed {
                Ok((one, below)) => {
                    if below {
                        waiting_below.push(expected.len());
                    }
                    expected.push(one);
                }
                Err(message) => faults.push(Fault {
                    line: Some(number),
                    message,
                    hint: None,
                    is_surplus: false,
                }),
            }
            rest = &rest[end..];
        }
        if !any {
            above = number;
            for at in waiting_below.drain(..) {
                expected[at].place = Place::Line(number);
            }
        }
    }
    expected
}

/// One expectation, what stands after `expected-`; `None` if it is other text.
fn directive(text: &str, line: u32, above: u32) -> Option<Result<(Expected, bool), String>> {
    let kinds = [
        ("error", Severity::Error),
        ("warning", Severity::Warning),
        ("remark", Severity::Remark),
        ("note", Severity::Note),
    ];
    let (rest, severity) =
        kinds.iter().find_map(|(name, s)| Some((text.strip_prefix(name)?, *s)))?;
    let (is_regex, rest) = match rest.strip_prefix("-re") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let rest = rest.trim_start();
    let open = rest.find("{{")?;
    let close = rest.rfind("}}").filter(|close| *close >= open + 2)?;
    let (place, message) = (rest[..open].trim(), &rest[open + 2..close]);
    Some((|| {
        let mut below = false;
        let place = match place.strip_prefix('@') {
            None if place.is_empty() => Place::Line(line),
            Some("unknown") => Place::Unknown,
            Some("above") => Place::Line(above),
            Some("below") => {
                below = true;
                Place::Line(line + 1)
            }
            Some(offset) if offset.starts_with(['+', '-']) => {
                let offset: i64 = offset.parse().map_err(|_| bad_place(place))?;
                let line = u32::try_from(i64::from(line) + offset).map_err(|_| bad_place(place))?;
                Place::Line(line)
            }
            _ => return Err(bad_place(place)),
        };
        let matcher = if is_regex {
            Message::Regex(regex_of(message)?)
        } else {
            Message::Part(message.to_owned())
        };
        let text = message.to_owned();
        Ok((Expected { severity, place, message: matcher, text, line, met: false }, below))
    })())
}

fn bad_place(place: &str) -> String {
    format!("'{place}' is no place for an expected diagnostic: @+n, @-n, @above, @below, @unknown")
}

/// Text as it is, except between `{{` and `}}`.
fn regex_of(message: &str) -> Result<Regex, String> {
    let (mut pattern, mut rest) = (String::new(), message);
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) = after
            .split_once("}}")
            .ok_or("a '{{' in an expected message is not closed".to_owned())?;
        pattern.push_str(&regex::escape(before));
        pattern.push_str(&format!("(?:{inside})"));
        rest = after;
    }
    pattern.push_str(&regex::escape(rest));
    Regex::new(&pattern).map_err(|error| format!("an expected message is malformed: {error}"))
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;
