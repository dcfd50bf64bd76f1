//! Operation definitions as data. Parser, printer, builder, verifier, typed views and reference documentation all read an
//! [`OpDef`]; the [`dialect_ops!`](crate::dialect_ops) macro makes them for built-in dialects, and anything else that
//! fills in the struct (a plugin, a definition file) is their equal. Counterpart: MLIR's ODS.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::Reporter;
use crate::text::{Format, ParseResult, Parser, Printer};
use crate::types::TypeData;
use crate::{Attr, AttrData, Context, Module, Op, Type};

/// A dialect: a namespace of operations, types and attributes.
#[derive(Debug, Default, Clone)]
pub struct Dialect {
    /// The namespace, without a dot.
    pub name: &'static str,
    /// One paragraph for the reference documentation.
    pub doc: &'static str,
    /// Its operations.
    pub ops: Vec<Arc<OpDef>>,
    /// Its types.
    pub types: Vec<ParamDef>,
    /// Its attributes.
    pub attrs: Vec<ParamDef>,
    /// How a folded value becomes a constant operation, if it can.
    pub materialize: Option<crate::interfaces::Materialize>,
}

/// How many values or attributes a declared name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// Exactly one.
    One,
    /// None or one.
    Optional,
    /// Any number.
    Variadic,
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
        }
    }
}

/// A declared operand or result, or a group of them.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ValueDef {
    pub name: Cow<'static, str>,
    pub arity: Arity,
    pub constraint: TypeConstraint,
}

/// A declared (inherent) attribute. Its position in [`OpDef::attrs`] is its slot.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct AttrDef {
    pub name: Cow<'static, str>,
    pub required: bool,
    pub constraint: AttrConstraint,
}

/// A declared region, or a group of them.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct RegionDef {
    pub name: Cow<'static, str>,
    pub arity: Arity,
}

/// What is known of every operation with a name. See the verifier for the rules each one brings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trait {
    /// Reads and writes nothing but its operands and results: may be removed, merged and moved.
    Pure,
    /// Ends its block.
    Terminator,
    /// Its regions use no value defined outside.
    IsolatedFromAbove,
    /// Operations in its region are found by `sym_name`.
    SymbolTable,
    /// Has a `sym_name`, unique in the enclosing symbol table.
    Symbol,
    /// Its blocks need no terminator.
    NoTerminator,
    /// Each region has exactly one block.
    SingleBlock,
    /// Its regions are graphs: uses may come before definitions.
    GraphRegion,
    /// All operands and results have one type.
    SameOperandsAndResultType,
    /// Operands may be exchanged.
    Commutative,
    /// No operands, one result, determined by attributes.
    ConstantLike,
    /// Its result is printed by the text of its attribute `name`, unless it was written with another one.
    NamesResult,
}

/// How an operation is written when not in the generic form.
#[derive(Clone, Debug)]
pub enum Syntax {
    /// Only the generic form.
    Generic,
    /// MLIR's declarative assembly format, compiled.
    Declarative(Arc<Format>),
    /// Written by hand.
    Custom {
        /// Reads what stands after the operation's name.
        parse: fn(&mut Parser<'_>) -> ParseResult<()>,
        /// Writes what stands after the operation's name.
        print: fn(&mut Printer<'_>, Op),
    },
}

/// Checks an operation whose declared parts are already known to be right.
pub type Verify = fn(&Module, Op, &mut Reporter<'_>);

/// One operation's definition: everything Piper knows of it.
pub struct OpDef {
    /// Full name, `dialect.op`.
    pub name: Cow<'static, str>,
    /// One line for lists and the head of its reference entry.
    pub summary: Cow<'static, str>,
    /// What it means, in Markdown.
    pub description: Cow<'static, str>,
    /// Declared operands, in order.
    pub operands: Vec<ValueDef>,
    /// Declared results, in order.
    pub results: Vec<ValueDef>,
    /// Declared attributes; position = slot.
    pub attrs: Vec<AttrDef>,
    /// Declared regions, in order.
    pub regions: Vec<RegionDef>,
    /// Its traits.
    pub traits: Vec<Trait>,
    /// Its textual form.
    pub syntax: Syntax,
    /// Checks beyond the declared parts.
    pub verify: Option<Verify>,
    /// What passes may ask of it, by type of the answer. See [`OpDef::interface`].
    pub interfaces: FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpDef").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OpDef {
    /// A definition with nothing but a name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            summary: "".into(),
            description: "".into(),
            operands: Vec::new(),
            results: Vec::new(),
            attrs: Vec::new(),
            regions: Vec::new(),
            traits: Vec::new(),
            syntax: Syntax::Generic,
            verify: None,
            interfaces: FxHashMap::default(),
        }
    }

    /// Whether it has a trait.
    pub fn has(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }

    /// The slot of a declared attribute.
    pub fn attr_slot(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|a| a.name == name)
    }

    /// Sets the documentation from doc-comment lines: the first paragraph is the summary.
    pub fn doc(mut self, text: &'static str) -> Self {
        let text = text.trim();
        let (summary, rest) = text.split_once("\n\n").unwrap_or((text, ""));
        self.summary = summary.split_whitespace().collect::<Vec<_>>().join(" ").into();
        self.description = rest
            .lines()
            .map(|l| l.strip_prefix(' ').unwrap_or(l))
            .collect::<Vec<_>>()
            .join("\n")
            .trim()
            .to_owned()
            .into();
        self
    }

    /// Adds what a pass may ask of the operation. One answer for each type.
    pub fn with_interface<I: Any + Send + Sync>(mut self, interface: I) -> Self {
        self.interfaces.insert(TypeId::of::<I>(), Arc::new(interface));
        self
    }

    /// The operation's answer of type `I`, if it gives one.
    pub fn interface<I: Any + Send + Sync>(&self) -> Option<&I> {
        self.interfaces.get(&TypeId::of::<I>())?.downcast_ref()
    }
}

/// A dialect type or attribute: a name and parameters with a textual form.
#[derive(Clone, Debug)]
pub struct ParamDef {
    /// Full name, `dialect.name`.
    pub name: &'static str,
    /// One paragraph for the reference documentation.
    pub doc: &'static str,
    /// Reads what stands after the name (angle brackets included, if any) and returns the parameters.
    pub parse: fn(&mut Parser<'_>) -> ParseResult<Vec<Attr>>,
    /// Writes what stands after the name.
    pub print: fn(&mut Printer<'_>, &[Attr]),
}
