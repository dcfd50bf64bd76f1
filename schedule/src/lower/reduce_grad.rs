//! Reduce: the gradients of a stage are reduced once, after its last contribution.
//!
//! The last contribution is the M-th `W` or `B` of the stage on this rank, whichever microbatch that is. Idle cells are
//! dropped.
//!
//! ```text
//! 0F0 0F1 0B0 0B1   ->   0F0 0F1 0B0 0B1 0REDUCE_GRAD
//! ```

use std::collections::BTreeMap;

use super::Op;
use crate::action::Kind;

/// The row with a reduction after each stage's `microbatches`-th `W` or `B`. Where a stage lives on two ranks, each of them
/// runs only a part of the microbatches; `microbatches` is then that part.
pub fn reduce_grad(row: &[Op], microbatches: impl Fn(u32) -> u32) -> Vec<Op> {
    let mut done: BTreeMap<u32, u32> = BTreeMap::new();
    let mut out = Vec::with_capacity(row.len() + 1);
    for op in row.iter().filter(|op| **op != Op::Idle) {
        out.push(op.clone());
        for action in op.actions().iter().filter(|a| matches!(a.kind, Kind::W | Kind::B)) {
            let done = done.entry(action.stage).or_default();
            *done += 1;
            if *done == microbatches(action.stage) {
                out.push(Op::ReduceGrad(action.stage));
            }
        }
    }
    out
}
