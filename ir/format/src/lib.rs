//! The language in which an operation's declaration says how it is written: MLIR's declarative assembly format,
//! ``"$x `,` $w attr-dict `:` type($x)"``, read into a tree and checked against the declared names.
//!
//! It stands in a crate of its own because it is needed twice: by the macro that declares operations, where a mistake is a
//! compile error, and by the IR core, which interprets the tree and compiles the formats of definitions made at run time.
//! So it knows nothing of types, attributes or operations, only names.
//! Reference: <https://mlir.llvm.org/docs/DefiningDialects/Operations/#declarative-assembly-format>.

#![forbid(unsafe_code)]

mod check;
mod read;
mod suggest;
#[cfg(test)]
mod tests;

pub use read::read;
pub use suggest::did_you_mean;

/// How many values, attributes, regions or successors a declared name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Exactly one.
    One,
    /// None or one.
    Optional,
    /// Any number.
    Many,
}

/// A declared name.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Declared {
    pub name: String,
    pub count: Count,
}

/// A declared attribute.
#[derive(Clone, Debug)]
pub struct DeclaredAttr {
    /// Its name.
    pub name: String,
    /// Whether the operation may be without it: optional, with a default, or a unit.
    pub may_be_absent: bool,
    /// Whether it has no text of its own: its presence says all.
    pub is_unit: bool,
}

/// What a format may name. Positions in these lists are the indices in [`Element`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Declaration {
    pub operands: Vec<Declared>,
    pub results: Vec<Declared>,
    pub attrs: Vec<DeclaredAttr>,
    pub regions: Vec<Declared>,
    pub successors: Vec<Declared>,
    /// Directives that the operation brings itself, for `custom<Name>(...)`.
    pub directives: Vec<String>,
    /// Whether result types follow from operands and attributes.
    pub infers_results: bool,
}

/// Values whose types an element stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// A declared operand or group of them.
    Operand(usize),
    /// A declared result or group of them.
    Result(usize),
    /// All operands.
    Operands,
    /// All results.
    Results,
}

/// What is handed to a custom directive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Part {
    Operand(usize),
    Attr(usize),
    Region(usize),
    Successor(usize),
    Type(Values),
    /// The attribute dictionary.
    AttrDict,
}

/// An argument of a custom directive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Argument {
    /// What it is.
    pub part: Part,
    /// `ref(...)`: the directive may look at it but another element reads and writes it.
    pub is_ref: bool,
}

/// One element of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Element {
    /// A keyword or punctuation, as it stands in the text.
    Literal(String),
    /// ` `` ` (empty), a space, or a line break: white space for the printer, nothing for the reader.
    Space(String),
    /// `$operand`
    Operand(usize),
    /// `operands`: all of them, in one list.
    Operands,
    /// `$attr`
    Attr {
        /// Its position in the declaration.
        slot: usize,
        /// `qualified($attr)`: a dialect attribute with its full name, though the declaration implies it.
        qualified: bool,
    },
    /// `$sym_name`: a symbol's definition, written `@name`.
    SymbolName(usize),
    /// `$region`
    Region(usize),
    /// `regions`: all of them, in one list.
    Regions,
    /// `$successor`
    Successor(usize),
    /// `successors`: all of them, in one list.
    Successors,
    /// `attr-dict`: what no other element writes, as `{...}` if there is any.
    AttrDict,
    /// `attr-dict-with-keyword`: the same behind `attributes`, where a bare dictionary would be taken for a region.
    AttrDictWithKeyword,
    /// `prop-dict`: the declared attributes that no other element writes, as `<{...}>`.
    PropDict,
    /// `type(...)`
    Type(Values),
    /// `functional-type(inputs, results)`
    FunctionalType(Values, Values),
    /// `result-types`: `-> results` where all operands are defined above, else `: (operands) -> results`. Piper's own.
    ResultTypes,
    /// `(then)?` or `(then) : (otherwise)?`
    Group {
        /// Written if the anchor is present.
        then: Vec<Element>,
        /// Written if it is not.
        otherwise: Vec<Element>,
        /// Position of the anchor in `then`.
        anchor: usize,
    },
    /// ``oilist(`a` ... | `b` ...)``: clauses in any order, each at most once; written in this order.
    Oilist(Vec<Vec<Element>>),
    /// `custom<Name>(...)`
    Custom {
        /// Position among the declared directives.
        directive: usize,
        /// Its arguments.
        arguments: Vec<Argument>,
    },
}

/// Why a text is not a format for a declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// What is wrong, with the name it is about.
    pub message: String,
    /// Where in the text, in bytes.
    pub at: usize,
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}
