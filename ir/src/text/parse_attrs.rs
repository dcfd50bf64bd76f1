//! Reading attributes.

use rustc_hash::FxHashSet;

use super::lexer::TokenKind;
use super::numbers::{int_literal, pattern_literal, wide_literal};
use super::parser::{Failed, ParseResult, Parser};
use crate::types::{Signedness, TypeData};
use crate::{Attr, AttrData, Name, Type};

/// Dictionaries of more entries than these are searched by hash.
const MANY_ENTRIES: usize = 32;

impl<'p> Parser<'p> {
    /// Reads an attribute.
    pub fn parse_attribute(&mut self) -> ParseResult<Attr> {
        self.nested(Self::attribute)
    }

    fn attribute(&mut self) -> ParseResult<Attr> {
        let ctx = self.ctx;
        match self.tok.kind {
            TokenKind::String => self.string_attribute(),
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
                    "dense" => {
                        self.advance();
                        self.dense(token.start)
                    }
                    "dense_resource" => {
                        self.advance();
                        self.dense_resource()
                    }
                    "sparse" => {
                        self.advance();
                        self.sparse(token.start)
                    }
                    "affine_map" => {
                        self.advance();
                        self.affine_map()
                    }
                    "affine_set" => {
                        self.advance();
                        self.affine_set()
                    }
                    "strided" => {
                        self.advance();
                        self.strided()
                    }
                    "distinct" => {
                        self.advance();
                        self.distinct_attribute()
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

    /// `"text"` or `"text" : type`
    fn string_attribute(&mut self) -> ParseResult<Attr> {
        let text = self.parse_string()?;
        let ty = if self.eat(TokenKind::Colon) { self.parse_type()? } else { self.ctx.none() };
        Ok(if ty == self.ctx.none() {
            self.ctx.str_attr(&text)
        } else {
            self.ctx.attr(AttrData::TypedStr { text: text.into(), ty })
        })
    }

    /// `distinct[0]<attr>`, the word already taken.
    fn distinct_attribute(&mut self) -> ParseResult<Attr> {
        self.expect(TokenKind::LSquare, "'[' and a number")?;
        let token = self.expect(TokenKind::Integer, "the number of a distinct attribute")?;
        let Ok(number) = self.text(token).parse::<u64>() else {
            return Err(self.error_at(token.start, "expected an unsigned 64-bit integer"));
        };
        self.expect(TokenKind::RSquare, "']' after the number")?;
        self.expect(TokenKind::Less, "'<'")?;
        let attr =
            if self.at(TokenKind::Greater) { self.ctx.unit() } else { self.parse_attribute()? };
        self.expect(TokenKind::Greater, "'>' after a distinct attribute")?;
        match self.distinct.get(&number) {
            Some(&known) => match known.data(self.ctx) {
                AttrData::Distinct { attr: before, .. } if *before == attr => Ok(known),
                _ => Err(self.error_at(
                    token.start,
                    format!("distinct[{number}] is already another attribute"),
                )),
            },
            None => {
                let made = self.ctx.distinct_attr(attr);
                self.distinct.insert(number, made);
                Ok(made)
            }
        }
    }

    /// Reads a number or string that no type can follow: `f64` with a point, else `i64`. Anything else is read as an
    /// attribute.
    pub fn parse_plain_number(&mut self) -> ParseResult<Attr> {
        let token = self.tok;
        if token.kind == TokenKind::String {
            let text = self.parse_string()?;
            return Ok(self.ctx.str_attr(&text));
        }
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
        if ty == ctx.i64()
            && let Some(value) = small_integer(text, negative)
        {
            return Ok(self.seen.integer(ctx, value, ty));
        }
        if let TypeData::Float(kind) = *ty.data(ctx) {
            let pattern = if token.kind == TokenKind::Float {
                let value: f64 =
                    text.parse().map_err(|_| self.error_at(token.start, "malformed number"))?;
                kind.pattern_of(if negative { -value } else { value })
            } else if text.starts_with("0x") && negative {
                return Err(self.error_at(
                    start,
                    "a hexadecimal float literal is a bit pattern and has no leading minus",
                ));
            } else if text.starts_with("0x") {
                pattern_literal(text, kind.bits()).ok_or_else(|| {
                    self.error_at(start, "hexadecimal float constant out of range for type")
                })?
            } else {
                return Err(self.error_at(start, "unexpected decimal integer literal for a floating-point attribute (write a '.')"));
            };
            return Ok(ctx.attr(AttrData::Float { pattern, ty }));
        }
        if token.kind == TokenKind::Float {
            return Err(self.error_at(
                start,
                format!("floating-point value is not valid for type {}", ty.display(ctx)),
            ));
        }
        let (width, signedness, is_index) = match *ty.data(ctx) {
            TypeData::Integer { width, signedness } => (width, signedness, false),
            TypeData::Index => (64, Signedness::Signless, true),
            _ => {
                return Err(self.error_at(
                    start,
                    format!("integer literal is not valid for type {}", ty.display(ctx)),
                ));
            }
        };
        if negative && signedness == Signedness::Unsigned {
            return Err(
                self.error_at(start, "negative integer literal is not valid for an unsigned type")
            );
        }
        let data = if width > 128 {
            wide_literal(text, negative, width, signedness)
                .map(|words| AttrData::WideInt { words, ty })
        } else {
            int_literal(text, negative, width, signedness, is_index)
                .map(|value| AttrData::Int { value, ty })
        };
        match data {
            Some(data) => Ok(ctx.attr(data)),
            None => Err(self.error_at(start, "integer constant out of range for attribute")),
        }
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
            return match self.attr_aliases.get(text).copied() {
                Some(attr) => {
                    self.expand_alias(self.text(token), token.start)?;
                    Ok(attr)
                }
                None => {
                    Err(self.error_at(token.start, format!("undefined attribute alias '#{text}'")))
                }
            };
        }
        let name = self.ctx.name(text);
        if let Some(def) = self.ctx.attr_def(name) {
            let params = def.parse(self)?;
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
        let bits = match *element.data(self.ctx) {
            TypeData::Integer { width, .. } => width,
            TypeData::Float(kind) => kind.bits(),
            _ => {
                return Err(
                    self.error_at(at, "a dense array has integer or floating-point elements")
                );
            }
        };
        if bits == 0 || (bits != 1 && bits % 8 != 0) {
            return Err(
                self.error_at(at, "elements of a dense array have 1 bit or a multiple of 8 bits")
            );
        }
        let mut values = Vec::new();
        if self.eat(TokenKind::Colon) {
            loop {
                let at = self.tok.start;
                let is_word = self.at_keyword("true") || self.at_keyword("false");
                if is_word && element != self.ctx.i1() {
                    return Err(self.error_at(at, "'true' and 'false' are elements of type i1"));
                }
                let item = if is_word { self.attribute()? } else { self.number(Some(element))? };
                match item.data(self.ctx) {
                    AttrData::WideInt { words, .. } => {
                        values.extend(words.iter().map(|&w| w as i64))
                    }
                    AttrData::Int { value: bits, .. } => {
                        values.push(*bits as i64);
                        values.extend(
                            (element_words(element, self.ctx) > 1).then(|| (bits >> 64) as i64),
                        );
                    }
                    AttrData::Float { pattern, .. } => {
                        values.push(*pattern as i64);
                        values.extend(
                            (element_words(element, self.ctx) > 1).then(|| (pattern >> 64) as i64),
                        );
                    }
                    _ => {}
                }
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.expect(TokenKind::Greater, "',' or '>'")?;
        Ok(self.ctx.attr(AttrData::DenseArray { element, values: values.into() }))
    }

    /// Reads `{a = 1, b}` with unique keys.
    pub fn parse_attr_dict(&mut self) -> ParseResult<Vec<(Name, Attr)>> {
        let base = self.scratch.entries.len();
        let read = self.attr_entries(base);
        let entries = self.scratch.entries.split_off(base);
        read.map(|()| entries)
    }

    /// Reads an attribute dictionary into the scratch list, which holds others below `base`.
    pub(super) fn attr_entries(&mut self, base: usize) -> ParseResult<()> {
        self.expect(TokenKind::LBrace, "'{'")?;
        let mut many: FxHashSet<Name> = FxHashSet::default();
        self.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
            let start = p.tok.start;
            let key = match p.tok.kind {
                TokenKind::BareId => {
                    let token = p.advance();
                    p.name_of(p.text(token))
                }
                TokenKind::String => {
                    let key = p.parse_string()?;
                    if key.is_empty() {
                        return Err(p.error_at(start, "expected a valid attribute name"));
                    }
                    p.ctx.name(&key)
                }
                _ => return Err(p.expected("an attribute name")),
            };
            let given = &p.scratch.entries[base..];
            let is_known = if given.len() < MANY_ENTRIES {
                given.iter().any(|(k, _)| *k == key)
            } else {
                if many.is_empty() {
                    many.extend(given.iter().map(|(k, _)| *k));
                }
                !many.insert(key)
            };
            if is_known {
                return Err(p.error_at(
                    start,
                    format!("duplicate key '{}' in dictionary attribute", key.text(p.ctx)),
                ));
            }
            let value = if p.eat(TokenKind::Equal) { p.parse_attribute()? } else { p.ctx.unit() };
            p.scratch.entries.push((key, value));
            Ok(())
        })
    }

    /// Sets an attribute of the operation that is read.
    pub fn set_attr(&mut self, name: &str, attr: Attr) {
        let name = self.ctx.name(name);
        self.state.attrs.push((name, attr));
    }

    /// Reads an attribute dictionary, if the next token is `{`, into the operation that is read.
    pub fn parse_optional_attributes(&mut self) -> ParseResult<()> {
        if !self.at(TokenKind::LBrace) {
            return Ok(());
        }
        let at = self.tok.start;
        let base = self.scratch.entries.len();
        let read = self.attr_entries(base);
        let Self { scratch, state, .. } = self;
        let twice = scratch.entries[base..]
            .iter()
            .find(|(key, _)| state.attrs.iter().any(|(k, _)| k == key));
        let twice = twice.map(|(key, _)| *key);
        state.attrs.extend(scratch.entries.drain(base..));
        read?;
        match twice {
            None => Ok(()),
            Some(key) => Err(self.given_twice(at, key)),
        }
    }

    pub(super) fn given_twice(&mut self, at: u32, key: Name) -> Failed {
        let key = key.text(self.ctx);
        self.error_at(at, format!("attribute '{key}' is given twice"))
    }

    /// Reads an attribute dictionary if the next token is `{`.
    pub fn parse_optional_attr_dict(&mut self) -> ParseResult<Vec<(Name, Attr)>> {
        if self.at(TokenKind::LBrace) { self.parse_attr_dict() } else { Ok(Vec::new()) }
    }
}

/// The value of a literal of so few decimal digits that `i64` holds it whatever they are; none for others, and for `-0`.
fn small_integer(text: &str, negative: bool) -> Option<i64> {
    if text.len() > 18 || text.starts_with("0x") {
        return None;
    }
    let value: i64 = text.parse().ok()?;
    if negative { (value != 0).then_some(-value) } else { Some(value) }
}

/// How many words an element of `array<...>` takes.
pub(super) fn element_words(element: Type, ctx: &crate::Context) -> usize {
    match *element.data(ctx) {
        TypeData::Integer { width, .. } => width.div_ceil(64).max(1) as usize,
        TypeData::Float(kind) => kind.bits().div_ceil(64) as usize,
        _ => 1,
    }
}

impl Parser<'_> {
    /// Reports that something here is not supported, saying what is.
    pub fn unsupported(&mut self, what: &str, supported: &str) -> Failed {
        let start = self.tok.start;
        self.report_at(start, format!("{what} is not supported")).hint(supported.to_owned());
        Failed
    }
}
