//! `recompute {PP = *}`, `recompute {PP = *} only = ["nn.gelu"]`, `recompute {PP = 3} none`, each with `weights = "again"`.

use piper_ir::diag::did_you_mean;
use piper_ir::{Attr, Module, Op, ParseResult, Parser, Printer, Reporter, TokenKind, Trait};

use super::{RecomputeOp, filter};

/// What is computed again in a backward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recomputed {
    /// Everything the backward needs of its segment's forward: only the segment's inputs are kept.
    All,
    /// What operations of these names make; the rest is kept.
    Only(Vec<String>),
    /// Nothing: an exception to what stands before.
    Nothing,
}

/// The `recompute` of an operation: what, and whether weight gradients compute it once more.
pub(super) fn read(module: &Module, op: RecomputeOp) -> Option<(Recomputed, bool)> {
    let ctx = module.ctx();
    let names = |list: Attr| -> Option<Vec<String>> {
        list.as_array(ctx)?.iter().map(|name| Some(name.as_str(ctx)?.to_owned())).collect()
    };
    let what = match op.only(module) {
        _ if op.none(module).is_some() => Recomputed::Nothing,
        Some(only) => Recomputed::Only(names(only)?),
        None => Recomputed::All,
    };
    let again = op.weights(module).and_then(|w| w.as_str(ctx)) == Some("again");
    Some((what, again))
}

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let filter = filter::parse(p)?;
    p.set_attr("filter", filter);
    if p.eat_keyword("none") {
        let unit = p.ctx().unit();
        p.set_attr("none", unit);
    }
    for option in ["only", "weights"] {
        if p.eat_keyword(option) {
            p.expect(TokenKind::Equal, "'='")?;
            let value = p.parse_attribute()?;
            p.set_attr(option, value);
        }
    }
    p.parse_optional_attributes()
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    let recompute = RecomputeOp(op);
    filter::print(p, recompute.filter(module));
    if recompute.none(module).is_some() {
        p.text(" none");
    }
    for (option, value) in
        [("only", recompute.only(module)), ("weights", recompute.weights(module))]
    {
        if let Some(value) = value {
            p.text(&format!(" {option} = "));
            p.attr(value);
        }
    }
    p.attr_dict(op, &["filter", "none", "only", "weights"]);
}

/// Names of operations that exist and can run twice; options that go together.
pub(super) fn verify(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let view = RecomputeOp(op);
    if view.none(module).is_some()
        && (view.only(module).is_some() || view.weights(module).is_some())
    {
        reporter
            .error(loc, "'none' recomputes nothing, so it goes with no other option")
            .hint("write either none, or what is recomputed");
        return;
    }
    let Some(only) = view.only(module) else { return };
    let names = only.as_array(ctx).unwrap_or_default();
    if names.is_empty() {
        reporter
            .error(loc, "'only' names no operation")
            .hint("leave it out to recompute everything, or write none");
    }
    for name in names {
        let Some(text) = name.as_str(ctx) else {
            let shown = name.display(ctx);
            reporter.error(loc, format!("'only' must list names of operations, but has {shown}"));
            continue;
        };
        match ctx.op_name(text).def(ctx) {
            None => {
                let known = ctx.dialects().iter().flat_map(|dialect| &dialect.ops);
                let near = did_you_mean(text, known.map(|op| &*op.name));
                let error = reporter.error(loc, format!("there is no operation '{text}'"));
                error.hint = near.map(|near| format!("did you mean '{near}'?"));
            }
            Some(def) if !def.traits.contains(&Trait::Pure) => {
                reporter.error(
                    loc,
                    format!("'{text}' cannot be recomputed: it does more than give its results"),
                );
            }
            Some(_) => {}
        }
    }
}
