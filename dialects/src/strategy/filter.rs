//! Tag filters as attributes: `{PP = 1, MB = 0:4, PASS = F, LAYER = 0|2, EP = -}`.
//!
//! A dictionary: an integer or a string is the wanted value, an array gives alternatives, `"*"` is any value, `"-"` no
//! value and `"0:4"` the numbers 0 to 3. What a filter means is the schedule crate's [`Filter`].

use piper_ir::text::Failed;
use piper_ir::{Attr, AttrData, Context, Op, ParseResult, Parser, Printer, TokenKind};
use piper_schedule::text::Span;
use piper_schedule::text::filter::{Clause, Filter, Pattern};

use super::{SplitBackwardOp, TagOp, tag_text};

/// The filter behind a filter attribute; `None` if it is not one.
pub fn filter_of(ctx: &Context, attr: Attr) -> Option<Filter> {
    let mut clauses = Vec::new();
    for (tag, value) in attr.as_dict(ctx)? {
        let alternatives = value.as_array(ctx).unwrap_or(std::slice::from_ref(value));
        if alternatives.is_empty() {
            return None;
        }
        let values: Option<Vec<_>> = alternatives
            .iter()
            .map(|value| {
                let pattern = match value.as_str(ctx) {
                    Some("*") => Pattern::Any,
                    Some("-") => Pattern::Untagged,
                    text => match text.and_then(Pattern::range) {
                        Some(range) => range,
                        None => Pattern::Is(tag_text(ctx, *value)?),
                    },
                };
                Some((pattern, Span::default()))
            })
            .collect();
        let tag = tag.text(ctx).to_owned();
        clauses.push(Clause { tag, tag_span: Span::default(), values: values? });
    }
    Some(Filter { clauses })
}

/// The attribute of the filter `{tag = value}`.
pub fn filter_attr(ctx: &Context, tag: &str, value: Attr) -> Attr {
    ctx.dict_attr([(ctx.name(tag), value)])
}

/// Reads `{...}`.
pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<Attr> {
    p.expect(TokenKind::LBrace, "a filter such as {PP = 1}")?;
    let ctx = p.ctx();
    let mut entries: Vec<(piper_ir::Name, Attr)> = Vec::new();
    let read = p.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
        let start = p.token().start;
        let tag = if p.at(TokenKind::String) {
            p.parse_string()?
        } else {
            p.parse_keyword("a tag such as PP")?.to_owned()
        };
        let tag = ctx.name(&tag);
        if entries.iter().any(|(known, _)| *known == tag) {
            p.report_at(start, format!("the tag {} stands twice", tag.text(ctx)))
                .hint(format!("for either of two values write {} = 0|1", tag.text(ctx)));
            return Err(Failed);
        }
        p.expect(TokenKind::Equal, "'=' and a value, '*' or '-'")?;
        let mut values = vec![value(p)?];
        while p.eat(TokenKind::VBar) {
            values.push(value(p)?);
        }
        let attr = if let [only] = values[..] { only } else { ctx.array_attr(values) };
        entries.push((tag, attr));
        Ok(())
    });
    if read.is_err() {
        // Past the filter's brace, which would else be taken for the end of the plan.
        while !p.token().first_of_line && !p.at(TokenKind::Eof) && !p.eat(TokenKind::RBrace) {
            p.advance();
        }
        return Err(Failed);
    }
    Ok(ctx.dict_attr(entries))
}

/// A value, `*`, `-`, or a range of numbers.
fn value(p: &mut Parser<'_>) -> ParseResult<Attr> {
    let ctx = p.ctx();
    match p.token().kind {
        TokenKind::Star => {
            p.advance();
            Ok(ctx.str_attr("*"))
        }
        TokenKind::Minus => {
            p.advance();
            if p.at(TokenKind::Integer) {
                Ok(ctx.int_attr(-p.parse_integer()?))
            } else {
                Ok(ctx.str_attr("-"))
            }
        }
        TokenKind::Integer => {
            let start = p.token().start;
            let first = p.parse_integer()?;
            if !p.eat(TokenKind::Colon) {
                return Ok(ctx.int_attr(first));
            }
            let end = p.parse_integer()?;
            if end <= first {
                p.report_at(start, format!("the range {first}:{end} is empty"))
                    .hint("the end is excluded: 0:4 is 0, 1, 2 and 3");
                return Err(Failed);
            }
            Ok(ctx.str_attr(&format!("{first}:{end}")))
        }
        TokenKind::String => Ok(ctx.str_attr(&p.parse_string()?)),
        TokenKind::BareId => Ok(ctx.str_attr(p.parse_keyword("a value")?)),
        _ => Err(p.expected("a value, '*' or '-'")),
    }
}

/// Writes ` {...}`.
pub(super) fn print(p: &mut Printer<'_>, attr: Attr) {
    let ctx = p.ctx();
    p.text(" {");
    p.commas(attr.as_dict(ctx).unwrap_or_default(), |p, (tag, value)| {
        p.word(tag.text(ctx));
        p.text(" = ");
        let alternatives = value.as_array(ctx).unwrap_or(std::slice::from_ref(value));
        for (i, value) in alternatives.iter().enumerate() {
            p.text(if i == 0 { "" } else { "|" });
            match value.data(ctx) {
                AttrData::Str(text)
                    if matches!(&**text, "*" | "-") || Pattern::range(text).is_some() =>
                {
                    p.text(text)
                }
                AttrData::Str(text) => p.word(text),
                _ => p.attr(*value),
            }
        }
    });
    p.text("}");
}

/// `{LAYER = 0:4} as {PP = 0}`
pub(super) fn parse_tag(p: &mut Parser<'_>) -> ParseResult<()> {
    let filter = parse(p)?;
    p.set_attr("filter", filter);
    p.expect_keyword("as")?;
    let tags = parse(p)?;
    p.set_attr("tags", tags);
    p.parse_optional_attributes()
}

pub(super) fn print_tag(p: &mut Printer<'_>, op: Op) {
    print(p, TagOp(op).filter(p.module()));
    p.text(" as");
    print(p, TagOp(op).tags(p.module()));
    p.attr_dict(op, &["filter", "tags"]);
}

pub(super) fn parse_op(p: &mut Parser<'_>) -> ParseResult<()> {
    let filter = parse(p)?;
    p.set_attr("filter", filter);
    p.parse_optional_attributes()
}

pub(super) fn print_op(p: &mut Printer<'_>, op: Op) {
    print(p, SplitBackwardOp(op).filter(p.module()));
    p.attr_dict(op, &["filter"]);
}
