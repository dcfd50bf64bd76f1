//! Forms of library routines, and of `chlo`.

use piper_ir::text::{OperandName, Parser};
use piper_ir::{Op, ParseResult, Printer, TokenKind};

use crate::stablehlo::attrs::{enum_case, parse_case};
use crate::stablehlo::forms::{
    comma, finish_functional, key, keyed_int, keyed_list, operands_before_word, print_functional,
    print_keyed_list, print_operands, resolve,
};

/// `%a, lower = true : (T) -> T`
pub(in crate::stablehlo) fn parse_cholesky(p: &mut Parser<'_>) -> ParseResult<()> {
    let operand = p.parse_operand()?;
    if p.eat(TokenKind::Comma) {
        key(p, "lower")?;
        let lower = p.parse_attribute()?;
        p.set_attr("lower", lower);
    }
    finish_functional(p, &[operand])
}

pub(in crate::stablehlo) fn print_cholesky(p: &mut Printer<'_>, op: Op) {
    print_operands(p, op);
    if let Some(lower) = p.module().attr_by(op, "lower") {
        p.text(", lower = ");
        p.attr(lower);
    }
    print_functional(p, op, &["lower"]);
}

/// `%x, type = FFT, length = [9] : (T) -> U`
pub(in crate::stablehlo) fn parse_fft(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = parse_with_case(p, "type", "fft_type", "fft_type")?;
    comma(p)?;
    keyed_list(p, "length", "fft_length")?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_fft(p: &mut Printer<'_>, op: Op) {
    print_with_case(p, op, "type", "fft_type", "fft_type");
    print_keyed_list(p, op, "length", "fft_length");
    print_functional(p, op, &["fft_type", "fft_length"]);
}

/// `%a, %b, %shape, distribution = NORMAL : ...`
pub(in crate::stablehlo) fn parse_rng(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = parse_with_case(p, "distribution", "rng_distribution", "rng_distribution")?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_rng(p: &mut Printer<'_>, op: Op) {
    print_with_case(p, op, "distribution", "rng_distribution", "rng_distribution");
    print_functional(p, op, &["rng_distribution"]);
}

/// `%state, algorithm = THREE_FRY : ...`
pub(in crate::stablehlo) fn parse_rng_bits(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = parse_with_case(p, "algorithm", "rng_algorithm", "rng_algorithm")?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_rng_bits(p: &mut Printer<'_>, op: Op) {
    print_with_case(p, op, "algorithm", "rng_algorithm", "rng_algorithm");
    print_functional(p, op, &["rng_algorithm"]);
}

/// `%a, word = CASE`
fn parse_with_case<'p>(
    p: &mut Parser<'p>,
    word: &str,
    kind: &str,
    name: &str,
) -> ParseResult<Vec<OperandName<'p>>> {
    let operands = operands_before_word(p)?;
    key(p, word)?;
    let case = parse_case(p, kind)?;
    p.set_attr(name, case);
    Ok(operands)
}

fn print_with_case(p: &mut Printer<'_>, op: Op, word: &str, kind: &str, name: &str) {
    let case = p.module().attr_by(op, name).and_then(|attr| enum_case(p.ctx(), attr, kind));
    print_operands(p, op);
    p.text(&format!(", {word} = {}", case.unwrap_or_default()));
}

/// `%x, %y : T, U -> V`
pub(in crate::stablehlo) fn parse_arrow(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = p.parse_operands()?;
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the types of the operands")?;
    arrow(p, &operands)
}

/// `T, U -> V`, or `T, U -> (V, W)`
fn arrow<'p>(p: &mut Parser<'p>, operands: &[OperandName<'p>]) -> ParseResult<()> {
    let start = p.token().start;
    let mut types = vec![p.parse_type()?];
    while p.eat(TokenKind::Comma) {
        types.push(p.parse_type()?);
    }
    p.expect(TokenKind::Arrow, "'->' and the result types")?;
    let results = p.parse_function_results()?;
    resolve(p, operands, &types, start)?;
    p.state().result_types.extend(results);
    Ok(())
}

pub(in crate::stablehlo) fn print_arrow(p: &mut Printer<'_>, op: Op) {
    print_operands(p, op);
    p.attr_dict(op, &[]);
    print_types(p, op);
}

fn print_types(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    p.text(" : ");
    let operands: Vec<_> = module.operands(op).map(|v| module.ty(v)).collect();
    p.types(&operands);
    p.text(" -> ");
    let results: Vec<_> = module.results(op).map(|v| module.ty(v)).collect();
    p.result_types(&results);
}

/// `(%x, k = 2) : T -> (U, V)`
pub(in crate::stablehlo) fn parse_top_k(p: &mut Parser<'_>) -> ParseResult<()> {
    p.expect(TokenKind::LParen, "'(' and the operand")?;
    let operand = p.parse_operand()?;
    comma(p)?;
    keyed_int(p, "k", "k")?;
    p.expect(TokenKind::RParen, "')'")?;
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the operand's type")?;
    arrow(p, &[operand])
}

pub(in crate::stablehlo) fn print_top_k(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    p.text("(");
    p.values(module.operands(op));
    let k = module.attr_by(op, "k").and_then(|k| k.as_int(ctx)).unwrap_or(0);
    p.text(&format!(", k = {k})"));
    p.attr_dict(op, &["k"]);
    print_types(p, op);
}
