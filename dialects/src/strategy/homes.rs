//! `place {PP = 0} on {pp = 0}` and `place {PP = 0} on [{pp = 0}, {pp = 3}] microbatches = [0:4, 4:8]`.

use std::ops::Range;

use piper_ir::{Attr, Context, Op, ParseResult, Parser, Printer, TokenKind};

use super::{Home, PlaceOp, filter};

/// A range of microbatches as an attribute: `[start, end]`, end excluded.
pub fn range_attr(ctx: &Context, range: &Range<u32>) -> Attr {
    ctx.array_attr([ctx.int_attr(range.start.into()), ctx.int_attr(range.end.into())])
}

/// The attributes `homes` and `microbatches` of a place.
pub fn homes_attrs(ctx: &Context, homes: &[Home]) -> (Attr, Option<Attr>) {
    let slices: Vec<Attr> = homes.iter().map(|home| home.slice.to_attr(ctx)).collect();
    let ranges: Option<Vec<Attr>> =
        homes.iter().map(|home| home.microbatches.as_ref().map(|r| range_attr(ctx, r))).collect();
    (ctx.array_attr(slices), ranges.filter(|r| !r.is_empty()).map(|r| ctx.array_attr(r)))
}

pub(super) fn range_of(ctx: &Context, attr: Attr) -> Option<Range<u32>> {
    match attr.as_array(ctx)? {
        [start, end] => {
            Some(u32::try_from(start.as_int(ctx)?).ok()?..u32::try_from(end.as_int(ctx)?).ok()?)
        }
        _ => None,
    }
}

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    let filter = filter::parse(p)?;
    p.set_attr("filter", filter);
    p.expect_keyword("on")?;
    let start = p.token().start;
    let homes = p.parse_attribute()?;
    let homes = match homes.as_dict(ctx) {
        Some(_) => ctx.array_attr([homes]),
        None if homes.as_array(ctx).is_some() => homes,
        None => {
            return Err(
                p.error_at(start, "expected a mesh slice such as {pp = 0}, or a list of them")
            );
        }
    };
    p.set_attr("homes", homes);
    if p.eat_keyword("microbatches") {
        p.expect(TokenKind::Equal, "'='")?;
        p.expect(TokenKind::LSquare, "'[' and a range for each home, such as [0:4, 4:8]")?;
        let mut ranges = Vec::new();
        p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
            let first = p.parse_integer()?;
            p.expect(TokenKind::Colon, "':' and the end of the range")?;
            let end = p.parse_integer()?;
            ranges.push(ctx.array_attr([ctx.int_attr(first), ctx.int_attr(end)]));
            Ok(())
        })?;
        p.set_attr("microbatches", ctx.array_attr(ranges));
    }
    p.parse_optional_attributes()
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let place = PlaceOp(op);
    filter::print(p, place.filter(module));
    p.text(" on ");
    match place.homes(module).as_array(ctx) {
        Some([only]) if only.as_dict(ctx).is_some() => p.attr(*only),
        _ => p.attr(place.homes(module)),
    }
    if let Some(ranges) = place.microbatches(module) {
        p.text(" microbatches = [");
        p.commas(ranges.as_array(ctx).unwrap_or_default(), |p, range| {
            if let Some([first, end]) = range.as_array(ctx) {
                p.attr(*first);
                p.text(":");
                p.attr(*end);
            }
        });
        p.text("]");
    }
    p.attr_dict(op, &["filter", "homes", "microbatches"]);
}
