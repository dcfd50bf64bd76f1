//! Merge: an I directly followed by the W of the same stage and microbatch is a whole backward.
//!
//! ```text
//! 0I0 0I1 0W0 0I2 0W2 0W1   ->   0I0 0I1 0W0 0B2 0W1
//! ```
//!
//! Nothing stands between the halves, so splitting them gains nothing, and one kernel launch is saved. Idle cells do not
//! separate and are dropped.

use super::Op;
use crate::action::{Action, Kind, Slot};

/// The row with whole backwards where both halves stand together.
pub fn merge_bw(row: &[Op]) -> Vec<Op> {
    let mut merged: Vec<Op> = Vec::with_capacity(row.len());
    for op in row.iter().filter(|op| **op != Op::Idle) {
        match (merged.last_mut(), op) {
            (Some(Op::Compute(Slot::One(before))), Op::Compute(Slot::One(after)))
                if before.kind == Kind::I && *after == (Action { kind: Kind::W, ..*before }) =>
            {
                before.kind = Kind::B;
            }
            _ => merged.push(op.clone()),
        }
    }
    merged
}
