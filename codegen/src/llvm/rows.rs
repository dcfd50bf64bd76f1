//! Kernels that walk rows without mixing columns: table look-up and its gradient, row sums, rotary positions, and the
//! two kernels of gradient clipping.

use super::Launch;
use super::emit::{Emitter, I, P, V, built};
use crate::kernel::{Dtype, Embedding};
use crate::split::{COLUMNS, SQUARES};
use inkwell::IntPredicate;
use inkwell::module::Linkage;

/// Clears `elems` elements.
pub(super) fn fill_zero<'c>(e: &Emitter<'c>, out: P<'c>, elems: u64) {
    let zero = e.vector(e.lanes()).const_zero().into();
    e.for_pieces(elems, |i, width| e.store_piece(out, i, zero, width));
}

/// Rounds `elems` elements to another type.
pub(super) fn copy<'c>(e: &Emitter<'c>, from: P<'c>, to: P<'c>, elems: u64) {
    e.for_pieces(elems, |i, width| e.store_piece(to, i, e.load_piece(from, i, width), width));
}

/// Runs `body` on places for sums of `[rows, cols]` elements each, and on the columns of this part. They start at zero: the
/// results themselves, or, where those are of bf16, workspace, which is rounded to them at the end.
pub(super) fn summed<'c>(
    k: &Launch<'_, 'c>,
    results: &[P<'c>],
    [rows, cols]: [u64; 2],
    body: impl FnOnce(&[P<'c>], [I<'c>; 2]),
) {
    let e = k.e;
    let place = |(i, result): (usize, &P<'c>)| match result.element {
        Dtype::Bf16 => e.at(k.shared, e.n(i as u64 * rows * cols)),
        _ => *result,
    };
    let sums: Vec<P<'c>> = results.iter().enumerate().map(place).collect();
    let [from, to] = k.share_of(cols, COLUMNS);
    let each = |body: &dyn Fn(I<'c>, u64)| {
        e.for_each(e.n(0), e.n(rows), 1, |row| {
            let start = e.imul(row, e.n(cols));
            e.for_pieces_of(from, to, cols, |c, width| body(e.iadd(start, c), width));
        });
    };
    let zero = e.vector(e.lanes()).const_zero().into();
    for sum in &sums {
        each(&|at, width| e.store_piece(*sum, at, zero, width));
    }
    body(&sums, [from, to]);
    for (sum, result) in sums.iter().zip(results).filter(|(_, r)| r.element == Dtype::Bf16) {
        each(&|at, width| e.store_piece(*result, at, e.load_piece(*sum, at, width), width));
    }
}

/// `x, y`.
pub(super) fn cast(k: &Launch<'_, '_>, elems: u64, to: Dtype) {
    let e = k.e;
    k.for_elements(elems, |i, width| {
        let value = e.load_streamed(k.buffers[0], i, width);
        e.store_result(k.buffers[1], i, e.convert_lanes(value, to.computed()), width);
    });
}

/// Token `index` and whether it is below `limit`; an illegal one becomes zero so that no wild address is formed.
pub(super) fn token<'c>(
    e: &Emitter<'c>,
    tokens: P<'c>,
    index: I<'c>,
    limit: u64,
) -> (I<'c>, I<'c>) {
    let value = e.load(tokens, index).into_int_value();
    let value = built(e.b.build_int_s_extend(value, e.i64(), ""));
    let legal = e.icmp(IntPredicate::ULT, value, e.n(limit));
    (e.select(legal.into(), value.into(), e.n(0).into()).into_int_value(), legal)
}

/// `tokens, w, y`.
pub(super) fn embedding(k: &Launch<'_, '_>, s: &Embedding) {
    let e = k.e;
    let nan = e.float(f64::NAN);
    k.for_rows(s.rows, |r| {
        let (token, legal) = token(e, k.buffers[0], r, s.vocab);
        let from = e.at(k.buffers[1], e.imul(token, e.n(s.dim)));
        let to = e.at(k.buffers[2], e.imul(r, e.n(s.dim)));
        e.for_pieces(s.dim, |c, width| {
            let nan = e.splat(nan, e.lanes()).into();
            let value = e.select(legal.into(), e.load_piece(from, c, width), nan);
            e.store_result(to, c, value, width);
        });
    });
}

/// `tokens, dy, dw`.
pub(super) fn embedding_gradient(k: &Launch<'_, '_>, s: &Embedding) {
    let e = k.e;
    summed(k, &[k.buffers[2]], [s.vocab, s.dim], |sums, columns| {
        e.for_each(e.n(0), e.n(s.rows), 1, |r| {
            let (token, legal) = token(e, k.buffers[0], r, s.vocab);
            e.if_true(legal, || {
                let from = e.at(k.buffers[1], e.imul(r, e.n(s.dim)));
                let to = e.at(sums[0], e.imul(token, e.n(s.dim)));
                add_row(e, from, to, s.dim, columns);
            });
        });
    });
}

/// Adds the columns of a part.
fn add_row<'c>(e: &Emitter<'c>, from: P<'c>, to: P<'c>, cols: u64, [first, end]: [I<'c>; 2]) {
    e.for_pieces_of(first, end, cols, |c, width| {
        let sum = e.add(e.load_piece(to, c, width), e.load_piece(from, c, width));
        e.store_piece(to, c, sum, width);
    });
}

/// `x, y`.
pub(super) fn sum_rows(k: &Launch<'_, '_>, rows: u64, cols: u64) {
    let e = k.e;
    summed(k, &[k.buffers[1]], [1, cols], |sums, columns| {
        e.for_each(e.n(0), e.n(rows), 1, |r| {
            add_row(e, e.at(k.buffers[0], e.imul(r, e.n(cols))), sums[0], cols, columns);
        });
    });
}

/// How many blocks ahead the source of [`swap_blocks`] is asked for: they are far from each other, which no processor foresees.
const BLOCKS_AHEAD: u64 = 8;

/// `x, y`: block `(i, j)` of the source is block `(j, i)` of the target.
pub(super) fn swap_blocks(k: &Launch<'_, '_>, a: u64, b: u64, block: u64) {
    let e = k.e;
    let size = e.n(block);
    k.for_rows(b, |j| {
        e.for_each(e.n(0), e.n(a), 1, |i| {
            let from = e.imul(e.iadd(e.imul(i, e.n(b)), j), size);
            let to = e.imul(e.iadd(e.imul(j, e.n(a)), i), size);
            let (from, to) = (e.at(k.buffers[0], from), e.at(k.buffers[1], to));
            e.for_pieces(block, |c, width| {
                e.prefetch_for_reading(from, c, BLOCKS_AHEAD * b * block);
                e.store_result(to, c, e.load_piece(from, c, width), width);
            });
        });
    });
}

/// `x, total`: of each piece one partial sum a lane of the virtual vector of `x`, folded by halves. If there are several pieces
/// their sums go to workspace, and [`sum_of_squares`] adds them up.
pub(super) fn sum_squares(k: &Launch<'_, '_>, elems: u64) {
    let e = k.e;
    let lanes = e.lanes();
    let zero = V::from(e.ctx.f64_type().vec_type(lanes as u32).const_zero());
    let sums = if elems > SQUARES { doubles(k.shared) } else { k.buffers[1] };
    k.for_rows(elems.div_ceil(SQUARES), |piece| {
        let start = e.imul(piece, e.n(SQUARES));
        let end = e.imin(e.iadd(start, e.n(SQUARES)), e.n(elems));
        let sum = e.local(zero);
        e.for_pieces_of(start, end, elems, |i, width| {
            let value = e.load_streamed(k.buffers[0], i, width);
            let value = e.convert_lanes(value, Dtype::F64);
            e.set(&sum, e.add(e.get(&sum), e.mul(value, value)));
        });
        e.store(sums, piece, e.lane_sum(e.get(&sum)));
    });
}

/// The sums of the pieces, in their order.
pub(super) fn sum_of_squares(k: &Launch<'_, '_>, elems: u64) {
    let e = k.e;
    let total = e.local(e.ctx.f64_type().const_zero().into());
    e.for_each(e.n(0), e.n(elems.div_ceil(SQUARES)), 1, |piece| {
        e.set(&total, e.add(e.get(&total), e.load(doubles(k.shared), piece)));
    });
    e.store(k.buffers[1], e.n(0), e.get(&total));
}

/// The same place, as elements of f64.
pub(super) fn doubles(place: P<'_>) -> P<'_> {
    P { element: Dtype::F64, ..place }
}

/// `total, scale`.
pub(super) fn clip_scale(k: &Launch<'_, '_>, max_norm: f64) {
    k.e.store(k.buffers[1], k.e.n(0), clip_factor(k.e, k.buffers[0], max_norm));
}

/// What gradients are scaled by so that their norm, whose square `total` holds, is at most `max_norm`; found in f64, given in the
/// type of the kernel.
pub(crate) fn clip_factor<'c>(e: &Emitter<'c>, total: P<'c>, max_norm: f64) -> V<'c> {
    let dtype = e.dtype();
    e.set_dtype(Dtype::F64);
    let norm = e.sqrt(e.load(total, e.n(0)));
    let scale = e.div(e.float(max_norm), e.add(norm, e.float(1e-6)));
    let scale = e.min(e.float(1.0), scale);
    e.set_dtype(dtype);
    e.convert(scale, dtype)
}

/// Shape of a rotary kernel.
pub(crate) struct Rotary {
    pub(crate) batch: u64,
    pub(crate) seq: u64,
    pub(crate) heads: u64,
    pub(crate) head_dim: u64,
    pub(crate) base: f64,
    pub(crate) inverse: bool,
}

/// `x, y`; cosines and sines are tables in the code, one pair a shape, shared by all rotary kernels of the module.
pub(super) fn rotary(k: &Launch<'_, '_>, s: &Rotary) {
    let e = k.e;
    let half = s.head_dim / 2;
    let angles = |f: fn(f64) -> f64| -> Vec<f64> {
        (0..s.seq)
            .flat_map(|p| (0..half).map(move |i| f(rotary_angle(p, i, s.head_dim, s.base))))
            .collect()
    };
    let key = format!("{}x{}.{:016x}", s.seq, s.head_dim, s.base.to_bits());
    let cosines = table(e, &format!("cos.{key}"), || angles(f64::cos));
    let sines = table(e, &format!("sin.{key}"), || angles(f64::sin));
    k.for_rows(s.batch * s.seq, |row| {
        let position = e.irem(row, s.seq);
        e.for_each(e.n(0), e.n(s.heads), 1, |head| {
            let start = e.imul(e.iadd(e.imul(row, e.n(s.heads)), head), e.n(s.head_dim));
            let turn = e.imul(position, e.n(half));
            e.for_pieces(half, |i, width| {
                let at_table = e.iadd(turn, i);
                let (low, high) = (e.iadd(start, i), e.iadd(e.iadd(start, i), e.n(half)));
                let (c, sin) =
                    (e.load_piece(cosines, at_table, width), e.load_piece(sines, at_table, width));
                let sin = if s.inverse { e.neg(sin) } else { sin };
                let [a, b] = [low, high].map(|place| e.load_piece(k.buffers[0], place, width));
                e.store_piece(k.buffers[1], low, e.sub(e.mul(a, c), e.mul(b, sin)), width);
                e.store_piece(k.buffers[1], high, e.add(e.mul(a, sin), e.mul(b, c)), width);
            });
        });
    });
}

pub(crate) use crate::reference::rotary_angle;

fn table<'c>(e: &Emitter<'c>, name: &str, values: impl FnOnce() -> Vec<f64>) -> P<'c> {
    let pointer = |address| P { address, element: e.dtype() };
    let suffix = if e.dtype() == Dtype::F64 { "f64" } else { "f32" };
    let name = format!("piper.{name}.{suffix}");
    if let Some(existing) = e.module.get_global(&name) {
        return pointer(existing.as_pointer_value());
    }
    let real = e.real();
    let elements: Vec<_> = values().into_iter().map(|v| real.const_float(v)).collect();
    let array = real.const_array(&elements);
    let global = e.module.add_global(array.get_type(), None, &name);
    global.set_initializer(&array);
    global.set_constant(true);
    global.set_linkage(Linkage::Internal);
    global.set_alignment(64);
    pointer(global.as_pointer_value())
}

/// A value repeated over the virtual vector.
pub(super) fn repeated<'c>(e: &Emitter<'c>, value: V<'c>) -> V<'c> {
    e.splat(value, e.lanes()).into()
}
