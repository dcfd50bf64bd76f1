//! Softmax cross-entropy over rows of logits. A row comes from memory once: what is done to it more than once is done to a part of
//! it, or a row, that is still in a cache. The gradient does nothing more than once where it is given the log-sum-exp.

use super::Launch;
use super::emit::{Emitter, I, P, V};
use super::rows::{doubles, repeated, token};
use crate::kernel::{CrossEntropy, Dtype};

/// Vectors of a row that are looked at together.
const TOGETHER: u64 = 16;

/// What is done to a piece of a row: its first column and number of columns.
type Piece<'p, 'c> = &'p dyn Fn(I<'c>, u64);

/// Largest logit of a row and the sum of `exp(logit - largest)`, in one pass: each lane keeps the largest logit that it has met
/// and the sum that goes with it, made to fit once for each [`TOGETHER`] vectors (Milakov and Gimelshein, 2018).
fn softmax_parts<'c>(e: &Emitter<'c>, logits: P<'c>, vocab: u64) -> (V<'c>, V<'c>) {
    let lanes = e.lanes();
    let (lowest, zero) = (f64::NEG_INFINITY, repeated(e, e.float(0.0)));
    let (largest, sum) = (e.local(repeated(e, e.float(lowest))), e.local(zero));
    let visit = |each: &dyn Fn(Piece<'_, 'c>)| {
        let before = e.get(&largest);
        let most = e.local(before);
        each(&|c, width| {
            let value = e.keep(e.load_piece(logits, c, width), width, lowest);
            e.set(&most, e.max(e.get(&most), value));
        });
        let most = e.get(&most);
        e.set(&largest, most);
        // A lane that has met nothing else than minus infinity subtracts zero, so that its weights vanish.
        let is_lowest = e.compare(inkwell::FloatPredicate::OEQ, most, e.like(most, lowest));
        let subtracted = e.select(is_lowest, zero, most);
        e.set(&sum, e.mul(e.get(&sum), e.weight(e.sub(before, subtracted))));
        each(&|c, width| {
            // What comes later is asked for here, where there is more to do meanwhile.
            let value = e.keep(e.load_streamed(logits, c, width), width, lowest);
            e.set(&sum, e.add(e.get(&sum), e.weight(e.sub(value, subtracted))));
        });
    };
    let whole = vocab - vocab % lanes;
    e.for_each(e.n(0), e.n(whole), TOGETHER * lanes, |start| {
        let end = e.imin(e.n(whole), e.iadd(start, e.n(TOGETHER * lanes)));
        visit(&|body| e.for_each(start, end, lanes, |c| body(c, lanes)));
    });
    if whole < vocab {
        visit(&|body| body(e.n(whole), vocab - whole));
    }
    let most = e.lane_max(e.get(&largest));
    let factor = e.weight(e.sub(e.get(&largest), most));
    (most, e.lane_sum(e.mul(e.get(&sum), factor)))
}

/// The logarithm of the sum of the exponentials of a row.
fn log_sum_exp<'c>(e: &Emitter<'c>, logits: P<'c>, vocab: u64) -> V<'c> {
    let (largest, sum) = softmax_parts(e, logits, vocab);
    e.add(largest, e.log(sum))
}

/// `logits, targets, loss, [lse]`: the loss of each row to workspace.
pub(super) fn forward(k: &Launch<'_, '_>, s: &CrossEntropy) {
    let e = k.e;
    k.for_rows(s.rows, |r| {
        let logits = e.at(k.buffers[0], e.imul(r, e.n(s.vocab)));
        let (target, legal) = token(e, k.buffers[1], r, s.vocab);
        let lse = log_sum_exp(e, logits, s.vocab);
        let loss = e.sub(lse, e.load(logits, target));
        let loss = e.select(legal.into(), loss, e.float(f64::NAN));
        e.store(doubles(k.shared), r, e.convert(loss, Dtype::F64));
        if s.lse {
            e.store(k.buffers[3], r, lse);
        }
    });
}

/// The sum over rows, in their order.
pub(super) fn mean(k: &Launch<'_, '_>, s: &CrossEntropy) {
    let e = k.e;
    let total = e.local(e.ctx.f64_type().const_zero().into());
    e.for_each(e.n(0), e.n(s.rows), 1, |r| {
        e.set(&total, e.add(e.get(&total), e.load(doubles(k.shared), r)));
    });
    let total = e.get(&total);
    let mean = e.div(total, e.like(total, s.denominator as f64));
    e.store(k.buffers[2], e.n(0), e.convert(mean, e.dtype()));
}

/// `logits, targets, dloss, [lse], dlogits`. A log-sum-exp that is not given is found as the forward kernel finds it, so that the
/// gradient has the same bits.
pub(super) fn gradient<'c>(k: &Launch<'_, 'c>, s: &CrossEntropy) {
    let e = k.e;
    let result = *k.buffers.last().expect("a gradient has a result");
    let factor = e.div(e.load(k.buffers[2], e.n(0)), e.float(s.denominator as f64));
    k.for_rows(s.rows, |r| {
        let start = e.imul(r, e.n(s.vocab));
        let (logits, out) = (e.at(k.buffers[0], start), e.at(result, start));
        let (target, legal) = token(e, k.buffers[1], r, s.vocab);
        let factor = e.select(legal.into(), factor, e.float(f64::NAN));
        let lse = match s.lse {
            true => e.load(k.buffers[3], r),
            false => log_sum_exp(e, logits, s.vocab),
        };
        let probability = |logit: V<'c>| e.weight(e.sub(logit, lse));
        let at_target = e.sub(probability(e.load(logits, target)), e.float(1.0));
        e.for_pieces(s.vocab, |c, width| {
            let value = probability(e.load_streamed(logits, c, width));
            e.store_result(out, c, e.mul(value, factor), width);
        });
        e.store(out, target, e.mul(at_target, factor));
    });
}
