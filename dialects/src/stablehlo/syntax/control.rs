//! Forms of loops, custom calls and composites.

use piper_ir::text::{EntryArg, Parser};
use piper_ir::{Attr, AttrData, Context, Op, ParseResult, Printer, TokenKind};

use crate::stablehlo::forms::{finish_functional, print_functional, resolve};

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
        p.parse_optional_attributes()?;
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
    p.text("cond ");
    p.region(cond, false);
    p.text(" do ");
    p.region(body, false);
}

/// `@target(%a, %b) {...} : (T, U) -> V`
pub(in crate::stablehlo) fn parse_custom_call(p: &mut Parser<'_>) -> ParseResult<()> {
    let target = p.parse_symbol_name()?;
    let target = p.ctx().str_attr(target.text(p.ctx()));
    p.set_attr("call_target_name", target);
    p.expect(TokenKind::LParen, "'(' and the operands")?;
    let operands = p.parse_operands()?;
    p.expect(TokenKind::RParen, "',' or ')'")?;
    finish_functional(p, &operands)?;
    let defaults = custom_call_defaults(p.ctx());
    fill(p, &defaults);
    Ok(())
}

/// What the generic form says and the pretty one leaves out.
fn custom_call_defaults(ctx: &Context) -> [(&'static str, Attr); 3] {
    [
        ("has_side_effect", ctx.bool_attr(false)),
        ("api_version", ctx.attr(AttrData::Int { value: 1, ty: ctx.i32() })),
        ("called_computations", ctx.array_attr([])),
    ]
}

fn composite_defaults(ctx: &Context) -> [(&'static str, Attr); 2] {
    [
        ("composite_attributes", ctx.dict_attr([])),
        ("version", ctx.attr(AttrData::Int { value: 0, ty: ctx.i32() })),
    ]
}

/// Sets what is not set.
fn fill(p: &mut Parser<'_>, defaults: &[(&str, Attr)]) {
    for &(name, attr) in defaults {
        let name = p.ctx().name(name);
        if !p.state().attrs.iter().any(|(known, _)| *known == name) {
            p.state().attrs.push((name, attr));
        }
    }
}

/// `first`, and the attributes that have their defaults: what the pretty form leaves out.
fn elided<'a>(
    p: &Printer<'_>,
    op: Op,
    first: &'a str,
    defaults: &[(&'a str, Attr)],
) -> Vec<&'a str> {
    let is_default = |(name, attr): &&(&str, Attr)| p.module().attr_by(op, name) == Some(*attr);
    std::iter::once(first)
        .chain(defaults.iter().filter(is_default).map(|(name, _)| *name))
        .collect()
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
    let elided = elided(p, op, "call_target_name", &custom_call_defaults(ctx));
    print_functional(p, op, &elided);
}

/// `"name" %a, %b {...} : (T, U) -> V`
pub(in crate::stablehlo) fn parse_composite(p: &mut Parser<'_>) -> ParseResult<()> {
    let name = p.parse_string()?;
    let name = p.ctx().str_attr(&name);
    p.set_attr("name", name);
    let operands = p.parse_operands()?;
    finish_functional(p, &operands)?;
    let defaults = composite_defaults(p.ctx());
    fill(p, &defaults);
    Ok(())
}

pub(in crate::stablehlo) fn print_composite(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    if let Some(name) = module.attr_by(op, "name") {
        p.text(" ");
        p.attr(name);
    }
    crate::stablehlo::forms::print_operands(p, op);
    let elided = elided(p, op, "name", &composite_defaults(p.ctx()));
    print_functional(p, op, &elided);
}
