//! The `layout` language: which parts of a model form which stage.
//!
//! ```text
//! Et*3|(tt|)*29,m|L
//! ```
//!
//! A letter is a part of the model, `|` ends a stage; `*3` repeats the letter or the group in parentheses before it. Commas and blanks
//! count for nothing. The k-th time a letter stands (from 0), it is the k-th part of its kind: `t` the decoder blocks in order, `E` the
//! embedding, `L` the head with the loss, `m` blocks that predict further tokens. Two bars in a row leave a stage empty.

use super::{Span, TextError};

/// A part: its letter, and the how many-th of that letter it is.
pub type Part = (char, u32);

/// Beyond this many parts a layout is refused rather than left to exhaust memory.
const MOST_PARTS: usize = 1 << 16;
/// Deeper parentheses are no layout.
const MOST_DEPTH: usize = 16;

/// The stages of a layout, each with its parts in order.
///
/// # Errors
/// The first mistake, with its place.
pub fn parse(text: &str) -> Result<Vec<Vec<Part>>, TextError> {
    let mut reader = Reader { text, chars: text.char_indices().peekable() };
    let flat = reader.sequence(0)?;
    if let Some((at, _)) = reader.chars.peek() {
        return Err(TextError::new(text, Span::new(*at, *at + 1), "no '(' is open here"));
    }
    let mut stages: Vec<Vec<Part>> = vec![Vec::new()];
    let mut counts: std::collections::HashMap<char, u32> = std::collections::HashMap::new();
    for sign in flat {
        if sign == '|' {
            stages.push(Vec::new());
            continue;
        }
        let count = counts.entry(sign).or_insert(0);
        if let Some(stage) = stages.last_mut() {
            stage.push((sign, *count));
        }
        *count += 1;
    }
    if counts.is_empty() {
        return Err(TextError::new(text, Span::new(0, text.len()), "the layout has no part")
            .hint("write the parts of each stage, such as Ett|tt|ttL"));
    }
    Ok(stages)
}

struct Reader<'t> {
    text: &'t str,
    chars: std::iter::Peekable<std::str::CharIndices<'t>>,
}

impl Reader<'_> {
    fn error(&self, at: usize, end: usize, message: impl Into<String>) -> TextError {
        TextError::new(self.text, Span::new(at, end), message)
    }

    /// Letters and bars up to a closing parenthesis or the end, repetitions written out.
    fn sequence(&mut self, depth: usize) -> Result<Vec<char>, TextError> {
        let mut out = Vec::new();
        while let Some(&(at, sign)) = self.chars.peek() {
            if sign == ')' {
                break;
            }
            self.chars.next();
            let item = match sign {
                ' ' | ',' | '\t' | '\n' => continue,
                '|' => vec!['|'],
                letter if letter.is_ascii_alphabetic() => vec![letter],
                '(' if depth < MOST_DEPTH => {
                    let inner = self.sequence(depth + 1)?;
                    if self.chars.next().is_none() {
                        return Err(self.error(at, at + 1, "this '(' is not closed"));
                    }
                    inner
                }
                '(' => return Err(self.error(at, at + 1, "parentheses are nested too deep")),
                '*' => {
                    return Err(self
                        .error(at, at + 1, "there is nothing to repeat here")
                        .hint("a repetition follows a letter or a group: t*3, (tt|)*2"));
                }
                other => {
                    let end = at + other.len_utf8();
                    return Err(self
                        .error(at, end, format!("'{other}' is no part of a model"))
                        .expecting("a letter, '|', '(' or '*' and a number"));
                }
            };
            let times = self.times()?;
            if out.len().saturating_add(item.len().saturating_mul(times)) > MOST_PARTS {
                return Err(self.error(
                    at,
                    at + 1,
                    format!("the layout has more than {MOST_PARTS} parts"),
                ));
            }
            for _ in 0..times {
                out.extend_from_slice(&item);
            }
        }
        Ok(out)
    }

    /// The number after a `*`, 1 where there is none.
    fn times(&mut self) -> Result<usize, TextError> {
        let Some((at, _)) = self.chars.next_if(|(_, sign)| *sign == '*') else { return Ok(1) };
        let mut digits = String::new();
        while let Some((_, digit)) = self.chars.next_if(|(_, sign)| sign.is_ascii_digit()) {
            digits.push(digit);
        }
        match digits.parse::<usize>() {
            Ok(times) if (1..=MOST_PARTS).contains(&times) => Ok(times),
            _ => Err(self
                .error(at, at + 1 + digits.len(), format!("'*{digits}' is no repetition"))
                .expecting("'*' and a number of at least 1")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn shown(text: &str) -> String {
        let stages = parse(text).unwrap_or_else(|error| panic!("{error}"));
        let stage = |parts: &Vec<(char, u32)>| {
            parts.iter().map(|(letter, k)| format!("{letter}{k}")).collect::<String>()
        };
        stages.iter().map(stage).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn letters_are_counted_and_groups_repeated() {
        assert_eq!(shown("Ett|t||L"), "E0t0t1|t2||L0");
        assert_eq!(shown("Et*3|(tt|)*2m, L"), "E0t0t1t2|t3t4|t5t6|m0L0");
        assert_eq!(shown("((t|)*2u)*2"), "t0|t1|u0t2|t3|u1");
        // A model of 61 blocks in 32 stages.
        assert_eq!(parse("Et*3|(tt|)*29,m|L").unwrap().len(), 32);
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, at, message) in [
            ("E|t)", 3, "no '(' is open here"),
            ("E(t|", 1, "this '(' is not closed"),
            ("*3E", 0, "nothing to repeat"),
            ("(*3)", 1, "nothing to repeat"),
            ("Et*0", 2, "'*0' is no repetition"),
            ("Et*", 2, "'*' is no repetition"),
            ("E;t", 1, "';' is no part"),
            (" || ", 0, "has no part"),
            ("t*65536 t", 8, "more than 65536 parts"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.message.contains(message), "{text}: {error}");
            assert_eq!(error.span.start, at, "{text}");
        }
    }
}
