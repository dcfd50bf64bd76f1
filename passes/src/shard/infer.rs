//! What is divided with a parameter: factors followed through a body, forwards and backwards.

use piper_dialects::func;
use piper_ir::interfaces::Along;
use piper_ir::interfaces::shardable::{Dim, FactorKind, FactorRule, factor_rule};
use piper_ir::{Module, Op, Value};
use rustc_hash::FxHashMap;

/// How the arguments of a function vary, given how some of its arguments and (after these) results do: those that share a factor with a divided value are divided
/// along it, and what nothing says anything about is whole.
///
/// Sums are left to the forward rules ([`along_from`](crate::batching::along_from)), which also find what contradicts itself.
pub(super) fn arguments(module: &Module, func: Op, known: &[Option<Along>]) -> Vec<Along> {
    let Some(body) = module.only_block(func) else { return Vec::new() };
    let args = module.args(body);
    let end = func::Func(func).terminator(module);
    let results = end.into_iter().flat_map(|end| module.operands(end.0));
    let mut along: FxHashMap<Value, Along> = FxHashMap::default();
    for (value, known) in args.iter().copied().chain(results).zip(known) {
        if let Some(known) = known {
            along.insert(value, *known);
        }
    }
    let rules: Vec<(Op, FactorRule)> =
        module.ops(body).filter_map(|op| Some((op, factor_rule(module, op)?))).collect();
    // A body is passed through until nothing new is found, which happens after a few turns: every turn but the last finds a value.
    loop {
        let before = along.len();
        for (op, rule) in rules.iter().chain(rules.iter().rev()) {
            share(module, *op, rule, &mut along);
        }
        if along.len() == before {
            break;
        }
    }
    args.iter().map(|arg| along.get(arg).copied().unwrap_or(Along::Whole)).collect()
}

/// Gives the values of one operation that have the divided factor the dimension in which they have it.
fn share(module: &Module, op: Op, rule: &FactorRule, along: &mut FxHashMap<Value, Along>) {
    let values = || {
        let operands = module.operands(op).zip(&rule.operands);
        operands.chain(module.results(op).zip(&rule.results))
    };
    let factor = |(value, dims): (Value, &Vec<Dim>)| match along.get(&value) {
        Some(Along::Dim(dim)) => dims.get(*dim)?.major(),
        _ => None,
    };
    let Some(divided) = values().find_map(factor) else { return };
    if matches!(rule.factor(divided).kind, FactorKind::Whole(_)) {
        return;
    }
    for (value, dims) in values() {
        if let Some(dim) = FactorRule::dim_of(dims, divided) {
            along.entry(value).or_insert(Along::Dim(dim));
        }
    }
}
