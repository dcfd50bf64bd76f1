//! Patterns, sets of them, and a set made ready for one context.

use std::sync::Arc;

use super::Rewriter;
use crate::interfaces::{Canonicalize, ConstantValue, Fold, Materialize};
use crate::{Context, Module, Op, OpDef, OpName, Trait};

/// A rewrite of one operation.
pub trait Pattern: Send + Sync {
    /// Its name, unique in a set: what `disable-patterns` takes and what a run that does not end is blamed on.
    fn name(&self) -> &str;

    /// The name of the operations it looks at; `None` for all.
    fn root(&self) -> Option<&str>;

    /// Of several that match, the one with the greatest benefit is tried first.
    fn benefit(&self) -> u16 {
        1
    }

    /// Rewrites `op` if it matches. Returns whether it changed anything; if not, it must have changed nothing.
    fn rewrite(&self, rewriter: &mut Rewriter<'_>, op: Op) -> bool;
}

/// A pattern that is a function.
struct FnPattern {
    name: &'static str,
    root: &'static str,
    rewrite: fn(&mut Rewriter<'_>, Op) -> bool,
}

impl Pattern for FnPattern {
    fn name(&self) -> &str {
        self.name
    }

    fn root(&self) -> Option<&str> {
        Some(self.root)
    }

    fn rewrite(&self, rewriter: &mut Rewriter<'_>, op: Op) -> bool {
        (self.rewrite)(rewriter, op)
    }
}

/// A set of patterns. Those of equal benefit are tried in the order they were added.
#[derive(Clone, Default)]
pub struct PatternSet {
    patterns: Vec<Arc<dyn Pattern>>,
}

impl std::fmt::Debug for PatternSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.patterns.iter().map(|pattern| pattern.name())).finish()
    }
}

impl PatternSet {
    /// Adds a pattern.
    pub fn add(&mut self, pattern: impl Pattern + 'static) {
        self.patterns.push(Arc::new(pattern));
    }

    /// Adds a function as a pattern on operations named `root`.
    pub fn add_fn(
        &mut self,
        name: &'static str,
        root: &'static str,
        rewrite: fn(&mut Rewriter<'_>, Op) -> bool,
    ) {
        self.add(FnPattern { name, root, rewrite });
    }

    /// What the operations of all registered dialects give for `canonicalize`.
    pub fn canonicalization(ctx: &Context) -> Self {
        let mut set = Self::default();
        for def in ctx.dialects().iter().flat_map(|dialect| &dialect.ops) {
            if let Some(Canonicalize(add)) = def.interface() {
                add(&mut set);
            }
        }
        set
    }

    /// Keeps the patterns whose name `keep` accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.patterns.retain(|pattern| keep(pattern.name()));
    }

    /// The names of the patterns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.name())
    }

    /// Makes the set ready to be applied to modules of one context, any number of times and in parallel.
    pub fn freeze(self, ctx: &Context) -> FrozenPatterns {
        let mut facts: Vec<OpFacts> = Vec::new();
        let at = |facts: &mut Vec<OpFacts>, name: OpName| {
            if facts.len() <= name.index() {
                facts.resize_with(name.index() + 1, OpFacts::default);
            }
            name.index()
        };
        for (number, dialect) in ctx.dialects().iter().enumerate() {
            for def in &dialect.ops {
                let i = at(&mut facts, ctx.op_name(&def.name));
                facts[i] = OpFacts::of(def, number as u32, dialect.materialize);
            }
        }
        let mut any = Vec::new();
        for (number, pattern) in self.patterns.iter().enumerate() {
            match pattern.root() {
                Some(root) => {
                    let i = at(&mut facts, ctx.op_name(root));
                    facts[i].patterns.push(number as u32);
                }
                None => any.push(number as u32),
            }
        }
        let rank = |number: &u32| {
            let benefit = self.patterns[*number as usize].benefit();
            (std::cmp::Reverse(benefit), *number)
        };
        any.sort_by_key(rank);
        for facts in &mut facts {
            facts.patterns.extend(&any);
            facts.patterns.sort_by_key(rank);
        }
        FrozenPatterns { patterns: self.patterns, facts, unknown: OpFacts::with_patterns(any) }
    }
}

/// A set of patterns made ready for a context, with what the driver asks of operations looked up once.
pub struct FrozenPatterns {
    pub(super) patterns: Vec<Arc<dyn Pattern>>,
    facts: Vec<OpFacts>,
    unknown: OpFacts,
}

impl std::fmt::Debug for FrozenPatterns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.patterns.iter().map(|pattern| pattern.name())).finish()
    }
}

impl FrozenPatterns {
    pub(super) fn facts(&self, module: &Module, op: Op) -> &OpFacts {
        self.facts.get(module.name(op).index()).unwrap_or(&self.unknown)
    }
}

/// When an operation without used results may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Dead {
    #[default]
    Never,
    /// Whenever it is unused.
    Unused,
    /// Its effects decide.
    Ask,
}

/// What the driver wants to know of an operation by its name alone.
#[derive(Clone, Debug, Default)]
pub(super) struct OpFacts {
    pub(super) dead: Dead,
    pub(super) fold: Option<Fold>,
    pub(super) commutative: bool,
    /// A constant of a dialect that can make more: all of equal value and type are one.
    pub(super) constant: Option<ConstantSlot>,
    pub(super) dialect: u32,
    pub(super) materialize: Option<Materialize>,
    /// Numbers of the patterns to try, best first.
    pub(super) patterns: Vec<u32>,
}

/// Where a constant has its value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConstantSlot {
    Slot(usize),
    Ask(ConstantValue),
}

impl OpFacts {
    fn of(def: &OpDef, dialect: u32, materialize: Option<Materialize>) -> Self {
        let never = def.has(Trait::Terminator) || def.has(Trait::Symbol);
        let constant = match def.interface::<ConstantValue>() {
            Some(value) => Some(ConstantSlot::Ask(*value)),
            None => def.attr_slot("value").map(ConstantSlot::Slot),
        };
        Self {
            dead: match (never, def.has(Trait::Pure)) {
                (true, _) => Dead::Never,
                (false, true) => Dead::Unused,
                (false, false) => Dead::Ask,
            },
            fold: def.interface::<Fold>().copied(),
            commutative: def.has(Trait::Commutative),
            constant: constant.filter(|_| def.has(Trait::ConstantLike)),
            dialect,
            materialize,
            patterns: Vec::new(),
        }
    }

    fn with_patterns(patterns: Vec<u32>) -> Self {
        Self { patterns, ..Self::default() }
    }

    /// Whether the constants it stands for may be merged and moved.
    pub(super) fn is_shared_constant(&self) -> bool {
        self.constant.is_some() && self.materialize.is_some()
    }

    pub(super) fn constant_value(&self, module: &Module, op: Op) -> Option<crate::Attr> {
        match self.constant? {
            ConstantSlot::Slot(slot) => module.slot(op, slot),
            ConstantSlot::Ask(ConstantValue(value)) => value(module, op),
        }
    }
}
