//! What an operation is to fusion: the interface that decides which operations run in one launch.

use piper_ir::{Module, Op};

/// The interface. An operation without it is no kernel and stays where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fusion {
    /// Value by value over one shape: joins what makes its operands.
    Elementwise,
    /// Value by value too: the sum of two values, which also joins a kernel that [adds](Self::Adding).
    Sum,
    /// A fill: repeated wherever an elementwise group wants it, for it costs nothing there.
    Fill,
    /// A matrix product, which may go on elementwise.
    Product,
    /// A kernel of its own, of this one of the [`KINDS`](super::KINDS).
    Alone(&'static str),
    /// The same, but it can add something to what it makes before it stores that.
    Adding(&'static str),
}

impl Fusion {
    /// The interface of an operation, if it has it.
    pub fn of(module: &Module, op: Op) -> Option<Self> {
        module.def(op)?.interface::<Fusion>().copied()
    }
}
