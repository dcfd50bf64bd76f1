//! Softmax cross-entropy over rows of logits.

use super::Launch;
use super::emit::{Emitter, P, V};
use super::norm::row_sum;
use super::rows::{doubles, repeated, token};
use crate::kernel::{CrossEntropy, Dtype};

/// Largest logit of a row and the sum of `exp(logit - largest)`.
fn softmax_parts<'c>(e: &Emitter<'c>, logits: P<'c>, vocab: u64) -> (V<'c>, V<'c>) {
    let lowest = repeated(e, e.float(f64::NEG_INFINITY));
    let largest = e.local(lowest);
    e.for_pieces(vocab, |c, width| {
        let value = e.keep(e.load_piece(logits, c, width), width, f64::NEG_INFINITY);
        e.set(&largest, e.max(e.get(&largest), value));
    });
    let largest = e.lane_max(e.get(&largest));
    let sum = row_sum(e, vocab, |c, width| e.exp(e.sub(e.load_piece(logits, c, width), largest)));
    (largest, sum)
}

/// `logits, targets, loss`: the loss of each row to workspace.
pub(super) fn forward(k: &Launch<'_, '_>, s: &CrossEntropy) {
    let e = k.e;
    k.for_rows(s.rows, |r| {
        let logits = e.at(k.buffers[0], e.imul(r, e.n(s.vocab)));
        let (target, legal) = token(e, k.buffers[1], r, s.vocab);
        let (largest, sum) = softmax_parts(e, logits, s.vocab);
        let loss = e.sub(e.add(largest, e.log(sum)), e.load(logits, target));
        let loss = e.select(legal.into(), loss, e.float(f64::NAN));
        e.store(doubles(k.shared), r, e.convert(loss, Dtype::F64));
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

/// `logits, targets, dloss, dlogits`.
pub(super) fn gradient<'c>(k: &Launch<'_, 'c>, s: &CrossEntropy) {
    let e = k.e;
    let factor = e.div(e.load(k.buffers[2], e.n(0)), e.float(s.denominator as f64));
    k.for_rows(s.rows, |r| {
        let start = e.imul(r, e.n(s.vocab));
        let (logits, out) = (e.at(k.buffers[0], start), e.at(k.buffers[3], start));
        let (target, legal) = token(e, k.buffers[1], r, s.vocab);
        let (largest, sum) = softmax_parts(e, logits, s.vocab);
        let factor = e.select(legal.into(), factor, e.float(f64::NAN));
        let inverse = e.div(e.float(1.0), sum);
        let probability = |logit: V<'c>| -> V<'c> { e.mul(e.exp(e.sub(logit, largest)), inverse) };
        let at_target = e.mul(e.sub(probability(e.load(logits, target)), e.float(1.0)), factor);
        e.for_pieces(s.vocab, |c, width| {
            e.store_piece(
                out,
                c,
                e.mul(probability(e.load_piece(logits, c, width)), factor),
                width,
            );
        });
        e.store(out, target, at_target);
    });
}
