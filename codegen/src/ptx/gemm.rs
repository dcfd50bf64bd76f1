//! Matrix products by fused multiply-add: a block computes a tile of the result from panels in shared memory, a thread a
//! part of that in registers, while the next panels are on their way from memory.
//!
//! Sums ascend along the contraction with one rounding a step. Panels lie in shared memory with the contraction outermost,
//! whichever way the operands are stored. Edges read zeros instead of what lies beyond.

use super::device::Device;
use super::launch::{self, BLOCK, Tile};
use crate::kernel::{Access, Dtype, Epilogue, Gemm};
use crate::llvm::emit::{I, P, V};
use crate::llvm::map::program;
use inkwell::IntPredicate;

/// Rows and columns that a thread computes side by side, and the distance of its next ones.
const RUN: u64 = 4;
const STRIDE: u64 = 64;
/// Elements between rows of a panel beyond its width, against bank conflicts.
const PAD: u64 = 4;

/// One operand as the block sees it.
struct Operand<'c> {
    base: P<'c>,
    /// First row or column of the block's tile.
    first: I<'c>,
    /// Rows or columns there are, and in the tile.
    extent: u64,
    tile: u64,
    /// Whether neighbours along the tile, not along the contraction, are neighbours in memory.
    is_along_tile: bool,
}

/// Pieces of a panel that a thread carries, and their width.
struct Carry {
    lanes: u64,
    count: u64,
}

impl<'c> Operand<'c> {
    fn carry(&self, depth: u64, tile: Tile, dtype: Dtype) -> Carry {
        let lanes = launch::lanes(if self.is_along_tile { self.extent } else { depth }, dtype);
        Carry { lanes, count: self.tile * tile.k / lanes / BLOCK }
    }

    /// Place of a piece: along the tile, along the contraction.
    fn place(&self, k: &Device<'_, 'c>, piece: u64, lanes: u64, tile: Tile) -> (I<'c>, I<'c>) {
        let e = k.e;
        let index = e.iadd(k.thread(), e.n(piece * BLOCK));
        let inner = if self.is_along_tile { self.tile } else { tile.k } / lanes;
        let (a, b) = (e.imul(e.irem(index, inner), e.n(lanes)), e.idiv(index, inner));
        if self.is_along_tile { (a, b) } else { (b, a) }
    }

    /// A piece of the panel at `depth_at` of the contraction; zeros beyond the edges.
    fn fetch(
        &self,
        k: &Device<'_, 'c>,
        piece: u64,
        depth_at: I<'c>,
        depth: u64,
        tile: Tile,
        lanes: u64,
    ) -> V<'c> {
        let e = k.e;
        let (along, deep) = self.place(k, piece, lanes, tile);
        let (along, deep) = (e.iadd(self.first, along), e.iadd(depth_at, deep));
        let index = match self.is_along_tile {
            true => e.iadd(e.imul(deep, e.n(self.extent)), along),
            false => e.iadd(e.imul(along, e.n(depth)), deep),
        };
        let mut inside: Option<I> = None;
        let bounds = [(along, self.extent, self.tile), (deep, depth, tile.k)];
        for (at, extent, _) in bounds.into_iter().filter(|(_, extent, step)| extent % step != 0) {
            let is_below = e.icmp(IntPredicate::ULT, at, e.n(extent));
            inside = Some(inside.map_or(is_below, |other| e.both(other, is_below)));
        }
        let Some(inside) = inside else {
            return k.load(self.base, index, lanes);
        };
        let index = e.select(inside.into(), index.into(), e.n(0).into()).into_int_value();
        let value = k.load(self.base, index, lanes);
        e.select(inside.into(), value, e.like(value, 0.0))
    }

    fn put(
        &self,
        k: &Device<'_, 'c>,
        panel: P<'c>,
        piece: u64,
        tile: Tile,
        lanes: u64,
        value: V<'c>,
    ) {
        let e = k.e;
        let (along, deep) = self.place(k, piece, lanes, tile);
        let width = e.n(self.tile + PAD);
        if self.is_along_tile {
            return k.store(panel, e.iadd(e.imul(deep, width), along), value);
        }
        for lane in 0..lanes {
            let row = e.iadd(deep, e.n(lane));
            e.store(panel, e.iadd(e.imul(row, width), along), k.lane(value, lane));
        }
    }
}

/// What a thread takes of a row of a panel: [`RUN`] elements from its own first on, in each group.
fn run<'c>(
    k: &Device<'_, 'c>,
    panel: P<'c>,
    row_start: u64,
    first: I<'c>,
    groups: u64,
) -> Vec<V<'c>> {
    let e = k.e;
    let lanes = launch::lanes(RUN, e.dtype());
    let start = e.iadd(e.n(row_start), first);
    let mut values = vec![];
    for group in 0..groups {
        for piece in (0..RUN).step_by(lanes as usize) {
            let value = k.load(panel, e.iadd(start, e.n(group * STRIDE + piece)), lanes);
            values.extend((0..lanes).map(|lane| k.lane(value, lane)));
        }
    }
    values
}

/// The operands of a product, its bias and its epilogue.
pub(super) fn gemm(k: &Device<'_, '_>, g: &Gemm, dtype: Dtype) {
    let e = k.e;
    let tile = Tile::of(g, dtype, k.chip);
    let tiles = g.m.div_ceil(tile.m);
    let (batch, tile_row) = (e.idiv(k.block(0), tiles), e.irem(k.block(0), tiles));
    let (first_row, first_col) = (e.imul(tile_row, e.n(tile.m)), e.imul(k.block(1), e.n(tile.n)));
    let part = |elems: u64| e.imul(batch, e.n(elems));
    let sides = [
        Operand {
            base: e.at(k.buffers[0], part(g.m * g.k)),
            first: first_row,
            extent: g.m,
            tile: tile.m,
            is_along_tile: g.transpose_a,
        },
        Operand {
            base: e.at(k.buffers[1], part(g.k * g.n)),
            first: first_col,
            extent: g.n,
            tile: tile.n,
            is_along_tile: !g.transpose_b,
        },
    ];
    let carries = sides.each_ref().map(|side| side.carry(g.k, tile, dtype));
    let panels = sides.each_ref().map(|side| k.shared(e.dtype(), tile.k * (side.tile + PAD)));
    let fetch = |side: usize, piece: u64, at| {
        sides[side].fetch(k, piece, at, g.k, tile, carries[side].lanes)
    };
    let carried: Vec<_> = (0..2)
        .flat_map(|side| (0..carries[side].count).map(move |piece| (side, piece)))
        .map(|(side, piece)| (side, piece, e.local(fetch(side, piece, e.n(0)))))
        .collect();

    let (groups_m, groups_n) = (tile.m / STRIDE, tile.n / STRIDE);
    let (thread_row, thread_col) =
        (e.imul(e.idiv(k.thread(), 16), e.n(RUN)), e.imul(e.irem(k.thread(), 16), e.n(RUN)));
    let sums: Vec<_> =
        (0..groups_m * groups_n * RUN * RUN).map(|_| e.local(e.float(0.0))).collect();
    let sum_at = |row: u64, col: u64| &sums[(row * groups_n * RUN + col) as usize];

    e.for_each(e.n(0), e.n(g.k), tile.k, |at| {
        k.barrier();
        for (side, piece, value) in &carried {
            sides[*side].put(k, panels[*side], *piece, tile, carries[*side].lanes, e.get(value));
        }
        k.barrier();
        let next = e.iadd(at, e.n(tile.k));
        e.if_true(e.icmp(IntPredicate::ULT, next, e.n(g.k)), || {
            for (side, piece, value) in &carried {
                e.set(value, fetch(*side, *piece, next));
            }
        });
        for deep in 0..tile.k {
            let (left, right) = (
                run(k, panels[0], deep * (tile.m + PAD), thread_row, groups_m),
                run(k, panels[1], deep * (tile.n + PAD), thread_col, groups_n),
            );
            for (row, &a) in (0..).zip(&left) {
                for (col, &b) in (0..).zip(&right) {
                    let sum = sum_at(row, col);
                    e.set(sum, e.mul_add(a, b, e.get(sum)));
                }
            }
        }
    });

    let end = End::new(k, g, batch);
    let lanes = launch::lanes(g.n, dtype).min(launch::lanes(RUN, e.dtype()));
    for row in 0..groups_m * RUN {
        let offset = row / RUN * STRIDE + row % RUN;
        let r = e.iadd(e.iadd(first_row, thread_row), e.n(offset));
        let is_row = (!g.m.is_multiple_of(tile.m)).then(|| e.icmp(IntPredicate::ULT, r, e.n(g.m)));
        for col in (0..groups_n * RUN).step_by(lanes as usize) {
            let offset = col / RUN * STRIDE + col % RUN;
            let c = e.iadd(e.iadd(first_col, thread_col), e.n(offset));
            let is_col =
                (!g.n.is_multiple_of(tile.n)).then(|| e.icmp(IntPredicate::ULT, c, e.n(g.n)));
            let values: Vec<V> = (col..col + lanes).map(|col| e.get(sum_at(row, col))).collect();
            let value = if lanes == 1 { values[0] } else { k.vector(&values) };
            let inside = match (is_row, is_col) {
                (Some(a), Some(b)) => Some(e.both(a, b)),
                (a, b) => a.or(b),
            };
            match inside {
                Some(inside) => e.if_true(inside, || end.finish(r, c, value, lanes)),
                None => end.finish(r, c, value, lanes),
            }
        }
    }
}

/// What becomes of sums: bias, epilogue, and where results go.
pub(super) struct End<'k, 'e, 'c> {
    k: &'k Device<'e, 'c>,
    g: &'k Gemm,
    first_row: I<'c>,
    bias: Option<P<'c>>,
    operands: &'k [P<'c>],
    outputs: &'k [P<'c>],
    scalars: Vec<V<'c>>,
}

impl<'k, 'e, 'c> End<'k, 'e, 'c> {
    pub(super) fn new(k: &'k Device<'e, 'c>, g: &'k Gemm, batch: I<'c>) -> Self {
        let e = k.e;
        let reads = 2 + usize::from(g.bias);
        let (operands, outputs) =
            k.buffers[reads..].split_at(g.epilogue.as_ref().map_or(0, |e| e.operands.len()));
        Self {
            k,
            g,
            first_row: e.imul(batch, e.n(g.m)),
            bias: g.bias.then(|| k.buffers[2]),
            operands,
            outputs,
            scalars: k.scalars.iter().map(|&s| e.convert(s, e.dtype())).collect(),
        }
    }

    /// Writes the results of row `r`, columns from `c` on, of one product.
    pub(super) fn finish(&self, r: I<'c>, c: I<'c>, mut value: V<'c>, lanes: u64) {
        let (k, e, g) = (self.k, self.k.e, self.g);
        let row = e.iadd(self.first_row, r);
        let here = e.iadd(e.imul(row, e.n(g.n)), c);
        if g.accumulate {
            value = e.add(k.load(self.outputs[0], here, lanes), value);
        }
        if let Some(bias) = self.bias {
            value = e.add(value, k.load(bias, c, lanes));
        }
        let Some(Epilogue { operands, body, .. }) = &g.epilogue else {
            return k.store(self.outputs[0], here, value);
        };
        let input = |i: u32| match i.checked_sub(1).map(|i| i as usize) {
            None => value,
            Some(i) => match operands[i] {
                Access::Full => k.load(self.operands[i], here, lanes),
                Access::Row => k.load(self.operands[i], c, lanes),
                Access::Column => e.load(self.operands[i], row),
                Access::Scalar => e.load(self.operands[i], e.n(0)),
            },
        };
        let shape = (lanes > 1).then_some(lanes);
        let results = program(e, body, shape, input, |i| self.scalars[i as usize]);
        for (&output, value) in self.outputs.iter().zip(results) {
            k.store(output, here, value);
        }
    }
}
