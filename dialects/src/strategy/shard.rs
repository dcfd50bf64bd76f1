//! `shard {PART = mlp} over "tp" parameters = {"*.up" = 1, "*.down" = 0}`.

use piper_ir::{Attr, Context, Op, ParseResult, Parser, Printer, TokenKind};

use super::{ShardOp, filter};

/// The dimension along which a parameter of this name is divided, if a pattern of `parameters` says so. The first that matches
/// decides; `*` stands for any characters.
pub fn sharded_dim(patterns: &[(String, usize)], name: &str) -> Option<usize> {
    patterns.iter().find(|(pattern, _)| matches(pattern.as_bytes(), name.as_bytes())).map(|p| p.1)
}

/// Whether a name is what a pattern with `*` describes. Linear in the lengths' product at worst, without recursion.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on if what follows the last star does not fit: one character more for the star.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p, n));
            p += 1;
        } else if pattern.get(p) == Some(&name[n]) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            (p, n) = (star + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// The patterns of the attribute, in order; `None` if it is none.
pub(super) fn patterns_of(ctx: &Context, attr: Attr) -> Option<Vec<(String, usize)>> {
    let pairs = attr.as_array(ctx)?.iter().map(|pair| {
        let [pattern, dim] = pair.as_array(ctx)? else { return None };
        Some((pattern.as_str(ctx)?.to_owned(), usize::try_from(dim.as_int(ctx)?).ok()?))
    });
    pairs.collect()
}

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    let filter = filter::parse(p)?;
    p.set_attr("filter", filter);
    p.expect_keyword("over")?;
    let axis = ctx.str_attr(&p.parse_string()?);
    p.set_attr("axis", axis);
    p.expect_keyword("parameters")?;
    p.expect(TokenKind::Equal, "'='")?;
    p.expect(TokenKind::LBrace, "'{' and parameters with dimensions, such as {\"*.up\" = 1}")?;
    let mut patterns = Vec::new();
    p.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
        let pattern = p.parse_string()?;
        p.expect(TokenKind::Equal, "'=' and the dimension that is divided")?;
        let dim = p.parse_integer()?;
        patterns.push(ctx.array_attr([ctx.str_attr(&pattern), ctx.int_attr(dim)]));
        Ok(())
    })?;
    p.set_attr("parameters", ctx.array_attr(patterns));
    p.parse_optional_attributes()
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let shard = ShardOp(op);
    filter::print(p, shard.filter(module));
    p.text(" over ");
    p.attr(shard.axis(module));
    p.text(" parameters = {");
    p.commas(shard.parameters(module).as_array(ctx).unwrap_or_default(), |p, pair| {
        if let Some([pattern, dim]) = pair.as_array(ctx) {
            p.attr(*pattern);
            p.text(" = ");
            p.attr(*dim);
        }
    });
    p.text("}");
    p.attr_dict(op, &["filter", "axis", "parameters"]);
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_characters() {
        let is = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        assert!(is("*", "") && is("*", "h.0.up") && is("h.*.up", "h.0.up") && is("w", "w"));
        assert!(is("*.up", "a.up.up") && is("a*b*c", "aXbYbZc") && is("**", "x"));
        assert!(!is("*.up", "h.0.upper") && !is("w", "w2") && !is("", "w") && !is("a*b", "a"));
    }
}
