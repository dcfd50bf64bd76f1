//! The pieces that StableHLO's pretty forms are made of: operands, `key = [..]`, and the two ways to write types.
//!
//! Most operations end in `: T` where all operands and results have one type, else in `: (T, U) -> V`.

use piper_ir::text::{Failed, OperandName, Parser};
use piper_ir::{Attr, AttrData, Context, Op, ParseResult, Printer, TokenKind, Type};

/// Reads `,`.
pub(super) fn comma(p: &mut Parser<'_>) -> ParseResult<()> {
    p.expect(TokenKind::Comma, "','").map(|_| ())
}

/// Reads `key =`.
pub(super) fn key(p: &mut Parser<'_>, key: &str) -> ParseResult<()> {
    p.expect_keyword(key)?;
    p.expect(TokenKind::Equal, "'='").map(|_| ())
}

/// Reads `[0, 1]`.
pub(super) fn int_list(p: &mut Parser<'_>) -> ParseResult<Vec<i64>> {
    p.expect(TokenKind::LSquare, "'[' and numbers")?;
    let mut items = Vec::new();
    p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
        items.push(p.parse_integer()?);
        Ok(())
    })?;
    Ok(items)
}

/// Reads `key = [0, 1]` as the declared attribute `name`.
pub(super) fn keyed_list(p: &mut Parser<'_>, word: &str, name: &str) -> ParseResult<()> {
    key(p, word)?;
    let list = int_list(p)?;
    let attr = p.ctx().int_array_attr(&list);
    p.set_attr(name, attr);
    Ok(())
}

/// Reads `key = 0` as the declared attribute `name`.
pub(super) fn keyed_int(p: &mut Parser<'_>, word: &str, name: &str) -> ParseResult<()> {
    key(p, word)?;
    let value = p.parse_integer()?;
    let attr = p.ctx().int_attr(value);
    p.set_attr(name, attr);
    Ok(())
}

/// Writes `[0, 1]`.
pub(super) fn print_int_list(p: &mut Printer<'_>, list: &[i64]) {
    p.text("[");
    p.commas(list, |p, item| p.text(&item.to_string()));
    p.text("]");
}

/// The declared integer list `name` of an operation; empty if it has none.
pub(super) fn ints<'m>(p: &Printer<'m>, op: Op, name: &str) -> &'m [i64] {
    let list = p.module().attr_by(op, name);
    list.and_then(|attr| attr.as_int_array(p.ctx())).unwrap_or(&[])
}

/// Writes `, key = [0, 1]`.
pub(super) fn print_keyed_list(p: &mut Printer<'_>, op: Op, word: &str, name: &str) {
    p.text(", ");
    p.text(word);
    p.text(" = ");
    let list = ints(p, op, name);
    print_int_list(p, list);
}

/// Writes ` %a, %b`.
pub(super) fn print_operands(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    if module.num_operands(op) > 0 {
        p.text(" ");
        p.values(module.operands(op));
    }
}

/// `{...} : (T, U) -> V`
pub(super) fn finish_functional<'p>(
    p: &mut Parser<'p>,
    operands: &[OperandName<'p>],
) -> ParseResult<()> {
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the operation's type")?;
    functional(p, operands)
}

/// `(T, U) -> V`
pub(super) fn functional<'p>(p: &mut Parser<'p>, operands: &[OperandName<'p>]) -> ParseResult<()> {
    let start = p.token().start;
    let inputs = p.parse_type_list()?;
    p.expect(TokenKind::Arrow, "'->' and the result types")?;
    let results = p.parse_function_results()?;
    resolve(p, operands, &inputs, start)?;
    p.state().result_types.extend(results);
    Ok(())
}

/// Gives the operation that is read its operands.
pub(super) fn resolve<'p>(
    p: &mut Parser<'p>,
    operands: &[OperandName<'p>],
    types: &[Type],
    start: u32,
) -> ParseResult<()> {
    let values = p.resolve_all(operands, types, start)?;
    p.state().operands.extend(values);
    Ok(())
}

/// `{...} : T` or `{...} : (T, U) -> V`
pub(super) fn finish_same<'p>(p: &mut Parser<'p>, operands: &[OperandName<'p>]) -> ParseResult<()> {
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the operation's type")?;
    let start = p.token().start;
    if p.at(TokenKind::LParen) {
        return functional(p, operands);
    }
    let ty = p.parse_type()?;
    resolve(p, operands, &vec![ty; operands.len()], start)?;
    p.state().result_types.push(ty);
    Ok(())
}

/// ` {...} : (T, U) -> V`
pub(super) fn print_functional(p: &mut Printer<'_>, op: Op, elided: &[&str]) {
    p.attr_dict(op, elided);
    p.text(" : ");
    p.op_type(op);
}

/// ` {...} : T`, or all types where they differ.
pub(super) fn print_same(p: &mut Printer<'_>, op: Op, elided: &[&str]) {
    p.attr_dict(op, elided);
    p.text(" : ");
    match only_type(p, op) {
        Some(ty) => p.ty(ty),
        None => p.op_type(op),
    }
}

/// The one type of all operands and results.
pub(super) fn only_type(p: &Printer<'_>, op: Op) -> Option<Type> {
    let module = p.module();
    let mut types = module.operands(op).chain(module.results(op)).map(|v| module.ty(v));
    let first = types.next()?;
    (types.all(|ty| ty == first) && module.num_results(op) == 1).then_some(first)
}

/// `%a, %b : T` or `%a, %b : (T, U) -> V`
pub(super) fn parse_same(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = p.parse_operands()?;
    finish_same(p, &operands)
}

/// The counterpart of [`parse_same`].
pub(super) fn print_plain(p: &mut Printer<'_>, op: Op) {
    print_operands(p, op);
    print_same(p, op, &[]);
}

/// `%a, ` up to the first word: operands that an attribute follows.
pub(super) fn operands_before_word<'p>(p: &mut Parser<'p>) -> ParseResult<Vec<OperandName<'p>>> {
    let mut operands = Vec::new();
    while p.at_operand() {
        operands.push(p.parse_operand()?);
        comma(p)?;
    }
    Ok(operands)
}

/// Reads a shaped constant and returns it with its type.
pub(super) fn elements(p: &mut Parser<'_>) -> ParseResult<(Attr, Type)> {
    let start = p.token().start;
    let value = p.parse_attribute()?;
    match elements_type(p.ctx(), value) {
        Some(ty) => Ok((value, ty)),
        None => {
            let text = value.display(p.ctx());
            p.report_at(start, format!("{text} is no tensor of constants"))
                .hint("write dense<...> : tensor<...>");
            Err(Failed)
        }
    }
}

/// The type of a shaped constant.
pub(super) fn elements_type(ctx: &Context, attr: Attr) -> Option<Type> {
    match attr.data(ctx) {
        AttrData::Dense { ty, .. }
        | AttrData::DenseStrings { ty, .. }
        | AttrData::Sparse { ty, .. }
        | AttrData::Resource { ty, .. } => Some(*ty),
        _ => None,
    }
}
