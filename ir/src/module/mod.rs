//! Storage of operations, values, blocks and regions.
//!
//! A [`Module`] is a set of arenas indexed by `u32` handles. Operand lists, result lists and attribute lists live in
//! pools; a use is an operand slot threaded into its value's use list, so that replacing a value costs its uses and
//! nothing else. Handles of erased operations are not given out again, so a stale handle is noticed and never reads
//! another operation. Counterparts: MLIR's `Operation`, Cranelift's entity maps for the layout.

mod attributes;
mod blocks;
mod build;
mod edit;
mod structure;
mod symbols;
mod transplant;
mod walk;

use std::sync::Arc;

pub(crate) use attributes::PROPERTIES;
pub use build::{Builder, OpState};
pub(crate) use transplant::Part;

use crate::resources::Resources;
use crate::{Block, Context, Loc, Name, Op, OpName, Region, Type, Value};

/// One operation: 48 bytes, everything of variable length is in pools.
#[derive(Clone, Debug)]
pub(crate) struct OpData {
    pub(crate) name: OpName,
    pub(crate) loc: Loc,
    pub(crate) block: Block,
    pub(crate) prev: Op,
    pub(crate) next: Op,
    operands_start: u32,
    first_result: u32,
    attrs_start: u32,
    regions_start: u32,
    successors_start: u32,
    operands_len: u16,
    results_len: u16,
    attrs_len: u16,
    regions_len: u8,
    successors_len: u8,
}

/// One operand slot, a node of its value's use list.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    pub(crate) owner: Op,
    next: u32,
    prev: u32,
}

const NO_SLOT: u32 = u32::MAX;
/// Set in [`ValueData::index`] for block arguments.
const ARGUMENT: u32 = 1 << 31;

#[derive(Clone, Debug)]
pub(crate) struct ValueData {
    pub(crate) ty: Type,
    /// The defining operation, or the block of an argument.
    def: u32,
    /// Result or argument number; the top bit tells which.
    index: u32,
    first_use: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct BlockData {
    pub(crate) region: Region,
    pub(crate) prev: Block,
    pub(crate) next: Block,
    pub(crate) first: Op,
    pub(crate) last: Op,
    pub(crate) args: Vec<Value>,
}

#[derive(Clone, Debug)]
pub(crate) struct RegionData {
    pub(crate) parent: Op,
    pub(crate) first: Block,
    pub(crate) last: Block,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ValueDefinition {
    Result { op: Op, index: usize },
    Argument { block: Block, index: usize },
}

/// A use of a value: operand number `index` of `op`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Use {
    pub op: Op,
    pub index: usize,
}

/// A tree of operations under one root, normally a `builtin.module`. Owns all its data; `Send`.
#[derive(Clone, Debug)]
pub struct Module {
    ctx: Arc<Context>,
    ops: Vec<OpData>,
    values: Vec<ValueData>,
    blocks: Vec<BlockData>,
    regions: Vec<RegionData>,
    slots: Vec<Slot>,
    attr_words: Vec<u32>,
    region_lists: Vec<Region>,
    successor_lists: Vec<Block>,
    /// The names that values were written with, by value; shorter than `values` if the last have none.
    value_names: Vec<Name>,
    /// Locations that were written behind arguments; most have none of their own.
    arg_locs: rustc_hash::FxHashMap<Value, Loc>,
    /// What stood at the end of the file; most files end with their operations.
    resources: Option<Box<Resources>>,
    symbols: symbols::SymbolIndex,
    root: Op,
}

impl Module {
    /// A module with an empty `builtin.module` as root.
    pub fn new(ctx: Arc<Context>) -> Self {
        let mut module = Self::without_root(ctx);
        let loc = module.ctx.unknown_loc();
        let root = module.create(OpState::new(module.ctx.op_name("builtin.module"), loc).region());
        let region = module.regions(root)[0];
        module.add_block(region);
        module.root = root;
        module
    }

    pub(crate) fn without_root(ctx: Arc<Context>) -> Self {
        Self {
            ctx,
            ops: Vec::new(),
            values: Vec::new(),
            blocks: Vec::new(),
            regions: Vec::new(),
            slots: Vec::new(),
            attr_words: Vec::new(),
            region_lists: Vec::new(),
            successor_lists: Vec::new(),
            value_names: Vec::new(),
            arg_locs: Default::default(),
            resources: None,
            symbols: Default::default(),
            root: Op::NONE,
        }
    }

    /// Makes room for about this many operations more, so that the arenas need not move while they are filled.
    pub fn reserve(&mut self, ops: usize) {
        self.ops.reserve(ops);
        self.values.reserve(ops);
        self.slots.reserve(2 * ops);
        self.attr_words.reserve(2 * ops);
    }

    pub(crate) fn set_root(&mut self, root: Op) {
        self.root = root;
    }

    /// The context.
    pub fn ctx(&self) -> &Context {
        &self.ctx
    }

    /// The context, to be kept.
    pub fn ctx_arc(&self) -> Arc<Context> {
        Arc::clone(&self.ctx)
    }

    /// The location of a block argument, if it has one of its own.
    pub fn arg_loc(&self, arg: Value) -> Option<Loc> {
        self.arg_locs.get(&arg).copied()
    }

    /// Gives a block argument a location of its own.
    pub fn set_arg_loc(&mut self, arg: Value, loc: Loc) {
        self.arg_locs.insert(arg, loc);
    }

    /// What stands at the end of the file, if anything does.
    pub fn resources(&self) -> Option<&Resources> {
        self.resources.as_deref()
    }

    /// What stands at the end of the file, to be added to.
    pub fn resources_mut(&mut self) -> &mut Resources {
        self.resources.get_or_insert_default()
    }

    /// The outermost operation.
    pub fn root(&self) -> Op {
        self.root
    }

    /// The block of the root.
    pub fn body(&self) -> Block {
        self.first_block(self.regions(self.root)[0]).expect("the root has a block")
    }

    /// How many operations were ever created, erased ones included: the length of a side table indexed by [`Op`].
    pub fn op_capacity(&self) -> usize {
        self.ops.len()
    }

    /// How many values were ever created: the length of a side table indexed by [`Value`].
    pub fn value_capacity(&self) -> usize {
        self.values.len()
    }

    /// Bytes held by the arenas and pools, as allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.ops.capacity() * size_of::<OpData>()
            + self.values.capacity() * size_of::<ValueData>()
            + self.blocks.capacity() * size_of::<BlockData>()
            + self.regions.capacity() * size_of::<RegionData>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.attr_words.capacity() * 4
            + self.region_lists.capacity() * 4
            + self.successor_lists.capacity() * 4
            + self.value_names.capacity() * 4
    }
}

const _: () = {
    const fn is_send<T: Send + Sync>() {}
    is_send::<Module>();
    assert!(size_of::<OpData>() == 48 && size_of::<Slot>() == 16 && size_of::<ValueData>() == 16);
};
