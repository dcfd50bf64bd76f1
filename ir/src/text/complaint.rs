//! Words for a token that should not be where it is: what was expected, what stands there, and what a person who wrote it
//! most likely wanted.

use super::lexer::{LexError, TokenKind};
use super::parser::{Failed, Parser};

impl Parser<'_> {
    /// Reports what was expected in place of the next token; where that begins a new line, after the token before it.
    pub fn expected(&mut self, what: &str) -> Failed {
        let line_ended = self.tok.first_of_line && self.tok.start != self.operation_start;
        if line_ended && !matches!(self.tok.kind, TokenKind::Error(_) | TokenKind::Eof) {
            let end = self.previous_end;
            return self.error_at(end, format!("expected {what}, found the end of the line"));
        }
        let message = match self.tok.kind {
            TokenKind::Error(error) => self.lexical(error),
            TokenKind::Eof => format!("expected {what}, found the end of the file"),
            _ => format!("expected {what}, found '{}'", shortened(self.text(self.tok))),
        };
        let start = match self.tok.kind {
            TokenKind::Error(LexError::BadEscape) => self.tok.end - 1,
            TokenKind::Eof => self.previous_end,
            _ => self.tok.start,
        };
        let hint = self.hint(start);
        self.report_at(start, message).hint = hint.map(str::to_owned);
        Failed
    }

    /// What is wrong with a token that is none.
    fn lexical(&self, error: LexError) -> String {
        let first = self.text(self.tok).chars().next();
        match (error, first) {
            (LexError::UnexpectedCharacter, Some(c)) if c.is_ascii_graphic() => {
                format!("unexpected character '{c}'")
            }
            (LexError::UnexpectedCharacter, Some(c)) if c.is_alphanumeric() => {
                format!("unexpected character '{c}' (U+{:04X}): names are ASCII", u32::from(c))
            }
            (LexError::UnexpectedCharacter, Some(c)) if c.is_control() || c.is_whitespace() => {
                format!("unexpected character U+{:04X}", u32::from(c))
            }
            (LexError::UnexpectedCharacter, Some(c)) => {
                format!("unexpected character '{c}' (U+{:04X})", u32::from(c))
            }
            (LexError::BadIdentifier, Some('@')) => "expected a name after '@'".to_owned(),
            (LexError::BadIdentifier, Some(sigil)) => {
                format!("expected a name or a number after '{sigil}'")
            }
            _ => error.message().to_owned(),
        }
    }

    fn hint(&self, start: u32) -> Option<&'static str> {
        let rest = &self.source.text[start as usize..];
        match self.tok.kind {
            TokenKind::Error(LexError::UnterminatedString) => Some("close it with '\"'"),
            TokenKind::Error(_) => of_character(rest),
            TokenKind::Slash if rest.starts_with("/*") => {
                Some("a comment begins with // and ends with its line")
            }
            TokenKind::BareId => self.hint_after_number(start),
            _ => None,
        }
    }

    /// Letters that touch a number belong to it in other languages.
    fn hint_after_number(&self, start: u32) -> Option<&'static str> {
        let text = &self.source.text;
        let before = text[..start as usize].bytes().next_back()?;
        if start != self.previous_end || !(before.is_ascii_digit() || before == b'.') {
            return None;
        }
        let begins_with_zero = before == b'0'
            && !text[..start as usize - 1].ends_with(|c: char| c.is_ascii_alphanumeric());
        match text.as_bytes()[start as usize] {
            b'x' | b'X' if begins_with_zero => Some("hexadecimal digits follow '0x'"),
            b'b' | b'B' | b'o' | b'O' if begins_with_zero => {
                Some("numbers are decimal or hexadecimal (0x)")
            }
            b'e' | b'E' if before == b'.' || text[start as usize + 1..].starts_with(['+', '-']) => {
                Some("digits follow the exponent's 'e'")
            }
            b'e' | b'E' => {
                Some("a number with an exponent has a point, and digits after the 'e': 1.0e5")
            }
            b'_' => Some("digits are written without '_' between them"),
            _ => None,
        }
    }
}

/// What was meant by a character that begins no token.
fn of_character(rest: &str) -> Option<&'static str> {
    let mut chars = rest.chars();
    let first = chars.next()?;
    Some(match first {
        '#' => "a comment begins with //",
        '@' if chars.next().is_some_and(|c| c.is_ascii_graphic()) => {
            "a name that does not begin with a letter is written in quotes: @\"1\""
        }
        '\'' => "strings are written in double quotes",
        ';' => "an operation needs no mark at its end",
        '.' => "a number has a digit before its point",
        '→' => "an arrow is written ->",
        '“' | '”' | '‘' | '’' | '«' | '»' => "quotes are written '\"'",
        '−' | '–' | '—' => "a minus is written -",
        '×' => "dimensions are separated by the letter x",
        '（' | '）' | '，' | '：' | '＝' | '［' | '］' | '｛' | '｝' | '＜' | '＞' => {
            "a full-width character stands here; write the ASCII one"
        }
        '\u{a0}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{3000}' | '\u{feff}' => {
            "a space that is none stands here; write a plain one"
        }
        _ => return None,
    })
}

/// A token as far as a message can show it.
fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((end, _)) => format!("{}...", &text[..end]).into(),
    }
}
