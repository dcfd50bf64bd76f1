//! The hands of a pattern: every change goes through here, so that the driver knows what to look at again.

use super::constants::{Constants, Met};
use super::pattern::FrozenPatterns;
use super::worklist::Worklist;
use crate::interfaces::Branch;
use crate::{Attr, Block, Context, Loc, Module, Op, OpState, Type, Value};

/// Changes a module on behalf of a pattern. New operations go before the one that is rewritten, unless
/// [`insert_before`](Self::insert_before) says otherwise.
#[derive(Debug)]
pub struct Rewriter<'m> {
    pub(super) module: &'m mut Module,
    pub(super) patterns: &'m FrozenPatterns,
    pub(super) worklist: Worklist,
    pub(super) constants: Constants,
    /// The operation under which everything happens.
    pub(super) root: Op,
    before: Option<Op>,
    /// How many branches lead to a block, by its index; made when first asked for.
    predecessors: Option<Vec<u32>>,
    /// Whether anything was changed at all.
    pub(super) changed: bool,
}

impl<'m> Rewriter<'m> {
    pub(super) fn new(
        module: &'m mut Module,
        patterns: &'m FrozenPatterns,
        root: Op,
        expected: usize,
    ) -> Self {
        let capacity = module.op_capacity();
        Self {
            module,
            patterns,
            worklist: Worklist::new(expected, capacity),
            constants: Constants::new(expected, capacity),
            root,
            before: None,
            predecessors: None,
            changed: false,
        }
    }

    /// The module, to look at.
    pub fn module(&self) -> &Module {
        self.module
    }

    /// The context.
    pub fn ctx(&self) -> &Context {
        self.module.ctx()
    }

    /// New operations go before `op` from now on.
    pub fn insert_before(&mut self, op: Op) {
        self.before = Some(op);
    }

    /// The value of a constant of a dialect that can make constants; `None` for anything else. Faster than
    /// [`constant_of`](crate::interfaces::constant_of).
    pub fn known(&self, value: Value) -> Option<Attr> {
        let op = self.module.defining_op(value)?;
        self.patterns.facts(self.module, op).constant_value(self.module, op)
    }

    /// The state of an operation of this name, with a location.
    pub fn state(&self, name: &str, loc: Loc) -> OpState {
        OpState::new(self.ctx().op_name(name), loc)
    }

    /// Creates an operation.
    pub fn insert(&mut self, state: OpState) -> Op {
        let before = self.before.expect("a place to insert at");
        let op = self.module.create(state);
        self.module.insert_before(before, op);
        self.count_edges(op, true);
        self.worklist.push(op);
        self.changed = true;
        op
    }

    /// Creates an operation with one result, which is returned.
    pub fn value(&mut self, state: OpState) -> Value {
        let op = self.insert(state);
        self.module.result(op, 0)
    }

    /// A constant as the dialect of `like` makes them; `None` if it makes none of this value and type. It is made in place:
    /// the next round merges it with its equals at the head of the scope.
    pub fn constant(&mut self, like: Op, value: Attr, ty: Type) -> Option<Value> {
        let facts = self.patterns.facts(self.module, like);
        let materialize = facts.materialize?;
        let before = self.before.expect("a place to insert at");
        let state = materialize(self.module.ctx(), value, ty, self.module.op_loc(before))?;
        Some(self.value(state))
    }

    /// Replaces all uses of a value.
    pub fn replace_uses(&mut self, old: Value, new: Value) {
        self.wake_users(old);
        self.module.replace_uses(old, new);
        self.changed = true;
    }

    /// Replaces an operation by values, one for each result, and erases it.
    pub fn replace(&mut self, op: Op, values: &[Value]) {
        debug_assert_eq!(self.module.num_results(op), values.len(), "one value a result");
        if values.iter().any(|value| self.module.defining_op(*value) == Some(op)) {
            // An operation of a graph that is its own operand: there is nothing to put in its place.
            return;
        }
        for (old, &new) in self.module.results(op).zip(values) {
            self.wake_users(old);
            self.keep_name(old, new);
            self.module.replace_uses(old, new);
        }
        self.erase(op);
    }

    /// Replaces an operation by a new one with as many results.
    pub fn replace_with(&mut self, op: Op, state: OpState) -> Op {
        self.before = Some(op);
        let new = self.insert(state);
        let values: Vec<Value> = self.module.results(new).collect();
        self.replace(op, &values);
        new
    }

    /// A value that has no name yet takes that of the one it replaces, if it was made for that.
    fn keep_name(&mut self, old: Value, new: Value) {
        if let Some(name) = self.module.value_name(old)
            && self.module.value_name(new).is_none()
            && !self.module.is_used(new)
            && self.module.defining_op(new).is_some()
        {
            self.module.set_value_name(new, name);
        }
    }

    /// Erases an operation whose results are unused, with everything in it.
    pub fn erase(&mut self, op: Op) {
        self.wake_definitions(op);
        if !self.module.regions(op).is_empty() {
            let inside: Vec<Op> = self.module.walk(op).skip(1).collect();
            // What only they used outside may be dead now; what they used of each other goes with them.
            inside.iter().for_each(|inner| self.wake_definitions(*inner));
            inside.iter().for_each(|inner| self.forget(*inner));
        }
        self.forget(op);
        self.module.erase(op);
        self.changed = true;
    }

    /// Takes an operation that is about to go out of all lists.
    fn forget(&mut self, op: Op) {
        self.count_edges(op, false);
        self.worklist.remove(op);
        self.forget_constant(op);
    }

    fn forget_constant(&mut self, op: Op) {
        let facts = self.patterns.facts(self.module, op);
        if facts.is_shared_constant() {
            let value = facts.constant_value(self.module, op);
            self.constants.forget(self.module, op, facts.dialect, value);
        }
    }

    /// Changes operands, successors, attributes or the location of an operation in place.
    pub fn modify<R>(&mut self, op: Op, change: impl FnOnce(&mut Module) -> R) -> R {
        self.forget_constant(op);
        self.wake_definitions(op);
        self.count_edges(op, false);
        let result = change(self.module);
        self.count_edges(op, true);
        self.worklist.push(op);
        self.changed = true;
        result
    }

    /// How many branches lead to a block.
    pub fn predecessors(&mut self, block: Block) -> u32 {
        if self.predecessors.is_none() {
            let mut counts = Vec::new();
            for op in self.module.walk(self.root) {
                for &to in self.module.successors(op) {
                    bump(&mut counts, to, true);
                }
            }
            self.predecessors = Some(counts);
        }
        let counts = self.predecessors.as_ref().expect("just made");
        counts.get(block.index()).copied().unwrap_or(0)
    }

    fn count_edges(&mut self, op: Op, up: bool) {
        if let Some(counts) = &mut self.predecessors {
            for &to in self.module.successors(op) {
                bump(counts, to, up);
            }
        }
    }

    /// Appends the operations of `block` to the one whose terminator is its only predecessor; the terminator is erased, the arguments become
    /// what it passed.
    pub fn merge_into_predecessor(&mut self, branch: Op, block: Block) {
        let into = self.module.parent_block(branch).expect("a branch stands in a block");
        let passed = Branch::of(self.module, branch)
            .map_or(Vec::new(), |interface| interface.values(self.module, branch, 0));
        let args = self.module.args(block).to_vec();
        for (arg, value) in args.into_iter().zip(passed) {
            if arg != value {
                self.replace_uses(arg, value);
            }
        }
        self.erase(branch);
        if let Some(first) = self.module.first_op(block) {
            self.module.move_tail(first, into);
        }
        self.module.detach_block(block);
        if let Some(end) = self.module.last_op(into) {
            self.worklist.push(end);
            // A block that was entered from the merged one has another predecessor now, so is worth a look.
            for block in self.module.successors(end).to_vec() {
                if let Some(op) = self.module.last_op(block) {
                    self.worklist.push(op);
                }
            }
        }
    }

    /// Erases blocks that nothing outside them branches to.
    pub fn erase_blocks(&mut self, blocks: &[Block]) {
        let module = &*self.module;
        let ops = blocks.iter().flat_map(|block| module.ops(*block));
        let inside: Vec<Op> = ops.flat_map(|op| module.walk(op)).collect();
        inside.iter().for_each(|op| self.wake_definitions(*op));
        inside.iter().for_each(|op| self.forget(*op));
        self.module.erase_blocks(blocks);
        self.changed = true;
    }

    /// A change of the blocks of a region that goes around the lists, which `change` says whether it made. The constants
    /// and the counts of predecessors are found anew after it.
    pub(super) fn change_region_if(&mut self, change: impl FnOnce(&mut Module) -> bool) {
        if change(self.module) {
            self.predecessors = None;
            self.changed = true;
        }
    }

    /// Looks again at the users of a value.
    pub fn wake_users(&mut self, value: Value) {
        let Self { module, worklist, .. } = self;
        module.uses(value).for_each(|used| worklist.push(used.op));
    }

    /// Looks again at what defines the operands of an operation that goes or lets go of them: a value with few other
    /// users may be dead now, or fold into its last user.
    fn wake_definitions(&mut self, op: Op) {
        let Self { module, worklist, .. } = self;
        for value in module.operands(op) {
            let Some(def) = module.defining_op(value) else { continue };
            let others = module.uses(value).filter(|used| used.op != op).take(2);
            if others.count() < 2 {
                worklist.push(def);
            }
        }
    }

    /// Notes a constant on the way through the module. Returns false if it was merged into an earlier one.
    pub(super) fn meet_constant(&mut self, op: Op) -> bool {
        let facts = self.patterns.facts(self.module, op);
        let Some(value) = facts.constant_value(self.module, op) else { return true };
        match self.constants.meet(self.module, op, facts.dialect, value) {
            Met::Kept(moved) => {
                // A move changes no meaning: it calls for no further round.
                let _ = moved;
                true
            }
            Met::SameAs(known) => {
                let (old, new) = (self.module.result(op, 0), self.module.result(known, 0));
                self.module.replace_uses(old, new);
                self.module.erase(op);
                self.changed = true;
                false
            }
        }
    }
}

fn bump(counts: &mut Vec<u32>, block: Block, up: bool) {
    let at = block.index();
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    counts[at] = if up { counts[at] + 1 } else { counts[at].saturating_sub(1) };
}
