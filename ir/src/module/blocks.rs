//! Control flow: redirecting branches, splitting, merging, removing and copying blocks.
//!
//! What a rewrite of a graph of blocks needs, each at the cost of what it touches. Nothing here knows which operands a
//! terminator passes on; that is [`Branch`](crate::interfaces::Branch).

use rustc_hash::FxHashMap;

use super::{ARGUMENT, Module};
use crate::{Block, Op, OpState, Region, Value};

impl Module {
    /// Makes successor number `index` of a terminator another block.
    pub fn set_successor(&mut self, op: Op, index: usize, block: Block) {
        let data = &self.ops[op.index()];
        assert!(index < usize::from(data.successors_len), "successor number in range");
        self.successor_lists[data.successors_start as usize + index] = block;
    }

    /// Puts a block that stands in no region after another.
    pub fn insert_block_after(&mut self, after: Block, block: Block) {
        let (region, next) = (self.block_region(after), self.blocks[after.index()].next);
        let data = &mut self.blocks[block.index()];
        (data.region, data.prev, data.next) = (region, after, next);
        self.blocks[after.index()].next = block;
        match next.some() {
            Some(next) => self.blocks[next.index()].prev = block,
            None => self.regions[region.index()].last = block,
        }
    }

    /// Takes a block out of its region.
    pub fn detach_block(&mut self, block: Block) {
        let data = &mut self.blocks[block.index()];
        let (region, prev, next) = (data.region, data.prev, data.next);
        (data.region, data.prev, data.next) = (Region::NONE, Block::NONE, Block::NONE);
        if region == Region::NONE {
            return;
        }
        match prev.some() {
            Some(prev) => self.blocks[prev.index()].next = next,
            None => self.regions[region.index()].first = next,
        }
        match next.some() {
            Some(next) => self.blocks[next.index()].prev = prev,
            None => self.regions[region.index()].last = prev,
        }
    }

    /// Erases blocks with everything in them. Only they may use what they define, and only they may branch to them.
    pub fn erase_blocks(&mut self, blocks: &[Block]) {
        let doomed: Vec<Op> = blocks.iter().flat_map(|&block| self.ops(block)).collect();
        // They may use each other's values in a circle: all uses go before the first definition does.
        for &op in &doomed {
            self.drop_operands(op);
        }
        for op in doomed.into_iter().rev() {
            self.erase(op);
        }
        for &block in blocks {
            self.detach_block(block);
        }
    }

    /// Removes the operands of an operation and of those inside it, before they are all erased.
    fn drop_operands(&mut self, root: Op) {
        let mut pending = vec![root];
        while let Some(op) = pending.pop() {
            self.set_operands(op, &[]);
            let blocks = self.regions(op).iter().flat_map(|region| self.blocks(*region));
            pending.extend(blocks.flat_map(|block| self.ops(block)));
        }
    }

    /// Moves the operations from `first` on to the end of another block.
    pub fn move_tail(&mut self, first: Op, to: Block) {
        let mut at = Some(first);
        while let Some(op) = at {
            at = self.next_op(op);
            self.detach(op);
            self.append(to, op);
        }
    }

    /// Moves the operations from `first` on to a new block, which follows the old one.
    pub fn split_block(&mut self, first: Op) -> Block {
        let old = self.parent_block(first).expect("the operation stands in a block");
        let new = self.create_block();
        self.insert_block_after(old, new);
        self.move_tail(first, new);
        new
    }

    /// Removes the arguments of a block for which `keep` is false; they must be unused.
    pub fn retain_args(&mut self, block: Block, mut keep: impl FnMut(usize) -> bool) {
        let old = std::mem::take(&mut self.blocks[block.index()].args);
        let mut kept = Vec::with_capacity(old.len());
        for (index, value) in old.into_iter().enumerate() {
            if keep(index) {
                self.values[value.index()].index = kept.len() as u32 | ARGUMENT;
                kept.push(value);
            } else {
                debug_assert!(!self.is_used(value), "removed a used block argument");
                self.forget_value_name(value);
            }
        }
        self.blocks[block.index()].args = kept;
    }

    /// Copies the blocks of one region to the end of another, branches among them included. `map` gives the values to
    /// use in place of others, and gets the copies of arguments and results. Returns the new blocks.
    pub fn clone_blocks(
        &mut self,
        from: Region,
        to: Region,
        map: &mut FxHashMap<Value, Value>,
    ) -> Vec<Block> {
        let old: Vec<Block> = self.blocks(from).collect();
        let mut copies: FxHashMap<Block, Block> = FxHashMap::default();
        for &block in &old {
            let new = self.add_block(to);
            copies.insert(block, new);
            for arg in self.args(block).to_vec() {
                let ty = self.ty(arg);
                let new_arg = self.add_arg(new, ty);
                if let Some(name) = self.value_name(arg) {
                    self.set_value_name(new_arg, name);
                }
                map.insert(arg, new_arg);
            }
        }
        // An operand may be defined in a block that comes later in the list.
        let mut late: Vec<(Op, Op)> = Vec::new();
        for &block in &old {
            let ops: Vec<Op> = self.ops(block).collect();
            for op in ops {
                let is_late = old.len() > 1 && self.operands(op).any(|v| !map.contains_key(&v));
                let copy = self.clone_op_to(op, map, &copies);
                self.append(copies[&block], copy);
                if is_late {
                    late.push((op, copy));
                }
            }
        }
        for (op, copy) in late {
            let operands: Vec<Value> =
                self.operands(op).map(|v| map.get(&v).copied().unwrap_or(v)).collect();
            self.set_operands(copy, &operands);
        }
        old.iter().map(|block| copies[block]).collect()
    }

    /// The words behind an operation's attributes. Two operations of one name with equal words have equal attributes; with
    /// discardable ones in another order the words differ though the attributes do not.
    pub fn attr_words(&self, op: Op) -> &[u32] {
        let data = &self.ops[op.index()];
        let start = data.attrs_start as usize;
        &self.attr_words[start..start + usize::from(data.attrs_len)]
    }

    /// A copy of an operation, detached, whose successors are looked up among the copies of blocks.
    pub(super) fn clone_op_to(
        &mut self,
        op: Op,
        map: &mut FxHashMap<Value, Value>,
        blocks: &FxHashMap<Block, Block>,
    ) -> Op {
        let state = OpState {
            name: self.name(op),
            loc: self.op_loc(op),
            operands: self.operands(op).map(|v| map.get(&v).copied().unwrap_or(v)).collect(),
            result_types: self.results(op).map(|v| self.ty(v)).collect(),
            attrs: self.all_attrs(op),
            successors: self
                .successors(op)
                .iter()
                .map(|block| *blocks.get(block).expect("a terminator is cloned with its region"))
                .collect(),
            new_regions: self.regions(op).len(),
            regions: Vec::new(),
        };
        let copy = self.create(state);
        for (old, new) in self.results(op).zip(self.results(copy)) {
            map.insert(old, new);
            if let Some(name) = self.value_name(old) {
                self.set_value_name(new, name);
            }
        }
        for i in 0..self.regions(op).len() {
            let (from, to) = (self.regions(op)[i], self.regions(copy)[i]);
            // Regions may be nested deeper than the call stack allows.
            stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.clone_blocks(from, to, map));
        }
        copy
    }
}
