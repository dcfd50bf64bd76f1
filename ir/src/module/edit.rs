//! Changing a module: moving and erasing operations, operands, uses; cloning.

use rustc_hash::FxHashMap;

use super::{Module, NO_SLOT, Slot};
use crate::{Block, Op, Region, Value};

impl Module {
    pub(super) fn push_operands(&mut self, op: Op, operands: &[Value]) {
        let start = self.slots.len();
        for &value in operands {
            self.slots.push(Slot { value, owner: op, next: NO_SLOT, prev: NO_SLOT });
        }
        let data = &mut self.ops[op.index()];
        data.operands_start = u32::try_from(start).expect("operand pool");
        data.operands_len = u16::try_from(operands.len()).expect("at most 65,535 operands");
        for at in start..self.slots.len() {
            self.link(at);
        }
    }

    fn link(&mut self, at: usize) {
        let value = self.slots[at].value;
        let first = std::mem::replace(&mut self.values[value.index()].first_use, at as u32);
        self.slots[at].next = first;
        self.slots[at].prev = NO_SLOT;
        if let Some(next) = self.slots.get_mut(first as usize) {
            next.prev = at as u32;
        }
    }

    fn unlink(&mut self, at: usize) {
        let Slot { value, next, prev, .. } = self.slots[at];
        match self.slots.get_mut(prev as usize) {
            Some(slot) => slot.next = next,
            None => self.values[value.index()].first_use = next,
        }
        if let Some(slot) = self.slots.get_mut(next as usize) {
            slot.prev = prev;
        }
    }

    /// Replaces one operand.
    pub fn set_operand(&mut self, op: Op, index: usize, value: Value) {
        let data = &self.ops[op.index()];
        assert!(index < usize::from(data.operands_len), "operand number in range");
        let at = data.operands_start as usize + index;
        self.unlink(at);
        self.slots[at].value = value;
        self.link(at);
    }

    /// Replaces the whole operand list.
    pub fn set_operands(&mut self, op: Op, operands: &[Value]) {
        let data = &self.ops[op.index()];
        let (start, len) = (data.operands_start as usize, usize::from(data.operands_len));
        if operands.len() == len {
            for (i, &value) in operands.iter().enumerate() {
                self.set_operand(op, i, value);
            }
            return;
        }
        for at in start..start + len {
            self.unlink(at);
        }
        self.push_operands(op, operands);
    }

    /// Replaces every use of `old` by `new`.
    pub fn replace_uses(&mut self, old: Value, new: Value) {
        assert_ne!(old, new, "a value cannot replace itself");
        let mut at = std::mem::replace(&mut self.values[old.index()].first_use, NO_SLOT);
        while at != NO_SLOT {
            let next = self.slots[at as usize].next;
            self.slots[at as usize].value = new;
            self.link(at as usize);
            at = next;
        }
    }

    /// Puts a detached operation at the end of a block.
    pub fn append(&mut self, block: Block, op: Op) {
        let last = self.blocks[block.index()].last;
        self.place(block, last, Op::NONE, op);
    }

    /// Puts a detached operation before another.
    pub fn insert_before(&mut self, before: Op, op: Op) {
        let data = &self.ops[before.index()];
        self.place(data.block, data.prev, before, op);
    }

    fn place(&mut self, block: Block, prev: Op, next: Op, op: Op) {
        let data = &mut self.ops[op.index()];
        assert_eq!(data.block, Block::NONE, "the operation already stands in a block");
        (data.block, data.prev, data.next) = (block, prev, next);
        match prev.some() {
            Some(prev) => self.ops[prev.index()].next = op,
            None => self.blocks[block.index()].first = op,
        }
        match next.some() {
            Some(next) => self.ops[next.index()].prev = op,
            None => self.blocks[block.index()].last = op,
        }
    }

    /// Takes an operation out of its block without erasing it.
    pub fn detach(&mut self, op: Op) {
        let data = &mut self.ops[op.index()];
        let (block, prev, next) = (data.block, data.prev, data.next);
        (data.block, data.prev, data.next) = (Block::NONE, Op::NONE, Op::NONE);
        if block == Block::NONE {
            return;
        }
        match prev.some() {
            Some(prev) => self.ops[prev.index()].next = next,
            None => self.blocks[block.index()].first = next,
        }
        match next.some() {
            Some(next) => self.ops[next.index()].prev = prev,
            None => self.blocks[block.index()].last = prev,
        }
    }

    /// Moves an operation before another.
    pub fn move_before(&mut self, op: Op, before: Op) {
        self.detach(op);
        self.insert_before(before, op);
    }

    /// Erases an operation with everything in its regions. Its results must have no uses outside it.
    pub fn erase(&mut self, op: Op) {
        self.detach(op);
        if self.regions(op).is_empty() {
            self.let_go_of_operands(op);
            self.forget_results(op);
            return;
        }
        // An explicit stack: regions may be nested deeper than the call stack allows.
        let mut pending = vec![op];
        let mut erased = Vec::new();
        while let Some(op) = pending.pop() {
            self.let_go_of_operands(op);
            for i in 0..self.regions(op).len() {
                let region = self.regions(op)[i];
                let inner: Vec<Op> = self.blocks(region).flat_map(|b| self.ops(b)).collect();
                pending.extend(inner);
            }
            erased.push(op);
        }
        for op in erased {
            self.forget_results(op);
        }
    }

    fn let_go_of_operands(&mut self, op: Op) {
        let data = &self.ops[op.index()];
        for at in data.operands_start..data.operands_start + u32::from(data.operands_len) {
            self.unlink(at as usize);
        }
        self.ops[op.index()].operands_len = 0;
    }

    fn forget_results(&mut self, op: Op) {
        for value in self.results(op) {
            debug_assert!(!self.is_used(value), "erased {} has a used result", self.name_text(op));
            self.forget_value_name(value);
        }
    }

    /// Moves all blocks of one region to the end of another.
    pub fn move_blocks(&mut self, from: Region, to: Region) {
        let blocks: Vec<Block> = self.blocks(from).collect();
        self.regions[from.index()].first = Block::NONE;
        self.regions[from.index()].last = Block::NONE;
        for block in blocks {
            self.blocks[block.index()].next = Block::NONE;
            self.append_block(to, block);
        }
    }

    /// Copies an operation with its regions; the copy stands in no block. Operands found in `map` are replaced, others kept; `map` gets the
    /// results and block arguments of the copy. A terminator with successors is copied only with its region
    /// ([`clone_blocks`](Self::clone_blocks)).
    pub fn clone_op(&mut self, op: Op, map: &mut FxHashMap<Value, Value>) -> Op {
        self.clone_op_to(op, map, &FxHashMap::default())
    }

    /// All attributes of an operation, declared ones first.
    pub fn all_attrs(&self, op: Op) -> Vec<(crate::Name, crate::Attr)> {
        self.declared(op)
            .map(|(name, attr)| (self.ctx.name(name), attr))
            .chain(self.discardable(op))
            .collect()
    }
}
