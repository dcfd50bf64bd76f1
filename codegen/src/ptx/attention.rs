//! Causal attention, blocked over keys: a block keeps 16 queries of one head, eight threads each, and walks the keys they
//! may see. The softmax is kept up as keys arrive (Milakov and Gimelshein, "Online normalizer calculation for softmax",
//! 2018), so that the score matrix never reaches memory.

use super::device::Device;
use super::launch::{OWN_ROWS, ROW_THREADS, other_rows};
use crate::kernel::Attention;
use crate::llvm::emit::{I, P, V};
use inkwell::{FloatPredicate, IntPredicate};

/// A row of a head in shared memory: the head's width rounded up to what its threads share evenly, filled with zeros, and
/// one element against bank conflicts.
pub(super) fn row_width(s: &Attention) -> u64 {
    s.head_dim.next_multiple_of(ROW_THREADS) + 1
}

/// What a block of attention works on.
pub(super) struct Block<'k, 'e, 'c> {
    pub(super) k: &'k Device<'e, 'c>,
    pub(super) s: &'k Attention,
    /// Rows of the other side of a tile.
    pub(super) others: u64,
    /// First sequence row of the batch, in rows of the tensors.
    pub(super) first_row: I<'c>,
    /// Sequence number.
    pub(super) batch: I<'c>,
    /// Query head or key head, as the grid counts.
    pub(super) head: I<'c>,
    /// First position of the block's own rows.
    pub(super) own: I<'c>,
    /// Own row of this thread, and its number among the threads of that row.
    pub(super) row: I<'c>,
    pub(super) member: I<'c>,
}

impl<'k, 'e, 'c> Block<'k, 'e, 'c> {
    pub(super) fn new(
        k: &'k Device<'e, 'c>,
        s: &'k Attention,
        heads: u64,
        is_gradient: bool,
    ) -> Self {
        Self::over(k, s, heads, OWN_ROWS, other_rows(s, k.e.dtype(), is_gradient))
    }

    /// A block that keeps `own` rows while `others` at a time pass by.
    pub(super) fn over(
        k: &'k Device<'e, 'c>,
        s: &'k Attention,
        heads: u64,
        own: u64,
        others: u64,
    ) -> Self {
        let e = k.e;
        let tiles = s.seq.div_ceil(own);
        let (tile, rest) = (e.irem(k.block(0), tiles), e.idiv(k.block(0), tiles));
        let (head, batch) = (e.irem(rest, heads), e.idiv(rest, heads));
        Self {
            k,
            s,
            others,
            first_row: e.imul(batch, e.n(s.seq)),
            batch,
            head,
            own: e.imul(tile, e.n(own)),
            row: e.idiv(k.thread(), ROW_THREADS),
            member: e.irem(k.thread(), ROW_THREADS),
        }
    }

    /// Shared memory for `rows` rows of a head.
    pub(super) fn tile(&self, rows: u64) -> P<'c> {
        self.k.shared(self.k.e.dtype(), rows * row_width(self.s))
    }

    /// Shared memory for what passes between an own row and the rows of the other side.
    pub(super) fn scores(&self) -> P<'c> {
        self.k.shared(self.k.e.dtype(), OWN_ROWS * (self.others + 1))
    }

    /// Index of the first element of a head at a position.
    pub(super) fn head_start(&self, position: I<'c>, heads: u64, head: I<'c>) -> I<'c> {
        let e = self.k.e;
        let row = e.iadd(self.first_row, position);
        e.imul(e.iadd(e.imul(row, e.n(heads)), head), e.n(self.s.head_dim))
    }

    /// Copies `rows` rows of a head from a position on; beyond the sequence and the width there are zeros.
    pub(super) fn fill(
        &self,
        to: P<'c>,
        rows: u64,
        from: P<'c>,
        heads: u64,
        head: I<'c>,
        first: I<'c>,
    ) {
        let (k, e, s) = (self.k, self.k.e, self.s);
        let width = row_width(s) - 1;
        let threads = OWN_ROWS * ROW_THREADS;
        e.for_each(k.thread(), e.n(rows * width), threads, |index| {
            let (row, c) = (e.idiv(index, width), e.irem(index, width));
            let position = e.iadd(first, row);
            let is_inside = e.both(
                e.icmp(IntPredicate::ULT, position, e.n(s.seq)),
                e.icmp(IntPredicate::ULT, c, e.n(s.head_dim)),
            );
            let at = e.iadd(self.head_start(position, heads, head), c);
            let at = e.select(is_inside.into(), at.into(), e.n(0).into()).into_int_value();
            let value = e.select(is_inside.into(), e.load(from, at), e.float(0.0));
            e.store(to, e.iadd(e.imul(row, e.n(row_width(s))), c), value);
        });
    }

    /// Rows of the other side of this thread, `member`, `member + 8`, ..
    pub(super) fn other_rows_of_thread(&self) -> Vec<I<'c>> {
        let e = self.k.e;
        (0..self.others / ROW_THREADS).map(|i| e.iadd(self.member, e.n(i * ROW_THREADS))).collect()
    }

    /// Dot products of this thread's own row of `own` with its rows of `others`.
    pub(super) fn dots(&self, own: P<'c>, others: P<'c>) -> Vec<V<'c>> {
        let e = self.k.e;
        let width = e.n(row_width(self.s));
        let rows = self.other_rows_of_thread();
        let sums: Vec<_> = rows.iter().map(|_| e.local(e.float(0.0))).collect();
        let own_start = e.imul(self.row, width);
        e.for_each(e.n(0), e.n(self.s.head_dim), 1, |c| {
            let a = e.load(own, e.iadd(own_start, c));
            for (&row, sum) in rows.iter().zip(&sums) {
                let b = e.load(others, e.iadd(e.imul(row, width), c));
                e.set(sum, e.mul_add(a, b, e.get(sum)));
            }
        });
        sums.iter().map(|sum| e.get(sum)).collect()
    }

    /// Leaves a value for each of this thread's rows of the other side in `scores`.
    pub(super) fn put(&self, scores: P<'c>, values: &[V<'c>]) {
        let e = self.k.e;
        let start = e.imul(self.row, e.n(self.others + 1));
        for (&row, &value) in self.other_rows_of_thread().iter().zip(values) {
            e.store(scores, e.iadd(start, row), value);
        }
    }

    /// Columns of this thread: `member`, `member + 8`, ..
    pub(super) fn columns(&self) -> u64 {
        (row_width(self.s) - 1) / ROW_THREADS
    }

    /// Adds to this thread's columns of the own row the rows of the other side, weighted by `scores`.
    pub(super) fn add_weighted(
        &self,
        sums: &[crate::llvm::emit::Local<'c>],
        scores: P<'c>,
        others: P<'c>,
    ) {
        let e = self.k.e;
        let start = e.imul(self.row, e.n(self.others + 1));
        e.for_each(e.n(0), e.n(self.others), 1, |j| {
            let weight = e.load(scores, e.iadd(start, j));
            let row = e.iadd(e.imul(j, e.n(row_width(self.s))), self.member);
            for (i, sum) in (0..).zip(sums) {
                let value = e.load(others, e.iadd(row, e.n(i * ROW_THREADS)));
                e.set(sum, e.mul_add(weight, value, e.get(sum)));
            }
        });
    }

    /// Zeros for this thread's columns.
    pub(super) fn zeros(&self) -> Vec<crate::llvm::emit::Local<'c>> {
        (0..self.columns()).map(|_| self.k.e.local(self.k.e.float(0.0))).collect()
    }

    /// Writes this thread's columns of its own row, if it is in the sequence.
    pub(super) fn write(&self, to: P<'c>, heads: u64, head: I<'c>, values: &[V<'c>]) {
        let (e, s) = (self.k.e, self.s);
        let position = e.iadd(self.own, self.row);
        e.if_true(e.icmp(IntPredicate::ULT, position, e.n(s.seq)), || {
            let start = self.head_start(position, heads, head);
            for (i, &value) in (0..).zip(values) {
                let c = e.iadd(self.member, e.n(i * ROW_THREADS));
                let put = || e.store(to, e.iadd(start, c), value);
                match (i + 1) * ROW_THREADS <= s.head_dim {
                    true => put(),
                    false => e.if_true(e.icmp(IntPredicate::ULT, c, e.n(s.head_dim)), put),
                }
            }
        });
    }

    /// Index of a query in `lse`.
    pub(super) fn lse_at(&self, head: I<'c>, position: I<'c>) -> I<'c> {
        let e = self.k.e;
        let row = e.iadd(e.imul(self.batch, e.n(self.s.heads)), head);
        e.iadd(e.imul(row, e.n(self.s.seq)), position)
    }

    /// Factor of the scores.
    pub(super) fn scale(&self) -> V<'c> {
        self.k.e.float(1.0 / (self.s.head_dim as f64).sqrt())
    }
}

/// `q, k, v, o, [lse]`.
pub(super) fn forward(k: &Device<'_, '_>, s: &Attention, with_lse: bool) {
    let e = k.e;
    let b = Block::new(k, s, s.heads, false);
    let key_head = e.idiv(b.head, s.heads / s.kv_heads);
    let (queries, keys, values, scores) =
        (b.tile(OWN_ROWS), b.tile(b.others), b.tile(b.others), b.scores());
    b.fill(queries, OWN_ROWS, k.buffers[0], s.heads, b.head, b.own);
    let lowest = e.float(f64::NEG_INFINITY);
    let (largest, total, sums) = (e.local(lowest), e.local(e.float(0.0)), b.zeros());
    let position = e.iadd(b.own, b.row);
    let end = e.imin(e.iadd(b.own, e.n(OWN_ROWS)), e.n(s.seq));
    e.for_each(e.n(0), end, b.others, |first| {
        k.barrier();
        b.fill(keys, b.others, k.buffers[1], s.kv_heads, key_head, first);
        b.fill(values, b.others, k.buffers[2], s.kv_heads, key_head, first);
        k.barrier();
        let products = b.dots(queries, keys);
        let visible: Vec<V> = b
            .other_rows_of_thread()
            .into_iter()
            .map(|row| e.icmp(IntPredicate::ULE, e.iadd(first, row), position).into())
            .collect();
        let seen: Vec<V> = products
            .iter()
            .zip(&visible)
            .map(|(&product, &is_visible)| e.select(is_visible, e.mul(product, b.scale()), lowest))
            .collect();
        let old = e.get(&largest);
        let here = seen.iter().fold(old, |a, &score| e.max(a, score));
        let new = k.across(ROW_THREADS, here, |a, b| e.max(a, b));
        // A NaN among the scores loses every comparison; where nothing else is seen the maximum stays infinite, and the
        // difference would be a NaN of its own, which is what is wanted.
        let is_first = e.compare(FloatPredicate::OEQ, old, lowest);
        let shrink = e.select(is_first, e.float(0.0), e.exp(e.sub(old, new)));
        let weights: Vec<V> = seen
            .iter()
            .zip(&visible)
            .map(|(&score, &is_visible)| {
                e.select(is_visible, e.exp(e.sub(score, new)), e.float(0.0))
            })
            .collect();
        b.put(scores, &weights);
        let sum = weights[1..].iter().fold(weights[0], |a, &w| e.add(a, w));
        let sum = k.across(ROW_THREADS, sum, |a, b| e.add(a, b));
        e.set(&total, e.mul_add(e.get(&total), shrink, sum));
        e.set(&largest, new);
        k.barrier();
        for sum in &sums {
            e.set(sum, e.mul(e.get(sum), shrink));
        }
        b.add_weighted(&sums, scores, values);
    });
    let inverse = e.div(e.float(1.0), e.get(&total));
    let results: Vec<V> = sums.iter().map(|sum| e.mul(e.get(sum), inverse)).collect();
    b.write(k.buffers[3], s.heads, b.head, &results);
    if with_lse {
        let is_writer = e.both(
            e.icmp(IntPredicate::EQ, b.member, e.n(0)),
            e.icmp(IntPredicate::ULT, position, e.n(s.seq)),
        );
        let value = e.add(e.get(&largest), e.log(e.get(&total)));
        e.if_true(is_writer, || e.store(k.buffers[4], b.lse_at(b.head, position), value));
    }
}
