//! The forward kernel: for each block of queries one pass over the blocks of keys that it sees, with online softmax.

use super::{
    Block, call_scores, call_sums, for_heads, head_row, head_tile, keys_before, over_keys,
    pack_across, pack_along, rows_as_computed, score_function, score_tile, signature,
};
use crate::attention_blocks::{Forward, KEYS, QUERIES, padded_width};
use crate::kernel::Attention;
use crate::llvm::Launch;
use crate::llvm::emit::{Emitter, I, P, V};
use crate::llvm::rows::fill_zero;
use inkwell::values::FunctionValue;

/// `q, k, v, o, [lse]`.
pub(crate) fn forward(launch: &Launch<'_, '_>, shape: &Attention, with_lse: bool) {
    let e = launch.e;
    let [q, k, v, o] = [0, 1, 2, 3].map(|i: usize| launch.buffers[i]);
    let parts = Forward::of(shape, q.element);
    let part = |start: u64| e.at(launch.workspace, e.n(start));
    let [queries_packed, scores, values, out] =
        [parts.queries, parts.scores, parts.values, parts.out].map(part);
    let [largest, before, sums, factors] =
        [parts.largest, parts.before, parts.sums, parts.factors].map(part);
    let width = shape.head_dim;
    let (query_stride, key_stride) = (shape.heads * width, shape.kv_heads * width);
    let out_stride = padded_width(shape);
    let scale = e.float(1.0 / (width as f64).sqrt());
    let group = shape.heads / shape.kv_heads;
    let (score, weigh) = (scores_and_largest(e), weigh(e));
    let gather = over_keys(e, head_tile(e, width), false);

    for_heads(launch, shape, shape.heads, |first_row, head| {
        let key_head = e.idiv(head, group);
        let keys_of = |base| head_row(e, base, first_row, shape.kv_heads, key_head, width);
        let [k, v] = [k, v].map(keys_of);
        e.for_each(e.n(0), e.n(shape.seq), QUERIES, |query| {
            let queries = e.imin(e.n(QUERIES), e.isub(e.n(shape.seq), query));
            let query_row = e.iadd(first_row, query);
            let [q, o] = [q, o].map(|base| head_row(e, base, query_row, shape.heads, head, width));
            pack_across(e, (q, query_stride), queries, shape, queries_packed);
            fill(e, largest, f64::NEG_INFINITY);
            fill(e, before, f64::NEG_INFINITY);
            fill(e, sums, 0.0);
            fill_zero(e, out, QUERIES * out_stride);
            let end = e.iadd(query, queries);
            e.for_each(e.n(0), end, KEYS, |key| {
                let keys = keys_before(e, key, end);
                let block = Block { keys, queries, offset: e.isub(query, key) };
                let start = e.imul(key, e.n(key_stride));
                let [k, v] = [k, v].map(|base| (e.at(base, start), key_stride));
                let k = rows_as_computed(e, k, keys, width, part(parts.keys));
                let places = [queries_packed, scores, largest];
                call_scores(e, score, block, shape, k, &places, scale);
                let mut args = block.args().to_vec();
                args.extend([scores, largest, before, sums, factors].map(V::from));
                args.push(scale);
                e.call(weigh, &args);
                pack_along(e, v, keys, shape, values);
                let places = [scores, values, out, factors];
                call_sums(e, gather, block, [width, out_stride], keys, &places);
            });
            finish_sums(e, [largest, sums, factors, before], scale);
            e.for_each(e.n(0), queries, 1, |i| {
                let inverse = e.load(factors, i);
                let from = e.at(out, e.imul(i, e.n(out_stride)));
                let to = e.at(o, e.imul(i, e.n(query_stride)));
                e.for_pieces(width, |c, w| {
                    e.store_piece(to, c, e.mul(e.load_piece(from, c, w), inverse), w);
                });
            });
            if with_lse {
                // The sequence's first row is batch * seq, so its lse rows start at that times the heads.
                let start =
                    e.iadd(e.imul(first_row, e.n(shape.heads)), e.imul(head, e.n(shape.seq)));
                let to = e.at(launch.buffers[4], e.iadd(start, query));
                e.for_each(e.n(0), queries, 1, |i| e.store(to, i, e.load(before, i)));
            }
        });
    });
}

/// Sets the number of every query.
fn fill<'c>(e: &Emitter<'c>, numbers: P<'c>, value: f64) {
    let value = e.splat(e.float(value), e.lanes()).into();
    e.for_pieces(QUERIES, |c, width| e.store_piece(numbers, c, value, width));
}

/// A function for scores and, at its second place, the largest of each query so far. Scores are not scaled yet; those that a
/// query does not see are minus infinity.
fn scores_and_largest<'c>(e: &Emitter<'c>) -> FunctionValue<'c> {
    score_function(e, "attention_scores", 2, |tile, places, _| {
        let (scores, largest) = (places[0], places[1]);
        let lanes = tile.tile.lanes;
        let hidden = V::from(e.splat(e.float(f64::NEG_INFINITY), lanes));
        let mut running = None;
        tile.for_vectors(e, |at, sum, masked| {
            let value = masked(sum, hidden);
            e.store_lanes(e.at(scores, at.place), value);
            let to = e.at(largest, at.query);
            let so_far = match running {
                Some(so_far) if at.row > 0 => so_far,
                _ => e.load_lanes(to, lanes),
            };
            let most = e.max(so_far, value);
            running = Some(most);
            if at.row + 1 == tile.tile.mr {
                e.store_lanes(to, most);
            }
        });
    })
}

/// `(block, scores, largest, before, sums, factors, scale)`: scores become weights `exp(scale * (score - largest))`, sums of
/// earlier weights are made to fit the new largest score and the new ones are added.
fn weigh<'c>(e: &Emitter<'c>) -> FunctionValue<'c> {
    let types = signature(e, 0, 5, true);
    e.shared("attention_weigh", &types, |args| {
        let block = Block::of(args);
        let [scores, largest, before, sums, factors] =
            [3, 4, 5, 6, 7].map(|i: usize| e.pointer(args[i], e.dtype()));
        let scale = args[8];
        let lanes = score_tile(e).lanes;
        e.for_each(e.n(0), block.queries, lanes, |col| {
            let number = |numbers: P<'c>| e.load_lanes(e.at(numbers, col), lanes);
            let weight =
                |score: V<'c>, largest: V<'c>| e.weight(e.mul(e.sub(score, largest), scale));
            let most = number(largest);
            let factor = weight(number(before), most);
            e.store_lanes(e.at(factors, col), factor);
            e.store_lanes(e.at(before, col), most);
            let total = e.local(e.vector(lanes).const_zero().into());
            e.set(&total, e.vector(lanes).const_zero().into());
            e.for_each(e.n(0), block.keys_of(e, col, lanes), 1, |row: I<'c>| {
                let at = e.at(scores, e.iadd(e.imul(row, e.n(QUERIES)), col));
                let value = weight(e.load_lanes(at, lanes), most);
                e.store_lanes(at, value);
                e.set(&total, e.add(e.get(&total), value));
            });
            let sum = e.mul_add(number(sums), factor, e.get(&total));
            e.store_lanes(e.at(sums, col), sum);
        });
    })
}

/// What is left to do once all keys are seen: `inverse = 1 / sum` and `lse = scale * largest + log(sum)`.
fn finish_sums<'c>(e: &Emitter<'c>, [largest, sums, inverse, lse]: [P<'c>; 4], scale: V<'c>) {
    e.for_pieces(QUERIES, |c, width| {
        let sum = e.load_piece(sums, c, width);
        e.store_piece(inverse, c, e.div(e.like(sum, 1.0), sum), width);
        let largest = e.mul(e.load_piece(largest, c, width), scale);
        e.store_piece(lse, c, e.add(largest, e.log(sum)), width);
    });
}
