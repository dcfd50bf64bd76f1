//! Causal attention, one head at a time, in blocks of query rows: the scores of a block against all keys it may see lie
//! in workspace, so products run through the shared matrix kernels and later keys cost nothing.

use super::Launch;
use super::emit::{Emitter, I, P};
use super::gemm::{Product, product};
use super::norm::row_sum;
use super::rows::{copy, fill_zero, repeated};
use crate::blocking::{Blocking, QUERY_BLOCK, attention_gemm_elems, score_stride};
use crate::kernel::Attention;

/// What the products of one head share.
struct Head<'e, 'c> {
    e: &'e Emitter<'c>,
    shape: &'e Attention,
    workspace: P<'c>,
}

/// One operand of a product inside attention: address, distance of rows, and whether it is used transposed.
type Matrix<'c> = (P<'c>, u64, bool);

impl<'c> Head<'_, 'c> {
    fn multiply(
        &self,
        sizes: [I<'c>; 3],
        a: Matrix<'c>,
        b: Matrix<'c>,
        c: (P<'c>, u64),
        accumulate: bool,
    ) {
        let e = self.e;
        let [m, n, k] = sizes;
        let product_of = Product {
            m,
            n,
            k,
            a: a.0,
            lda: e.n(a.1),
            transpose_a: a.2,
            b: b.0,
            ldb: e.n(b.1),
            transpose_b: b.2,
            c: c.0,
            ldc: e.n(c.1),
            is_narrow: false,
            accumulate,
            blocking: Blocking::of_attention(self.shape, a.0.element),
            workspace: self.workspace,
        };
        product(e, &product_of, None);
    }
}

/// Runs `body(sequence start row)` for each sequence.
fn for_sequences<'c>(e: &Emitter<'c>, shape: &Attention, body: impl FnOnce(I<'c>)) {
    e.for_each(e.n(0), e.n(shape.batch), 1, |batch| body(e.imul(batch, e.n(shape.seq))));
}

/// Runs `body(query head, key head, first query, queries, keys)` for each head and block of a sequence.
fn for_blocks<'c>(
    e: &Emitter<'c>,
    shape: &Attention,
    body: impl FnOnce(I<'c>, I<'c>, I<'c>, I<'c>, I<'c>),
) {
    let group = shape.heads / shape.kv_heads;
    e.for_each(e.n(0), e.n(shape.heads), 1, |head| {
        e.for_each(e.n(0), e.n(shape.seq), QUERY_BLOCK, |query| {
            let queries = e.imin(e.n(QUERY_BLOCK), e.isub(e.n(shape.seq), query));
            body(head, e.idiv(head, group), query, queries, e.iadd(query, queries));
        });
    });
}

/// A block of query rows as it is summed: in place, or, where the result is of bf16, in workspace.
struct QuerySums<'c> {
    at: P<'c>,
    stride: u64,
    is_apart: bool,
}

impl<'c> QuerySums<'c> {
    fn of(e: &Emitter<'c>, result: P<'c>, stride: u64, apart: P<'c>, width: u64) -> Self {
        match result.element == e.dtype() {
            true => Self { at: result, stride, is_apart: false },
            false => Self { at: apart, stride: width, is_apart: true },
        }
    }

    /// Rounds the rows to the result, if they are elsewhere.
    fn finish(&self, e: &Emitter<'c>, queries: I<'c>, width: u64, result: P<'c>, stride: u64) {
        if self.is_apart {
            e.for_each(e.n(0), queries, 1, |i| {
                let from = e.at(self.at, e.imul(i, e.n(width)));
                copy(e, from, e.at(result, e.imul(i, e.n(stride))), width);
            });
        }
    }
}

/// Address of `row` of head `head` in a tensor whose rows hold `heads` heads.
fn head_row<'c>(
    e: &Emitter<'c>,
    base: P<'c>,
    row: I<'c>,
    heads: u64,
    head: I<'c>,
    width: u64,
) -> P<'c> {
    e.at(base, e.imul(e.iadd(e.imul(row, e.n(heads)), head), e.n(width)))
}

/// `q, k, v, o, [lse]`.
pub(super) fn forward(launch: &Launch<'_, '_>, shape: &Attention, with_lse: bool) {
    let e = launch.e;
    let [q, k, v, o] = [0, 1, 2, 3].map(|i: usize| launch.buffers[i]);
    let stride = score_stride(shape.seq);
    let scores = launch.workspace;
    let work = Head { e, shape, workspace: e.at(scores, e.n(QUERY_BLOCK * stride)) };
    let (width, query_stride, key_stride) =
        (shape.head_dim, shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim);
    let scale = e.float(1.0 / (width as f64).sqrt());
    let apart = e.at(work.workspace, e.n(attention_gemm_elems(shape, e.dtype())));
    for_sequences(e, shape, |first_row| {
        for_blocks(e, shape, |head, key_head, query, queries, keys| {
            let query_row = e.iadd(first_row, query);
            let q = head_row(e, q, query_row, shape.heads, head, width);
            let o = head_row(e, o, query_row, shape.heads, head, width);
            let [k, v] =
                [k, v].map(|base| head_row(e, base, first_row, shape.kv_heads, key_head, width));
            work.multiply(
                [queries, keys, e.n(width)],
                (q, query_stride, false),
                (k, key_stride, true),
                (scores, stride),
                false,
            );
            e.for_each(e.n(0), queries, 1, |i| {
                let row = e.at(scores, e.imul(i, e.n(stride)));
                let visible = e.iadd(e.iadd(query, i), e.n(1));
                let lanes = e.lanes();
                let lowest = repeated(e, e.float(f64::NEG_INFINITY));
                let zero = repeated(e, e.float(0.0));
                let largest = e.local(lowest);
                e.for_each(e.n(0), visible, lanes, |j| {
                    let value = e.mul(e.load_piece(row, j, lanes), scale);
                    let value = e.select(e.lanes_before(j, visible), value, lowest);
                    e.set(&largest, e.max(e.get(&largest), value));
                });
                let largest = e.lane_max(e.get(&largest));
                let sum = e.local(zero);
                e.for_each(e.n(0), visible, lanes, |j| {
                    let value = e.exp(e.sub(e.mul(e.load_piece(row, j, lanes), scale), largest));
                    let value = e.select(e.lanes_before(j, visible), value, zero);
                    e.store_piece(row, j, value, lanes);
                    e.set(&sum, e.add(e.get(&sum), value));
                });
                let sum = e.lane_sum(e.get(&sum));
                let inverse = e.div(e.float(1.0), sum);
                // Also clears what lies between the last visible key and the block's last key.
                e.for_each(e.n(0), keys, lanes, |j| {
                    let value = e.mul(e.load_piece(row, j, lanes), inverse);
                    e.store_piece(row, j, e.select(e.lanes_before(j, visible), value, zero), lanes);
                });
                if with_lse {
                    // The sequence's first row is batch * seq, so its lse rows start at that times the heads.
                    let start =
                        e.iadd(e.imul(first_row, e.n(shape.heads)), e.imul(head, e.n(shape.seq)));
                    let at = e.iadd(start, e.iadd(query, i));
                    e.store(launch.buffers[4], at, e.add(largest, e.log(sum)));
                }
            });
            let sums = QuerySums::of(e, o, query_stride, apart, width);
            work.multiply(
                [queries, e.n(width), keys],
                (scores, stride, false),
                (v, key_stride, false),
                (sums.at, sums.stride),
                false,
            );
            sums.finish(e, queries, width, o, query_stride);
        })
    });
}

/// `q, k, v, o, lse, do, dq, dk, dv`. With `P` the probabilities and `D = rowsum(do * o)`:
/// `dv = P' do`, `dS = P * (do v' - D) * scale`, `dq = dS k`, `dk = dS' q` (Dao et al., FlashAttention, 2022, B.4).
pub(super) fn gradient(launch: &Launch<'_, '_>, shape: &Attention) {
    let e = launch.e;
    let [q, k, v, o, lse, d_o, dq, dk, dv] = std::array::from_fn(|i| launch.buffers[i]);
    let stride = score_stride(shape.seq);
    let probabilities = launch.workspace;
    let d_scores = e.at(probabilities, e.n(QUERY_BLOCK * stride));
    let work = Head { e, shape, workspace: e.at(d_scores, e.n(QUERY_BLOCK * stride)) };
    let (width, query_stride, key_stride) =
        (shape.head_dim, shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim);
    let scale = e.float(1.0 / (width as f64).sqrt());
    let query_apart = e.at(work.workspace, e.n(attention_gemm_elems(shape, e.dtype())));
    let keys_of_one = shape.seq * key_stride;
    let key_apart = e.at(query_apart, e.n(QUERY_BLOCK * width));
    for_sequences(e, shape, |first_row| {
        let results = [dk, dv].map(|base| e.at(base, e.imul(first_row, e.n(key_stride))));
        let is_apart = dk.element != e.dtype();
        let sums = match is_apart {
            true => [key_apart, e.at(key_apart, e.n(keys_of_one))],
            false => results,
        };
        sums.iter().for_each(|sum| fill_zero(e, *sum, keys_of_one));
        for_blocks(e, shape, |head, key_head, query, queries, keys| {
            let query_row = e.iadd(first_row, query);
            let [q, o, d_o, dq] =
                [q, o, d_o, dq].map(|base| head_row(e, base, query_row, shape.heads, head, width));
            let [k, v] =
                [k, v].map(|base| head_row(e, base, first_row, shape.kv_heads, key_head, width));
            let [dk, dv] = sums.map(|base| e.at(base, e.imul(key_head, e.n(width))));
            let lse_start =
                e.iadd(e.imul(first_row, e.n(shape.heads)), e.imul(head, e.n(shape.seq)));
            let (wide, zero, lanes) = (e.n(width), repeated(e, e.float(0.0)), e.lanes());

            work.multiply(
                [queries, keys, wide],
                (q, query_stride, false),
                (k, key_stride, true),
                (probabilities, stride),
                false,
            );
            e.for_each(e.n(0), queries, 1, |i| {
                let row = e.at(probabilities, e.imul(i, e.n(stride)));
                let position = e.iadd(query, i);
                let visible = e.iadd(position, e.n(1));
                let lse = e.load(lse, e.iadd(lse_start, position));
                e.for_each(e.n(0), keys, lanes, |j| {
                    let value = e.exp(e.sub(e.mul(e.load_piece(row, j, lanes), scale), lse));
                    e.store_piece(row, j, e.select(e.lanes_before(j, visible), value, zero), lanes);
                });
            });
            work.multiply(
                [keys, wide, queries],
                (probabilities, stride, true),
                (d_o, query_stride, false),
                (dv, key_stride),
                true,
            );
            work.multiply(
                [queries, keys, wide],
                (d_o, query_stride, false),
                (v, key_stride, true),
                (d_scores, stride),
                false,
            );
            e.for_each(e.n(0), queries, 1, |i| {
                let p = e.at(probabilities, e.imul(i, e.n(stride)));
                let ds = e.at(d_scores, e.imul(i, e.n(stride)));
                let offset = e.imul(i, e.n(query_stride));
                let (o, d_o) = (e.at(o, offset), e.at(d_o, offset));
                let visible = e.iadd(e.iadd(query, i), e.n(1));
                let dot =
                    row_sum(e, width, |c, w| e.mul(e.load_piece(o, c, w), e.load_piece(d_o, c, w)));
                e.for_each(e.n(0), keys, lanes, |j| {
                    let difference = e.sub(e.load_piece(ds, j, lanes), dot);
                    let value = e.mul(e.mul(e.load_piece(p, j, lanes), difference), scale);
                    e.store_piece(ds, j, e.select(e.lanes_before(j, visible), value, zero), lanes);
                });
            });
            let query_sums = QuerySums::of(e, dq, query_stride, query_apart, width);
            work.multiply(
                [queries, wide, keys],
                (d_scores, stride, false),
                (k, key_stride, false),
                (query_sums.at, query_sums.stride),
                false,
            );
            query_sums.finish(e, queries, width, dq, query_stride);
            work.multiply(
                [keys, wide, queries],
                (d_scores, stride, true),
                (q, query_stride, false),
                (dk, key_stride),
                true,
            );
        });
        if is_apart {
            sums.iter().zip(results).for_each(|(sum, result)| copy(e, *sum, result, keys_of_one));
        }
    });
}
