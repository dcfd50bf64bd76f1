//! Attributes: read from text, made, and asked.

use piper_ir::text::parse_attr;
use piper_ir::{Attr, AttrData, Name, SourceFile, TypeData};

use crate::fault::{Fault, PIPER_WRONG_KIND, PiperStatus};
use crate::handle::{PiperAttr, PiperModule, PiperType, read};
use crate::report::PiperError;
use crate::text::{PiperStr, PiperString, list, store};

/// An attribute of no kind that this header knows, or none.
pub const PIPER_ATTR_OTHER: u32 = 0;
/// Presence alone.
pub const PIPER_ATTR_UNIT: u32 = 1;
/// `3 : i32`, `true`
pub const PIPER_ATTR_INTEGER: u32 = 2;
/// `1.5 : f32`
pub const PIPER_ATTR_FLOAT: u32 = 3;
/// `"text"`
pub const PIPER_ATTR_STRING: u32 = 4;
/// `[a, b]`
pub const PIPER_ATTR_ARRAY: u32 = 5;
/// `{k = a}`
pub const PIPER_ATTR_DICTIONARY: u32 = 6;
/// A type.
pub const PIPER_ATTR_TYPE: u32 = 7;
/// `@name`
pub const PIPER_ATTR_SYMBOL: u32 = 8;
/// `array<i64: 1, 2>`
pub const PIPER_ATTR_DENSE_ARRAY: u32 = 9;
/// `dense<...> : tensor<...>`
pub const PIPER_ATTR_DENSE: u32 = 10;
/// `#dialect.name<...>`
pub const PIPER_ATTR_DIALECT: u32 = 11;

/// A name and an attribute: an entry of an operation's attributes or of a dictionary.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PiperNamedAttr {
    /// The name. As a result it lives as long as the module.
    pub name: PiperStr,
    /// The attribute.
    pub attr: PiperAttr,
}

/// Reads an attribute from text, as `[1, "a"]` or `#dag.tag<"pp", 1>`. `error` may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_parse(
    module: *const PiperModule,
    text: PiperStr,
    out: *mut PiperAttr,
    error: *mut *mut PiperError,
) -> PiperStatus {
    crate::report::parsed(module, "piper_attr_parse", out, error, |h, reporter| {
        let source = SourceFile::new("<attribute>", text.get("the text")?);
        let ctx = h.ctx()?;
        Ok((parse_attr(&ctx, &source, reporter).map(|attr| h.give_attr(attr)), source))
    })
}

/// An attribute as text, to be freed by the caller. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_text(
    module: *const PiperModule,
    attr: PiperAttr,
    out: *mut PiperString,
) -> PiperStatus {
    crate::report::written(module, "piper_attr_text", out, |h, m| {
        Ok(h.attr(attr)?.display(m.ctx()))
    })
}

/// The unit attribute. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_unit(module: *const PiperModule) -> PiperAttr {
    read(module, "piper_attr_unit", |h, m| Ok(h.give_attr(m.ctx().unit())))
}

/// `true` or `false`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_bool(module: *const PiperModule, value: bool) -> PiperAttr {
    read(module, "piper_attr_bool", |h, m| Ok(h.give_attr(m.ctx().bool_attr(value))))
}

/// An integer of 64 bits, printed without its type. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_int(module: *const PiperModule, value: i64) -> PiperAttr {
    read(module, "piper_attr_int", |h, m| Ok(h.give_attr(m.ctx().int_attr(value))))
}

/// The integer of this type (an integer of at most 128 bits, or `index`) whose low bits are those of `value`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_int_of(
    module: *const PiperModule,
    ty: PiperType,
    value: i64,
) -> PiperAttr {
    read(module, "piper_attr_int_of", |h, m| {
        let ty = h.ty(ty)?;
        match ty.data(m.ctx()) {
            TypeData::Integer { width: ..=128, .. } | TypeData::Index => {}
            _ => return Err(wrong("an integer type of at most 128 bits", &ty.display(m.ctx()))),
        }
        Ok(h.give_attr(m.ctx().int_attr_of(ty, value.into())))
    })
}

/// A floating-point number of 64 bits, printed without its type. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_float(module: *const PiperModule, value: f64) -> PiperAttr {
    read(module, "piper_attr_float", |h, m| Ok(h.give_attr(m.ctx().float_attr(value))))
}

/// The number of this floating-point type that is nearest to `value`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_float_of(
    module: *const PiperModule,
    ty: PiperType,
    value: f64,
) -> PiperAttr {
    read(module, "piper_attr_float_of", |h, m| {
        let ty = h.ty(ty)?;
        if ty.as_float(m.ctx()).is_none() {
            return Err(wrong("a floating-point type", &ty.display(m.ctx())));
        }
        Ok(h.give_attr(m.ctx().float_attr_of(ty, value)))
    })
}

/// A string. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_string(
    module: *const PiperModule,
    text: PiperStr,
) -> PiperAttr {
    read(module, "piper_attr_string", |h, m| {
        Ok(h.give_attr(m.ctx().str_attr(text.get("the text")?)))
    })
}

/// `@name`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_symbol(
    module: *const PiperModule,
    name: PiperStr,
) -> PiperAttr {
    read(module, "piper_attr_symbol", |h, m| {
        Ok(h.give_attr(m.ctx().symbol_attr(name.get("the name")?)))
    })
}

/// A type as an attribute. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_type(module: *const PiperModule, ty: PiperType) -> PiperAttr {
    read(module, "piper_attr_type", |h, m| Ok(h.give_attr(m.ctx().type_attr(h.ty(ty)?))))
}

/// `[items]`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_array(
    module: *const PiperModule,
    items: *const PiperAttr,
    num_items: usize,
) -> PiperAttr {
    read(module, "piper_attr_array", |h, m| {
        let items = list(items, num_items).iter().map(|item| h.attr(*item));
        let items: Vec<Attr> = items.collect::<Result<_, Fault>>()?;
        Ok(h.give_attr(m.ctx().array_attr(items)))
    })
}

/// `{name = attr, ...}`; of entries with one name the last counts. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_dictionary(
    module: *const PiperModule,
    entries: *const PiperNamedAttr,
    num_entries: usize,
) -> PiperAttr {
    read(module, "piper_attr_dictionary", |h, m| {
        let mut known: Vec<(Name, Attr)> = Vec::new();
        for entry in list(entries, num_entries) {
            let name = m.ctx().name(entry.name.get("a name")?);
            known.retain(|(other, _)| *other != name);
            known.push((name, h.attr(entry.attr)?));
        }
        Ok(h.give_attr(m.ctx().dict_attr(known)))
    })
}

/// `array<i64: values>`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_ints(
    module: *const PiperModule,
    values: *const i64,
    num_values: usize,
) -> PiperAttr {
    read(module, "piper_attr_ints", |h, m| {
        Ok(h.give_attr(m.ctx().int_array_attr(list(values, num_values))))
    })
}

/// The kind of an attribute: one of `PIPER_ATTR_*`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_kind(module: *const PiperModule, attr: PiperAttr) -> u32 {
    read(module, "piper_attr_kind", |h, m| {
        Ok(match h.attr(attr)?.data(m.ctx()) {
            AttrData::Unit => PIPER_ATTR_UNIT,
            AttrData::Int { .. } | AttrData::WideInt { .. } => PIPER_ATTR_INTEGER,
            AttrData::Float { .. } => PIPER_ATTR_FLOAT,
            AttrData::Str(_) | AttrData::TypedStr { .. } => PIPER_ATTR_STRING,
            AttrData::Array(_) => PIPER_ATTR_ARRAY,
            AttrData::Dict(_) => PIPER_ATTR_DICTIONARY,
            AttrData::Type(_) => PIPER_ATTR_TYPE,
            AttrData::Symbol { .. } => PIPER_ATTR_SYMBOL,
            AttrData::DenseArray { .. } => PIPER_ATTR_DENSE_ARRAY,
            AttrData::Dense { .. } | AttrData::DenseStrings { .. } => PIPER_ATTR_DENSE,
            AttrData::Dialect { .. } => PIPER_ATTR_DIALECT,
            _ => PIPER_ATTR_OTHER,
        })
    })
}

/// Whether the attribute is an integer of at most 64 bits or a truth value, and which. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_as_int(
    module: *const PiperModule,
    attr: PiperAttr,
    out: *mut i64,
) -> bool {
    read(module, "piper_attr_as_int", |h, m| Ok(stored(out, h.attr(attr)?.as_int(m.ctx()))))
}

/// Whether the attribute is a floating-point number, and which. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_as_float(
    module: *const PiperModule,
    attr: PiperAttr,
    out: *mut f64,
) -> bool {
    read(module, "piper_attr_as_float", |h, m| Ok(stored(out, h.attr(attr)?.as_float(m.ctx()))))
}

/// The text of a string, or the name of a symbol `@name`; null data for others. Lives as long as the module. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_as_string(
    module: *const PiperModule,
    attr: PiperAttr,
) -> PiperStr {
    read(module, "piper_attr_as_string", |h, m| {
        let (attr, ctx) = (h.attr(attr)?, m.ctx());
        let symbol = || attr.as_symbol(ctx).map(|name| name.text(ctx));
        Ok(PiperStr::of_some(attr.as_str(ctx).or_else(symbol)))
    })
}

/// The type that the attribute is, or that stands behind its colon; none for others. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_as_type(
    module: *const PiperModule,
    attr: PiperAttr,
) -> PiperType {
    read(module, "piper_attr_as_type", |h, m| {
        let attr = h.attr(attr)?;
        let ty = attr.as_type(m.ctx()).or_else(|| attr.ty(m.ctx()));
        Ok(ty.map(|ty| h.give_type(ty)).unwrap_or_default())
    })
}

/// How many items an array has, entries a dictionary, or integers an `array<i64: ...>`; 0 for others. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_len(module: *const PiperModule, attr: PiperAttr) -> usize {
    read(module, "piper_attr_len", |h, m| Ok(length(h.attr(attr)?, m.ctx())))
}

/// An item of an array, or the attribute of a dictionary's entry. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_item(
    module: *const PiperModule,
    attr: PiperAttr,
    index: usize,
) -> PiperAttr {
    read(module, "piper_attr_item", |h, m| {
        let (attr, ctx) = (h.attr(attr)?, m.ctx());
        let found = match attr.data(ctx) {
            AttrData::Array(items) => items.get(index).copied(),
            AttrData::Dict(entries) => entries.get(index).map(|(_, attr)| *attr),
            _ => return Err(wrong("an array or a dictionary", &attr.display(ctx))),
        };
        let found = found.ok_or_else(|| Fault::range("item", index, length(attr, ctx)))?;
        Ok(h.give_attr(found))
    })
}

/// The name of a dictionary's entry; entries are sorted by name. Lives as long as the module. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_item_name(
    module: *const PiperModule,
    attr: PiperAttr,
    index: usize,
) -> PiperStr {
    read(module, "piper_attr_item_name", |h, m| {
        let (attr, ctx) = (h.attr(attr)?, m.ctx());
        let entries = attr.as_dict(ctx);
        let entries = entries.ok_or_else(|| wrong("a dictionary", &attr.display(ctx)))?;
        let found = entries.get(index).map(|(name, _)| PiperStr::of(name.text(ctx)));
        found.ok_or_else(|| Fault::range("item", index, entries.len()))
    })
}

/// The integers of an `array<i64: ...>` or of another integer array: writes as many as there is room for, and says how many
/// there are. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_attr_as_ints(
    module: *const PiperModule,
    attr: PiperAttr,
    out: *mut i64,
    room: usize,
) -> usize {
    read(module, "piper_attr_as_ints", |h, m| {
        let (attr, ctx) = (h.attr(attr)?, m.ctx());
        let values = attr.as_int_array(ctx);
        let values = values.ok_or_else(|| wrong("an integer array", &attr.display(ctx)))?;
        for (i, value) in values.iter().enumerate().take(if out.is_null() { 0 } else { room }) {
            store(out.wrapping_add(i), *value);
        }
        Ok(values.len())
    })
}

fn length(attr: Attr, ctx: &piper_ir::Context) -> usize {
    match attr.data(ctx) {
        AttrData::Array(items) => items.len(),
        AttrData::Dict(entries) => entries.len(),
        AttrData::DenseArray { values, .. } => values.len(),
        _ => 0,
    }
}

fn wrong(wanted: &str, found: &str) -> Fault {
    Fault::new(PIPER_WRONG_KIND, format!("{found} is not {wanted}"))
}

/// Writes a value if there is one; whether there is.
pub(crate) fn stored<T>(out: *mut T, value: Option<T>) -> bool {
    value.map(|value| store(out, value)).is_some()
}
