//! Matrix products: loops over blocks in the kernel, and packing, macro-kernel and micro-kernel as functions that all
//! products of a module share.
//!
//! See [`crate::blocking`] for the scheme. Sizes reach the shared functions as arguments, so the code of a module grows
//! by a few calls for each further product. Tiles cut by an edge are computed whole into a scratch tile, from operands
//! padded with zeros, and the part inside is copied; so an element's bits do not depend on where the edges fall.

use super::emit::{Emitter, I, P, V};
use crate::blocking::Blocking;
use crate::kernel::Dtype;
use crate::target::VectorLevel;
use inkwell::IntPredicate;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::FunctionValue;

/// Rows and vectors a row of the register tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    /// Rows.
    pub(super) mr: u64,
    /// Elements of one native vector.
    pub(super) lanes: u64,
    /// Vectors a row.
    pub(super) vectors: u64,
    /// Columns: all lanes of these vectors.
    pub(super) nr: u64,
}

/// Whether a result of `n` columns fits one vector.
pub(crate) fn is_narrow(e: &Emitter<'_>, n: u64) -> bool {
    n <= e.level.vector_bytes() / e.dtype().bytes()
}

impl Tile {
    /// The tile that keeps accumulators, a row of `b` and broadcasts within the register file of `level`.
    pub(super) fn of(level: VectorLevel, dtype: Dtype, is_narrow: bool) -> Self {
        let lanes = level.vector_bytes() / dtype.bytes();
        let mr = match level {
            VectorLevel::Portable => 4,
            VectorLevel::Avx2 => 6,
            VectorLevel::Neon | VectorLevel::Avx512 => 8,
        };
        let vectors = if is_narrow { 1 } else { 2 };
        Self { mr, lanes, vectors, nr: vectors * lanes }
    }
}

/// Rows of a packed panel of `b` between the one that is used and the one that is asked for.
const AHEAD: u64 = 16;

/// Panels that are packed in one pass over rows.
const TOGETHER: u64 = 4;

/// One product `c (+)= op(a) op(b)` with run-time sizes and leading dimensions.
pub(crate) struct Product<'c> {
    pub(crate) m: I<'c>,
    pub(crate) n: I<'c>,
    pub(crate) k: I<'c>,
    pub(crate) a: P<'c>,
    /// Distance between stored rows of `a`.
    pub(crate) lda: I<'c>,
    pub(crate) transpose_a: bool,
    pub(crate) b: P<'c>,
    pub(crate) ldb: I<'c>,
    pub(crate) transpose_b: bool,
    /// Of the type computed in, as sums are kept here.
    pub(crate) c: P<'c>,
    pub(crate) ldc: I<'c>,
    /// Whether the result is no wider than one vector.
    pub(crate) is_narrow: bool,
    /// Whether `c` is added to. Else, if the blocking holds sums apart, `c` is where: one block of columns, which `finish`
    /// takes away.
    pub(crate) accumulate: bool,
    pub(crate) blocking: Blocking,
    /// [`Blocking::packing_elems`] elements.
    pub(crate) workspace: P<'c>,
}

/// A finished block of `c`.
pub(crate) struct Finished<'c> {
    pub(crate) row: I<'c>,
    pub(crate) row_end: I<'c>,
    pub(crate) col: I<'c>,
    pub(crate) col_end: I<'c>,
}

/// Emits the loops of a product; `finish` is emitted once, to run on each block after its last contraction step.
pub(crate) fn product<'c>(e: &Emitter<'c>, p: &Product<'c>, finish: Option<&dyn Fn(Finished<'c>)>) {
    let tile = Tile::of(e.level, e.dtype(), p.is_narrow);
    let Blocking { mc, nc, kc, has_sums, packs_a } = p.blocking;
    let packs_a = packs_a || p.transpose_a;
    let packed_b = p.workspace;
    let scratch = e.at(packed_b, e.n(kc * nc));
    let edge_a = e.at(scratch, e.n(tile.mr * tile.nr));
    let packed_a = e.at(edge_a, e.n(kc * tile.mr));
    let pack_b = match p.transpose_b {
        true => pack_b_transposed(e, tile, p.b.element),
        false => pack_rows(e, tile.nr, "pack_b", p.b.element),
    };
    let pack_a = match p.transpose_a {
        true => pack_rows(e, tile.mr, "pack_a", p.a.element),
        false => pack_a(e, tile.mr, p.a.element),
    };
    let macro_kernel = macro_kernel(e, tile, packs_a, p.a.element);
    let zero = e.n(0);

    e.for_each(zero, p.n, nc, |col| {
        let cols = e.imin(e.n(nc), e.isub(p.n, col));
        e.for_each(zero, p.k, kc, |step| {
            let depth = e.imin(e.n(kc), e.isub(p.k, step));
            let (b_row, b_col) = if p.transpose_b { (col, step) } else { (step, col) };
            let b = e.at(p.b, e.iadd(e.imul(b_row, p.ldb), b_col));
            e.call(pack_b, &[depth.into(), cols.into(), b.into(), p.ldb.into(), packed_b.into()]);
            let first = e.icmp(IntPredicate::EQ, step, zero);
            let overwrite = if p.accumulate { e.ctx.bool_type().const_zero() } else { first };
            e.for_each(zero, p.m, mc, |row| {
                let rows = e.imin(e.n(mc), e.isub(p.m, row));
                let (a_row, a_col) = if p.transpose_a { (step, row) } else { (row, step) };
                let mut a = e.at(p.a, e.iadd(e.imul(a_row, p.lda), a_col));
                if packs_a {
                    e.call(
                        pack_a,
                        &[depth.into(), rows.into(), a.into(), p.lda.into(), packed_a.into()],
                    );
                    a = packed_a;
                }
                let c_col = if has_sums { zero } else { col };
                let c = e.at(p.c, e.iadd(e.imul(row, p.ldc), c_col));
                let sizes: [V; 3] = [rows.into(), cols.into(), depth.into()];
                let operands: [V; 5] =
                    [a.into(), p.lda.into(), packed_b.into(), c.into(), p.ldc.into()];
                let rest: [V; 3] = [overwrite.into(), scratch.into(), edge_a.into()];
                e.call(macro_kernel, &[&sizes[..], &operands, &rest].concat());
                if let Some(finish) = finish {
                    let last = e.icmp(IntPredicate::EQ, e.iadd(step, depth), p.k);
                    e.if_true(last, || {
                        finish(Finished {
                            row,
                            row_end: e.iadd(row, rows),
                            col,
                            col_end: e.iadd(col, cols),
                        });
                    });
                }
            });
        });
    });
}

/// The name of a shared function that reads elements of a type.
pub(super) fn of(name: &str, element: Dtype) -> String {
    if element == Dtype::Bf16 { format!("{name}.bf16") } else { name.to_owned() }
}

/// `(depth, width, source, stride, out)`: rows of `width` elements, `stride` apart, into panels of `panel` columns laid
/// out `[depth][panel]`, the last panel padded with zeros. Packs `b [k,n]` and, with rows as columns, `a [k,m]`.
pub(super) fn pack_rows<'c>(
    e: &Emitter<'c>,
    panel: u64,
    name: &str,
    element: Dtype,
) -> FunctionValue<'c> {
    let (int, ptr) = (BasicMetadataTypeEnum::from(e.i64()), e.ptr_type());
    e.shared(&of(&format!("{name}{panel}"), element), &[int, int, ptr, int, ptr], |args| {
        let [depth, width, stride] = [args[0], args[1], args[3]].map(V::into_int_value);
        let (source, out) = (e.pointer(args[2], element), e.pointer(args[4], e.dtype()));
        // Several panels in one pass, because a panel's part of a row may be less than what memory delivers at once.
        let together = panel * TOGETHER;
        let grouped = e.isub(width, e.irem(width, together));
        e.for_each(e.n(0), grouped, together, |first| {
            e.for_each(e.n(0), depth, 1, |p| {
                let from = e.at(source, e.iadd(e.imul(p, stride), first));
                for g in 0..TOGETHER {
                    let place = e.imul(e.iadd(first, e.n(g * panel)), depth);
                    let to = e.at(out, e.iadd(place, e.imul(p, e.n(panel))));
                    e.store_lanes(to, e.load_lanes(e.at(from, e.n(g * panel)), panel));
                }
            });
        });
        for_panels(e, grouped, width, panel, depth, out, |first, count, whole, out| {
            let source = e.at(source, first);
            e.if_else(
                whole,
                || {
                    e.for_each(e.n(0), depth, 1, |p| {
                        let row = e.load_lanes(e.at(source, e.imul(p, stride)), panel);
                        e.store_lanes(e.at(out, e.imul(p, e.n(panel))), row);
                    });
                },
                || {
                    e.for_each(e.n(0), depth, 1, |p| {
                        let (from, to) =
                            (e.at(source, e.imul(p, stride)), e.at(out, e.imul(p, e.n(panel))));
                        e.for_each(e.n(0), count, 1, |j| e.store(to, j, e.load(from, j)));
                        e.for_each(count, e.n(panel), 1, |j| e.store(to, j, e.float(0.0)));
                    });
                },
            );
        });
    })
}

/// As [`pack_rows`] for `b [n,k]`: squares of one vector's width are transposed in registers.
pub(super) fn pack_b_transposed<'c>(
    e: &Emitter<'c>,
    tile: Tile,
    element: Dtype,
) -> FunctionValue<'c> {
    let (int, ptr) = (BasicMetadataTypeEnum::from(e.i64()), e.ptr_type());
    let Tile { lanes, nr, .. } = tile;
    e.shared(&of(&format!("pack_b_transposed{nr}"), element), &[int, int, ptr, int, ptr], |args| {
        let [depth, width, stride] = [args[0], args[1], args[3]].map(V::into_int_value);
        let (source, out) = (e.pointer(args[2], element), e.pointer(args[4], e.dtype()));
        let value = |first: I<'c>, j: I<'c>, p: I<'c>| {
            e.load(source, e.iadd(e.imul(e.iadd(first, j), stride), p))
        };
        for_panels(e, e.n(0), width, nr, depth, out, |first, count, whole, out| {
            let place = |p: I<'c>, j: I<'c>| e.iadd(e.imul(p, e.n(nr)), j);
            e.if_else(
                whole,
                || {
                    let squares = e.isub(depth, e.irem(depth, lanes));
                    e.for_each(e.n(0), squares, lanes, |p| {
                        e.for_each(e.n(0), e.n(nr), lanes, |j| {
                            let rows = (0..lanes).map(|r| {
                                let row = e.iadd(e.iadd(first, j), e.n(r));
                                e.load_lanes(e.at(source, e.iadd(e.imul(row, stride), p)), lanes)
                            });
                            for (r, column) in transpose(e, rows.collect()).into_iter().enumerate()
                            {
                                e.store_lanes(
                                    e.at(out, place(e.iadd(p, e.n(r as u64)), j)),
                                    column,
                                );
                            }
                        });
                    });
                    e.for_each(squares, depth, 1, |p| {
                        e.for_each(e.n(0), e.n(nr), 1, |j| {
                            e.store(out, place(p, j), value(first, j, p))
                        });
                    });
                },
                || {
                    e.for_each(e.n(0), count, 1, |j| {
                        e.for_each(e.n(0), depth, 1, |p| {
                            e.store(out, place(p, j), value(first, j, p))
                        });
                    });
                    e.for_each(count, e.n(nr), 1, |j| {
                        e.for_each(e.n(0), depth, 1, |p| e.store(out, place(p, j), e.float(0.0)));
                    });
                },
            );
        });
    })
}

/// `(depth, height, source, stride, out)`: rows of `depth` elements, `stride` apart, into panels of `mr` rows laid out
/// `[depth][mr]`, the last panel padded with zeros. Squares of at least `mr` are transposed in registers; what they give
/// beyond a column of `mr` is overwritten by the next.
fn pack_a<'c>(e: &Emitter<'c>, mr: u64, element: Dtype) -> FunctionValue<'c> {
    let (int, ptr) = (BasicMetadataTypeEnum::from(e.i64()), e.ptr_type());
    e.shared(&of("pack_a_rows", element), &[int, int, ptr, int, ptr], |args| {
        let [depth, height, stride] = [args[0], args[1], args[3]].map(V::into_int_value);
        let (source, out) = (e.pointer(args[2], element), e.pointer(args[4], e.dtype()));
        let square = mr.next_power_of_two();
        for_panels(e, e.n(0), height, mr, depth, out, |first, count, whole, out| {
            let source = e.at(source, e.imul(first, stride));
            let one_by_one = |from: I<'c>| {
                e.for_each(from, depth, 1, |p| {
                    let to = e.at(out, e.imul(p, e.n(mr)));
                    e.for_each(e.n(0), count, 1, |i| {
                        e.store(to, i, e.load(source, e.iadd(e.imul(i, stride), p)));
                    });
                    e.for_each(count, e.n(mr), 1, |i| e.store(to, i, e.float(0.0)));
                });
            };
            e.if_else(
                whole,
                || {
                    let squares = e.isub(depth, e.irem(depth, square));
                    e.for_each(e.n(0), squares, square, |p| {
                        let rows = (0..square).map(|r| {
                            let row = e.imul(e.n(r.min(mr - 1)), stride);
                            e.load_lanes(e.at(source, e.iadd(row, p)), square)
                        });
                        for (c, column) in transpose(e, rows.collect()).into_iter().enumerate() {
                            let place = e.imul(e.iadd(p, e.n(c as u64)), e.n(mr));
                            e.store_lanes(e.at(out, place), column);
                        }
                    });
                    one_by_one(squares);
                },
                || one_by_one(e.n(0)),
            );
        });
    })
}

/// Runs `body(first, count, is_whole, out)` for each panel of `panel` columns from column `from` on.
fn for_panels<'c>(
    e: &Emitter<'c>,
    from: I<'c>,
    width: I<'c>,
    panel: u64,
    depth: I<'c>,
    out: P<'c>,
    body: impl FnOnce(I<'c>, I<'c>, I<'c>, P<'c>),
) {
    e.for_each(from, width, panel, |first| {
        let count = e.imin(e.n(panel), e.isub(width, first));
        let whole = e.icmp(IntPredicate::EQ, count, e.n(panel));
        body(first, count, whole, e.at(out, e.imul(first, depth)));
    });
}

/// Transposes a square of vectors by log2 rounds of exchanging off-diagonal blocks of doubling size.
fn transpose<'c>(e: &Emitter<'c>, mut rows: Vec<V<'c>>) -> Vec<V<'c>> {
    let size = rows.len();
    let mut block = 1;
    while block < size {
        // Lane l of the upper row keeps its place where bit `block` of l is clear, else takes from the lower row.
        let upper: Vec<u64> = (0..size)
            .map(|l| if l & block == 0 { l as u64 } else { (size + l - block) as u64 })
            .collect();
        let lower: Vec<u64> = (0..size)
            .map(|l| if l & block == 0 { (l + block) as u64 } else { (size + l) as u64 })
            .collect();
        for first in (0..size).filter(|r| r & block == 0) {
            let (a, b) = (rows[first], rows[first + block]);
            rows[first] = e.shuffle(a, b, &upper);
            rows[first + block] = e.shuffle(a, b, &lower);
        }
        block *= 2;
    }
    rows
}

/// `(rows, cols, depth, a, lda, packed_b, c, ldc, overwrite, scratch, edge_a)`: all tiles of one block.
fn macro_kernel<'c>(
    e: &Emitter<'c>,
    tile: Tile,
    packed: bool,
    element: Dtype,
) -> FunctionValue<'c> {
    let (int, ptr) = (BasicMetadataTypeEnum::from(e.i64()), e.ptr_type());
    let Tile { mr, nr, .. } = tile;
    let element = if packed { e.dtype() } else { element };
    let name = if packed { "macro_packed" } else { "macro_rows" };
    let name = of(&format!("{name}{nr}"), element);
    let params = [int, int, int, ptr, int, ptr, ptr, int, e.ctx.bool_type().into(), ptr, ptr];
    e.shared(&name, &params, |args| {
        let [rows, cols, depth, lda, ldc] =
            [0, 1, 2, 4, 7].map(|i: usize| args[i].into_int_value());
        let a = e.pointer(args[3], element);
        let [packed_b, c, scratch, edge_a] =
            [5, 6, 9, 10].map(|i: usize| e.pointer(args[i], e.dtype()));
        let overwrite = args[8].into_int_value();
        let whole_kernel = micro_kernel(e, tile, packed, element);
        let edge_kernel = micro_kernel(e, tile, true, e.dtype());
        let zero = e.n(0);
        if !packed {
            gather_edge(e, rows, depth, a, lda, edge_a, mr);
        }
        // Along the rows of `c`, not down its columns: the next tile lies in the same few pages, which the processor finds
        // without walking its tables, and fetches by itself.
        e.for_each(zero, rows, mr, |row| {
            let height = e.imin(e.n(mr), e.isub(rows, row));
            let full_height = e.icmp(IntPredicate::EQ, height, e.n(mr));
            let tile_a = e.at(a, e.imul(row, if packed { depth } else { lda }));
            let row_c = e.at(c, e.imul(row, ldc));
            e.for_each(zero, cols, nr, |col| {
                let b = e.at(packed_b, e.imul(col, depth));
                let width = e.imin(e.n(nr), e.isub(cols, col));
                let tile_c = e.at(row_c, col);
                let full_width = e.icmp(IntPredicate::EQ, width, e.n(nr));
                let run = |kernel, a: P<'c>, c: P<'c>, ldc: I<'c>, overwrite: I<'c>| {
                    let args: [V; 7] = [
                        depth.into(),
                        a.into(),
                        lda.into(),
                        b.into(),
                        c.into(),
                        ldc.into(),
                        overwrite.into(),
                    ];
                    e.call(kernel, &args);
                };
                e.if_else(
                    e.both(full_height, full_width),
                    || run(whole_kernel, tile_a, tile_c, ldc, overwrite),
                    || {
                        let always = e.ctx.bool_type().const_int(1, false);
                        let short_a = if packed { tile_a } else { edge_a };
                        e.if_else(
                            full_height,
                            || run(whole_kernel, tile_a, scratch, e.n(nr), always),
                            || run(edge_kernel, short_a, scratch, e.n(nr), always),
                        );
                        copy_tile(e, [height, width], scratch, e.n(nr), tile_c, ldc, overwrite);
                    },
                );
            });
        });
    })
}

/// Copies the rows below the last whole tile into a packed, zero-padded panel.
fn gather_edge<'c>(
    e: &Emitter<'c>,
    rows: I<'c>,
    depth: I<'c>,
    a: P<'c>,
    lda: I<'c>,
    out: P<'c>,
    mr: u64,
) {
    let left = e.irem(rows, mr);
    let source = e.at(a, e.imul(e.isub(rows, left), lda));
    e.if_true(e.icmp(IntPredicate::NE, left, e.n(0)), || {
        e.for_each(e.n(0), depth, 1, |p| {
            let to = e.at(out, e.imul(p, e.n(mr)));
            e.for_each(e.n(0), left, 1, |i| {
                e.store(to, i, e.load(source, e.iadd(e.imul(i, lda), p)))
            });
            e.for_each(left, e.n(mr), 1, |i| e.store(to, i, e.float(0.0)));
        });
    });
}

/// Stores or adds the `[height, width]` corner of a scratch tile.
fn copy_tile<'c>(
    e: &Emitter<'c>,
    [height, width]: [I<'c>; 2],
    from: P<'c>,
    from_stride: I<'c>,
    to: P<'c>,
    to_stride: I<'c>,
    overwrite: I<'c>,
) {
    let lanes = e.lanes();
    e.for_each(e.n(0), height, 1, |i| {
        let (from, to) = (e.at(from, e.imul(i, from_stride)), e.at(to, e.imul(i, to_stride)));
        e.for_each(e.n(0), width, lanes, |j| {
            let (from, to, mask) = (e.at(from, j), e.at(to, j), e.lanes_before(j, width));
            let value = e.load_masked(from, mask);
            e.if_else(
                overwrite,
                || e.store_masked(to, value, mask),
                || e.store_masked(to, e.add(e.load_masked(to, mask), value), mask),
            );
        });
    });
}

/// `(depth, a, lda, b, c, ldc, overwrite)`: one register tile. `a` is a packed panel `[depth][mr]`, or `mr` rows where
/// they lie, `lda` apart.
fn micro_kernel<'c>(
    e: &Emitter<'c>,
    tile: Tile,
    packed: bool,
    element: Dtype,
) -> FunctionValue<'c> {
    let (int, ptr) = (BasicMetadataTypeEnum::from(e.i64()), e.ptr_type());
    let Tile { mr, lanes, vectors, nr } = tile;
    let name = if packed { "micro_packed" } else { "micro_rows" };
    let name = of(&format!("{name}{nr}"), element);
    e.shared(&name, &[int, ptr, int, ptr, ptr, int, e.ctx.bool_type().into()], |args| {
        let [depth, lda, ldc, overwrite] = [0, 2, 5, 6].map(|i: usize| args[i].into_int_value());
        let a = e.pointer(args[1], element);
        let [b, c] = [3, 4].map(|i: usize| e.pointer(args[i], e.dtype()));
        let zero = V::from(e.vector(lanes).const_zero());
        let row_of_sums = |_| (0..vectors).map(|_| e.local(zero)).collect::<Vec<_>>();
        let sums: Vec<_> = (0..mr).map(row_of_sums).collect();
        let rows: Vec<_> = (0..mr).map(|i| e.at(a, e.imul(e.n(i), lda))).collect();
        // The tile of `c` comes from far away where the product is large: it arrives while the sum is made.
        for i in 0..mr {
            let row = e.at(c, e.imul(e.n(i), ldc));
            e.prefetch_for_writing(row, e.n(0));
            e.prefetch_for_writing(row, e.n(nr - 1));
        }
        e.for_each(e.n(0), depth, 1, |p| {
            let at = e.imul(p, e.n(nr));
            let row = e.at(b, at);
            // The panel of `b` comes from the second-level cache, sooner than the processor asks for it by itself.
            for v in 0..vectors {
                e.prefetch_for_reading(b, at, AHEAD * nr + v * lanes);
            }
            let column = |v| e.load_lanes(e.at(row, e.n(v * lanes)), lanes);
            let columns: Vec<V<'c>> = (0..vectors).map(column).collect();
            for (i, own) in sums.iter().enumerate() {
                let value = if packed {
                    e.load(a, e.iadd(e.imul(p, e.n(mr)), e.n(i as u64)))
                } else {
                    e.load(rows[i], p)
                };
                let value = V::from(e.splat(value, lanes));
                for (sum, &column) in own.iter().zip(&columns) {
                    e.set(sum, e.mul_add(value, column, e.get(sum)));
                }
            }
        });
        let place =
            |i: usize, v: usize| e.at(c, e.iadd(e.imul(e.n(i as u64), ldc), e.n(v as u64 * lanes)));
        let each = |store: &dyn Fn(P<'c>, V<'c>)| {
            for (i, own) in sums.iter().enumerate() {
                for (v, sum) in own.iter().enumerate() {
                    store(place(i, v), e.get(sum));
                }
            }
        };
        e.if_else(
            overwrite,
            || each(&|to, sum| e.store_lanes(to, sum)),
            || each(&|to, sum| e.store_lanes(to, e.add(e.load_lanes(to, lanes), sum))),
        );
    })
}
