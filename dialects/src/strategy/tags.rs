//! Tags on operations: the discardable attribute `tags = {PP = 0, kind = "mlp"}`, which `import-tags` writes.

use piper_ir::{Attr, AttrData, Context, Module, Op};

/// Name of the attribute that holds an operation's tags.
pub const TAGS: &str = "tags";

/// A tag's value as text: integers in decimal, strings as they are. `None` for anything else.
pub fn tag_text(ctx: &Context, value: Attr) -> Option<String> {
    match value.data(ctx) {
        AttrData::Int { value, .. } => Some(value.to_string()),
        AttrData::Str(text) => Some(text.to_string()),
        _ => None,
    }
}

/// The dictionary of an operation's tags, if it has any.
pub fn tags_attr(module: &Module, op: Op) -> Option<Attr> {
    module.attr_by(op, TAGS).filter(|attr| attr.as_dict(module.ctx()).is_some())
}

/// An operation's tags as `(name, value)` text, sorted by name. Enclosing annotations are not looked at.
pub fn tags_of(module: &Module, op: Op) -> Vec<(String, String)> {
    let ctx = module.ctx();
    let entries = tags_attr(module, op).and_then(|attr| attr.as_dict(ctx)).unwrap_or_default();
    entries
        .iter()
        .filter_map(|(name, value)| Some((name.text(ctx).to_owned(), tag_text(ctx, *value)?)))
        .collect()
}

/// Two tag dictionaries as one; where both have a tag, `inner` wins.
pub fn merge(ctx: &Context, outer: Option<Attr>, inner: Option<Attr>) -> Option<Attr> {
    let (outer, inner) = match (outer, inner) {
        (outer, None) => return outer,
        (None, inner) => return inner,
        (Some(outer), Some(inner)) => (outer, inner),
    };
    let inner = inner.as_dict(ctx).unwrap_or_default();
    let kept = outer
        .as_dict(ctx)
        .unwrap_or_default()
        .iter()
        .filter(|(name, _)| inner.iter().all(|(known, _)| known != name));
    Some(ctx.dict_attr(inner.iter().chain(kept).copied()))
}
