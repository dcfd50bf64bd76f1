//! Reading attributes and locations.

use std::sync::Arc;

use super::lexer::TokenKind;
use super::numbers::{from_format_bits, parse_int, round_to};
use super::parser::{Failed, ParseResult, Parser};
use crate::types::{Signedness, TypeData};
use crate::{Attr, AttrData, Loc, LocData, Name, Type};

impl<'p> Parser<'p> {
    /// Reads an attribute.
    pub fn parse_attribute(&mut self) -> ParseResult<Attr> {
        self.nested(Self::attribute)
    }

    fn attribute(&mut self) -> ParseResult<Attr> {
        let ctx = self.ctx;
        match self.tok.kind {
            TokenKind::String => Ok(ctx.attr(AttrData::Str(self.parse_string()?.into()))),
            TokenKind::Integer | TokenKind::Float | TokenKind::Minus => self.number(None),
            TokenKind::LSquare => {
                self.advance();
                let mut items = Vec::new();
                self.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
                    items.push(p.parse_attribute()?);
                    Ok(())
                })?;
                Ok(ctx.array_attr(items))
            }
            TokenKind::LBrace => {
                let entries = self.parse_attr_dict()?;
                Ok(ctx.dict_attr(entries))
            }
            TokenKind::At => self.symbol_reference(),
            TokenKind::Hash => self.dialect_attribute(),
            TokenKind::BareId => {
                let token = self.tok;
                match self.text(token) {
                    "true" | "false" => {
                        self.advance();
                        Ok(ctx.bool_attr(self.text(token) == "true"))
                    }
                    "unit" => {
                        self.advance();
                        Ok(ctx.unit())
                    }
                    "array" => {
                        self.advance();
                        self.dense_array()
                    }
                    "dense" | "dense_resource" | "sparse" => {
                        self.advance();
                        self.dense(token.start, token.end)
                    }
                    "loc" => Ok(ctx.attr(AttrData::Loc(self.parse_location()?))),
                    _ => self.type_attribute(),
                }
            }
            _ => self.type_attribute(),
        }
    }

    fn type_attribute(&mut self) -> ParseResult<Attr> {
        match self.parse_optional_type()? {
            Some(ty) => Ok(self.ctx.type_attr(ty)),
            None if self.at(TokenKind::BareId) => {
                let word = self.text(self.tok);
                self.expected("an attribute");
                if let Some(error) = self.reporter.last_mut() {
                    error.hint(format!("a string is written in quotes: \"{word}\""));
                }
                Err(Failed)
            }
            None => Err(self.expected("an attribute")),
        }
    }

    /// Reads a number that no type can follow: `f64` with a point, else `i64`. Anything else is read as an attribute.
    pub fn parse_plain_number(&mut self) -> ParseResult<Attr> {
        let token = self.tok;
        if !matches!(token.kind, TokenKind::Integer | TokenKind::Float | TokenKind::Minus) {
            return self.parse_attribute();
        }
        let digits = if token.kind == TokenKind::Minus { self.lexer.clone().next() } else { token };
        let ty = if digits.kind == TokenKind::Float { self.ctx.f64() } else { self.ctx.i64() };
        self.number(Some(ty))
    }

    /// Reads a number with an optional `: type`, or of type `ty`.
    fn number(&mut self, ty: Option<Type>) -> ParseResult<Attr> {
        let ctx = self.ctx;
        let start = self.tok.start;
        let negative = self.eat(TokenKind::Minus);
        let token = self.tok;
        if !matches!(token.kind, TokenKind::Integer | TokenKind::Float) {
            return Err(self.expected("a number"));
        }
        self.advance();
        let text = self.text(token);
        let explicit = match ty {
            Some(ty) => Some(ty),
            None if self.eat(TokenKind::Colon) => Some(self.parse_type()?),
            None => None,
        };
        let ty =
            explicit.unwrap_or(if token.kind == TokenKind::Float { ctx.f64() } else { ctx.i64() });
        if let TypeData::Float(kind) = *ty.data(ctx) {
            let value = if token.kind == TokenKind::Float {
                let value: f64 =
                    text.parse().map_err(|_| self.error_at(token.start, "malformed number"))?;
                round_to(kind, if negative { -value } else { value })
            } else if text.starts_with("0x") && !negative {
                let bits = parse_int(text).and_then(|bits| u64::try_from(bits).ok());
                let fits = bits.filter(|bits| kind.bits() >= 64 || bits >> kind.bits() == 0);
                from_format_bits(
                    kind,
                    fits.ok_or_else(|| {
                        self.error_at(start, "hexadecimal float constant out of range for type")
                    })?,
                )
            } else {
                return Err(self.error_at(start, "unexpected decimal integer literal for a floating-point attribute (write a '.')"));
            };
            return Ok(ctx.attr(AttrData::Float { bits: value.to_bits(), ty }));
        }
        if token.kind == TokenKind::Float {
            return Err(self.error_at(
                start,
                format!("floating-point value is not valid for type {}", ty.display(ctx)),
            ));
        }
        let (width, signedness) = match *ty.data(ctx) {
            TypeData::Integer { width, signedness } => (width, signedness),
            TypeData::Index => (64, Signedness::Signless),
            _ => {
                return Err(self.error_at(
                    start,
                    format!("integer literal is not valid for type {}", ty.display(ctx)),
                ));
            }
        };
        let value = parse_int(text).map(|v| if negative { -v } else { v });
        let value = value.and_then(|v| wrap_integer(v, width, signedness));
        let value = value
            .ok_or_else(|| self.error_at(start, "integer constant out of range for attribute"))?;
        Ok(ctx.attr(AttrData::Int { value, ty }))
    }

    fn symbol_reference(&mut self) -> ParseResult<Attr> {
        let root = self.parse_symbol_name()?;
        let mut nested = Vec::new();
        while self.at(TokenKind::Colon)
            && self.source.text.as_bytes().get(self.tok.end as usize) == Some(&b':')
        {
            self.advance();
            self.advance();
            nested.push(self.parse_symbol_name()?);
        }
        Ok(self.ctx.attr(AttrData::Symbol { root, nested: nested.into() }))
    }

    fn dialect_attribute(&mut self) -> ParseResult<Attr> {
        let token = self.advance();
        let text = &self.text(token)[1..];
        let has_body = self.at(TokenKind::Less) && self.tok.start == token.end;
        if !text.contains('.') && !has_body {
            return match self.attr_aliases.get(text) {
                Some(attr) => Ok(*attr),
                None => {
                    Err(self.error_at(token.start, format!("undefined attribute alias '#{text}'")))
                }
            };
        }
        let name = self.ctx.name(text);
        if let Some(def) = self.ctx.attr_def(name) {
            let params = (def.parse)(self)?;
            return Ok(self.ctx.attr(AttrData::Dialect { name, params: params.into() }));
        }
        let (dialect, body) = self.opaque_symbol(token.start, token.end, "attribute")?;
        let ty = if self.eat(TokenKind::Colon) { Some(self.parse_type()?) } else { None };
        Ok(self.ctx.attr(AttrData::Opaque {
            dialect: self.ctx.name(dialect),
            body: body.into(),
            ty,
        }))
    }

    /// `array<i64: 1, 2>`, the word already taken.
    fn dense_array(&mut self) -> ParseResult<Attr> {
        self.expect(TokenKind::Less, "'<'")?;
        let at = self.tok.start;
        let element = self.parse_type()?;
        if !matches!(
            element.data(self.ctx),
            TypeData::Integer { width: 1 | 8 | 16 | 32 | 64, .. } | TypeData::Float(_)
        ) {
            return Err(self.error_at(
                at,
                "a dense array has integer (1, 8, 16, 32, 64 bits) or floating-point elements",
            ));
        }
        let mut values = Vec::new();
        if self.eat(TokenKind::Colon) {
            loop {
                let item = if self.at_keyword("true") || self.at_keyword("false") {
                    self.attribute()?
                } else {
                    self.number(Some(element))?
                };
                values.push(match *item.data(self.ctx) {
                    AttrData::Float { bits, .. } => bits as i64,
                    AttrData::Int { value, .. } => value as i64,
                    _ => 0,
                });
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.expect(TokenKind::Greater, "',' or '>'")?;
        Ok(self.ctx.attr(AttrData::DenseArray { element, values: values.into() }))
    }

    /// `dense<...> : type`: the body is checked for balance and kept as written.
    fn dense(&mut self, start: u32, end: u32) -> ParseResult<Attr> {
        if !self.at(TokenKind::Less) {
            return Err(self.expected("'<'"));
        }
        let (mut depth, mut integer) = (0, None);
        let is_dense = &self.source.text[start as usize..end as usize] == "dense";
        let body_end = loop {
            match self.tok.kind {
                TokenKind::Less | TokenKind::LSquare | TokenKind::LParen => depth += 1,
                TokenKind::Greater | TokenKind::RSquare | TokenKind::RParen => depth -= 1,
                TokenKind::Eof | TokenKind::Error(_) => {
                    return Err(self.expected("'>' after the elements"));
                }
                TokenKind::Integer if !self.text(self.tok).starts_with("0x") => {
                    integer.get_or_insert(self.tok.start);
                }
                _ => {}
            }
            let token = self.advance();
            if depth == 0 {
                break token.end;
            }
        };
        let body: Arc<str> = self.source.text[start as usize..body_end as usize].into();
        debug_assert!(end <= body_end);
        self.expect(TokenKind::Colon, "':' and the type of the elements")?;
        let at = self.tok.start;
        let ty = self.parse_type()?;
        let (shape, element) = match ty.data(self.ctx) {
            TypeData::Tensor { shape, element, .. }
            | TypeData::MemRef { shape, element, .. }
            | TypeData::Vector { shape, element } => (shape, *element),
            _ => {
                let text = ty.display(self.ctx);
                return Err(self.error_at(at, format!("elements need a shaped type, not {text}")));
            }
        };
        if shape.contains(&crate::DYNAMIC) {
            let text = ty.display(self.ctx);
            return Err(self.error_at(at, format!("elements need a static shape, not {text}")));
        }
        if let (true, Some(at), TypeData::Float(_)) = (is_dense, integer, element.data(self.ctx)) {
            return Err(self
                .error_at(at, "expected floating-point elements, found an integer (write a '.')"));
        }
        Ok(self.ctx.attr(AttrData::Dense { ty, body }))
    }

    /// Reads `{a = 1, b}` with unique keys.
    pub fn parse_attr_dict(&mut self) -> ParseResult<Vec<(Name, Attr)>> {
        self.expect(TokenKind::LBrace, "'{'")?;
        let mut entries: Vec<(Name, Attr)> = Vec::new();
        self.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
            let start = p.tok.start;
            let key = match p.tok.kind {
                TokenKind::BareId => {
                    let token = p.advance();
                    p.name_of(p.text(token))
                }
                TokenKind::String => {
                    let key = p.parse_string()?;
                    p.ctx.name(&key)
                }
                _ => return Err(p.expected("an attribute name")),
            };
            if key.text(p.ctx).is_empty() {
                return Err(p.error_at(start, "expected a valid attribute name"));
            }
            if entries.iter().any(|(k, _)| *k == key) {
                return Err(p.error_at(
                    start,
                    format!("duplicate key '{}' in dictionary attribute", key.text(p.ctx)),
                ));
            }
            let value = if p.eat(TokenKind::Equal) { p.parse_attribute()? } else { p.ctx.unit() };
            entries.push((key, value));
            Ok(())
        })?;
        Ok(entries)
    }

    /// Reads an attribute dictionary if the next token is `{`.
    pub fn parse_optional_attr_dict(&mut self) -> ParseResult<Vec<(Name, Attr)>> {
        if self.at(TokenKind::LBrace) { self.parse_attr_dict() } else { Ok(Vec::new()) }
    }

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

/// The value of a literal in an integer type; a signless type takes the range of both readings and keeps the signed one.
fn wrap_integer(value: i128, width: u32, signedness: Signedness) -> Option<i128> {
    if width >= 127 {
        return Some(value);
    }
    let (half, full) = (1i128 << width.saturating_sub(1), 1i128 << width);
    let in_range = match signedness {
        Signedness::Signless => (-half..full).contains(&value),
        Signedness::Signed => (-half..half).contains(&value),
        Signedness::Unsigned => (0..full).contains(&value),
    };
    if !in_range || width == 0 {
        return (width == 0 && value == 0).then_some(0);
    }
    if width == 1 && signedness == Signedness::Signless {
        return Some(value & 1);
    }
    Some(if signedness == Signedness::Signless && value >= half { value - full } else { value })
}

impl Parser<'_> {
    /// Reports that something here is not supported, saying what is.
    pub fn unsupported(&mut self, what: &str, supported: &str) -> Failed {
        let start = self.tok.start;
        self.report_at(start, format!("{what} is not supported")).hint(supported.to_owned());
        Failed
    }
}
