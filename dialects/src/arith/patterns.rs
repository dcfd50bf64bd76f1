//! Canonical forms of `arith` operations that take more than one operation to see.
//!
//! Constants of two additions become one; extensions move outwards; negations of conditions vanish. Flags are kept only
//! where they still hold.

use piper_ir::rewrite::{PatternSet, Rewriter};
use piper_ir::{Module, Op, OpState, Type, Value};

use super::cast::{Bitcast, ExtSI, ExtUI, IndexCast, IndexCastUI, TruncI};
use super::chains::{ADD_CHAINS, MUL_CHAINS, SUB_CHAINS, chain};
use super::compare::{CmpI, INT_PREDICATES, Select};
use super::flags::{OVERFLOW, overflow};
use super::float::{DivF, MulF, NegF};
use super::integer::{
    AddI, AddUIExtended, AndI, MulI, MulSIExtended, MulUIExtended, OrI, ShRSI, ShRUI, SubI, XOrI,
};
use super::numbers::{Int, int_attr, int_splat};
use super::types::{bits, element, int_bits};

/// The operation of this name that defines a value.
pub(super) fn def(module: &Module, value: Value, name: &str) -> Option<Op> {
    module.defining_op(value).filter(|op| module.name_text(*op) == name)
}

pub(super) fn operands(module: &Module, op: Op) -> (Value, Value) {
    (module.operand(op, 0), module.operand(op, 1))
}

pub(super) fn ty(module: &Module, op: Op) -> Type {
    module.ty(module.result(op, 0))
}

fn splat(r: &Rewriter<'_>, value: Value) -> Option<Int> {
    int_splat(r.ctx(), r.known(value)?)
}

/// Replaces an operation by another with one result of type `ty`.
fn become_op(r: &mut Rewriter<'_>, op: Op, name: &str, operands: &[Value], ty: Type) -> bool {
    become_flagged(r, op, name, operands, ty, 0)
}

pub(super) fn become_flagged(
    r: &mut Rewriter<'_>,
    op: Op,
    name: &str,
    operands: &[Value],
    ty: Type,
    flags: i64,
) -> bool {
    let state: OpState = r
        .state(name, r.module().op_loc(op))
        .operands(operands.iter().copied())
        .results([ty])
        .attr_if(r.ctx(), "overflowFlags", OVERFLOW.attr_if(r.ctx(), flags));
    r.replace_with(op, state);
    true
}

pub(super) fn addi(set: &mut PatternSet) {
    set.add_fn("arith-add-constants", AddI::NAME, |r, op| chain(r, op, ADD_CHAINS));
    set.add_fn("arith-add-negative", AddI::NAME, |r, op| {
        let module = r.module();
        let (a, b) = operands(module, op);
        // a + b (-1) = a - b
        for (negated, other) in [(b, a), (a, b)] {
            let Some(product) = def(module, negated, MulI::NAME) else { continue };
            let (x, factor) = operands(module, product);
            if splat(r, factor).is_some_and(Int::is_all_ones) {
                let ty = ty(module, op);
                return become_op(r, op, SubI::NAME, &[other, x], ty);
            }
        }
        false
    });
}

pub(super) fn subi(set: &mut PatternSet) {
    set.add_fn("arith-sub-constants", SubI::NAME, |r, op| chain(r, op, SUB_CHAINS));
    set.add_fn("arith-sub-of-difference", SubI::NAME, |r, op| {
        // (a - b) - a = 0 - b
        let module = r.module();
        let (difference, a) = operands(module, op);
        let Some(inner) = def(module, difference, SubI::NAME) else { return false };
        let (x, b) = operands(module, inner);
        // Neither wraps, so this, the exact difference, does not.
        let flags = overflow(module, op) & overflow(module, inner);
        let ty = ty(module, op);
        let Some(zero) = int_attr(module.ctx(), ty, 0).filter(|_| x == a) else { return false };
        let Some(zero) = r.constant(op, zero, ty) else { return false };
        become_flagged(r, op, SubI::NAME, &[zero, b], ty, flags)
    });
}

pub(super) fn muli(set: &mut PatternSet) {
    set.add_fn("arith-mul-constants", MulI::NAME, |r, op| chain(r, op, MUL_CHAINS));
}

/// Of an operation with two results the second of which nobody uses, what the first is.
fn first_only(r: &mut Rewriter<'_>, op: Op, name: &str) -> bool {
    let module = r.module();
    let (first, second) = (module.result(op, 0), module.result(op, 1));
    if module.is_used(second) {
        return false;
    }
    let (ty, (a, b)) = (module.ty(first), operands(module, op));
    let state = r.state(name, module.op_loc(op)).operands([a, b]).results([ty]);
    r.insert_before(op);
    let value = r.value(state);
    r.replace_uses(first, value);
    r.erase(op);
    true
}

pub(super) fn addui_extended(set: &mut PatternSet) {
    set.add_fn("arith-extended-add-first-only", AddUIExtended::NAME, |r, op| {
        first_only(r, op, AddI::NAME)
    });
}

pub(super) fn mulsi_extended(set: &mut PatternSet) {
    set.add_fn("arith-extended-mul-first-only", MulSIExtended::NAME, |r, op| {
        first_only(r, op, MulI::NAME)
    });
    set.add_fn("arith-extended-mul-by-one", MulSIExtended::NAME, |r, op| {
        // The high half of x is its sign.
        let module = r.module();
        let (x, one) = operands(module, op);
        if !splat(r, one).is_some_and(|int| int.width > 1 && int.is_one()) {
            return false;
        }
        let (ty, loc) = (module.ty(x), module.op_loc(op));
        let bit = super::types::with_element(module.ctx(), ty, module.ctx().i1());
        let Some(zero) = int_attr(module.ctx(), ty, 0) else { return false };
        let Some(zero) = r.constant(op, zero, ty) else { return false };
        let slt = INT_PREDICATES.iter().position(|case| *case == "slt").unwrap_or(0);
        let predicate = r.ctx().int_attr(slt as i64);
        let state = r.state(CmpI::NAME, loc).operands([x, zero]).results([bit]);
        let state = state.attr(r.ctx(), "predicate", predicate);
        let negative = r.value(state);
        let state = r.state(ExtSI::NAME, loc).operands([negative]).results([ty]);
        let high = r.value(state);
        r.replace(op, &[x, high]);
        true
    });
}

pub(super) fn mului_extended(set: &mut PatternSet) {
    set.add_fn("arith-extended-mul-unsigned-first-only", MulUIExtended::NAME, |r, op| {
        first_only(r, op, MulI::NAME)
    });
}

/// An operation on the bits of two extended values is done before they are extended.
fn of_extensions(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let (a, b) = operands(module, op);
    for name in [ExtUI::NAME, ExtSI::NAME] {
        let (Some(x), Some(y)) = (def(module, a, name), def(module, b, name)) else { continue };
        let (x, y) = (module.operand(x, 0), module.operand(y, 0));
        let from = module.ty(x);
        if from != module.ty(y) {
            continue;
        }
        let (to, own) = (ty(module, op), module.name(op));
        let state = OpState::new(own, module.op_loc(op)).operands([x, y]).results([from]);
        r.insert_before(op);
        let narrow = r.value(state);
        return become_op(r, op, name, &[narrow], to);
    }
    false
}

pub(super) fn andi(set: &mut PatternSet) {
    set.add_fn("arith-and-of-extensions", AndI::NAME, of_extensions);
}

pub(super) fn ori(set: &mut PatternSet) {
    set.add_fn("arith-or-of-extensions", OrI::NAME, of_extensions);
}

pub(super) fn xori(set: &mut PatternSet) {
    set.add_fn("arith-not-of-compare", XOrI::NAME, |r, op| {
        let module = r.module();
        let (compared, one) = operands(module, op);
        let Some(compare) = def(module, compared, CmpI::NAME) else { return false };
        if !splat(r, one).is_some_and(|int| int.width == 1 && int.is_one()) {
            return false;
        }
        let number = module.slot(compare, 0).and_then(|number| number.as_int(module.ctx()));
        let Some(word) = number.and_then(|n| INT_PREDICATES.get(usize::try_from(n).ok()?)) else {
            return false;
        };
        let inverse = match *word {
            "eq" => "ne",
            "ne" => "eq",
            "slt" => "sge",
            "sle" => "sgt",
            "sgt" => "sle",
            "sge" => "slt",
            "ult" => "uge",
            "ule" => "ugt",
            "ugt" => "ule",
            _ => "ult",
        };
        let (a, b) = operands(module, compare);
        let result = ty(module, op);
        let number = INT_PREDICATES.iter().position(|case| *case == inverse).unwrap_or(0);
        let state = r.state(CmpI::NAME, module.op_loc(op)).operands([a, b]).results([result]).attr(
            r.ctx(),
            "predicate",
            r.ctx().int_attr(number as i64),
        );
        r.replace_with(op, state);
        true
    });
    set.add_fn("arith-xor-of-extensions", XOrI::NAME, of_extensions);
}

/// Two signs that cancel: `-a * -b`.
fn of_negations(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let (a, b) = operands(module, op);
    let (Some(x), Some(y)) = (def(module, a, NegF::NAME), def(module, b, NegF::NAME)) else {
        return false;
    };
    let operands = [module.operand(x, 0), module.operand(y, 0)];
    r.modify(op, |module| module.set_operands(op, &operands));
    true
}

pub(super) fn mulf(set: &mut PatternSet) {
    set.add_fn("arith-mul-of-negations", MulF::NAME, of_negations);
}

pub(super) fn divf(set: &mut PatternSet) {
    set.add_fn("arith-div-of-negations", DivF::NAME, of_negations);
}

pub(super) fn extsi(set: &mut PatternSet) {
    set.add_fn("arith-sign-of-unsigned", ExtSI::NAME, |r, op| {
        // What was extended with zeros is not negative.
        let module = r.module();
        let Some(inner) = def(module, module.operand(op, 0), ExtUI::NAME) else { return false };
        let (value, to) = (module.operand(inner, 0), ty(module, op));
        become_op(r, op, ExtUI::NAME, &[value], to)
    });
}

pub(super) fn trunci(set: &mut PatternSet) {
    set.add_fn("arith-truncate-extension", TruncI::NAME, |r, op| {
        let module = r.module();
        let to = ty(module, op);
        for name in [ExtSI::NAME, ExtUI::NAME] {
            let Some(inner) = def(module, module.operand(op, 0), name) else { continue };
            let value = module.operand(inner, 0);
            if bits(module.ctx(), to) > bits(module.ctx(), module.ty(value)) {
                return become_op(r, op, name, &[value], to);
            }
        }
        false
    });
    set.add_fn("arith-truncate-shift", TruncI::NAME, |r, op| {
        // Of the high bits alone it does not matter what came in above them.
        let module = r.module();
        let (shifted, to) = (module.operand(op, 0), ty(module, op));
        let Some(shift) = def(module, shifted, ShRSI::NAME) else { return false };
        let (value, by) = operands(module, shift);
        let ctx = module.ctx();
        let (Some(from), Some(kept)) = (int_bits(ctx, module.ty(value)), int_bits(ctx, to)) else {
            return false;
        };
        if splat(r, by).is_none_or(|by| by.unsigned() != u128::from(from - kept)) {
            return false;
        }
        let ty = module.ty(value);
        let state = r.state(ShRUI::NAME, module.op_loc(op)).operands([value, by]).results([ty]);
        r.insert_before(op);
        let moved = r.value(state);
        become_op(r, op, TruncI::NAME, &[moved], to)
    });
}

/// There and back: `index_cast(index_cast(x))` of a type that `index` and the type between hold.
fn index_round_trip(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let name = module.name_text(op).to_owned();
    let Some(inner) = def(module, module.operand(op, 0), &name) else { return false };
    let value = module.operand(inner, 0);
    let ctx = module.ctx();
    let width = |ty| int_bits(ctx, ty).unwrap_or(0);
    let between = width(module.ty(module.operand(op, 0)));
    if module.ty(value) != ty(module, op) || between < width(module.ty(value)) {
        return false;
    }
    r.replace(op, &[value]);
    true
}

/// An extension before a cast to `index` is part of the cast.
fn index_of_extension(r: &mut Rewriter<'_>, op: Op, extension: &str) -> bool {
    let module = r.module();
    let to = ty(module, op);
    let Some(inner) = def(module, module.operand(op, 0), extension) else { return false };
    if element(module.ctx(), to) != module.ctx().index()
        || int_bits(module.ctx(), module.ty(module.operand(op, 0))).is_none_or(|width| width > 64)
    {
        return false;
    }
    let (value, name) = (module.operand(inner, 0), module.name_text(op).to_owned());
    become_op(r, op, &name, &[value], to)
}

pub(super) fn index_cast(set: &mut PatternSet) {
    set.add_fn("arith-index-cast-round-trip", IndexCast::NAME, index_round_trip);
    set.add_fn("arith-index-cast-of-extension", IndexCast::NAME, |r, op| {
        index_of_extension(r, op, ExtSI::NAME)
    });
}

pub(super) fn index_castui(set: &mut PatternSet) {
    set.add_fn("arith-index-castui-round-trip", IndexCastUI::NAME, index_round_trip);
    set.add_fn("arith-index-castui-of-extension", IndexCastUI::NAME, |r, op| {
        index_of_extension(r, op, ExtUI::NAME)
    });
}

pub(super) fn bitcast(set: &mut PatternSet) {
    set.add_fn("arith-bitcast-of-bitcast", Bitcast::NAME, |r, op| {
        let module = r.module();
        let Some(inner) = def(module, module.operand(op, 0), Bitcast::NAME) else { return false };
        let (value, to) = (module.operand(inner, 0), ty(module, op));
        if module.ty(value) == to {
            r.replace(op, &[value]);
            return true;
        }
        become_op(r, op, Bitcast::NAME, &[value], to)
    });
}

pub(super) fn cmpi(set: &mut PatternSet) {
    set.add_fn("arith-compare-extensions", CmpI::NAME, |r, op| {
        let module = r.module();
        let (a, b) = operands(module, op);
        let number = module.slot(op, 0).and_then(|number| number.as_int(module.ctx())).unwrap_or(0);
        if number > 1 {
            return false;
        }
        // Equal if and only if they were before.
        for name in [ExtSI::NAME, ExtUI::NAME] {
            let (Some(x), Some(y)) = (def(module, a, name), def(module, b, name)) else { continue };
            let values = [module.operand(x, 0), module.operand(y, 0)];
            if module.ty(values[0]) == module.ty(values[1]) {
                r.modify(op, |module| module.set_operands(op, &values));
                return true;
            }
        }
        false
    });
}

/// `p` of `p ^ true`.
fn negated(r: &Rewriter<'_>, value: Value) -> Option<Value> {
    let module = r.module();
    let xor = def(module, value, XOrI::NAME)?;
    let (p, one) = operands(module, xor);
    splat(r, one).is_some_and(|int| int.width == 1 && int.is_one()).then_some(p)
}

/// Replaces the operands of a choice.
fn choose(r: &mut Rewriter<'_>, op: Op, operands: [Value; 3]) -> bool {
    r.modify(op, |module| module.set_operands(op, &operands));
    true
}

pub(super) fn select(set: &mut PatternSet) {
    set.add_fn("arith-select-same-condition", Select::NAME, |r, op| {
        let module = r.module();
        let [p, a, b] = [0, 1, 2].map(|i| module.operand(op, i));
        for (index, inner) in [(1, a), (2, b)] {
            let Some(inner) = def(module, inner, Select::NAME) else { continue };
            if module.operand(inner, 0) == p {
                let value = module.operand(inner, index);
                let chosen = if index == 1 { [p, value, b] } else { [p, a, value] };
                return choose(r, op, chosen);
            }
        }
        false
    });
    set.add_fn("arith-select-not", Select::NAME, |r, op| {
        let module = r.module();
        let [c, a, b] = [0, 1, 2].map(|i| module.operand(op, i));
        let Some(p) = negated(r, c) else { return false };
        choose(r, op, [p, b, a])
    });
    set.add_fn("arith-select-bits", Select::NAME, select_bits);
}

/// Choosing between 0 and 1 is converting the condition.
fn select_bits(r: &mut Rewriter<'_>, op: Op) -> bool {
    let module = r.module();
    let [c, a, b] = [0, 1, 2].map(|i| module.operand(op, i));
    let (to, condition) = (ty(module, op), module.ty(c));
    let (Some(a), Some(b)) = (splat(r, a), splat(r, b)) else { return false };
    if !super::types::same_shape(module.ctx(), condition, to) {
        return false;
    }
    if element(module.ctx(), to) == module.ctx().index() {
        return false;
    }
    if a.width == 1 && a.is_zero() && b.is_one() {
        let one = int_attr(module.ctx(), condition, 1);
        let Some(one) = one.and_then(|one| r.constant(op, one, condition)) else { return false };
        return become_op(r, op, XOrI::NAME, &[c, one], to);
    }
    if a.width > 1 && a.is_one() && b.is_zero() {
        return become_op(r, op, ExtUI::NAME, &[c], to);
    }
    if a.width > 1 && a.is_zero() && b.is_one() {
        let one = int_attr(module.ctx(), condition, 1);
        let Some(one) = one.and_then(|one| r.constant(op, one, condition)) else { return false };
        let loc = r.module().op_loc(op);
        let state = r.state(XOrI::NAME, loc).operands([c, one]).results([condition]);
        let not = r.value(state);
        return become_op(r, op, ExtUI::NAME, &[not], to);
    }
    false
}
