//! Taking a module apart at isolated operations, and joining it again: how passes run on several threads.
//!
//! [`Module::split`] copies the bodies of operations to modules of their own, [`Part`]s; what is left is the module
//! without them. In a part the operations stand in shells of the operations around them, beside stubs of the symbols there
//! (attributes and block arguments, no bodies), so that whoever looks a symbol up finds it. [`Module::absorb`] appends a
//! part's arenas to the module's, shifting every handle: each operation is copied once on the way out and once, without a
//! look at its neighbours, on the way back. Garbage that edits left behind is not copied.

mod copy;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{ARGUMENT, BlockData, Module, OpData, RegionData, Slot, ValueData};
use crate::{Block, Name, Op, Region, Trait, Value};
use copy::Copier;

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

/// What [`Module::absorb`] found.
#[derive(Debug)]
pub(crate) struct Absorbed {
    /// Operations that a pass wrongly put beside the moved ones; they stand nowhere now.
    pub(crate) strays: Vec<Op>,
    /// Whether attributes of the moved operations themselves, their names among them, are others than before.
    pub(crate) attributes_changed: bool,
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
        rest.resources = self.resources.take();
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
        module.resources.clone_from(&self.resources);
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

    /// Moves a part's operations back.
    pub(crate) fn absorb(&mut self, part: Part) -> Absorbed {
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
        let mut attributes_changed = false;
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
                attributes_changed = true;
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
        let locs = from.arg_locs.iter().filter(|(value, _)| value.0 >= shell.values);
        self.arg_locs.extend(locs.map(|(value, loc)| (value_of(*value), *loc)));
        for (key, blob) in from.resources.into_iter().flat_map(|resources| resources.blobs) {
            // Blobs of the file went out with every part; what a pass added comes back.
            if self.resources().is_none_or(|known| known.blob(&key).is_none()) {
                self.resources_mut().set_blob(&key, blob);
            }
        }
        Absorbed { strays, attributes_changed }
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

#[cfg(test)]
mod tests;
