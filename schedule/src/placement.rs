//! Where a stage lives.
//!
//! A placement is data, not a rule: for every stage its home ranks, one per *direction*, and for every microbatch the
//! direction it travels in. Ordinary pipelines have one direction. DualPipe has two, so each stage has two homes, and the
//! microbatch decides which of them runs it.

use std::collections::HashMap;

use crate::action::Slot;

/// Home ranks of the stages of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// `homes[stage][direction]` is a rank.
    pub homes: Vec<Vec<u32>>,
    /// `direction[mb]` selects among a stage's homes. Empty where there is one direction.
    pub direction: Vec<u32>,
}

impl Placement {
    /// Stage `s` on rank `s mod P`; `ranks` = P, `stages_per_rank` = V.
    pub fn looped(ranks: u32, stages_per_rank: u32) -> Placement {
        let homes = (0..ranks * stages_per_rank).map(|s| vec![s % ranks]).collect();
        Placement { homes, direction: Vec::new() }
    }

    /// Rank `r` holds stages `r` and `2P-1-r`: the model goes down the ranks and comes back.
    pub fn vee(ranks: u32) -> Placement {
        let homes = (0..2 * ranks).map(|s| vec![s.min(2 * ranks - 1 - s)]).collect();
        Placement { homes, direction: Vec::new() }
    }

    /// Stage `s` on ranks `s` (microbatches of the first half) and `P-1-s` (those of the second half).
    pub fn bidirectional(ranks: u32, microbatches: u32) -> Placement {
        let homes = (0..ranks).map(|s| vec![s, ranks - 1 - s]).collect();
        let direction = (0..microbatches).map(|mb| u32::from(mb >= microbatches / 2)).collect();
        Placement { homes, direction }
    }

    /// The placement a table implies: a stage's home is where its actions stand, and microbatches that meet the same
    /// ranks share a direction. A stage nobody runs has no home; [`crate::Table::check`] reports it.
    pub fn implied(ranks: &[Vec<Slot>], stages: u32, microbatches: u32) -> Placement {
        let (stages, microbatches) = (stages as usize, microbatches as usize);
        let mut seen = vec![vec![None; stages]; microbatches];
        let mut somewhere: Vec<Option<u32>> = vec![None; stages];
        for (rank, slots) in ranks.iter().enumerate().rev() {
            for action in slots.iter().flat_map(Slot::actions) {
                let rank = u32::try_from(rank).unwrap_or(u32::MAX);
                let cell = seen
                    .get_mut(action.mb as usize)
                    .and_then(|path| path.get_mut(action.stage as usize));
                if let Some(cell) = cell {
                    *cell = Some(rank);
                    somewhere[action.stage as usize] = Some(rank);
                }
            }
        }
        let mut homes = vec![Vec::new(); stages];
        let mut known: HashMap<Vec<Option<u32>>, u32> = HashMap::new();
        let mut direction = Vec::with_capacity(microbatches);
        for path in seen {
            let path: Vec<Option<u32>> =
                path.iter().zip(&somewhere).map(|(rank, fallback)| rank.or(*fallback)).collect();
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            direction.push(*known.entry(path).or_insert_with_key(|path| {
                homes.iter_mut().zip(path).for_each(|(homes, rank)| homes.extend(*rank));
                next
            }));
        }
        if known.len() <= 1 {
            direction.clear();
        }
        Placement { homes, direction }
    }

    /// The rank that runs `stage` for microbatch `mb`, or none where either is out of range.
    pub fn home(&self, stage: u32, mb: u32) -> Option<u32> {
        let direction =
            if self.direction.is_empty() { 0 } else { *self.direction.get(mb as usize)? };
        self.homes.get(stage as usize)?.get(direction as usize).copied()
    }

    /// Number of directions microbatches travel in.
    pub fn directions(&self) -> u32 {
        self.direction.iter().max().map_or(1, |last| last + 1)
    }

    /// Stages whose parameters `rank` holds, ascending.
    pub fn stages_on(&self, rank: u32) -> Vec<u32> {
        (0u32..)
            .zip(&self.homes)
            .filter(|(_, homes)| homes.contains(&rank))
            .map(|(s, _)| s)
            .collect()
    }
}
