//! `cse`: what was computed is not computed again.
//!
//! Two operations of one name with the same operands, attributes and result types give the same results; the later one goes
//! if the earlier one dominates it. Operations that read may be merged as long as nothing in between may write. What nobody
//! uses goes, too. Nothing is shared across an operation that is isolated from above.
//!
//! ```mlir
//! // before
//! %a = arith.muli %x, %y : i32
//! %b = arith.muli %x, %y : i32
//! %c = arith.addi %a, %b : i32
//! // after
//! %a = arith.muli %x, %y : i32
//! %c = arith.addi %a, %a : i32
//! ```

mod equivalence;
mod scope;

use piper_ir::analysis::immediate_dominators;
use piper_ir::interfaces::{EffectKind, effects, is_trivially_dead, only_reads};
use piper_ir::pass::PassInfo;
use piper_ir::{Block, Module, Op, Region, Trait};
use rustc_hash::{FxHashMap, FxHashSet};

use equivalence::FactsOf;
use scope::ScopedTable;

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn("cse", "Eliminate common subexpressions", |cx| {
        let done = run(cx.module, cx.op);
        cx.count("num-cse'd", done.merged);
        cx.count("num-dce'd", done.erased);
        Ok(())
    });
    vec![
        info.describe(
            "Merges equal operations without effects, and equal reads with no write in between, where one dominates the \
             other; erases unused operations. Works on any operation and what is inside it.",
        )
        .anchored(None),
    ]
}

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// Operations replaced by an earlier one.
    pub merged: u64,
    /// Operations that nobody used.
    pub erased: u64,
}

/// Merges and erases everything that it can inside `root`.
pub fn run(module: &mut Module, root: Op) -> Done {
    let mut cse = Cse {
        module,
        facts: FactsOf::default(),
        done: Done::default(),
        clear: FxHashMap::default(),
        visited: FxHashSet::default(),
    };
    // Isolated operations on the way are scopes of their own.
    let mut pending = vec![root];
    while let Some(op) = pending.pop() {
        // What it stood in may have been unused.
        if !is_inside(cse.module, op, root) {
            continue;
        }
        for region in cse.module.regions(op).to_vec() {
            let mut known = ScopedTable::default();
            cse.region(region, &mut known, &mut pending);
        }
    }
    cse.done
}

fn is_inside(module: &Module, op: Op, root: Op) -> bool {
    std::iter::successors(Some(op), |op| module.parent_op(*op)).any(|op| op == root)
}

struct Cse<'m> {
    module: &'m mut Module,
    facts: FactsOf,
    done: Done,
    /// Of two reads, (the earlier one, how far behind it nothing writes): it is not looked for twice.
    clear: FxHashMap<Op, Op>,
    /// Operations of graph regions that were looked at.
    visited: FxHashSet<Op>,
}

impl Cse<'_> {
    fn region(&mut self, region: Region, known: &mut ScopedTable, isolated: &mut Vec<Op>) {
        let Some(entry) = self.module.first_block(region) else { return };
        let ordered = self.module.region_op(region).is_some_and(|op| {
            // Of an unregistered operation it is not known that its regions are not graphs.
            self.module.def(op).is_some_and(|def| !def.has(Trait::GraphRegion))
        });
        if self.module.next_block(entry).is_none() {
            known.enter();
            self.block(entry, ordered, known, isolated);
            known.leave();
            return;
        }
        // Down the dominator tree: what is known in a block is known in those it dominates.
        let mut children: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
        let dominators = immediate_dominators(self.module, region);
        for block in self.module.blocks(region) {
            if let Some(&parent) = dominators.get(&block) {
                children.entry(parent).or_default().push(block);
            }
        }
        let mut stack = vec![(entry, 0)];
        known.enter();
        self.block(entry, ordered, known, isolated);
        while let Some((block, next)) = stack.pop() {
            match children.get(&block).and_then(|inner| inner.get(next)).copied() {
                Some(child) => {
                    stack.push((block, next + 1));
                    known.enter();
                    self.block(child, ordered, known, isolated);
                    stack.push((child, 0));
                }
                None => known.leave(),
            }
        }
    }

    fn block(
        &mut self,
        block: Block,
        ordered: bool,
        known: &mut ScopedTable,
        isolated: &mut Vec<Op>,
    ) {
        let mut at = self.module.first_op(block);
        while let Some(op) = at {
            at = self.module.next_op(op);
            if !self.module.regions(op).is_empty() {
                // Of an unregistered operation it is not known that its regions see what is outside.
                let def = self.module.def(op);
                if def.is_none_or(|def| def.has(Trait::IsolatedFromAbove)) {
                    isolated.push(op);
                } else {
                    // Regions may be nested deeper than the call stack allows.
                    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
                        for region in self.module.regions(op).to_vec() {
                            self.region(region, known, isolated);
                        }
                    });
                }
            }
            self.op(op, ordered, known);
            if !ordered {
                self.visited.insert(op);
            }
        }
    }

    fn op(&mut self, op: Op, ordered: bool, known: &mut ScopedTable) {
        let facts = self.facts.get(self.module, op);
        if facts.keeps {
            return;
        }
        let is_dead = match facts.is_pure {
            true => !self.module.has_used_result(op),
            false => is_trivially_dead(self.module, op),
        };
        if is_dead {
            self.module.erase(op);
            self.done.erased += 1;
            return;
        }
        if !facts.is_pure && !self.is_mergeable(op) {
            return;
        }
        let is_read = !facts.is_pure && only_reads(self.module, op);
        let Some((earlier, key)) = known.find_or_insert(self.module, op, facts) else { return };
        if is_read && !self.nothing_writes_between(earlier, op) {
            known.replace(earlier, op, key);
            return;
        }
        self.merge(earlier, op, ordered);
    }

    /// Whether an operation without the short form of purity may be merged with an equal one.
    fn is_mergeable(&self, op: Op) -> bool {
        let single = |region: &Region| {
            self.module.first_block(*region).is_none_or(|b| self.module.next_block(b).is_none())
        };
        self.module.regions(op).iter().all(single)
            && effects(self.module, op)
                .is_some_and(|list| list.iter().all(|effect| effect.kind == EffectKind::Read))
    }

    fn merge(&mut self, earlier: Op, op: Op, ordered: bool) {
        let (module, visited) = (&mut *self.module, &self.visited);
        for (old, new) in module.results(op).zip(module.results(earlier)) {
            if ordered {
                module.replace_uses(old, new);
            } else {
                // In a graph an operation that was looked at may use a later value: its place in the table depends on
                // its operands, so it keeps them.
                let later = |used: &piper_ir::Use| !visited.contains(&used.op);
                let uses: Vec<_> = module.uses(old).filter(later).collect();
                for used in uses {
                    module.set_operand(used.op, used.index, new);
                }
            }
            if let Some(name) = module.value_name(old)
                && module.value_name(new).is_none()
            {
                module.set_value_name(new, name);
            }
        }
        if !module.has_used_result(op) {
            if module.op_loc(earlier) == module.ctx().unknown_loc() {
                let loc = module.op_loc(op);
                module.set_loc(earlier, loc);
            }
            module.erase(op);
        }
        self.done.merged += 1;
    }

    /// Whether no operation between two of one block may write.
    fn nothing_writes_between(&mut self, from: Op, to: Op) -> bool {
        if self.module.parent_block(from) != self.module.parent_block(to) {
            return false;
        }
        // What was found clear up to some operation need not be searched again.
        let mut at = self.clear.get(&from).copied().unwrap_or(from);
        while at != to {
            if at != from {
                let harmless = effects(self.module, at)
                    .is_some_and(|list| list.iter().all(|effect| effect.kind != EffectKind::Write));
                if !harmless {
                    return false;
                }
            }
            match self.module.next_op(at) {
                Some(next) => at = next,
                None => return false,
            }
        }
        if let Some(before) = self.module.prev_op(to) {
            self.clear.insert(from, before);
        }
        true
    }
}
