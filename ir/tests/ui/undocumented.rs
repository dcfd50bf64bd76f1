#![allow(unused_imports)]
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

dialect_ops! {
    Op = "demo.op" {
        operands: { x: one(T::Any) },
    }
    /// A name without a dialect.
    Bare = "op" {
        attrs: { a: one(A::Int) },
        format: "$a attr-dict",
        syntax: (parse, print),
    }
}

fn main() {}
