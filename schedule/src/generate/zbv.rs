//! ZB-V: zero bubble on a V of two stages per rank, with the memory of 1F1B.
//!
//! a = stage r, b = stage 2P-1-r; generated for n = max(M, 2P-1) microbatches, from which those >= M are dropped:
//! (2(P-r)-1) x Fa; r x (Fb, Fa); (P-r) x (Fb, Ib, Wb); while forwards remain on a or b: [Fa if left], Ia, Wa, Fb, Ib, Wb;
//! r x (Ia, Ib); (P-r) x (Ia, Wa); the remaining Wb, then Wa. For F = I = W no rank idles between its first and last
//! action and the total is (P-1)F; fewer than 2P-1 microbatches work, but waste slots. 2P chunk activations, P
//! rank-loads. Source: Qi et al., arXiv 2405.15362.

use super::{Config, Placed, Rows, Schedule};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "zbv",
    summary: "zero bubble on a V of two stages per rank, memory of 1f1b",
    placed: Placed::Vee,
    accepts: |_| Ok(()),
    rows: Rows::Each(row),
};

const A: usize = 0;
const B: usize = 1;

/// Writes a row while counting the microbatches each stage has had of each kind.
struct Row {
    stage: [u32; 2],
    done: [[u32; 2]; 4],
    limit: u32,
    slots: Vec<Slot>,
}

impl Row {
    fn push(&mut self, kind: Kind, chunk: usize) {
        let mb = &mut self.done[kind as usize][chunk];
        if *mb < self.limit {
            self.slots.push(Action::new(self.stage[chunk], kind, *mb).into());
        }
        *mb += 1;
    }

    fn push_all(&mut self, times: u32, actions: &[(Kind, usize)]) {
        for _ in 0..times {
            actions.iter().for_each(|(kind, chunk)| self.push(*kind, *chunk));
        }
    }

    fn left(&self, kind: Kind, chunk: usize, n: u32) -> u32 {
        n - self.done[kind as usize][chunk]
    }
}

pub(super) fn row(config: &Config, r: u32) -> Vec<Slot> {
    use Kind::{F, I, W};
    let (p, m) = (config.ranks, config.microbatches);
    let n = m.max(2 * p - 1);
    let mut row = Row { stage: [r, 2 * p - 1 - r], done: [[0; 2]; 4], limit: m, slots: Vec::new() };
    row.push_all(2 * (p - r) - 1, &[(F, A)]);
    row.push_all(r, &[(F, B), (F, A)]);
    row.push_all(p - r, &[(F, B), (I, B), (W, B)]);
    while row.left(F, A, n) > 0 || row.left(F, B, n) > 0 {
        if row.left(F, A, n) > 0 {
            row.push(F, A);
        }
        row.push_all(1, &[(I, A), (W, A), (F, B), (I, B), (W, B)]);
    }
    row.push_all(r, &[(I, A), (I, B)]);
    row.push_all(p - r, &[(I, A), (W, A)]);
    row.push_all(row.left(W, B, n), &[(W, B)]);
    row.push_all(row.left(W, A, n), &[(W, A)]);
    row.slots
}
