//! Looped breadth-first: each local chunk ascending, all M F; then chunks descending, B with microbatches descending.
//!
//! Idle per rank (P-1)(F+B) of one chunk; V M chunk activations. Source: Lamy-Poirier, arXiv 2211.05953.

use super::{Config, Placed, Rows, Schedule};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "looped_bfs",
    summary: "gpipe over V chunks per rank, breadth first",
    placed: Placed::Loop,
    accepts: |_| Ok(()),
    rows: Rows::Each(row),
};

fn row(config: &Config, r: u32) -> Vec<Slot> {
    let (p, v, m) = (config.ranks, config.stages_per_rank, config.microbatches);
    let chunk = move |chunk: u32, kind| move |mb| Slot::from(Action::new(chunk * p + r, kind, mb));
    let forwards = (0..v).flat_map(|c| (0..m).map(chunk(c, Kind::F)));
    let backwards = (0..v).rev().flat_map(|c| (0..m).rev().map(chunk(c, Kind::B)));
    forwards.chain(backwards).collect()
}
