#![allow(unused_imports)]
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

dialect_ops! {
    /// A default must be a plain value.
    Op = "demo.op" {
        operands: { x: one(T::Any) },
        attrs: { a: default(A::Int, vec![1]) },
    }
}

fn main() {}
