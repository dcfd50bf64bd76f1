//! GPipe: all F ascending, then all B ascending.
//!
//! Idle per rank (P-1)(F+B); M activations live at once. Source: Huang et al., arXiv 1811.06965.

use super::{Config, Placed, Rows, Schedule, one_stage_per_rank};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "gpipe",
    summary: "all forwards, then all backwards",
    placed: Placed::Loop,
    accepts: |config| one_stage_per_rank("gpipe", config, "looped_bfs or interleaved1f1b"),
    rows: Rows::Each(row),
};

fn row(config: &Config, r: u32) -> Vec<Slot> {
    let all = |kind| (0..config.microbatches).map(move |mb| Action::new(r, kind, mb).into());
    all(Kind::F).chain(all(Kind::B)).collect()
}
