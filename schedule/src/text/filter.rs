//! Tag filters: which nodes a directive speaks of.
//!
//! `{PP = 1, MB = *, PASS = F}` selects the nodes tagged `PP` 1, tagged `MB` with anything, and tagged `PASS` F; all
//! clauses must hold. `PP = 0|2` allows either value, `MB = 0:4` a number from 0 to 3 (end excluded), `MB = -` asks that the
//! tag be absent, and `{}` selects everything.
//! What a tag's value is, is the caller's affair: matching asks a closure.

use std::fmt;
use std::ops::Range;

use pest::Parser as _;

use super::{Span, TextError};

#[allow(missing_docs)]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "text/filter.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

/// A conjunction of [`Clause`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The clauses, in written order; each tag at most once.
    pub clauses: Vec<Clause>,
}

/// What one tag must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The tag's name.
    pub tag: String,
    /// Where the name stands.
    pub tag_span: Span,
    /// Alternatives, at least one.
    pub values: Vec<(Pattern, Span)>,
}

/// One alternative of a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `*`: tagged, with any value.
    Any,
    /// `-`: not tagged.
    Untagged,
    /// Tagged with this value, compared as text.
    Is(String),
    /// Tagged with a number of this range.
    Within(Range<u32>),
}

impl Pattern {
    /// Reads `0:4`; `None` for anything else.
    pub fn range(text: &str) -> Option<Pattern> {
        let (start, end) = text.split_once(':')?;
        let number = |digits: &str| {
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
        };
        Some(Pattern::Within(number(start)?..number(end)?))
    }
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// The first mistake, with its place; a tag that stands twice is one, as no node has two values of a tag.
    pub fn parse(text: &str) -> Result<Filter, TextError> {
        let mut parsed =
            Grammar::parse(Rule::filter, text).map_err(|error| structure_error(text, &error))?;
        let mut filter = Filter::default();
        for clause in parsed.next().into_iter().flat_map(pest::iterators::Pair::into_inner) {
            if clause.as_rule() != Rule::clause {
                continue;
            }
            let mut read =
                Clause { tag: String::new(), tag_span: Span::default(), values: Vec::new() };
            for part in clause.into_inner() {
                let span = Span::of(part.as_span());
                match part.as_rule() {
                    Rule::tag => (read.tag, read.tag_span) = (part.as_str().to_string(), span),
                    Rule::value => read
                        .values
                        .extend(part.into_inner().next().map(|value| (pattern(&value), span))),
                    _ => {}
                }
            }
            if filter.clauses.iter().any(|earlier| earlier.tag == read.tag) {
                let error = TextError::new(
                    text,
                    read.tag_span,
                    format!("the tag {} stands twice", read.tag),
                );
                return Err(
                    error.hint(format!("for either of two values write {} = 0|1", read.tag))
                );
            }
            if let [_, _, ..] = read.values[..]
                && let Some((_, span)) =
                    read.values.iter().find(|(value, _)| *value == Pattern::Any)
            {
                let error = TextError::new(text, *span, "'*' already includes every value");
                return Err(error
                    .hint("write '*' alone, or leave the clause out if untagged nodes count too"));
            }
            filter.clauses.push(read);
        }
        Ok(filter)
    }

    /// Whether all clauses hold for the node whose tags `lookup` gives.
    pub fn matches<V: AsRef<str>>(&self, lookup: impl Fn(&str) -> Option<V>) -> bool {
        self.clauses.iter().all(|clause| {
            let value = lookup(&clause.tag);
            clause.values.iter().any(|(pattern, _)| match (pattern, &value) {
                (Pattern::Any, value) => value.is_some(),
                (Pattern::Untagged, value) => value.is_none(),
                (Pattern::Is(wanted), Some(value)) => wanted == value.as_ref(),
                (Pattern::Within(range), Some(value)) => {
                    value.as_ref().parse().is_ok_and(|number: u32| range.contains(&number))
                }
                (Pattern::Is(_) | Pattern::Within(_), None) => false,
            })
        })
    }
}

fn pattern(value: &pest::iterators::Pair<'_, Rule>) -> Pattern {
    match value.as_rule() {
        Rule::any => Pattern::Any,
        Rule::untagged => Pattern::Untagged,
        Rule::string => Pattern::Is(value.as_str().trim_matches('"').to_string()),
        // A number beyond u32 selects nothing, as its text.
        Rule::range => Pattern::range(value.as_str())
            .unwrap_or_else(|| Pattern::Is(value.as_str().to_string())),
        _ => Pattern::Is(value.as_str().to_string()),
    }
}

fn structure_error(text: &str, error: &pest::error::Error<Rule>) -> TextError {
    let phrase = |rule: &Rule| match rule {
        Rule::open => Some("'{'"),
        Rule::close => Some("'}'"),
        Rule::comma => Some("','"),
        Rule::bar => Some("'|'"),
        Rule::equals => Some("'='"),
        Rule::clause | Rule::tag => Some("a tag such as PP"),
        Rule::value | Rule::any | Rule::untagged | Rule::word | Rule::range | Rule::string => {
            Some("a value, '*' or '-'")
        }
        Rule::EOI => Some("the end of the filter"),
        _ => None,
    };
    let built = TextError::from_pest(text, error, phrase);
    let next = text[built.span.start..].chars().next();
    match next {
        Some('!') => built.hint("there is no negation of values; '-' means not tagged"),
        Some(':') => built.hint("a tag and its value are joined by '='"),
        Some('[' | '(') => built.hint("alternatives are written PP = 0|2"),
        Some('=')
            if text[built.span.start..].starts_with("==")
                || text[..built.span.start].ends_with('=') =>
        {
            built.hint("a single '=' compares")
        }
        None => built.hint("a filter is written {PP = 1, MB = *}"),
        _ => built,
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Any => f.write_str("*"),
            Pattern::Untagged => f.write_str("-"),
            Pattern::Within(range) => write!(f, "{}:{}", range.start, range.end),
            Pattern::Is(value) => {
                let bare = Grammar::parse(Rule::word, value)
                    .is_ok_and(|mut word| word.next().is_some_and(|word| word.as_str() == value));
                if bare { f.write_str(value) } else { write!(f, "\"{value}\"") }
            }
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, clause) in self.clauses.iter().enumerate() {
            write!(f, "{}{} = ", if at == 0 { "" } else { ", " }, clause.tag)?;
            for (at, (pattern, _)) in clause.values.iter().enumerate() {
                write!(f, "{}{pattern}", if at == 0 { "" } else { "|" })?;
            }
        }
        f.write_str("}")
    }
}
