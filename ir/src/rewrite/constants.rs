//! One copy of each constant, at the head of the isolated operation around its uses.
//!
//! Two constants of a dialect that can make constants are the same if value and type are: the first one met stands for
//! all, moved to the front of the entry block of its scope, where it dominates every use. A scope ends at an operation
//! that is isolated from above or unregistered, or at the root.

use rustc_hash::FxHashMap;

use super::worklist::OpSet;
use crate::{Attr, Block, Module, Op, Region, Trait, Type};

type Key = (Region, u32, Attr, Type);

/// The constants met in this iteration.
#[derive(Debug)]
pub(super) struct Constants {
    known: FxHashMap<Key, Op>,
    /// Those that are known, as a set.
    owned: OpSet,
    /// The scope of the last block asked for: constants come in crowds.
    last_scope: Option<(Block, Option<Region>)>,
}

/// What became of a constant that was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Met {
    /// It is the first of its value; `true` if it was moved.
    Kept(bool),
    /// This one has the same value.
    SameAs(Op),
}

impl Constants {
    pub(super) fn new(expected: usize, capacity: usize) -> Self {
        Self {
            known: FxHashMap::default(),
            owned: OpSet::new(expected, capacity),
            last_scope: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.owned.clear();
        self.last_scope = None;
    }

    /// The region whose entry block holds the constants of a block.
    fn scope(&mut self, module: &Module, block: Block) -> Option<Region> {
        if let Some((known, scope)) = self.last_scope
            && known == block
        {
            return scope;
        }
        let mut at = block;
        let scope = loop {
            let Some(region) = module.block_region(at).some() else { break None };
            let Some(parent) = module.region_op(region) else { break Some(region) };
            let isolated = module.def(parent).is_none_or(|def| def.has(Trait::IsolatedFromAbove));
            match module.parent_block(parent) {
                Some(outer) if !isolated => at = outer,
                _ => break Some(region),
            }
        };
        self.last_scope = Some((block, scope));
        scope
    }

    /// Notes a constant: it is moved to the head of its scope, or an earlier one stands for it.
    pub(super) fn meet(&mut self, module: &mut Module, op: Op, dialect: u32, value: Attr) -> Met {
        let Some(block) = module.parent_block(op) else { return Met::Kept(false) };
        let Some(region) = self.scope(module, block) else { return Met::Kept(false) };
        let ty = module.ty(module.result(op, 0));
        let key = (region, dialect, value, ty);
        if let Some(&known) = self.known.get(&key) {
            return if known == op { Met::Kept(false) } else { Met::SameAs(known) };
        }
        let entry = module.first_block(region).expect("a block's region has blocks");
        let first = module.first_op(entry).expect("the constant's scope is not empty");
        let in_place = block == entry
            && (first == op
                || module.prev_op(op).is_some_and(|before| self.owned.contains(before)));
        if !in_place {
            module.move_before(op, first);
        }
        self.known.insert(key, op);
        self.owned.insert(op);
        Met::Kept(!in_place)
    }

    /// Forgets an operation before it is erased or changed.
    pub(super) fn forget(&mut self, module: &Module, op: Op, dialect: u32, value: Option<Attr>) {
        if !self.owned.remove(op) {
            return;
        }
        // Owned constants stand at the head of their scope.
        let region = module.parent_block(op).and_then(|block| module.block_region(block).some());
        if let (Some(region), Some(value)) = (region, value) {
            let ty = module.ty(module.result(op, 0));
            self.known.remove(&(region, dialect, value, ty));
        }
    }
}
