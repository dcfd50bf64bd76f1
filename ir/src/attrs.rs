//! Attributes: constant data on operations. Interned; equality is handle equality. Counterpart: MLIR's builtin attributes.

use std::sync::Arc;

use crate::{Attr, Context, Loc, Name, Type};

/// The data behind an [`Attr`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AttrData {
    /// Presence alone: `{transpose}`.
    Unit,
    /// `3 : i32`; `true` and `false` are `i1`.
    Int { value: i128, ty: Type },
    /// `1.5 : f32`: the value rounded to the type, as the bits of the equal `f64`.
    Float { bits: u64, ty: Type },
    /// `"text"`
    Str(Box<str>),
    /// `[a, b]`
    Array(Box<[Attr]>),
    /// `{k = a}`, sorted by key text.
    Dict(Box<[(Name, Attr)]>),
    /// A type as an attribute.
    Type(Type),
    /// `@root::@nested`
    Symbol { root: Name, nested: Box<[Name]> },
    /// `array<i64: 1, 2>`: integers as they are, floats as the bits of the equal `f64`.
    DenseArray { element: Type, values: Box<[i64]> },
    /// `dense<...> : type`, the elements as written between the brackets. The bytes are outside the interner.
    Dense { ty: Type, body: Arc<str> },
    /// `loc(...)`
    Loc(Loc),
    /// `#dialect.name<...>` of a registered definition, its parameters as attributes.
    Dialect { name: Name, params: Box<[Attr]> },
    /// `#dialect<body>` or `#dialect.body` of an unregistered dialect, kept byte for byte.
    Opaque { dialect: Name, body: Box<str>, ty: Option<Type> },
}

impl Attr {
    /// The attribute's data.
    pub fn data(self, ctx: &Context) -> &AttrData {
        ctx.attr_data(self)
    }

    /// An integer's value; booleans are 0 and 1.
    pub fn as_int(self, ctx: &Context) -> Option<i64> {
        match self.data(ctx) {
            AttrData::Int { value, .. } => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// A float's value.
    pub fn as_float(self, ctx: &Context) -> Option<f64> {
        match self.data(ctx) {
            AttrData::Float { bits, .. } => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    /// A float's or an integer's value.
    pub fn as_number(self, ctx: &Context) -> Option<f64> {
        self.as_float(ctx).or_else(|| self.as_int(ctx).map(|v| v as f64))
    }

    /// A string's text.
    pub fn as_str(self, ctx: &Context) -> Option<&str> {
        match self.data(ctx) {
            AttrData::Str(text) => Some(text),
            _ => None,
        }
    }

    /// An array's elements.
    pub fn as_array(self, ctx: &Context) -> Option<&[Attr]> {
        match self.data(ctx) {
            AttrData::Array(items) => Some(items),
            _ => None,
        }
    }

    /// A dictionary's entries, sorted by key text.
    pub fn as_dict(self, ctx: &Context) -> Option<&[(Name, Attr)]> {
        match self.data(ctx) {
            AttrData::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// A dictionary's entry.
    pub fn get(self, ctx: &Context, key: &str) -> Option<Attr> {
        self.as_dict(ctx)?.iter().find(|(name, _)| name.text(ctx) == key).map(|(_, attr)| *attr)
    }

    /// A type attribute's type.
    pub fn as_type(self, ctx: &Context) -> Option<Type> {
        match self.data(ctx) {
            AttrData::Type(ty) => Some(*ty),
            _ => None,
        }
    }

    /// The name of a flat symbol reference (`@name`).
    pub fn as_symbol(self, ctx: &Context) -> Option<Name> {
        match self.data(ctx) {
            AttrData::Symbol { root, nested } if nested.is_empty() => Some(*root),
            _ => None,
        }
    }

    /// The elements of an integer `array<...>`.
    pub fn as_int_array(self, ctx: &Context) -> Option<&[i64]> {
        match self.data(ctx) {
            AttrData::DenseArray { values, .. } => Some(values),
            _ => None,
        }
    }

    /// The attribute as it is written.
    pub fn display(self, ctx: &Context) -> String {
        crate::text::print_attr(ctx, self)
    }
}

impl Name {
    /// The text of the name.
    pub fn text(self, ctx: &Context) -> &str {
        ctx.name_text(self)
    }
}
