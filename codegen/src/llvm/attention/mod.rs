//! Causal attention over blocks of keys, one query head at a time: what a block of queries and a block of keys give each other
//! stays in workspace that does not grow with the sequence, and is never a matrix of all scores.
//!
//! Scores lie transposed, `[keys][queries]`: a vector holds the same key of neighbouring queries, so the maximum, the sum and
//! every weight of a query are found lane by lane, with nothing to fold across lanes. The products run on register tiles as
//! those of [`super::gemm`] do, with two differences. What follows a tile (the mask, the maximum, the exponential) is done
//! while it is in registers, and rows and depth of a tile end at the diagonal: a block on it costs little more than what it may
//! see.
//!
//! Online softmax is from Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018); attention in blocks from
//! Dao, "FlashAttention-2" (2023).

mod forward;
mod gradient;

pub(super) use forward::forward;
pub(super) use gradient::gradient;

use super::Launch;
use super::emit::{Emitter, I, P, V};
use super::gemm::{self, Tile};
use super::rows::copy;
use crate::attention_blocks::{KEYS, QUERIES};
use crate::kernel::{Attention, Dtype};
use inkwell::IntPredicate;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::FunctionValue;

/// A block of keys against a block of queries, as the shared functions take it.
#[derive(Clone, Copy)]
struct Block<'c> {
    keys: I<'c>,
    queries: I<'c>,
    /// First query less first key, both positions in the sequence; query `i` sees key `j` if `j <= i + offset`.
    offset: I<'c>,
}

impl<'c> Block<'c> {
    fn args(self) -> [V<'c>; 3] {
        [self.keys.into(), self.queries.into(), self.offset.into()]
    }

    fn of(args: &[V<'c>]) -> Self {
        let [keys, queries, offset] = [0, 1, 2].map(|i: usize| args[i].into_int_value());
        Self { keys, queries, offset }
    }

    /// Keys to be walked so that every key that one of the queries `from..from + count` sees is among them. A tile of rows
    /// that does not end with a vector of queries sees a few more, hence the slack.
    fn keys_of(self, e: &Emitter<'c>, from: I<'c>, count: u64) -> I<'c> {
        let tile = Tile::of(e.level, e.dtype(), false);
        let slack = if tile.lanes.is_multiple_of(tile.mr) { 0 } else { tile.mr };
        e.imin(self.keys, e.iadd(e.iadd(self.offset, from), e.n(count + slack)))
    }
}

/// Tiles of scores: their columns are queries.
fn score_tile(e: &Emitter<'_>) -> Tile {
    Tile::of(e.level, e.dtype(), false)
}

/// Tiles of what has the width of a head.
fn head_tile(e: &Emitter<'_>, width: u64) -> Tile {
    Tile::of(e.level, e.dtype(), gemm::is_narrow(e, width))
}

/// Types of the arguments of a shared function: a block, `ints` sizes, `pointers` places, and perhaps a scale.
fn signature<'c>(
    e: &Emitter<'c>,
    ints: usize,
    pointers: usize,
    has_scale: bool,
) -> Vec<BasicMetadataTypeEnum<'c>> {
    let mut list = vec![BasicMetadataTypeEnum::from(e.i64()); 3 + ints];
    list.extend(vec![e.ptr_type(); pointers]);
    list.extend(has_scale.then(|| BasicMetadataTypeEnum::from(e.real())));
    list
}

/// Sums of one register tile: `depth` steps of column `a(row, step)` by a row of the panel `b`; `finish` gets them by row and
/// vector.
fn tile_sums<'c>(
    e: &Emitter<'c>,
    tile: Tile,
    depth: I<'c>,
    a: impl Fn(usize, I<'c>) -> V<'c>,
    b: P<'c>,
    finish: impl FnOnce(&dyn Fn(usize, usize) -> V<'c>),
) {
    let Tile { mr, lanes, vectors, nr } = tile;
    let zero = V::from(e.vector(lanes).const_zero());
    let row_of_sums = |_| (0..vectors).map(|_| e.local(zero)).collect::<Vec<_>>();
    let sums: Vec<_> = (0..mr).map(row_of_sums).collect();
    e.for_each(e.n(0), depth, 1, |p| {
        let row = e.at(b, e.imul(p, e.n(nr)));
        let column = |v| e.load_lanes(e.at(row, e.n(v * lanes)), lanes);
        let columns: Vec<V<'c>> = (0..vectors).map(column).collect();
        for (i, own) in sums.iter().enumerate() {
            let value = V::from(e.splat(a(i, p), lanes));
            for (sum, &column) in own.iter().zip(&columns) {
                e.set(sum, e.mul_add(value, column, e.get(sum)));
            }
        }
    });
    finish(&|i, v| e.get(&sums[i][v]));
}

/// A finished tile of scores: its rows are keys `row..` of the block, its columns queries `col..`.
struct ScoreTile<'t, 'c> {
    sums: &'t dyn Fn(usize, usize) -> V<'c>,
    tile: Tile,
    row: I<'c>,
    col: I<'c>,
    /// By how much the first query of the tile lies behind its first key, in positions of the sequence (it may be negative);
    /// only where some query does not see some key.
    diagonal: Option<I<'c>>,
}

/// One vector of a tile of scores.
struct At<'c> {
    /// Row of the tile.
    row: u64,
    /// Place in a block of scores.
    place: I<'c>,
    /// Query of the first lane, in the block.
    query: I<'c>,
}

impl<'c> ScoreTile<'_, 'c> {
    /// Runs `body(where, sums, mask)` for each vector, one column of vectors after the other; `mask(value, hidden)` puts
    /// `hidden` where a query does not see a key.
    fn for_vectors(
        &self,
        e: &Emitter<'c>,
        mut body: impl FnMut(At<'c>, V<'c>, &dyn Fn(V<'c>, V<'c>) -> V<'c>),
    ) {
        let Tile { mr, lanes, vectors, .. } = self.tile;
        for v in 0..vectors {
            let query = e.iadd(self.col, e.n(v * lanes));
            for row in 0..mr {
                let start = e.imul(e.iadd(self.row, e.n(row)), e.n(QUERIES));
                let mask = |value: V<'c>, hidden: V<'c>| match self.diagonal {
                    None => value,
                    Some(diagonal) => {
                        let first = (v * lanes) as i64 - row as i64;
                        e.select(e.lanes_reaching_zero(first, lanes, diagonal), value, hidden)
                    }
                };
                let at = At { row, place: e.iadd(start, query), query };
                body(at, (self.sums)(row as usize, v as usize), &mask);
            }
        }
    }
}

/// Emits a shared function over all tiles of a block of scores: `(block, width, lda, a, b, ..pointers, scale)`. The rows of `a`
/// are keys or values, `lda` apart, `b` is packed queries or gradients, the contraction is over `width`. `finish` gets the
/// further pointers and the scale.
fn score_function<'c>(
    e: &Emitter<'c>,
    name: &str,
    pointers: usize,
    finish: impl Fn(&ScoreTile<'_, 'c>, &[P<'c>], V<'c>),
) -> FunctionValue<'c> {
    let tile = score_tile(e);
    let types = signature(e, 2, 2 + pointers, true);
    e.shared(name, &types, |args| {
        let block = Block::of(args);
        let [width, lda] = [3, 4].map(|i: usize| args[i].into_int_value());
        let places: Vec<P<'c>> = (5..7 + pointers).map(|i| e.pointer(args[i], e.dtype())).collect();
        let scale = args[7 + pointers];
        e.for_each(e.n(0), block.queries, tile.nr, |col| {
            let b = e.at(places[1], e.imul(col, width));
            let rows = block.keys_of(e, col, tile.nr);
            let last = e.isub(block.keys, e.n(1));
            e.for_each(e.n(0), rows, tile.mr, |row| {
                // Rows beyond the last are copies of it, and nobody reads what they give.
                let starts: Vec<P<'c>> = (0..tile.mr)
                    .map(|i| e.imin(last, e.iadd(row, e.n(i))))
                    .map(|key| e.at(places[0], e.imul(key, lda)))
                    .collect();
                tile_sums(
                    e,
                    tile,
                    width,
                    |i, p| e.load(starts[i], p),
                    b,
                    |sums| {
                        let diagonal = e.isub(e.iadd(block.offset, col), row);
                        let last = e.iadd(row, e.n(tile.mr - 1));
                        let is_inside = e.icmp(IntPredicate::ULE, last, e.iadd(block.offset, col));
                        let with = |diagonal| {
                            let tile = ScoreTile { sums, tile, row, col, diagonal };
                            finish(&tile, &places[2..], scale);
                        };
                        e.if_else(is_inside, || with(None), || with(Some(diagonal)));
                    },
                );
            });
        });
    })
}

/// Calls a function made by [`score_function`]; `a` is where the rows are and how far they are apart.
fn call_scores<'c>(
    e: &Emitter<'c>,
    function: FunctionValue<'c>,
    block: Block<'c>,
    shape: &Attention,
    a: (P<'c>, u64),
    places: &[P<'c>],
    scale: V<'c>,
) {
    let mut args = block.args().to_vec();
    args.extend([V::from(e.n(shape.head_dim)), e.n(a.1).into(), a.0.into()]);
    args.extend(places.iter().map(|&p| V::from(p)));
    args.push(scale);
    e.call(function, &args);
}

/// Emits a shared function that sums over keys: `(block, width, ldc, depth, weights, b, c, factors)`, with `b` the packed rows
/// of `depth` keys or values, of which the block may be the first, and `width` their length. Row `i` of `c` becomes its `factors[i]` times what it was, plus
/// `sum_j weights[j][i] * b[j]`; a function that `overwrites` does not look at `c` and `factors`.
fn over_keys<'c>(e: &Emitter<'c>, tile: Tile, overwrites: bool) -> FunctionValue<'c> {
    let name = if overwrites { "attention_dq" } else { "attention_out" };
    let types = signature(e, 3, 4, false);
    e.shared(&format!("{name}{}", tile.nr), &types, |args| {
        let block = Block::of(args);
        let [width, ldc, depth] = [3, 4, 5].map(|i: usize| args[i].into_int_value());
        let [weights, b, c, factors] = [6, 7, 8, 9].map(|i: usize| e.pointer(args[i], e.dtype()));
        e.for_each(e.n(0), width, tile.nr, |col| {
            let b = e.at(b, e.imul(col, depth));
            e.for_each(e.n(0), block.queries, tile.mr, |row| {
                let seen = e.iadd(e.iadd(block.offset, row), e.n(tile.mr));
                let depth = e.imin(block.keys, seen);
                let a = e.at(weights, row);
                let value =
                    |i: usize, p: I<'c>| e.load(a, e.iadd(e.imul(p, e.n(QUERIES)), e.n(i as u64)));
                tile_sums(e, tile, depth, value, b, |sums| {
                    for i in 0..tile.mr as usize {
                        let row = e.iadd(row, e.n(i as u64));
                        let c = e.at(c, e.iadd(e.imul(row, ldc), col));
                        let factor = (!overwrites)
                            .then(|| V::from(e.splat(e.load(factors, row), tile.lanes)));
                        for v in 0..tile.vectors as usize {
                            let to = e.at(c, e.n(v as u64 * tile.lanes));
                            let sum = sums(i, v);
                            let value = factor.map_or(sum, |factor| {
                                e.mul_add(e.load_lanes(to, tile.lanes), factor, sum)
                            });
                            e.store_lanes(to, value);
                        }
                    }
                });
            });
        });
    })
}

/// Emits a shared function that sums over queries: `(block, width, ldc, depth, weights, b, c)`, with `b` the packed rows of queries or
/// gradients: `c[j] += sum_i weights[j][i] * b[i]` over the queries that see key `j`.
fn over_queries<'c>(e: &Emitter<'c>, tile: Tile) -> FunctionValue<'c> {
    let types = signature(e, 3, 3, false);
    e.shared(&format!("attention_dkv{}", tile.nr), &types, |args| {
        let block = Block::of(args);
        let [width, ldc, depth] = [3, 4, 5].map(|i: usize| args[i].into_int_value());
        let [weights, b, c] = [6, 7, 8].map(|i: usize| e.pointer(args[i], e.dtype()));
        e.for_each(e.n(0), width, tile.nr, |col| {
            let b = e.at(b, e.imul(col, depth));
            e.for_each(e.n(0), block.keys, tile.mr, |row| {
                // Queries before the first key of the tile see none of it.
                let first = e.isub(row, e.imin(row, block.offset));
                let depth = e.isub(block.queries, first);
                let b = e.at(b, e.imul(first, e.n(tile.nr)));
                let rows: Vec<P<'c>> = (0..tile.mr)
                    .map(|i| e.imul(e.iadd(row, e.n(i)), e.n(QUERIES)))
                    .map(|start| e.at(weights, e.iadd(start, first)))
                    .collect();
                tile_sums(
                    e,
                    tile,
                    depth,
                    |i, p| e.load(rows[i], p),
                    b,
                    |sums| {
                        for i in 0..tile.mr as usize {
                            let row = e.imul(e.iadd(row, e.n(i as u64)), ldc);
                            let c = e.at(c, e.iadd(row, col));
                            for v in 0..tile.vectors as usize {
                                let to = e.at(c, e.n(v as u64 * tile.lanes));
                                let value = e.add(e.load_lanes(to, tile.lanes), sums(i, v));
                                e.store_lanes(to, value);
                            }
                        }
                    },
                );
            });
        });
    })
}

/// Calls a function made by [`over_keys`] or [`over_queries`]; `depth` rows were packed.
fn call_sums<'c>(
    e: &Emitter<'c>,
    function: FunctionValue<'c>,
    block: Block<'c>,
    [width, ldc]: [u64; 2],
    depth: I<'c>,
    places: &[P<'c>],
) {
    let mut args = block.args().to_vec();
    args.extend([V::from(e.n(width)), e.n(ldc).into(), depth.into()]);
    args.extend(places.iter().map(|&p| V::from(p)));
    e.call(function, &args);
}

/// Packs `count` rows, `stride` apart, to panels that are walked along the head.
fn pack_across<'c>(
    e: &Emitter<'c>,
    (from, stride): (P<'c>, u64),
    count: I<'c>,
    shape: &Attention,
    to: P<'c>,
) {
    let pack = gemm::pack_b_transposed(e, score_tile(e), from.element);
    let width = e.n(shape.head_dim);
    e.call(pack, &[width.into(), count.into(), from.into(), e.n(stride).into(), to.into()]);
}

/// Packs `count` rows, `stride` apart, to panels that are walked along the rows.
fn pack_along<'c>(
    e: &Emitter<'c>,
    (from, stride): (P<'c>, u64),
    count: I<'c>,
    shape: &Attention,
    to: P<'c>,
) {
    let tile = head_tile(e, shape.head_dim);
    let pack = gemm::pack_rows(e, tile.nr, "pack_b", from.element);
    let width = e.n(shape.head_dim);
    e.call(pack, &[count.into(), width.into(), from.into(), e.n(stride).into(), to.into()]);
}

/// Rows of a head in the type computed in: where they lie, or, of bf16, widened to workspace.
fn rows_as_computed<'c>(
    e: &Emitter<'c>,
    (from, stride): (P<'c>, u64),
    count: I<'c>,
    width: u64,
    apart: P<'c>,
) -> (P<'c>, u64) {
    if from.element != Dtype::Bf16 {
        return (from, stride);
    }
    e.for_each(e.n(0), count, 1, |i| {
        let row = e.at(from, e.imul(i, e.n(stride)));
        copy(e, row, e.at(apart, e.imul(i, e.n(width))), width);
    });
    (apart, width)
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

/// Runs `body(first row of the sequence, head)` for each of `heads` heads of each sequence that this part of the launch takes.
fn for_heads<'c>(
    launch: &Launch<'_, 'c>,
    shape: &Attention,
    heads: u64,
    body: impl FnOnce(I<'c>, I<'c>),
) {
    let e = launch.e;
    launch.for_rows(shape.batch * heads, |index| {
        let first_row = e.imul(e.idiv(index, heads), e.n(shape.seq));
        body(first_row, e.irem(index, heads));
    });
}

/// Keys of the block at `first` before `end`.
fn keys_before<'c>(e: &Emitter<'c>, first: I<'c>, end: I<'c>) -> I<'c> {
    e.imin(e.n(KEYS), e.isub(end, first))
}
