//! Matrix products of bf16 on tensor cores, with sums of f32: a block of eight warps computes a tile of the result, a warp a
//! part of it in registers, from panels that arrive in shared memory some steps ahead of their use.
//!
//! Panels lie as the operands do, whichever way those are stored, and `ldmatrix` turns what has to be turned. When the sums
//! are complete they pass through shared memory once more, so that bias, epilogue and stores work on rows.
//!
//! What does not depend on how fragments are read, [`Work`], serves [`super::gemm_warpgroup`] too.

use super::device::Device;
use super::gemm::End;
use super::launch::{self, BLOCK, Pipeline, Tile};
use super::tensor::{DEPTH, Panel, Rows};
use crate::kernel::{Dtype, Gemm};
use crate::llvm::emit::{I, P, V};
use inkwell::IntPredicate;

/// One operand as the block sees it.
pub(super) struct Side<'c> {
    base: P<'c>,
    pub(super) rows: Rows,
    /// First row or column of the block's tile, how many there are, and in the tile.
    first: I<'c>,
    extent: u64,
    pub(super) tile: u64,
    /// Elements of its panels before this one's, in a slot.
    offset: u64,
}

impl<'c> Side<'c> {
    pub(super) fn panel(&self, k: &Device<'_, 'c>, slot: P<'c>, tile: Tile) -> Panel<'c> {
        let (rows, width) = match self.rows {
            Rows::Along => (self.tile, tile.k),
            Rows::Across => (tile.k, self.tile),
        };
        Panel { base: k.e.at(slot, k.e.n(self.offset)), rows, width }
    }

    /// Starts to fill the panel of a slot from a step of the contraction on. `place` says where in it an element of a row
    /// and a column lies, if rows do not follow each other.
    pub(super) fn fill(
        &self,
        k: &Device<'_, 'c>,
        slot: P<'c>,
        tile: Tile,
        depth: u64,
        depth_at: I<'c>,
        place: Option<&dyn Fn(I<'c>, I<'c>) -> I<'c>>,
    ) {
        let e = k.e;
        let source = |row: I<'c>, col: I<'c>| {
            let (along, deep) = match self.rows {
                Rows::Along => (row, col),
                Rows::Across => (col, row),
            };
            let (along, deep) = (e.iadd(self.first, along), e.iadd(depth_at, deep));
            let index = match self.rows {
                Rows::Along => e.iadd(e.imul(along, e.n(depth)), deep),
                Rows::Across => e.iadd(e.imul(deep, e.n(self.extent)), along),
            };
            let inside = k.all(
                k.below(along, self.extent, self.extent.is_multiple_of(self.tile)),
                k.below(deep, depth, depth.is_multiple_of(tile.k)),
            );
            (index, inside)
        };
        let contiguous = if self.rows == Rows::Along { depth } else { self.extent };
        let (panel, lanes) = (self.panel(k, slot, tile), launch::copy_lanes(contiguous));
        match place {
            Some(place) => k.fill_places(panel, BLOCK, lanes, self.base, &source, place),
            None => k.fill(panel, BLOCK, lanes, self.base, &source),
        }
    }
}

/// What a block works on: its tile of the result, and the panels that pass through its slots.
pub(super) struct Work<'k, 'e, 'c> {
    k: &'k Device<'e, 'c>,
    g: &'k Gemm,
    tile: Tile,
    pipeline: Pipeline,
    batch: I<'c>,
    first_row: I<'c>,
    first_col: I<'c>,
    pub(super) sides: [Side<'c>; 2],
    memory: P<'c>,
}

impl<'k, 'e, 'c> Work<'k, 'e, 'c> {
    pub(super) fn new(k: &'k Device<'e, 'c>, g: &'k Gemm, tile: Tile) -> Self {
        let e = k.e;
        let pipeline = Pipeline::of(g, tile);
        let tiles = g.m.div_ceil(tile.m);
        let (batch, tile_row) = (e.idiv(k.block(0), tiles), e.irem(k.block(0), tiles));
        let (first_row, first_col) =
            (e.imul(tile_row, e.n(tile.m)), e.imul(k.block(1), e.n(tile.n)));
        let part = |elems: u64| e.imul(batch, e.n(elems));
        let rows = |is_along: bool| if is_along { Rows::Along } else { Rows::Across };
        let sides = [
            Side {
                base: e.at(k.buffers[0], part(g.m * g.k)),
                rows: rows(!g.transpose_a),
                first: first_row,
                extent: g.m,
                tile: tile.m,
                offset: 0,
            },
            Side {
                base: e.at(k.buffers[1], part(g.k * g.n)),
                rows: rows(g.transpose_b),
                first: first_col,
                extent: g.n,
                tile: tile.n,
                offset: pipeline.left_elems,
            },
        ];
        let memory = k.dynamic_shared(Dtype::Bf16);
        Self { k, g, tile, pipeline, batch, first_row, first_col, sides, memory }
    }

    /// Runs `body` with the slot of each step of the contraction, while `fill` starts to fill slots for later ones. Between
    /// the arrival of a thread's own copies and the barrier after which all may use them comes `arrived`.
    pub(super) fn steps(
        &self,
        fill: impl Fn(P<'c>, I<'c>),
        arrived: impl FnOnce(),
        body: impl FnOnce(P<'c>),
    ) {
        let (k, e, g) = (self.k, self.k.e, self.g);
        let slot_at = |slot: I<'c>| -> P<'c> {
            e.at(self.memory, e.imul(slot, e.n(self.pipeline.slot_elems)))
        };
        let fill = |slot: I<'c>, step: I<'c>| fill(slot_at(slot), e.imul(step, e.n(self.tile.k)));
        let (steps, slots) = (g.k.div_ceil(self.tile.k), self.pipeline.slots);
        for step in 0..slots - 1 {
            if step < steps {
                fill(e.n(step), e.n(step));
            }
            k.commit();
        }
        let slot = e.local(e.n(0).into());
        e.for_each(e.n(0), e.n(steps), 1, |step| {
            k.wait(slots - 2);
            arrived();
            k.barrier();
            let here = e.get(&slot).into_int_value();
            let ahead = e.iadd(step, e.n(slots - 1));
            e.if_true(e.icmp(IntPredicate::ULT, ahead, e.n(steps)), || {
                // The slot whose panels were used up in the last step.
                let is_first = e.icmp(IntPredicate::EQ, here, e.n(0));
                let before = e.isub(here, e.n(1));
                let last = e.select(is_first.into(), e.n(slots - 1).into(), before.into());
                fill(last.into_int_value(), ahead);
            });
            k.commit();
            body(slot_at(here));
            let next = e.iadd(here, e.n(1));
            let is_last = e.icmp(IntPredicate::EQ, next, e.n(slots));
            e.set(&slot, e.select(is_last.into(), e.n(0).into(), next.into()));
        });
    }

    /// Finishes the results from complete sums: of tiles of 16 rows and 8 columns, with the first row and column of each.
    pub(super) fn finish(&self, sums: impl Iterator<Item = (I<'c>, I<'c>, [V<'c>; 4])>) {
        let (k, e, g, tile) = (self.k, self.k.e, self.g, self.tile);
        k.barrier();
        let staged = P { element: Dtype::F32, ..self.memory };
        let width = launch::staged_width(tile);
        let lane = e.irem(k.thread(), 32);
        for (row, col, sums) in sums {
            let row = e.iadd(row, e.idiv(lane, 4));
            let col = e.iadd(col, e.imul(e.irem(lane, 4), e.n(2)));
            for half in 0..2 {
                let row = e.iadd(row, e.n(8 * half));
                let pair = [0, 1].map(|i| sums[2 * half as usize + i]);
                k.store(staged, e.iadd(e.imul(row, e.n(width)), col), k.vector(&pair));
            }
        }
        k.barrier();
        let end = End::new(k, g, self.batch);
        let lanes = launch::lanes(g.n, Dtype::Bf16);
        let in_row = tile.n / lanes;
        e.for_each(k.thread(), e.n(tile.m * in_row), BLOCK, |piece| {
            let (row, col) = (e.idiv(piece, in_row), e.imul(e.irem(piece, in_row), e.n(lanes)));
            let (r, c) = (e.iadd(self.first_row, row), e.iadd(self.first_col, col));
            let inside = k.all(
                k.below(r, g.m, g.m.is_multiple_of(tile.m)),
                k.below(c, g.n, g.n.is_multiple_of(tile.n)),
            );
            let finish = || {
                let value = k.load(staged, e.iadd(e.imul(row, e.n(width)), col), lanes);
                end.finish(r, c, value, lanes);
            };
            match inside {
                Some(inside) => e.if_true(inside, finish),
                None => finish(),
            }
        });
    }
}

/// The operands of a product, its bias and its epilogue.
pub(super) fn gemm(k: &Device<'_, '_>, g: &Gemm, tile: Tile) {
    let e = k.e;
    let work = Work::new(k, g, tile);
    let (warp_m, warp_n) = (tile.m / 2, tile.n / 4);
    let warp = e.idiv(k.thread(), 32);
    let (warp_row, warp_col) =
        (e.imul(e.irem(warp, 2), e.n(warp_m)), e.imul(e.idiv(warp, 2), e.n(warp_n)));
    let (tiles_m, tiles_n) = (warp_m / 16, warp_n / 8);
    let sums = k.no_sums(tiles_m * tiles_n);
    let [left_side, right_side] = &work.sides;
    let fill = |slot, at| work.sides.iter().for_each(|s| s.fill(k, slot, tile, g.k, at, None));
    work.steps(
        fill,
        || (),
        |slot| {
            let (lefts, rights) = (left_side.panel(k, slot, tile), right_side.panel(k, slot, tile));
            for deep in (0..tile.k).step_by(DEPTH as usize) {
                let left: Vec<[V; 4]> = (0..tiles_m)
                    .map(|i| {
                        let row = e.iadd(warp_row, e.n(16 * i));
                        k.left(lefts, left_side.rows, row, e.n(deep))
                    })
                    .collect();
                for j in (0..tiles_n).step_by(2) {
                    let col = e.iadd(warp_col, e.n(8 * j));
                    let right = k.right(rights, right_side.rows, col, e.n(deep));
                    for (i, left) in (0..).zip(&left) {
                        for (half, right) in (0..).zip(&right) {
                            k.multiply(left, right, &sums[(i * tiles_n + j + half) as usize]);
                        }
                    }
                }
            }
        },
    );
    work.finish((0..).zip(&sums).map(|(number, sums)| {
        let (i, j) = (number / tiles_n, number % tiles_n);
        let (row, col) = (e.iadd(warp_row, e.n(16 * i)), e.iadd(warp_col, e.n(8 * j)));
        (row, col, sums.each_ref().map(|sum| e.get(sum)))
    }));
}
