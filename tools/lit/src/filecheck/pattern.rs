//! One directive's pattern: parsed once, matched against what is left of the input.

use std::collections::HashMap;

use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::ere;
use super::numeric::{self, Expr, Format, Numbers};

/// String and numeric variables as matching goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    pub(crate) strings: HashMap<String, String>,
    pub(crate) numbers: Numbers,
}

impl Variables {
    /// Forgets the variables local to a `CHECK-LABEL` block, which are those without `$`.
    pub(crate) fn clear_local(&mut self) {
        self.strings.retain(|name, _| name.starts_with('$'));
        self.numbers.retain(|name, _| name.starts_with('$'));
    }
}

/// Which of FileCheck's matching modes apply to a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    pub(crate) full_lines: bool,
    pub(crate) strict_whitespace: bool,
    pub(crate) ignore_case: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(String),
    /// `[[@LINE+n]]`, already a number; a variable all the same where variables are forbidden.
    Line(i128),
    Regex(String),
    UseString(String),
    DefineString {
        name: String,
        regex: String,
    },
    SameLine(usize),
    Number {
        define: Option<String>,
        expr: Option<Expr>,
        format: Format,
    },
}

/// A pattern of one directive.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    body: Body,
    mode: Mode,
}

#[derive(Clone, Debug)]
enum Body {
    Pieces(Vec<Piece>),
    EmptyLine,
    EndOfFile,
}

/// A match: byte offsets relative to the text searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What parsing a pattern knows of the patterns before it.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    formats: HashMap<String, Format>,
    strings: Vec<String>,
}

impl Scope {
    pub(crate) fn define_number(&mut self, name: &str, format: Format) {
        self.formats.insert(name.into(), format);
    }

    pub(crate) fn define_string(&mut self, name: &str) {
        self.strings.push(name.into());
    }
}

impl Pattern {
    pub(crate) fn empty_line() -> Self {
        Self { body: Body::EmptyLine, mode: Mode::default() }
    }

    pub(crate) fn end_of_file() -> Self {
        Self { body: Body::EndOfFile, mode: Mode::default() }
    }

    /// A pattern that means exactly `text` (`CHECK{LITERAL}:`).
    pub(crate) fn literal(text: &str, mode: Mode) -> Self {
        Self { body: Body::Pieces(vec![Piece::Literal(text.into())]), mode }
    }

    /// Parses the text after `CHECK:`; `line` is what `@LINE` means.
    ///
    /// # Errors
    /// A byte offset into `text` and a message.
    pub(crate) fn parse(
        text: &str,
        line: usize,
        mode: Mode,
        scope: &mut Scope,
    ) -> Result<Self, (usize, String)> {
        let mut pieces = Vec::new();
        let mut captures: Vec<String> = Vec::new();
        let mut own_numbers: Vec<(String, Format)> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if let Some(inner) = rest.strip_prefix("{{") {
                let end = inner
                    .find("}}")
                    .ok_or((at, "found start of regex string with no end '}}'".to_string()))?;
                let regex = ere::translate(&inner[..end])
                    .map_err(|e| (at + 2, format!("invalid regex: {e}")))?;
                pieces.push(Piece::Regex(regex));
                at += 2 + end + 2;
            } else if let Some(inner) = rest.strip_prefix("[[") {
                let end = block_end(inner).map_err(|e| (at, e))?;
                let block = &inner[..end];
                let piece = if let Some(number) = block.strip_prefix('#') {
                    numeric_piece(number, line, scope, &mut own_numbers).map_err(|e| (at + 3, e))?
                } else {
                    string_piece(block, line, scope, &mut captures).map_err(|e| (at + 2, e))?
                };
                if let Piece::DefineString { name, .. } = &piece {
                    captures.push(name.clone());
                }
                if let Piece::Number { define: Some(name), format, .. } = &piece {
                    own_numbers.push((name.clone(), *format));
                    captures.push(format!("#{name}"));
                }
                pieces.push(piece);
                at += 2 + end + 2;
            } else {
                let end = [rest.find("{{"), rest.find("[[")]
                    .into_iter()
                    .flatten()
                    .min()
                    .unwrap_or(rest.len());
                pieces.push(Piece::Literal(rest[..end].into()));
                at += end;
            }
        }
        for piece in &pieces {
            if let Piece::DefineString { name, .. } = piece {
                scope.define_string(name);
            }
        }
        for (name, format) in own_numbers {
            scope.define_number(&name, format);
        }
        Ok(Self { body: Body::Pieces(pieces), mode })
    }

    /// Whether the pattern has a variable in the sense that `-LABEL` may not: LLVM lets a plain number (`[[#N:]]`) pass.
    pub(crate) fn has_variables(&self) -> bool {
        let is_free = |piece: &Piece| {
            matches!(piece, Piece::Literal(_) | Piece::Regex(_) | Piece::Number { expr: None, .. })
        };
        matches!(&self.body, Body::Pieces(pieces) if !pieces.iter().all(is_free))
    }

    /// The names a failure report should give the values of.
    pub(crate) fn used_variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        if let Body::Pieces(pieces) = &self.body {
            for piece in pieces {
                match piece {
                    Piece::UseString(name) => names.push(name.as_str()),
                    Piece::Number { expr: Some(expr), .. } => expr.variables(&mut names),
                    _ => {}
                }
            }
        }
        names
    }

    /// The leftmost, longest match in `text`; variables the pattern defines are set.
    ///
    /// # Errors
    /// A message when a variable is undefined or the expression cannot be compiled.
    pub(crate) fn find(
        &self,
        text: &str,
        variables: &mut Variables,
    ) -> Result<Option<Found>, String> {
        let pieces = match &self.body {
            Body::EndOfFile => return Ok(Some(Found { start: text.len(), end: text.len() })),
            Body::EmptyLine => {
                // The newline before the empty line belongs to the line before it; the match begins after it.
                let bytes = text.as_bytes();
                let at = (0..bytes.len()).find(|&i| {
                    bytes[i] == b'\n' && (i + 1 == bytes.len() || bytes[i + 1] == b'\n')
                });
                return Ok(at.map(|i| Found { start: i + 1, end: i + 1 }));
            }
            Body::Pieces(pieces) => pieces,
        };
        if let [Piece::Literal(literal)] = pieces.as_slice()
            && !self.mode.full_lines
            && !self.mode.ignore_case
        {
            return Ok(text
                .find(literal.as_str())
                .map(|start| Found { start, end: start + literal.len() }));
        }
        let (source, captures, has_same_line) = self.regex_source(pieces, variables)?;
        let spans = if has_same_line {
            find_with_backtracking(&source, text, captures.len())?
        } else {
            find_longest(&source, text, captures.len())?
        };
        let Some((found, groups)) = spans else { return Ok(None) };
        for ((name, format), group) in captures.into_iter().zip(groups) {
            let value = &text[group.start..group.end];
            match format {
                None => {
                    variables.strings.insert(name, value.into());
                }
                Some(format) => {
                    let number = format.read(value).ok_or("unable to represent numeric value")?;
                    variables.numbers.insert(name, (number, format));
                }
            }
        }
        Ok(Some(found))
    }

    /// The whole pattern as one `regex`-syntax expression, with the variables its groups define in order.
    #[allow(clippy::type_complexity)]
    fn regex_source(
        &self,
        pieces: &[Piece],
        variables: &Variables,
    ) -> Result<(String, Vec<(String, Option<Format>)>, bool), String> {
        let mut source = String::from(if self.mode.ignore_case { "(?mi)" } else { "(?m)" });
        let mut captures = Vec::new();
        let mut has_same_line = false;
        if self.mode.full_lines {
            source.push_str(if self.mode.strict_whitespace { "^" } else { "^ *" });
        }
        for piece in pieces {
            match piece {
                Piece::Literal(text) => source.push_str(&regex::escape(text)),
                Piece::Line(line) => source.push_str(&regex::escape(&line.to_string())),
                Piece::Regex(regex) => source.push_str(&format!("(?:{regex})")),
                Piece::UseString(name) => {
                    let value = variables
                        .strings
                        .get(name)
                        .ok_or_else(|| format!("undefined variable: {name}"))?;
                    source.push_str(&regex::escape(value));
                }
                Piece::DefineString { name, regex } => {
                    source.push_str(&format!("({regex})"));
                    captures.push((name.clone(), None));
                }
                Piece::SameLine(group) => {
                    // Parenthesised, so that a digit after it does not lengthen the group's number.
                    source.push_str(&format!("(?:\\{group})"));
                    has_same_line = true;
                }
                Piece::Number { define, expr, format } => {
                    let regex = match expr {
                        Some(expr) => {
                            let value = expr.value(&variables.numbers)?;
                            let text = format.write(value).ok_or_else(|| {
                                format!("the value {value} has no spelling in the format of the expression")
                            })?;
                            regex::escape(&text)
                        }
                        None => format.regex(),
                    };
                    match define {
                        Some(name) => {
                            source.push_str(&format!("({regex})"));
                            captures.push((name.clone(), Some(*format)));
                        }
                        None => source.push_str(&format!("(?:{regex})")),
                    }
                }
            }
        }
        if self.mode.full_lines {
            source.push_str(if self.mode.strict_whitespace { "$" } else { " *$" });
        }
        Ok((source, captures, has_same_line))
    }
}

type Spans = Option<(Found, Vec<Found>)>;

/// POSIX semantics: `regex` gives the leftmost start, the Pike VM in all-matches mode the longest end from there.
fn find_longest(source: &str, text: &str, groups: usize) -> Result<Spans, String> {
    let finder = regex::Regex::new(source).map_err(|e| format!("invalid regex: {e}"))?;
    let Some(first) = finder.find(text) else { return Ok(None) };
    let vm = PikeVM::builder()
        .configure(PikeVM::config().match_kind(MatchKind::All))
        .syntax(syntax::Config::new())
        .build(source)
        .map_err(|e| format!("invalid regex: {e}"))?;
    let mut cache = vm.create_cache();
    let mut captures = vm.create_captures();
    vm.captures(
        &mut cache,
        Input::new(text).range(first.start()..).anchored(Anchored::Yes),
        &mut captures,
    );
    let whole = captures.get_match().ok_or("the two regex engines disagree")?;
    let found = Found { start: whole.start(), end: whole.end() };
    let spans = (1..=groups)
        .map(|g| {
            captures.get_group(g).map_or(Found { start: found.start, end: found.start }, |s| {
                Found { start: s.start, end: s.end }
            })
        })
        .collect();
    Ok(Some((found, spans)))
}

/// A variable used on the line that defines it is a back-reference, which needs a backtracking engine.
fn find_with_backtracking(source: &str, text: &str, groups: usize) -> Result<Spans, String> {
    let regex = fancy_regex::Regex::new(source).map_err(|e| format!("invalid regex: {e}"))?;
    let Some(captures) = regex.captures(text).map_err(|e| format!("matching gave up: {e}"))? else {
        return Ok(None);
    };
    let span = |g: usize| captures.get(g).map(|m| Found { start: m.start(), end: m.end() });
    let Some(found) = span(0) else { return Ok(None) };
    let nothing = Found { start: found.start, end: found.start };
    Ok(Some((found, (1..=groups).map(|g| span(g).unwrap_or(nothing)).collect())))
}

/// Offset of the `]]` that closes a block, brackets inside it counted.
fn block_end(text: &str) -> Result<usize, String> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0u32);
    while at < bytes.len() {
        match bytes[at] {
            b']' if depth == 0 && bytes.get(at + 1) == Some(&b']') => return Ok(at),
            b'\\' => at += 1,
            b'[' => depth += 1,
            b']' if depth == 0 => return Err("missing closing \"]\" for regex variable".into()),
            b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    Err("invalid substitution block, no ]] found".into())
}

fn string_piece(
    block: &str,
    line: usize,
    scope: &Scope,
    captures: &mut [String],
) -> Result<Piece, String> {
    let (name, regex) = match block.split_once(':') {
        Some((name, regex)) => (name, Some(regex)),
        None => (block, None),
    };
    if name.contains([' ', '\t']) {
        return Err("unexpected whitespace".into());
    }
    if let Some(pseudo) = name.strip_prefix('@') {
        if regex.is_some() || !pseudo.starts_with("LINE") {
            return Err(format!("invalid pseudo numeric variable '{name}'"));
        }
        let offset = &pseudo["LINE".len()..];
        let value = if offset.is_empty() {
            Some(line as i128)
        } else {
            let magnitude =
                offset.get(1..).and_then(|digits| digits.parse::<u32>().ok()).map(i128::from);
            match (offset.as_bytes()[0], magnitude) {
                (b'+', Some(n)) => Some(line as i128 + n),
                (b'-', Some(n)) => Some(line as i128 - n),
                _ => None,
            }
        };
        let value = value.ok_or_else(|| format!("unexpected characters in '{name}'"))?;
        return Ok(Piece::Line(value));
    }
    if !numeric::is_variable_name(name) {
        return Err(if name.is_empty() {
            "empty variable name".into()
        } else {
            format!("invalid variable name '{name}'")
        });
    }
    if let Some(regex) = regex {
        if scope.formats.contains_key(name) {
            return Err(format!("numeric variable with name '{name}' already exists"));
        }
        let regex = ere::translate(regex).map_err(|e| format!("invalid regex: {e}"))?;
        return Ok(Piece::DefineString { name: name.into(), regex });
    }
    // The last definition on this line wins, as a redefinition would.
    match captures.iter().rposition(|c| c == name) {
        Some(group) => Ok(Piece::SameLine(group + 1)),
        None => Ok(Piece::UseString(name.into())),
    }
}

fn numeric_piece(
    text: &str,
    line: usize,
    scope: &Scope,
    own: &mut [(String, Format)],
) -> Result<Piece, String> {
    let block = numeric::parse_block(text, line)?;
    if let Some(name) = &block.defines
        && scope.strings.contains(name)
    {
        return Err(format!("string variable with name '{name}' already exists"));
    }
    let mut implicit = None;
    if let Some(expr) = &block.expr {
        let mut used = Vec::new();
        expr.variables(&mut used);
        if let Some(name) = used.iter().find(|name| own.iter().any(|(own, _)| own == *name)) {
            return Err(format!(
                "numeric variable '{name}' defined earlier in the same CHECK directive"
            ));
        }
        // An explicit format settles a conflict between the variables' own.
        if block.format.is_none() {
            implicit = expr.format(&scope.formats)?;
        }
    }
    let format = block.format.or(implicit).unwrap_or(Format::UNSIGNED);
    Ok(Piece::Number { define: block.defines, expr: block.expr, format })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text, 10, Mode::default(), &mut Scope::default()).expect("pattern parses")
    }

    fn find(text: &str, input: &str) -> Option<(usize, usize)> {
        pattern(text)
            .find(input, &mut Variables::default())
            .expect("no error")
            .map(|f| (f.start, f.end))
    }

    #[test]
    fn alternation_takes_the_longest() {
        assert_eq!(find("{{a|ab|abc}}", "xabcd"), Some((1, 4)));
    }

    #[test]
    fn captures_and_uses_quote_the_value() {
        let mut variables = Variables::default();
        pattern("def [[X:%[a-z.+]+]] =").find("def %a.b+ =", &mut variables).unwrap().unwrap();
        assert_eq!(variables.strings["X"], "%a.b+");
        assert!(pattern("use [[X]]").find("use %aXb+", &mut variables).unwrap().is_none());
        assert!(pattern("use [[X]]").find("use %a.b+", &mut variables).unwrap().is_some());
    }

    #[test]
    fn same_line_use_is_a_back_reference() {
        assert_eq!(find("[[X:[a-z]+]]=[[X]];", "ab=cd; cd=cd;"), Some((7, 13)));
        assert_eq!(find("[[X:[a-z]]]=[[X]]1", "b=b1"), Some((0, 4)));
    }

    #[test]
    fn line_numbers_are_relative_to_the_directive() {
        assert_eq!(find("at [[@LINE+2]]", "at 12"), Some((0, 5)));
        assert_eq!(find("at [[#@LINE-1]]", "at 9"), Some((0, 4)));
    }

    #[test]
    fn undefined_variables_are_errors_not_mismatches() {
        assert!(pattern("[[X]]").find("x", &mut Variables::default()).is_err());
        assert!(pattern("[[#N+1]]").find("1", &mut Variables::default()).is_err());
    }

    #[test]
    fn malformed_patterns_point_at_the_fault() {
        let error =
            |text| Pattern::parse(text, 1, Mode::default(), &mut Scope::default()).unwrap_err();
        assert_eq!(error("ab {{c").0, 3);
        assert_eq!(error("ab [[X").0, 3);
        assert_eq!(error("ab {{*}}").0, 5);
        assert_eq!(error("[[1X:a]]").0, 2);
    }
}
