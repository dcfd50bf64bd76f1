//! The token cursor that the core grammar and every dialect's custom syntax read from.

use super::lexer::{Lexer, Token, TokenKind};
use rustc_hash::FxHashMap;

use super::seen::Seen;
use super::ssa_names::{Names, OperandName};
use crate::diag::{Diagnostic, Reporter};
use crate::{Attr, Context, Loc, Module, Name, OpState, SourceFile};

/// A parse failed; the error is already reported.
#[derive(Clone, Copy, Debug)]
pub struct Failed;

/// The result of a parse.
pub type ParseResult<T> = Result<T, Failed>;

/// Nesting of types and attributes beyond this is refused.
const MAX_NESTING: u32 = 256;

/// Lists that operations are read into, kept from one operation to the next. Those of nested operations stand behind those
/// of the operations around them.
#[derive(Default)]
pub(super) struct Scratch<'p> {
    pub(super) results: Vec<ResultName<'p>>,
    pub(super) operands: Vec<OperandName<'p>>,
    pub(super) types: Vec<crate::Type>,
    pub(super) entries: Vec<(Name, Attr)>,
    /// States of operations that are finished.
    pub(super) states: Vec<OpState>,
}

/// Results as written before `=`: `%name:count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultName<'p> {
    pub(super) name: &'p str,
    pub(super) count: u32,
    pub(super) offset: u32,
}

/// Reads `.pir` text into a module. Dialect syntax gets it positioned after the operation's (or type's, or attribute's) name.
pub struct Parser<'p> {
    pub(super) ctx: &'p Context,
    pub(super) source: &'p SourceFile,
    pub(super) lexer: Lexer<'p>,
    pub(super) tok: Token,
    pub(super) module: Module,
    pub(super) reporter: Reporter<'p>,
    pub(super) names: Names<'p>,
    /// The operation being read, innermost.
    pub(super) state: OpState,
    pub(super) attr_aliases: FxHashMap<&'p str, Attr>,
    pub(super) type_aliases: FxHashMap<&'p str, crate::Type>,
    /// How much text each alias stands for, by its name with the sigil, and how much those used so far do.
    pub(super) alias_bytes: FxHashMap<&'p str, u64>,
    pub(super) expanded_bytes: u64,
    /// Distinct attributes by the number they have in this text.
    pub(super) distinct: FxHashMap<u64, Attr>,
    /// Operations whose location alias is defined later, as printers do, with the alias and where it stands.
    pub(super) forward_locs: Vec<(crate::Op, &'p str, u32)>,
    /// As `forward_locs`, for block arguments.
    pub(super) forward_arg_locs: Vec<(crate::Value, &'p str, u32)>,
    /// The location alias of the operation that is being finished, if not yet defined.
    pub(super) undefined_loc: Option<(&'p str, u32)>,
    /// How many braces are open here: where reading goes on after an error.
    pub(super) braces: u32,
    /// Where the token before the next one ends.
    pub(super) previous_end: u32,
    /// Where the innermost operation that is being read begins.
    pub(super) operation_start: u32,
    pub(super) nesting: u32,
    pub(super) seen: Seen<'p>,
    pub(super) scratch: Scratch<'p>,
    /// What formats collect, one for each open operation; kept for its memory.
    pub(super) readings: Vec<super::format::Reading<'p>>,
    /// The position of the source's first byte; none if the context has none left.
    pub(super) first_position: Option<u32>,
}

impl<'p> Parser<'p> {
    pub(super) fn new(ctx: &'p Context, source: &'p SourceFile, module: Module) -> Self {
        let mut lexer = Lexer::new(&source.text);
        let tok = lexer.next();
        let state = OpState::new(ctx.op_name("builtin.module"), ctx.unknown_loc());
        Self {
            ctx,
            source,
            lexer,
            tok,
            module,
            reporter: Reporter::new(ctx),
            names: Names::default(),
            state,
            attr_aliases: Default::default(),
            type_aliases: Default::default(),
            alias_bytes: Default::default(),
            expanded_bytes: 0,
            distinct: Default::default(),
            forward_locs: Vec::new(),
            forward_arg_locs: Vec::new(),
            undefined_loc: None,
            braces: 0,
            previous_end: 0,
            operation_start: 0,
            nesting: 0,
            seen: Seen::default(),
            scratch: Scratch::default(),
            readings: Vec::new(),
            first_position: ctx.add_source(source),
        }
    }

    /// The name spelt by a token, interned once a text.
    pub(super) fn name_of(&mut self, text: &'p str) -> Name {
        if let Some(known) = self.seen.names.get(text) {
            return known;
        }
        let name = self.ctx.name(text);
        self.seen.names.insert(text, name);
        name
    }

    /// The context.
    pub fn ctx(&self) -> &'p Context {
        self.ctx
    }

    /// The module that is being filled.
    pub fn module(&mut self) -> &mut Module {
        &mut self.module
    }

    /// The operation being read; custom syntax adds its operands, attributes and result types here.
    pub fn state(&mut self) -> &mut OpState {
        &mut self.state
    }

    /// The next token.
    pub fn token(&self) -> Token {
        self.tok
    }

    /// Whether the next token is of this kind.
    pub fn at(&self, kind: TokenKind) -> bool {
        self.tok.kind == kind
    }

    /// The text of a token.
    pub fn text(&self, token: Token) -> &'p str {
        &self.source.text[token.start as usize..token.end as usize]
    }

    /// The location of a byte offset.
    pub fn loc_at(&self, offset: u32) -> Loc {
        match self.first_position {
            Some(first) => self.ctx.position(first + offset),
            None => {
                let (line, col) = self.source.line_col(offset);
                self.ctx.file_loc(&self.source.name, line, col)
            }
        }
    }

    /// The location of the next token.
    pub fn loc(&self) -> Loc {
        self.loc_at(self.tok.start)
    }

    /// Takes the next token.
    pub fn advance(&mut self) -> Token {
        let taken = self.tok;
        match taken.kind {
            TokenKind::LBrace => self.braces += 1,
            TokenKind::RBrace => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        self.previous_end = taken.end;
        self.tok = self.lexer.next();
        taken
    }

    /// Continues reading at a byte offset.
    pub(super) fn jump(&mut self, offset: usize) {
        self.lexer.at = offset;
        self.previous_end = offset as u32;
        self.tok = self.lexer.next();
    }

    /// Reports an error at the next token.
    pub fn error(&mut self, message: impl Into<String>) -> Failed {
        let start = self.tok.start;
        self.error_at(start, message)
    }

    /// Reports an error at a byte offset.
    pub fn error_at(&mut self, offset: u32, message: impl Into<String>) -> Failed {
        self.report_at(offset, message);
        Failed
    }

    /// Reports an error at a byte offset, to be extended by notes and a hint.
    pub fn report_at(&mut self, offset: u32, message: impl Into<String>) -> &mut Diagnostic {
        let loc = self.loc_at(offset);
        self.reporter.error(loc, message)
    }

    /// The last error, to be extended by whoever knows more.
    pub fn last_error(&mut self) -> Option<&mut Diagnostic> {
        self.reporter.last_mut()
    }

    /// Takes the next token if it is of this kind.
    pub fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.tok.kind == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Takes the next token, which must be of this kind; `what` describes it.
    pub fn expect(&mut self, kind: TokenKind, what: &str) -> ParseResult<Token> {
        if self.tok.kind == kind { Ok(self.advance()) } else { Err(self.expected(what)) }
    }

    /// Whether the next token is this word.
    pub fn at_keyword(&self, word: &str) -> bool {
        self.tok.kind == TokenKind::BareId && self.text(self.tok) == word
    }

    /// Takes the next token if it is this word.
    pub fn eat_keyword(&mut self, word: &str) -> bool {
        let found = self.at_keyword(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the next token, which must be this word.
    pub fn expect_keyword(&mut self, word: &str) -> ParseResult<()> {
        if self.eat_keyword(word) { Ok(()) } else { Err(self.expected(&format!("'{word}'"))) }
    }

    /// Takes a word; `what` describes it.
    pub fn parse_keyword(&mut self, what: &str) -> ParseResult<&'p str> {
        let token = self.expect(TokenKind::BareId, what)?;
        Ok(self.text(token))
    }

    /// Takes `@name` and returns the name.
    pub fn parse_symbol_name(&mut self) -> ParseResult<Name> {
        let token = self.expect(TokenKind::At, "a symbol name (@name)")?;
        Ok(self.symbol_of(token))
    }

    pub(super) fn symbol_of(&mut self, token: Token) -> Name {
        let text = &self.text(token)[1..];
        if text.starts_with('"') { self.ctx.name(&unescape(text)) } else { self.ctx.name(text) }
    }

    /// Takes a string and returns its value.
    pub fn parse_string(&mut self) -> ParseResult<String> {
        let token = self.expect(TokenKind::String, "a string")?;
        Ok(unescape(self.text(token)))
    }

    /// Takes an integer that fits `i64`, with an optional minus sign.
    pub fn parse_integer(&mut self) -> ParseResult<i64> {
        let start = self.tok.start;
        let negative = self.eat(TokenKind::Minus);
        let token = self.expect(TokenKind::Integer, "an integer")?;
        let value =
            super::numbers::parse_int(self.text(token)).map(|v| if negative { -v } else { v });
        value
            .and_then(|v| i64::try_from(v).ok())
            .ok_or_else(|| self.error_at(start, "integer does not fit 64 bits"))
    }

    /// Reads items separated by commas up to `close`, which is taken. The opening token is already taken.
    pub fn comma_list(
        &mut self,
        close: TokenKind,
        what: &str,
        mut item: impl FnMut(&mut Self) -> ParseResult<()>,
    ) -> ParseResult<()> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.eat(TokenKind::Comma) {
                self.expect(close, what)?;
                return Ok(());
            }
        }
    }

    /// Runs a nested parse of types or attributes, refusing absurd depth.
    pub(super) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        if self.nesting >= MAX_NESTING {
            return Err(
                self.error(format!("types and attributes are nested more than {MAX_NESTING} deep"))
            );
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }
}

/// The value of a string token, which the lexer has found to be well formed.
pub(super) fn unescape(token: &str) -> String {
    let body = &token.as_bytes()[1..token.len() - 1];
    let mut out = Vec::with_capacity(body.len());
    let mut i = 0;
    while i < body.len() {
        if body[i] != b'\\' {
            out.push(body[i]);
            i += 1;
            continue;
        }
        let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
        match body[i + 1] {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            c @ (b'"' | b'\\') => out.push(c),
            high => {
                out.push(digit(high) << 4 | digit(body[i + 2]));
                i += 1;
            }
        }
        i += 2;
    }
    // Strings are text here; bytes that are not UTF-8 are kept readable rather than refused.
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
