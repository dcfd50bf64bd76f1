//! Reading a module: names, operands, results, uses, blocks, regions.

use super::{ARGUMENT, Module, NO_SLOT, Slot, Use, ValueDefinition};
use crate::opdef::{OPERAND_SEGMENTS, RESULT_SEGMENTS};
use crate::{Arity, Block, Loc, Name, Op, OpDef, OpName, Region, Trait, Type, Value, ValueDef};

impl Module {
    /// The operation's name.
    pub fn name(&self, op: Op) -> OpName {
        self.ops[op.index()].name
    }

    /// The text of the operation's name.
    pub fn name_text(&self, op: Op) -> &str {
        self.name(op).text(&self.ctx)
    }

    /// The operation's definition, if it is registered.
    pub fn def(&self, op: Op) -> Option<&OpDef> {
        self.name(op).def(&self.ctx)
    }

    /// Whether the operation is registered and has a trait.
    pub fn has_trait(&self, op: Op, wanted: Trait) -> bool {
        self.def(op).is_some_and(|def| def.has(wanted))
    }

    /// The operation's location.
    pub fn op_loc(&self, op: Op) -> Loc {
        self.ops[op.index()].loc
    }

    /// Sets the operation's location.
    pub fn set_loc(&mut self, op: Op, loc: Loc) {
        self.ops[op.index()].loc = loc;
    }

    fn slot_range(&self, op: Op) -> std::ops::Range<usize> {
        let data = &self.ops[op.index()];
        let start = data.operands_start as usize;
        start..start + usize::from(data.operands_len)
    }

    /// The operation's operands.
    pub fn operands(
        &self,
        op: Op,
    ) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + Clone + '_ {
        self.slots[self.slot_range(op)].iter().map(|slot: &Slot| slot.value)
    }

    /// One operand.
    pub fn operand(&self, op: Op, index: usize) -> Value {
        self.slots[self.slot_range(op)][index].value
    }

    /// How many operands the operation has.
    pub fn num_operands(&self, op: Op) -> usize {
        self.ops[op.index()].operands_len.into()
    }

    /// The operation's results.
    pub fn results(
        &self,
        op: Op,
    ) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + Clone + use<> {
        let data = &self.ops[op.index()];
        (data.first_result..data.first_result + u32::from(data.results_len)).map(Value)
    }

    /// One result.
    pub fn result(&self, op: Op, index: usize) -> Value {
        self.results(op).nth(index).expect("result number in range")
    }

    /// How many results the operation has.
    pub fn num_results(&self, op: Op) -> usize {
        self.ops[op.index()].results_len.into()
    }

    /// The operands of the declared group number `group`. For an operation that does not verify, the range is cut to what is there.
    pub fn operand_group(&self, op: Op, group: usize) -> impl ExactSizeIterator<Item = Value> + '_ {
        let range = self.def(op).map_or(0..0, |def| {
            self.group_range(op, &def.operands, OPERAND_SEGMENTS, self.num_operands(op), group)
        });
        let start = self.slot_range(op).start;
        self.slots[start + range.start..start + range.end].iter().map(|slot| slot.value)
    }

    /// The results of the declared group number `group`.
    pub fn result_group(
        &self,
        op: Op,
        group: usize,
    ) -> impl ExactSizeIterator<Item = Value> + use<> {
        let range = self.def(op).map_or(0..0, |def| {
            self.group_range(op, &def.results, RESULT_SEGMENTS, self.num_results(op), group)
        });
        let first = self.ops[op.index()].first_result;
        (first + range.start as u32..first + range.end as u32).map(Value)
    }

    /// The positions of a declared group among `total` values.
    fn group_range(
        &self,
        op: Op,
        defs: &[ValueDef],
        segments: &str,
        total: usize,
        group: usize,
    ) -> std::ops::Range<usize> {
        let loose = defs.iter().filter(|d| d.arity != Arity::One).count();
        if loose > 1 {
            let sizes = self.attr_by(op, segments).and_then(|a| a.as_int_array(&self.ctx));
            let sizes = sizes.unwrap_or(&[]);
            let size = |i: usize| sizes.get(i).map_or(0, |&s| usize::try_from(s).unwrap_or(0));
            let start: usize = (0..group).map(size).sum();
            return start.min(total)..(start + size(group)).min(total);
        }
        let spare = total.saturating_sub(defs.len() - loose);
        let size = |d: &ValueDef| if d.arity == Arity::One { 1 } else { spare };
        let start: usize = defs[..group].iter().map(size).sum();
        start.min(total)..(start + size(&defs[group])).min(total)
    }

    /// The value's type.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// Sets the value's type.
    pub fn set_ty(&mut self, value: Value, ty: Type) {
        self.values[value.index()].ty = ty;
    }

    /// Where the value comes from.
    pub fn definition(&self, value: Value) -> ValueDefinition {
        let data = &self.values[value.index()];
        let index = (data.index & !ARGUMENT) as usize;
        if data.index & ARGUMENT != 0 {
            ValueDefinition::Argument { block: Block(data.def), index }
        } else {
            ValueDefinition::Result { op: Op(data.def), index }
        }
    }

    /// The operation that defines the value, unless it is a block argument.
    pub fn defining_op(&self, value: Value) -> Option<Op> {
        match self.definition(value) {
            ValueDefinition::Result { op, .. } => Some(op),
            ValueDefinition::Argument { .. } => None,
        }
    }

    /// The value's uses, latest first.
    pub fn uses(&self, value: Value) -> impl Iterator<Item = Use> + '_ {
        let mut at = self.values[value.index()].first_use;
        std::iter::from_fn(move || {
            let slot = self.slots.get(at as usize)?;
            let index = at as usize - self.slot_range(slot.owner).start;
            at = slot.next;
            Some(Use { op: slot.owner, index })
        })
    }

    /// Whether the value has any use.
    pub fn is_used(&self, value: Value) -> bool {
        self.values[value.index()].first_use != NO_SLOT
    }

    /// Whether any result of the operation has a use.
    pub fn has_used_result(&self, op: Op) -> bool {
        self.results(op).any(|value| self.is_used(value))
    }

    /// The name a value was written with, if it is worth keeping.
    pub fn value_name(&self, value: Value) -> Option<Name> {
        self.value_names.get(value.index()).and_then(|name| name.some())
    }

    /// Gives the value a name to be printed with (made unique by the printer).
    pub fn set_value_name(&mut self, value: Value, name: Name) {
        if self.value_names.len() <= value.index() {
            self.value_names.resize(value.index() + 1, Name::NONE);
        }
        self.value_names[value.index()] = name;
    }

    pub(super) fn forget_value_name(&mut self, value: Value) {
        if let Some(name) = self.value_names.get_mut(value.index()) {
            *name = Name::NONE;
        }
    }

    /// Drops the names values were written with: they are then numbered, whatever the file called them.
    pub fn forget_value_names(&mut self) {
        self.value_names.clear();
    }

    /// The operation's regions.
    pub fn regions(&self, op: Op) -> &[Region] {
        let data = &self.ops[op.index()];
        let start = data.regions_start as usize;
        &self.region_lists[start..start + usize::from(data.regions_len)]
    }

    /// The operation's successor blocks.
    pub fn successors(&self, op: Op) -> &[Block] {
        let data = &self.ops[op.index()];
        let start = data.successors_start as usize;
        &self.successor_lists[start..start + usize::from(data.successors_len)]
    }

    /// The block the operation stands in.
    pub fn parent_block(&self, op: Op) -> Option<Block> {
        self.ops[op.index()].block.some()
    }

    /// The operation whose region holds this one.
    pub fn parent_op(&self, op: Op) -> Option<Op> {
        self.parent_block(op).and_then(|block| self.block_op(block))
    }

    /// The region the block belongs to.
    pub fn block_region(&self, block: Block) -> Region {
        self.blocks[block.index()].region
    }

    /// The operation that owns the block's region.
    pub fn block_op(&self, block: Block) -> Option<Op> {
        self.block_region(block).some().and_then(|region| self.region_op(region))
    }

    /// The operation that owns the region.
    pub fn region_op(&self, region: Region) -> Option<Op> {
        self.regions[region.index()].parent.some()
    }

    /// The region's blocks, in order.
    pub fn blocks(&self, region: Region) -> impl Iterator<Item = Block> + '_ {
        std::iter::successors(self.first_block(region), |b| self.blocks[b.index()].next.some())
    }

    /// The region's first block.
    pub fn first_block(&self, region: Region) -> Option<Block> {
        self.regions[region.index()].first.some()
    }

    /// The block after this one.
    pub fn next_block(&self, block: Block) -> Option<Block> {
        self.blocks[block.index()].next.some()
    }

    /// The block's arguments.
    pub fn args(&self, block: Block) -> &[Value] {
        &self.blocks[block.index()].args
    }

    /// The block's operations, in order. An operation may be erased once the iterator has gone past it; to edit while
    /// walking, collect first or use [`next_op`](Self::next_op).
    pub fn ops(&self, block: Block) -> impl Iterator<Item = Op> + '_ {
        std::iter::successors(self.first_op(block), |op| self.next_op(*op))
    }

    /// The block's operations, last first.
    pub fn ops_reversed(&self, block: Block) -> impl Iterator<Item = Op> + '_ {
        std::iter::successors(self.last_op(block), |op| self.prev_op(*op))
    }

    /// The block's first operation.
    pub fn first_op(&self, block: Block) -> Option<Op> {
        self.blocks[block.index()].first.some()
    }

    /// The block's last operation.
    pub fn last_op(&self, block: Block) -> Option<Op> {
        self.blocks[block.index()].last.some()
    }

    /// The operation after this one in its block.
    pub fn next_op(&self, op: Op) -> Option<Op> {
        self.ops[op.index()].next.some()
    }

    /// The operation before this one in its block.
    pub fn prev_op(&self, op: Op) -> Option<Op> {
        self.ops[op.index()].prev.some()
    }

    /// The single block of an operation's only region; `None` if there is none.
    pub fn only_block(&self, op: Op) -> Option<Block> {
        match self.regions(op) {
            [region] => self.first_block(*region),
            _ => None,
        }
    }
}
