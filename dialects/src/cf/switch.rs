//! Switches: cases, their operands, and what becomes of them.

use std::ops::Range;

use piper_ir::interfaces::{Branch, constant_of, replace_segment};
use piper_ir::rewrite::{PatternSet, Rewriter};
use piper_ir::{
    Attr, Block, Context, Loc, Module, OPERAND_SEGMENTS, Op, OpState, Type, TypeData, Value,
};

use super::patterns::collapse;
use super::{Switch, branch_to, segments};

/// The values of the cases, in order.
pub(super) fn cases(module: &Module, op: Op) -> Vec<i128> {
    let dense = Switch(op).case_values(module).and_then(|attr| attr.as_dense(module.ctx()));
    dense.and_then(|dense| Some(dense.ints()?.collect())).unwrap_or_default()
}

/// `dense<[...]> : vector<nxT>`; `None` if there is no case or the type is no integer of up to 128 bits.
pub(super) fn case_values(ctx: &Context, flag: Type, values: &[i128]) -> Option<Attr> {
    let is_int = matches!(flag.data(ctx), TypeData::Integer { width: ..=128, .. });
    if values.is_empty() || !is_int {
        return None;
    }
    let ty = ctx.ty(TypeData::Vector {
        shape: Box::new([values.len() as i64]),
        scalable: Box::new([false]),
        element: flag,
    });
    Some(ctx.dense_ints(ty, values))
}

fn case_segments(module: &Module, op: Op) -> Vec<usize> {
    let sizes = Switch(op).case_operand_segments(module).as_int_array(module.ctx()).unwrap_or(&[]);
    sizes.iter().map(|size| usize::try_from(*size).unwrap_or(0)).collect()
}

pub(super) fn operands(module: &Module, op: Op, index: usize) -> Range<usize> {
    let default = segments(module, op)[1];
    if index == 0 {
        return 1..1 + default;
    }
    let sizes = case_segments(module, op);
    let size = |i: usize| sizes.get(i).copied().unwrap_or(0);
    let start = 1 + default + (0..index - 1).map(size).sum::<usize>();
    start..start + size(index - 1)
}

pub(super) fn set_operands(module: &mut Module, op: Op, index: usize, values: &[Value]) {
    let range = operands(module, op, index);
    if index == 0 {
        replace_segment(module, op, range, values, Some((OPERAND_SEGMENTS, 1)));
        return;
    }
    replace_segment(module, op, range, values, Some(("case_operand_segments", index - 1)));
    let ctx = module.ctx_arc();
    let [_, default, _] = segments(module, op).map(|size| size as i64);
    let total: usize = case_segments(module, op).iter().sum();
    module.set_attr_by(op, OPERAND_SEGMENTS, ctx.i32_array_attr(&[1, default, total as i64]));
}

pub(super) fn taken(module: &Module, op: Op, known: &[Option<Attr>]) -> Option<usize> {
    let piper_ir::AttrData::Int { value, .. } = known[0]?.data(module.ctx()) else { return None };
    Some(cases(module, op).iter().position(|case| case == value).map_or(0, |at| at + 1))
}

/// Where a switch goes in one case.
#[derive(Clone, PartialEq)]
struct Target {
    block: Block,
    values: Vec<Value>,
}

fn targets(module: &Module, op: Op) -> Vec<Target> {
    let branch = Branch::of(module, op).expect("a switch is a branch");
    let targets = module.successors(op).iter().enumerate();
    targets.map(|(i, &block)| Target { block, values: branch.values(module, op, i) }).collect()
}

fn state(
    ctx: &Context,
    flag: (Value, Type),
    default: &Target,
    cases: &[(i128, Target)],
    loc: Loc,
) -> OpState {
    let values: Vec<i128> = cases.iter().map(|(value, _)| *value).collect();
    let sizes: Vec<i64> = cases.iter().map(|(_, target)| target.values.len() as i64).collect();
    let groups = [1, default.values.len() as i64, sizes.iter().sum()];
    let mut state = OpState::new(ctx.op_name(Switch::NAME), loc)
        .operands([flag.0])
        .operands(default.values.iter().copied())
        .operands(cases.iter().flat_map(|(_, target)| target.values.iter().copied()))
        .attr_if(ctx, "case_values", case_values(ctx, flag.1, &values))
        .attr(ctx, "case_operand_segments", ctx.i32_array_attr(&sizes))
        .attr(ctx, OPERAND_SEGMENTS, ctx.i32_array_attr(&groups));
    state.successors.push(default.block);
    state.successors.extend(cases.iter().map(|(_, target)| target.block));
    state
}

pub(super) fn patterns(set: &mut PatternSet) {
    set.add_fn("cf-switch-only-default", Switch::NAME, only_default);
    set.add_fn("cf-switch-cases-like-default", Switch::NAME, cases_like_default);
    set.add_fn("cf-switch-constant", Switch::NAME, constant);
    set.add_fn("cf-switch-pass-through", Switch::NAME, pass_through);
    set.add_fn("cf-switch-known-flag", Switch::NAME, known_from_predecessor);
}

/// In a block entered only from a switch on the same flag, what the flag is, or is not, is known.
fn known_from_predecessor(r: &mut Rewriter<'_>, op: Op) -> bool {
    let Some(block) = r.module().parent_block(op) else { return false };
    if r.predecessors(block) != 1 {
        return false;
    }
    let module = r.module();
    let flag = Switch(op).flag(module);
    // The switch that leads here is among the users of the flag; one with very many is not searched for.
    let before = module.uses(flag).take(64).map(|used| used.op).find(|user| {
        *user != op
            && Switch::cast(module, *user).is_some()
            && Switch(*user).flag(module) == flag
            && module.successors(*user).contains(&block)
    });
    let Some(before) = before else { return false };
    let index = module.successors(before).iter().position(|to| *to == block).unwrap_or(0);
    let (own, known) = (cases(module, op), cases(module, before));
    let mut all = targets(module, op);
    if index > 0 {
        let at = own.iter().position(|case| *case == known[index - 1]).map_or(0, |at| at + 1);
        let target = all.swap_remove(at);
        let state = branch_to(r.ctx(), target.block, &target.values, r.module().op_loc(op));
        r.replace_with(op, state);
        return true;
    }
    // The flag is none of the cases that were gone past.
    if own.iter().all(|case| !known.contains(case)) {
        return false;
    }
    let default = all.remove(0);
    let kept: Vec<(i128, Target)> =
        own.into_iter().zip(all).filter(|(case, _)| !known.contains(case)).collect();
    let flag = (flag, r.module().ty(flag));
    let state = state(r.ctx(), flag, &default, &kept, r.module().op_loc(op));
    r.replace_with(op, state);
    true
}

/// A switch without cases is a branch.
fn only_default(r: &mut Rewriter<'_>, op: Op) -> bool {
    if r.module().successors(op).len() != 1 {
        return false;
    }
    let target = targets(r.module(), op).swap_remove(0);
    let state = branch_to(r.ctx(), target.block, &target.values, r.module().op_loc(op));
    r.replace_with(op, state);
    true
}

/// A case that goes where the default goes is none.
fn cases_like_default(r: &mut Rewriter<'_>, op: Op) -> bool {
    let mut all = targets(r.module(), op);
    let default = all.remove(0);
    let values = cases(r.module(), op);
    if values.len() != all.len() || all.iter().all(|target| *target != default) {
        return false;
    }
    let kept: Vec<(i128, Target)> =
        values.into_iter().zip(all).filter(|(_, target)| *target != default).collect();
    let flag = Switch(op).flag(r.module());
    let flag = (flag, r.module().ty(flag));
    let state = state(r.ctx(), flag, &default, &kept, r.module().op_loc(op));
    r.replace_with(op, state);
    true
}

/// A switch on a constant is a branch.
fn constant(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let known = constant_of(module, Switch(op).flag(module));
    let Some(index) = taken(module, op, &[known]) else { return false };
    let target = targets(module, op).swap_remove(index);
    let state = branch_to(r.ctx(), target.block, &target.values, r.module().op_loc(op));
    r.replace_with(op, state);
    true
}

/// A block that only goes on is gone past.
fn pass_through(r: &mut Rewriter<'_>, op: Op) -> bool {
    let mut all = targets(r.module(), op);
    let mut changed = false;
    for target in &mut all {
        if let Some((block, values)) = collapse(r.module(), target.block, &target.values) {
            *target = Target { block, values };
            changed = true;
        }
    }
    if !changed {
        return false;
    }
    let default = all.remove(0);
    let kept: Vec<(i128, Target)> = cases(r.module(), op).into_iter().zip(all).collect();
    let flag = Switch(op).flag(r.module());
    let flag = (flag, r.module().ty(flag));
    let state = state(r.ctx(), flag, &default, &kept, r.module().op_loc(op));
    r.replace_with(op, state);
    true
}
