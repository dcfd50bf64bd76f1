//! From an order of F and I to a whole row: W goes where a rank would idle, or where memory asks for it.
//!
//! The order of the forwards and input gradients of every rank is given; weight gradients wait in a queue. They may stand
//! in the order as well, which is then where they run at the latest. A rank takes the oldest of them when its next action comes so late that enough of the gap is filled, when more of them are pending
//! than it is allowed to keep, or when the next forward would exceed the limit of activations.

use super::Problem;
use super::progress::{Found, Progress};
use crate::action::{Action, Kind};

/// How weight gradients are placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filling {
    /// Part of a weight gradient, in hundredths, that a gap must cover to take one.
    pub(super) covered: u64,
    /// Weight gradients each rank keeps pending at most.
    pub(super) keep: Vec<u32>,
}

/// Plays `orders`, one a rank, of F and I and perhaps W. None where the limit or the order lets a rank wait for ever.
pub(super) fn play(problem: &Problem, orders: &[Vec<Action>], filling: &Filling) -> Option<Found> {
    let mut progress = Progress::new(problem);
    let mut at = vec![0; orders.len()];
    loop {
        let mut moved = false;
        for (r, order) in orders.iter().enumerate() {
            while let Some(next) = order.get(at[r]) {
                if next.kind == Kind::W {
                    moved = true;
                    at[r] += 1;
                    let pending = &progress.ranks[r].pending;
                    if let Some(place) = pending.iter().position(|pending| pending == next) {
                        progress.run_pending(r, place);
                    }
                    continue;
                }
                let Some(ready) = progress.ready(r, *next) else { break };
                moved = true;
                let rank = &progress.ranks[r];
                let full = next.kind == Kind::F && rank.live >= problem.limit;
                let gap = ready.saturating_sub(rank.now);
                let fills = gap > 0 && gap * 100 >= problem.costs.w * filling.covered;
                let crowded = rank.pending.len() > filling.keep[r] as usize;
                if (full || fills || crowded) && !rank.pending.is_empty() {
                    progress.run_pending(r, 0);
                    continue;
                }
                if full {
                    return None;
                }
                at[r] += 1;
                progress.run(r, *next, ready);
            }
        }
        if !moved {
            break;
        }
    }
    let is_complete = at.iter().zip(orders).all(|(at, order)| *at == order.len());
    is_complete.then(|| progress.finish())
}
