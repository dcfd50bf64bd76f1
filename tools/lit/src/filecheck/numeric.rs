//! Numeric substitution blocks: `[[#N:]]`, `[[#N+1]]`, `[[#%x,ADDR:]]`, `[[#@LINE+2]]`.

use std::collections::HashMap;

/// How a number is written in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) conversion: Conversion,
    pub(crate) precision: usize,
    pub(crate) prefixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    Unsigned,
    Signed,
    HexLower,
    HexUpper,
}

impl Format {
    pub(crate) const UNSIGNED: Self =
        Self { conversion: Conversion::Unsigned, precision: 0, prefixed: false };

    /// The regular expression (`regex` syntax) of every number written this way.
    pub(crate) fn regex(self) -> String {
        let (first, digit) = match self.conversion {
            Conversion::Unsigned | Conversion::Signed => ("[1-9]", "[0-9]"),
            Conversion::HexUpper => ("[1-9A-F]", "[0-9A-F]"),
            Conversion::HexLower => ("[1-9a-f]", "[0-9a-f]"),
        };
        let sign = if self.conversion == Conversion::Signed { "-?" } else { "" };
        let prefix = if self.prefixed { "0x" } else { "" };
        match self.precision {
            0 => format!("{sign}{prefix}{digit}+"),
            n => format!("{sign}{prefix}(?:{first}{digit}*)?{digit}{{{n}}}"),
        }
    }

    /// `value` as the input must spell it; `None` where the format has no spelling for it.
    pub(crate) fn write(self, value: i128) -> Option<String> {
        let magnitude = value.unsigned_abs();
        let digits = match self.conversion {
            Conversion::Unsigned | Conversion::Signed => magnitude.to_string(),
            Conversion::HexLower => format!("{magnitude:x}"),
            Conversion::HexUpper => format!("{magnitude:X}"),
        };
        if value < 0 && self.conversion != Conversion::Signed {
            return None;
        }
        let sign = if value < 0 { "-" } else { "" };
        let prefix = if self.prefixed { "0x" } else { "" };
        Some(format!("{sign}{prefix}{digits:0>width$}", width = self.precision))
    }

    /// Reads a number written this way.
    pub(crate) fn read(self, text: &str) -> Option<i128> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |r| (true, r));
        let rest = if self.prefixed { rest.strip_prefix("0x")? } else { rest };
        let radix = if matches!(self.conversion, Conversion::Unsigned | Conversion::Signed) {
            10
        } else {
            16
        };
        let magnitude = i128::from_str_radix(rest, radix).ok()?;
        Some(if negative { -magnitude } else { magnitude })
    }
}

/// The value and the spelling of each numeric variable.
pub(crate) type Numbers = HashMap<String, (i128, Format)>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Literal(i128),
    Variable(String),
    Call(Operation, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
}

impl Expr {
    /// # Errors
    /// The name of an undefined variable, or overflow or division by zero, as a message.
    pub(crate) fn value(&self, numbers: &Numbers) -> Result<i128, String> {
        match self {
            Self::Literal(n) => Ok(*n),
            Self::Variable(name) => {
                numbers.get(name).map(|n| n.0).ok_or_else(|| format!("undefined variable: {name}"))
            }
            Self::Call(operation, left, right) => {
                let (l, r) = (left.value(numbers)?, right.value(numbers)?);
                match operation {
                    Operation::Add => l.checked_add(r),
                    Operation::Sub => l.checked_sub(r),
                    Operation::Mul => l.checked_mul(r),
                    Operation::Div => l.checked_div(r),
                    Operation::Max => Some(l.max(r)),
                    Operation::Min => Some(l.min(r)),
                }
                .ok_or_else(|| "overflow or division by zero in a numeric expression".into())
            }
        }
    }

    /// The format an expression has without a specifier: that of its variables, which must agree.
    pub(crate) fn format(&self, known: &HashMap<String, Format>) -> Result<Option<Format>, String> {
        match self {
            Self::Literal(_) => Ok(None),
            Self::Variable(name) => Ok(known.get(name).copied()),
            Self::Call(_, left, right) => match (left.format(known)?, right.format(known)?) {
                (Some(l), Some(r)) if l != r => {
                    Err("implicit format conflict between two variables, need an explicit format specifier".into())
                }
                (l, r) => Ok(l.or(r)),
            },
        }
    }

    pub(crate) fn variables<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::Literal(_) => {}
            Self::Variable(name) => into.push(name),
            Self::Call(_, left, right) => {
                left.variables(into);
                right.variables(into);
            }
        }
    }
}

/// A parsed block, without its `[[#` and `]]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) format: Option<Format>,
    pub(crate) defines: Option<String>,
    pub(crate) expr: Option<Expr>,
}

/// # Errors
/// A message naming what is malformed.
pub(crate) fn parse_block(text: &str, line: usize) -> Result<Block, String> {
    let mut rest = text.trim();
    let mut format = None;
    if rest.starts_with('%') {
        let (spec, after) = rest.split_once(',').unwrap_or((rest, ""));
        format = Some(parse_format(spec.trim())?);
        rest = after.trim();
    }
    let mut defines = None;
    if let Some((name, after)) = rest.split_once(':') {
        let name = name.trim();
        if !is_variable_name(name) {
            return Err(format!("invalid variable name '{name}'"));
        }
        defines = Some(name.to_string());
        rest = after.trim();
    }
    let constrained = rest.strip_prefix("==");
    rest = constrained.unwrap_or(rest).trim();
    if rest.is_empty() {
        if constrained.is_some() {
            return Err("empty numeric expression should not have a constraint".into());
        }
        return Ok(Block { format, defines, expr: None });
    }
    let mut parser = Parser { rest, line };
    let expr = parser.sum()?;
    if !parser.rest.trim().is_empty() {
        return Err(format!("unexpected characters at end of expression '{}'", parser.rest.trim()));
    }
    Ok(Block { format, defines, expr: Some(expr) })
}

fn parse_format(spec: &str) -> Result<Format, String> {
    let invalid =
        || format!("invalid matching format specification '{spec}' in numeric expression");
    let rest = spec.strip_prefix('%').ok_or_else(invalid)?;
    let (prefixed, rest) = rest.strip_prefix('#').map_or((false, rest), |r| (true, r));
    let (precision, conversion) = match rest.strip_prefix('.') {
        Some(r) => {
            let digits = r.find(|c: char| !c.is_ascii_digit()).ok_or_else(invalid)?;
            (r[..digits].parse().map_err(|_| invalid())?, &r[digits..])
        }
        None => (0, rest),
    };
    let conversion = match conversion {
        "u" => Conversion::Unsigned,
        "d" => Conversion::Signed,
        "x" => Conversion::HexLower,
        "X" => Conversion::HexUpper,
        _ => return Err(invalid()),
    };
    if prefixed && !matches!(conversion, Conversion::HexLower | Conversion::HexUpper) {
        return Err("alternate form only supported for hex values".into());
    }
    Ok(Format { conversion, precision, prefixed })
}

pub(crate) fn is_variable_name(name: &str) -> bool {
    let body = name.strip_prefix('$').unwrap_or(name);
    body.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && body.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Parser<'a> {
    rest: &'a str,
    line: usize,
}

impl Parser<'_> {
    fn eat(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(c) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut left = self.operand()?;
        loop {
            let operation = if self.eat('+') {
                Operation::Add
            } else if self.eat('-') {
                Operation::Sub
            } else {
                return Ok(left);
            };
            left = Expr::Call(operation, Box::new(left), Box::new(self.operand()?));
        }
    }

    fn operand(&mut self) -> Result<Expr, String> {
        if self.eat('(') {
            let inner = self.sum()?;
            return if self.eat(')') {
                Ok(inner)
            } else {
                Err("missing ')' at end of nested expression".into())
            };
        }
        if self.eat('@') {
            let end = self.word_end();
            let (name, after) = self.rest.split_at(end);
            if name != "LINE" {
                return Err(format!("invalid pseudo numeric variable '@{name}'"));
            }
            self.rest = after;
            return Ok(Expr::Literal(self.line as i128));
        }
        let end = self.word_end();
        let (word, after) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(format!("invalid operand format '{}'", self.rest));
        }
        self.rest = after;
        if let Some(hex) = word.strip_prefix("0x") {
            return i128::from_str_radix(hex, 16).map(Expr::Literal).map_err(|e| e.to_string());
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word
                .parse()
                .map(Expr::Literal)
                .map_err(|_| format!("invalid operand format '{word}'"));
        }
        if self.eat('(') {
            let operation = match word {
                "add" => Operation::Add,
                "sub" => Operation::Sub,
                "mul" => Operation::Mul,
                "div" => Operation::Div,
                "max" => Operation::Max,
                "min" => Operation::Min,
                _ => return Err(format!("call to undefined function '{word}'")),
            };
            let left = self.sum()?;
            if !self.eat(',') {
                return Err(format!("function '{word}' takes 2 arguments"));
            }
            let right = self.sum()?;
            return if self.eat(')') {
                Ok(Expr::Call(operation, Box::new(left), Box::new(right)))
            } else {
                Err("missing ')' at end of call expression".into())
            };
        }
        if is_variable_name(word) {
            Ok(Expr::Variable(word.into()))
        } else {
            Err(format!("invalid operand format '{word}'"))
        }
    }

    fn word_end(&mut self) -> usize {
        self.rest = self.rest.trim_start();
        self.rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
            .unwrap_or(self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_evaluate_left_to_right() {
        let block = parse_block("N + 10 - (2+1)", 1).unwrap();
        let numbers = Numbers::from([("N".to_string(), (5, Format::UNSIGNED))]);
        assert_eq!(block.expr.unwrap().value(&numbers), Ok(12));
        assert_eq!(parse_block("@LINE-1", 7).unwrap().expr.unwrap().value(&Numbers::new()), Ok(6));
        assert_eq!(
            parse_block("mul(3, max(2,4))", 1).unwrap().expr.unwrap().value(&Numbers::new()),
            Ok(12)
        );
        assert!(parse_block("div(1,0)", 1).unwrap().expr.unwrap().value(&Numbers::new()).is_err());
    }

    #[test]
    fn formats_read_what_they_write() {
        for (spec, value, text) in [
            ("%u", 12, "12"),
            ("%d", -3, "-3"),
            ("%x", 255, "ff"),
            ("%X", 255, "FF"),
            ("%#.4x", 255, "0x00ff"),
        ] {
            let format = parse_format(spec).unwrap();
            assert_eq!(format.write(value).as_deref(), Some(text));
            assert_eq!(format.read(text), Some(value));
            assert!(regex::Regex::new(&format!("^{}$", format.regex())).unwrap().is_match(text));
        }
        assert_eq!(Format::UNSIGNED.write(-1), None);
    }

    #[test]
    fn malformed_blocks_say_why() {
        for bad in ["%q,X", "1X:", "N+", "N N", "==", "foo(1,2)", "@COL", "%#u,N:", "(1"] {
            assert!(parse_block(bad, 1).is_err(), "{bad} should be rejected");
        }
    }
}
