//! Zero bubble, searched: the shortest table found for given costs within a limit of activations.
//!
//! The handmade zero-bubble schedules are right for F = I = W; with other costs, with transport, or with memory between
//! theirs, a search does better. It splits in two. The order of F and I comes from a small family: for one stage a rank,
//! forwards at the start that grow with the distance from the last rank, then I and F in turn; for a V, ZB-V's own order and
//! repeating blocks ([`blocks`]). The W are then placed by playing the order against the clock ([`play`]), under
//! several ways of filling. For a V, other schedules come from dispatching ready actions by urgency, from the start and from
//! the middle of the best ones ([`dispatch`]). The best are improved: by changing one rank's parameters at a time, or, for a
//! V, by exchanging actions ([`improve`]). Everything is enumerated in a
//! fixed order and bounded, so the same question has the same answer. After Qi et al., arXiv 2401.10241, section 3.
//!
//! `zb_auto` has one stage a rank and, unless told otherwise, at most P activations; `zbv_auto` is a V with at most 2P. `v_half` and
//! `v_min` are names for the V with about a half and a third of 1F1B's memory.

mod blocks;
mod dispatch;
mod improve;
mod play;
mod progress;

use super::{Config, Placed, Rejected, Rows, Schedule, one_stage_per_rank, zbv};
use crate::action::{Action, Kind, Slot};
use crate::replay::Costs;
use improve::improve;
use play::{Filling, play};
use progress::Found;

pub(super) const ZB_AUTO: Schedule = Schedule {
    name: "zb_auto",
    summary: "zero bubble searched for given costs and activations, one stage per rank",
    placed: Placed::Loop,
    accepts: |config| {
        one_stage_per_rank("zb_auto", config, "zbv_auto")?;
        accepts("zb_auto", config, least(config))
    },
    rows: Rows::Whole(|config| search("zb_auto", config, config.ranks)),
};

pub(super) const ZBV_AUTO: Schedule = Schedule {
    name: "zbv_auto",
    summary: "zero bubble searched for given costs and activations, on a V",
    placed: Placed::Vee,
    accepts: |config| accepts("zbv_auto", config, least(config)),
    rows: Rows::Whole(|config| search("zbv_auto", config, 2 * config.ranks)),
};

pub(super) const V_HALF: Schedule = Schedule {
    name: "v_half",
    summary: "zbv_auto with half the activations of 1f1b",
    placed: Placed::Vee,
    accepts: |config| accepts("v_half", config, least(config)),
    rows: Rows::Whole(|config| search("v_half", config, config.ranks + 2)),
};

pub(super) const V_MIN: Schedule = Schedule {
    name: "v_min",
    summary: "zbv_auto with a third of the activations of 1f1b",
    placed: Placed::Vee,
    accepts: |config| accepts("v_min", config, least(config)),
    rows: Rows::Whole(|config| search("v_min", config, 2 * (config.ranks + 2).div_ceil(3))),
};

/// Fewest activations with which the search is tried.
fn least(config: &Config) -> u32 {
    config.stages_per_rank
}

/// Actions beyond which a search would take too long.
const MOST_SEARCHED: u64 = 1 << 16;

fn accepts(name: &'static str, config: &Config, least: u32) -> Result<(), Rejected> {
    let actions = 3
        * u64::from(config.ranks)
        * u64::from(config.stages_per_rank)
        * u64::from(config.microbatches);
    if actions > MOST_SEARCHED {
        return Err(Rejected::new(
            name,
            format!("searches tables of up to {MOST_SEARCHED} actions; this has {actions}"),
        )
        .hint("use zb_h1, zb_h2 or zbv, which are not searched"));
    }
    match config.max_activations {
        Some(limit) if limit < least => Err(Rejected::new(
            name,
            format!("needs at least {least} activations per rank; the limit is {limit}"),
        )
        .hint("a rank holds one of each of its stages at a time")),
        _ => Ok(()),
    }
}

/// What is searched for.
struct Problem {
    ranks: u32,
    stages: u32,
    microbatches: u32,
    costs: Costs,
    /// Most activations a rank may hold.
    limit: u32,
}

impl Problem {
    /// The rank of a stage; stages beyond P come back.
    fn home(&self, stage: u32) -> u32 {
        stage.min(2 * self.ranks - 1 - stage)
    }

    /// No schedule is shorter: the last rank waits for its first input and then has all its work.
    fn bound(&self) -> u64 {
        let Costs { f, i, w, transport, .. } = self.costs;
        let stages = u64::from(self.stages / self.ranks);
        let work = stages * u64::from(self.microbatches) * (f + i + w);
        u64::from(self.ranks - 1) * (f + transport) + work
    }
}

/// Orders of blocks that are played.
const MOST_BLOCKS: usize = 80;

/// Schedules that are improved by exchanges.
const MOST_IMPROVED: usize = 6;

/// Rounds in which the ends of the best schedules are made anew.
const MOST_RECREATED: usize = 3;

/// Rounds of improvement.
const MOST_ROUNDS: usize = 40;

fn search(name: &'static str, config: &Config, limit: u32) -> Result<Vec<Vec<Slot>>, Rejected> {
    let (p, v) = (config.ranks, config.stages_per_rank);
    let problem = Problem {
        ranks: p,
        stages: p * v,
        microbatches: config.microbatches,
        costs: config.costs,
        limit: config.max_activations.unwrap_or(limit),
    };
    let found = if v == 1 { single(&problem) } else { vee(&problem, config) };
    found.map(|found| found.ranks).ok_or_else(|| {
        Rejected::new(
            name,
            format!("found no table with at most {} activations per rank", problem.limit),
        )
        .hint("allow more activations")
    })
}

/// Shares of a weight gradient, in hundredths, that a gap must cover.
const COVERED: [u64; 5] = [100, 75, 50, 25, 1];

/// Pending weight gradients that ranks keep: those of ZB-H1, of ZB-H2, half of ZB-H1's, none, any number.
fn keeps(ranks: u32) -> [Vec<u32>; 5] {
    let each = |keep: fn(u32) -> u32| (0..ranks).map(keep).collect();
    [each(|r| r), each(|r| 2 * r), each(|r| r / 2), each(|_| 0), each(|_| u32::MAX)]
}

fn better(best: &mut Option<Found>, found: Option<Found>) -> bool {
    match found {
        Some(found) if best.as_ref().is_none_or(|best| found.makespan < best.makespan) => {
            *best = Some(found);
            true
        }
        _ => false,
    }
}

/// One stage a rank: how many forwards each begins with, and how its weight gradients are placed.
#[derive(Clone)]
struct Single {
    warm_up: Vec<u32>,
    forward_first: bool,
    filling: Filling,
}

impl Single {
    fn play(&self, problem: &Problem) -> Option<Found> {
        let m = problem.microbatches;
        let order = |(r, warm_up): (u32, &u32)| {
            let f = |mb| Action::new(r, Kind::F, mb);
            let i = |mb| Action::new(r, Kind::I, mb);
            let w = (*warm_up).clamp(1, m);
            let mut order: Vec<Action> = (0..w).map(f).collect();
            for mb in 0..m {
                order.push(i(mb));
                if w + mb < m {
                    order.push(f(w + mb));
                }
            }
            if self.forward_first {
                // The forward of each pair before its input gradient; the first one is then one of the warm-up.
                for at in w as usize..order.len() - 1 {
                    if order[at].kind == Kind::I && order[at + 1].kind == Kind::F {
                        order.swap(at, at + 1);
                    }
                }
            }
            order
        };
        let orders: Vec<Vec<Action>> = (0u32..).zip(&self.warm_up).map(order).collect();
        play(problem, &orders, &self.filling)
    }
}

fn single(problem: &Problem) -> Option<Found> {
    let p = problem.ranks;
    let mut best: Option<Found> = None;
    let mut start: Option<Single> = None;
    // Forwards at the start, in quarters of the distance to the last rank.
    for quarters in [4, 5, 6, 7, 8, 10, 12] {
        let warm_up: Vec<u32> =
            (0..p).map(|r| (1 + ((p - 1 - r) * quarters).div_ceil(4)).min(problem.limit)).collect();
        for keep in keeps(p) {
            for covered in COVERED {
                for forward_first in [false, true] {
                    let filling = Filling { covered, keep: keep.clone() };
                    let tried = Single { warm_up: warm_up.clone(), forward_first, filling };
                    if better(&mut best, tried.play(problem)) {
                        start = Some(tried);
                    }
                }
            }
        }
    }
    let mut now = start?;
    for _ in 0..MOST_ROUNDS {
        let mut improved = false;
        for r in 0..p as usize {
            for change in 0..6 {
                let mut tried = now.clone();
                match change {
                    0 => tried.warm_up[r] += 1,
                    1 if tried.warm_up[r] > 1 => tried.warm_up[r] -= 1,
                    2 => tried.filling.keep[r] = tried.filling.keep[r].saturating_add(1),
                    3 => tried.filling.keep[r] = tried.filling.keep[r].saturating_sub(1),
                    4 => tried.filling.keep[r] = u32::MAX,
                    5 => (0..=r).for_each(|r| tried.warm_up[r] += 1),
                    _ => continue,
                }
                if better(&mut best, tried.play(problem)) {
                    now = tried;
                    improved = true;
                }
            }
        }
        if !improved {
            break;
        }
    }
    best
}

/// Keeps the shortest.
fn keep_best(found: &mut Vec<Found>) {
    found.sort_by_key(|found| found.makespan);
    found.dedup_by(|a, b| a.ranks == b.ranks);
    found.truncate(MOST_IMPROVED);
}

fn vee(problem: &Problem, config: &Config) -> Option<Found> {
    let p = problem.ranks;
    let handmade = (0..p).map(|r| {
        let row = zbv::row(config, r).into_iter();
        row.flat_map(|slot| slot.actions().to_vec()).filter(|a| a.kind != Kind::W).collect()
    });
    let mut orders: Vec<Vec<Vec<Action>>> = vec![handmade.collect()];
    let blocks = blocks::blocks(problem, MOST_BLOCKS);
    orders.extend(blocks::orders(problem, &blocks));
    let mut found: Vec<Found> = Vec::new();
    for order in &orders {
        let has_weights = order.iter().flatten().any(|action| action.kind == Kind::W);
        let mut best: Option<Found> = None;
        for keep in keeps(p) {
            // Where weight gradients have a place already, that says how many are kept.
            if has_weights && p > 1 && keep[0] != u32::MAX {
                continue;
            }
            for covered in [100, 50, 1] {
                let filling = Filling { covered, keep: keep.clone() };
                better(&mut best, play(problem, order, &filling));
            }
        }
        found.extend(best);
    }
    found.extend(dispatch::dispatched(problem));
    keep_best(&mut found);
    for _ in 0..MOST_RECREATED {
        let before: Vec<u64> = found.iter().map(|found| found.makespan).collect();
        if before.first() == Some(&problem.bound()) {
            break;
        }
        let recreated: Vec<Found> =
            found.iter().flat_map(|found| dispatch::recreated(problem, found)).collect();
        found.extend(recreated);
        keep_best(&mut found);
        if found.iter().map(|found| found.makespan).eq(before) {
            break;
        }
    }
    let mut best: Option<Found> = None;
    for start in found {
        better(&mut best, Some(improve(problem, start, problem.bound())));
    }
    best
}
