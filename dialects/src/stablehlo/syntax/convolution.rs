//! The form of a convolution: dimension numbers as `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`, and the window.

use piper_ir::text::Parser;
use piper_ir::{Attr, AttrData, Op, ParseResult, Printer, TokenKind};

use crate::stablehlo::forms::{
    comma, finish_functional, int_list, key, print_functional, print_int_list,
};

/// What stands in `window = {...}`, by its word, in the order of printing.
const WINDOW: [(&str, &str); 5] = [
    ("stride", "window_strides"),
    ("pad", "padding"),
    ("lhs_dilate", "lhs_dilation"),
    ("rhs_dilate", "rhs_dilation"),
    ("reverse", "window_reversal"),
];

pub(in crate::stablehlo) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    p.expect(TokenKind::LParen, "'(' and the operands")?;
    let operands = p.parse_operands()?;
    p.expect(TokenKind::RParen, "',' or ')'")?;
    key(p, "dim_numbers")?;
    let sides = [
        dims(p)?,
        {
            p.expect_keyword("x")?;
            dims(p)?
        },
        {
            p.expect(TokenKind::Arrow, "'->' and the dimensions of the result")?;
            dims(p)?
        },
    ];
    let text = ctx.str_attr(&format!("{}x{}->{}", sides[0], sides[1], sides[2]));
    let name = ctx.name("stablehlo.conv");
    let numbers = ctx.attr(AttrData::Dialect { name, params: [text].into() });
    p.set_attr("dimension_numbers", numbers);
    comma(p)?;
    key(p, "window")?;
    p.expect(TokenKind::LBrace, "'{' and the window")?;
    p.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
        let start = p.token().start;
        let word = p.parse_keyword("stride, pad, lhs_dilate, rhs_dilate or reverse")?;
        let Some((_, name)) = WINDOW.iter().find(|(known, _)| *known == word) else {
            return Err(p.error_at(
                start,
                format!("expected stride, pad, lhs_dilate, rhs_dilate or reverse, found '{word}'"),
            ));
        };
        p.expect(TokenKind::Equal, "'='")?;
        let value = match word {
            "pad" => padding(p)?,
            "reverse" => flags(p)?,
            _ => {
                let list = int_list(p)?;
                p.ctx().int_array_attr(&list)
            }
        };
        p.set_attr(name, value);
        Ok(())
    })?;
    finish_functional(p, &operands)
}

/// `[b, 0, 1, f]`
fn dims(p: &mut Parser<'_>) -> ParseResult<String> {
    p.expect(TokenKind::LSquare, "'[' and the dimensions")?;
    let mut items = Vec::new();
    p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
        let token = p.token();
        if !matches!(token.kind, TokenKind::BareId | TokenKind::Integer | TokenKind::Question) {
            return Err(p.expected("a letter or the number of a spatial dimension"));
        }
        p.advance();
        items.push(p.text(token).to_owned());
        Ok(())
    })?;
    Ok(format!("[{}]", items.join(", ")))
}

/// `[[0, 1], [0, 1]]`
fn padding(p: &mut Parser<'_>) -> ParseResult<Attr> {
    let start = p.token().start;
    p.expect(TokenKind::LSquare, "'[' and pairs of numbers")?;
    let mut values: Vec<i128> = Vec::new();
    p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
        values.extend(int_list(p)?.into_iter().map(i128::from));
        Ok(())
    })?;
    if values.len() % 2 == 1 {
        return Err(p.error_at(start, "padding is a pair of numbers for each spatial dimension"));
    }
    let ctx = p.ctx();
    let ty = ctx.tensor(&[(values.len() / 2) as i64, 2], ctx.i64());
    Ok(ctx.dense_ints(ty, &values))
}

/// `[false, true]`
fn flags(p: &mut Parser<'_>) -> ParseResult<Attr> {
    p.expect(TokenKind::LSquare, "'[' and true or false")?;
    let mut values: Vec<i64> = Vec::new();
    p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
        let flag = p.at_keyword("true");
        if !flag && !p.at_keyword("false") {
            return Err(p.expected("true or false"));
        }
        p.advance();
        values.push(flag.into());
        Ok(())
    })?;
    let ctx = p.ctx();
    Ok(ctx.attr(AttrData::DenseArray { element: ctx.i1(), values: values.into() }))
}

pub(in crate::stablehlo) fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    p.text("(");
    p.values(module.operands(op));
    p.text(") dim_numbers = ");
    let numbers = module.attr_by(op, "dimension_numbers").map(|attr| attr.data(ctx));
    if let Some(AttrData::Dialect { params, .. }) = numbers {
        p.text(params.first().and_then(|text| text.as_str(ctx)).unwrap_or_default());
    }
    p.text(", window = {");
    let given: Vec<(&str, Attr)> =
        WINDOW.iter().filter_map(|(word, name)| Some((*word, module.attr_by(op, name)?))).collect();
    p.commas(given, |p, (word, attr)| {
        p.text(word);
        p.text(" = ");
        match (attr.as_dense(ctx), attr.as_int_array(ctx)) {
            (Some(dense), _) => {
                let pairs: Vec<i64> =
                    (0..dense.len()).filter_map(|at| i64::try_from(dense.int(at)?).ok()).collect();
                p.text("[");
                p.commas(pairs.chunks(2), print_int_list);
                p.text("]");
            }
            (None, Some(flags)) if word == "reverse" => {
                p.text("[");
                p.commas(flags, |p, flag| p.text(if *flag == 0 { "false" } else { "true" }));
                p.text("]");
            }
            (None, list) => print_int_list(p, list.unwrap_or(&[])),
        }
    });
    p.text("}");
    let elided: Vec<&str> =
        WINDOW.iter().map(|(_, name)| *name).chain(["dimension_numbers"]).collect();
    print_functional(p, op, &elided);
}
