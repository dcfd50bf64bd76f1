#![allow(unused_imports)]
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

dialect_ops! {
    /// A trait that is not there.
    Op = "demo.op" {
        operands: { x: one(T::Any) },
        traits: [Pure, Commutativ],
    }
}

fn main() {
    let _ = A::Any;
}
