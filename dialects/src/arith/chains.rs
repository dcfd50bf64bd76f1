//! Constants of two integer operations in one: `(x + 2) + 3` is `x + 5`.
//!
//! The tables say which pairs there are; one function applies them. The delicate part is what becomes of `nsw` and `nuw`:
//! `(x + 100) + 100` without signed overflow says nothing of `x + 200` in eight bits.

use piper_ir::rewrite::Rewriter;
use piper_ir::{Attr, Module, Op, Type};

use super::flags::{NSW, NUW, overflow};
use super::integer::{AddI, MulI, SubI};
use super::numbers::{Int, map_ints};
use super::patterns::{become_flagged, def, operands, ty};

#[derive(Clone, Copy)]
enum Combine {
    Add,
    Sub,
    Mul,
}

/// Two constants in one, with those of the flags that stay true. `nsw` does if the combined constant has not itself
/// wrapped; `nuw` then, too, and where a constant that wraps means that the original wrapped for every value (`must_fit`
/// false).
fn combine(
    module: &Module,
    how: Combine,
    a: Attr,
    b: Attr,
    ty: Type,
    mut flags: i64,
    must_fit: bool,
) -> Option<(Attr, i64)> {
    let ctx = module.ctx();
    let wrapped = |a: Int, b: Int| match how {
        Combine::Add => a.signed().wrapping_add(b.signed()),
        Combine::Sub => a.signed().wrapping_sub(b.signed()),
        Combine::Mul => a.signed().wrapping_mul(b.signed()),
    };
    let exact = |a: i128, b: i128| match how {
        Combine::Add => a.checked_add(b),
        Combine::Sub => a.checked_sub(b),
        Combine::Mul => a.checked_mul(b),
    };
    let signed = |a: Int, b: Int| {
        let value = exact(a.signed(), b.signed())?;
        (value >= a.min_signed() && value <= !a.min_signed()).then_some(value)
    };
    let unsigned = |a: Int, b: Int| {
        let (x, y) = (i128::try_from(a.unsigned()).ok()?, i128::try_from(b.unsigned()).ok()?);
        exact(x, y).filter(|value| u128::try_from(*value).is_ok_and(|value| value <= a.mask()))
    };
    let (x, y) = (Some(a), Some(b));
    if map_ints(ctx, x, y, ty, signed).is_none() {
        flags &= !NSW;
    }
    if must_fit && map_ints(ctx, x, y, ty, unsigned).is_none() {
        flags &= !NUW;
    }
    Some((map_ints(ctx, x, y, ty, |a, b| Some(wrapped(a, b)))?, flags))
}

/// How a constant in the inner operation and one in the outer one become one.
pub(super) struct Chain {
    inner: &'static str,
    /// Whether the inner constant is the left operand.
    inner_left: bool,
    /// Whether the outer constant is the left operand.
    outer_left: bool,
    how: Combine,
    /// The outer constant comes first.
    outer_first: bool,
    result: &'static str,
    result_left: bool,
}

pub(super) fn chain(r: &mut Rewriter<'_>, op: Op, chains: &[Chain]) -> bool {
    let (lhs, rhs) = operands(r.module(), op);
    let known = (r.known(lhs), r.known(rhs));
    if known == (None, None) {
        return false;
    }
    for chain in chains {
        let module = r.module();
        let (outer, inner) = if chain.outer_left { (known.0, rhs) } else { (known.1, lhs) };
        let Some(c1) = outer else { continue };
        let Some(inner_op) = def(module, inner, chain.inner) else { continue };
        let (a, b) = operands(module, inner_op);
        let (constant, x) = if chain.inner_left { (a, b) } else { (b, a) };
        let Some(c0) = r.known(constant) else { continue };
        let flags = overflow(module, op) & overflow(module, inner_op);
        let ty = ty(module, op);
        let (first, second) = if chain.outer_first { (c1, c0) } else { (c0, c1) };
        // `c1 - c0` added to x, and `c0 + c1` from which x is taken, may wrap though nothing did before.
        let must_fit = match chain.how {
            Combine::Add => chain.result_left,
            Combine::Sub => !chain.result_left,
            Combine::Mul => false,
        };
        let combined = combine(module, chain.how, first, second, ty, flags, must_fit);
        let Some((sum, flags)) = combined else { continue };
        let Some(sum) = r.constant(op, sum, ty) else { continue };
        let operands = if chain.result_left { [sum, x] } else { [x, sum] };
        return become_flagged(r, op, chain.result, &operands, ty, flags);
    }
    false
}

pub(super) const ADD_CHAINS: &[Chain] = &[
    // (x + c0) + c1 = x + (c0 + c1)
    Chain {
        inner: AddI::NAME,
        inner_left: false,
        outer_left: false,
        how: Combine::Add,
        outer_first: false,
        result: AddI::NAME,
        result_left: false,
    },
    // (x - c0) + c1 = x + (c1 - c0)
    Chain {
        inner: SubI::NAME,
        inner_left: false,
        outer_left: false,
        how: Combine::Sub,
        outer_first: true,
        result: AddI::NAME,
        result_left: false,
    },
    // (c0 - x) + c1 = (c0 + c1) - x
    Chain {
        inner: SubI::NAME,
        inner_left: true,
        outer_left: false,
        how: Combine::Add,
        outer_first: false,
        result: SubI::NAME,
        result_left: true,
    },
];

pub(super) const SUB_CHAINS: &[Chain] = &[
    // (x + c0) - c1 = x + (c0 - c1)
    Chain {
        inner: AddI::NAME,
        inner_left: false,
        outer_left: false,
        how: Combine::Sub,
        outer_first: false,
        result: AddI::NAME,
        result_left: false,
    },
    // c1 - (x + c0) = (c1 - c0) - x
    Chain {
        inner: AddI::NAME,
        inner_left: false,
        outer_left: true,
        how: Combine::Sub,
        outer_first: true,
        result: SubI::NAME,
        result_left: true,
    },
    // (x - c0) - c1 = x - (c0 + c1)
    Chain {
        inner: SubI::NAME,
        inner_left: false,
        outer_left: false,
        how: Combine::Add,
        outer_first: false,
        result: SubI::NAME,
        result_left: false,
    },
    // (c0 - x) - c1 = (c0 - c1) - x
    Chain {
        inner: SubI::NAME,
        inner_left: true,
        outer_left: false,
        how: Combine::Sub,
        outer_first: false,
        result: SubI::NAME,
        result_left: true,
    },
    // c1 - (x - c0) = (c0 + c1) - x
    Chain {
        inner: SubI::NAME,
        inner_left: false,
        outer_left: true,
        how: Combine::Add,
        outer_first: false,
        result: SubI::NAME,
        result_left: true,
    },
    // c1 - (c0 - x) = x + (c1 - c0)
    Chain {
        inner: SubI::NAME,
        inner_left: true,
        outer_left: true,
        how: Combine::Sub,
        outer_first: true,
        result: AddI::NAME,
        result_left: false,
    },
];

pub(super) const MUL_CHAINS: &[Chain] = &[Chain {
    inner: MulI::NAME,
    inner_left: false,
    outer_left: false,
    how: Combine::Mul,
    outer_first: false,
    result: MulI::NAME,
    result_left: false,
}];
