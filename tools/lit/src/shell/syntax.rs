//! The part of the shell language that `RUN:` lines use: words, quotes, pipes, `&&`, `||`, `;`, redirections.

/// How a pipeline depends on what ran before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    Always,
    OnSuccess,
    OnFailure,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pipeline {
    pub(crate) join: Join,
    /// `! a | b`
    pub(crate) negated: bool,
    pub(crate) commands: Vec<Command>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) words: Vec<String>,
    pub(crate) redirections: Vec<Redirection>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Redirection {
    Input(String),
    Output {
        to: String,
        append: bool,
    },
    Error {
        to: String,
        append: bool,
    },
    Both {
        to: String,
        append: bool,
    },
    /// `2>&1`
    ErrorToOutput,
    /// `>&2`
    OutputToError,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Operator(&'static str),
}

/// Longest first, so that `2>&1` is not read as `2>`.
const OPERATORS: [&str; 16] = [
    "2>&1", "1>&2", "2>>", "&>>", ">&2", "2>", "1>>", "1>", "&>", ">>", "&&", "||", ">", "<", "|",
    ";",
];

/// # Errors
/// A message for unbalanced quotes, a missing operand, or shell syntax beyond this subset.
pub(crate) fn parse(line: &str) -> Result<Vec<Pipeline>, String> {
    let mut pipelines = Vec::new();
    let mut tokens = tokens(line)?.into_iter().peekable();
    let mut join = Join::Always;
    loop {
        let mut pipeline = Pipeline { join, negated: false, commands: Vec::new() };
        let mut command = Command::default();
        let mut next_join = None;
        while let Some(token) = tokens.next() {
            let mut operand = |what: &str| match tokens.next() {
                Some(Token::Word(word)) => Ok(word),
                _ => Err(format!("'{what}' needs a file name")),
            };
            match token {
                Token::Word(word)
                    if word == "!" && command.words.is_empty() && pipeline.commands.is_empty() =>
                {
                    pipeline.negated = !pipeline.negated;
                }
                Token::Word(word) => command.words.push(word),
                Token::Operator("|") => pipeline.commands.push(std::mem::take(&mut command)),
                Token::Operator(op @ ("&&" | "||" | ";")) => {
                    next_join = Some(match op {
                        "&&" => Join::OnSuccess,
                        "||" => Join::OnFailure,
                        _ => Join::Always,
                    });
                    break;
                }
                Token::Operator(op) => command.redirections.push(match op {
                    "<" => Redirection::Input(operand(op)?),
                    ">" | "1>" => Redirection::Output { to: operand(op)?, append: false },
                    ">>" | "1>>" => Redirection::Output { to: operand(op)?, append: true },
                    "2>" => Redirection::Error { to: operand(op)?, append: false },
                    "2>>" => Redirection::Error { to: operand(op)?, append: true },
                    "&>" => Redirection::Both { to: operand(op)?, append: false },
                    "&>>" => Redirection::Both { to: operand(op)?, append: true },
                    "2>&1" => Redirection::ErrorToOutput,
                    _ => Redirection::OutputToError,
                }),
            }
        }
        pipeline.commands.push(command);
        if pipeline.commands.iter().any(|c| c.words.is_empty()) {
            // `a ;` is fine, `a | | b` and `a &&` are not.
            let trailing = next_join.is_none() && join == Join::Always && !pipelines.is_empty();
            if trailing && pipeline.commands.len() == 1 {
                return Ok(pipelines);
            }
            return Err("a command is missing".into());
        }
        pipelines.push(pipeline);
        match next_join {
            Some(next) => join = next,
            None => return Ok(pipelines),
        }
    }
}

fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        // A digit before `>` is a descriptor only at the start of a word.
        let operator = OPERATORS.iter().find(|op| {
            rest.starts_with(**op)
                && (word.is_none() || !op.starts_with(|c: char| c.is_ascii_digit()))
        });
        if let Some(operator) = operator {
            out.extend(word.take().map(Token::Word));
            out.push(Token::Operator(operator));
            rest = &rest[operator.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            ' ' | '\t' => out.extend(word.take().map(Token::Word)),
            '\'' => {
                let end = rest.find('\'').ok_or("a single quote is not closed")?;
                word.get_or_insert_default().push_str(&rest[..end]);
                rest = &rest[end + 1..];
            }
            '"' => rest = double_quoted(rest, word.get_or_insert_default())?,
            '\\' => {
                let escaped = rest.chars().next().ok_or("a backslash ends the line")?;
                word.get_or_insert_default().push(escaped);
                rest = &rest[escaped.len_utf8()..];
            }
            '#' if word.is_none() => break,
            '&' | '`' => return Err(format!("'{c}' is not supported in RUN lines")),
            _ => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word.map(Token::Word));
    Ok(out)
}

/// Reads up to the closing quote; gives what follows it.
fn double_quoted<'a>(mut rest: &'a str, word: &mut String) -> Result<&'a str, String> {
    loop {
        let c = rest.chars().next().ok_or("a double quote is not closed")?;
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return Ok(rest),
            '\\' if rest.starts_with(['"', '\\', '$', '`']) => {
                word.push_str(&rest[..1]);
                rest = &rest[1..];
            }
            _ => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<String>> {
        parse(line).unwrap().into_iter().flat_map(|p| p.commands).map(|c| c.words).collect()
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(
            words(r#"echo 'a  b' "c\"d" e\ f "" x'y'z"#),
            [["echo", "a  b", "c\"d", "e f", "", "xyz"]]
        );
        assert_eq!(words(r#"t --p='a(b|c;d)'"#), [["t", "--p=a(b|c;d)"]]);
    }

    #[test]
    fn joins_and_pipes() {
        let parsed = parse("a | b && c || d ; e").unwrap();
        assert_eq!(
            parsed.iter().map(|p| p.join).collect::<Vec<_>>(),
            [Join::Always, Join::OnSuccess, Join::OnFailure, Join::Always]
        );
        assert_eq!(parsed[0].commands.len(), 2);
        assert!(parse("! a").unwrap()[0].negated);
    }

    #[test]
    fn redirections() {
        let parsed = parse("a <i >o 2>&1 2>> e file2>x").unwrap();
        assert_eq!(parsed[0].commands[0].words, ["a", "file2"]);
        assert_eq!(
            parsed[0].commands[0].redirections,
            [
                Redirection::Input("i".into()),
                Redirection::Output { to: "o".into(), append: false },
                Redirection::ErrorToOutput,
                Redirection::Error { to: "e".into(), append: true },
                Redirection::Output { to: "x".into(), append: false },
            ]
        );
    }

    #[test]
    fn what_is_malformed_is_said() {
        for bad in ["a |", "| a", "a && ", "a >", "'a", "\"a", "a &", "", "a\\"] {
            assert!(parse(bad).is_err(), "{bad} should be rejected");
        }
        assert_eq!(parse("a ;").unwrap().len(), 1);
    }
}
