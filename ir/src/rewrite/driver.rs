//! The greedy driver: fold, match, erase, until nothing more happens.

use super::pattern::{Dead, FrozenPatterns};
use super::regions::{drop_redundant_args, erase_dead_in_region, unreachable_blocks};
use super::rewriter::Rewriter;
use crate::interfaces::{FoldInput, Folded, FoldedValue, fold_with, is_trivially_dead};
use crate::{Attr, Loc, Module, Op, Region, Value};

/// What is done to graphs of blocks after each round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RegionSimplification {
    /// Nothing.
    Disabled,
    /// Blocks that cannot be reached go, and what is computed for nobody around loops, with the block arguments for it.
    #[default]
    Normal,
    /// And block arguments that always have the same value.
    Aggressive,
}

/// When to stop even if something still fires. `None`: never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Limits {
    pub iterations: Option<u32>,
    pub rewrites: Option<u64>,
}

/// How [`simplify`] goes about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimplifyOptions {
    /// Operations are looked at from the top down; otherwise users before what they use.
    pub top_down: bool,
    /// See [`RegionSimplification`].
    pub regions: RegionSimplification,
    /// Folding and the merging of constants.
    pub fold: bool,
    /// See [`Limits`].
    pub limits: Limits,
}

impl Default for SimplifyOptions {
    fn default() -> Self {
        Self {
            top_down: true,
            regions: RegionSimplification::Normal,
            fold: true,
            limits: Limits { iterations: Some(10), rewrites: None },
        }
    }
}

/// Why a run ended before nothing fired any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// The pattern that fired most in the last round; `None` if only folding did.
    pub pattern: Option<String>,
    /// How often it did in that round.
    pub times: u64,
    /// Where it last did.
    pub loc: Loc,
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Whether the module is another one.
    pub changed: bool,
    /// How many patterns fired.
    pub rewrites: u64,
    /// How many operations folded.
    pub folds: u64,
    /// How many operations nobody needed.
    pub erased: u64,
    /// Rounds over the whole.
    pub iterations: u32,
    /// Set if it was ended by a limit.
    pub stuck: Option<Stuck>,
}

/// Applies folds and patterns to everything inside `root` until none fires. `root` itself stays as it is.
pub fn simplify(
    module: &mut Module,
    root: Op,
    patterns: &FrozenPatterns,
    options: SimplifyOptions,
) -> Outcome {
    let ops: Vec<Op> = module.walk(root).skip(1).collect();
    let mut driver = Driver {
        rewriter: Rewriter::new(module, patterns, root, ops.len()),
        patterns,
        options,
        outcome: Outcome::default(),
        fired: vec![(0, Loc::NONE); patterns.patterns.len()],
        last_fold: Loc::NONE,
        constants: Vec::new(),
    };
    driver.run(ops);
    driver.outcome
}

struct Driver<'m> {
    rewriter: Rewriter<'m>,
    patterns: &'m FrozenPatterns,
    options: SimplifyOptions,
    outcome: Outcome,
    /// For each pattern, how often it fired in this round and where it last did.
    fired: Vec<(u64, Loc)>,
    last_fold: Loc,
    constants: Vec<Option<Attr>>,
}

impl Driver<'_> {
    fn run(&mut self, mut ops: Vec<Op>) {
        loop {
            if self.options.limits.iterations.is_some_and(|limit| self.outcome.iterations >= limit)
            {
                self.outcome.stuck = Some(self.blame());
                return;
            }
            self.outcome.iterations += 1;
            self.fired.fill((0, Loc::NONE));
            self.rewriter.changed = false;
            if self.outcome.iterations > 1 {
                ops.clear();
                ops.extend(self.rewriter.module.walk(self.rewriter.root).skip(1));
            }
            let regions = self.enlist(&mut ops);
            if !self.drain() {
                self.outcome.stuck = Some(self.blame());
                return;
            }
            self.tidy_regions(regions);
            if !self.rewriter.changed {
                return;
            }
            self.outcome.changed = true;
        }
    }

    /// Puts everything on the worklist, merging constants on the way. Returns the regions of several blocks.
    fn enlist(&mut self, ops: &mut Vec<Op>) -> Vec<Region> {
        self.rewriter.constants.clear();
        let mut regions = Vec::new();
        if !self.options.top_down {
            // Users before what they use: the worklist is taken from its end.
            ops.reverse();
        }
        let before = self.rewriter.changed;
        let fold = self.options.fold;
        let (rewriter, patterns) = (&mut self.rewriter, self.patterns);
        let meet = |rewriter: &mut Rewriter<'_>, op: Op| {
            let is_constant = patterns.facts(rewriter.module, op).is_shared_constant();
            !fold || !is_constant || rewriter.meet_constant(op)
        };
        if self.options.top_down {
            ops.retain(|&op| meet(rewriter, op));
        } else {
            // Which of equal constants stays does not depend on the direction.
            for i in (0..ops.len()).rev() {
                if !meet(rewriter, ops[i]) {
                    ops[i] = Op::NONE;
                }
            }
            ops.retain(|op| *op != Op::NONE);
        }
        // Merging constants alone is no reason for another round.
        self.outcome.changed |= rewriter.changed;
        rewriter.changed = before;
        for &op in ops.iter().chain([&rewriter.root]) {
            for &region in rewriter.module.regions(op) {
                let first = rewriter.module.first_block(region);
                if first.is_some_and(|block| rewriter.module.next_block(block).is_some()) {
                    regions.push(region);
                }
            }
        }
        rewriter.worklist.fill(ops);
        regions
    }

    /// Works until the list is empty. False if the limit of rewrites was reached.
    fn drain(&mut self) -> bool {
        while let Some(op) = self.rewriter.worklist.pop() {
            if self.rewriter.module.parent_block(op).is_none() {
                continue;
            }
            if self.options.limits.rewrites.is_some_and(|limit| self.outcome.rewrites >= limit) {
                return false;
            }
            let facts = self.patterns.facts(self.rewriter.module, op);
            let dead = match facts.dead {
                Dead::Never => false,
                Dead::Unused => !self.rewriter.module.has_used_result(op),
                Dead::Ask => is_trivially_dead(self.rewriter.module, op),
            };
            if dead {
                self.rewriter.erase(op);
                self.outcome.erased += 1;
                continue;
            }
            if self.options.fold
                && facts.constant.is_none()
                && (facts.fold.is_some() || facts.commutative)
                && self.fold(op)
            {
                self.outcome.folds += 1;
                continue;
            }
            for &number in &facts.patterns {
                self.rewriter.insert_before(op);
                let loc = self.rewriter.module.op_loc(op);
                if self.patterns.patterns[number as usize].rewrite(&mut self.rewriter, op) {
                    let fired = &mut self.fired[number as usize];
                    *fired = (fired.0 + 1, loc);
                    self.outcome.rewrites += 1;
                    self.rewriter.changed = true;
                    break;
                }
            }
        }
        true
    }

    fn fold(&mut self, op: Op) -> bool {
        let facts = self.patterns.facts(self.rewriter.module, op);
        let module = &*self.rewriter.module;
        self.constants.clear();
        self.constants.extend(module.operands(op).map(|value| {
            let def = module.defining_op(value)?;
            self.patterns.facts(module, def).constant_value(module, def)
        }));
        let input = FoldInput { module, op, constants: &self.constants };
        let folded = fold_with(&input, facts.fold.as_ref(), facts.commutative);
        let loc = module.op_loc(op);
        let replaced = match folded {
            Folded::No => false,
            Folded::InPlace { operands, slots } => {
                self.rewriter.modify(op, |module| {
                    if let Some(operands) = operands {
                        module.set_operands(op, &operands);
                    }
                    for (slot, attr) in slots {
                        module.set_slot(op, slot, attr);
                    }
                });
                true
            }
            Folded::Result(result) => match self.value_of(op, result, 0) {
                // An operation of a graph may be its own operand.
                Some(value) if self.rewriter.module.defining_op(value) == Some(op) => false,
                Some(value) => {
                    self.rewriter.replace(op, &[value]);
                    true
                }
                None => false,
            },
            Folded::Results(results) => {
                let values: Option<Vec<Value>> = results
                    .into_iter()
                    .enumerate()
                    .map(|(i, result)| self.value_of(op, result, i))
                    .collect();
                values.is_some_and(|values| {
                    self.rewriter.replace(op, &values);
                    true
                })
            }
        };
        if replaced {
            self.last_fold = loc;
        }
        replaced
    }

    fn value_of(&mut self, op: Op, folded: FoldedValue, index: usize) -> Option<Value> {
        match folded {
            FoldedValue::Value(value) => Some(value),
            FoldedValue::Constant(attr) => {
                let ty = self.rewriter.module.ty(self.rewriter.module.result(op, index));
                self.rewriter.insert_before(op);
                self.rewriter.constant(op, attr, ty)
            }
        }
    }

    fn tidy_regions(&mut self, regions: Vec<Region>) {
        if self.options.regions == RegionSimplification::Disabled {
            return;
        }
        // Inner ones first; one whose operation is gone meanwhile has nothing left that would be found.
        for region in regions.into_iter().rev() {
            let module = &*self.rewriter.module;
            let mut around =
                std::iter::successors(module.region_op(region), |op| module.parent_op(*op));
            let alive = around.any(|op| op == self.rewriter.root);
            if !alive {
                continue;
            }
            let lost = unreachable_blocks(self.rewriter.module, region);
            if !lost.is_empty() {
                self.rewriter.erase_blocks(&lost);
            }
            let mut changed = false;
            self.rewriter.change_region_if(|module| {
                if let Some(count) = erase_dead_in_region(module, region) {
                    self.outcome.erased += count as u64;
                    changed = true;
                }
                if self.options.regions == RegionSimplification::Aggressive {
                    changed |= drop_redundant_args(module, region);
                }
                changed
            });
        }
    }

    /// The pattern that fired most in this round.
    fn blame(&self) -> Stuck {
        let most =
            self.fired.iter().enumerate().max_by_key(|(i, (times, _))| (*times, usize::MAX - i));
        match most {
            Some((number, &(times, loc))) if times > 0 => Stuck {
                pattern: Some(self.patterns.patterns[number].name().to_owned()),
                times,
                loc,
            },
            _ => {
                let root = self.rewriter.module.op_loc(self.rewriter.root);
                Stuck { pattern: None, times: 0, loc: self.last_fold.some().unwrap_or(root) }
            }
        }
    }
}
