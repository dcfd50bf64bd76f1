//! A schedule in the making: what every rank has run, until when, and what it holds.

use std::collections::VecDeque;

use super::Problem;
use crate::action::{Action, Kind, Slot};

/// A schedule and the time it takes.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) makespan: u64,
    pub(super) ranks: Vec<Vec<Slot>>,
}

/// One rank so far.
#[derive(Clone, Default)]
pub(super) struct Rank {
    /// End of its last action.
    pub(super) now: u64,
    /// Activations it holds: forwards whose weight gradients have not run.
    pub(super) live: u32,
    /// Weight gradients that can run, oldest first.
    pub(super) pending: VecDeque<Action>,
    row: Vec<Slot>,
}

/// All ranks so far.
#[derive(Clone)]
pub(super) struct Progress<'a> {
    pub(super) problem: &'a Problem,
    pub(super) ranks: Vec<Rank>,
    /// Ends of forwards and of input gradients, by stage and microbatch.
    ends: [Vec<u64>; 2],
}

const UNKNOWN: u64 = u64::MAX;

impl<'a> Progress<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let cells = problem.stages as usize * problem.microbatches as usize;
        let ranks = vec![Rank::default(); problem.ranks as usize];
        Progress { problem, ranks, ends: [vec![UNKNOWN; cells], vec![UNKNOWN; cells]] }
    }

    fn cell(&self, stage: u32, mb: u32) -> usize {
        stage as usize * self.problem.microbatches as usize + mb as usize
    }

    /// When the inputs of a forward or an input gradient are on rank `r`; none where they are not made yet.
    pub(super) fn ready(&self, r: usize, action: Action) -> Option<u64> {
        let Action { stage, kind, mb } = action;
        let end = |what: usize, stage: u32| {
            let end = self.ends[what][self.cell(stage, mb)];
            let is_local = self.problem.home(stage) as usize == r;
            let hop = if is_local { 0 } else { self.problem.costs.transport };
            (end != UNKNOWN).then(|| end + hop)
        };
        match kind {
            Kind::F if stage == 0 => Some(0),
            Kind::F => end(0, stage - 1),
            _ if stage + 1 == self.problem.stages => end(0, stage),
            _ => Some(end(0, stage)?.max(end(1, stage + 1)?)),
        }
    }

    /// Runs a forward or an input gradient on rank `r`, not before `ready`.
    pub(super) fn run(&mut self, r: usize, action: Action, ready: u64) {
        let is_forward = action.kind == Kind::F;
        let cell = self.cell(action.stage, action.mb);
        let rank = &mut self.ranks[r];
        let cost = if is_forward { self.problem.costs.f } else { self.problem.costs.i };
        rank.now = rank.now.max(ready) + cost;
        rank.row.push(action.into());
        if is_forward {
            rank.live += 1;
        } else {
            rank.pending.push_back(Action { kind: Kind::W, ..action });
        }
        self.ends[usize::from(!is_forward)][cell] = rank.now;
    }

    /// Runs the `at`-th of the pending weight gradients of rank `r`.
    pub(super) fn run_pending(&mut self, r: usize, at: usize) {
        let rank = &mut self.ranks[r];
        if let Some(weight) = rank.pending.remove(at) {
            rank.row.push(weight.into());
            rank.now += self.problem.costs.w;
            rank.live -= 1;
        }
    }

    /// The schedule, after all weight gradients that are still pending.
    pub(super) fn finish(mut self) -> Found {
        for r in 0..self.ranks.len() {
            while !self.ranks[r].pending.is_empty() {
                self.run_pending(r, 0);
            }
        }
        let makespan = self.ranks.iter().map(|rank| rank.now).max().unwrap_or(0);
        Found { makespan, ranks: self.ranks.into_iter().map(|rank| rank.row).collect() }
    }
}
