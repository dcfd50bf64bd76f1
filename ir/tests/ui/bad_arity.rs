#![allow(unused_imports)]
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

dialect_ops! {
    /// Operands are one, optional or many.
    Op = "demo.op" {
        operands: { x: two(T::Any) },
    }
    /// Attributes are not many.
    Attr = "demo.attr" {
        attrs: { a: many(A::Int) },
    }
    /// A constraint is missing.
    Bare = "demo.bare" {
        operands: { x: one },
    }
    /// A default is missing.
    Default = "demo.default" {
        attrs: { a: default(A::Int) },
    }
}

fn main() {}
