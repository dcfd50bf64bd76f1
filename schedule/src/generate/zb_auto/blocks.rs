//! Orders for a V, from repeating blocks.
//!
//! One microbatch visits every rank four times: down with its forward (F of stage r), up (F of stage 2P-1-r), down
//! with its gradient (I of stage 2P-1-r) and up (I of stage r). A *block* says at which unit of time each visit happens: a
//! fixed step from rank to rank in each of the four legs, and a wait at each of the three turns. The next microbatch does the same six
//! units later, because a rank has six units of work for each; a block is possible if on no rank two visits
//! meet modulo six. How long an activation lives in units of six is how many of its kind a rank holds, so the steps
//! trade memory for idle time: this is the family in which V-Half and V-Min lie. Source of the idea: Qi et al., arXiv
//! 2405.15362; the blocks here are enumerated, not copied.

use super::Problem;
use crate::action::{Action, Kind};

/// Units of work a rank has for one microbatch: F, I and W of two stages.
const PERIOD: u32 = 6;

/// Largest step from rank to rank.
const MOST_STEP: u32 = 4;

/// Steps of the four legs and waits of the three turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    steps: [u32; 4],
    waits: [u32; 3],
}

/// When the visits of one microbatch happen on each rank: F down, F up, I down, I up.
pub(super) type Visits = Vec<[u32; 4]>;

impl Block {
    fn visits(&self, ranks: u32) -> Visits {
        let [a, b, c, d] = self.steps;
        let last = ranks - 1;
        let up = last * a + self.waits[0];
        let down = up + last * b + self.waits[1];
        let back = down + last * c + self.waits[2];
        (0..ranks)
            .map(|r| [r * a, up + (last - r) * b, down + r * c, back + (last - r) * d])
            .collect()
    }
}

fn meets(visits: &[u32; 4]) -> bool {
    (0..4).any(|x| (0..x).any(|y| visits[x] % PERIOD == visits[y] % PERIOD))
}

/// Activations a rank holds at most if its weight gradients follow their input gradients at once.
fn held(visits: &[u32; 4]) -> u32 {
    let [f0, f1, i1, i0] = *visits;
    (i0 + 2 - f0).div_ceil(PERIOD) + (i1 + 2 - f1).div_ceil(PERIOD)
}

/// Blocks for a V within the limit, quickest first, at most `most` of them.
pub(super) fn blocks(problem: &Problem, most: usize) -> Vec<Visits> {
    let mut found: Vec<(u32, u32, Visits)> = Vec::new();
    let steps = || 1..=MOST_STEP;
    let waits = || 1..=PERIOD;
    for a in steps() {
        for b in steps() {
            for c in steps() {
                for d in steps() {
                    for e in waits() {
                        for g in waits() {
                            for h in waits() {
                                let block = Block { steps: [a, b, c, d], waits: [e, g, h] };
                                let visits = block.visits(problem.ranks);
                                if visits.iter().any(meets) {
                                    continue;
                                }
                                let most_held = visits.iter().map(held).max().unwrap_or(0);
                                // Filling can move weight gradients, so blocks a little beyond the limit may do.
                                if most_held <= problem.limit + 1 {
                                    let end = visits[0][3];
                                    found.push((end, most_held, visits));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    found.sort();
    found.into_iter().take(most).map(|(_, _, visits)| visits).collect()
}

/// Orders of F and I, and perhaps W, that repeat the blocks; also with more forwards at the start.
pub(super) fn orders(problem: &Problem, blocks: &[Visits]) -> Vec<Vec<Vec<Action>>> {
    let kinds = [Weights::Free, Weights::InnerFirst, Weights::OuterFirst];
    let firsts = [0, problem.ranks, problem.limit.saturating_sub(1)];
    let mut found = Vec::new();
    for visits in blocks {
        for weights in kinds {
            let order = order(problem, visits, weights);
            let mut tried: Vec<Vec<Vec<Action>>> = Vec::new();
            for first in firsts {
                let begun = begin(problem, &order, first);
                if !tried.contains(&begun) {
                    tried.push(begun);
                }
            }
            found.append(&mut tried);
        }
    }
    found
}

/// The order with forwards of the outer stage moved to the start: `first` of them on rank 0, one on the last rank, and between
/// them in proportion. A block spaces microbatches evenly, but at the start a rank has nothing else to do.
fn begin(problem: &Problem, order: &[Vec<Action>], first: u32) -> Vec<Vec<Action>> {
    let last = (problem.ranks - 1).max(1);
    let row = |(r, row): (u32, &Vec<Action>)| {
        let count = 1 + first.saturating_sub(1) * (problem.ranks - 1 - r) / last;
        let is_moved = |a: &Action| a.kind == Kind::F && a.stage == r && a.mb < count;
        let (mut begun, rest): (Vec<Action>, Vec<Action>) =
            row.iter().partition(|action| first > 0 && is_moved(action));
        begun.extend(rest);
        begun
    };
    (0u32..).zip(order).map(row).collect()
}

/// Where the weight gradients of a block stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weights {
    /// Nowhere: filling places them.
    Free,
    /// In the two units the visits leave, the inner stage's in the first that comes.
    InnerFirst,
    /// The same with the outer stage's in the first.
    OuterFirst,
}

/// The first unit from `after` on that is not among `taken` modulo the period.
fn free_unit(after: u32, taken: &[u32]) -> u32 {
    let is_free = |unit: &u32| taken.iter().all(|taken| taken % PERIOD != unit % PERIOD);
    (after..after + PERIOD).find(is_free).unwrap_or(after)
}

/// The block repeated for every microbatch, each rank's visits in order of time.
fn order(problem: &Problem, visits: &Visits, weights: Weights) -> Vec<Vec<Action>> {
    let row = |(r, at): (u32, &[u32; 4])| {
        let (outer, inner) = (r, 2 * problem.ranks - 1 - r);
        let mut taken = at.to_vec();
        let mut unit_after = |visit: u32| {
            let unit = free_unit(visit + 1, &taken);
            taken.push(unit);
            unit
        };
        let (inner_w, outer_w) = if weights == Weights::InnerFirst {
            let inner_w = unit_after(at[2]);
            (inner_w, unit_after(at[3]))
        } else {
            let outer_w = unit_after(at[3]);
            (unit_after(at[2]), outer_w)
        };
        let mut timed: Vec<(u32, Action)> = (0..problem.microbatches)
            .flat_map(|mb| {
                [
                    (at[0], Action::new(outer, Kind::F, mb)),
                    (at[1], Action::new(inner, Kind::F, mb)),
                    (at[2], Action::new(inner, Kind::I, mb)),
                    (at[3], Action::new(outer, Kind::I, mb)),
                    (inner_w, Action::new(inner, Kind::W, mb)),
                    (outer_w, Action::new(outer, Kind::W, mb)),
                ]
                .map(|(at, action)| (at + mb * PERIOD, action))
            })
            .collect();
        timed.retain(|(_, action)| action.kind != Kind::W || weights != Weights::Free);
        timed.sort();
        timed.into_iter().map(|(_, action)| action).collect()
    };
    (0u32..).zip(visits).map(row).collect()
}
