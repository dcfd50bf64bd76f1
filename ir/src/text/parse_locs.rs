//! Reading locations.

use super::lexer::TokenKind;
use super::parser::{ParseResult, Parser};
use crate::{AttrData, Loc, LocData, Value};

/// A location behind an argument.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum ArgLoc<'p> {
    Known(Loc),
    /// An alias that is not yet defined, and where it stands.
    Alias {
        alias: &'p str,
        offset: u32,
    },
}

impl<'p> Parser<'p> {
    /// Reads `loc(...)`.
    pub fn parse_location(&mut self) -> ParseResult<Loc> {
        self.expect_keyword("loc")?;
        self.expect(TokenKind::LParen, "'('")?;
        let loc = self.nested(Self::location_body)?;
        self.expect(TokenKind::RParen, "')'")?;
        Ok(loc)
    }

    /// Reads `loc(...)`; `None` if it is an alias that may still be defined, kept in `undefined_loc`.
    pub(super) fn parse_optional_forward_location(&mut self) -> ParseResult<Option<Loc>> {
        let mut after = self.lexer.clone();
        let (open, alias, close) = (self.after_loc(&mut after), after.next(), after.next());
        if open
            && alias.kind == TokenKind::Hash
            && close.kind == TokenKind::RParen
            && !self.attr_aliases.contains_key(&self.text(alias)[1..])
        {
            self.undefined_loc = Some((&self.text(alias)[1..], alias.start));
            self.jump(close.end as usize);
            return Ok(None);
        }
        self.parse_location().map(Some)
    }

    /// Whether `loc`, the next token, is followed by `(`, which is taken from `after`.
    fn after_loc(&self, after: &mut super::lexer::Lexer<'p>) -> bool {
        after.next().kind == TokenKind::LParen
    }

    /// Reads `loc(...)` behind an argument, if it is there.
    pub fn parse_arg_location(&mut self) -> ParseResult<Option<ArgLoc<'p>>> {
        if !self.at_keyword("loc") {
            return Ok(None);
        }
        Ok(Some(match self.parse_optional_forward_location()? {
            Some(loc) => ArgLoc::Known(loc),
            None => match self.undefined_loc.take() {
                Some((alias, offset)) => ArgLoc::Alias { alias, offset },
                None => ArgLoc::Known(self.ctx.unknown_loc()),
            },
        }))
    }

    pub(super) fn locate_arg(&mut self, arg: Value, loc: ArgLoc<'p>) {
        match loc {
            ArgLoc::Known(loc) => self.module.set_arg_loc(arg, loc),
            ArgLoc::Alias { alias, offset } => self.forward_arg_locs.push((arg, alias, offset)),
        }
    }

    /// Resolves the aliases that stood before their definition.
    pub(super) fn finish_locations(&mut self) {
        for (op, alias, offset) in std::mem::take(&mut self.forward_locs) {
            if let Ok(loc) = self.forward_location(alias, offset) {
                self.module.set_loc(op, loc);
            }
        }
        for (arg, alias, offset) in std::mem::take(&mut self.forward_arg_locs) {
            if let Ok(loc) = self.forward_location(alias, offset) {
                self.module.set_arg_loc(arg, loc);
            }
        }
    }

    fn forward_location(&mut self, alias: &str, offset: u32) -> ParseResult<Loc> {
        match self.attr_aliases.get(alias).map(|attr| attr.data(self.ctx)) {
            Some(AttrData::Loc(loc)) => Ok(*loc),
            Some(_) => Err(self.error_at(offset, format!("alias '#{alias}' is not a location"))),
            None => {
                Err(self.error_at(offset, format!("location alias '#{alias}' is never defined")))
            }
        }
    }

    fn location_body(&mut self) -> ParseResult<Loc> {
        let ctx = self.ctx;
        let token = self.tok;
        match token.kind {
            TokenKind::String => {
                let text = self.parse_string()?;
                if self.eat(TokenKind::Colon) {
                    return self.file_location(&text);
                }
                if self.eat(TokenKind::LParen) {
                    let child = self.nested(Self::location_body)?;
                    self.expect(TokenKind::RParen, "')'")?;
                    return Ok(ctx.named_loc(&text, child));
                }
                Ok(ctx.named_loc(&text, ctx.unknown_loc()))
            }
            TokenKind::BareId => match self.text(token) {
                "unknown" => {
                    self.advance();
                    Ok(ctx.unknown_loc())
                }
                "callsite" => {
                    self.advance();
                    self.expect(TokenKind::LParen, "'('")?;
                    let callee = self.nested(Self::location_body)?;
                    self.expect_keyword("at")?;
                    let caller = self.nested(Self::location_body)?;
                    self.expect(TokenKind::RParen, "')'")?;
                    Ok(ctx.loc(LocData::CallSite { callee, caller }))
                }
                "fused" => {
                    self.advance();
                    let metadata = if self.eat(TokenKind::Less) {
                        let metadata = self.parse_attribute()?;
                        self.expect(TokenKind::Greater, "'>'")?;
                        Some(metadata)
                    } else {
                        None
                    };
                    self.expect(TokenKind::LSquare, "'['")?;
                    let mut locs = Vec::new();
                    self.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
                        locs.push(p.nested(Self::location_body)?);
                        Ok(())
                    })?;
                    Ok(ctx.loc(LocData::Fused { locs: locs.into(), metadata }))
                }
                _ => Err(self.expected("a location")),
            },
            TokenKind::Hash => {
                self.advance();
                let text = &self.text(token)[1..];
                match self.attr_aliases.get(text).map(|a| a.data(ctx)) {
                    Some(AttrData::Loc(loc)) => Ok(*loc),
                    None => {
                        Err(self
                            .error_at(token.start, format!("undefined location alias '#{text}'")))
                    }
                    Some(_) => {
                        Err(self
                            .error_at(token.start, format!("alias '#{text}' is not a location")))
                    }
                }
            }
            _ => Err(self.expected("a location")),
        }
    }

    /// `line:col`, or a range `line:col to line:col` or `line:col to :col`; a column may be missing.
    fn file_location(&mut self, file: &str) -> ParseResult<Loc> {
        let (line, col) = (self.location_number()?, self.column()?);
        if !self.eat_keyword("to") {
            return Ok(self.ctx.file_loc(file, line, col));
        }
        let end_line = if self.at(TokenKind::Colon) { line } else { self.location_number()? };
        let end_col = self.column()?;
        let file = self.ctx.name(file);
        Ok(self.ctx.loc(LocData::FileRange { file, line, col, end_line, end_col }))
    }

    fn column(&mut self) -> ParseResult<u32> {
        if self.eat(TokenKind::Colon) { self.location_number() } else { Ok(0) }
    }

    fn location_number(&mut self) -> ParseResult<u32> {
        let start = self.tok.start;
        let value = self.parse_integer()?;
        u32::try_from(value).map_err(|_| self.error_at(start, "line or column out of range"))
    }
}
