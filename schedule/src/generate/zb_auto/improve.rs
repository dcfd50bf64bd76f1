//! Shortens a complete schedule by exchanging neighbours.
//!
//! A schedule is as long as its critical path. The path stays as long as it is unless two actions that follow each other
//! on one rank, and of which neither needs the other, change places; worth trying are the first two and the last two of each
//! stretch that the path spends on a rank. In every round all such exchanges are tried and the best is kept, even where
//! it lengthens the schedule, but none of the last ones is undone (tabu search, as for job shops: Nowicki and Smutnicki, 1996).
//! Of schedules that are equally long the one whose ranks end earlier in sum is better: often several ranks end last, and
//! are shortened one after another. The search ends when nothing was gained for a while.

use super::Problem;
use super::progress::Found;
use crate::action::{Action, Kind, Slot};

/// Rounds without gain after which the search ends.
const PATIENCE: usize = 60;

/// Exchanges that may not be undone.
const REMEMBERED: usize = 12;

const NOBODY: u32 = u32::MAX;

/// A schedule no longer than `found`, within the same limit.
pub(super) fn improve(problem: &Problem, found: Found, bound: u64) -> Found {
    let rows = found.ranks.iter().map(|row| row.iter().flat_map(Slot::actions).copied().collect());
    let mut orders: Vec<Vec<Action>> = rows.collect();
    let mut best = ((found.makespan, u64::MAX), orders.clone());
    let mut tabu: Vec<(Action, Action)> = Vec::new();
    let mut clock = Clock::new(problem);
    let mut since = 0;
    while since < PATIENCE && best.0.0 > bound {
        if clock.run(&orders).is_none() {
            break;
        }
        let mut chosen: Option<((u64, u64), usize, usize)> = None;
        for (rank, at) in clock.exchanges(&orders) {
            let pair = (orders[rank][at], orders[rank][at + 1]);
            if feeds(pair.0, pair.1) || exceeds(problem, &orders[rank], at) {
                continue;
            }
            orders[rank].swap(at, at + 1);
            let makespan = clock.run(&orders);
            orders[rank].swap(at, at + 1);
            let Some(makespan) = makespan else { continue };
            let forbidden = tabu.contains(&pair) && makespan >= best.0;
            if !forbidden && chosen.is_none_or(|chosen| makespan < chosen.0) {
                chosen = Some((makespan, rank, at));
            }
        }
        let Some((makespan, rank, at)) = chosen else { break };
        orders[rank].swap(at, at + 1);
        // Undoing it would meet the pair the other way round.
        tabu.push((orders[rank][at], orders[rank][at + 1]));
        if tabu.len() > REMEMBERED {
            tabu.remove(0);
        }
        since += 1;
        if makespan < best.0 {
            best = (makespan, orders.clone());
            since = 0;
        }
    }
    let ranks = best.1.into_iter().map(|row| row.into_iter().map(Slot::from).collect()).collect();
    Found { makespan: best.0.0, ranks }
}

/// Whether, on one rank, `after` needs `before`.
fn feeds(before: Action, after: Action) -> bool {
    before.mb == after.mb
        && match (before.kind, after.kind) {
            (Kind::F, Kind::I) | (Kind::I, Kind::W) => before.stage == after.stage,
            (Kind::F, Kind::F) => before.stage + 1 == after.stage,
            (Kind::I, Kind::I) => before.stage == after.stage + 1,
            _ => false,
        }
}

/// Whether exchanging the actions at `at` and behind it puts a forward before the weight gradient that makes room for it.
fn exceeds(problem: &Problem, order: &[Action], at: usize) -> bool {
    if order[at].kind != Kind::W || order[at + 1].kind != Kind::F {
        return false;
    }
    let live = order[..at].iter().fold(0, |live: u32, action| match action.kind {
        Kind::F => live + 1,
        Kind::W => live.saturating_sub(1),
        _ => live,
    });
    live + 1 > problem.limit
}

/// Times of complete orders, and the critical path of the last ones played.
struct Clock<'a> {
    problem: &'a Problem,
    /// End of each action, and the action that its start waited for, by kind, stage and microbatch.
    ends: Vec<u64>,
    critical: Vec<u32>,
    last: u32,
}

impl<'a> Clock<'a> {
    fn new(problem: &'a Problem) -> Self {
        let cells = 3 * problem.stages as usize * problem.microbatches as usize;
        Clock { problem, ends: vec![0; cells], critical: vec![NOBODY; cells], last: NOBODY }
    }

    fn cell(&self, kind: Kind, stage: u32, mb: u32) -> u32 {
        let kind = match kind {
            Kind::F => 0,
            Kind::B | Kind::I => 1,
            Kind::W => 2,
        };
        (kind * self.problem.stages + stage) * self.problem.microbatches + mb
    }

    /// The makespan and the sum of the ends of all ranks; none if ranks wait for one another.
    fn run(&mut self, orders: &[Vec<Action>]) -> Option<(u64, u64)> {
        let stages = self.problem.stages;
        self.ends.fill(0);
        let mut heads: Vec<(usize, u64, u32)> = vec![(0, 0, NOBODY); orders.len()];
        let (mut makespan, mut left) = (0, orders.len());
        while left > 0 {
            let mut progress = false;
            for (rank, order) in orders.iter().enumerate() {
                while let Some(action) = order.get(heads[rank].0) {
                    let Action { stage, kind, mb } = *action;
                    let own = |kind| Some(self.cell(kind, stage, mb));
                    let needs = match kind {
                        Kind::F => [stage.checked_sub(1).map(|s| self.cell(Kind::F, s, mb)), None],
                        Kind::B | Kind::I => {
                            let after = (stage + 1 < stages).then_some(stage + 1);
                            [own(Kind::F), after.map(|s| self.cell(Kind::I, s, mb))]
                        }
                        Kind::W => [own(Kind::I), None],
                    };
                    let (mut start, mut waited_for) = (heads[rank].1, heads[rank].2);
                    let mut is_ready = true;
                    for need in needs.into_iter().flatten() {
                        let end = self.ends[need as usize];
                        let from = need / self.problem.microbatches % stages;
                        let is_local = self.problem.home(from) as usize == rank;
                        let arrives = end + if is_local { 0 } else { self.problem.costs.transport };
                        is_ready &= end > 0;
                        if arrives > start {
                            (start, waited_for) = (arrives, need);
                        }
                    }
                    if !is_ready {
                        break;
                    }
                    progress = true;
                    let cell = self.cell(kind, stage, mb);
                    let cost = match kind {
                        Kind::F => self.problem.costs.f,
                        Kind::B | Kind::I => self.problem.costs.i,
                        Kind::W => self.problem.costs.w,
                    };
                    self.ends[cell as usize] = start + cost;
                    self.critical[cell as usize] = waited_for;
                    heads[rank] = (heads[rank].0 + 1, start + cost, cell);
                    if start + cost > makespan {
                        (makespan, self.last) = (start + cost, cell);
                    }
                    left -= usize::from(heads[rank].0 == order.len());
                }
            }
            if !progress {
                return None;
            }
        }
        Some((makespan, heads.iter().map(|head| head.1).sum()))
    }

    /// Positions (rank, at) whose action and the one behind it are worth exchanging: ends of the stretches of the
    /// critical path of the last run.
    fn exchanges(&self, orders: &[Vec<Action>]) -> Vec<(usize, usize)> {
        let mut places = vec![(0, 0); self.ends.len()];
        for (rank, order) in orders.iter().enumerate() {
            for (at, action) in order.iter().enumerate() {
                places[self.cell(action.kind, action.stage, action.mb) as usize] = (rank, at);
            }
        }
        let mut path = Vec::new();
        let mut cell = self.last;
        while cell != NOBODY {
            path.push(places[cell as usize]);
            cell = self.critical[cell as usize];
        }
        path.reverse();
        let mut found = Vec::new();
        for stretch in path.chunk_by(|before, after| before.0 == after.0 && before.1 + 1 == after.1)
        {
            if let [first, .., last] = stretch {
                found.push(*first);
                if last.1 > first.1 + 1 {
                    found.push((last.0, last.1 - 1));
                }
            }
        }
        found
    }
}
