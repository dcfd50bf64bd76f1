//! Words of a PTX text. Opcodes keep their modifiers (`ld.global.v4.b32` is one word), because whether a dot belongs
//! to a name is decided by what stands before it.

use crate::error::{Place, SourceError};

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'t> {
    /// A name, register, label or opcode with its modifiers.
    Word(&'t str),
    /// `.name`, given without its dot.
    Directive(&'t str),
    /// An integer, as the bits of its value.
    Int(u64),
    /// `0f…`: the bits of a single.
    Single(u32),
    /// `0d…`: the bits of a double.
    Double(u64),
    /// A quoted text without its quotes.
    Text,
    /// `// implicit-def: NAME`: LLVM's note that a register is read without having been written, on purpose.
    Undefined(&'t str),
    /// Any other character.
    Mark(char),
}

/// The words of `source` with their places.
pub(crate) fn tokens(source: &str) -> Result<Vec<(Token<'_>, Place)>, SourceError> {
    let bytes = source.as_bytes();
    let mut out = Vec::new();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    while at < bytes.len() {
        let place = Place { line, column: (at - line_start + 1) as u32 };
        match bytes[at] {
            b'\n' => {
                at += 1;
                line += 1;
                line_start = at;
            }
            b if b.is_ascii_whitespace() => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let end = memchr(bytes, at, b'\n');
                if let Some(name) = source[at..end].trim().strip_prefix("// implicit-def: ") {
                    out.push((Token::Undefined(name.trim().trim_start_matches('$')), place));
                }
                at = end;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let Some(length) = source[at + 2..].find("*/") else {
                    return Err(SourceError::new(place, "this comment has no `*/`"));
                };
                for (i, _) in source[at..at + 2 + length].match_indices('\n') {
                    line += 1;
                    line_start = at + i + 1;
                }
                at += length + 4;
            }
            b'"' => {
                let end = memchr(bytes, at + 1, b'"');
                if end >= memchr(bytes, at + 1, b'\n') {
                    return Err(SourceError::new(place, "this text has no closing quote"));
                }
                out.push((Token::Text, place));
                at = end + 1;
            }
            b'.' if bytes.get(at + 1).is_some_and(|b| starts_name(*b)) => {
                let end = name_end(bytes, at + 1, false);
                out.push((Token::Directive(&source[at + 1..end]), place));
                at = end;
            }
            b if starts_name(b) => {
                let end = name_end(bytes, at, true);
                out.push((Token::Word(&source[at..end]), place));
                at = end;
            }
            b if b.is_ascii_digit() => {
                let mut end = at;
                while bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
                    end += 1;
                }
                out.push((number(&source[at..end], place)?, place));
                at = end;
            }
            _ => {
                let mark = source[at..].chars().next().unwrap_or('?');
                if !"{}[]()<>,;:+-=!|@.".contains(mark) {
                    return Err(SourceError::new(place, format!("`{mark}` stands nowhere in PTX")));
                }
                out.push((Token::Mark(mark), place));
                at += mark.len_utf8();
            }
        }
    }
    Ok(out)
}

fn memchr(bytes: &[u8], from: usize, byte: u8) -> usize {
    bytes[from.min(bytes.len())..].iter().position(|b| *b == byte).map_or(bytes.len(), |i| from + i)
}

fn starts_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'%')
}

/// Where the name that starts at `at` ends. With `dotted`, dots and double colons belong to it.
fn name_end(bytes: &[u8], mut at: usize, dotted: bool) -> usize {
    let goes_on = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%');
    loop {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        match bytes.get(at) {
            Some(b) if goes_on(*b) => at += 1,
            Some(b'.') if dotted && goes_on(next) => at += 1,
            Some(b':') if next == b':' && bytes.get(at + 2).is_some_and(|b| goes_on(*b)) => {
                at += 2;
            }
            _ => return at,
        }
    }
}

fn number(text: &str, place: Place) -> Result<Token<'static>, SourceError> {
    let wrong = || SourceError::new(place, format!("`{text}` is no number of PTX"));
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).map_err(|_| wrong());
    let exactly = |digits: &str, length| {
        if digits.len() == length { radix(digits, 16) } else { Err(wrong()) }
    };
    let plain = text.strip_suffix('U').unwrap_or(text);
    Ok(match (text.as_bytes(), plain.as_bytes()) {
        ([b'0', b'f' | b'F', ..], _) => Token::Single(exactly(&text[2..], 8)? as u32),
        ([b'0', b'd' | b'D', ..], _) => Token::Double(exactly(&text[2..], 16)?),
        (_, [b'0', b'x' | b'X', ..]) => Token::Int(radix(&plain[2..], 16)?),
        (_, [b'0', b'b' | b'B', ..]) => Token::Int(radix(&plain[2..], 2)?),
        (_, [b'0', _, ..]) => Token::Int(radix(&plain[1..], 8)?),
        _ => Token::Int(radix(plain, 10)?),
    })
}
