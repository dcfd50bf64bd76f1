#![allow(unused_imports)]
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

dialect_ops! {
    /// An operand and an attribute of one name.
    Op = "demo.op" {
        operands: { x: one(T::Any) },
        attrs: { x: one(A::Int) },
    }
    /// A name that views have already.
    Taken = "demo.taken" {
        operands: { cast: one(T::Any) },
    }
    /// A clause twice.
    Clause = "demo.clause" {
        attrs: { a: one(A::Int) },
        attrs: { b: one(A::Int) },
    }
    /// An operation twice.
    Again = "demo.op" {}
}

fn main() {}
