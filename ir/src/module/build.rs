//! Creating operations: [`OpState`] says what, [`Builder`] says where.

use super::{ARGUMENT, Block, BlockData, Module, NO_SLOT, OpData, RegionData, ValueData};
use crate::{Attr, Context, Loc, Name, Op, OpName, Region, Type, Value};

/// Everything an operation is made of, before it exists.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct OpState {
    pub name: OpName,
    pub loc: Loc,
    pub operands: Vec<Value>,
    pub result_types: Vec<Type>,
    pub attrs: Vec<(Name, Attr)>,
    pub successors: Vec<Block>,
    /// How many empty regions to create.
    pub new_regions: usize,
    /// Regions made before the operation; they follow the new ones.
    pub regions: Vec<Region>,
}

impl OpState {
    /// An operation without operands, results, attributes or regions.
    pub fn new(name: OpName, loc: Loc) -> Self {
        Self {
            name,
            loc,
            operands: Vec::new(),
            result_types: Vec::new(),
            attrs: Vec::new(),
            successors: Vec::new(),
            new_regions: 0,
            regions: Vec::new(),
        }
    }

    /// As [`new`](Self::new), with the room that the lists have.
    pub(crate) fn reset(&mut self, name: OpName, loc: Loc) {
        (self.name, self.loc, self.new_regions) = (name, loc, 0);
        self.operands.clear();
        self.result_types.clear();
        self.attrs.clear();
        self.successors.clear();
        self.regions.clear();
    }

    /// Adds operands.
    pub fn operands(mut self, operands: impl IntoIterator<Item = Value>) -> Self {
        self.operands.extend(operands);
        self
    }

    /// Adds results.
    pub fn results(mut self, types: impl IntoIterator<Item = Type>) -> Self {
        self.result_types.extend(types);
        self
    }

    /// Adds an attribute, declared or discardable.
    pub fn attr(mut self, ctx: &Context, name: &str, attr: Attr) -> Self {
        if self.attrs.is_empty() {
            // Few operations have more; growing one by one shows in passes that make hundreds of thousands of them.
            self.attrs.reserve(8);
        }
        self.attrs.push((ctx.name(name), attr));
        self
    }

    /// Adds an attribute if there is one.
    pub fn attr_if(self, ctx: &Context, name: &str, attr: Option<Attr>) -> Self {
        match attr {
            Some(attr) => self.attr(ctx, name, attr),
            None => self,
        }
    }

    /// Adds an empty region.
    pub fn region(mut self) -> Self {
        self.new_regions += 1;
        self
    }
}

impl Module {
    /// Creates an operation that stands in no block yet.
    pub fn create(&mut self, state: OpState) -> Op {
        self.create_from(&state)
    }

    /// As [`create`](Self::create), leaving the state to be used again.
    pub(crate) fn create_from(&mut self, state: &OpState) -> Op {
        let op = Op::from_index(self.ops.len());
        let known = self.ctx.op_name_data(state.name);
        let slots = known.slots.len();
        let attrs_start = self.attr_words.len();
        self.attr_words.resize(attrs_start + slots, Attr::NONE.0);
        for &(name, attr) in &state.attrs {
            match known.slot(name) {
                Some(slot) => self.attr_words[attrs_start + slot] = attr.0,
                None => self.attr_words.extend([name.0, attr.0]),
            }
        }
        let regions_start = self.region_lists.len();
        for _ in 0..state.new_regions {
            let region = self.create_region();
            self.region_lists.push(region);
        }
        self.region_lists.extend(&state.regions);
        for i in regions_start..self.region_lists.len() {
            let region = self.region_lists[i];
            self.regions[region.index()].parent = op;
        }
        let successors_start = self.successor_lists.len();
        self.successor_lists.extend(&state.successors);
        let first_result = self.values.len();
        for (i, &ty) in state.result_types.iter().enumerate() {
            self.values.push(ValueData { ty, def: op.0, index: i as u32, first_use: NO_SLOT });
        }
        self.ops.push(OpData {
            name: state.name,
            loc: state.loc,
            block: Block::NONE,
            prev: Op::NONE,
            next: Op::NONE,
            operands_start: self.slots.len() as u32,
            first_result: first_result as u32,
            attrs_start: attrs_start as u32,
            regions_start: regions_start as u32,
            successors_start: successors_start as u32,
            operands_len: 0,
            results_len: u16::try_from(state.result_types.len()).expect("at most 65,535 results"),
            attrs_len: u16::try_from(self.attr_words.len() - attrs_start).expect("attribute list"),
            regions_len: u8::try_from(self.region_lists.len() - regions_start)
                .expect("at most 255 regions"),
            successors_len: u8::try_from(state.successors.len()).expect("at most 255 successors"),
        });
        self.push_operands(op, &state.operands);
        op
    }

    /// Creates a region that belongs to no operation yet.
    pub fn create_region(&mut self) -> Region {
        self.regions.push(RegionData { parent: Op::NONE, first: Block::NONE, last: Block::NONE });
        Region::from_index(self.regions.len() - 1)
    }

    /// Creates a block that stands in no region yet.
    pub fn create_block(&mut self) -> Block {
        self.blocks.push(BlockData {
            region: Region::NONE,
            prev: Block::NONE,
            next: Block::NONE,
            first: Op::NONE,
            last: Op::NONE,
            args: Vec::new(),
        });
        Block::from_index(self.blocks.len() - 1)
    }

    /// Puts a block at the end of a region.
    pub fn append_block(&mut self, region: Region, block: Block) {
        let last = self.regions[region.index()].last;
        self.blocks[block.index()].region = region;
        self.blocks[block.index()].prev = last;
        match last.some() {
            Some(last) => self.blocks[last.index()].next = block,
            None => self.regions[region.index()].first = block,
        }
        self.regions[region.index()].last = block;
    }

    /// Creates a block at the end of a region.
    pub fn add_block(&mut self, region: Region) -> Block {
        let block = self.create_block();
        self.append_block(region, block);
        block
    }

    /// Adds an argument to a block.
    pub fn add_arg(&mut self, block: Block, ty: Type) -> Value {
        let value = Value::from_index(self.values.len());
        let args = &mut self.blocks[block.index()].args;
        self.values.push(ValueData {
            ty,
            def: block.0,
            index: args.len() as u32 | ARGUMENT,
            first_use: NO_SLOT,
        });
        args.push(value);
        value
    }
}

/// Inserts operations at a place of a module.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module that is built.
    pub module: &'m mut Module,
    block: Block,
    before: Option<Op>,
    loc: Loc,
}

impl<'m> Builder<'m> {
    /// Inserts at the end of `block`.
    pub fn at_end(module: &'m mut Module, block: Block) -> Self {
        let loc = module.ctx.unknown_loc();
        Self { module, block, before: None, loc }
    }

    /// Inserts before `op`, with its location.
    pub fn before(module: &'m mut Module, op: Op) -> Self {
        let block = module.parent_block(op).expect("the operation stands in a block");
        let loc = module.op_loc(op);
        Self { module, block, before: Some(op), loc }
    }

    /// Inserts after `op`, with its location.
    pub fn after(module: &'m mut Module, op: Op) -> Self {
        let block = module.parent_block(op).expect("the operation stands in a block");
        let (loc, before) = (module.op_loc(op), module.next_op(op));
        Self { module, block, before, loc }
    }

    /// The location that new operations get.
    pub fn set_loc(&mut self, loc: Loc) -> &mut Self {
        self.loc = loc;
        self
    }

    /// The state of an operation of this name at the current location.
    pub fn state(&self, name: &str) -> OpState {
        OpState::new(self.module.ctx.op_name(name), self.loc)
    }

    /// The context.
    pub fn ctx(&self) -> &Context {
        self.module.ctx()
    }

    /// Creates and inserts an operation. One without a location gets the builder's.
    pub fn insert(&mut self, mut state: OpState) -> Op {
        if state.loc == self.module.ctx.unknown_loc() {
            state.loc = self.loc;
        }
        let op = self.module.create(state);
        match self.before {
            Some(before) => self.module.insert_before(before, op),
            None => self.module.append(self.block, op),
        }
        op
    }

    /// Creates and inserts an operation with one result, which is returned.
    pub fn value(&mut self, state: OpState) -> Value {
        let op = self.insert(state);
        self.module.result(op, 0)
    }
}
