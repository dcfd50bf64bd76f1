//! Causal attention, straight from its definition.

use super::{Buffers, Element, dot, larger};
use crate::kernel::Attention;

/// Start of head `head` in row `row` of a tensor of `heads` heads.
fn at(row: usize, heads: u64, head: usize, width: usize) -> std::ops::Range<usize> {
    let start = (row * heads as usize + head) * width;
    start..start + width
}

/// Runs `body(first row of the sequence, query head, key head, query position, lse index)` for each query.
fn for_queries(s: &Attention, mut body: impl FnMut(usize, usize, usize, usize, usize)) {
    let (seq, heads) = (s.seq as usize, s.heads as usize);
    let group = heads / s.kv_heads as usize;
    for batch in 0..s.batch as usize {
        for head in 0..heads {
            for i in 0..seq {
                body(batch * seq, head, head / group, i, (batch * heads + head) * seq + i);
            }
        }
    }
}

pub(super) fn forward<T: Element>(s: &Attention, with_lse: bool, b: &mut Buffers<'_, '_>) {
    let (q, k, v) = (b.read::<T>(0), b.read::<T>(1), b.read::<T>(2));
    let width = s.head_dim as usize;
    let scale = T::new(1.0 / (width as f64).sqrt());
    let mut o = vec![T::ZERO; q.len()];
    let mut lse = vec![T::ZERO; (s.batch * s.heads * s.seq) as usize];
    for_queries(s, |first, head, key_head, i, lse_index| {
        let query = at(first + i, s.heads, head, width);
        let key = |j: usize| at(first + j, s.kv_heads, key_head, width);
        let scores: Vec<T> = (0..=i).map(|j| dot(&q[query.clone()], &k[key(j)]) * scale).collect();
        let largest = scores.iter().copied().reduce(larger).expect("a query sees itself");
        let weights: Vec<T> = scores.iter().map(|&s| (s - largest).exp()).collect();
        let sum = weights.iter().fold(T::ZERO, |sum, &w| sum + w);
        for (j, &w) in weights.iter().enumerate() {
            for (o, &v) in o[query.clone()].iter_mut().zip(&v[key(j)]) {
                *o = *o + w * (T::ONE / sum) * v;
            }
        }
        lse[lse_index] = largest + sum.ln();
    });
    b.write(3, &o);
    if with_lse {
        b.write(4, &lse);
    }
}

pub(super) fn gradient<T: Element>(s: &Attention, b: &mut Buffers<'_, '_>) {
    let [q, k, v, o, lse, d_o]: [Vec<T>; 6] = std::array::from_fn(|i| b.read(i));
    let width = s.head_dim as usize;
    let scale = T::new(1.0 / (width as f64).sqrt());
    let (mut dq, mut dk, mut dv) =
        (vec![T::ZERO; q.len()], vec![T::ZERO; k.len()], vec![T::ZERO; v.len()]);
    for_queries(s, |first, head, key_head, i, lse_index| {
        let query = at(first + i, s.heads, head, width);
        let offset = dot(&o[query.clone()], &d_o[query.clone()]);
        for j in 0..=i {
            let key = at(first + j, s.kv_heads, key_head, width);
            let weight = (dot(&q[query.clone()], &k[key.clone()]) * scale - lse[lse_index]).exp();
            let d_weight = dot(&d_o[query.clone()], &v[key.clone()]);
            let d_score = weight * (d_weight - offset) * scale;
            for (a, c) in query.clone().zip(key) {
                dv[c] = dv[c] + weight * d_o[a];
                dq[a] = dq[a] + d_score * k[c];
                dk[c] = dk[c] + d_score * q[a];
            }
        }
    });
    b.write(6, &dq);
    b.write(7, &dk);
    b.write(8, &dv);
}
