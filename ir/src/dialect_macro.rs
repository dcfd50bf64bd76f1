//! The macro that declares operations: one block of text an operation, from which the definition, a typed view and a typed
//! builder come. The work is done by `piper-ir-macros`; this wrapper tells it where this crate is.

/// Declares operations of a dialect. For each one there is a typed view (a struct around an [`Op`](crate::Op) with an
/// accessor a declared part), a typed builder ([`OpBuilder`](crate::OpBuilder)), and its [`OpDef`](crate::OpDef).
///
/// ```
/// use piper_ir::{AttrConstraint, TypeConstraint, dialect_ops};
///
/// dialect_ops! {
///     /// A matrix product with a bias.
///     ///
///     /// `y[.., N] = x[.., K] w[K, N] + bias[N]`
///     Linear = "demo.linear" {
///         operands: { x: one(TypeConstraint::FloatTensor), w: one(TypeConstraint::FloatTensor), bias: optional(TypeConstraint::FloatTensor) },
///         results: { y: one(TypeConstraint::FloatTensor) },
///         attrs: { transpose_w: optional(AttrConstraint::Unit) },
///         traits: [Pure],
///         format: "$x `,` $w (`,` $bias^)? attr-dict `:` functional-type(operands, results)",
///     }
/// }
/// assert_eq!(Linear::NAME, "demo.linear");
/// assert_eq!(Linear::def().summary, "A matrix product with a bias.");
/// ```
///
/// A doc comment is required: its first paragraph is the summary, code blocks in the language `mlir` are examples (they are
/// parsed and verified by a test; `mlir module` marks a whole file), the rest is the description. Clauses stand in any
/// order, each at most once, none is required:
///
/// | clause | what it says |
/// |---|---|
/// | `operands: { x: one(C), y: optional(C), z: many(C) }` | operands, with a [`TypeConstraint`](crate::TypeConstraint) each |
/// | `results: { ... }` | results, in the same way |
/// | `attrs: { a: one(C), b: optional(C), c: default(C, 4) }` | attributes, with an [`AttrConstraint`](crate::AttrConstraint) each |
/// | `regions: { body: one }`, `successors: { dest: one }` | regions and successors: `one`, `optional` or `many` |
/// | `traits: [Pure]` | [`Trait`](crate::Trait)s |
/// | `format: "..."` | how it is written, in MLIR's declarative format, checked while compiling |
/// | `directives: { Name: (parse, print) }` | what the format may use as `custom<Name>(...)` ([`DirectiveDef`](crate::DirectiveDef)) |
/// | `syntax: (parse, print)` | how it is written, by hand |
/// | `infer: function` | result types from operands and attributes ([`InferTypes`](crate::InferTypes)) |
/// | `verify: function` | checks beyond the declared parts |
/// | `interfaces: [A, B]` | what passes may ask of it ([`OpDef::interface`](crate::OpDef::interface)) |
/// | `examples: ["..."]` | further examples |
#[macro_export]
macro_rules! dialect_ops {
    ($($declarations:tt)*) => {
        $crate::declare_ops! { [$crate] $($declarations)* }
    };
}
