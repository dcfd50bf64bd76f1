//! Taking a module apart at isolated operations, and joining it again: how passes run on several threads.
//!
//! [`Module::split`] copies the bodies of operations to modules of their own, [`Part`]s; what is left is the module
//! without them. In a part the operations stand in shells of the operations around them, beside stubs of the symbols there
//! (attributes and block arguments, no bodies), so that whoever looks a symbol up finds it. [`Module::absorb`] appends a
//! part's arenas to the module's, shifting every handle: each operation is copied once on the way out and once, without a
//! look at its neighbours, on the way back. Garbage that edits left behind is not copied.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{ARGUMENT, BlockData, Module, NO_SLOT, OpData, RegionData, Slot, ValueData};
use crate::{Block, Name, Op, Region, Trait, Value};

const NONE: u32 = u32::MAX;

/// Operations moved out of a module, in a module of their own.
#[derive(Debug)]
pub(crate) struct Part {
    module: Module,
    /// The moved operations there.
    anchors: Vec<Op>,
    /// And where they come from, in the module they are to return to.
    homes: Vec<Op>,
    /// The sizes of the arenas before the bodies: shells and stubs, which do not return.
    shell: Sizes,
}

impl Part {
    /// The moved operations, in their order.
    pub(crate) fn anchors(&self) -> &[Op] {
        &self.anchors
    }

    /// The module they are in.
    pub(crate) fn module_mut(&mut self) -> &mut Module {
        &mut self.module
    }
}

/// Lengths of arenas and pools.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    ops: u32,
    values: u32,
    blocks: u32,
    regions: u32,
    slots: u32,
    attr_words: u32,
    region_lists: u32,
    successor_lists: u32,
}

/// New handles by old ones, over the range of old ones that occur.
struct Renumbering {
    first: u32,
    new: Vec<u32>,
}

impl Renumbering {
    fn new((first, end): (u32, u32)) -> Self {
        Self { first, new: vec![NONE; end.saturating_sub(first) as usize] }
    }

    fn get(&self, old: u32) -> u32 {
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

impl Module {
    /// Moves the bodies of isolated operations to modules of their own, one a group; the operations stay, with empty
    /// regions. They must stand directly inside one operation, and use and give no values. Handles of the module become
    /// invalid, but for those in `live`, which are renumbered.
    ///
    /// `None`, and nothing changed, if an operation is not isolated or not where it must be.
    pub(crate) fn split(&mut self, groups: &[Vec<Op>], live: &mut [Op]) -> Option<Vec<Part>> {
        let parent = self.parent_op(*groups.first()?.first()?)?;
        let block = self.only_block(parent)?;
        let stands_there = |op: &Op| {
            self.parent_block(*op) == Some(block)
                && self.num_operands(*op) == 0
                && self.num_results(*op) == 0
                && self.has_trait(*op, Trait::IsolatedFromAbove)
        };
        if !groups.iter().flatten().all(stands_there) {
            return None;
        }
        let source = &*self;
        let parts: Vec<Option<Part>> =
            groups.par_iter().map(|group| source.part(parent, group)).collect();
        let mut parts = parts.into_iter().collect::<Option<Vec<Part>>>()?;
        let mut is_moved = vec![false; self.ops.len()];
        groups.iter().flatten().for_each(|op| is_moved[op.index()] = true);
        let mut rest = Self::without_root(self.ctx_arc());
        let copied =
            Copier::new(self, &[self.root()], |op| is_moved[op.index()]).copy(&mut rest, &[])?;
        let moved = |op: Op| Op(copied.get(op.0));
        // An operation that is live but stands nowhere cannot be renumbered.
        if live.iter().any(|op| copied.get(op.0) == NONE) {
            return None;
        }
        rest.set_root(moved(self.root()));
        live.iter_mut().for_each(|op| *op = moved(*op));
        for (part, group) in parts.iter_mut().zip(groups) {
            part.homes = group.iter().map(|op| moved(*op)).collect();
        }
        *self = rest;
        Some(parts)
    }

    /// Copies operations that stand in `parent` into shells of what is around them.
    fn part(&self, parent: Op, group: &[Op]) -> Option<Part> {
        let mut module = Self::without_root(self.ctx_arc());
        let mut around = vec![parent];
        while let Some(outer) = self.parent_op(*around.last()?) {
            around.push(outer);
        }
        let mut place: Option<Block> = None;
        let mut anchors = Vec::with_capacity(group.len());
        for (depth, &op) in around.iter().enumerate().rev() {
            let shell = module.push_shell(self, op);
            match place {
                None => module.set_root(shell),
                Some(block) => module.append(block, shell),
            }
            // The way down: the shell's region of the same number as the next operation's.
            let next = if depth == 0 { group[0] } else { around[depth - 1] };
            let region = self.block_region(self.parent_block(next)?);
            let number = self.regions(op).iter().position(|r| *r == region)?;
            let block = module.add_block(module.regions(shell)[number]);
            place = Some(block);
            let mut waiting = group.iter().peekable();
            for inner in self.only_block(op).into_iter().flat_map(|b| self.ops(b)) {
                if depth == 0 && waiting.peek() == Some(&&inner) {
                    waiting.next();
                    let anchor = module.push_shell(self, inner);
                    module.append(block, anchor);
                    anchors.push(anchor);
                } else if self.has_trait(op, Trait::SymbolTable)
                    && !(depth > 0 && inner == next)
                    && self.symbol_name(inner).is_some()
                {
                    let stub = module.push_stub(self, inner);
                    module.append(block, stub);
                }
            }
        }
        if anchors.len() != group.len() {
            return None;
        }
        let shell = module.sizes();
        let copier = Copier::inside(self, group);
        let regions: Vec<Region> =
            anchors.iter().flat_map(|anchor| module.regions(*anchor).to_vec()).collect();
        copier.copy(&mut module, &regions)?;
        Some(Part { module, anchors, homes: Vec::new(), shell })
    }

    /// Moves a part's operations back. Returns operations that a pass wrongly put beside them, which stand nowhere now.
    pub(crate) fn absorb(&mut self, part: Part) -> Vec<Op> {
        let Part { module: from, anchors, homes, shell } = part;
        let base = self.sizes();
        let shift = |raw: u32, shell: u32, base: u32| match raw {
            NONE => NONE,
            // A shell or stub: not for what returns to point at.
            raw if raw < shell => NONE,
            raw => raw - shell + base,
        };
        let op_of = |op: Op| Op(shift(op.0, shell.ops, base.ops));
        let value_of = |value: Value| Value(shift(value.0, shell.values, base.values));
        let block_of = |block: Block| Block(shift(block.0, shell.blocks, base.blocks));
        let slot_of = |slot: u32| shift(slot, shell.slots, base.slots);
        // Nothing points into the region of a shell but the blocks of a moved operation.
        let mut region_home: Vec<Region> = vec![Region::NONE; shell.regions as usize];
        for (&anchor, &home) in anchors.iter().zip(&homes) {
            let data = from.ops[anchor.index()].clone();
            let words =
                data.attrs_start as usize..data.attrs_start as usize + usize::from(data.attrs_len);
            let attrs_start = self.attr_words.len() as u32;
            let old = &self.ops[home.index()];
            let old_words =
                old.attrs_start as usize..old.attrs_start as usize + usize::from(old.attrs_len);
            if self.attr_words[old_words] != from.attr_words[words.clone()] {
                self.attr_words.extend_from_slice(&from.attr_words[words]);
                let data_here = &mut self.ops[home.index()];
                data_here.attrs_start = attrs_start;
                data_here.attrs_len = data.attrs_len;
            }
            self.ops[home.index()].loc = data.loc;
            for (&there, here) in from.regions(anchor).iter().zip(self.regions(home).to_vec()) {
                region_home[there.index()] = here;
                let (first, last) = {
                    let region = &from.regions[there.index()];
                    (block_of(region.first), block_of(region.last))
                };
                let region = &mut self.regions[here.index()];
                (region.first, region.last) = (first, last);
            }
        }
        let attr_base = self.attr_words.len() as u32;
        let region_of = |region: Region| match region_home.get(region.index()) {
            Some(home) => *home,
            None => Region(shift(region.0, shell.regions, base.regions)),
        };
        let start_of = |start: u32, len: usize, shell: u32, base: u32| {
            if len == 0 { 0 } else { start - shell + base }
        };
        let mut strays = Vec::new();
        for (i, op) in from.ops[shell.ops as usize..].iter().enumerate() {
            if op.block != Block::NONE && op.block.0 < shell.blocks {
                strays.push(Op(base.ops + i as u32));
            }
            self.ops.push(OpData {
                name: op.name,
                loc: op.loc,
                block: block_of(op.block),
                prev: op_of(op.prev),
                next: op_of(op.next),
                operands_start: start_of(
                    op.operands_start,
                    op.operands_len.into(),
                    shell.slots,
                    base.slots,
                ),
                first_result: start_of(
                    op.first_result,
                    op.results_len.into(),
                    shell.values,
                    base.values,
                ),
                attrs_start: start_of(
                    op.attrs_start,
                    op.attrs_len.into(),
                    shell.attr_words,
                    attr_base,
                ),
                regions_start: start_of(
                    op.regions_start,
                    op.regions_len.into(),
                    shell.region_lists,
                    base.region_lists,
                ),
                successors_start: start_of(
                    op.successors_start,
                    op.successors_len.into(),
                    shell.successor_lists,
                    base.successor_lists,
                ),
                ..op.clone()
            });
        }
        self.values.extend(from.values[shell.values as usize..].iter().map(|value| ValueData {
            def: if value.index & ARGUMENT != 0 {
                block_of(Block(value.def)).0
            } else {
                op_of(Op(value.def)).0
            },
            first_use: slot_of(value.first_use),
            ..value.clone()
        }));
        self.slots.extend(from.slots[shell.slots as usize..].iter().map(|slot| Slot {
            value: value_of(slot.value),
            owner: op_of(slot.owner),
            next: slot_of(slot.next),
            prev: slot_of(slot.prev),
        }));
        self.blocks.extend(from.blocks[shell.blocks as usize..].iter().map(|block| BlockData {
            region: region_of(block.region),
            prev: block_of(block.prev),
            next: block_of(block.next),
            first: op_of(block.first),
            last: op_of(block.last),
            args: block.args.iter().map(|arg| value_of(*arg)).collect(),
        }));
        self.regions.extend(from.regions[shell.regions as usize..].iter().map(|region| {
            RegionData {
                parent: op_of(region.parent),
                first: block_of(region.first),
                last: block_of(region.last),
            }
        }));
        self.attr_words.extend_from_slice(&from.attr_words[shell.attr_words as usize..]);
        let lists = from.region_lists[shell.region_lists as usize..].iter();
        self.region_lists.extend(lists.map(|region| region_of(*region)));
        let lists = from.successor_lists[shell.successor_lists as usize..].iter();
        self.successor_lists.extend(lists.map(|block| block_of(*block)));
        if let Some(names) = from.value_names.get(shell.values as usize..).filter(|n| !n.is_empty())
        {
            self.value_names.resize(base.values as usize, Name::NONE);
            self.value_names.extend_from_slice(names);
        }
        strays
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            ops: self.ops.len() as u32,
            values: self.values.len() as u32,
            blocks: self.blocks.len() as u32,
            regions: self.regions.len() as u32,
            slots: self.slots.len() as u32,
            attr_words: self.attr_words.len() as u32,
            region_lists: self.region_lists.len() as u32,
            successor_lists: self.successor_lists.len() as u32,
        }
    }

    /// A copy of another module's operation without operands, results and what is in its regions.
    fn push_shell(&mut self, source: &Module, op: Op) -> Op {
        let data = &source.ops[op.index()];
        let words = data.attrs_start as usize;
        let words = words..words + usize::from(data.attrs_len);
        let shell = Op::from_index(self.ops.len());
        let data = OpData {
            block: Block::NONE,
            prev: Op::NONE,
            next: Op::NONE,
            operands_start: 0,
            first_result: 0,
            attrs_start: self.attr_words.len() as u32,
            regions_start: self.region_lists.len() as u32,
            successors_start: 0,
            operands_len: 0,
            results_len: 0,
            successors_len: 0,
            ..data.clone()
        };
        self.attr_words.extend_from_slice(&source.attr_words[words]);
        for _ in 0..data.regions_len {
            let region = self.create_region();
            self.regions[region.index()].parent = shell;
            self.region_lists.push(region);
        }
        self.ops.push(data);
        shell
    }

    /// A shell whose regions have their entry blocks, with arguments and nothing in them.
    fn push_stub(&mut self, source: &Module, op: Op) -> Op {
        let stub = self.push_shell(source, op);
        for (number, &region) in source.regions(op).iter().enumerate() {
            if let Some(entry) = source.first_block(region) {
                let block = self.add_block(self.regions(stub)[number]);
                for &arg in source.args(entry) {
                    self.add_arg(block, source.ty(arg));
                }
            }
        }
        stub
    }
}

/// Copies trees of operations from one module to another.
struct Copier<'m> {
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
    fn new(source: &'m Module, roots: &[Op], is_left_out: impl Fn(Op) -> bool) -> Self {
        let mut copier = Self::empty(source);
        copier.collect(roots.iter().rev().copied().collect(), is_left_out);
        copier
    }

    /// Of everything inside these operations.
    fn inside(source: &'m Module, outer: &[Op]) -> Self {
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
    fn copy(self, to: &mut Module, outer: &[Region]) -> Option<Renumbering> {
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
            if let Some(name) = source.value_name(value) {
                to.set_value_name(Value(values.get(value.0)), name);
            }
        }
        Some(ops)
    }
}

#[cfg(test)]
#[path = "transplant_tests.rs"]
mod tests;
