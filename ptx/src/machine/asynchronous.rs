//! `cp.async`: what is copied is in flight until the thread has waited for its group. Then it lands, as a write by
//! that thread; other threads see it in order only after a barrier, as with any write.

use std::collections::VecDeque;

use super::access::{Access, Home, Kind};
use super::block::{Block, Launch, lanes_of};
use crate::ast::Space;
use crate::code::{Address, Source, WARP};
use crate::fault::{FaultKind, Trouble, trouble};

/// One copy in flight.
#[derive(Clone, Copy, Debug)]
struct Copy {
    to: u64,
    bytes: u32,
    data: [u8; 16],
}

#[derive(Debug, Default)]
struct Thread {
    open: Vec<Copy>,
    groups: VecDeque<Vec<Copy>>,
}

/// The copies of a block.
#[derive(Debug)]
pub(super) struct Copies {
    threads: Vec<Thread>,
    /// Copies in flight into each word of shared memory.
    pending: Vec<u16>,
    in_flight: usize,
}

impl Copies {
    pub(super) fn new(threads: usize, shared_bytes: usize) -> Self {
        Self {
            threads: (0..threads).map(|_| Thread::default()).collect(),
            pending: vec![0; shared_bytes.div_ceil(4)],
            in_flight: 0,
        }
    }

    pub(super) fn is_pending(&self, offset: u64, bytes: u32) -> bool {
        if self.in_flight == 0 {
            return false;
        }
        let (first, last) = (offset as usize / 4, (offset as usize + bytes as usize - 1) / 4);
        self.pending[first..=last].iter().any(|n| *n > 0)
    }

    pub(super) fn is_under_way(&self, w: usize, lane: usize) -> bool {
        let thread = &self.threads[w * WARP + lane];
        !thread.open.is_empty() || thread.groups.iter().any(|group| !group.is_empty())
    }

    pub(super) fn commit(&mut self, w: usize, active: u32) {
        for lane in lanes_of(active) {
            let thread = &mut self.threads[w * WARP + lane];
            let group = std::mem::take(&mut thread.open);
            thread.groups.push_back(group);
        }
    }

    fn count(&mut self, copy: &Copy, begins: bool) {
        let first = copy.to as usize / 4;
        for word in &mut self.pending[first..first + copy.bytes as usize / 4] {
            *word = if begins { word.saturating_add(1) } else { word.saturating_sub(1) };
        }
        if begins {
            self.in_flight += 1;
        } else {
            self.in_flight -= 1;
        }
    }
}

impl Launch<'_> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn async_copy(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        active: u32,
        to: &Address,
        from: &Address,
        bytes: u32,
        take: Option<Source>,
    ) -> Result<(), Trouble> {
        let to = self.addresses(block, w, to, active)?;
        let from = self.addresses(block, w, from, active)?;
        let take = match take {
            Some(take) => Some(self.value(&block.warps[w], block.at, take, active)?),
            None => None,
        };
        for lane in lanes_of(active) {
            let take = take.map_or(bytes, |take| take[lane] as u32);
            if take > bytes {
                let message = format!("{take} bytes are to be taken, but {bytes} copied");
                return trouble(FaultKind::Trap, lane, message);
            }
            if !from[lane].is_multiple_of(u64::from(bytes)) {
                let message = format!(
                    "source {:#x} is no multiple of the {bytes} bytes that are copied",
                    from[lane]
                );
                return trouble(FaultKind::Misaligned, lane, message);
            }
            // The destination is taken from here on: whoever still reads it races.
            let write = Access { w, lane, step, kind: Kind::Write, is_strong: false };
            self.access(block, write, Space::Shared, to[lane], bytes)?;
            let mut data = [0; 16];
            let read = Access { kind: Kind::Read, ..write };
            // What is not taken is zero; only what is taken has to be there.
            let piece = if take == bytes { bytes } else { 1 };
            for at in (0..take).step_by(piece.max(1) as usize) {
                let home =
                    self.access(block, read, Space::Global, from[lane] + u64::from(at), piece)?;
                if let Home::Global(number, offset) = home {
                    let source = &self.global.allocations[number].bytes.data[offset as usize..];
                    data[at as usize..][..piece as usize]
                        .copy_from_slice(&source[..piece as usize]);
                }
            }
            let copy = Copy { to: to[lane], bytes, data };
            block.copies.count(&copy, true);
            block.copies.threads[w * WARP + lane].open.push(copy);
        }
        Ok(())
    }

    /// Lands copies until at most `count` groups are in flight; `u32::MAX` means all, committed or not.
    pub(super) fn async_wait(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        active: u32,
        count: u32,
    ) -> Result<(), Trouble> {
        if count == u32::MAX {
            block.copies.commit(w, active);
        }
        let most = if count == u32::MAX { 0 } else { count as usize };
        for lane in lanes_of(active) {
            while block.copies.threads[w * WARP + lane].groups.len() > most {
                let group =
                    block.copies.threads[w * WARP + lane].groups.pop_front().unwrap_or_default();
                for copy in group {
                    block.copies.count(&copy, false);
                    let write = Access { w, lane, step, kind: Kind::Write, is_strong: false };
                    self.access(block, write, Space::Shared, copy.to, copy.bytes)?;
                    let at = copy.to as usize;
                    block.shared.data[at..at + copy.bytes as usize]
                        .copy_from_slice(&copy.data[..copy.bytes as usize]);
                    block.shared.mark_all(at, copy.bytes as usize);
                }
            }
        }
        Ok(())
    }
}
