//! Forms of comparisons, selections, complex numbers and precision.

use piper_ir::text::Parser;
use piper_ir::{Op, ParseResult, Printer, TokenKind, TypeData};

use crate::stablehlo::attrs::{enum_case, parse_case};
use crate::stablehlo::forms::{
    comma, finish_functional, finish_same, functional, key, print_functional, print_operands,
    print_same, resolve,
};

/// `LT, %a, %b, SIGNED : (T, T) -> U`
pub(in crate::stablehlo) fn parse_compare(p: &mut Parser<'_>) -> ParseResult<()> {
    let direction = parse_case(p, "comparison_direction")?;
    p.set_attr("comparison_direction", direction);
    comma(p)?;
    let lhs = p.parse_operand()?;
    comma(p)?;
    let rhs = p.parse_operand()?;
    if p.eat(TokenKind::Comma) {
        let kind = parse_case(p, "comparison_type")?;
        p.set_attr("compare_type", kind);
    }
    finish_functional(p, &[lhs, rhs])
}

pub(in crate::stablehlo) fn print_compare(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let case = |name: &str, kind: &str| {
        module.attr_by(op, name).and_then(|attr| enum_case(ctx, attr, kind))
    };
    p.text(" ");
    p.text(case("comparison_direction", "comparison_direction").unwrap_or_default());
    p.text(",");
    print_operands(p, op);
    if let Some(kind) = case("compare_type", "comparison_type") {
        p.text(", ");
        p.text(kind);
    }
    print_functional(p, op, &["comparison_direction", "compare_type"]);
}

/// `%p, %a, %b : P, T`, or all types where they differ.
pub(in crate::stablehlo) fn parse_select(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = p.parse_operands()?;
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the types of the choice and the values")?;
    if p.at(TokenKind::LParen) {
        return functional(p, &operands);
    }
    let start = p.token().start;
    let pred = p.parse_type()?;
    comma(p)?;
    let value = p.parse_type()?;
    resolve(p, &operands, &[pred, value, value], start)?;
    p.state().result_types.push(value);
    Ok(())
}

pub(in crate::stablehlo) fn print_select(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    print_operands(p, op);
    let types: Vec<_> =
        module.operands(op).chain(module.results(op)).map(|v| module.ty(v)).collect();
    match types[..] {
        [pred, a, b, result] if a == b && b == result => {
            p.attr_dict(op, &[]);
            p.text(" : ");
            p.types(&[pred, result]);
        }
        _ => print_functional(p, op, &[]),
    }
}

/// `%re, %im : tensor<4xcomplex<f32>>`
pub(in crate::stablehlo) fn parse_complex(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    let operands = p.parse_operands()?;
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the type of the result")?;
    if p.at(TokenKind::LParen) {
        return functional(p, &operands);
    }
    let start = p.token().start;
    let ty = p.parse_type()?;
    let Some(part) = part_of(ctx, ty) else {
        let text = ty.display(ctx);
        return Err(
            p.error_at(start, format!("expected a tensor of complex numbers, found {text}"))
        );
    };
    resolve(p, &operands, &vec![part; operands.len()], start)?;
    p.state().result_types.push(ty);
    Ok(())
}

pub(in crate::stablehlo) fn print_complex(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    print_operands(p, op);
    let ty = module.ty(module.result(op, 0));
    let part = part_of(ctx, ty);
    if part.is_some() && module.operands(op).all(|v| Some(module.ty(v)) == part) {
        p.attr_dict(op, &[]);
        p.text(" : ");
        p.ty(ty);
    } else {
        print_functional(p, op, &[]);
    }
}

/// The type of the parts of complex numbers.
fn part_of(ctx: &piper_ir::Context, ty: piper_ir::Type) -> Option<piper_ir::Type> {
    let (shape, element) = ty.as_tensor(ctx)?;
    match element.data(ctx) {
        TypeData::Complex(part) => Some(ctx.tensor(shape, *part)),
        _ => None,
    }
}

/// `%x, format = e5m10 : T`
pub(in crate::stablehlo) fn parse_reduce_precision(p: &mut Parser<'_>) -> ParseResult<()> {
    let operand = p.parse_operand()?;
    comma(p)?;
    key(p, "format")?;
    let start = p.token().start;
    let word = p.parse_keyword("a format, as e5m10")?;
    let parts = word.strip_prefix('e').and_then(|rest| rest.split_once('m'));
    let bits = parts.and_then(|(e, m)| Some((e.parse::<i64>().ok()?, m.parse::<i64>().ok()?)));
    let Some((exponent, mantissa)) = bits else {
        return Err(p.error_at(start, format!("expected a format, as e5m10, found '{word}'")));
    };
    let i32 = p.ctx().i32();
    for (name, value) in [("exponent_bits", exponent), ("mantissa_bits", mantissa)] {
        let attr = p.ctx().attr(piper_ir::AttrData::Int { value: value.into(), ty: i32 });
        p.set_attr(name, attr);
    }
    finish_same(p, &[operand])
}

pub(in crate::stablehlo) fn print_reduce_precision(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let bits = |name: &str| module.attr_by(op, name).and_then(|a| a.as_int(ctx)).unwrap_or(0);
    print_operands(p, op);
    p.text(&format!(", format = e{}m{}", bits("exponent_bits"), bits("mantissa_bits")));
    print_same(p, op, &["exponent_bits", "mantissa_bits"]);
}
