//! Forms of loops, custom calls and composites.

use piper_ir::text::{EntryArg, Parser};
use piper_ir::{Op, ParseResult, Printer, TokenKind};

use crate::stablehlo::forms::{attr_dict, finish_functional, print_functional, resolve, set};

/// See `stablehlo.while`. The names before `=` are the arguments of both regions.
pub(in crate::stablehlo) fn parse_while(p: &mut Parser<'_>) -> ParseResult<()> {
    p.expect(TokenKind::LParen, "'(' and the loop's values")?;
    let (mut names, mut operands, mut types) = (Vec::new(), Vec::new(), Vec::new());
    p.comma_list(TokenKind::RParen, "',' or ')'", |p| {
        names.push(p.parse_operand()?);
        p.expect(TokenKind::Equal, "'=' and the first value")?;
        operands.push(p.parse_operand()?);
        Ok(())
    })?;
    let mut start = p.token().start;
    if p.eat(TokenKind::Colon) {
        start = p.token().start;
        types.push(p.parse_type()?);
        while p.eat(TokenKind::Comma) {
            types.push(p.parse_type()?);
        }
    }
    resolve(p, &operands, &types, start)?;
    p.state().result_types.extend(&types);
    if p.eat_keyword("attributes") {
        attr_dict(p)?;
    }
    let entry: Vec<EntryArg<'_>> =
        names.into_iter().zip(types).map(|(name, ty)| EntryArg { name, ty, loc: None }).collect();
    for word in ["cond", "do"] {
        p.expect_keyword(word)?;
        let region = p.parse_body(false, &entry)?;
        p.state().regions.push(region);
    }
    Ok(())
}

pub(in crate::stablehlo) fn print_while(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    let &[cond, body] = module.regions(op) else { return };
    p.name_entry_args(cond);
    p.share_entry_args(cond, body);
    let args = module.first_block(cond).map_or(&[][..], |block| module.args(block));
    p.text("(");
    p.commas(args.iter().zip(module.operands(op)), |p, (arg, operand)| {
        p.value(*arg);
        p.text(" = ");
        p.value(operand);
    });
    p.text(")");
    if module.num_operands(op) > 0 {
        let types: Vec<_> = module.operands(op).map(|v| module.ty(v)).collect();
        p.text(" : ");
        p.types(&types);
    }
    if !module.all_attrs(op).is_empty() {
        p.text(" attributes");
        p.attr_dict(op, &[]);
    }
    p.newline();
    p.text(" cond ");
    p.region(cond, false);
    p.text(" do ");
    p.region(body, false);
}

/// `@target(%a, %b) {...} : (T, U) -> V`
pub(in crate::stablehlo) fn parse_custom_call(p: &mut Parser<'_>) -> ParseResult<()> {
    let target = p.parse_symbol_name()?;
    let target = p.ctx().str_attr(target.text(p.ctx()));
    set(p, "call_target_name", target);
    p.expect(TokenKind::LParen, "'(' and the operands")?;
    let operands = p.parse_operands()?;
    p.expect(TokenKind::RParen, "',' or ')'")?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_custom_call(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    p.text(" ");
    if let Some(target) = module.attr_by(op, "call_target_name").and_then(|a| a.as_str(ctx)) {
        p.symbol(ctx.name(target));
    }
    p.text("(");
    p.values(module.operands(op));
    p.text(")");
    print_functional(p, op, &["call_target_name"]);
}

/// `"name" %a, %b {...} : (T, U) -> V`
pub(in crate::stablehlo) fn parse_composite(p: &mut Parser<'_>) -> ParseResult<()> {
    let name = p.parse_string()?;
    let name = p.ctx().str_attr(&name);
    set(p, "name", name);
    let operands = p.parse_operands()?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_composite(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    if let Some(name) = module.attr_by(op, "name") {
        p.text(" ");
        p.attr(name);
    }
    crate::stablehlo::forms::print_operands(p, op);
    print_functional(p, op, &["name"]);
}
