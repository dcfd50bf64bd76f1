//! Reading `dense<...>`, `sparse<...>` and `dense_resource<...>`.

use super::lexer::TokenKind;
use super::numbers::{int_literal, pattern_literal, wide_literal};
use super::parser::{Failed, ParseResult, Parser, unescape};
use crate::dense::{Number, num_elements};
use crate::types::{DYNAMIC, Signedness};
use crate::{Attr, AttrData, Blob, Type};

/// An element as written: its value is known once the type is, which stands after all elements.
#[derive(Clone, Copy)]
struct Item {
    /// The token's offsets, without a sign.
    start: u32,
    end: u32,
    kind: TokenKind,
    negative: bool,
}

/// What stands between the brackets.
#[derive(Default)]
struct Literal {
    /// Elements in row-major order; two for each complex one.
    items: Vec<Item>,
    /// The lengths of the nested lists; empty for a single element.
    shape: Vec<i64>,
    /// Whether elements are written as pairs.
    has_pairs: bool,
    /// Whether it is one string, which may be bytes in hexadecimal.
    is_string: bool,
}

impl<'p> Parser<'p> {
    /// `dense<...> : type`, the word already taken.
    pub(super) fn dense(&mut self, start: u32) -> ParseResult<Attr> {
        self.expect(TokenKind::Less, "'<'")?;
        let mut literal = Literal::default();
        if !self.eat(TokenKind::Greater) {
            self.dense_literal(&mut literal)?;
            self.expect(TokenKind::Greater, "'>' after the elements")?;
        }
        let ty = self.elements_type()?;
        self.dense_of(&literal, ty, start)
    }

    /// `: type` after elements: shaped and static.
    fn elements_type(&mut self) -> ParseResult<Type> {
        self.expect(TokenKind::Colon, "':' and the type of the elements")?;
        let at = self.tok.start;
        let ty = self.parse_type()?;
        let Some((shape, _)) = ty.as_shaped(self.ctx) else {
            let text = ty.display(self.ctx);
            return Err(self.error_at(at, format!("elements need a shaped type, not {text}")));
        };
        if shape.contains(&DYNAMIC) {
            let text = ty.display(self.ctx);
            return Err(self.error_at(at, format!("elements need a static shape, not {text}")));
        }
        if num_elements(shape).is_none() {
            let text = ty.display(self.ctx);
            return Err(self.error_at(at, format!("{text} has more elements than memory can hold")));
        }
        Ok(ty)
    }

    fn dense_literal(&mut self, literal: &mut Literal) -> ParseResult<()> {
        literal.is_string = self.at(TokenKind::String);
        if self.at(TokenKind::LSquare) {
            literal.shape = self.dense_list(literal)?;
            Ok(())
        } else {
            self.dense_element(literal)
        }
    }

    /// A list, whose lengths it returns.
    fn dense_list(&mut self, literal: &mut Literal) -> ParseResult<Vec<i64>> {
        self.expect(TokenKind::LSquare, "'['")?;
        let (mut count, mut inner): (i64, Option<Vec<i64>>) = (0, None);
        self.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
            let at = p.tok.start;
            let shape = if p.at(TokenKind::LSquare) {
                p.nested(|p| p.dense_list(literal))?
            } else {
                p.dense_element(literal)?;
                Vec::new()
            };
            count += 1;
            match &inner {
                Some(known) if *known != shape => Err(p.error_at(
                    at,
                    "tensor literal is invalid; ranks are not consistent between elements",
                )),
                _ => {
                    inner = Some(shape);
                    Ok(())
                }
            }
        })?;
        let mut shape = vec![count];
        shape.extend(inner.unwrap_or_default());
        Ok(shape)
    }

    fn dense_element(&mut self, literal: &mut Literal) -> ParseResult<()> {
        if !self.eat(TokenKind::LParen) {
            let item = self.dense_number()?;
            literal.items.push(item);
            return Ok(());
        }
        literal.has_pairs = true;
        let real = self.dense_number()?;
        self.expect(TokenKind::Comma, "',' between the parts of a complex number")?;
        let imaginary = self.dense_number()?;
        self.expect(TokenKind::RParen, "')' after a complex number")?;
        literal.items.extend([real, imaginary]);
        Ok(())
    }

    fn dense_number(&mut self) -> ParseResult<Item> {
        let negative = self.eat(TokenKind::Minus);
        let is_number = match self.tok.kind {
            TokenKind::Integer | TokenKind::Float => true,
            TokenKind::BareId => !negative && (self.at_keyword("true") || self.at_keyword("false")),
            TokenKind::String => !negative,
            _ => false,
        };
        if !is_number {
            return Err(self.expected("an element (a number, true, false or a string)"));
        }
        let token = self.advance();
        Ok(Item { start: token.start, end: token.end, kind: token.kind, negative })
    }

    fn item_text(&self, item: Item) -> &'p str {
        &self.source.text[item.start as usize..item.end as usize]
    }

    fn dense_of(&mut self, literal: &Literal, ty: Type, start: u32) -> ParseResult<Attr> {
        let ctx = self.ctx;
        let (shape, element) = ty.as_shaped(ctx).expect("checked to be shaped");
        let len = num_elements(shape).expect("checked to be static");
        let number = Number::of(element, ctx);
        if let (true, Some(number)) = (literal.is_string, number) {
            return self.dense_hex(literal.items[0], ty, len, number, start);
        }
        if !literal.shape.is_empty() && literal.shape != shape {
            return Err(self.error_at(
                start,
                format!(
                    "the elements have shape {:?}, but the type {} has {shape:?}",
                    literal.shape,
                    ty.display(ctx)
                ),
            ));
        }
        if literal.items.is_empty() && len > 0 {
            let text = ty.display(ctx);
            return Err(
                self.error_at(start, format!("no elements are given, but {text} has {len}"))
            );
        }
        let Some((number, is_pair)) = number else {
            return self.dense_strings(literal, ty, element);
        };
        if literal.has_pairs != is_pair && !literal.items.is_empty() {
            let text = element.display(ctx);
            let what = if is_pair { "pairs (re, im)" } else { "single numbers" };
            return Err(self.error_at(start, format!("elements of type {text} are {what}")));
        }
        if len == 0 {
            return Ok(ctx.dense_attr(ty, Vec::new()));
        }
        let mut bytes = Vec::with_capacity(literal.items.len() * number.bytes());
        for &item in &literal.items {
            self.element_bytes(item, number, &mut bytes)?;
        }
        Ok(ctx.dense_attr(ty, bytes))
    }

    fn element_bytes(&mut self, item: Item, number: Number, out: &mut Vec<u8>) -> ParseResult<()> {
        let (text, at, size) = (self.item_text(item), item.start, number.bytes());
        let pattern = match (number, item.kind) {
            (_, TokenKind::String) => {
                return Err(self.error_at(at, "expected a number, found a string"));
            }
            (Number::Int { width: 1, .. }, TokenKind::BareId) => u128::from(text == "true"),
            (_, TokenKind::BareId) => {
                return Err(self.error_at(at, "'true' and 'false' are elements of type i1"));
            }
            (Number::Float(kind), TokenKind::Float) => {
                let value: f64 = text.parse().map_err(|_| self.error_at(at, "malformed number"))?;
                kind.pattern_of(if item.negative { -value } else { value })
            }
            (Number::Float(kind), _) if text.starts_with("0x") => {
                if item.negative {
                    return Err(
                        self.error_at(at, "a hexadecimal float literal has no leading minus")
                    );
                }
                let pattern = pattern_literal(text, kind.bits());
                pattern.ok_or_else(|| {
                    self.error_at(at, "hexadecimal float constant out of range for type")
                })?
            }
            (Number::Float(_), _) => {
                return Err(self.error_at(
                    at,
                    "expected floating-point elements, found an integer (write a '.')",
                ));
            }
            (Number::Int { .. }, TokenKind::Float) => {
                return Err(
                    self.error_at(at, "expected integer elements, found a floating-point number")
                );
            }
            (Number::Int { signedness: Signedness::Unsigned, .. }, _) if item.negative => {
                return Err(
                    self.error_at(at, "expected unsigned elements, found a negative number")
                );
            }
            (Number::Int { width, signedness }, _) if width > 128 => {
                let words = wide_literal(text, item.negative, width, signedness)
                    .ok_or_else(|| self.element_out_of_range(at))?;
                let wide: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let first = out.len();
                out.extend_from_slice(&wide[..size]);
                clear_above(&mut out[first..], width);
                return Ok(());
            }
            (Number::Int { width, signedness }, _) => {
                let value = int_literal(text, item.negative, width, signedness, false)
                    .ok_or_else(|| self.element_out_of_range(at))?;
                let spare = 128 - width;
                if spare == 128 { 0 } else { (value as u128) << spare >> spare }
            }
        };
        out.extend_from_slice(&pattern.to_le_bytes()[..size]);
        Ok(())
    }

    fn element_out_of_range(&mut self, at: u32) -> Failed {
        self.error_at(at, "integer constant out of range for the element type")
    }

    fn dense_strings(&mut self, literal: &Literal, ty: Type, element: Type) -> ParseResult<Attr> {
        let ctx = self.ctx;
        if literal.has_pairs {
            let (at, element) = (literal.items[0].start, element.display(ctx));
            return Err(self.error_at(at, format!("elements of type {element} are strings")));
        }
        let mut values: Vec<Box<str>> = Vec::with_capacity(literal.items.len());
        for &item in &literal.items {
            if item.kind != TokenKind::String {
                let element = element.display(ctx);
                return Err(
                    self.error_at(item.start, format!("elements of type {element} are strings"))
                );
            }
            values.push(unescape(self.item_text(item)).into());
        }
        if values.iter().all(|value| *value == values[0]) {
            values.truncate(1);
        }
        Ok(ctx.attr(AttrData::DenseStrings { ty, values: values.into() }))
    }

    /// Elements as the bytes they are stored in.
    fn dense_hex(
        &mut self,
        item: Item,
        ty: Type,
        len: usize,
        (number, is_pair): (Number, bool),
        start: u32,
    ) -> ParseResult<Attr> {
        let text = self.item_text(item);
        let Some(mut bytes) = hex_bytes(&text[1..text.len() - 1]) else {
            return Err(self.error_at(
                item.start,
                "elements as a string are bytes in hexadecimal: \"0x\" and pairs of digits",
            ));
        };
        let size = number.bytes() * if is_pair { 2 } else { 1 };
        let is_bit = number.is_bit() && !is_pair;
        let wanted = if is_bit { len.div_ceil(8) } else { size.saturating_mul(len) };
        let is_splat = bytes.len() == if is_bit { 1 } else { size } && len > 0;
        let given = bytes.len();
        if given != wanted && !is_splat {
            let text = ty.display(self.ctx);
            return Err(self.error_at(
                start,
                format!(
                    "{given} byte(s) are given for the elements of {text}, which take {wanted}"
                ),
            ));
        }
        if is_bit {
            // One bit an element; a single byte of ones or zeros is a splat.
            bytes = match bytes[..] {
                [0xFF] if len > 0 && wanted != 1 => vec![1],
                [0x00] if len > 0 && wanted != 1 => vec![0],
                [_] if wanted != 1 => {
                    let text = ty.display(self.ctx);
                    return Err(self.error_at(
                        start,
                        format!("1 byte is given for the elements of {text}, which take {wanted}"),
                    ));
                }
                _ => (0..len).map(|at| bytes[at / 8] >> (at % 8) & 1).collect(),
            };
        } else if let Number::Int { width, .. } = number {
            bytes.chunks_exact_mut(number.bytes()).for_each(|e| clear_above(e, width));
        }
        Ok(self.ctx.dense_attr(ty, bytes))
    }

    /// `dense_resource<key> : type`, the word already taken.
    pub(super) fn dense_resource(&mut self) -> ParseResult<Attr> {
        self.expect(TokenKind::Less, "'<'")?;
        let key = self.parse_resource_key()?;
        self.expect(TokenKind::Greater, "'>' after the key")?;
        self.expect(TokenKind::Colon, "':' and the type of the elements")?;
        let at = self.tok.start;
        let ty = self.parse_type()?;
        if ty.as_shaped(self.ctx).is_none() {
            let text = ty.display(self.ctx);
            return Err(self.error_at(at, format!("a resource needs a shaped type, not {text}")));
        }
        Ok(self.ctx.attr(AttrData::Resource { ty, key }))
    }

    /// The key of a resource: a word or a string.
    pub(super) fn parse_resource_key(&mut self) -> ParseResult<crate::Name> {
        let token = self.tok;
        match token.kind {
            TokenKind::BareId => {
                self.advance();
                Ok(self.ctx.name(self.text(token)))
            }
            TokenKind::String => {
                let key = self.parse_string()?;
                Ok(self.ctx.name(&key))
            }
            _ => Err(self.expected("the key of a resource")),
        }
    }

    /// `sparse<indices, values> : type`, the word already taken.
    pub(super) fn sparse(&mut self, start: u32) -> ParseResult<Attr> {
        self.expect(TokenKind::Less, "'<'")?;
        let (mut indices, mut values) = (Literal::default(), Literal::default());
        let is_empty = self.eat(TokenKind::Greater);
        let mut values_at = self.tok.start;
        if !is_empty {
            self.dense_literal(&mut indices)?;
            self.expect(TokenKind::Comma, "',' between indices and values")?;
            values_at = self.tok.start;
            self.dense_literal(&mut values)?;
            self.expect(TokenKind::Greater, "'>' after the values")?;
        }
        let ty = self.elements_type()?;
        let ctx = self.ctx;
        let (shape, element) = ty.as_shaped(ctx).expect("checked to be shaped");
        let (shape, rank) = (shape.to_vec(), shape.len() as i64);
        // One index alone stands for a list of lists.
        let index_shape: Vec<i64> = match indices.shape[..] {
            [] if is_empty => vec![0, rank],
            [] => vec![1, rank],
            _ => indices.shape.clone(),
        };
        let count = index_shape[0];
        let index_ty = ctx.tensor(&index_shape, ctx.i64());
        let indices = self.dense_of(&indices, index_ty, start)?;
        let value_shape = if values.shape.is_empty() { vec![count] } else { values.shape.clone() };
        let values = self.dense_of(&values, ctx.tensor(&value_shape, element), values_at)?;
        self.check_sparse(&index_shape, &value_shape, indices, &shape, start)?;
        Ok(ctx.attr(AttrData::Sparse { ty, indices, values }))
    }

    fn check_sparse(
        &mut self,
        index_shape: &[i64],
        value_shape: &[i64],
        indices: Attr,
        shape: &[i64],
        start: u32,
    ) -> ParseResult<()> {
        let rank = shape.len();
        let columns = if index_shape.len() == 1 { 1 } else { index_shape[1] };
        if index_shape.len() > 2 || columns != rank as i64 {
            return Err(self.error_at(
                start,
                format!("sparse indices of a tensor of rank {rank} have shape [n, {rank}], not {index_shape:?}"),
            ));
        }
        if value_shape.len() != 1 || value_shape[0] != index_shape[0] {
            return Err(self.error_at(
                start,
                format!(
                    "sparse values of {} indices have shape [{}], not {value_shape:?}",
                    index_shape[0], index_shape[0]
                ),
            ));
        }
        let dense = indices.as_dense(self.ctx).expect("made as numbers");
        let out_of_bounds = dense
            .ints()
            .into_iter()
            .flatten()
            .enumerate()
            .find(|(at, index)| !(0..i128::from(shape[at % rank])).contains(index));
        match out_of_bounds {
            Some((at, index)) => Err(self.error_at(
                start,
                format!(
                    "sparse index {index} of dimension {} is not inside the shape {shape:?}",
                    at % rank
                ),
            )),
            None => Ok(()),
        }
    }
}

/// Clears the bits of a little-endian number from `width` on.
fn clear_above(bytes: &mut [u8], width: u32) {
    if let (1.., Some(last)) = (width % 8, bytes.last_mut()) {
        *last &= (1 << (width % 8)) - 1;
    }
}

/// The bytes of `0x` and pairs of hexadecimal digits.
pub(super) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Bytes as MLIR writes them: `0x` and pairs of upper-case digits.
pub(super) fn print_hex(bytes: impl IntoIterator<Item = u8>) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::from("0x");
    for b in bytes {
        out.push(DIGITS[usize::from(b >> 4)] as char);
        out.push(DIGITS[usize::from(b & 15)] as char);
    }
    out
}

/// An empty tensor has no bytes.
impl Default for Blob {
    fn default() -> Self {
        Blob::new(Vec::new())
    }
}
