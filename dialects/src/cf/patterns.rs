//! Canonical forms of branches.

use piper_ir::interfaces::{Branch, constant_of};
use piper_ir::rewrite::{PatternSet, Rewriter};
use piper_ir::{Block, Module, Op, OpState, Value};
use rustc_hash::FxHashSet;

use super::{Assert, Br, CondBr, branch_to, cond_branch};
use crate::arith;

pub(super) fn of_br(set: &mut PatternSet) {
    set.add_fn("cf-br-single-predecessor", Br::NAME, single_predecessor);
    set.add_fn("cf-br-pass-through", Br::NAME, br_pass_through);
}

pub(super) fn of_cond_br(set: &mut PatternSet) {
    set.add_fn("cf-cond-br-constant", CondBr::NAME, constant_condition);
    set.add_fn("cf-cond-br-pass-through", CondBr::NAME, cond_br_pass_through);
    set.add_fn("cf-cond-br-same-destination", CondBr::NAME, same_destination);
    set.add_fn("cf-cond-br-known-condition", CondBr::NAME, known_from_predecessor);
    set.add_fn("cf-cond-br-truth", CondBr::NAME, truth_in_successors);
}

pub(super) fn of_assert(set: &mut PatternSet) {
    set.add_fn("cf-assert-true", Assert::NAME, |r, op| {
        let module = r.module();
        let holds =
            constant_of(module, Assert(op).arg(module)).and_then(|c| c.as_int(module.ctx()));
        if holds != Some(1) {
            return false;
        }
        r.erase(op);
        true
    });
}

/// What is passed to successor number `index`.
fn passed(module: &Module, op: Op, index: usize) -> Vec<Value> {
    Branch::of(module, op).expect("a branch").values(module, op, index)
}

/// A block that is entered from one branch alone continues the block of the branch.
fn single_predecessor(r: &mut Rewriter<'_>, op: Op) -> bool {
    let block = r.module().successors(op)[0];
    let own = r.module().parent_block(op);
    let region = r.module().block_region(block);
    if own == Some(block)
        || r.module().first_block(region) == Some(block)
        || r.predecessors(block) != 1
    {
        return false;
    }
    r.merge_into_predecessor(op, block);
    true
}

/// Where a branch to a block that only goes on leads, and with what; `None` if the block does more, or goes in a circle.
pub(super) fn collapse(
    module: &Module,
    block: Block,
    values: &[Value],
) -> Option<(Block, Vec<Value>)> {
    let only = module.first_op(block)?;
    if module.next_op(only).is_some() || Br::cast(module, only).is_none() {
        return None;
    }
    let args = module.args(block);
    if args.iter().any(|arg| module.uses(*arg).any(|used| used.op != only)) {
        return None;
    }
    let dest = module.successors(only)[0];
    // Blocks that chase each other stay as they are.
    let (mut at, mut visited) = (dest, FxHashSet::from_iter([block]));
    loop {
        if !visited.insert(at) {
            return None;
        }
        match module.last_op(at) {
            Some(end) if Br::cast(module, end).is_some() => at = module.successors(end)[0],
            _ => break,
        }
    }
    let through = module.operands(only).map(|value| {
        let index = args.iter().position(|arg| *arg == value);
        index.map_or(value, |index| values[index])
    });
    Some((dest, through.collect()))
}

fn br_pass_through(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let values = passed(module, op, 0);
    let Some((block, values)) = collapse(module, module.successors(op)[0], &values) else {
        return false;
    };
    let state = branch_to(r.ctx(), block, &values, module.op_loc(op));
    r.replace_with(op, state);
    true
}

/// The state of a branch to one of the successors.
fn branch_to_successor(module: &Module, op: Op, index: usize) -> OpState {
    let values = passed(module, op, index);
    branch_to(module.ctx(), module.successors(op)[index], &values, module.op_loc(op))
}

fn constant_condition(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let known = constant_of(module, CondBr(op).condition(module));
    let Some(holds) = known.and_then(|attr| attr.as_int(module.ctx())) else { return false };
    let state = branch_to_successor(module, op, usize::from(holds == 0));
    r.replace_with(op, state);
    true
}

fn cond_br_pass_through(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let mut changed = false;
    let mut target = |index: usize| {
        let (block, values) = (module.successors(op)[index], passed(module, op, index));
        match collapse(module, block, &values) {
            Some(through) => {
                changed = true;
                through
            }
            None => (block, values),
        }
    };
    let (then, otherwise) = (target(0), target(1));
    if !changed {
        return false;
    }
    let condition = CondBr(op).condition(module);
    let weights = CondBr(op).branch_weights(module);
    let (then, otherwise) = ((then.0, &then.1[..]), (otherwise.0, &otherwise.1[..]));
    let state = cond_branch(r.ctx(), condition, then, otherwise, module.op_loc(op));
    let state = state.attr_if(r.ctx(), "branch_weights", weights);
    r.replace_with(op, state);
    true
}

/// Two ways to one block are one, with the values chosen before.
fn same_destination(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let (then, otherwise) = (module.successors(op)[0], module.successors(op)[1]);
    if then != otherwise {
        return false;
    }
    let pairs: Vec<(Value, Value)> =
        passed(module, op, 0).into_iter().zip(passed(module, op, 1)).collect();
    let (condition, loc) = (CondBr(op).condition(module), module.op_loc(op));
    let alone = module.args(then).len();
    debug_assert_eq!(alone, pairs.len());
    // Choosing values costs operations, which is worth it only where the block has no other way in.
    if pairs.iter().any(|(a, b)| a != b) && r.predecessors(then) != 2 {
        return false;
    }
    let values: Vec<Value> = pairs
        .into_iter()
        .map(|(a, b)| {
            if a == b {
                return a;
            }
            let ty = r.module().ty(a);
            let state = r.state(arith::Select::NAME, loc).operands([condition, a, b]).results([ty]);
            r.value(state)
        })
        .collect();
    let state = branch_to(r.ctx(), then, &values, loc);
    r.replace_with(op, state);
    true
}

/// In a block entered only from a branch on the same condition, it is known.
fn known_from_predecessor(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let Some(block) = module.parent_block(op) else { return false };
    if r.predecessors(block) != 1 {
        return false;
    }
    let module = r.module();
    let condition = CondBr(op).condition(module);
    let region = module.block_region(block);
    // The branch that leads here is among the users of the condition; one with very many is not searched for.
    let before = module.uses(condition).take(64).map(|used| used.op).find(|user| {
        CondBr::cast(module, *user).is_some()
            && *user != op
            && CondBr(*user).condition(module) == condition
            && module.parent_block(*user).is_some_and(|b| module.block_region(b) == region)
            && module.successors(*user).contains(&block)
    });
    let Some(before) = before else { return false };
    let index = module.successors(before).iter().position(|to| *to == block).unwrap_or(0);
    let state = branch_to_successor(module, op, index);
    r.replace_with(op, state);
    true
}

/// Where a branch leads if its condition holds, the condition holds.
fn truth_in_successors(r: &mut Rewriter<'_>, op: Op) -> bool {
    let condition = CondBr(op).condition(r.module());
    if constant_of(r.module(), condition).is_some() {
        return false;
    }
    let mut changed = false;
    for index in 0..2 {
        let block = r.module().successors(op)[index];
        if r.module().successors(op)[0] == r.module().successors(op)[1] {
            return false;
        }
        let module = r.module();
        let uses: Vec<_> = module
            .uses(condition)
            .filter(|used| module.parent_block(used.op) == Some(block))
            .collect();
        if uses.is_empty() || r.predecessors(block) != 1 {
            continue;
        }
        let i1 = r.ctx().i1();
        let value = r.ctx().bool_attr(index == 0);
        let state = arith::constant_state(r.ctx(), value, i1, r.module().op_loc(op));
        let known = r.value(state);
        for used in uses {
            r.modify(used.op, |module| module.set_operand(used.op, used.index, known));
        }
        changed = true;
    }
    changed
}
