//! One instruction of a group of lanes.

use super::block::{Block, Flow, Launch, lanes_of};
use crate::code::{Lanes, Op, Source, WARP};
use crate::fault::{FaultKind, Trouble, trouble};

const ZERO: Lanes = [0; WARP];

impl Launch<'_> {
    pub(super) fn execute(
        &mut self,
        block: &mut Block,
        w: usize,
        at: u32,
        op: &Op,
        active: u32,
    ) -> Result<Flow, Trouble> {
        match op {
            Op::Compute { f, dst, src } => {
                let warp = &block.warps[w];
                let [a, b, c] = src;
                let mut spare = [const { None::<Lanes> }; 3];
                let [spare_a, spare_b, spare_c] = &mut spare;
                let a = self.borrow(warp, block.at, *a, active, spare_a)?;
                let mut d = ZERO;
                match (b, c) {
                    (Source::Value(0), Source::Value(0)) => f(a, &ZERO, &ZERO, &mut d),
                    (b, Source::Value(0)) => {
                        let b = self.borrow(warp, block.at, *b, active, spare_b)?;
                        f(a, b, &ZERO, &mut d);
                    }
                    (b, c) => {
                        let b = self.borrow(warp, block.at, *b, active, spare_b)?;
                        let c = self.borrow(warp, block.at, *c, active, spare_c)?;
                        f(a, b, c, &mut d);
                    }
                }
                block.warps[w].write(*dst, &d, active);
            }
            Op::Unpack { dst, src, bits } => {
                let from = self.value(&block.warps[w], block.at, *src, active)?;
                let mask = u64::MAX >> (64 - bits);
                for (part, dst) in dst.iter().enumerate() {
                    if let Some(dst) = dst {
                        let values = from.map(|v| v >> (part as u32 * bits) & mask);
                        block.warps[w].write(*dst, &values, active);
                    }
                }
            }
            Op::Pack { dst, src, bits } => {
                let mask = u64::MAX >> (64 - bits);
                let mut values = ZERO;
                for (part, src) in src.iter().enumerate() {
                    let from = self.value(&block.warps[w], block.at, *src, active)?;
                    for (value, from) in values.iter_mut().zip(from) {
                        *value |= (from & mask) << (part as u32 * bits);
                    }
                }
                block.warps[w].write(*dst, &values, active);
            }
            Op::Load { dst, ty, at: address, is_strong } => {
                self.load(block, w, at, active, dst, *ty, address, *is_strong)?;
            }
            Op::Store { src, ty, at: address, is_strong } => {
                self.store(block, w, at, active, src, *ty, address, *is_strong)?;
            }
            Op::Atomic { .. } => self.atomic(block, w, at, active, op)?,
            Op::Branch(to) => return Ok(Flow::Branch(*to)),
            Op::BranchTable { index, targets } => {
                let index = self.value(&block.warps[w], block.at, *index, active)?;
                let mut groups: Vec<(u32, u32)> = Vec::new();
                for lane in lanes_of(active) {
                    let Some(&to) = targets.get(index[lane] as usize) else {
                        let message = format!(
                            "index {} into a table of {} targets",
                            index[lane],
                            targets.len()
                        );
                        return trouble(FaultKind::Trap, lane, message);
                    };
                    match groups.iter_mut().find(|(known, _)| *known == to) {
                        Some((_, lanes)) => *lanes |= 1 << lane,
                        None => groups.push((to, 1 << lane)),
                    }
                }
                return Ok(Flow::Table(groups));
            }
            Op::Exit => return self.exit(block, w, active),
            Op::Trap => {
                let lane = active.trailing_zeros() as usize;
                return trouble(FaultKind::Trap, lane, "the kernel stops itself".to_string());
            }
            Op::Barrier { id, count, is_aligned, waits } => {
                return self.barrier(block, w, active, *id, *count, (*is_aligned, *waits));
            }
            Op::WarpBarrier { mask } => {
                if !self.meets(block, w, active, *mask)? {
                    return Ok(Flow::Meet);
                }
                block.warps[w].clock[w] += 1;
            }
            Op::Fence => block.has_fenced = true,
            Op::Nothing => {}
            Op::Shuffle { .. } | Op::Vote { .. } | Op::ActiveMask { .. } | Op::Reduce { .. } => {
                return self.together(block, w, active, op);
            }
            Op::AsyncCopy { to, from, bytes, take } => {
                self.async_copy(block, w, at, active, to, from, *bytes, *take)?;
            }
            Op::AsyncCommit => block.copies.commit(w, active),
            Op::AsyncWait(count) => self.async_wait(block, w, at, active, *count)?,
            Op::LoadMatrix { dst, is_transposed, at: address } => {
                return self.load_matrix(block, w, at, active, dst, *is_transposed, address);
            }
            Op::Mma { tile, depth, d, a, b, c } => {
                if !self.meets(block, w, active, Source::Value(u64::from(u32::MAX)))? {
                    return Ok(Flow::Meet);
                }
                self.mma(block, w, active, (*tile, *depth as usize), d, a, b, c)?;
            }
            Op::ProxyFence => self.proxy_fence(block, w, active),
            Op::Product(_) | Op::ProductFence | Op::ProductCommit | Op::ProductWait(_) => {
                if !self.meets(block, w, active, Source::Value(u64::from(u32::MAX)))? {
                    return Ok(Flow::Meet);
                }
                match op {
                    Op::Product(product) => self.product(block, w, at, active, product)?,
                    Op::ProductWait(count) => self.product_wait(block, w, *count)?,
                    Op::ProductCommit => self.product_commit(block, w),
                    _ => self.product_fence(block, w),
                }
            }
        }
        Ok(Flow::Next)
    }

    fn barrier(
        &mut self,
        block: &mut Block,
        w: usize,
        active: u32,
        id: Source,
        count: Option<Source>,
        (is_aligned, waits): (bool, bool),
    ) -> Result<Flow, Trouble> {
        let lane = active.trailing_zeros() as usize;
        let id = self.value(&block.warps[w], block.at, id, active)?[lane];
        if id > 15 {
            return trouble(FaultKind::Trap, lane, format!("barrier {id}: there are 0 to 15"));
        }
        let threads: u32 = self.block.iter().product();
        let expected = match count {
            Some(count) => self.value(&block.warps[w], block.at, count, active)?[lane] as u32,
            None => threads,
        };
        if count.is_some() && (expected == 0 || !expected.is_multiple_of(32)) {
            let message =
                format!("a barrier for {expected} threads: whole warps of 32 are counted");
            return trouble(FaultKind::Trap, lane, message);
        }
        if waits {
            return Ok(Flow::Wait { id: id as u8, expected, is_aligned });
        }
        self.arrive(block, w, active, id as u8, expected)?;
        Ok(Flow::Next)
    }
}
