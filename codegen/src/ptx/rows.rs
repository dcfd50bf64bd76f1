//! Kernels that move or turn rows, the loss, and the scale of gradient clipping.

use super::device::Device;
use super::launch::{self, Team};
use super::sums;
use crate::kernel::{CrossEntropy, Dtype, Embedding};
use crate::llvm::emit::{Emitter, I, P, V, built};
use crate::llvm::rows::clip_factor;
use inkwell::IntPredicate;

/// `x, y`.
pub(super) fn cast(k: &Device<'_, '_>, elems: u64, from: Dtype, to: Dtype) {
    k.pieces(elems, launch::cast_lanes(from, to), |i, lanes| {
        let value = k.load(k.buffers[0], i, lanes);
        k.store(k.buffers[1], i, k.converted(value, to.computed()));
    });
}

/// `x, y`: block `(i, j)` of the source is block `(j, i)` of the target.
pub(super) fn swap_blocks(k: &Device<'_, '_>, [a, b, block]: [u64; 3], dtype: Dtype) {
    let e = k.e;
    let lanes = launch::lanes(block, dtype);
    k.walk(a * b * block / lanes, |piece| {
        let to = e.imul(piece, e.n(lanes));
        let (pair, c) = (e.idiv(to, block), e.irem(to, block));
        let (j, i) = (e.idiv(pair, a), e.irem(pair, a));
        let from = e.iadd(e.imul(e.iadd(e.imul(i, e.n(b)), j), e.n(block)), c);
        k.store(k.buffers[1], to, k.load(k.buffers[0], from, lanes));
    });
}

/// Token `index` and whether it is below `limit`; an illegal one becomes zero so that no wild address is formed.
fn token<'c>(e: &Emitter<'c>, tokens: P<'c>, index: I<'c>, limit: u64) -> (I<'c>, I<'c>) {
    let value = e.load(tokens, index).into_int_value();
    let value = built(e.b.build_int_s_extend(value, e.i64(), ""));
    let legal = e.icmp(IntPredicate::ULT, value, e.n(limit));
    (e.select(legal.into(), value.into(), e.n(0).into()).into_int_value(), legal)
}

/// `tokens, w, y`.
pub(super) fn embedding(k: &Device<'_, '_>, s: &Embedding, dtype: Dtype) {
    let e = k.e;
    let (team, lanes) = (Team::of(s.dim), launch::lanes(s.dim, dtype));
    k.row(team, s.rows, |row| {
        let (token, legal) = token(e, k.buffers[0], row, s.vocab);
        let from = e.at(k.buffers[1], e.imul(token, e.n(s.dim)));
        let to = e.at(k.buffers[2], e.imul(row, e.n(s.dim)));
        k.columns(team, s.dim, lanes, |c| {
            let value = k.load(from, c, lanes);
            k.store(to, c, e.select(legal.into(), value, e.like(value, f64::NAN)));
        });
    });
}

/// `tokens, dy, dw`: a warp a row of the table, which reads all tokens and adds the rows of those that are its own. So
/// the order of addition is that of the tokens, at the cost of reading them once a row of the table.
pub(super) fn embedding_gradient(k: &Device<'_, '_>, s: &Embedding, dtype: Dtype) {
    let e = k.e;
    let lanes = launch::lanes(s.dim, dtype);
    let team = Team { threads: 32, per_block: 4 };
    let own = e.iadd(e.imul(k.block(0), e.n(4)), e.idiv(k.thread(), 32));
    e.if_true(e.icmp(IntPredicate::ULT, own, e.n(s.vocab)), || {
        k.columns(team, s.dim, lanes, |c| {
            let sum = e.local(k.zero(lanes));
            e.for_each(e.n(0), e.n(s.rows), 1, |row| {
                let value = e.load(k.buffers[0], row).into_int_value();
                let value = built(e.b.build_int_s_extend(value, e.i64(), ""));
                e.if_true(e.icmp(IntPredicate::EQ, value, own), || {
                    let at = e.iadd(e.imul(row, e.n(s.dim)), c);
                    e.set(&sum, e.add(e.get(&sum), k.load(k.buffers[1], at, lanes)));
                });
            });
            k.store(k.buffers[2], e.iadd(e.imul(own, e.n(s.dim)), c), e.get(&sum));
        });
    });
}

/// The logarithm of the sum of the exponentials of a row.
fn log_sum_exp<'c>(k: &Device<'_, 'c>, team: Team, logits: P<'c>, vocab: u64, lanes: u64) -> V<'c> {
    let e = k.e;
    let lowest = e.float(f64::NEG_INFINITY);
    let lowest = if lanes == 1 { lowest } else { e.splat(lowest, lanes).into() };
    let largest = e.local(lowest);
    k.columns(team, vocab, lanes, |c| {
        e.set(&largest, e.max(e.get(&largest), k.load(logits, c, lanes)));
    });
    let largest = e.get(&largest);
    let largest = if lanes == 1 { largest } else { e.lane_max(largest) };
    let largest = k.together(team, largest, |a, b| e.max(a, b));
    let sum = k.row_sum(team, vocab, lanes, |c| e.exp(e.sub(k.load(logits, c, lanes), largest)));
    e.add(largest, e.log(sum))
}

/// `logits, targets, loss, [lse]`.
pub(super) fn loss(k: &Device<'_, '_>, s: &CrossEntropy, dtype: Dtype, stage: usize) {
    let e = k.e;
    let computed = e.dtype();
    if stage == 1 {
        return sums::workspace_total(k, s.rows, |total| {
            let mean = e.div(total, e.float(s.denominator as f64));
            e.store(k.buffers[2], e.n(0), e.convert(mean, computed));
        });
    }
    let (team, lanes) = (Team::of(s.vocab), launch::lanes(s.vocab, dtype));
    k.row(team, s.rows, |row| {
        let logits = e.at(k.buffers[0], e.imul(row, e.n(s.vocab)));
        let (target, legal) = token(e, k.buffers[1], row, s.vocab);
        let lse = log_sum_exp(k, team, logits, s.vocab, lanes);
        let loss = e.sub(lse, e.load(logits, target));
        let loss = e.select(legal.into(), loss, e.float(f64::NAN));
        k.once(team, || {
            e.store(k.scratch(Dtype::F64, 0), row, e.convert(loss, Dtype::F64));
            if s.lse {
                e.store(k.buffers[3], row, lse);
            }
        });
    });
}

/// `logits, targets, dloss, [lse], dlogits`.
pub(super) fn loss_gradient(k: &Device<'_, '_>, s: &CrossEntropy, dtype: Dtype) {
    let e = k.e;
    let (team, lanes) = (Team::of(s.vocab), launch::lanes(s.vocab, dtype));
    let result = *k.buffers.last().expect("a gradient has a result");
    let factor = e.div(e.load(k.buffers[2], e.n(0)), e.float(s.denominator as f64));
    k.row(team, s.rows, |row| {
        let start = e.imul(row, e.n(s.vocab));
        let (logits, out) = (e.at(k.buffers[0], start), e.at(result, start));
        let (target, legal) = token(e, k.buffers[1], row, s.vocab);
        let lse = match s.lse {
            true => e.load(k.buffers[3], row),
            false => log_sum_exp(k, team, logits, s.vocab, lanes),
        };
        let factor = e.select(legal.into(), factor, e.float(f64::NAN));
        k.columns(team, s.vocab, lanes, |c| {
            let logits = k.load(logits, c, lanes);
            let probability = e.exp(e.sub(logits, lse));
            let at_target = e.sub(probability, e.like(probability, 1.0));
            let pick = |lane: u64| {
                let is_target = e.icmp(IntPredicate::EQ, e.iadd(c, e.n(lane)), target);
                e.select(is_target.into(), k.lane(at_target, lane), k.lane(probability, lane))
            };
            let value = match lanes {
                1 => pick(0),
                _ => k.vector(&(0..lanes).map(pick).collect::<Vec<_>>()),
            };
            k.store(out, c, e.mul(value, factor));
        });
    });
}

/// `total, scale`.
pub(super) fn clip_scale(k: &Device<'_, '_>, max_norm: f64) {
    let e = k.e;
    let scale = clip_factor(e, k.buffers[0], max_norm);
    let team = Team { threads: 32, per_block: 1 };
    k.once(team, || e.store(k.buffers[1], e.n(0), scale));
}
