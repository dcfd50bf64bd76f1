//! What declared types and attributes must be, and what an attribute is when it is not written.

use std::borrow::Cow;
use std::sync::Arc;

use crate::types::TypeData;
use crate::{Attr, AttrData, Context, Type};

/// A rule with data of its own.
type Accepts<T> = Box<dyn Fn(&Context, T) -> bool + Send + Sync>;

/// A predicate that is made while Piper runs, from the text of a definition.
pub struct Predicate<T> {
    text: String,
    accepts: Accepts<T>,
}

/// A predicate on types.
pub type TypePredicate = Predicate<Type>;
/// A predicate on attributes.
pub type AttrPredicate = Predicate<Attr>;

impl<T> Predicate<T> {
    /// A predicate with its description, as it stands after "must be".
    pub fn new(
        text: impl Into<String>,
        accepts: impl Fn(&Context, T) -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { text: text.into(), accepts: Box::new(accepts) })
    }
}

impl<T> std::fmt::Debug for Predicate<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Predicate").field(&self.text).finish()
    }
}

/// What a type must be.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum TypeConstraint {
    Any,
    /// Any ranked tensor.
    Tensor,
    /// A ranked tensor of floating-point numbers.
    FloatTensor,
    /// A ranked tensor of integers.
    IntTensor,
    /// A dialect type by its full name.
    Dialect(&'static str),
    /// A predicate with its description, as it stands after "must be".
    Pred(&'static str, fn(&Context, Type) -> bool),
    /// The same, made while Piper runs.
    Made(Arc<TypePredicate>),
}

impl TypeConstraint {
    /// Whether `ty` meets the constraint.
    pub fn accepts(&self, ctx: &Context, ty: Type) -> bool {
        let element = || ty.as_tensor(ctx).map(|(_, element)| element.data(ctx));
        match self {
            Self::Any => true,
            Self::Tensor => element().is_some(),
            Self::FloatTensor => matches!(element(), Some(TypeData::Float(_))),
            Self::IntTensor => matches!(element(), Some(TypeData::Integer { .. })),
            Self::Dialect(name) => {
                matches!(ty.data(ctx), TypeData::Dialect { name: n, .. } if n.text(ctx) == *name)
            }
            Self::Pred(_, accepts) => accepts(ctx, ty),
            Self::Made(made) => (made.accepts)(ctx, ty),
        }
    }

    /// What the constraint asks for, as it stands after "must be".
    pub fn describe(&self) -> Cow<'static, str> {
        match self {
            Self::Any => "any type".into(),
            Self::Tensor => "a ranked tensor".into(),
            Self::FloatTensor => "a ranked tensor of floating-point numbers".into(),
            Self::IntTensor => "a ranked tensor of integers".into(),
            Self::Dialect(name) => format!("!{name}").into(),
            Self::Pred(text, _) => (*text).into(),
            Self::Made(made) => made.text.clone().into(),
        }
    }
}

/// What an attribute must be.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum AttrConstraint {
    Any,
    Unit,
    Bool,
    Int,
    Float,
    /// An integer or a float.
    Number,
    Str,
    /// A flat symbol reference.
    Symbol,
    Array,
    Dict,
    Type,
    /// `array<i64: ...>`
    IntArray,
    /// One of these strings.
    Enum(&'static [&'static str]),
    /// A dialect attribute by its full name.
    Dialect(&'static str),
    /// A predicate with its description, as it stands after "must be".
    Pred(&'static str, fn(&Context, Attr) -> bool),
    /// The same, made while Piper runs.
    Made(Arc<AttrPredicate>),
}

impl AttrConstraint {
    /// Whether `attr` meets the constraint.
    pub fn accepts(&self, ctx: &Context, attr: Attr) -> bool {
        let data = attr.data(ctx);
        match self {
            Self::Any => true,
            Self::Unit => matches!(data, AttrData::Unit),
            Self::Bool => matches!(data, AttrData::Int { ty, .. } if *ty == ctx.i1()),
            Self::Int => matches!(data, AttrData::Int { .. }),
            Self::Float => matches!(data, AttrData::Float { .. }),
            Self::Number => attr.as_number(ctx).is_some(),
            Self::Str => matches!(data, AttrData::Str(_)),
            Self::Symbol => attr.as_symbol(ctx).is_some(),
            Self::Array => matches!(data, AttrData::Array(_)),
            Self::Dict => matches!(data, AttrData::Dict(_)),
            Self::Type => matches!(data, AttrData::Type(_)),
            Self::IntArray => {
                matches!(data, AttrData::DenseArray { element, .. } if matches!(element.data(ctx), TypeData::Integer { .. }))
            }
            Self::Enum(cases) => matches!(data, AttrData::Str(text) if cases.contains(&&**text)),
            Self::Dialect(full) => {
                matches!(data, AttrData::Dialect { name, .. } if name.text(ctx) == *full)
            }
            Self::Pred(_, accepts) => accepts(ctx, attr),
            Self::Made(made) => (made.accepts)(ctx, attr),
        }
    }

    /// What the constraint asks for, as it stands after "must be".
    pub fn describe(&self) -> Cow<'static, str> {
        match self {
            Self::Any => "any attribute".into(),
            Self::Unit => "a unit attribute".into(),
            Self::Bool => "true or false".into(),
            Self::Int => "an integer".into(),
            Self::Float => "a floating-point number".into(),
            Self::Number => "a number".into(),
            Self::Str => "a string".into(),
            Self::Symbol => "a symbol reference".into(),
            Self::Array => "an array".into(),
            Self::Dict => "a dictionary".into(),
            Self::Type => "a type".into(),
            Self::IntArray => "an integer array".into(),
            Self::Enum(cases) => format!(
                "one of {}",
                cases.iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", ")
            )
            .into(),
            Self::Dialect(name) => format!("#{name}").into(),
            Self::Pred(text, _) => (*text).into(),
            Self::Made(made) => made.text.clone().into(),
        }
    }
}

/// The value of a declared attribute that is not there. A definition knows no context, so it is kept as a plain value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum AttrDefault {
    /// `i64`
    Int(i64),
    /// `f64`
    Float(f64),
    Bool(bool),
    Str(Cow<'static, str>),
}

impl AttrDefault {
    /// The attribute.
    pub fn attr(&self, ctx: &Context) -> Attr {
        match self {
            Self::Int(value) => ctx.int_attr(*value),
            Self::Float(value) => ctx.float_attr(*value),
            Self::Bool(value) => ctx.bool_attr(*value),
            Self::Str(text) => ctx.str_attr(text),
        }
    }
}

impl From<i64> for AttrDefault {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for AttrDefault {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for AttrDefault {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&'static str> for AttrDefault {
    fn from(text: &'static str) -> Self {
        Self::Str(text.into())
    }
}
