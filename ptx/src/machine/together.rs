//! Lanes that exchange values: who has to be there, and what each gets.

use super::block::{Block, Flow, Launch, lanes_of};
use crate::code::{Lanes, Op, Shuffle, Source, Vote, WARP};
use crate::fault::{FaultKind, Trouble, trouble};

impl Launch<'_> {
    /// Whether all lanes that `mask` names are here, of those that have not exited.
    pub(super) fn meets(
        &self,
        block: &Block,
        w: usize,
        active: u32,
        mask: Source,
    ) -> Result<bool, Trouble> {
        let warp = &block.warps[w];
        let masks = self.value(warp, block.at, mask, active)?;
        let first = active.trailing_zeros() as usize;
        let mask = masks[first] as u32;
        for lane in lanes_of(active) {
            if masks[lane] as u32 >> lane & 1 == 0 {
                let message =
                    format!("the mask {:#010x} does not name this lane ({lane})", masks[lane]);
                return trouble(FaultKind::InactiveLanes, lane, message);
            }
            if masks[lane] as u32 != mask {
                let message = format!(
                    "lanes {first} and {lane} give different masks: {mask:#010x} and {:#010x}",
                    masks[lane]
                );
                return trouble(FaultKind::InactiveLanes, lane, message);
            }
        }
        Ok(mask & warp.alive & !active == 0)
    }

    pub(super) fn together(
        &mut self,
        block: &mut Block,
        w: usize,
        active: u32,
        op: &Op,
    ) -> Result<Flow, Trouble> {
        let warp = &block.warps[w];
        let (mask, dst) = match op {
            Op::Shuffle { mask, dst, .. }
            | Op::Vote { mask, dst, .. }
            | Op::Reduce { mask, dst, .. } => (*mask, *dst),
            Op::ActiveMask { dst } => {
                let values = [u64::from(active); WARP];
                block.warps[w].write(*dst, &values, active);
                return Ok(Flow::Next);
            }
            _ => return Ok(Flow::Next),
        };
        if !self.meets(block, w, active, mask)? {
            return Ok(Flow::Meet);
        }
        let mut result: Lanes = [0; WARP];
        match op {
            Op::Shuffle { how, found, value, lane: amount, clamp, .. } => {
                let values = self.value(warp, block.at, *value, active)?;
                let amounts = self.value(warp, block.at, *amount, active)?;
                let clamps = self.value(warp, block.at, *clamp, active)?;
                let mut is_found: Lanes = [0; WARP];
                for lane in lanes_of(active) {
                    let (from, inside) =
                        partner(*how, lane as u32, amounts[lane] as u32, clamps[lane] as u32);
                    if active >> from & 1 == 0 {
                        let message =
                            format!("lane {lane} reads from lane {from}, which does not take part");
                        return trouble(FaultKind::InactiveLanes, lane, message);
                    }
                    result[lane] = values[from as usize];
                    is_found[lane] = u64::from(inside);
                }
                if let Some(found) = found {
                    block.warps[w].write(*found, &is_found, active);
                }
            }
            Op::Vote { how, value, .. } => {
                let values = self.value(warp, block.at, *value, active)?;
                let ballot = lanes_of(active)
                    .fold(0_u32, |b, lane| b | u32::from(values[lane] != 0) << lane);
                let vote = match how {
                    Vote::All => u32::from(ballot == active),
                    Vote::Any => u32::from(ballot != 0),
                    Vote::Uniform => u32::from(ballot == active || ballot == 0),
                    Vote::Ballot => ballot,
                };
                result = [u64::from(vote); WARP];
            }
            Op::Reduce { update, value, .. } => {
                let values = self.value(warp, block.at, *value, active)?;
                let mut lanes = lanes_of(active);
                let first = lanes.next().map_or(0, |lane| values[lane]);
                let total = lanes.fold(first, |total, lane| update(total, values[lane], 0));
                result = [total; WARP];
            }
            _ => {}
        }
        block.warps[w].write(dst, &result, active);
        Ok(Flow::Next)
    }

    pub(super) fn exit(
        &mut self,
        block: &mut Block,
        w: usize,
        active: u32,
    ) -> Result<Flow, Trouble> {
        if let Some(lane) = lanes_of(active).find(|lane| block.copies.is_under_way(w, *lane)) {
            let message =
                "the thread exits before it has waited for its asynchronous copies".to_string();
            return trouble(FaultKind::EarlyRead, lane, message);
        }
        if block.warps[w].products.is_under_way() {
            let message = "the thread exits before it has waited for its products".to_string();
            let lane = active.trailing_zeros() as usize;
            return trouble(FaultKind::EarlyRead, lane, message);
        }
        Ok(Flow::Exit)
    }
}

/// The lane that `lane` reads from, and whether it lies within the segment (PTX ISA, `shfl.sync`).
fn partner(how: Shuffle, lane: u32, amount: u32, clamp: u32) -> (u32, bool) {
    let (amount, end, segment) = (amount & 31, clamp & 31, clamp >> 8 & 31);
    let (most, least) = ((lane & segment) | (end & !segment), lane & segment);
    let (from, inside) = match how {
        Shuffle::Up => {
            let from = lane as i32 - amount as i32;
            (from.max(0) as u32, from >= most as i32)
        }
        Shuffle::Down => (lane + amount, lane + amount <= most),
        Shuffle::Butterfly => (lane ^ amount, (lane ^ amount) <= most),
        Shuffle::Index => {
            let from = least | (amount & !segment);
            (from, from <= most)
        }
    };
    if inside { (from & 31, true) } else { (lane, false) }
}
