//! 1F1B: min(M, P-r) F; then B, F alternating until F runs out; then the remaining B.
//!
//! Idle per rank (P-1)(F+B); min(M, P-r) activations. Source: Narayanan et al., arXiv 2006.09503 (PipeDream-Flush).
//! Fewer microbatches than ranks are accepted, as by DeepSpeed: the pipeline is then never full, but correct.

use super::{Config, Placed, Rows, Schedule, one_stage_per_rank};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "1f1b",
    summary: "one forward, one backward; at most P activations",
    placed: Placed::Loop,
    accepts: |config| one_stage_per_rank("1f1b", config, "interleaved1f1b"),
    rows: Rows::Each(row),
};

fn row(config: &Config, r: u32) -> Vec<Slot> {
    let (p, m) = (config.ranks, config.microbatches);
    let w = m.min(p - r);
    let f = |mb| Slot::from(Action::new(r, Kind::F, mb));
    let b = |mb| Slot::from(Action::new(r, Kind::B, mb));
    let warm_up = (0..w).map(f);
    let steady = (w..m).flat_map(|mb| [b(mb - w), f(mb)]);
    let cool_down = (m - w..m).map(b);
    warm_up.chain(steady).chain(cool_down).collect()
}
