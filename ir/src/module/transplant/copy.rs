//! Copying operations to another module with every handle renumbered.

use super::super::{ARGUMENT, BlockData, Module, NO_SLOT, OpData, RegionData, Slot, ValueData};
use super::NONE;
use crate::{Block, Op, Region, Value};

/// New handles by old ones, over the range of old ones that occur.
pub(super) struct Renumbering {
    first: u32,
    new: Vec<u32>,
}

impl Renumbering {
    fn new((first, end): (u32, u32)) -> Self {
        Self { first, new: vec![NONE; end.saturating_sub(first) as usize] }
    }

    pub(super) fn get(&self, old: u32) -> u32 {
        let at = old.wrapping_sub(self.first) as usize;
        self.new.get(at).copied().unwrap_or(NONE)
    }

    fn set(&mut self, old: u32, new: u32) {
        self.new[(old - self.first) as usize] = new;
    }
}

/// The smallest range that holds all numbers it was given.
struct Range(u32, u32);

impl Range {
    fn add(&mut self, start: u32, len: u32) {
        if len > 0 {
            self.0 = self.0.min(start);
            self.1 = self.1.max(start + len);
        }
    }

    fn pair(&self) -> (u32, u32) {
        (self.0.min(self.1), self.1)
    }
}

/// Copies trees of operations from one module to another.
pub(super) struct Copier<'m> {
    source: &'m Module,
    /// In the order they are written.
    ops: Vec<Op>,
    regions: Vec<Region>,
    blocks: Vec<Block>,
    /// How many of `regions` belong to operations that are not copied themselves.
    outer_regions: usize,
    op_range: Range,
    value_range: Range,
    block_range: Range,
    region_range: Range,
    slot_range: Range,
}

impl<'m> Copier<'m> {
    fn empty(source: &'m Module) -> Self {
        let range = || Range(u32::MAX, 0);
        Self {
            source,
            ops: Vec::new(),
            regions: Vec::new(),
            blocks: Vec::new(),
            outer_regions: 0,
            op_range: range(),
            value_range: range(),
            block_range: range(),
            region_range: range(),
            slot_range: range(),
        }
    }

    /// Of these operations with everything inside, except inside those for which `is_left_out` holds.
    pub(super) fn new(source: &'m Module, roots: &[Op], is_left_out: impl Fn(Op) -> bool) -> Self {
        let mut copier = Self::empty(source);
        copier.collect(roots.iter().rev().copied().collect(), is_left_out);
        copier
    }

    /// Of everything inside these operations.
    pub(super) fn inside(source: &'m Module, outer: &[Op]) -> Self {
        let mut copier = Self::empty(source);
        let mut pending = Vec::new();
        for &op in outer {
            copier.enter(op, &mut pending);
        }
        copier.outer_regions = copier.regions.len();
        pending.reverse();
        copier.collect(pending, |_| false);
        copier
    }

    fn collect(&mut self, mut stack: Vec<Op>, is_left_out: impl Fn(Op) -> bool) {
        let mut inner = Vec::new();
        while let Some(op) = stack.pop() {
            let data = &self.source.ops[op.index()];
            self.ops.push(op);
            self.op_range.add(op.0, 1);
            self.value_range.add(data.first_result, data.results_len.into());
            self.slot_range.add(data.operands_start, data.operands_len.into());
            if is_left_out(op) {
                for &region in self.source.regions(op) {
                    self.region_range.add(region.0, 1);
                    self.regions.push(region);
                }
            } else if data.regions_len > 0 {
                self.enter(op, &mut inner);
                stack.extend(inner.drain(..).rev());
            }
        }
    }

    /// Takes up an operation's regions and blocks, and puts the operations in them at the end of `inner`.
    fn enter(&mut self, op: Op, inner: &mut Vec<Op>) {
        let source = self.source;
        for &region in source.regions(op) {
            self.regions.push(region);
            self.region_range.add(region.0, 1);
            for block in source.blocks(region) {
                self.blocks.push(block);
                self.block_range.add(block.0, 1);
                source.args(block).iter().for_each(|arg| self.value_range.add(arg.0, 1));
                inner.extend(source.ops(block));
            }
        }
    }

    /// Copies the operations and returns their new numbers. The first regions are those of operations that are not copied:
    /// what is in them goes to the regions `outer`. `None` if an operation uses a value that is not copied.
    pub(super) fn copy(self, to: &mut Module, outer: &[Region]) -> Option<Renumbering> {
        let source = self.source;
        let mut ops = Renumbering::new(self.op_range.pair());
        let mut values = Renumbering::new(self.value_range.pair());
        let mut blocks = Renumbering::new(self.block_range.pair());
        let mut regions = Renumbering::new(self.region_range.pair());
        let mut slots = Renumbering::new(self.slot_range.pair());
        let base = to.sizes();
        let mut next_value = base.values;
        let mut number = |values: &mut Renumbering, value: u32| {
            values.set(value, next_value);
            next_value += 1;
        };
        for (i, op) in self.ops.iter().enumerate() {
            ops.set(op.0, base.ops + i as u32);
            source.results(*op).for_each(|value| number(&mut values, value.0));
        }
        for (i, block) in self.blocks.iter().enumerate() {
            blocks.set(block.0, base.blocks + i as u32);
            source.args(*block).iter().for_each(|value| number(&mut values, value.0));
        }
        for (region, home) in self.regions.iter().zip(outer) {
            regions.set(region.0, home.0);
        }
        for (i, region) in self.regions[self.outer_regions..].iter().enumerate() {
            regions.set(region.0, base.regions + i as u32);
        }
        let mut fresh: Vec<(Value, u32)> = Vec::with_capacity((next_value - base.values) as usize);
        for &op in &self.ops {
            let data = &source.ops[op.index()];
            let operands_start = to.slots.len() as u32;
            for (i, slot) in source.slots[data.operands_start as usize..]
                [..usize::from(data.operands_len)]
                .iter()
                .enumerate()
            {
                let value = values.get(slot.value.0);
                if value == NONE {
                    return None;
                }
                slots.set(data.operands_start + i as u32, to.slots.len() as u32);
                let owner = Op(ops.get(op.0));
                to.slots.push(Slot { value: Value(value), owner, next: NO_SLOT, prev: NO_SLOT });
            }
            let attrs = data.attrs_start as usize;
            let attrs_start = to.attr_words.len() as u32;
            to.attr_words
                .extend_from_slice(&source.attr_words[attrs..attrs + usize::from(data.attrs_len)]);
            let regions_start = to.region_lists.len() as u32;
            if data.regions_len > 0 {
                let inner = source.regions(op).iter();
                to.region_lists.extend(inner.map(|region| Region(regions.get(region.0))));
            }
            let successors_start = to.successor_lists.len() as u32;
            to.successor_lists
                .extend(source.successors(op).iter().map(|block| Block(blocks.get(block.0))));
            let first_result = match data.results_len {
                0 => 0,
                _ => values.get(data.first_result),
            };
            fresh.extend(source.results(op).enumerate().map(|(i, value)| (value, i as u32)));
            to.ops.push(OpData {
                block: Block(blocks.get(data.block.0)),
                prev: Op(ops.get(data.prev.0)),
                next: Op(ops.get(data.next.0)),
                operands_start,
                first_result,
                attrs_start,
                regions_start,
                successors_start,
                ..data.clone()
            });
        }
        for &block in &self.blocks {
            let data = &source.blocks[block.index()];
            fresh.extend(data.args.iter().enumerate().map(|(i, arg)| (*arg, i as u32 | ARGUMENT)));
            to.blocks.push(BlockData {
                region: Region(regions.get(data.region.0)),
                prev: Block(blocks.get(data.prev.0)),
                next: Block(blocks.get(data.next.0)),
                first: Op(ops.get(data.first.0)),
                last: Op(ops.get(data.last.0)),
                args: data.args.iter().map(|arg| Value(values.get(arg.0))).collect(),
            });
        }
        for (i, region) in self.regions.iter().enumerate() {
            let data = &source.regions[region.index()];
            let copy = RegionData {
                parent: Op(ops.get(data.parent.0)),
                first: Block(blocks.get(data.first.0)),
                last: Block(blocks.get(data.last.0)),
            };
            match outer.get(i) {
                Some(home) => {
                    let home = &mut to.regions[home.index()];
                    (home.first, home.last) = (copy.first, copy.last);
                }
                None => to.regions.push(copy),
            }
        }
        for (value, index) in fresh {
            let data = &source.values[value.index()];
            let def = if index & ARGUMENT != 0 { blocks.get(data.def) } else { ops.get(data.def) };
            // Uses keep their order, which passes can see; those by operations that stand nowhere are dropped.
            let (mut first_use, mut last) = (NO_SLOT, NO_SLOT);
            let mut at = data.first_use;
            while at != NO_SLOT {
                let new = slots.get(at);
                if new != NONE {
                    match to.slots.get_mut(last as usize) {
                        Some(slot) => slot.next = new,
                        None => first_use = new,
                    }
                    to.slots[new as usize].prev = last;
                    last = new;
                }
                at = source.slots[at as usize].next;
            }
            to.values.push(ValueData { ty: data.ty, def, index, first_use });
            let new = Value(values.get(value.0));
            if let Some(name) = source.value_name(value) {
                to.set_value_name(new, name);
            }
            if let (true, Some(loc)) = (index & ARGUMENT != 0, source.arg_loc(value)) {
                to.set_arg_loc(new, loc);
            }
        }
        Some(ops)
    }
}
