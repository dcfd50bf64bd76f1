//! Operation definitions as data. Parser, printer, builder, verifier, typed views and reference documentation all read an
//! [`OpDef`]; the [`dialect_ops!`](crate::dialect_ops) macro makes them for built-in dialects, and anything else that
//! fills in the struct (a plugin, a definition file) is their equal. Counterpart: MLIR's ODS.

mod constraints;
mod example;
mod foreign;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use constraints::{AttrConstraint, AttrDefault, AttrPredicate, TypeConstraint, TypePredicate};
pub use example::Example;
pub use foreign::DialectError;

use crate::diag::Reporter;
use crate::text::{DirectiveDef, Format, FormatError, ParseResult, Parser, Printer};
use crate::{Attr, Module, Op};

/// A dialect: a namespace of operations, types and attributes.
#[derive(Debug, Default, Clone)]
pub struct Dialect {
    /// The namespace, without a dot.
    pub name: Cow<'static, str>,
    /// One paragraph for the reference documentation.
    pub doc: Cow<'static, str>,
    /// Its operations.
    pub ops: Vec<Arc<OpDef>>,
    /// Its types.
    pub types: Vec<ParamDef>,
    /// Its attributes.
    pub attrs: Vec<ParamDef>,
    /// The text around the examples of its operations: a module with a line `...` where the example stands. Empty if they
    /// stand in a module of their own.
    pub setting: &'static str,
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
    /// What it is when it is not there; such an attribute is not required.
    pub default: Option<AttrDefault>,
}

/// A declared region, or a group of them.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct RegionDef {
    pub name: Cow<'static, str>,
    pub arity: Arity,
}

/// A declared successor, or a group of them.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct SuccessorDef {
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

/// Checks an operation whose declared parts are already known to be right. A function, as every hook of a definition is: one
/// that needs data finds them in the definition ([`OpDef::interface`]), which it gets by [`Module::def`].
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
    /// Declared successors, in order.
    pub successors: Vec<SuccessorDef>,
    /// Its traits.
    pub traits: Vec<Trait>,
    /// Directives that its format uses as `custom<Name>(...)`.
    pub directives: Vec<DirectiveDef>,
    /// Its textual form.
    pub syntax: Syntax,
    /// Checks beyond the declared parts.
    pub verify: Option<Verify>,
    /// What passes may ask of it, by type of the answer. See [`OpDef::interface`].
    pub interfaces: FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// The interfaces' names, for people.
    pub interface_names: Vec<&'static str>,
    /// How it is used: text that parses and verifies.
    pub examples: Vec<Example>,
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
            successors: Vec::new(),
            traits: Vec::new(),
            directives: Vec::new(),
            syntax: Syntax::Generic,
            verify: None,
            interfaces: FxHashMap::default(),
            interface_names: Vec::new(),
            examples: Vec::new(),
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

    /// Sets the documentation from doc-comment lines: the first paragraph is the summary, code blocks in the language `mlir`
    /// are examples, and the rest is the description.
    pub fn doc(mut self, text: &'static str) -> Self {
        let (prose, examples) = example::split(text);
        let (summary, rest) = prose.trim().split_once("\n\n").unwrap_or((prose.trim(), ""));
        self.summary = summary.split_whitespace().collect::<Vec<_>>().join(" ").into();
        self.description = rest.trim().to_owned().into();
        self.examples.extend(examples);
        self
    }

    /// Sets the textual form. Everything that the format names must be declared before.
    ///
    /// # Panics
    /// If the text is not a format for this definition: it is part of the program.
    pub fn with_format(mut self, format: &str) -> Self {
        finish_segments(&mut self);
        self.syntax = Syntax::Declarative(Arc::new(Format::compile(format, &self)));
        self
    }

    /// Sets the textual form from a text that is data. Everything that the format names must be declared before.
    ///
    /// # Errors
    /// What is wrong with the text, and at which byte of it.
    pub fn try_with_format(mut self, format: &str) -> Result<Self, FormatError> {
        finish_segments(&mut self);
        self.syntax = Syntax::Declarative(Arc::new(Format::try_compile(format, &self)?));
        Ok(self)
    }

    /// Adds what follows from the declared parts: where several groups are of unknown length, attributes with their sizes.
    pub fn finish(mut self) -> Self {
        finish_segments(&mut self);
        self
    }

    /// Adds what a pass may ask of the operation. One answer for each type.
    pub fn with_interface<I: Any + Send + Sync>(mut self, interface: I) -> Self {
        if self.interfaces.insert(TypeId::of::<I>(), Arc::new(interface)).is_none() {
            let name = std::any::type_name::<I>();
            let name = name.split('<').next().unwrap_or(name);
            self.interface_names.push(name.rsplit("::").next().unwrap_or(name));
        }
        self
    }

    /// The operation's answer of type `I`, if it gives one.
    pub fn interface<I: Any + Send + Sync>(&self) -> Option<&I> {
        self.interfaces.get(&TypeId::of::<I>())?.downcast_ref()
    }
}

/// The attribute that holds how many operands each declared group has, as in MLIR.
pub const OPERAND_SEGMENTS: &str = "operandSegmentSizes";
/// The attribute that holds how many results each declared group has, as in MLIR.
pub const RESULT_SEGMENTS: &str = "resultSegmentSizes";

/// Adds the segment-size attributes to a definition with more than one group of unknown length.
fn finish_segments(def: &mut OpDef) {
    for (values, name) in [(&def.operands, OPERAND_SEGMENTS), (&def.results, RESULT_SEGMENTS)] {
        let groups = values.iter().filter(|value| value.arity != Arity::One).count();
        if groups > 1 && def.attrs.iter().all(|attr| attr.name != name) {
            def.attrs.push(AttrDef {
                name: name.into(),
                required: true,
                constraint: AttrConstraint::IntArray,
                default: None,
            });
        }
    }
}

/// Reads what stands after the name of a type or attribute.
type ParseParams = dyn Fn(&mut Parser<'_>) -> ParseResult<Vec<Attr>> + Send + Sync;
/// Writes it.
type PrintParams = dyn Fn(&mut Printer<'_>, &[Attr]) + Send + Sync;

/// A dialect type or attribute: a name and parameters with a textual form.
#[derive(Clone)]
pub struct ParamDef {
    /// Full name, `dialect.name`.
    pub name: Cow<'static, str>,
    /// One paragraph for the reference documentation.
    pub doc: Cow<'static, str>,
    parse: Arc<ParseParams>,
    print: Arc<PrintParams>,
}

impl ParamDef {
    /// A definition. `parse` reads what stands after the name (angle brackets included, if any) and returns the parameters;
    /// `print` writes it. Both may hold data of their own: a definition that is made while Piper runs has its rules in them.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        doc: impl Into<Cow<'static, str>>,
        parse: impl Fn(&mut Parser<'_>) -> ParseResult<Vec<Attr>> + Send + Sync + 'static,
        print: impl Fn(&mut Printer<'_>, &[Attr]) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), doc: doc.into(), parse: Arc::new(parse), print: Arc::new(print) }
    }

    /// Reads what stands after the name.
    ///
    /// # Errors
    /// What is wrong with it has been reported.
    pub fn parse(&self, p: &mut Parser<'_>) -> ParseResult<Vec<Attr>> {
        (self.parse)(p)
    }

    /// Writes what stands after the name.
    pub fn print(&self, p: &mut Printer<'_>, params: &[Attr]) {
        (self.print)(p, params);
    }
}

impl std::fmt::Debug for ParamDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParamDef").field("name", &self.name).finish_non_exhaustive()
    }
}
