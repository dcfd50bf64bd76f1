#![allow(unused_imports)]
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

dialect_ops! {
    /// The format names what is not declared.
    Undeclared = "demo.undeclared" {
        operands: { lhs: one(T::Any) },
        format: "$lsh attr-dict",
    }
    /// The format forgets an operand.
    Forgotten = "demo.forgotten" {
        operands: { lhs: one(T::Any), rhs: one(T::Any) },
        format: "$lhs attr-dict `:` type($lhs)",
    }
    /// The format does not say what type the result has.
    Untyped = "demo.untyped" {
        operands: { x: one(T::Any) },
        results: { y: one(T::Any) },
        format: "$x attr-dict `:` type($x)",
    }
    /// No such directive.
    Directive = "demo.directive" {
        attrs: { a: one(A::Int) },
        format: "$a attribute-dict",
    }
    /// No attribute dictionary.
    Dictionary = "demo.dictionary" {
        attrs: { a: one(A::Int) },
        format: "$a",
    }
    /// No anchor.
    Anchor = "demo.anchor" {
        operands: { x: optional(T::Any) },
        format: "(`of` $x)? attr-dict",
    }
}

fn main() {}
