//! Sums over rows, column by column, and over everything: in parts that follow from the shape, then over the parts in
//! ascending order, so that results do not depend on which block is first. No atomic addition is used.

use super::device::Device;
use super::launch::{self, BLOCK, SUM_COLUMNS, Team};
use crate::kernel::Dtype;
use crate::llvm::emit::{I, P, V};
use inkwell::IntPredicate;

/// First stage: block `(x, y)` adds up columns from `32 x` on over the rows of part `y`, eight rows side by side, and
/// leaves `results` sums a column in workspace from byte `offset` on, as `[part, result, column]`.
pub(super) fn parts<'c>(
    k: &Device<'_, 'c>,
    rows: u64,
    cols: u64,
    results: u64,
    offset: u64,
    terms: impl FnOnce(I<'c>, I<'c>) -> Vec<V<'c>>,
) {
    let e = k.e;
    let side = BLOCK / SUM_COLUMNS;
    let part_rows = rows.div_ceil(launch::parts(rows));
    let out = k.scratch(e.dtype(), offset);
    let (lane, row_lane) = (e.irem(k.thread(), SUM_COLUMNS), e.idiv(k.thread(), SUM_COLUMNS));
    let col = e.iadd(e.imul(k.block(0), e.n(SUM_COLUMNS)), lane);
    let is_inside = e.icmp(IntPredicate::ULT, col, e.n(cols));
    let sums: Vec<_> = (0..results).map(|_| e.local(e.float(0.0))).collect();
    let first = e.imul(k.block(1), e.n(part_rows));
    let end = e.imin(e.iadd(first, e.n(part_rows)), e.n(rows));
    e.if_true(is_inside, || {
        e.for_each(e.iadd(first, row_lane), end, side, |row| {
            for (sum, term) in sums.iter().zip(terms(row, col)) {
                e.set(sum, e.add(e.get(sum), term));
            }
        });
    });
    let shared = k.shared(e.dtype(), results * BLOCK);
    for (i, sum) in (0..).zip(&sums) {
        e.store(shared, e.iadd(k.thread(), e.n(i * BLOCK)), e.get(sum));
    }
    k.barrier();
    let is_first = e.both(e.icmp(IntPredicate::EQ, row_lane, e.n(0)), is_inside);
    e.if_true(is_first, || {
        for i in 0..results {
            let at = |r: u64| e.load(shared, e.iadd(lane, e.n(i * BLOCK + r * SUM_COLUMNS)));
            let sum = (1..side).fold(at(0), |sum, r| e.add(sum, at(r)));
            let row = e.iadd(e.imul(k.block(1), e.n(results)), e.n(i));
            e.store(out, e.iadd(e.imul(row, e.n(cols)), col), sum);
        }
    });
}

/// Second stage: the sums of all parts.
pub(super) fn total<'c>(k: &Device<'_, 'c>, rows: u64, cols: u64, results: &[P<'c>], offset: u64) {
    let e = k.e;
    let partial = k.scratch(e.dtype(), offset);
    let count = results.len() as u64;
    k.walk(cols, |col| {
        let sums: Vec<_> = results.iter().map(|_| e.local(e.float(0.0))).collect();
        e.for_each(e.n(0), e.n(launch::parts(rows)), 1, |part| {
            for (i, sum) in (0..).zip(&sums) {
                let row = e.iadd(e.imul(part, e.n(count)), e.n(i));
                let term = e.load(partial, e.iadd(e.imul(row, e.n(cols)), col));
                e.set(sum, e.add(e.get(sum), term));
            }
        });
        for (result, sum) in results.iter().zip(&sums) {
            e.store(*result, col, e.get(sum));
        }
    });
}

/// The sum of `count` f64 of workspace by the one block there is, given to `then` of its first thread.
pub(super) fn workspace_total<'c>(k: &Device<'_, 'c>, count: u64, then: impl FnOnce(V<'c>)) {
    let e = k.e;
    let team = Team { threads: BLOCK, per_block: 1 };
    let partial = k.scratch(Dtype::F64, 0);
    e.set_dtype(Dtype::F64);
    let total = k.row_sum(team, count, 1, |i| e.load(partial, i));
    k.once(team, || then(total));
}

/// `x, total`: sum of squares in f64.
pub(super) fn squares(k: &Device<'_, '_>, elems: u64, dtype: Dtype, stage: usize) {
    let e = k.e;
    if stage == 1 {
        let count = launch::square_parts(elems, dtype, k.chip);
        return workspace_total(k, count, |total| e.store(k.buffers[1], e.n(0), total));
    }
    e.set_dtype(Dtype::F64);
    let sum = e.local(e.float(0.0));
    k.pieces(elems, launch::widest(dtype), |i, lanes| {
        let value = k.converted(k.load(k.buffers[0], i, lanes), Dtype::F64);
        let square = e.mul(value, value);
        let square = if lanes == 1 { square } else { e.lane_sum(square) };
        e.set(&sum, e.add(e.get(&sum), square));
    });
    let team = Team { threads: BLOCK, per_block: 1 };
    let total = k.together(team, e.get(&sum), |a, b| e.add(a, b));
    k.once(team, || e.store(k.scratch(Dtype::F64, 0), k.block(0), total));
}

/// `x, y`: sum over rows.
pub(super) fn rows(k: &Device<'_, '_>, rows: u64, cols: u64, stage: usize) {
    let e = k.e;
    match stage {
        0 => parts(k, rows, cols, 1, 0, |row, col| {
            vec![e.load(k.buffers[0], e.iadd(e.imul(row, e.n(cols)), col))]
        }),
        _ => total(k, rows, cols, &k.buffers[1..], 0),
    }
}
