//! Causal attention of bf16 on tensor cores, forward and backward, as Dao, "FlashAttention-2", 2023: a block of four warps
//! keeps 64 rows, a warp 16 of them, while tiles of the other side pass through two slots of shared memory, one on its way
//! while the other is used. Scores, softmax and sums are f32; probabilities and gradients of scores are rounded to bf16 where
//! they enter a product, and nowhere else.
//!
//! Scores stay in the registers that the product left them in: sums of two neighbouring tiles, rounded, are the left
//! fragment of the next product. Gradients of wide heads are the exception: their sums fill the registers of two warps, which
//! share 16 rows. Each finds the scores of half of the other side's rows, leaves them rounded in shared memory, and after a
//! barrier of the two adds what all of them contribute to half of the width.
//!
//! The formulas of the gradients are at [`super::attention_gradient`].

use super::attention::Block;
use super::device::Device;
use super::launch::{self, TensorAttention};
use super::tensor::{DEPTH, Panel, Rows, Sums};
use crate::kernel::{Attention, Dtype};
use crate::llvm::emit::{I, Local, P, V};
use inkwell::{FloatPredicate, IntPredicate};

/// Scores, or something like them, of one tile as a thread holds them.
type Tile<'c> = [V<'c>; 4];

/// The fragments of left operands whose contraction runs over the rows of the other side, 16 each.
type Lefts<'c> = Vec<[V<'c>; 4]>;

/// A block at work: the panels of its own rows lie first in shared memory, then two slots of two panels, then the scores that
/// warps share.
struct Tiles<'k, 'e, 'c> {
    k: &'k Device<'e, 'c>,
    s: &'k Attention,
    b: Block<'k, 'e, 'c>,
    t: TensorAttention,
    memory: P<'c>,
    own_panels: u64,
    /// Slot in use, and the row of the block's own that this thread holds first; the other is 8 further.
    slot: Local<'c>,
    row: I<'c>,
    /// First row of this thread's warp, and this thread's first column of a tile.
    warp_row: I<'c>,
    col: I<'c>,
    /// First row of the other side that this thread's warp finds scores for, and first column of its sums.
    first_other: I<'c>,
    first_col: I<'c>,
}

/// A tensor of heads that tiles come from: its buffer, its heads, and which of them.
#[derive(Clone, Copy)]
struct Source<'c> {
    buffer: usize,
    heads: u64,
    head: I<'c>,
}

impl<'k, 'e, 'c> Tiles<'k, 'e, 'c> {
    fn new(
        k: &'k Device<'e, 'c>,
        s: &'k Attention,
        heads: u64,
        t: TensorAttention,
        own_panels: u64,
    ) -> Self {
        let e = k.e;
        let (warp, lane) = (e.idiv(k.thread(), 32), e.irem(k.thread(), 32));
        let (group, part) = (e.idiv(warp, t.parts), e.irem(warp, t.parts));
        let warp_row = e.imul(group, e.n(16));
        Self {
            k,
            s,
            b: Block::over(k, s, heads, t.own, t.others),
            t,
            memory: k.dynamic_shared(Dtype::Bf16),
            own_panels,
            slot: e.local(e.n(0).into()),
            row: e.iadd(warp_row, e.idiv(lane, 4)),
            warp_row,
            col: e.imul(e.irem(lane, 4), e.n(2)),
            first_other: e.imul(part, e.n(t.others / t.parts)),
            first_col: e.imul(part, e.n(t.width / t.parts)),
        }
    }

    fn own_panel(&self, number: u64) -> Panel<'c> {
        let base = self.k.e.at(self.memory, self.k.e.n(number * self.t.elems()[0]));
        Panel { base, rows: self.t.own, width: self.t.width }
    }

    fn other_panel(&self, slot: I<'c>, number: u64) -> Panel<'c> {
        let e = self.k.e;
        let [own, other, _] = self.t.elems();
        let place =
            e.iadd(e.imul(slot, e.n(2 * other)), e.n(self.own_panels * own + number * other));
        Panel { base: e.at(self.memory, place), rows: self.t.others, width: self.t.width }
    }

    /// Scores that warps share: a row an own row, its columns the rows of the other side.
    fn shared_scores(&self, number: u64) -> Panel<'c> {
        let e = self.k.e;
        let [own, other, scores] = self.t.elems();
        let place = self.own_panels * own + 4 * other + number * scores;
        Panel { base: e.at(self.memory, e.n(place)), rows: self.t.own, width: self.t.others }
    }

    /// Starts to copy rows of a head from a position on; beyond the sequence and the width there are zeros.
    fn fill(&self, panel: Panel<'c>, from: Source<'c>, first: I<'c>) {
        let (k, e, s) = (self.k, self.k.e, self.s);
        let source = |row: I<'c>, col: I<'c>| {
            let position = e.iadd(first, row);
            let index = e.iadd(self.b.head_start(position, from.heads, from.head), col);
            let is_sure = s.seq.is_multiple_of(self.t.own);
            let inside = k.all(
                k.below(position, s.seq, is_sure),
                k.below(col, s.head_dim, s.head_dim == self.t.width),
            );
            (index, inside)
        };
        let lanes = launch::copy_lanes(s.head_dim);
        k.fill(panel, self.t.block(), lanes, k.buffers[from.buffer], &source);
    }

    /// Runs `body` with the slot and the first row of each tile of two tensors, from a row on, while the next is copied.
    fn walk(&self, from: [I<'c>; 2], sources: [Source<'c>; 2], body: impl FnOnce(I<'c>, I<'c>)) {
        let (k, e) = (self.k, self.k.e);
        let [first, end] = from;
        let fill = |slot: I<'c>, at: I<'c>| {
            for (number, source) in (0..).zip(sources) {
                self.fill(self.other_panel(slot, number), source, at);
            }
        };
        fill(e.get(&self.slot).into_int_value(), first);
        k.commit();
        e.for_each(first, end, self.t.others, |at| {
            let slot = e.get(&self.slot).into_int_value();
            let (other, next) = (e.isub(e.n(1), slot), e.iadd(at, e.n(self.t.others)));
            e.if_true(e.icmp(IntPredicate::ULT, next, end), || fill(other, next));
            k.commit();
            k.wait(1);
            k.barrier();
            body(slot, at);
            k.barrier();
            e.set(&self.slot, other.into());
        });
    }

    /// Own rows times the rows of the other side that are this warp's, over the width of a head.
    fn scores(&self, own: Panel<'c>, others: Panel<'c>) -> Vec<Tile<'c>> {
        let (k, e) = (self.k, self.k.e);
        let sums = k.no_sums(self.t.others / self.t.parts / 8);
        for deep in (0..self.t.width).step_by(DEPTH as usize) {
            let left = k.left(own, Rows::Along, self.warp_row, e.n(deep));
            for j in (0..sums.len()).step_by(2) {
                let row = e.iadd(self.first_other, e.n(8 * j as u64));
                let right = k.right(others, Rows::Along, row, e.n(deep));
                right
                    .iter()
                    .zip(&sums[j..])
                    .for_each(|(right, sums)| k.multiply(&left, right, sums));
            }
        }
        sums.iter().map(|tile| tile.each_ref().map(|sum| e.get(sum))).collect()
    }

    /// Several kinds of weights of the other side's rows, rounded, as left operands.
    fn lefts<const N: usize>(&self, weights: [&[Tile<'c>]; N]) -> [Lefts<'c>; N] {
        let (k, e) = (self.k, self.k.e);
        let narrowed = weights.map(|tiles| -> Lefts<'c> {
            tiles.chunks_exact(2).map(|pair| k.narrowed([&pair[0], &pair[1]])).collect()
        });
        if self.t.parts == 1 {
            return narrowed;
        }
        let panels: [Panel<'c>; N] =
            std::array::from_fn(|number| self.shared_scores(number as u64));
        for (&panel, lefts) in panels.iter().zip(&narrowed) {
            for (step, left) in (0..).zip(lefts) {
                k.put_left(panel, self.row, e.iadd(self.first_other, e.n(DEPTH * step)), left);
            }
        }
        // The block's barrier at the end of a step keeps the next one's scores from overtaking this one's readers.
        let group = e.idiv(k.thread(), 32 * self.t.parts);
        k.barrier_of(e.iadd(group, e.n(1)), 32 * self.t.parts);
        panels.map(|panel| {
            (0..self.t.others / DEPTH)
                .map(|step| k.left(panel, Rows::Along, self.warp_row, e.n(DEPTH * step)))
                .collect()
        })
    }

    /// Adds weights times rows of the other side, over the columns that are this warp's.
    fn add_weighted(&self, weights: &Lefts<'c>, others: Panel<'c>, sums: &[Sums<'c>]) {
        let (k, e) = (self.k, self.k.e);
        for (step, left) in (0..).zip(weights) {
            for j in (0..sums.len()).step_by(2) {
                let col = e.iadd(self.first_col, e.n(8 * j as u64));
                let right = k.right(others, Rows::Across, col, e.n(DEPTH * step));
                right
                    .iter()
                    .zip(&sums[j..])
                    .for_each(|(right, sums)| k.multiply(left, right, sums));
            }
        }
    }

    /// Sums over this warp's part of the width of a head.
    fn no_sums(&self) -> Vec<Sums<'c>> {
        self.k.no_sums(self.t.width / self.t.parts / 8)
    }

    /// Position of this thread's row, the first or the second.
    fn position(&self, half: usize) -> I<'c> {
        let e = self.k.e;
        e.iadd(self.b.own, e.iadd(self.row, e.n(8 * half as u64)))
    }

    /// Position of the other side that a number of a tile belongs to: column `part` of this thread's in the tile's.
    fn other_position(&self, first: I<'c>, tile: usize, part: usize) -> I<'c> {
        let e = self.k.e;
        let col = e.iadd(self.first_other, self.col);
        e.iadd(first, e.iadd(col, e.n((8 * tile + part) as u64)))
    }

    /// Writes sums over the width of a head, times a factor for each of this thread's rows.
    fn write(&self, to: Source<'c>, sums: &[Sums<'c>], factors: Option<[V<'c>; 2]>) {
        let (k, e, s) = (self.k, self.k.e, self.s);
        for half in 0..2 {
            let position = self.position(half);
            e.if_true(e.icmp(IntPredicate::ULT, position, e.n(s.seq)), || {
                let start = self.b.head_start(position, to.heads, to.head);
                for (tile, sums) in (0..).zip(sums) {
                    let col = e.iadd(e.iadd(self.first_col, self.col), e.n(8 * tile));
                    // As far as the last warp's columns reach.
                    let end = self.t.width - self.t.width / self.t.parts + 8 * (tile + 1);
                    let value = |part: usize| {
                        let sum = e.get(&sums[2 * half + part]);
                        factors.map_or(sum, |factors| e.mul(sum, factors[half]))
                    };
                    let put = |part: usize, value: V<'c>| {
                        let col = e.iadd(col, e.n(part as u64));
                        let store = || k.store(k.buffers[to.buffer], e.iadd(start, col), value);
                        match k.below(col, s.head_dim, end <= s.head_dim) {
                            Some(inside) => e.if_true(inside, store),
                            None => store(),
                        }
                    };
                    match s.head_dim.is_multiple_of(2) {
                        true => put(0, k.vector(&[value(0), value(1)])),
                        false => (0..2).for_each(|part| put(part, value(part))),
                    }
                }
            });
        }
    }
}

/// `q, k, v, o, [lse]`.
pub(super) fn forward(k: &Device<'_, '_>, s: &Attention, t: TensorAttention, with_lse: bool) {
    let e = k.e;
    let a = Tiles::new(k, s, s.heads, t, 1);
    let key_head = e.idiv(a.b.head, s.heads / s.kv_heads);
    let of_queries = |buffer| Source { buffer, heads: s.heads, head: a.b.head };
    let of_keys = |buffer| Source { buffer, heads: s.kv_heads, head: key_head };
    let queries = a.own_panel(0);
    a.fill(queries, of_queries(0), a.b.own);
    let lowest = e.float(f64::NEG_INFINITY);
    let largest = [0, 1].map(|_| e.local(lowest));
    let total = [0, 1].map(|_| e.local(e.float(0.0)));
    let sums = a.no_sums();
    let end = e.imin(e.iadd(a.b.own, e.n(t.own)), e.n(s.seq));
    a.walk([e.n(0), end], [of_keys(1), of_keys(2)], |slot, first| {
        let mut scores = a.scores(queries, a.other_panel(slot, 0));
        for half in 0..2 {
            let position = a.position(half);
            let mut here = e.get(&largest[half]);
            for (tile, scores) in scores.iter_mut().enumerate() {
                for part in 0..2 {
                    let key = a.other_position(first, tile, part);
                    let is_visible = e.icmp(IntPredicate::ULE, key, position);
                    let score = &mut scores[2 * half + part];
                    *score = e.select(is_visible.into(), e.mul(*score, a.b.scale()), lowest);
                    here = e.max(here, *score);
                }
            }
            let (old, new) = (e.get(&largest[half]), k.across(4, here, |a, b| e.max(a, b)));
            let is_first = e.compare(FloatPredicate::OEQ, old, lowest);
            let shrink = e.select(is_first, e.float(0.0), e.exp(e.sub(old, new)));
            let mut sum = e.float(0.0);
            for (tile, scores) in scores.iter_mut().enumerate() {
                for part in 0..2 {
                    let key = a.other_position(first, tile, part);
                    let is_visible = e.icmp(IntPredicate::ULE, key, position);
                    let score = &mut scores[2 * half + part];
                    let weight = e.exp(e.sub(*score, new));
                    *score = e.select(is_visible.into(), weight, e.float(0.0));
                    sum = e.add(sum, *score);
                }
            }
            let sum = k.across(4, sum, |a, b| e.add(a, b));
            e.set(&total[half], e.mul_add(e.get(&total[half]), shrink, sum));
            e.set(&largest[half], new);
            for sum in sums.iter().flat_map(|tile| &tile[2 * half..2 * half + 2]) {
                e.set(sum, e.mul(e.get(sum), shrink));
            }
        }
        let [weights] = a.lefts([&scores]);
        a.add_weighted(&weights, a.other_panel(slot, 1), &sums);
    });
    let inverse = total.each_ref().map(|total| e.div(e.float(1.0), e.get(total)));
    a.write(of_queries(3), &sums, Some(inverse));
    if with_lse {
        for half in 0..2 {
            let position = a.position(half);
            let is_writer = e.both(
                e.icmp(IntPredicate::EQ, a.col, e.n(0)),
                e.icmp(IntPredicate::ULT, position, e.n(s.seq)),
            );
            let value = e.add(e.get(&largest[half]), e.log(e.get(&total[half])));
            let at = a.b.lse_at(a.b.head, position);
            e.if_true(is_writer, || e.store(k.buffers[4], at, value));
        }
    }
}

/// `q, k, v, o, lse, do, dq`.
pub(super) fn queries(k: &Device<'_, '_>, s: &Attention, t: TensorAttention) {
    let e = k.e;
    let a = Tiles::new(k, s, s.heads, t, 2);
    let key_head = e.idiv(a.b.head, s.heads / s.kv_heads);
    let of_queries = |buffer| Source { buffer, heads: s.heads, head: a.b.head };
    let of_keys = |buffer| Source { buffer, heads: s.kv_heads, head: key_head };
    let (q, d_o) = (a.own_panel(0), a.own_panel(1));
    a.fill(q, of_queries(0), a.b.own);
    a.fill(d_o, of_queries(5), a.b.own);
    let rows = [0, 1].map(|half| a.b.query(a.b.head, a.position(half)));
    let sums = a.no_sums();
    let end = e.imin(e.iadd(a.b.own, e.n(t.own)), e.n(s.seq));
    a.walk([e.n(0), end], [of_keys(1), of_keys(2)], |slot, first| {
        let (keys, values) = (a.other_panel(slot, 0), a.other_panel(slot, 1));
        let (products, d_weights) = (a.scores(q, keys), a.scores(d_o, values));
        let d_score = |tile: usize, i: usize| {
            let (half, part) = (i / 2, i % 2);
            let key = a.other_position(first, tile, part);
            let is_visible = e.icmp(IntPredicate::ULE, key, a.position(half));
            a.b.score(rows[half], products[tile][i], d_weights[tile][i], is_visible).1
        };
        let d_scores: Vec<Tile> =
            (0..products.len()).map(|tile| std::array::from_fn(|i| d_score(tile, i))).collect();
        let [d_scores] = a.lefts([&d_scores]);
        a.add_weighted(&d_scores, keys, &sums);
    });
    a.write(of_queries(6), &sums, None);
}

/// `q, k, v, o, lse, do, dk, dv`.
pub(super) fn keys(k: &Device<'_, '_>, s: &Attention, t: TensorAttention) {
    let a = Tiles::new(k, s, s.kv_heads, t, 2);
    let of_keys = |buffer| Source { buffer, heads: s.kv_heads, head: a.b.head };
    let (own_k, own_v) = (a.own_panel(0), a.own_panel(1));
    a.fill(own_k, of_keys(1), a.b.own);
    a.fill(own_v, of_keys(2), a.b.own);
    let (d_keys, d_values) = (a.no_sums(), a.no_sums());
    a.walk_queries(&d_keys, &d_values);
    a.write(of_keys(7), &d_keys, None);
    a.write(of_keys(8), &d_values, None);
}

impl<'c> Tiles<'_, '_, 'c> {
    /// Adds to the gradients of the keys and the values that are the block's own what all queries that see them contribute.
    fn walk_queries(&self, d_keys: &[Sums<'c>], d_values: &[Sums<'c>]) {
        let (e, s) = (self.k.e, self.s);
        let (own_k, own_v) = (self.own_panel(0), self.own_panel(1));
        let group = s.heads / s.kv_heads;
        e.for_each(e.n(0), e.n(group), 1, |member| {
            let head = e.iadd(e.imul(self.b.head, e.n(group)), member);
            let of_queries = |buffer| Source { buffer, heads: s.heads, head };
            let sources = [of_queries(0), of_queries(5)];
            self.walk([self.b.own, e.n(s.seq)], sources, |slot, first| {
                let (q, d_o) = (self.other_panel(slot, 0), self.other_panel(slot, 1));
                let mut weights = self.scores(own_k, q);
                let mut d_scores = self.scores(own_v, d_o);
                for tile in 0..weights.len() {
                    for part in 0..2 {
                        let position = self.other_position(first, tile, part);
                        let query = self.b.query(head, position);
                        let is_there = e.icmp(IntPredicate::ULT, position, e.n(s.seq));
                        for half in 0..2 {
                            let is_later = e.icmp(IntPredicate::ULE, self.position(half), position);
                            let is_visible = e.both(is_later, is_there);
                            let (product, d_weight) = (
                                &mut weights[tile][2 * half + part],
                                &mut d_scores[tile][2 * half + part],
                            );
                            (*product, *d_weight) =
                                self.b.score(query, *product, *d_weight, is_visible);
                        }
                    }
                }
                let [d_scores, weights] = self.lefts([&d_scores, &weights]);
                self.add_weighted(&d_scores, q, d_keys);
                self.add_weighted(&weights, d_o, d_values);
            });
        });
    }
}
