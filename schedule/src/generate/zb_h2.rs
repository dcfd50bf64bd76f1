//! ZB-H2: twice the warm-up of 1F1B, so that no rank idles between its first and last action.
//!
//! min(M, 2(P-r)-1) F; then loop { I; the oldest W if more than 2r are pending; F if left }; then the remaining W. The skew
//! between ranks stays, in total (P-1)F: bubble-free only if the optimizer step joins no ranks. 2P-1 activations. Source:
//! Qi et al., arXiv 2401.10241, section 2.2.

use super::{Config, Placed, Rejected, Rows, Schedule, one_stage_per_rank};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "zb_h2",
    summary: "zero bubble within each rank, twice the activations of 1f1b",
    placed: Placed::Loop,
    accepts: |config| {
        one_stage_per_rank("zb_h2", config, "zbv or interleaved_zb")?;
        let (wanted, m) = (2 * config.ranks - 1, config.microbatches);
        if m >= wanted {
            return Ok(());
        }
        Err(Rejected::new(
            "zb_h2",
            format!("needs at least 2*P-1 = {wanted} microbatches; got {m}"),
        )
        .hint(format!("use {wanted} microbatches or more, or zb_h1, which needs fewer")))
    },
    rows: Rows::Each(row),
};

fn row(config: &Config, r: u32) -> Vec<Slot> {
    let (p, m) = (config.ranks, config.microbatches);
    let one = |kind| move |mb| Slot::from(Action::new(r, kind, mb));
    let w = m.min(2 * (p - r) - 1);
    let mut row: Vec<Slot> = (0..w).map(one(Kind::F)).collect();
    let mut forwards = (w..m).map(one(Kind::F));
    let mut written = 0;
    for mb in 0..m {
        row.push(one(Kind::I)(mb));
        if mb + 1 - written > 2 * r {
            row.push(one(Kind::W)(written));
            written += 1;
        }
        row.extend(forwards.next());
    }
    row.extend((written..m).map(one(Kind::W)));
    row
}
