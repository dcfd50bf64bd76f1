//! Reading locations.

use super::lexer::TokenKind;
use super::parser::{ParseResult, Parser};
use crate::{AttrData, Loc, LocData};

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

    fn location_body(&mut self) -> ParseResult<Loc> {
        let ctx = self.ctx;
        let token = self.tok;
        match token.kind {
            TokenKind::String => {
                let text = self.parse_string()?;
                if self.eat(TokenKind::Colon) {
                    let line = self.location_number()?;
                    self.expect(TokenKind::Colon, "':'")?;
                    let col = self.location_number()?;
                    return Ok(ctx.file_loc(&text, line, col));
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

    fn location_number(&mut self) -> ParseResult<u32> {
        let start = self.tok.start;
        let value = self.parse_integer()?;
        u32::try_from(value).map_err(|_| self.error_at(start, "line or column out of range"))
    }
}
