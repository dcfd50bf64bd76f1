//! Attributes: constant data on operations. Interned; equality is handle equality. Counterpart: MLIR's builtin attributes.

use crate::affine::{AffineMap, IntegerSet};
use crate::types::{Signedness, TypeData};
use crate::{Attr, Blob, Context, Loc, Name, Type};

/// The data behind an [`Attr`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AttrData {
    /// Presence alone: `{transpose}`.
    Unit,
    /// `3 : i32`; `true` and `false` are `i1`. A value of a signless type is read as signed; one of `ui128` as the bits.
    Int { value: i128, ty: Type },
    /// `3 : i200`: an integer of more than 128 bits, as two's complement words, the lowest first.
    WideInt { words: Box<[u64]>, ty: Type },
    /// `1.5 : f32`: the bits of the type's own format. [`Attr::as_float`] and [`Context::float_attr_of`] speak of numbers.
    Float { pattern: u128, ty: Type },
    /// `"text"`
    Str(Box<str>),
    /// `"text" : !dialect.type`
    TypedStr { text: Box<str>, ty: Type },
    /// `[a, b]`
    Array(Box<[Attr]>),
    /// `{k = a}`, sorted by key text.
    Dict(Box<[(Name, Attr)]>),
    /// A type as an attribute.
    Type(Type),
    /// `@root::@nested`
    Symbol { root: Name, nested: Box<[Name]> },
    /// `array<i64: 1, 2>`: integers as they are, floats as the bits of their format. An element of more than 64 bits takes
    /// two words or more, the lowest first.
    DenseArray { element: Type, values: Box<[i64]> },
    /// `dense<...> : type` of numbers; [`Attr::as_dense`] reads it.
    Dense { ty: Type, data: Blob },
    /// `dense<["a", "b"]> : tensor<2x!dialect.type>`; one text if all are the same.
    DenseStrings { ty: Type, values: Box<[Box<str>]> },
    /// `sparse<indices, values> : type`, both of them `dense`.
    Sparse { ty: Type, indices: Attr, values: Attr },
    /// `dense_resource<key> : type`: data that stands at the end of the file or elsewhere.
    Resource { ty: Type, key: Name },
    /// `distinct[0]<attr>`: equal only to itself. `id` comes from [`Context::distinct_attr`].
    Distinct { id: u64, attr: Attr },
    /// `affine_map<(d0) -> (d0)>`
    AffineMap(AffineMap),
    /// `affine_set<(d0) : (d0 >= 0)>`
    IntegerSet(IntegerSet),
    /// `strided<[1, ?], offset: ?>`
    Strided { strides: Box<[i64]>, offset: i64 },
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
            AttrData::Float { pattern, ty } => Some(ty.as_float(ctx)?.value_of(*pattern)),
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

    /// The elements of an integer `array<...>` of at most 64 bits.
    pub fn as_int_array(self, ctx: &Context) -> Option<&[i64]> {
        match self.data(ctx) {
            AttrData::DenseArray { element, values } => match element.data(ctx) {
                TypeData::Integer { width: ..=64, .. } => Some(values),
                _ => None,
            },
            _ => None,
        }
    }

    /// The elements of a floating-point `array<...>` of at most 64 bits.
    pub fn as_float_array(self, ctx: &Context) -> Option<Vec<f64>> {
        match self.data(ctx) {
            AttrData::DenseArray { element, values } => {
                let kind = element.as_float(ctx).filter(|kind| kind.bits() <= 64)?;
                Some(values.iter().map(|&bits| kind.value_of((bits as u64).into())).collect())
            }
            _ => None,
        }
    }

    /// The type of the attribute, if it has one: that after the colon.
    pub fn ty(self, ctx: &Context) -> Option<Type> {
        match self.data(ctx) {
            AttrData::Int { ty, .. }
            | AttrData::WideInt { ty, .. }
            | AttrData::Float { ty, .. }
            | AttrData::TypedStr { ty, .. }
            | AttrData::Dense { ty, .. }
            | AttrData::DenseStrings { ty, .. }
            | AttrData::Sparse { ty, .. }
            | AttrData::Resource { ty, .. } => Some(*ty),
            AttrData::Opaque { ty, .. } => *ty,
            _ => None,
        }
    }

    /// The map of an `affine_map`.
    pub fn as_affine_map(self, ctx: &Context) -> Option<&AffineMap> {
        match self.data(ctx) {
            AttrData::AffineMap(map) => Some(map),
            _ => None,
        }
    }

    /// The attribute as it is written.
    pub fn display(self, ctx: &Context) -> String {
        crate::text::print_attr(ctx, self)
    }
}

impl Context {
    /// The floating-point number of this type nearest to `value`; `ty` must be a floating-point type.
    pub fn float_attr_of(&self, ty: Type, value: f64) -> Attr {
        let kind = ty.as_float(self).expect("a floating-point type");
        self.attr(AttrData::Float { pattern: kind.pattern_of(value), ty })
    }

    /// The integer of this type (an integer of at most 128 bits, or `index`) whose low bits are those of `value`.
    pub fn int_attr_of(&self, ty: Type, value: i128) -> Attr {
        let (width, signedness) = match *ty.data(self) {
            TypeData::Integer { width, signedness } => (width, signedness),
            _ => (64, Signedness::Signless),
        };
        assert!(width <= 128, "an integer of at most 128 bits");
        self.attr(AttrData::Int { value: extend(value, width, signedness), ty })
    }
}

/// The low `width` bits of `value`, read as the type reads them; `i1` is 0 or 1.
pub(crate) fn extend(value: i128, width: u32, signedness: Signedness) -> i128 {
    let spare = 128 - width.min(128);
    match (width, signedness) {
        (0, _) => 0,
        (1, Signedness::Signless) | (_, Signedness::Unsigned) => {
            ((value as u128) << spare >> spare) as i128
        }
        _ => value << spare >> spare,
    }
}

impl Name {
    /// The text of the name.
    pub fn text(self, ctx: &Context) -> &str {
        ctx.name_text(self)
    }
}
