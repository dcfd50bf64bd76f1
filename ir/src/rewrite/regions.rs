//! Tidying graphs of blocks: what cannot be reached, what is computed for nobody, arguments that are always the same.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::interfaces::{Branch, is_trivially_dead, would_be_dead};
use crate::{Block, Module, Op, Region, Value, ValueDefinition};

/// The blocks of a region that no path from its entry reaches.
pub(super) fn unreachable_blocks(module: &Module, region: Region) -> Vec<Block> {
    let Some(entry) = module.first_block(region) else { return Vec::new() };
    if module.next_block(entry).is_none() {
        return Vec::new();
    }
    let mut seen = FxHashSet::from_iter([entry]);
    let mut pending = vec![entry];
    while let Some(block) = pending.pop() {
        let Some(end) = module.last_op(block) else { continue };
        pending.extend(module.successors(end).iter().filter(|next| seen.insert(**next)));
    }
    module.blocks(region).filter(|block| !seen.contains(block)).collect()
}

/// Erases the blocks of a region that cannot be reached. Returns how many operations went with them.
pub fn erase_unreachable_blocks(module: &mut Module, region: Region) -> usize {
    let blocks = unreachable_blocks(module, region);
    let count = blocks.iter().map(|block| module.ops(*block).count()).sum();
    module.erase_blocks(&blocks);
    count
}

/// What a region computes for somebody: operations with effects, and what they need.
struct Liveness<'m> {
    module: &'m Module,
    region: Region,
    /// The edges into each block.
    edges: FxHashMap<Block, Vec<(Op, usize)>>,
    ops: FxHashSet<Op>,
    args: FxHashSet<Value>,
    pending: Vec<Value>,
}

impl<'m> Liveness<'m> {
    fn of(module: &'m Module, region: Region) -> Self {
        let mut edges: FxHashMap<Block, Vec<(Op, usize)>> = FxHashMap::default();
        for block in module.blocks(region) {
            let Some(end) = module.last_op(block) else { continue };
            for (index, &to) in module.successors(end).iter().enumerate() {
                edges.entry(to).or_default().push((end, index));
            }
        }
        let (ops, args, pending) = Default::default();
        let mut this = Self { module, region, edges, ops, args, pending };
        for block in module.blocks(region) {
            for op in module.ops(block) {
                // An operation is needed for itself if it would be even without users.
                if !would_be_dead(module, op) {
                    this.need(op);
                }
            }
        }
        while let Some(value) = this.pending.pop() {
            this.need_value(value);
        }
        this
    }

    /// An operation is needed, so its operands and those of everything inside it are.
    fn need(&mut self, op: Op) {
        if !self.ops.insert(op) {
            return;
        }
        let module = self.module;
        // What a branch passes on is needed where the block argument is.
        let passed = match Branch::of(module, op) {
            Some(branch) => (0..module.successors(op).len())
                .map(|index| (branch.operands)(module, op, index))
                .collect(),
            None => Vec::new(),
        };
        let own = module.operands(op).enumerate();
        self.pending.extend(
            own.filter(|(i, _)| !passed.iter().any(|range| range.contains(i))).map(|(_, v)| v),
        );
        if !module.regions(op).is_empty() {
            self.pending.extend(module.walk(op).skip(1).flat_map(|inner| module.operands(inner)));
        }
    }

    fn need_value(&mut self, value: Value) {
        let module = self.module;
        match module.definition(value) {
            ValueDefinition::Result { op, .. } => {
                let inside =
                    module.parent_block(op).is_some_and(|b| module.block_region(b) == self.region);
                if inside {
                    self.need(op);
                }
            }
            ValueDefinition::Argument { block, index } => {
                if module.block_region(block) != self.region || !self.args.insert(value) {
                    return;
                }
                for &(end, successor) in self.edges.get(&block).into_iter().flatten() {
                    if let Some(branch) = Branch::of(module, end) {
                        let at = (branch.operands)(module, end, successor).start + index;
                        self.pending.push(module.operand(end, at));
                    }
                }
            }
        }
    }
}

/// Erases what a region computes for nobody, values that only keep each other alive around a loop included, and the
/// arguments of blocks that nobody reads. Returns how many operations went; `None` if nothing changed.
pub fn erase_dead_in_region(module: &mut Module, region: Region) -> Option<usize> {
    let entry = module.first_block(region)?;
    let (doomed, dead_args) = {
        let live = Liveness::of(module, region);
        let ops = module.blocks(region).flat_map(|block| module.ops(block));
        let doomed: Vec<Op> = ops.filter(|op| !live.ops.contains(op)).collect();
        let mut dead_args: Vec<(Block, Vec<bool>)> = Vec::new();
        for block in module.blocks(region).filter(|block| *block != entry) {
            let dead: Vec<bool> =
                module.args(block).iter().map(|arg| !live.args.contains(arg)).collect();
            let edges = live.edges.get(&block).map_or(&[][..], Vec::as_slice);
            if dead.contains(&true)
                && edges.iter().all(|(end, _)| Branch::of(module, *end).is_some())
            {
                dead_args.push((block, dead));
            }
        }
        (doomed, dead_args)
    };
    if doomed.is_empty() && dead_args.is_empty() {
        return None;
    }
    for (block, dead) in &dead_args {
        drop_passed(module, *block, dead);
    }
    for &op in &doomed {
        module.set_operands(op, &[]);
        for inner in module.walk(op).skip(1).collect::<Vec<_>>() {
            module.set_operands(inner, &[]);
        }
    }
    for &op in doomed.iter().rev() {
        debug_assert!(is_trivially_dead(module, op), "only what nobody reads is erased");
        module.erase(op);
    }
    for (block, dead) in dead_args {
        module.retain_args(block, |index| !dead[index]);
    }
    Some(doomed.len())
}

/// Takes the values for some arguments of a block out of the branches to it.
pub(super) fn drop_passed(module: &mut Module, block: Block, dropped: &[bool]) {
    for (end, index) in Branch::edges_to(module, block).unwrap_or_default() {
        let branch = *Branch::of(module, end).expect("edges are branches");
        let values = branch.values(module, end, index);
        let kept: Vec<Value> =
            values.into_iter().zip(dropped).filter(|(_, dead)| !**dead).map(|(v, _)| v).collect();
        (branch.set_operands)(module, end, index, &kept);
    }
}

/// Replaces block arguments that have the same value whichever way their block is entered. True if there were any.
pub(super) fn drop_redundant_args(module: &mut Module, region: Region) -> bool {
    let mut changed = false;
    let blocks: Vec<Block> = module.blocks(region).skip(1).collect();
    for block in blocks {
        let Some(edges) = Branch::edges_to(module, block).filter(|edges| !edges.is_empty()) else {
            continue;
        };
        let passed: Vec<Vec<Value>> = edges
            .iter()
            .map(|&(end, index)| {
                let branch = Branch::of(module, end).expect("edges are branches");
                branch.values(module, end, index)
            })
            .collect();
        let args = module.args(block).to_vec();
        let mut dropped = vec![false; args.len()];
        for (i, &arg) in args.iter().enumerate() {
            let mut given = passed.iter().map(|values| values[i]).filter(|value| *value != arg);
            let Some(first) = given.next() else { continue };
            if given.all(|value| value == first) {
                dropped[i] = true;
                module.replace_uses(arg, first);
            }
        }
        if dropped.contains(&true) {
            // Uses of a dropped argument in a branch back to its own block were replaced too.
            drop_passed(module, block, &dropped);
            module.retain_args(block, |index| !dropped[index]);
            changed = true;
        }
    }
    changed
}
