//! When two operations are the same, and a hash that agrees.

use std::hash::{Hash, Hasher};

use piper_ir::{Module, Op, Region, Trait, Value};
use rustc_hash::{FxHashMap, FxHasher};

/// What an operation's name says that matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Facts {
    /// It is neither merged nor erased: a terminator, a symbol, or nothing is known of it.
    pub(super) keeps: bool,
    pub(super) is_pure: bool,
    pub(super) commutative: bool,
    /// How many attributes are declared; the others are discardable, in pairs.
    slots: usize,
}

impl Facts {
    fn num_discardable(self, module: &Module, op: Op) -> usize {
        module.attr_words(op).len().saturating_sub(self.slots) / 2
    }
}

/// The facts by name, looked up once each.
#[derive(Default)]
pub(super) struct FactsOf(Vec<Option<Facts>>);

impl FactsOf {
    pub(super) fn get(&mut self, module: &Module, op: Op) -> Facts {
        let at = module.name(op).index();
        if let Some(Some(known)) = self.0.get(at) {
            return *known;
        }
        let facts = match module.def(op) {
            Some(def) => Facts {
                keeps: def.has(Trait::Terminator) || def.has(Trait::Symbol),
                is_pure: def.has(Trait::Pure) && def.regions.is_empty(),
                commutative: def.has(Trait::Commutative),
                slots: def.attrs.len(),
            },
            None => Facts { keeps: true, is_pure: false, commutative: false, slots: 0 },
        };
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(facts);
        facts
    }
}

/// The operands in an order of their own.
fn sorted(module: &Module, op: Op) -> Vec<Value> {
    let mut operands: Vec<Value> = module.operands(op).collect();
    operands.sort_unstable();
    operands
}

/// Equal for operations that [`same`] takes for equal.
pub(super) fn hash(module: &Module, op: Op, facts: Facts) -> u64 {
    let mut state = FxHasher::default();
    module.name(op).hash(&mut state);
    let count = module.num_operands(op);
    if facts.commutative && count == 2 {
        let (a, b) = (module.operand(op, 0), module.operand(op, 1));
        (a.min(b), a.max(b)).hash(&mut state);
    } else if facts.commutative {
        sorted(module, op).hash(&mut state);
    } else {
        module.operands(op).for_each(|value| value.hash(&mut state));
    }
    module.results(op).for_each(|value| module.ty(value).hash(&mut state));
    // The order of discardable attributes means nothing.
    if facts.num_discardable(module, op) <= 1 {
        module.attr_words(op).hash(&mut state);
    } else {
        let mut sum = 0u64;
        for (name, attr) in module.discardable(op) {
            let mut one = FxHasher::default();
            (name, attr).hash(&mut one);
            sum = sum.wrapping_add(one.finish());
        }
        sum.hash(&mut state);
    }
    state.finish()
}

/// Whether two operations of one name have the same attributes.
fn same_attrs(module: &Module, a: Op, b: Op) -> bool {
    let (left, right) = (module.attr_words(a), module.attr_words(b));
    if left == right {
        return true;
    }
    let declared = module.def(a).map_or(0, |def| def.attrs.len());
    // With two or more discardable ones the order may differ.
    left.len() == right.len()
        && left.len() >= declared + 4
        && left[..declared] == right[..declared]
        && module.discardable(a).all(|(name, attr)| module.attr(b, name) == Some(attr))
}

/// Whether two operations of the same place give the same results.
pub(super) fn same(module: &Module, a: Op, b: Op, facts: Facts) -> bool {
    if module.name(a) != module.name(b) || module.num_operands(a) != module.num_operands(b) {
        return false;
    }
    let same_operands = module.operands(a).eq(module.operands(b))
        || facts.commutative
            && match module.num_operands(a) {
                2 => module.operands(a).eq(module.operands(b).rev()),
                _ => sorted(module, a) == sorted(module, b),
            };
    same_operands
        && module.num_results(a) == module.num_results(b)
        && module.results(a).zip(module.results(b)).all(|(x, y)| module.ty(x) == module.ty(y))
        && same_attrs(module, a, b)
        && same_regions(module, a, b, &mut FxHashMap::default())
}

/// Whether the regions of two operations are the same but for the values defined in them.
fn same_regions(module: &Module, a: Op, b: Op, map: &mut FxHashMap<Value, Value>) -> bool {
    let (left, right) = (module.regions(a), module.regions(b));
    left.len() == right.len()
        && left.iter().zip(right).all(|(&a, &b)| {
            stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || same_region(module, a, b, map))
        })
}

fn same_region(module: &Module, a: Region, b: Region, map: &mut FxHashMap<Value, Value>) -> bool {
    let (mut left, mut right) = (module.blocks(a), module.blocks(b));
    loop {
        let (x, y) = match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) => (x, y),
            _ => return false,
        };
        let (xs, ys) = (module.args(x), module.args(y));
        if xs.len() != ys.len() || xs.iter().zip(ys).any(|(x, y)| module.ty(*x) != module.ty(*y)) {
            return false;
        }
        map.extend(xs.iter().copied().zip(ys.iter().copied()));
        let (mut xs, mut ys) = (module.ops(x), module.ops(y));
        loop {
            let (x, y) = match (xs.next(), ys.next()) {
                (None, None) => break,
                (Some(x), Some(y)) => (x, y),
                _ => return false,
            };
            let same = module.name(x) == module.name(y)
                && module.num_operands(x) == module.num_operands(y)
                && module
                    .operands(x)
                    .zip(module.operands(y))
                    .all(|(x, y)| map.get(&x).copied().unwrap_or(x) == y)
                && module.num_results(x) == module.num_results(y)
                && module
                    .results(x)
                    .zip(module.results(y))
                    .all(|(x, y)| module.ty(x) == module.ty(y))
                && module.successors(x).is_empty()
                && module.successors(y).is_empty()
                && same_attrs(module, x, y)
                && same_regions(module, x, y, map);
            if !same {
                return false;
            }
            map.extend(module.results(x).zip(module.results(y)));
        }
    }
}
