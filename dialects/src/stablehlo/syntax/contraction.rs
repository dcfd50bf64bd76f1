//! Forms of products: dimension numbers as `[0] x [0]`, and precisions.

use piper_ir::text::Parser;
use piper_ir::{Op, ParseResult, Printer, TokenKind};

use crate::stablehlo::attrs::{dot_attr, enum_case, list, parse_algorithm, parse_case, print_body};
use crate::stablehlo::forms::{
    comma, finish_functional, int_list, key, print_functional, print_int_list, print_operands,
};

/// `%a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT], algorithm = <...> : ...`
pub(in crate::stablehlo) fn parse_dot_general(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = [p.parse_operand()?, comma(p).and_then(|()| p.parse_operand())?];
    comma(p)?;
    let mut lists: [Vec<i64>; 4] = Default::default();
    if p.at_keyword("batching_dims") {
        (lists[0], lists[1]) = pair(p, "batching_dims")?;
        comma(p)?;
    }
    (lists[2], lists[3]) = pair(p, "contracting_dims")?;
    let numbers = dot_attr(p.ctx(), lists);
    p.set_attr("dot_dimension_numbers", numbers);
    precision(p)?;
    finish_functional(p, &operands)
}

/// `key = [0] x [1]`
fn pair(p: &mut Parser<'_>, word: &str) -> ParseResult<(Vec<i64>, Vec<i64>)> {
    key(p, word)?;
    let left = int_list(p)?;
    p.expect_keyword("x")?;
    Ok((left, int_list(p)?))
}

/// `, precision = [DEFAULT, DEFAULT], algorithm = <...>`, each optional.
fn precision(p: &mut Parser<'_>) -> ParseResult<()> {
    while p.eat(TokenKind::Comma) {
        if p.at_keyword("algorithm") {
            key(p, "algorithm")?;
            let algorithm = parse_algorithm(p)?;
            p.set_attr("algorithm", algorithm);
            continue;
        }
        key(p, "precision")?;
        p.expect(TokenKind::LSquare, "'[' and the precisions")?;
        let mut cases = Vec::new();
        p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
            cases.push(parse_case(p, "precision")?);
            Ok(())
        })?;
        let attr = p.ctx().array_attr(cases);
        p.set_attr("precision_config", attr);
    }
    Ok(())
}

pub(in crate::stablehlo) fn print_dot_general(p: &mut Printer<'_>, op: Op) {
    let ctx = p.ctx();
    print_operands(p, op);
    if let Some(numbers) = p.module().attr_by(op, "dot_dimension_numbers") {
        for (word, kind) in [("batching_dims", "batching"), ("contracting_dims", "contracting")] {
            let of = |side: &str| list(ctx, numbers, &format!("{side}_{kind}_dimensions"));
            let (left, right) = (of("lhs"), of("rhs"));
            if kind == "batching" && left.is_empty() && right.is_empty() {
                continue;
            }
            p.text(&format!(", {word} = "));
            print_int_list(p, left);
            p.text(" x ");
            print_int_list(p, right);
        }
    }
    print_precision(p, op);
    print_functional(p, op, &["dot_dimension_numbers", "precision_config", "algorithm"]);
}

fn print_precision(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    if let Some(cases) = module.attr_by(op, "precision_config").and_then(|a| a.as_array(ctx)) {
        p.text(", precision = [");
        p.commas(cases, |p, case| {
            p.text(enum_case(ctx, *case, "precision").unwrap_or_default());
        });
        p.text("]");
    }
    if let Some(algorithm) = module.attr_by(op, "algorithm") {
        p.text(", algorithm = ");
        print_body(p, algorithm);
    }
}

/// `%a, %b, precision = [DEFAULT, DEFAULT] : ...`
pub(in crate::stablehlo) fn parse_dot(p: &mut Parser<'_>) -> ParseResult<()> {
    let operands = [p.parse_operand()?, comma(p).and_then(|()| p.parse_operand())?];
    precision(p)?;
    finish_functional(p, &operands)
}

pub(in crate::stablehlo) fn print_dot(p: &mut Printer<'_>, op: Op) {
    print_operands(p, op);
    print_precision(p, op);
    print_functional(p, op, &["precision_config"]);
}
