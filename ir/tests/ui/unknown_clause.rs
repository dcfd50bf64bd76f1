#![allow(unused_imports)]
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

dialect_ops! {
    /// One clause is misspelt.
    Op = "demo.op" {
        operand: { x: one(T::Any) },
    }
    /// The other is no clause at all.
    Other = "demo.other" {
        colour: "red",
    }
}

fn main() {
    let _ = A::Any;
}
