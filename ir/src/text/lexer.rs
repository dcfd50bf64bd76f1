//! Tokens of MLIR text. A byte-table lexer over a source's bytes; tokens are offsets, nothing is copied.

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum TokenKind {
    Eof,
    /// A character that begins no token, or a string or number that is not well formed.
    Error(LexError),
    /// `func.func`, `i32`, `tensor`
    BareId,
    /// `%0`, `%name`
    Percent,
    /// `^bb0`
    Caret,
    /// `@name` or `@"name"`
    At,
    /// `#name`
    Hash,
    /// `!name`
    Bang,
    Integer,
    Float,
    String,
    Arrow,
    Ellipsis,
    LParen,
    RParen,
    LBrace,
    RBrace,
    LSquare,
    RSquare,
    Less,
    Greater,
    Comma,
    Colon,
    Equal,
    Plus,
    Minus,
    Star,
    Question,
    Slash,
    VBar,
    /// `{-#`
    MetadataBegin,
    /// `#-}`
    MetadataEnd,
}

/// Why a token is an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum LexError {
    UnexpectedCharacter,
    UnterminatedString,
    BadEscape,
    BadIdentifier,
    NulByte,
}

impl LexError {
    /// The message for users.
    pub fn message(self) -> &'static str {
        match self {
            LexError::UnexpectedCharacter => "unexpected character",
            LexError::UnterminatedString => "string is not terminated before the end of the line",
            LexError::BadEscape => {
                "unknown escape in string: expected \\\", \\\\, \\n, \\t or two hexadecimal digits"
            }
            LexError::BadIdentifier => "expected a name or a number after the sigil",
            LexError::NulByte => "NUL byte in the text",
        }
    }
}

/// A token: its kind, its bytes, and whether it is the first of its line.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
    pub first_of_line: bool,
}

/// Reads tokens from bytes, from any offset.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'s> {
    bytes: &'s [u8],
    pub(crate) at: usize,
}

/// What a byte may be part of.
const ID_START: u8 = 1;
const ID_PART: u8 = 2;
const SUFFIX_START: u8 = 4;
const SUFFIX_PART: u8 = 8;
const DIGIT: u8 = 16;
const HEX: u8 = 32;
const BLANK: u8 = 64;

static CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        let (letter, digit) = (byte.is_ascii_alphabetic(), byte.is_ascii_digit());
        if letter || byte == b'_' {
            table[b] |= ID_START;
        }
        if letter || digit || matches!(byte, b'_' | b'$' | b'.') {
            table[b] |= ID_PART;
        }
        if letter || matches!(byte, b'$' | b'.' | b'_' | b'-') {
            table[b] |= SUFFIX_START;
        }
        if letter || digit || matches!(byte, b'$' | b'.' | b'_' | b'-') {
            table[b] |= SUFFIX_PART;
        }
        if digit {
            table[b] |= DIGIT;
        }
        if byte.is_ascii_hexdigit() {
            table[b] |= HEX;
        }
        if matches!(byte, b' ' | b'\t' | b'\r') {
            table[b] |= BLANK;
        }
        b += 1;
    }
    table
};

fn is(b: u8, class: u8) -> bool {
    CLASSES[usize::from(b)] & class != 0
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        // A byte order mark is not text.
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self { bytes: text.as_bytes(), at }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|&b| accept(b)) {
            self.at += 1;
        }
    }

    fn skip(&mut self, class: u8) {
        self.skip_while(|b| is(b, class));
    }

    pub(crate) fn next(&mut self) -> Token {
        let mut first_of_line = self.at == 0;
        loop {
            match self.peek(0) {
                b'\n' => {
                    first_of_line = true;
                    self.at += 1;
                }
                b if is(b, BLANK) => self.skip(BLANK),
                b'/' if self.peek(1) == b'/' => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => break,
            }
        }
        let start = self.at;
        let kind = self.kind();
        Token { kind, start: start as u32, end: self.at as u32, first_of_line }
    }

    fn kind(&mut self) -> TokenKind {
        use TokenKind::*;
        let Some(&first) = self.bytes.get(self.at) else { return Eof };
        self.at += 1;
        match first {
            b if is(b, ID_START) => {
                self.skip(ID_PART);
                BareId
            }
            b'0'..=b'9' => self.number(),
            b'%' => self.suffix(Percent),
            b'^' => self.suffix(Caret),
            b'!' => self.suffix(Bang),
            b'#' if self.peek(0) == b'-' && self.peek(1) == b'}' => {
                self.at += 2;
                MetadataEnd
            }
            b'#' => self.suffix(Hash),
            b'@' if self.peek(0) == b'"' => {
                self.at += 1;
                match self.string() {
                    String => At,
                    error => error,
                }
            }
            b'@' if is(self.peek(0), ID_START) => {
                self.skip(ID_PART);
                At
            }
            b'@' => Error(LexError::BadIdentifier),
            b'"' => self.string(),
            b'-' if self.peek(0) == b'>' => {
                self.at += 1;
                Arrow
            }
            b'-' => Minus,
            b'.' if self.peek(0) == b'.' && self.peek(1) == b'.' => {
                self.at += 2;
                Ellipsis
            }
            b'{' if self.peek(0) == b'-' && self.peek(1) == b'#' => {
                self.at += 2;
                MetadataBegin
            }
            b'(' => LParen,
            b')' => RParen,
            b'{' => LBrace,
            b'}' => RBrace,
            b'[' => LSquare,
            b']' => RSquare,
            b'<' => Less,
            b'>' => Greater,
            b',' => Comma,
            b':' => Colon,
            b'=' => Equal,
            b'+' => Plus,
            b'*' => Star,
            b'?' => Question,
            b'/' => Slash,
            b'|' => VBar,
            0 => Error(LexError::NulByte),
            _ => {
                // Not past the middle of a character: offsets stay on boundaries.
                self.skip_while(|b| b & 0xC0 == 0x80);
                Error(LexError::UnexpectedCharacter)
            }
        }
    }

    fn suffix(&mut self, kind: TokenKind) -> TokenKind {
        match self.peek(0) {
            b'0'..=b'9' => {
                self.skip(DIGIT);
                kind
            }
            b if is(b, SUFFIX_START) => {
                self.skip(SUFFIX_PART);
                kind
            }
            _ => TokenKind::Error(LexError::BadIdentifier),
        }
    }

    fn number(&mut self) -> TokenKind {
        if self.bytes[self.at - 1] == b'0'
            && self.peek(0) == b'x'
            && self.peek(1).is_ascii_hexdigit()
        {
            self.at += 1;
            self.skip(HEX);
            return TokenKind::Integer;
        }
        self.skip(DIGIT);
        if self.peek(0) != b'.' {
            return TokenKind::Integer;
        }
        self.at += 1;
        self.skip(DIGIT);
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.skip(DIGIT);
            }
        }
        TokenKind::Float
    }

    fn string(&mut self) -> TokenKind {
        loop {
            match self.bytes.get(self.at) {
                None | Some(b'\n') => return TokenKind::Error(LexError::UnterminatedString),
                Some(b'"') => {
                    self.at += 1;
                    return TokenKind::String;
                }
                Some(b'\\') => match self.peek(1) {
                    b'"' | b'\\' | b'n' | b't' => self.at += 2,
                    a if a.is_ascii_hexdigit() && self.peek(2).is_ascii_hexdigit() => self.at += 3,
                    _ => {
                        self.at += 1;
                        return TokenKind::Error(LexError::BadEscape);
                    }
                },
                Some(_) => self.at += 1,
            }
        }
    }
}
