//! DualPipe: microbatches enter the pipeline from both ends, each stage living on two ranks.
//!
//! H = P/2, h = min(r, P-1-r), A = H-1-h, S = M/2-P+h+1. Direction 0 carries microbatches 0..M/2-1 and direction 1 the
//! others; ranks >= H swap the two. Each rank idles (P/2-1)(F&B+B-3W) where I = F, F&B being the time of a fused pair; P+1
//! activations; parameters twice, and the copies' gradients must be reduced together. Source: DeepSeek-V3 report,
//! arXiv 2412.19437, section 3.2.1, and its published implementation.

use super::{Config, Placed, Rejected, Rows, Schedule};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "dualpipe",
    summary: "both ends at once, forward and backward fused; parameters twice",
    placed: Placed::Bidirectional,
    accepts,
    rows: Rows::Each(row),
};

fn accepts(config: &Config) -> Result<(), Rejected> {
    let (p, m) = (config.ranks, config.microbatches);
    if !p.is_multiple_of(2) {
        return Err(Rejected::new("dualpipe", format!("needs an even number of ranks; got {p}"))
            .hint("dualpipev runs on any number of ranks"));
    }
    if !m.is_multiple_of(2) || m < 2 * p {
        let fits = (m + m % 2).max(2 * p);
        return Err(Rejected::new(
            "dualpipe",
            format!("needs an even number of microbatches, at least 2*P = {}; got {m}", 2 * p),
        )
        .hint(format!("use {fits} microbatches")));
    }
    Ok(())
}

fn row(config: &Config, r: u32) -> Vec<Slot> {
    let (shape, ways) = shape(config, r);
    steps(&shape, ways)
}

/// The repeats of the steps on rank `r`, and its two directions in the order in which it counts them.
pub(super) fn shape(config: &Config, r: u32) -> (Shape, [Way; 2]) {
    let (p, m) = (config.ranks, config.microbatches);
    let half = p / 2;
    let h = r.min(p - 1 - r);
    let ways = [Way { stage: r, first_mb: 0 }, Way { stage: p - 1 - r, first_mb: m / 2 }];
    let ways = if r < half { ways } else { [ways[1], ways[0]] };
    let shape = Shape { a: half - 1 - h, h, s: m / 2 - p + h + 1, last: h == half - 1 };
    (shape, ways)
}

/// One direction as a rank sees it: the stage it runs, and the first microbatch that comes this way.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) stage: u32,
    pub(super) first_mb: u32,
}

/// How often each of the eight steps repeats on a rank.
pub(super) struct Shape {
    pub(super) a: u32,
    pub(super) h: u32,
    pub(super) s: u32,
    pub(super) last: bool,
}

struct Row {
    ways: [Way; 2],
    forwards: [u32; 2],
    backwards: [u32; 2],
    /// Weight gradients put off; `W` takes the oldest.
    queue: std::collections::VecDeque<Action>,
    slots: Vec<Slot>,
}

impl Row {
    fn next(way: Way, kind: Kind, counter: &mut u32) -> Action {
        *counter += 1;
        Action::new(way.stage, kind, way.first_mb + *counter - 1)
    }

    fn f(&mut self, x: usize) {
        let action = Self::next(self.ways[x], Kind::F, &mut self.forwards[x]);
        self.slots.push(action.into());
    }

    fn b(&mut self, x: usize) {
        let action = Self::next(self.ways[x], Kind::B, &mut self.backwards[x]);
        self.slots.push(action.into());
    }

    /// I now, its W into the queue.
    fn i(&mut self, x: usize) {
        let action = Self::next(self.ways[x], Kind::I, &mut self.backwards[x]);
        self.slots.push(action.into());
        self.queue.push_back(Action { kind: Kind::W, ..action });
    }

    fn w(&mut self) {
        self.slots.extend(self.queue.pop_front().map(Slot::from));
    }

    fn f_and_b(&mut self, x: usize, y: usize) {
        let forward = Self::next(self.ways[x], Kind::F, &mut self.forwards[x]);
        let backward = Self::next(self.ways[y], Kind::B, &mut self.backwards[y]);
        self.slots.push(Slot::pair(forward, backward));
    }
}

/// The eight steps, which DualPipe and DualPipeV share.
pub(super) fn steps(shape: &Shape, ways: [Way; 2]) -> Vec<Slot> {
    let Shape { a, h, s, last } = *shape;
    let mut row = Row {
        ways,
        forwards: [0; 2],
        backwards: [0; 2],
        queue: Default::default(),
        slots: Vec::new(),
    };
    // 1. 2A x F0
    (0..2 * a).for_each(|_| row.f(0));
    // 2. (h+1) x (F0, F1)
    for _ in 0..=h {
        row.f(0);
        row.f(1);
    }
    // 3. A x (I1, W, F1)
    for _ in 0..a {
        row.i(1);
        row.w();
        row.f(1);
    }
    // 4. S x (F0&B1, F1&B0); the last rank turns its first F0 round itself, so that B1 waits for it.
    for k in 0..s {
        if k == 0 && last {
            row.f(0);
            row.b(1);
        } else {
            row.f_and_b(0, 1);
        }
        row.f_and_b(1, 0);
    }
    // 5. A x (B1, F1&B0)
    for _ in 0..a {
        row.b(1);
        row.f_and_b(1, 0);
    }
    // 6. (h+1) x (B1, B0), splitting from the middle on: before B1 if h is odd, after it if even.
    let middle = h.div_ceil(2);
    for k in 0..=h {
        let split = |odd: bool| k > middle || (k == middle && odd);
        if split(h % 2 == 1) {
            row.i(1)
        } else {
            row.b(1)
        }
        if split(true) { row.i(0) } else { row.b(0) }
    }
    // 7. A x (W, I0)
    for _ in 0..a {
        row.w();
        row.i(0);
    }
    // 8. (h+1) x W
    (0..=h).for_each(|_| row.w());
    row.slots
}
