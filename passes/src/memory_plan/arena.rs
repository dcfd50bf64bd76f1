//! Free memory of an arena, by size and by place.

use std::collections::{BTreeMap, BTreeSet};

/// No instruction.
const NONE: u32 = u32::MAX;
/// How many of the blocks that fit are looked at for one whose users are done.
const LOOKED_AT: usize = 16;

/// What taking a block would mean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Delay {
    /// Its users are known to be done.
    None,
    /// They are to be waited for, but were issued long enough ago that this takes no time.
    Little,
    /// They may still have to begin.
    Unknown,
}

/// A range of bytes, and per stream the last instruction that used it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) users: Box<[u32]>,
}

/// An arena that grows at its end.
#[derive(Debug)]
pub(super) struct Arena {
    streams: usize,
    bytes: u64,
    by_offset: BTreeMap<u64, Block>,
    by_size: BTreeSet<(u64, u64)>,
}

impl Arena {
    pub(super) fn new(streams: usize) -> Self {
        Self { streams, bytes: 0, by_offset: BTreeMap::new(), by_size: BTreeSet::new() }
    }

    /// Bytes from the beginning to the end of the last block that was ever taken.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes new memory at the end.
    pub(super) fn grow(&mut self, size: u64) -> u64 {
        let offset = self.bytes;
        self.bytes += size;
        offset
    }

    /// Takes memory: the smallest block that fits among those with the least delay, at most `most`; else what free neighbours
    /// make together; else new memory. Returns its offset and whose end must be waited for.
    pub(super) fn take(
        &mut self,
        size: u64,
        most: Delay,
        delay: impl Fn(&Block) -> Delay,
    ) -> (u64, Box<[u32]>) {
        if let Some(found) = self.take_free(size, most, &delay) {
            return found;
        }
        // Blocks are kept apart as long as possible, so that an old one is not waited for because of a young neighbour.
        self.join_neighbours();
        if let Some(found) = self.take_free(size, most, &delay) {
            return found;
        }
        let last = self.by_offset.last_key_value().map(|(_, block)| block.clone());
        let at_end = |block: &Block| block.offset + block.size == self.bytes && block.size < size;
        match last.filter(|block| at_end(block) && delay(block) <= most) {
            Some(block) => {
                self.remove(block.offset);
                self.bytes = block.offset + size;
                (block.offset, block.users)
            }
            None => (self.grow(size), vec![NONE; self.streams].into()),
        }
    }

    fn take_free(
        &mut self,
        size: u64,
        most: Delay,
        delay: &impl Fn(&Block) -> Delay,
    ) -> Option<(u64, Box<[u32]>)> {
        let mut best: Option<(Delay, u64)> = None;
        for &(_, offset) in self.by_size.range((size, 0)..).take(LOOKED_AT) {
            let delay = delay(&self.by_offset[&offset]);
            if best.is_none_or(|(least, _)| delay < least) {
                best = Some((delay, offset));
            }
            if delay == Delay::None {
                break;
            }
        }
        let (_, offset) = best.filter(|&(delay, _)| delay <= most)?;
        let block = self.remove(offset)?;
        if block.size > size {
            self.add(Block {
                offset: block.offset + size,
                size: block.size - size,
                users: block.users.clone(),
            });
        }
        Some((block.offset, block.users))
    }

    /// Gives memory back.
    pub(super) fn give_back(&mut self, block: Block) {
        if block.size > 0 {
            self.add(block);
        }
    }

    fn add(&mut self, block: Block) {
        self.by_size.insert((block.size, block.offset));
        self.by_offset.insert(block.offset, block);
    }

    fn remove(&mut self, offset: u64) -> Option<Block> {
        let block = self.by_offset.remove(&offset)?;
        self.by_size.remove(&(block.size, block.offset));
        Some(block)
    }

    fn join_neighbours(&mut self) {
        let blocks = std::mem::take(&mut self.by_offset);
        self.by_size.clear();
        let mut joined: Vec<Block> = Vec::with_capacity(blocks.len());
        for block in blocks.into_values() {
            match joined.last_mut().filter(|last| last.offset + last.size == block.offset) {
                Some(last) => {
                    last.size += block.size;
                    for (have, &new) in last.users.iter_mut().zip(&block.users) {
                        if *have == NONE || (new != NONE && new > *have) {
                            *have = new;
                        }
                    }
                }
                None => joined.push(block),
            }
        }
        joined.into_iter().for_each(|block| self.add(block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(offset: u64, size: u64, user: u32) -> Block {
        Block { offset, size, users: vec![user].into() }
    }

    #[test]
    fn the_smallest_block_with_the_least_delay_is_taken() {
        let delay = |b: &Block| if b.users[0] < 5 { Delay::None } else { Delay::Unknown };
        let mut arena = Arena::new(1);
        arena.grow(1024);
        arena.give_back(block(0, 64, 9));
        arena.give_back(block(128, 128, 1));
        assert_eq!(arena.take(64, Delay::Unknown, delay).0, 128);
        assert_eq!(arena.take(64, Delay::Unknown, delay).0, 192);
        let (offset, _) = arena.take(64, Delay::Little, delay);
        assert_eq!(offset, 1024, "it is better to grow than to wait");
        let (offset, users) = arena.take(64, Delay::Unknown, delay);
        assert_eq!((offset, users[0]), (0, 9), "unless waiting is asked for");
    }

    #[test]
    fn neighbours_are_joined_before_the_arena_grows() {
        let mut arena = Arena::new(1);
        arena.grow(192);
        arena.give_back(block(0, 64, 1));
        arena.give_back(block(64, 64, 2));
        let (offset, users) = arena.take(128, Delay::None, |_| Delay::None);
        assert_eq!((offset, users[0], arena.bytes()), (0, 2, 192));
        arena.give_back(block(128, 64, 3));
        let (offset, _) = arena.take(256, Delay::None, |_| Delay::None);
        assert_eq!((offset, arena.bytes()), (128, 384), "the free end is extended");
    }
}
