//! DualPipeV: DualPipe cut in half, each rank holding both ends of a V.
//!
//! A = P-1-r, h = r, S = M-2P+r+1; direction 0 is stage r, direction 1 stage 2P-1-r, and the last rank passes P-1 to P
//! locally. Each rank idles (P-1)(F&B+B-3W) where I = F; 2P+1 chunk activations; parameters once. Source: Qi, Wan, Huang
//! and Lin, "Cut-in-half", and DeepSeek's published implementation.

use super::dualpipe::{Shape, Way, steps};
use super::{Config, Placed, Rejected, Rows, Schedule};
use crate::action::Slot;

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "dualpipev",
    summary: "dualpipe on a V of two stages per rank; parameters once",
    placed: Placed::Vee,
    accepts: |config| {
        let (wanted, m) = (2 * config.ranks, config.microbatches);
        if m >= wanted {
            return Ok(());
        }
        Err(Rejected::new(
            "dualpipev",
            format!("needs at least 2*P = {wanted} microbatches; got {m}"),
        )
        .hint(format!("use {wanted} microbatches or more, or zbv, which needs fewer")))
    },
    rows: Rows::Each(row),
};

fn row(config: &Config, r: u32) -> Vec<Slot> {
    let (shape, ways) = shape(config, r);
    steps(&shape, ways)
}

/// The repeats of the steps on rank `r`, and its two directions.
pub(super) fn shape(config: &Config, r: u32) -> (Shape, [Way; 2]) {
    let (p, m) = (config.ranks, config.microbatches);
    let shape = Shape { a: p - 1 - r, h: r, s: m - 2 * p + r + 1, last: r == p - 1 };
    (shape, [Way { stage: r, first_mb: 0 }, Way { stage: 2 * p - 1 - r, first_mb: 0 }])
}
