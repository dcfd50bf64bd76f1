//! What a kernel did wrong, said with the instruction and the thread.

use std::fmt;

use crate::error::Place;

/// Kinds of faults, for tests and tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An access outside of every allocation or variable.
    OutOfBounds,
    /// An address that is no multiple of the access.
    Misaligned,
    /// A register or memory is read that nobody wrote.
    Uninitialised,
    /// Two threads use the same memory, one of them writes, and nothing orders them.
    Race,
    /// Threads wait at a barrier that others do not reach.
    BarrierDivergence,
    /// A warp-wide instruction names lanes that do not execute it.
    InactiveLanes,
    /// Memory that an asynchronous copy is still filling is used.
    EarlyRead,
    /// An asynchronous unit uses memory or registers without the fence that it wants first.
    Unfenced,
    /// The kernel does not end within the step limit.
    StepLimit,
    /// `trap`, or an operand that the instruction does not allow.
    Trap,
    /// The launch itself is wrong.
    Launch,
}

/// A fault of a launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What happened and what was expected.
    pub message: String,
    /// The kernel.
    pub kernel: String,
    /// Where in the PTX text, and the instruction there. Line zero: the launch itself.
    pub place: Place,
    /// The text of the instruction.
    pub text: String,
    /// The block.
    pub block: [u32; 3],
    /// The thread.
    pub thread: [u32; 3],
}

impl Fault {
    pub(crate) fn launch(kernel: &str, message: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Launch,
            message: message.into(),
            kernel: kernel.to_string(),
            place: Place::default(),
            text: String::new(),
            block: [0; 3],
            thread: [0; 3],
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.line == 0 {
            return write!(f, "kernel {}: {}", self.kernel, self.message);
        }
        let [x, y, z] = self.thread;
        let [bx, by, bz] = self.block;
        write!(
            f,
            "kernel {}, line {}: {}\n  | {}\n  block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})",
            self.kernel, self.place.line, self.message, self.text
        )
    }
}

/// A fault before it is known where: lane and message.
pub(crate) struct Trouble {
    pub(crate) kind: FaultKind,
    pub(crate) lane: usize,
    pub(crate) message: String,
}

pub(crate) fn trouble<T>(kind: FaultKind, lane: usize, message: String) -> Result<T, Trouble> {
    Err(Trouble { kind, lane, message })
}
