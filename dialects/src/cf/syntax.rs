//! The custom forms.

use piper_ir::interfaces::Branch;
use piper_ir::{Block, OPERAND_SEGMENTS, Op, ParseResult, Parser, Printer, TokenKind, Type, Value};

use super::{CondBr, Switch};

/// `^block(%a, %b : i32, f32)`
fn parse_target(p: &mut Parser<'_>) -> ParseResult<(Block, Vec<Value>)> {
    let block = p.parse_successor()?;
    let mut values = Vec::new();
    if p.eat(TokenKind::LParen) {
        let start = p.token().start;
        let operands = p.parse_operands()?;
        p.expect(TokenKind::Colon, "',' or ':' and the types")?;
        let mut types: Vec<Type> = vec![p.parse_type()?];
        while p.eat(TokenKind::Comma) {
            types.push(p.parse_type()?);
        }
        p.expect(TokenKind::RParen, "',' or ')'")?;
        values = p.resolve_all(&operands, &types, start)?;
    }
    Ok((block, values))
}

fn print_target(p: &mut Printer<'_>, op: Op, index: usize) {
    let module = p.module();
    p.block_name(module.successors(op)[index]);
    let values = Branch::of(module, op).map_or(Vec::new(), |b| b.values(module, op, index));
    if values.is_empty() {
        return;
    }
    p.text("(");
    p.values(values.iter().copied());
    p.text(" : ");
    let types: Vec<Type> = values.iter().map(|value| module.ty(*value)).collect();
    p.types(&types);
    p.text(")");
}

pub(super) fn parse_br(p: &mut Parser<'_>) -> ParseResult<()> {
    let (block, values) = parse_target(p)?;
    p.state().successors.push(block);
    p.state().operands.extend(values);
    p.parse_optional_attributes()
}

pub(super) fn print_br(p: &mut Printer<'_>, op: Op) {
    p.text(" ");
    print_target(p, op, 0);
    p.attr_dict(op, &[]);
}

pub(super) fn parse_cond_br(p: &mut Parser<'_>) -> ParseResult<()> {
    let condition = p.parse_operand()?;
    let start = p.token().start;
    if p.eat_keyword("weights") {
        p.expect(TokenKind::LParen, "'(' and the weights")?;
        p.expect(TokenKind::LSquare, "'[' and the weights")?;
        let mut weights = Vec::new();
        p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
            weights.push(p.parse_integer()?);
            Ok(())
        })?;
        p.expect(TokenKind::RParen, "')'")?;
        let attr = p.ctx().i32_array_attr(&weights);
        p.set_attr("branch_weights", attr);
    }
    p.expect(TokenKind::Comma, "',' and the block to go to if the condition holds")?;
    let then = parse_target(p)?;
    p.expect(TokenKind::Comma, "',' and the block to go to if it does not")?;
    let otherwise = parse_target(p)?;
    let i1 = p.ctx().i1();
    let condition = p.resolve_all(&[condition], &[i1], start)?;
    let sizes = [1, then.1.len() as i64, otherwise.1.len() as i64];
    let sizes = p.ctx().i32_array_attr(&sizes);
    p.set_attr(OPERAND_SEGMENTS, sizes);
    let state = p.state();
    state.successors.extend([then.0, otherwise.0]);
    state.operands.extend(condition.into_iter().chain(then.1).chain(otherwise.1));
    p.parse_optional_attributes()
}

pub(super) fn print_cond_br(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    p.text(" ");
    p.values([CondBr(op).condition(module)]);
    if let Some(weights) = CondBr(op).branch_weights(module).and_then(|w| w.as_int_array(ctx)) {
        p.text(" weights([");
        p.commas(weights.iter(), |p, weight| p.text(&weight.to_string()));
        p.text("])");
    }
    for index in 0..2 {
        p.text(", ");
        print_target(p, op, index);
    }
    p.attr_dict(op, &[OPERAND_SEGMENTS, "branch_weights"]);
}

pub(super) fn parse_switch(p: &mut Parser<'_>) -> ParseResult<()> {
    let start = p.token().start;
    let flag = p.parse_operand()?;
    p.expect(TokenKind::Colon, "':' and the type of the flag")?;
    let ty = p.parse_type()?;
    let flag = p.resolve_all(&[flag], &[ty], start)?;
    p.expect(TokenKind::Comma, "',' and the cases")?;
    p.expect(TokenKind::LSquare, "'[' and the cases")?;
    p.expect_keyword("default")?;
    p.expect(TokenKind::Colon, "':' and a block")?;
    let default = parse_target(p)?;
    let (mut values, mut targets) = (Vec::new(), Vec::new());
    while p.eat(TokenKind::Comma) {
        let at = p.token().start;
        let number = p.parse_plain_number()?;
        let Some(number) = number.as_int(p.ctx()) else {
            return Err(p.error_at(at, "a case is an integer"));
        };
        values.push(i128::from(number));
        p.expect(TokenKind::Colon, "':' and a block")?;
        targets.push(parse_target(p)?);
    }
    p.expect(TokenKind::RSquare, "',' or ']'")?;
    let ctx = p.ctx();
    if let Some(attr) = super::switch::case_values(ctx, ty, &values) {
        p.set_attr("case_values", attr);
    }
    let segments: Vec<i64> = targets.iter().map(|(_, values)| values.len() as i64).collect();
    let sizes = [1, default.1.len() as i64, segments.iter().sum()];
    p.set_attr("case_operand_segments", ctx.i32_array_attr(&segments));
    p.set_attr(OPERAND_SEGMENTS, ctx.i32_array_attr(&sizes));
    let state = p.state();
    state.successors.push(default.0);
    state.successors.extend(targets.iter().map(|(block, _)| *block));
    state.operands.extend(flag.into_iter().chain(default.1));
    state.operands.extend(targets.into_iter().flat_map(|(_, values)| values));
    p.parse_optional_attributes()
}

pub(super) fn print_switch(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    let flag = Switch(op).flag(module);
    p.text(" ");
    p.values([flag]);
    p.text(" : ");
    p.ty(module.ty(flag));
    p.text(", [");
    let cases: Vec<i128> = super::switch::cases(module, op);
    p.indented(|p| {
        p.newline();
        p.text("default: ");
        print_target(p, op, 0);
        for (i, case) in cases.iter().enumerate() {
            p.text(",");
            p.newline();
            p.text(&case.to_string());
            p.text(": ");
            print_target(p, op, i + 1);
        }
    });
    p.newline();
    p.text("]");
    p.attr_dict(op, &[OPERAND_SEGMENTS, "case_values", "case_operand_segments"]);
}
