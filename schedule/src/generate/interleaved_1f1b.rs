//! Interleaved 1F1B: V chunks per rank, taken in turns of N microbatches.
//!
//! w = min((V-1)N + 2(P-1-r), VM) F; then (F, B) pairs until F ends; then the rest of B. Forwards go through the turns in
//! order; backwards through the same turns with the chunks mirrored. Idle per rank (P-1)(F+B) of one *chunk*, hence 1/V of
//! 1F1B's; (V-1)N + 2(P-1-r) + 1 chunk activations. Source: Narayanan et al., arXiv 2104.04473.
//!
//! N is `group` (Megatron-LM's microbatch group size) or, as in torch, M/R for R = max(1, M/P) rounds, which must be even.
//! With `overlap` the warm-up is one longer, so that the pairs of the steady state are independent and may overlap.

use super::{Config, Placed, Rejected, Rows, Schedule};
use crate::action::{Action, Kind, Slot};

pub(super) const SCHEDULE: Schedule = Schedule {
    name: "interleaved1f1b",
    summary: "1f1b over V chunks per rank; 1/V of its bubble",
    placed: Placed::Loop,
    accepts: |config| match config.group {
        None => even_rounds("interleaved1f1b", config),
        Some(group) => group_fits(config, group),
    },
    rows: Rows::Each(row),
};

/// R = max(1, M/P) rounds must divide M.
pub(super) fn even_rounds(name: &'static str, config: &Config) -> Result<(), Rejected> {
    let (p, m) = (config.ranks, config.microbatches);
    let rounds = rounds(p, m);
    if m.is_multiple_of(rounds) {
        return Ok(());
    }
    let even = |m: &u32| m.is_multiple_of(self::rounds(p, *m));
    let fewer = (1..m).rev().find(even).unwrap_or(1);
    let more = (m + 1..).find(even).unwrap_or(m);
    Err(Rejected::new(
        name,
        format!("needs microbatches that divide evenly into M/P = {rounds} rounds over its {p} ranks; got {m}"),
    )
    .hint(format!("use {fewer} or {more} microbatches; a multiple of {p} always fits")))
}

/// P <= N <= M, and a last, shorter group must still fill the pipeline.
fn group_fits(config: &Config, group: u32) -> Result<(), Rejected> {
    let (p, m) = (config.ranks, config.microbatches);
    let refuse = |reason: String| Err(Rejected::new("interleaved1f1b", reason));
    if !(p..=m).contains(&group) {
        return refuse(format!(
            "needs a group of at least P = {p} and at most M = {m} microbatches; got {group}"
        ));
    }
    match m % group {
        0 => Ok(()),
        rest if rest >= p => Ok(()),
        rest => refuse(format!(
            "needs a last group that is whole or has at least P = {p} microbatches; {m} in groups of {group} leave {rest}"
        )),
    }
}

fn rounds(p: u32, m: u32) -> u32 {
    (m / p).max(1)
}

/// N, the microbatches of one turn.
pub(super) fn per_round(config: &Config) -> u32 {
    config.group.unwrap_or(config.microbatches / rounds(config.ranks, config.microbatches))
}

/// (chunk, microbatch) in the order of the forwards of a rank: for each group of N, for each chunk, for each microbatch.
/// Megatron-LM calls this its schedule table. The configuration need not be one that a schedule accepts, but N and M are
/// not 0.
pub fn turns(config: &Config) -> Vec<(u32, u32)> {
    let (v, m, n) = (config.stages_per_rank, config.microbatches, per_round(config));
    (0..m)
        .step_by(n as usize)
        .flat_map(|first| {
            (0..v).flat_map(move |chunk| (first..m.min(first + n)).map(move |mb| (chunk, mb)))
        })
        .collect()
}

fn row(config: &Config, r: u32) -> Vec<Slot> {
    let (p, v, m) = (config.ranks, config.stages_per_rank, config.microbatches);
    let w = ((v - 1) * per_round(config) + 2 * (p - 1 - r) + u32::from(config.overlap)).min(v * m)
        as usize;
    let turns = turns(config);
    let f = |(chunk, mb): (u32, u32)| Action::new(chunk * p + r, Kind::F, mb);
    let b = |(chunk, mb): (u32, u32)| Action::new((v - 1 - chunk) * p + r, Kind::B, mb);

    let mut row: Vec<Slot> = turns[..w].iter().map(|turn| f(*turn).into()).collect();
    for (forward, backward) in turns[w..].iter().zip(&turns) {
        if config.overlap {
            row.push(Slot::pair(f(*forward), b(*backward)));
        } else {
            row.extend([f(*forward).into(), b(*backward).into()]);
        }
    }
    row.extend(turns[turns.len() - w..].iter().map(|turn| Slot::from(b(*turn))));
    row
}
