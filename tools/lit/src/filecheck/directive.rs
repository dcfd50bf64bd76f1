//! Finds the directives of a check file and parses their patterns.

use super::Options;
use super::pattern::{Mode, Pattern, Scope};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Must match this many times in a row: `CHECK:` once, `CHECK-COUNT-n:` n times.
    Plain(u32),
    Next,
    Same,
    Not,
    Dag,
    Label,
    Empty,
    EndOfFile,
}

/// One directive of the check file.
#[derive(Clone, Debug)]
pub(crate) struct Directive {
    pub(crate) kind: Kind,
    pub(crate) pattern: Pattern,
    /// As reports name it: `CHECK-NEXT`.
    pub(crate) name: String,
    pub(crate) place: Place,
}

/// A position in the check file: 1-based line and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A directive that consumes input, with the `-NOT` and `-DAG` directives that stand before it.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) main: Directive,
    pub(crate) before: Vec<Directive>,
}

/// A fault of the check file itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Option<Place>,
    pub(crate) message: String,
}

/// Reads all directives in `text`.
///
/// # Errors
/// The first malformed directive, or that a prefix occurs nowhere.
pub(crate) fn read_checks(
    text: &str,
    options: &Options,
    scope: &mut Scope,
) -> Result<Vec<Check>, Fault> {
    let mode = Mode {
        full_lines: options.match_full_lines,
        strict_whitespace: options.strict_whitespace,
        ignore_case: options.ignore_case,
    };
    let not_mode = Mode { full_lines: false, ..mode };
    let mut implicit = Vec::new();
    for text in &options.implicit_check_not {
        let pattern = Pattern::parse(text, 0, not_mode, scope).map_err(|(_, message)| Fault {
            place: None,
            message: format!("--implicit-check-not: {message}"),
        })?;
        implicit.push(Directive {
            kind: Kind::Not,
            pattern,
            name: "IMPLICIT-CHECK-NOT".into(),
            place: Place { line: 0, column: 0 },
        });
    }
    let mut checks: Vec<Check> = Vec::new();
    let mut before = implicit.clone();
    let mut used = vec![false; options.prefixes.len()];
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        // A comment prefix hides the rest of its line.
        if let Some(Header { prefix: Some(prefix), suffix, literal, body_start }) =
            next_directive(line, options)
        {
            used[prefix] = true;
            let prefix = &options.prefixes[prefix];
            let name = format!("{prefix}{suffix}");
            let skipped = if options.strict_whitespace && options.match_full_lines {
                0
            } else {
                line[body_start..].len() - line[body_start..].trim_start_matches([' ', '\t']).len()
            };
            let start = body_start + skipped;
            let place = Place { line: line_number, column: start + 1 };
            let fault = |message: String| Fault { place: Some(place), message };
            let kind = kind_of(suffix).map_err(|message| fault(format!("{message} '{name}:'")))?;
            let mut body = line[start..].to_string();
            if !(options.strict_whitespace && options.match_full_lines) {
                body.truncate(body.trim_end_matches([' ', '\t', '\r']).len());
            }
            if !options.strict_whitespace {
                body = collapse_whitespace(&body);
            }
            let pattern = if kind == Kind::Empty {
                if !body.is_empty() {
                    return Err(fault(format!(
                        "found non-empty check string for empty check with prefix '{prefix}:'"
                    )));
                }
                Pattern::empty_line()
            } else if body.is_empty() && !(mode.full_lines && mode.strict_whitespace) {
                return Err(fault(format!("found empty check string with prefix '{name}:'")));
            } else {
                let mode = if kind == Kind::Not { not_mode } else { mode };
                if literal {
                    Pattern::literal(&body, mode)
                } else {
                    Pattern::parse(&body, line_number, mode, scope).map_err(
                        |(offset, message)| Fault {
                            place: Some(Place { line: line_number, column: start + offset + 1 }),
                            message,
                        },
                    )?
                }
            };
            if kind == Kind::Label && pattern.has_variables() {
                return Err(fault(format!("found '{name}:' with variable definition or use")));
            }
            if matches!(kind, Kind::Next | Kind::Same | Kind::Empty) && checks.is_empty() {
                return Err(fault(format!("found '{name}' without previous '{prefix}: line")));
            }
            let directive = Directive { kind, pattern, name, place };
            if matches!(kind, Kind::Not | Kind::Dag) {
                before.push(directive);
            } else {
                checks.push(Check {
                    main: directive,
                    before: std::mem::replace(&mut before, implicit.clone()),
                });
            }
        }
    }
    if !options.allow_unused_prefixes {
        let missing: Vec<&str> = options
            .prefixes
            .iter()
            .zip(&used)
            .filter(|(_, used)| !**used)
            .map(|(p, _)| p.as_str())
            .collect();
        let only_implicit = !options.prefixes_given && !options.implicit_check_not.is_empty();
        if !missing.is_empty() && !only_implicit {
            let plural = if missing.len() > 1 { "prefixes" } else { "prefix" };
            let names: Vec<String> = missing.iter().map(|p| format!("'{p}:'")).collect();
            return Err(Fault {
                place: None,
                message: format!("no check strings found with {plural} {}", names.join(", ")),
            });
        }
    } else if checks.is_empty() && before.is_empty() {
        return Err(Fault { place: None, message: "no check strings found".into() });
    }
    if !before.is_empty() {
        let lines = text.lines().count().max(1);
        let place = before.last().map_or(Place { line: lines, column: 1 }, |d| d.place);
        let main = Directive {
            kind: Kind::EndOfFile,
            pattern: Pattern::end_of_file(),
            name: format!("{}-EOF", options.prefixes.first().map_or("CHECK", String::as_str)),
            place,
        };
        checks.push(Check { main, before });
    }
    Ok(checks)
}

struct Header<'a> {
    /// Index of the prefix; `None` for a comment prefix.
    prefix: Option<usize>,
    suffix: &'a str,
    literal: bool,
    body_start: usize,
}

/// The first directive in `line`.
fn next_directive<'a>(line: &'a str, options: &Options) -> Option<Header<'a>> {
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let preceded = line[..at].chars().next_back().is_some_and(is_word);
        if !preceded {
            // The longest prefix first, so that CHECK-A wins over CHECK where both are given.
            let mut candidates: Vec<(Option<usize>, &str)> = options
                .prefixes
                .iter()
                .enumerate()
                .map(|(i, p)| (Some(i), p.as_str()))
                .chain(options.comment_prefixes.iter().map(|p| (None, p.as_str())))
                .filter(|(_, p)| rest.starts_with(p))
                .collect();
            candidates.sort_by_key(|(_, p)| std::cmp::Reverse(p.len()));
            for (prefix, name) in candidates {
                let after = &rest[name.len()..];
                if prefix.is_none() {
                    if after.starts_with(':') {
                        return Some(Header {
                            prefix,
                            suffix: "",
                            literal: false,
                            body_start: line.len(),
                        });
                    }
                    continue;
                }
                if let Some((suffix, literal, length)) = suffix_of(after) {
                    return Some(Header {
                        prefix,
                        suffix,
                        literal,
                        body_start: at + name.len() + length,
                    });
                }
            }
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// `-NEXT`, whether `{LITERAL}` stands there, and the length up to and with the colon.
fn suffix_of(after: &str) -> Option<(&str, bool, usize)> {
    const SUFFIXES: [&str; 15] = [
        "",
        "-NEXT",
        "-SAME",
        "-NOT",
        "-DAG",
        "-LABEL",
        "-EMPTY",
        "-DAG-NOT",
        "-NOT-DAG",
        "-NEXT-NOT",
        "-NOT-NEXT",
        "-SAME-NOT",
        "-NOT-SAME",
        "-EMPTY-NOT",
        "-NOT-EMPTY",
    ];
    let colon = after.find(':')?;
    let head = &after[..colon];
    let (suffix, literal) = match head.find('{') {
        Some(brace) if head[brace..].trim_end().ends_with('}') => {
            let words = head[brace..].trim_end().trim_start_matches('{').trim_end_matches('}');
            if !words.split(',').all(|w| w.trim() == "LITERAL") {
                return None;
            }
            (&head[..brace], true)
        }
        Some(_) => return None,
        None => (head, false),
    };
    let is_count = suffix.strip_prefix("-COUNT").is_some_and(|n| {
        n.is_empty() || n.starts_with('-') && n[1..].chars().all(|c| c.is_ascii_alphanumeric())
    });
    (SUFFIXES.contains(&suffix) || is_count).then_some((suffix, literal, colon + 1))
}

fn kind_of(suffix: &str) -> Result<Kind, String> {
    Ok(match suffix {
        "" => Kind::Plain(1),
        "-NEXT" => Kind::Next,
        "-SAME" => Kind::Same,
        "-NOT" => Kind::Not,
        "-DAG" => Kind::Dag,
        "-LABEL" => Kind::Label,
        "-EMPTY" => Kind::Empty,
        _ => match suffix.strip_prefix("-COUNT-").map(str::parse::<u32>) {
            Some(Ok(n)) if n > 0 => Kind::Plain(n),
            Some(_) => return Err("invalid count in -COUNT specification on prefix".into()),
            None if suffix == "-COUNT" => {
                return Err("invalid count in -COUNT specification on prefix".into());
            }
            None => return Err("unsupported -NOT combo on prefix".into()),
        },
    })
}

/// Runs of spaces and tabs become one space, as FileCheck canonicalises both files.
pub(crate) fn collapse_whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_run = false;
    for c in text.chars() {
        let blank = c == ' ' || c == '\t';
        if !blank {
            out.push(c);
        } else if !in_run {
            out.push(' ');
        }
        in_run = blank;
    }
    out
}
