//! From an order of F and I to a whole row: W goes where a rank would idle, or where memory asks for it.
//!
//! The order of the forwards and input gradients of every rank is given; weight gradients wait in a queue. They may stand
//! in the order as well, which is then where they run at the latest. A rank takes the oldest of them when its next action comes so late that enough of the gap is filled, when more of them are pending
//! than it is allowed to keep, or when the next forward would exceed the limit of activations.

use std::collections::VecDeque;

use super::Problem;
use crate::action::{Action, Kind, Slot};

/// How weight gradients are placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filling {
    /// Part of a weight gradient, in hundredths, that a gap must cover to take one.
    pub(super) covered: u64,
    /// Weight gradients each rank keeps pending at most.
    pub(super) keep: Vec<u32>,
}

/// A schedule and the time it takes.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) makespan: u64,
    pub(super) ranks: Vec<Vec<Slot>>,
}

const UNKNOWN: u64 = u64::MAX;

struct Rank {
    at: usize,
    now: u64,
    live: u32,
    pending: VecDeque<Action>,
    row: Vec<Slot>,
}

/// Plays `orders`, one a rank, of F and I and perhaps W. None where the limit or the order lets a rank wait for ever.
pub(super) fn play(problem: &Problem, orders: &[Vec<Action>], filling: &Filling) -> Option<Found> {
    let cells = problem.stages as usize * problem.microbatches as usize;
    let mut ends = [vec![UNKNOWN; cells], vec![UNKNOWN; cells]];
    let mut ranks: Vec<Rank> = orders
        .iter()
        .map(|order| Rank {
            at: 0,
            now: 0,
            live: 0,
            pending: VecDeque::new(),
            row: Vec::with_capacity(order.len() * 3 / 2),
        })
        .collect();
    loop {
        let mut progress = false;
        for (r, order) in orders.iter().enumerate() {
            let rank = &mut ranks[r];
            while let Some(next) = order.get(rank.at) {
                if next.kind == Kind::W {
                    progress = true;
                    rank.at += 1;
                    if let Some(at) = rank.pending.iter().position(|pending| pending == next) {
                        rank.weight(at, problem.costs.w);
                    }
                    continue;
                }
                let Some(ready) = ready_at(problem, &ends, r, *next) else { break };
                progress = true;
                let full = next.kind == Kind::F && rank.live >= problem.limit;
                let gap = ready.saturating_sub(rank.now);
                let fills = gap > 0 && gap * 100 >= problem.costs.w * filling.covered;
                let crowded = rank.pending.len() > filling.keep[r] as usize;
                if (full || fills || crowded) && !rank.pending.is_empty() {
                    rank.weight(0, problem.costs.w);
                    continue;
                }
                if full {
                    return None;
                }
                rank.at += 1;
                rank.row.push((*next).into());
                let cell = next.stage as usize * problem.microbatches as usize + next.mb as usize;
                if next.kind == Kind::F {
                    rank.now = rank.now.max(ready) + problem.costs.f;
                    rank.live += 1;
                    ends[0][cell] = rank.now;
                } else {
                    rank.now = rank.now.max(ready) + problem.costs.i;
                    rank.pending.push_back(Action { kind: Kind::W, ..*next });
                    ends[1][cell] = rank.now;
                }
            }
        }
        if !progress {
            break;
        }
    }
    for (rank, order) in ranks.iter_mut().zip(orders) {
        if rank.at < order.len() {
            return None;
        }
        while !rank.pending.is_empty() {
            rank.weight(0, problem.costs.w);
        }
    }
    let makespan = ranks.iter().map(|rank| rank.now).max().unwrap_or(0);
    Some(Found { makespan, ranks: ranks.into_iter().map(|rank| rank.row).collect() })
}

impl Rank {
    /// Runs the `at`-th of the pending weight gradients.
    fn weight(&mut self, at: usize, cost: u64) {
        if let Some(weight) = self.pending.remove(at) {
            self.row.push(weight.into());
            self.now += cost;
            self.live -= 1;
        }
    }
}

/// When the inputs of `action` are on rank `r`; none where they are not scheduled yet.
fn ready_at(problem: &Problem, ends: &[Vec<u64>; 2], r: usize, action: Action) -> Option<u64> {
    let Action { stage, kind, mb } = action;
    let end = |what: usize, stage: u32| {
        let end = ends[what][stage as usize * problem.microbatches as usize + mb as usize];
        let hop = if problem.home(stage) as usize == r { 0 } else { problem.costs.transport };
        (end != UNKNOWN).then(|| end + hop)
    };
    match kind {
        Kind::F if stage == 0 => Some(0),
        Kind::F => end(0, stage - 1),
        _ if stage + 1 == problem.stages => end(0, stage),
        _ => Some(end(0, stage)?.max(end(1, stage + 1)?)),
    }
}
