//! Interleaved zero bubble: the turns of interleaved 1F1B with split backwards.
//!
//! w = min((V-1)N + (P-1-r), VM) F; then for j = 0..VM-1: F if left, I, and if j >= r the oldest pending W; at the end all
//! pending W, first in first out. So rank r holds r deferred W, which fill its bubble at the end. Idle per rank
//! (P-1)(F+I-W) of one chunk; (V-1)N + P chunk activations. Source: Qi et al., arXiv 2401.10241, with the turns of
//! arXiv 2104.04473.

use super::interleaved_1f1b::{even_rounds, per_round, turns};
use super::{Config, Placed, Rows, Schedule};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "interleaved_zb",
    summary: "interleaved1f1b with weight gradients moved into the bubble",
    placed: Placed::Loop,
    accepts: |config| even_rounds("interleaved_zb", config),
    rows: Rows::Each(row),
};

pub(super) fn row(config: &Config, r: u32) -> Vec<Slot> {
    let (p, v, m) = (config.ranks, config.stages_per_rank, config.microbatches);
    let w = ((v - 1) * per_round(config) + (p - 1 - r)).min(v * m) as usize;
    let turns = turns(config);
    let f = |(chunk, mb): (u32, u32)| Slot::from(Action::new(chunk * p + r, Kind::F, mb));
    let backward =
        |(chunk, mb): (u32, u32), kind| Slot::from(Action::new((v - 1 - chunk) * p + r, kind, mb));

    let mut row: Vec<Slot> = turns[..w].iter().map(|turn| f(*turn)).collect();
    let mut forwards = turns[w..].iter();
    let mut pending_w = turns.iter();
    for (j, turn) in (0u32..).zip(&turns) {
        row.extend(forwards.next().map(|turn| f(*turn)));
        row.push(backward(*turn, Kind::I));
        if j >= r {
            row.extend(pending_w.next().map(|turn| backward(*turn, Kind::W)));
        }
    }
    row.extend(pending_w.map(|turn| backward(*turn, Kind::W)));
    row
}
