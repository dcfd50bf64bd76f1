//! Forms of operations that move values and make constants.

use piper_ir::text::Parser;
use piper_ir::{AttrData, Op, ParseResult, Printer, TokenKind, TypeData};

use crate::stablehlo::forms::{
    comma, elements, finish_functional, finish_same, functional, ints, keyed_int, keyed_list,
    operands_before_word, print_functional, print_keyed_list, print_operands, print_same, resolve,
};

/// `{...} dense<1.0> : T`, the type being that of the constant.
pub(in crate::stablehlo) fn parse_constant(p: &mut Parser<'_>) -> ParseResult<()> {
    p.parse_optional_attributes()?;
    let (value, ty) = elements(p)?;
    p.set_attr("value", value);
    p.state().result_types.push(ty);
    Ok(())
}

pub(in crate::stablehlo) fn print_constant(p: &mut Printer<'_>, op: Op) {
    p.attr_dict(op, &["value"]);
    p.text(" ");
    if let Some(value) = p.module().attr_by(op, "value") {
        p.attr(value);
    }
}

/// Writes `key = 0`.
fn print_int(p: &mut Printer<'_>, op: Op, word: &str, name: &str) {
    let value = p.module().attr_by(op, name).and_then(|attr| attr.as_int(p.ctx()));
    p.text(&format!("{word} = {}", value.unwrap_or(0)));
}

/// `dim = 0 : T`
pub(in crate::stablehlo) fn parse_iota(p: &mut Parser<'_>) -> ParseResult<()> {
    keyed_int(p, "dim", "iota_dimension")?;
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the type of the result")?;
    let ty = p.parse_type()?;
    p.state().result_types.push(ty);
    Ok(())
}

pub(in crate::stablehlo) fn print_iota(p: &mut Printer<'_>, op: Op) {
    p.text(" ");
    print_int(p, op, "dim", "iota_dimension");
    print_same(p, op, &["iota_dimension"]);
}

/// `%x, key = [0, 1] : (T) -> U`, once for each key.
fn parse_lists(p: &mut Parser<'_>, lists: &[(&str, &str)]) -> ParseResult<()> {
    let operands = operands_before_word(p)?;
    for (i, (word, name)) in lists.iter().enumerate() {
        if i > 0 {
            comma(p)?;
        }
        keyed_list(p, word, name)?;
    }
    finish_functional(p, &operands)
}

fn print_lists(p: &mut Printer<'_>, op: Op, lists: &[(&str, &str)]) {
    print_operands(p, op);
    for (word, name) in lists {
        print_keyed_list(p, op, word, name);
    }
    let elided: Vec<&str> = lists.iter().map(|(_, name)| *name).collect();
    print_functional(p, op, &elided);
}

const BROADCAST_IN_DIM: &[(&str, &str)] = &[("dims", "broadcast_dimensions")];
const BROADCAST: &[(&str, &str)] = &[("sizes", "broadcast_sizes")];
const TRANSPOSE: &[(&str, &str)] = &[("dims", "permutation")];
const PAD: &[(&str, &str)] =
    &[("low", "edge_padding_low"), ("high", "edge_padding_high"), ("interior", "interior_padding")];
const SIZES: &[(&str, &str)] = &[("sizes", "slice_sizes")];

pub(in crate::stablehlo) fn parse_broadcast_in_dim(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_lists(p, BROADCAST_IN_DIM)
}

pub(in crate::stablehlo) fn print_broadcast_in_dim(p: &mut Printer<'_>, op: Op) {
    print_lists(p, op, BROADCAST_IN_DIM);
}

pub(in crate::stablehlo) fn parse_dynamic_broadcast(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_lists(p, BROADCAST_IN_DIM)
}

pub(in crate::stablehlo) fn print_dynamic_broadcast(p: &mut Printer<'_>, op: Op) {
    print_lists(p, op, BROADCAST_IN_DIM);
}

pub(in crate::stablehlo) fn parse_broadcast(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_lists(p, BROADCAST)
}

pub(in crate::stablehlo) fn print_broadcast(p: &mut Printer<'_>, op: Op) {
    print_lists(p, op, BROADCAST);
}

pub(in crate::stablehlo) fn parse_transpose(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_lists(p, TRANSPOSE)
}

pub(in crate::stablehlo) fn print_transpose(p: &mut Printer<'_>, op: Op) {
    print_lists(p, op, TRANSPOSE);
}

pub(in crate::stablehlo) fn parse_pad(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_lists(p, PAD)
}

pub(in crate::stablehlo) fn print_pad(p: &mut Printer<'_>, op: Op) {
    print_lists(p, op, PAD);
}

pub(in crate::stablehlo) fn parse_dynamic_slice(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_lists(p, SIZES)
}

pub(in crate::stablehlo) fn print_dynamic_slice(p: &mut Printer<'_>, op: Op) {
    print_lists(p, op, SIZES);
}

/// `%x, dims = [0] : T`
pub(in crate::stablehlo) fn parse_reverse(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = operands_before_word(p)?;
    keyed_list(p, "dims", "dimensions")?;
    finish_same(p, &operands)
}

pub(in crate::stablehlo) fn print_reverse(p: &mut Printer<'_>, op: Op) {
    print_operands(p, op);
    print_keyed_list(p, op, "dims", "dimensions");
    print_same(p, op, &["dimensions"]);
}

/// `%a, %b, dim = 0 : (T, U) -> V`
pub(in crate::stablehlo) fn parse_concatenate(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = operands_before_word(p)?;
    keyed_int(p, "dim", "dimension")?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_concatenate(p: &mut Printer<'_>, op: Op) {
    print_operands(p, op);
    p.text(", ");
    print_int(p, op, "dim", "dimension");
    print_functional(p, op, &["dimension"]);
}

pub(in crate::stablehlo) fn parse_get_dimension_size(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_concatenate(p)
}

pub(in crate::stablehlo) fn print_get_dimension_size(p: &mut Printer<'_>, op: Op) {
    print_concatenate(p, op);
}

/// `%shape, dim = 0 : (T) -> U`
pub(in crate::stablehlo) fn parse_dynamic_iota(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = operands_before_word(p)?;
    keyed_int(p, "dim", "iota_dimension")?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_dynamic_iota(p: &mut Printer<'_>, op: Op) {
    print_operands(p, op);
    p.text(", ");
    print_int(p, op, "dim", "iota_dimension");
    print_functional(p, op, &["iota_dimension"]);
}

const SLICE: [&str; 3] = ["start_indices", "limit_indices", "strides"];

/// `%x [0:2, 1:8:3] : (T) -> U`
pub(in crate::stablehlo) fn parse_slice(p: &mut Parser<'_>) -> ParseResult<()> {
    let operand = p.parse_operand()?;
    p.expect(TokenKind::LSquare, "'[' and the ranges")?;
    let mut ranges: [Vec<i64>; 3] = Default::default();
    p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
        ranges[0].push(p.parse_integer()?);
        p.expect(TokenKind::Colon, "':' and the end of the range")?;
        ranges[1].push(p.parse_integer()?);
        let stride = if p.eat(TokenKind::Colon) { p.parse_integer()? } else { 1 };
        ranges[2].push(stride);
        Ok(())
    })?;
    for (name, list) in SLICE.into_iter().zip(ranges) {
        let attr = p.ctx().int_array_attr(&list);
        p.set_attr(name, attr);
    }
    finish_functional(p, &[operand])
}

pub(in crate::stablehlo) fn print_slice(p: &mut Printer<'_>, op: Op) {
    let [starts, limits, strides] = SLICE.map(|name| ints(p, op, name));
    print_operands(p, op);
    p.text(" [");
    p.commas(starts.iter().zip(limits).zip(strides), |p, ((start, limit), stride)| {
        p.text(&format!("{start}:{limit}"));
        if *stride != 1 {
            p.text(&format!(":{stride}"));
        }
    });
    p.text("]");
    print_functional(p, op, &SLICE);
}

/// `%a, %b : T, U`: the results have the types of the operands.
pub(in crate::stablehlo) fn parse_barrier(p: &mut Parser<'_>) -> ParseResult<()> {
    if p.eat(TokenKind::LParen) {
        p.expect(TokenKind::RParen, "')'")?;
        return p.parse_optional_attributes();
    }
    let operands = p.parse_operands()?;
    p.parse_optional_attributes()?;
    if operands.is_empty() {
        return Ok(());
    }
    p.expect(TokenKind::Colon, "':' and the types")?;
    let start = p.token().start;
    let mut types = vec![p.parse_type()?];
    while p.eat(TokenKind::Comma) {
        types.push(p.parse_type()?);
    }
    resolve(p, &operands, &types, start)?;
    p.state().result_types.extend(types);
    Ok(())
}

pub(in crate::stablehlo) fn print_barrier(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    if module.num_operands(op) == 0 {
        p.text(" ()");
        return p.attr_dict(op, &[]);
    }
    print_operands(p, op);
    p.attr_dict(op, &[]);
    p.text(" : ");
    let types: Vec<_> = module.operands(op).map(|v| module.ty(v)).collect();
    p.types(&types);
}

/// `%a, %b : tuple<T, U>`
pub(in crate::stablehlo) fn parse_tuple(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = p.parse_operands()?;
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the tuple's type")?;
    if p.at(TokenKind::LParen) {
        return functional(p, &operands);
    }
    let start = p.token().start;
    let ty = p.parse_type()?;
    let TypeData::Tuple(members) = ty.data(p.ctx()) else {
        let text = ty.display(p.ctx());
        return Err(p.error_at(start, format!("expected a tuple type, found {text}")));
    };
    resolve(p, &operands, members, start)?;
    p.state().result_types.push(ty);
    Ok(())
}

pub(in crate::stablehlo) fn print_tuple(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    print_operands(p, op);
    p.attr_dict(op, &[]);
    p.text(" : ");
    p.ty(module.ty(module.result(op, 0)));
}

/// `%t[0] : (T) -> U`
pub(in crate::stablehlo) fn parse_get_tuple_element(p: &mut Parser<'_>) -> ParseResult<()> {
    let operand = p.parse_operand()?;
    p.expect(TokenKind::LSquare, "'[' and the member's number")?;
    let index = p.parse_integer()?;
    p.expect(TokenKind::RSquare, "']'")?;
    let i32 = p.ctx().i32();
    let attr = p.ctx().attr(AttrData::Int { value: index.into(), ty: i32 });
    p.set_attr("index", attr);
    finish_functional(p, &[operand])
}

pub(in crate::stablehlo) fn print_get_tuple_element(p: &mut Printer<'_>, op: Op) {
    let index = p.module().attr_by(op, "index").and_then(|attr| attr.as_int(p.ctx()));
    print_operands(p, op);
    p.text(&format!("[{}]", index.unwrap_or(0)));
    print_functional(p, op, &["index"]);
}
