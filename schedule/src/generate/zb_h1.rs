//! ZB-H1: interleaved zero bubble with one stage per rank.
//!
//! P-1-r F; then F, I, and W lagging r behind. Idle per rank (P-1)(F+I-W), a third of 1F1B's where F = I = W; P
//! activations, no more than 1F1B's first rank. Source: Qi et al., arXiv 2401.10241.

use super::{
    Placed, Rows, Schedule, interleaved_1f1b::even_rounds, interleaved_zb, one_stage_per_rank,
};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "zb_h1",
    summary: "1f1b with weight gradients moved into the bubble, same memory",
    placed: Placed::Loop,
    accepts: |config| {
        one_stage_per_rank("zb_h1", config, "interleaved_zb")?;
        even_rounds("zb_h1", config)
    },
    rows: Rows::Each(interleaved_zb::row),
};
