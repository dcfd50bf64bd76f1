//! The gradient kernel: for each block of keys one pass over the blocks of queries that see it. Weights are made again from the
//! log-sum-exp that the forward kernel left.

use super::{
    Block, call_scores, call_sums, for_heads, head_row, head_tile, keys_before, over_keys,
    over_queries, pack_across, pack_along, rows_as_computed, score_function,
};
use crate::attention_blocks::{Gradient, KEYS, QUERIES, chunk, padded_width};
use crate::kernel::{Attention, Dtype};
use crate::llvm::Launch;
use crate::llvm::emit::{Emitter, I, P, V};
use crate::llvm::norm::row_sum;
use crate::llvm::rows::{copy, fill_zero};
use inkwell::IntPredicate;
use inkwell::values::FunctionValue;

/// What the loops of the kernel share.
struct Parts<'e, 'c> {
    e: &'e Emitter<'c>,
    shape: &'e Attention,
    workspace: P<'c>,
    at: Gradient,
    /// Length of a row of sums in workspace.
    stride: u64,
}

impl<'c> Parts<'_, 'c> {
    fn place(&self, start: u64) -> P<'c> {
        self.e.at(self.workspace, self.e.n(start))
    }
}

/// `q, k, v, o, lse, do, dq, dk, dv`. With `P` the weights and `D = rowsum(do * o)`:
/// `dv = P^T do`, `dS = P * (do v^T - D)`, `dq = dS k * scale`, `dk = dS^T q * scale`.
pub(crate) fn gradient<'c>(launch: &Launch<'_, 'c>, shape: &Attention) {
    let e = launch.e;
    let [q, k, v, o, lse, d_o, dq, dk, dv] =
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|i: usize| launch.buffers[i]);
    let parts = Parts {
        e,
        shape,
        workspace: launch.workspace,
        at: Gradient::of(shape, q.element),
        stride: padded_width(shape),
    };
    let width = shape.head_dim;
    let (query_stride, key_stride) = (shape.heads * width, shape.kv_heads * width);
    let group = shape.heads / shape.kv_heads;
    let chunk = chunk(shape, q.element);
    let is_apart = dq.element == Dtype::Bf16;
    let dq_sums = parts.place(parts.at.dq_sums);
    let sums = parts.at.sums.map(|start| parts.place(start));

    for_heads(launch, shape, shape.kv_heads, |first_row, key_head| {
        e.for_each(e.n(0), e.n(shape.seq), chunk, |chunk_start| {
            let chunk_end =
                e.iadd(chunk_start, e.imin(e.n(chunk), e.isub(e.n(shape.seq), chunk_start)));
            // Where gradients of queries of a head of the group are summed: address of row `query`, and stride.
            let dq_row = |member: I<'c>, query: I<'c>| match is_apart {
                true => {
                    let row = e.iadd(e.imul(member, e.n(chunk)), e.isub(query, chunk_start));
                    (e.at(dq_sums, e.imul(row, e.n(width))), width)
                }
                false => {
                    let head = e.iadd(e.imul(key_head, e.n(group)), member);
                    let row = e.iadd(first_row, query);
                    (head_row(e, dq, row, shape.heads, head, width), query_stride)
                }
            };
            e.for_each(e.n(0), chunk_end, KEYS, |key| {
                let row = e.iadd(first_row, key);
                let keys = keys_before(e, key, chunk_end);
                let keys_at = |base: P<'c>| {
                    (head_row(e, base, row, shape.kv_heads, key_head, width), key_stride)
                };
                sums.iter().for_each(|sum| fill_zero(e, *sum, KEYS * parts.stride));
                pack_along(e, keys_at(k), keys, shape, parts.place(parts.at.keys));
                let [k, v] = [0, 1].map(|i: usize| {
                    let apart = parts.place(parts.at.wide[i]);
                    rows_as_computed(e, keys_at([k, v][i]), keys, width, apart)
                });
                let from = imax(e, key, chunk_start);
                e.for_each(e.n(0), e.n(group), 1, |member| {
                    let head = e.iadd(e.imul(key_head, e.n(group)), member);
                    e.for_each(from, chunk_end, QUERIES, |query| {
                        let queries = e.imin(e.n(QUERIES), e.isub(chunk_end, query));
                        let query_row = e.iadd(first_row, query);
                        let rows = [q, o, d_o]
                            .map(|base| head_row(e, base, query_row, shape.heads, head, width));
                        let lse_row = e.iadd(
                            e.imul(first_row, e.n(shape.heads)),
                            e.iadd(e.imul(head, e.n(shape.seq)), query),
                        );
                        let seen = e.imin(keys, e.isub(e.iadd(query, queries), key));
                        let block = Block { keys: seen, queries, offset: e.isub(query, key) };
                        of_blocks(&parts, block, rows, e.at(lse, lse_row), [k, v], keys);
                        let is_first = e.icmp(IntPredicate::EQ, key, e.n(0));
                        let to = dq_row(member, query);
                        add_rows(&parts, parts.place(parts.at.dq), queries, to, is_first);
                    });
                });
                let is_first = e.icmp(IntPredicate::ULE, chunk_start, key);
                for (sum, result) in sums.iter().zip([dv, dk]) {
                    add_rows(&parts, *sum, keys, keys_at(result), is_first);
                }
            });
            if is_apart {
                e.for_each(e.n(0), e.n(group), 1, |member| {
                    let head = e.iadd(e.imul(key_head, e.n(group)), member);
                    e.for_each(chunk_start, chunk_end, 1, |query| {
                        let row = e.iadd(first_row, query);
                        let to = head_row(e, dq, row, shape.heads, head, width);
                        copy(e, dq_row(member, query).0, to, width);
                    });
                });
            }
        });
    });
}

fn imax<'c>(e: &Emitter<'c>, a: I<'c>, b: I<'c>) -> I<'c> {
    e.iadd(b, e.isub(a, e.imin(a, b)))
}

/// What a block of queries and a block of keys give each other: `dq` in workspace, and more of the sums of `dk` and `dv`.
/// `packed_keys` is how many keys were packed.
fn of_blocks<'c>(
    parts: &Parts<'_, 'c>,
    block: Block<'c>,
    [q, o, d_o]: [P<'c>; 3],
    lse: P<'c>,
    [k, v]: [(P<'c>, u64); 2],
    packed_keys: I<'c>,
) {
    let Parts { e, shape, at, .. } = parts;
    let width = shape.head_dim;
    let stride = shape.heads * width;
    let [q_across, q_along, do_across, do_along] = at.packed.map(|start| parts.place(start));
    let [weights, scores, lse_here, dots] =
        [at.weights, at.scores, at.lse, at.dots].map(|start| parts.place(start));
    let scale = e.float(1.0 / (width as f64).sqrt());
    pack_across(e, (q, stride), block.queries, shape, q_across);
    pack_along(e, (q, stride), block.queries, shape, q_along);
    pack_across(e, (d_o, stride), block.queries, shape, do_across);
    pack_along(e, (d_o, stride), block.queries, shape, do_along);
    e.for_each(e.n(0), block.queries, 1, |i| {
        e.store(lse_here, i, e.load(lse, i));
        let [o, d_o] = [o, d_o].map(|rows| e.at(rows, e.imul(i, e.n(stride))));
        let dot = row_sum(e, width, |c, w| e.mul(e.load_piece(o, c, w), e.load_piece(d_o, c, w)));
        e.store(dots, i, dot);
    });
    let places = [q_across, weights, lse_here];
    call_scores(e, weights_again(e), block, shape, k, &places, scale);
    let places = [do_across, weights, scores, dots];
    call_scores(e, score_gradients(e), block, shape, v, &places, scale);
    let sizes = [width, parts.stride];
    let tile = head_tile(e, width);
    let [dv, dk] = at.sums.map(|start| parts.place(start));
    let over_queries = over_queries(e, tile);
    call_sums(e, over_queries, block, sizes, block.queries, &[weights, do_along, dv]);
    call_sums(e, over_queries, block, sizes, block.queries, &[scores, q_along, dk]);
    // The last place is not looked at.
    let places = [scores, parts.place(at.keys), parts.place(at.dq), dots];
    call_sums(e, over_keys(e, tile, true), block, sizes, packed_keys, &places);
}

/// A function for weights `exp(scale * score - lse)`, zero where a query does not see a key.
fn weights_again<'c>(e: &Emitter<'c>) -> FunctionValue<'c> {
    score_function(e, "attention_weights", 2, |tile, places, scale| {
        let lanes = tile.tile.lanes;
        let hidden = V::from(e.vector(lanes).const_zero());
        tile.for_vectors(e, |at, sum, mask| {
            let lse = e.load_lanes(e.at(places[1], at.query), lanes);
            let value = e.weight(e.sub(e.mul(sum, scale), lse));
            e.store_lanes(e.at(places[0], at.place), mask(value, hidden));
        });
    })
}

/// A function for gradients of scores, `weight * (sum - dot) * scale`, from weights to its second place.
fn score_gradients<'c>(e: &Emitter<'c>) -> FunctionValue<'c> {
    score_function(e, "attention_ds", 3, |tile, places, scale| {
        let lanes = tile.tile.lanes;
        let hidden = V::from(e.vector(lanes).const_zero());
        tile.for_vectors(e, |at, sum, mask| {
            let weight = e.load_lanes(e.at(places[0], at.place), lanes);
            let dot = e.load_lanes(e.at(places[2], at.query), lanes);
            let value = e.mul(e.mul(weight, e.sub(sum, dot)), scale);
            e.store_lanes(e.at(places[1], at.place), mask(value, hidden));
        });
    })
}

/// Stores or adds rows of sums in workspace to where they belong.
fn add_rows<'c>(
    parts: &Parts<'_, 'c>,
    from: P<'c>,
    count: I<'c>,
    (to, stride): (P<'c>, u64),
    overwrite: I<'c>,
) {
    let e = parts.e;
    let rows = |adds: bool| {
        e.for_each(e.n(0), count, 1, |i| {
            let from = e.at(from, e.imul(i, e.n(parts.stride)));
            let to = e.at(to, e.imul(i, e.n(stride)));
            e.for_pieces(parts.shape.head_dim, |c, width| {
                let value = e.load_piece(from, c, width);
                let value = if adds { e.add(e.load_piece(to, c, width), value) } else { value };
                e.store_piece(to, c, value, width);
            });
        });
    };
    e.if_else(overwrite, || rows(false), || rows(true));
}
