//! Gradient of causal attention in three steps: for each query the product of its output with the output's gradient; then
//! blocks that keep queries and walk keys; then blocks that keep keys and walk queries. Probabilities are computed in both
//! from `lse`, so that nothing is added up across blocks.
//!
//! With `P` the probabilities and `D = rowsum(do * o)`: `dv = P' do`, `dS = P * (do v' - D) * scale`, `dq = dS k`,
//! `dk = dS' q` (Dao et al., "FlashAttention", 2022, B.4).

use super::attention::Block;
use super::device::Device;
use super::launch::{self, OWN_ROWS, Team};
use crate::kernel::{Attention, Dtype};
use crate::llvm::emit::{I, V};
use inkwell::IntPredicate;

/// Leaves `rowsum(do * o)` in workspace, one for each row and head of the tensors.
pub(super) fn offsets(k: &Device<'_, '_>, s: &Attention, dtype: Dtype) {
    let e = k.e;
    let (team, lanes) = (Team::of(s.head_dim), launch::lanes(s.head_dim, dtype));
    k.row(team, s.batch * s.heads * s.seq, |row| {
        let [o, d_o] = [3, 5].map(|i: usize| e.at(k.buffers[i], e.imul(row, e.n(s.head_dim))));
        let dot = k.row_sum(team, s.head_dim, lanes, |c| {
            e.mul(k.load(o, c, lanes), k.load(d_o, c, lanes))
        });
        k.once(team, || e.store(k.scratch(e.dtype(), 0), row, dot));
    });
}

impl<'c> Block<'_, '_, 'c> {
    /// `lse` and the offset of a query; of a place beyond the sequence those of the first.
    pub(super) fn query(&self, head: I<'c>, position: I<'c>) -> (V<'c>, V<'c>) {
        let (k, e) = (self.k, self.k.e);
        let is_inside = e.icmp(IntPredicate::ULT, position, e.n(self.s.seq));
        let position = e.select(is_inside.into(), position.into(), e.n(0).into()).into_int_value();
        let row = e.iadd(self.first_row, position);
        let at = e.iadd(e.imul(row, e.n(self.s.heads)), head);
        let lse = e.load(k.buffers[4], self.lse_at(head, position));
        (lse, e.load(k.scratch(e.dtype(), 0), at))
    }

    /// Probability and gradient of a score, both zero where a query does not see the key.
    pub(super) fn score(
        &self,
        (lse, offset): (V<'c>, V<'c>),
        product: V<'c>,
        d_weight: V<'c>,
        is_visible: I<'c>,
    ) -> (V<'c>, V<'c>) {
        let e = self.k.e;
        let weight = e.exp(e.sub(e.mul(product, self.scale()), lse));
        let d_score = e.mul(e.mul(weight, e.sub(d_weight, offset)), self.scale());
        let zero = e.float(0.0);
        (e.select(is_visible.into(), weight, zero), e.select(is_visible.into(), d_score, zero))
    }
}

/// `q, k, v, o, lse, do, dq`.
pub(super) fn queries(k: &Device<'_, '_>, s: &Attention) {
    let e = k.e;
    let b = Block::new(k, s, s.heads, true);
    let key_head = e.idiv(b.head, s.heads / s.kv_heads);
    let (q, d_o, keys, values, scores) =
        (b.tile(OWN_ROWS), b.tile(OWN_ROWS), b.tile(b.others), b.tile(b.others), b.scores());
    b.fill(q, OWN_ROWS, k.buffers[0], s.heads, b.head, b.own);
    b.fill(d_o, OWN_ROWS, k.buffers[5], s.heads, b.head, b.own);
    let position = e.iadd(b.own, b.row);
    let query = b.query(b.head, position);
    let sums = b.zeros();
    let end = e.imin(e.iadd(b.own, e.n(OWN_ROWS)), e.n(s.seq));
    e.for_each(e.n(0), end, b.others, |first| {
        k.barrier();
        b.fill(keys, b.others, k.buffers[1], s.kv_heads, key_head, first);
        b.fill(values, b.others, k.buffers[2], s.kv_heads, key_head, first);
        k.barrier();
        let (products, d_weights) = (b.dots(q, keys), b.dots(d_o, values));
        let rows = b.other_rows_of_thread();
        let d_scores: Vec<V> = (0..rows.len())
            .map(|i| {
                let is_visible = e.icmp(IntPredicate::ULE, e.iadd(first, rows[i]), position);
                b.score(query, products[i], d_weights[i], is_visible).1
            })
            .collect();
        b.put(scores, &d_scores);
        k.barrier();
        b.add_weighted(&sums, scores, keys);
    });
    let results: Vec<V> = sums.iter().map(|sum| e.get(sum)).collect();
    b.write(k.buffers[6], s.heads, b.head, &results);
}

/// `q, k, v, o, lse, do, dk, dv`.
pub(super) fn keys(k: &Device<'_, '_>, s: &Attention) {
    let e = k.e;
    let b = Block::new(k, s, s.kv_heads, true);
    let (own_k, own_v, q, d_o, weights, scores) = (
        b.tile(OWN_ROWS),
        b.tile(OWN_ROWS),
        b.tile(b.others),
        b.tile(b.others),
        b.scores(),
        b.scores(),
    );
    b.fill(own_k, OWN_ROWS, k.buffers[1], s.kv_heads, b.head, b.own);
    b.fill(own_v, OWN_ROWS, k.buffers[2], s.kv_heads, b.head, b.own);
    let (d_keys, d_values) = (b.zeros(), b.zeros());
    let position = e.iadd(b.own, b.row);
    let group = s.heads / s.kv_heads;
    e.for_each(e.n(0), e.n(group), 1, |member| {
        let head = e.iadd(e.imul(b.head, e.n(group)), member);
        e.for_each(b.own, e.n(s.seq), b.others, |first| {
            k.barrier();
            b.fill(q, b.others, k.buffers[0], s.heads, head, first);
            b.fill(d_o, b.others, k.buffers[5], s.heads, head, first);
            k.barrier();
            let (products, d_weights) = (b.dots(own_k, q), b.dots(own_v, d_o));
            let rows = b.other_rows_of_thread();
            let (p, ds): (Vec<V>, Vec<V>) = (0..rows.len())
                .map(|i| {
                    let query = e.iadd(first, rows[i]);
                    let is_visible = e.both(
                        e.icmp(IntPredicate::ULE, position, query),
                        e.icmp(IntPredicate::ULT, query, e.n(s.seq)),
                    );
                    b.score(b.query(head, query), products[i], d_weights[i], is_visible)
                })
                .unzip();
            b.put(weights, &p);
            b.put(scores, &ds);
            k.barrier();
            b.add_weighted(&d_keys, scores, q);
            b.add_weighted(&d_values, weights, d_o);
        });
    });
    for (sums, to) in [(&d_keys, 7), (&d_values, 8)] {
        let results: Vec<V> = sums.iter().map(|sum| e.get(sum)).collect();
        b.write(k.buffers[to], s.kv_heads, b.head, &results);
    }
}
