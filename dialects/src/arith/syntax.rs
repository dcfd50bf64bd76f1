//! The custom forms: operands, flags, attributes, then one type for all, or `from to to`.

use piper_ir::{Op, ParseResult, Parser, Printer, TokenKind, Type};

use super::flags::{FASTMATH, Flags, OVERFLOW, bits_of};

/// The rounding modes, in the order of their numbers.
pub(super) const ROUNDING: &[&str] =
    &["to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"];

/// Attributes that the forms write as words.
const WRITTEN: &[&str] =
    &["overflowFlags", "fastmath", "isExact", "roundingmode", "predicate", "value"];

fn declares(p: &mut Parser<'_>, name: &str) -> bool {
    let ctx = p.ctx();
    p.state().name.def(ctx).is_some_and(|def| def.attr_slot(name).is_some())
}

fn parse_flag_set(p: &mut Parser<'_>, flags: &Flags, name: &str) -> ParseResult<()> {
    if p.at_keyword(flags.keyword) && declares(p, name) {
        p.advance();
        let attr = flags.parse(p)?;
        p.set_attr(name, attr);
    }
    Ok(())
}

/// `overflow<nsw> exact to_nearest_even fastmath<fast> {attributes}`, as far as the operation has them.
fn parse_flags(p: &mut Parser<'_>) -> ParseResult<()> {
    if !p.at(TokenKind::Colon) && !p.at(TokenKind::LBrace) {
        parse_flag_set(p, &OVERFLOW, "overflowFlags")?;
        if p.at_keyword("exact") && declares(p, "isExact") {
            p.advance();
            let unit = p.ctx().unit();
            p.set_attr("isExact", unit);
        }
        if declares(p, "roundingmode")
            && let Some(number) = ROUNDING.iter().position(|mode| p.at_keyword(mode))
        {
            p.advance();
            let ctx = p.ctx();
            p.set_attr("roundingmode", ctx.int_attr_of(ctx.i32(), number as i128));
        }
        parse_flag_set(p, &FASTMATH, "fastmath")?;
    }
    p.parse_optional_attributes()
}

fn print_flag_set(p: &mut Printer<'_>, op: Op, flags: &Flags, name: &str) {
    let bits = bits_of(p.ctx(), p.module().attr_by(op, name));
    if bits != 0 {
        p.text(" ");
        p.text(flags.keyword);
        p.text("<");
        p.text(&flags.text(bits));
        p.text(">");
    }
}

fn print_flags(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    print_flag_set(p, op, &OVERFLOW, "overflowFlags");
    if module.attr_by(op, "isExact").is_some() {
        p.text(" exact");
    }
    let mode = module.attr_by(op, "roundingmode").and_then(|mode| mode.as_int(ctx));
    if let Some(mode) = mode.and_then(|mode| ROUNDING.get(usize::try_from(mode).ok()?)) {
        p.text(" ");
        p.text(mode);
    }
    print_flag_set(p, op, &FASTMATH, "fastmath");
    p.attr_dict(op, WRITTEN);
}

/// Reads `count` operands of one type, with that type after flags.
fn parse_uniform(p: &mut Parser<'_>) -> ParseResult<Type> {
    let start = p.token().start;
    let operands = p.parse_operands()?;
    let ctx = p.ctx();
    let wanted = p.state().name.def(ctx).map_or(operands.len(), |def| def.operands.len());
    if operands.len() != wanted {
        let found = operands.len();
        return Err(p.error_at(start, format!("expected {wanted} operand(s), found {found}")));
    }
    parse_flags(p)?;
    p.expect(TokenKind::Colon, "':' and the type")?;
    let ty = p.parse_type()?;
    let types = vec![ty; operands.len()];
    let values = p.resolve_all(&operands, &types, start)?;
    p.state().operands.extend(values);
    Ok(ty)
}

fn print_uniform(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    p.text(" ");
    p.values(module.operands(op));
    print_flags(p, op);
    p.text(" : ");
    p.ty(module.ty(module.operand(op, 0)));
}

/// `%a, %b overflow<nsw> : i32`: operands and result have one type.
pub(super) fn parse_same(p: &mut Parser<'_>) -> ParseResult<()> {
    let ty = parse_uniform(p)?;
    p.state().result_types.push(ty);
    Ok(())
}

pub(super) fn print_same(p: &mut Printer<'_>, op: Op) {
    print_uniform(p, op);
}

/// `%a, %b : i32` for two results of that type.
pub(super) fn parse_two(p: &mut Parser<'_>) -> ParseResult<()> {
    let ty = parse_uniform(p)?;
    p.state().result_types.extend([ty, ty]);
    Ok(())
}

/// `%a, %b : i32, i1`
pub(super) fn parse_with_overflow(p: &mut Parser<'_>) -> ParseResult<()> {
    let ty = parse_uniform(p)?;
    p.expect(TokenKind::Comma, "',' and the type of the overflow bit")?;
    let bit = p.parse_type()?;
    p.state().result_types.extend([ty, bit]);
    Ok(())
}

pub(super) fn print_with_overflow(p: &mut Printer<'_>, op: Op) {
    print_uniform(p, op);
    let module = p.module();
    p.text(", ");
    p.ty(module.ty(module.result(op, 1)));
}

/// `%a : i32 to i64`
pub(super) fn parse_cast(p: &mut Parser<'_>) -> ParseResult<()> {
    parse_uniform(p)?;
    p.expect_keyword("to")?;
    let ty = p.parse_type()?;
    p.state().result_types.push(ty);
    Ok(())
}

pub(super) fn print_cast(p: &mut Printer<'_>, op: Op) {
    print_uniform(p, op);
    let module = p.module();
    p.text(" to ");
    p.ty(module.ty(module.result(op, 0)));
}

/// `slt, %a, %b : i32`; `cases` are the predicates in the order of their numbers.
pub(super) fn parse_compare(p: &mut Parser<'_>, cases: &[&str]) -> ParseResult<()> {
    let at = p.token().start;
    // A string will do, as in MLIR.
    let word = match p.at(TokenKind::String) {
        true => p.parse_string()?,
        false => p.parse_keyword("a predicate")?.to_owned(),
    };
    let Some(number) = cases.iter().position(|case| **case == word) else {
        let close = piper_ir::diag::did_you_mean(&word, cases.iter().copied());
        let hint = close.map_or_else(
            || format!("the predicates are {}", cases.join(", ")),
            |close| format!("did you mean '{close}'?"),
        );
        p.report_at(at, format!("'{word}' is no predicate of this comparison")).hint(hint);
        return Err(piper_ir::text::Failed);
    };
    let predicate = p.ctx().int_attr(number as i64);
    p.set_attr("predicate", predicate);
    p.expect(TokenKind::Comma, "',' and the operands")?;
    let ty = parse_uniform(p)?;
    let ctx = p.ctx();
    let result = super::types::with_element(ctx, ty, ctx.i1());
    p.state().result_types.push(result);
    Ok(())
}

pub(super) fn print_compare(p: &mut Printer<'_>, op: Op, cases: &[&str]) {
    let number = p.module().attr_by(op, "predicate").and_then(|number| number.as_int(p.ctx()));
    let word = number.and_then(|number| cases.get(usize::try_from(number).ok()?));
    p.text(" ");
    p.text(word.copied().unwrap_or("?"));
    p.text(",");
    print_uniform(p, op);
}

/// `%c, %a, %b : i32`, and `%c, %a, %b : tensor<4xi1>, tensor<4xi32>` where the condition is not a single bit.
pub(super) fn parse_select(p: &mut Parser<'_>) -> ParseResult<()> {
    let start = p.token().start;
    let operands = p.parse_operands()?;
    parse_flags(p)?;
    p.expect(TokenKind::Colon, "':' and the type")?;
    let first = p.parse_type()?;
    let (condition, ty) = match p.eat(TokenKind::Comma) {
        true => (first, p.parse_type()?),
        false => (p.ctx().i1(), first),
    };
    let values = p.resolve_all(&operands, &[condition, ty, ty], start)?;
    p.state().operands.extend(values);
    p.state().result_types.push(ty);
    Ok(())
}

pub(super) fn print_select(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    p.text(" ");
    p.values(module.operands(op));
    print_flags(p, op);
    p.text(" : ");
    let condition = module.ty(module.operand(op, 0));
    if condition != ctx.i1() {
        p.ty(condition);
        p.text(", ");
    }
    p.ty(module.ty(module.result(op, 0)));
}

/// `{attributes} 42 : i32`
pub(super) fn parse_constant(p: &mut Parser<'_>) -> ParseResult<()> {
    p.parse_optional_attributes()?;
    let at = p.token().start;
    let value = p.parse_attribute()?;
    let Some(ty) = value.ty(p.ctx()) else {
        return Err(p.error_at(at, "a constant has a value with a type: a number, or dense<...>"));
    };
    p.set_attr("value", value);
    p.state().result_types.push(ty);
    Ok(())
}

pub(super) fn print_constant(p: &mut Printer<'_>, op: Op) {
    p.attr_dict(op, WRITTEN);
    p.text(" ");
    if let Some(value) = p.module().attr_by(op, "value") {
        p.attr(value);
    }
}
