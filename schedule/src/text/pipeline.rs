//! Pass pipelines in MLIR's syntax.
//!
//! `builtin.module(func.func(canonicalize{max-iterations=3 top-down=true}),cse)`: a list of elements, each a pass with
//! options or an operation name with the pipeline that runs on such operations. Option values may be quoted with `'` or
//! `"`, or be groups in braces, which nest. What the names mean is for the pass manager to say; the spans let it say
//! where.

use std::fmt;

use pest::Parser as _;
use pest::iterators::Pair;

use super::{Span, TextError};

#[allow(missing_docs)]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "text/pipeline.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

/// A list of elements, run one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// The elements, in running order.
    pub elements: Vec<Element>,
}

/// A pass, or a pipeline nested in an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Name of the pass, or of the operation.
    pub name: String,
    /// Where the name stands.
    pub name_span: Span,
    /// Where the whole element stands, options or nested pipeline included.
    pub span: Span,
    /// Which of the two it is.
    pub body: Body,
}

/// What follows an element's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing, or options in braces: a pass.
    Pass(Vec<PassOption>),
    /// A list in parentheses: an operation name.
    Nested(Pipeline),
}

/// `key=value` of a pass; a key alone has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassOption {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value without its quotes or outer braces.
    pub value: Option<String>,
    /// Where the value stands, with its quotes; the key's place where there is no value.
    pub value_span: Span,
    quote: Quote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    Plain,
    Single,
    Double,
    Braces,
}

/// Deeper pipelines and option values are refused before the grammar, which recurses, sees them.
const DEEPEST: usize = 128;

impl Pipeline {
    /// Reads a pipeline.
    ///
    /// # Errors
    /// The first mistake, pointing into the text.
    pub fn parse(text: &str) -> Result<Pipeline, TextError> {
        too_deep(text)?;
        let mut parsed =
            Grammar::parse(Rule::pipeline, text).map_err(|error| structure_error(text, &error))?;
        let list = parsed
            .next()
            .into_iter()
            .flat_map(Pair::into_inner)
            .find(|part| part.as_rule() == Rule::list);
        list.map_or(Ok(Pipeline::default()), |list| pipeline(text, list))
    }
}

fn too_deep(text: &str) -> Result<(), TextError> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            let message = format!("the pipeline nests deeper than {DEEPEST} levels");
            return Err(TextError::new(text, Span::new(at, at + 1), message));
        }
    }
    Ok(())
}

fn pipeline(text: &str, list: Pair<'_, Rule>) -> Result<Pipeline, TextError> {
    let elements = list.into_inner().filter(|part| part.as_rule() == Rule::element);
    Ok(Pipeline { elements: elements.map(|part| element(text, part)).collect::<Result<_, _>>()? })
}

fn element(text: &str, parsed: Pair<'_, Rule>) -> Result<Element, TextError> {
    let span = Span::of(parsed.as_span());
    let mut read =
        Element { name: String::new(), name_span: span, span, body: Body::Pass(Vec::new()) };
    for part in parsed.into_inner() {
        match part.as_rule() {
            Rule::name => {
                read.name_span = Span::of(part.as_span());
                read.name = part.as_str().to_string();
            }
            Rule::nested => {
                let list = part.into_inner().find(|part| part.as_rule() == Rule::list);
                read.body = Body::Nested(
                    list.map_or(Ok(Pipeline::default()), |list| pipeline(text, list))?,
                );
            }
            _ => read.body = Body::Pass(options(text, part)?),
        }
    }
    read.span.end = text[..read.span.end].trim_end().len();
    Ok(read)
}

fn options(text: &str, parsed: Pair<'_, Rule>) -> Result<Vec<PassOption>, TextError> {
    let mut options: Vec<PassOption> = Vec::new();
    for part in parsed.into_inner().filter(|part| part.as_rule() == Rule::option) {
        let read = option(part);
        joined_options(text, &read)?;
        // One that stands twice is a list given in pieces, or a slip: that is for whoever knows the pass to say.
        options.push(read);
    }
    Ok(options)
}

/// `{a=1,b=2}` would make `1,b=2` the value of `a`; who means that can quote it.
fn joined_options(text: &str, option: &PassOption) -> Result<(), TextError> {
    let value = option.value.as_deref().unwrap_or_default();
    let Some(comma) =
        value.find(',').filter(|_| option.quote == Quote::Plain && value.contains('='))
    else {
        return Ok(());
    };
    let at = option.value_span.start + comma;
    let error = TextError::new(
        text,
        Span::new(at, at + 1),
        "an option's value ends at a space, not at ','",
    );
    Err(error.hint("separate options by spaces, as in {a=1 b=2}, or quote the value: {a='1,b=2'}"))
}

fn option(parsed: Pair<'_, Rule>) -> PassOption {
    let span = Span::of(parsed.as_span());
    let mut read = PassOption {
        key: String::new(),
        key_span: span,
        value: None,
        value_span: span,
        quote: Quote::Plain,
    };
    for part in parsed.into_inner() {
        match part.as_rule() {
            Rule::key => {
                read.key_span = Span::of(part.as_span());
                read.key = part.as_str().to_string();
            }
            Rule::value => {
                read.value_span = Span::of(part.as_span());
                let written = part.as_str();
                read.quote = match written.chars().next() {
                    Some('\'') => Quote::Single,
                    Some('"') => Quote::Double,
                    Some('{') => Quote::Braces,
                    _ => Quote::Plain,
                };
                let value = if read.quote == Quote::Plain {
                    written
                } else {
                    &written[1..written.len() - 1]
                };
                read.value = Some(value.to_string());
            }
            _ => {}
        }
    }
    read
}

fn structure_error(text: &str, error: &pest::error::Error<Rule>) -> TextError {
    let phrase = |rule: &Rule| match rule {
        Rule::open | Rule::nested => Some("'('"),
        Rule::close => Some("')'"),
        Rule::comma => Some("','"),
        Rule::name | Rule::element | Rule::list | Rule::pipeline => {
            Some("a pass or operation name")
        }
        Rule::brace | Rule::options => Some("'{'"),
        Rule::end => Some("'}'"),
        Rule::equals => Some("'='"),
        Rule::option | Rule::key => Some("an option such as max-iterations=3"),
        Rule::value | Rule::single | Rule::double | Rule::group | Rule::plain => Some("a value"),
        Rule::EOI => Some("the end of the pipeline"),
        _ => None,
    };
    let built = TextError::from_pest(text, error, phrase);
    let at = built.span.start;
    let before = text[..at].trim_end();
    let unclosed =
        |open: char, close: char| before.matches(open).count() > before.matches(close).count();
    match text[at..].chars().next() {
        Some(')') if before.ends_with(',') => built.hint("remove the ',' before ')'"),
        Some(')') => built.hint("no '(' is open here"),
        Some('}') if before.ends_with('=') => {
            built.hint("leave '=' out where an option has no value")
        }
        Some('}') => built.hint("no '{' is open here"),
        Some('{') if before.ends_with(')') => {
            built.hint("options belong to passes, not to nested pipelines")
        }
        Some('(') if before.ends_with('}') => {
            built.hint("an operation with a nested pipeline takes no options")
        }
        Some(',') if before.is_empty() || before.ends_with([',', '(']) => {
            built.hint("a pass is missing before ','")
        }
        Some(',') if unclosed('{', '}') => {
            built.hint("options are separated by spaces, as in {a=1 b=2}")
        }
        Some('\'' | '"') => built.hint("this quote is not closed"),
        None if before.is_empty() => built,
        None if unclosed('{', '}') => built.hint("a '{' is not closed"),
        None if unclosed('(', ')') => built.hint("a '(' is not closed"),
        None if before.ends_with(',') => built.hint("remove the last ','"),
        Some(c) if c.is_alphanumeric() && !before.is_empty() => {
            built.hint("passes are separated by ','")
        }
        _ => built,
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, element) in self.elements.iter().enumerate() {
            write!(f, "{}{element}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.body {
            Body::Nested(pipeline) => write!(f, "({pipeline})"),
            Body::Pass(options) if options.is_empty() => Ok(()),
            Body::Pass(options) => {
                for (at, option) in options.iter().enumerate() {
                    write!(f, "{}{option}", if at == 0 { "{" } else { " " })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl fmt::Display for PassOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(value) = &self.value else { return f.write_str(&self.key) };
        match self.quote {
            Quote::Plain => write!(f, "{}={value}", self.key),
            Quote::Single => write!(f, "{}='{value}'", self.key),
            Quote::Double => write!(f, "{}=\"{value}\"", self.key),
            Quote::Braces => write!(f, "{}={{{value}}}", self.key),
        }
    }
}
