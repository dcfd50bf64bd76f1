//! Reading types.

use super::lexer::{Lexer, TokenKind};
use super::parser::{Failed, ParseResult, Parser};
use crate::types::{DYNAMIC, FloatKind, Signedness, TypeData};
use crate::{Attr, AttrData, Type};

impl<'p> Parser<'p> {
    /// Reads a type.
    pub fn parse_type(&mut self) -> ParseResult<Type> {
        match self.parse_optional_type()? {
            Some(ty) => Ok(ty),
            None => Err(self.expected("a type")),
        }
    }

    /// Reads a type if the next token begins one.
    pub fn parse_optional_type(&mut self) -> ParseResult<Option<Type>> {
        match self.tok.kind {
            TokenKind::LParen => self.nested(Self::function_type).map(Some),
            TokenKind::Bang => self.nested(Self::dialect_type).map(Some),
            TokenKind::BareId => {
                let token = self.tok;
                let text = self.text(token);
                if let Some(known) = self.seen.types.get(text) {
                    self.advance();
                    return Ok(Some(known));
                }
                if let Some(simple) = self.simple_type(text)? {
                    self.seen.types.insert(text, simple);
                    self.advance();
                    return Ok(Some(simple));
                }
                match text {
                    "tensor" | "memref" | "vector" | "complex" | "tuple" => {
                        self.advance();
                        self.nested(|p| p.composite_type(text)).map(Some)
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn simple_type(&mut self, text: &str) -> ParseResult<Option<Type>> {
        let ctx = self.ctx;
        if let Some(kind) = FloatKind::from_spelling(text) {
            return Ok(Some(ctx.ty(TypeData::Float(kind))));
        }
        let (signedness, digits) = match text.as_bytes() {
            [b'i', b'0'..=b'9', ..] => (Signedness::Signless, &text[1..]),
            [b's', b'i', b'0'..=b'9', ..] => (Signedness::Signed, &text[2..]),
            [b'u', b'i', b'0'..=b'9', ..] => (Signedness::Unsigned, &text[2..]),
            _ => {
                return Ok(match text {
                    "index" => Some(ctx.index()),
                    "none" => Some(ctx.none()),
                    _ => None,
                });
            }
        };
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(None);
        }
        match digits.parse::<u32>() {
            Ok(width) if width < 1 << 24 => {
                Ok(Some(ctx.ty(TypeData::Integer { width, signedness })))
            }
            _ => Err(self.error("integer bitwidth is limited to 16777215 bits")),
        }
    }

    /// `(a, b) -> c` or `(a, b) -> (c, d)`
    pub(super) fn function_type(&mut self) -> ParseResult<Type> {
        let inputs = self.parse_type_list()?;
        self.expect(TokenKind::Arrow, "'->' in a function type")?;
        let results = self.parse_function_results()?;
        Ok(self.ctx.function(&inputs, &results))
    }

    /// Reads `(a, b)`.
    pub fn parse_type_list(&mut self) -> ParseResult<Vec<Type>> {
        self.expect(TokenKind::LParen, "'('")?;
        let mut types = Vec::new();
        self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
            types.push(p.parse_type()?);
            Ok(())
        })?;
        Ok(types)
    }

    /// Reads what stands after `->`: one type without parentheses, or a list.
    pub fn parse_function_results(&mut self) -> ParseResult<Vec<Type>> {
        if !self.at(TokenKind::LParen) {
            return Ok(vec![self.parse_type()?]);
        }
        self.parse_type_list()
    }

    fn dialect_type(&mut self) -> ParseResult<Type> {
        let token = self.advance();
        let text = &self.text(token)[1..];
        let has_body = self.at(TokenKind::Less) && self.tok.start == token.end;
        if !text.contains('.') && !has_body {
            return match self.type_aliases.get(text).copied() {
                Some(ty) => {
                    self.expand_alias(self.text(token), token.start)?;
                    Ok(ty)
                }
                None => Err(self.error_at(token.start, format!("undefined type alias '!{text}'"))),
            };
        }
        let name = self.ctx.name(text);
        if let Some(def) = self.ctx.type_def(name) {
            let params = def.parse(self)?;
            return Ok(self.ctx.ty(TypeData::Dialect { name, params: params.into() }));
        }
        let (dialect, body) = self.opaque_symbol(token.start, token.end, "type")?;
        Ok(self.ctx.ty(TypeData::Opaque { dialect: self.ctx.name(dialect), body: body.into() }))
    }

    /// The dialect and the rest of `!dialect.name<body>` or `#dialect<body>`, kept byte for byte. `end` is where the sigil's token ends.
    pub(super) fn opaque_symbol(
        &mut self,
        start: u32,
        end: u32,
        what: &str,
    ) -> ParseResult<(&'p str, std::borrow::Cow<'p, str>)> {
        let text = &self.source.text[start as usize + 1..end as usize];
        let dialect = text.split('.').next().unwrap_or(text);
        if self.ctx.has_dialect(dialect) && dialect != "builtin" {
            return Err(self.error_at(start, format!("dialect '{dialect}' has no {what} '{text}'")));
        }
        if !self.ctx.allow_unregistered {
            let sigil = if what == "type" { '!' } else { '#' };
            self.report_at(start, format!("unknown dialect '{dialect}' of {what} '{sigil}{text}'"))
                .hint("pass --allow-unregistered-dialect to accept it unread");
            return Err(Failed);
        }
        let mut stop = end as usize;
        if self.source.text.as_bytes().get(stop) == Some(&b'<') {
            stop = self.balanced_end(stop)?;
            self.jump(stop);
        }
        Ok((dialect, dotted(&self.source.text[start as usize + 1 + dialect.len()..stop])))
    }

    /// Where the bracket that opens at `from` closes. Strings and `->` are the only things looked into.
    fn balanced_end(&mut self, from: usize) -> ParseResult<usize> {
        let source: &'p str = &self.source.text;
        let bytes = source.as_bytes();
        let (mut open, mut at) = (Vec::new(), from);
        while let Some(&b) = bytes.get(at) {
            match b {
                b'<' | b'(' | b'[' | b'{' => open.push(b),
                b'>' | b')' | b']' | b'}' => {
                    let matching = matches!(
                        (open.pop(), b),
                        (Some(b'<'), b'>')
                            | (Some(b'('), b')')
                            | (Some(b'['), b']')
                            | (Some(b'{'), b'}')
                    );
                    if !matching {
                        return Err(self.error_at(
                            at as u32,
                            format!("unbalanced '{}' in a dialect symbol's body", b as char),
                        ));
                    }
                    if open.is_empty() {
                        return Ok(at + 1);
                    }
                }
                b'-' if bytes.get(at + 1) == Some(&b'>') => at += 1,
                b'"' => {
                    let mut lexer = Lexer::new(source);
                    lexer.at = at;
                    let token = lexer.next();
                    if let TokenKind::Error(error) = token.kind {
                        return Err(self.error_at(token.start, error.message()));
                    }
                    at = token.end as usize - 1;
                }
                0 => return Err(self.error_at(at as u32, "NUL byte in the text")),
                _ => {}
            }
            at += 1;
        }
        Err(self.error_at(from as u32, "'<' is not closed before the end of the file"))
    }

    fn composite_type(&mut self, what: &str) -> ParseResult<Type> {
        let start = self.expect(TokenKind::Less, "'<'")?.start;
        let data = match what {
            "complex" => {
                let at = self.tok.start;
                let element = self.parse_type()?;
                if !matches!(element.data(self.ctx), TypeData::Float(_) | TypeData::Integer { .. })
                {
                    return Err(
                        self.error_at(at, "a complex type has integer or floating-point elements")
                    );
                }
                TypeData::Complex(element)
            }
            "tuple" => {
                let mut types = Vec::new();
                self.comma_list(TokenKind::Greater, "',' or '>'", |p| {
                    types.push(p.parse_type()?);
                    Ok(())
                })?;
                return Ok(self.ctx.ty(TypeData::Tuple(types.into())));
            }
            "tensor" if self.at(TokenKind::Star) => {
                TypeData::UnrankedTensor { element: self.unranked_element(what)? }
            }
            "tensor" => {
                let shape = self.dimension_list(true)?;
                let element = self.element_type(what)?;
                let encoding =
                    if self.eat(TokenKind::Comma) { Some(self.parse_attribute()?) } else { None };
                TypeData::Tensor { shape: shape.into(), element, encoding }
            }
            "memref" if self.at(TokenKind::Star) => {
                let element = self.unranked_element(what)?;
                let space =
                    if self.eat(TokenKind::Comma) { Some(self.memory_space()?) } else { None };
                TypeData::UnrankedMemRef { element, space: space.flatten() }
            }
            "memref" => self.memref(start)?,
            _ => self.vector()?,
        };
        self.expect(TokenKind::Greater, "'>'")?;
        Ok(self.ctx.ty(data))
    }

    /// The element type of a shaped type.
    fn element_type(&mut self, what: &str) -> ParseResult<Type> {
        let at = self.tok.start;
        let element = self.parse_type()?;
        let fits = match element.data(self.ctx) {
            TypeData::Integer { .. } | TypeData::Index | TypeData::Float(_) => true,
            TypeData::Complex(_) | TypeData::Vector { .. } => what != "vector",
            TypeData::MemRef { .. } | TypeData::UnrankedMemRef { .. } => what == "memref",
            TypeData::Opaque { .. } => what == "tensor",
            TypeData::Dialect { .. } => true,
            _ => false,
        };
        if fits {
            return Ok(element);
        }
        let text = element.display(self.ctx);
        Err(self.error_at(at, format!("{text} cannot be an element of a {what}")))
    }

    /// `*xf32`
    fn unranked_element(&mut self, what: &str) -> ParseResult<Type> {
        self.advance();
        let token = self.tok;
        if token.kind != TokenKind::BareId || !self.text(token).starts_with('x') {
            return Err(self.expected("'x' after '*'"));
        }
        self.jump(token.start as usize + 1);
        self.element_type(what)
    }

    /// `2x3xf32, layout, space`: the layout is an affine map or strides, and comes first.
    fn memref(&mut self, start: u32) -> ParseResult<TypeData> {
        let shape = self.dimension_list(true)?;
        let element = self.element_type("memref")?;
        let (mut layout, mut space) = (None, None);
        let (mut has_layout, mut has_space) = (false, false);
        while self.eat(TokenKind::Comma) {
            let at = self.tok.start;
            let attr = self.parse_attribute()?;
            if matches!(attr.data(self.ctx), AttrData::AffineMap(_) | AttrData::Strided { .. }) {
                if has_layout || has_space {
                    return Err(
                        self.error_at(at, "expected the memory space to be last in a memref type")
                    );
                }
                self.check_layout(attr, shape.len(), start)?;
                has_layout = true;
                let identity = attr.as_affine_map(self.ctx).is_some_and(|map| map.is_identity());
                layout = if identity { None } else { Some(attr) };
            } else if has_space {
                return Err(self.error_at(at, "a memref type has at most one memory space"));
            } else {
                has_space = true;
                space = self.as_memory_space(attr, at)?;
            }
        }
        Ok(TypeData::MemRef { shape: shape.into(), element, layout, space })
    }

    fn check_layout(&mut self, layout: Attr, rank: usize, start: u32) -> ParseResult<()> {
        let (what, given) = match layout.data(self.ctx) {
            AttrData::AffineMap(map) => ("affine map", map.dims as usize),
            AttrData::Strided { strides, .. } => ("list of strides", strides.len()),
            _ => return Ok(()),
        };
        if given == rank {
            return Ok(());
        }
        Err(self.error_at(
            start,
            format!("a memref of rank {rank} has a layout whose {what} has rank {given}"),
        ))
    }

    fn memory_space(&mut self) -> ParseResult<Option<Attr>> {
        let at = self.tok.start;
        let attr = self.parse_attribute()?;
        self.as_memory_space(attr, at)
    }

    /// A memory space; 0 is the default one and not kept.
    fn as_memory_space(&mut self, attr: Attr, at: u32) -> ParseResult<Option<Attr>> {
        match attr.data(self.ctx) {
            AttrData::Int { value: 0, ty } if *ty == self.ctx.i64() => Ok(None),
            AttrData::Int { .. }
            | AttrData::WideInt { .. }
            | AttrData::Str(_)
            | AttrData::TypedStr { .. }
            | AttrData::Dict(_)
            | AttrData::Dialect { .. } => Ok(Some(attr)),
            _ => Err(self.error_at(
                at,
                "a memory space is an integer, a string, a dictionary or an attribute of a known dialect",
            )),
        }
    }

    /// `4x[8]xf32`
    fn vector(&mut self) -> ParseResult<TypeData> {
        let (mut shape, mut scalable) = (Vec::new(), Vec::new());
        loop {
            let at = self.tok.start;
            let in_brackets = self.eat(TokenKind::LSquare);
            if self.at(TokenKind::Question) {
                return Err(self.error("expected static shape: a vector has no dynamic dimension"));
            }
            if !self.at(TokenKind::Integer) {
                if in_brackets {
                    return Err(self.expected("the size of a scalable dimension"));
                }
                break;
            }
            let size = self.dimension()?;
            if size == 0 {
                return Err(self.error_at(at, "the dimensions of a vector must be positive"));
            }
            if in_brackets {
                self.expect(TokenKind::RSquare, "']' after a scalable dimension")?;
            }
            self.dimension_separator()?;
            shape.push(size);
            scalable.push(in_brackets);
        }
        let element = self.element_type("vector")?;
        if !scalable.contains(&true) {
            scalable.clear();
        }
        Ok(TypeData::Vector { shape: shape.into(), scalable: scalable.into(), element })
    }

    /// A number at which a size begins: `0x10` is the size 0 before an `x`.
    fn dimension(&mut self) -> ParseResult<i64> {
        let token = self.tok;
        let text = self.text(token);
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let Some(size) = text[..digits].parse::<i64>().ok() else {
            return Err(self.error("dimension does not fit 64 bits"));
        };
        self.jump(token.start as usize + digits);
        Ok(size)
    }

    fn dimension_separator(&mut self) -> ParseResult<()> {
        let x = self.tok;
        if x.kind != TokenKind::BareId || !self.text(x).starts_with('x') {
            return Err(self.expected("'x' between dimensions"));
        }
        self.jump(x.start as usize + 1);
        Ok(())
    }

    /// Reads `4x?x` up to the element type. `4xf32` lexes as `4` and `xf32`, and `0xf32` as one hexadecimal number, so this goes by bytes.
    pub(super) fn dimension_list(&mut self, allow_dynamic: bool) -> ParseResult<Vec<i64>> {
        let mut shape = Vec::new();
        loop {
            let token = self.tok;
            let size = match token.kind {
                TokenKind::Integer => self.dimension()?,
                TokenKind::Question if allow_dynamic => {
                    self.advance();
                    DYNAMIC
                }
                _ => return Ok(shape),
            };
            self.dimension_separator()?;
            shape.push(size);
        }
    }
}

/// `<name>` and `<name<...>>` are other ways to write `.name` and `.name<...>`.
fn dotted(body: &str) -> std::borrow::Cow<'_, str> {
    let inner = body.strip_prefix('<').and_then(|body| body.strip_suffix('>'));
    let Some(inner) = inner else { return body.into() };
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    let name = inner.find(|c| !is_part(c)).unwrap_or(inner.len());
    let (name, params) = inner.split_at(name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let closes_at_end = || {
        let mut depth = 0usize;
        let mut ends = params.char_indices().filter_map(|(at, c)| {
            match c {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0).then_some(at)
        });
        ends.next() == params.len().checked_sub(1)
    };
    if is_name && (params.is_empty() || (params.starts_with('<') && closes_at_end())) {
        return format!(".{inner}").into();
    }
    body.into()
}
