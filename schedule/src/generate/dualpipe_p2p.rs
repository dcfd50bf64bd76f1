//! When DualPipe and DualPipeV send and receive.
//!
//! Before every slot a rank starts all transfers posted so far as one batch and waits for it. Usually a slot's receives are
//! posted right before it and its sends right after it, so a batch holds the last slot's sends and the next slot's receives.
//! Where a rank alternates between its directions, transfers move so that both neighbours of a direction meet in one batch:
//!
//! - step 2: the next F0's receive is posted between F0 and F1, one slot early, and F0's send after F1, one slot late (on a
//!   `last` rank at once);
//! - step 3: the receive of F1 is posted before W, together with the send of I1;
//! - step 4: the first F0 was received in step 2; a `last` rank posts its last F1's send after that F0, and the F0's send
//!   after the B1 that follows.
//!
//! Every transfer waits for its other side (rendezvous), and still no rank waits for ever: the vectors' test plays all
//! batches. Source: the order recorded from DeepSeek's published implementation.

use super::dualpipe::{Shape, Way};
use super::{Config, Rejected, Schedule, dualpipe, dualpipev, generate};
use crate::action::Slot;
use crate::lower::{Leg, Op, Program, Transfer};

/// The program of `dualpipe` or `dualpipev` with transfers in batches.
///
/// # Errors
/// As [`generate()`]; and another schedule, which has no batches.
pub fn p2p_batches(name: &str, config: &Config) -> Result<Program, Rejected> {
    let schedule = Schedule::named(name)?;
    let shape = match schedule.name {
        "dualpipe" => dualpipe::shape,
        "dualpipev" => dualpipev::shape,
        other => {
            return Err(Rejected::new(other, "has no batches of transfers").hint(
                "dualpipe and dualpipev have; other schedules are lowered with single ones",
            ));
        }
    };
    let table = generate(name, config)?;
    let program = Program::of(&table);
    let row = |(r, slots): (u32, &Vec<Slot>)| {
        let (shape, ways) = shape(config, r);
        let mut row = Row {
            program: &program,
            rank: r,
            ways,
            counters: [[0; 2]; 4],
            slots: slots.iter(),
            posted: Vec::new(),
            out: Vec::new(),
        };
        row.steps(&shape);
        row.out
    };
    let ranks = (0u32..).zip(&table.ranks).map(row).collect();
    Ok(Program { ranks, ..program })
}

struct Row<'a> {
    program: &'a Program,
    rank: u32,
    ways: [Way; 2],
    /// Transfers so far, by leg and direction.
    counters: [[u32; 2]; 4],
    slots: std::slice::Iter<'a, Slot>,
    posted: Vec<Transfer>,
    out: Vec<Op>,
}

impl Row<'_> {
    /// Posts the next transfer of direction `x`, if it leaves the rank.
    fn post(&mut self, leg: Leg, x: usize) {
        let counter = &mut self.counters[leg as usize][x];
        let transfer = Transfer::new(self.ways[x].stage, leg, self.ways[x].first_mb + *counter);
        *counter += 1;
        if self.program.peer(transfer).is_some_and(|peer| peer != self.rank) {
            self.posted.push(transfer);
        }
    }

    fn start_batch(&mut self) {
        if !self.posted.is_empty() {
            self.out.push(Op::Batch(std::mem::take(&mut self.posted)));
        }
    }

    fn slot(&mut self) {
        self.start_batch();
        self.out.extend(self.slots.next().cloned().map(Op::Compute));
    }

    fn f(&mut self, x: usize) {
        self.post(Leg::RecvF, x);
        self.slot();
        self.post(Leg::SendF, x);
    }

    fn b(&mut self, x: usize) {
        self.post(Leg::RecvB, x);
        self.slot();
        self.post(Leg::SendB, x);
    }

    fn f_and_b(&mut self, x: usize, y: usize, received: bool) {
        if !received {
            self.post(Leg::RecvF, x);
        }
        self.post(Leg::RecvB, y);
        self.slot();
        self.post(Leg::SendF, x);
        self.post(Leg::SendB, y);
    }

    /// The eight steps of [`dualpipe::steps`], with the transfers around their slots.
    fn steps(&mut self, shape: &Shape) {
        let Shape { a, h, s, last } = *shape;
        // 1.
        (0..2 * a).for_each(|_| self.f(0));
        // 2.
        self.post(Leg::RecvF, 0);
        for k in 0..=h {
            self.slot();
            if last {
                self.post(Leg::SendF, 0);
            }
            self.post(Leg::RecvF, 0);
            self.post(Leg::RecvF, 1);
            self.slot();
            if !last || k < h {
                self.post(Leg::SendF, 1);
            }
            if !last {
                self.post(Leg::SendF, 0);
            }
        }
        // 3.
        for _ in 0..a {
            self.b(1);
            self.post(Leg::RecvF, 1);
            self.slot();
            self.slot();
            self.post(Leg::SendF, 1);
        }
        // 4.
        for k in 0..s {
            if k == 0 && last {
                self.slot();
                self.post(Leg::SendF, 1);
                self.post(Leg::RecvB, 1);
                self.slot();
                self.post(Leg::SendF, 0);
                self.post(Leg::SendB, 1);
            } else {
                self.f_and_b(0, 1, k == 0);
            }
            self.f_and_b(1, 0, false);
        }
        // 5.
        for _ in 0..a {
            self.b(1);
            self.f_and_b(1, 0, false);
        }
        // 6.
        for _ in 0..=h {
            self.b(1);
            self.b(0);
        }
        // 7.
        for _ in 0..a {
            self.slot();
            self.b(0);
        }
        // 8.
        (0..=h).for_each(|_| self.slot());
        self.start_batch();
    }
}
