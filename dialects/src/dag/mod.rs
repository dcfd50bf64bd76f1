//! The DAG level: the whole step as one graph of compute chunks, transfers and collectives over distributed values.
//!
//! What could compose silently wrong is in the types ([`Dist`]): where a value lives, how it is sharded, and what it is still a
//! partial sum over. The verifiers of the operations are the rules by which these may change.

pub mod dist;
mod ops;
mod sizes;
mod verify;

pub use dist::{AxisSizes, Dist, Held, Home, MICROBATCH, Part};
pub use ops::*;
pub use verify::collective_axes;

use piper_ir::Dialect;

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "dag",
        doc: "The global training step: compute chunks, transfers and collectives over distributed values.",
        ops: op_defs(),
        types: vec![dist::definition()],
        ..Dialect::default()
    }
}
