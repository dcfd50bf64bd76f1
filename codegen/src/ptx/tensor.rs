//! Tensor cores: panels of bf16 in shared memory, filled by asynchronous copies, read as fragments and multiplied into sums
//! of f32 by `mma.sync.m16n8k16`.
//!
//! Fragments are those of the PTX ISA, "Matrix Fragments for mma.m16n8k16": of a left operand a thread holds rows `lane / 4`
//! and that plus 8, of a right one column `lane / 4`, both with two neighbours along the contraction from `2 (lane % 4)` on
//! and two from 8 further; of sums columns `2 (lane % 4)` and the next in rows `lane / 4` and that plus 8. `ldmatrix` reads
//! them from panels with rows of either kind: along the contraction as they lie, across it transposed.

use super::device::{Device, SHARED};
use super::launch::stride;
use crate::kernel::Dtype;
use crate::llvm::emit::{I, Local, P, V, built};
use inkwell::module::Linkage;
use inkwell::{AddressSpace, IntPredicate};

/// Depth of one multiplication.
pub(super) const DEPTH: u64 = 16;
/// Name of the shared memory that launches add, in every module.
const DYNAMIC: &str = "piper_dynamic_shared";

/// Rows of bf16 in shared memory, `stride(width)` elements apart.
#[derive(Clone, Copy)]
pub(super) struct Panel<'c> {
    pub(super) base: P<'c>,
    pub(super) rows: u64,
    pub(super) width: u64,
}

/// Which way a panel's rows run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// A row is a row or column of the result; neighbours in it follow each other in the contraction.
    Along,
    /// A row is a step of the contraction.
    Across,
}

/// Sums of a tile of 16 rows and 8 columns, as one thread holds them.
pub(super) type Sums<'c> = [Local<'c>; 4];

impl<'c> Device<'_, 'c> {
    /// The shared memory that the launch adds.
    pub(super) fn dynamic_shared(&self, element: Dtype) -> P<'c> {
        let module = &self.e.module;
        let global = module.get_global(DYNAMIC).unwrap_or_else(|| {
            let ty = self.e.ctx.i8_type().array_type(0);
            let global = module.add_global(ty, Some(AddressSpace::from(SHARED)), DYNAMIC);
            global.set_linkage(Linkage::External);
            global.set_alignment(16);
            global
        });
        P { address: global.as_pointer_value(), element }
    }

    /// Starts to fill a panel by `threads` threads, `lanes` elements a copy. `source` gives for a row and a column of the
    /// panel the index in `from`, and whether it is there, if it may not be; what is not there becomes zero.
    pub(super) fn fill(
        &self,
        panel: Panel<'c>,
        threads: u64,
        lanes: u64,
        from: P<'c>,
        source: &dyn Fn(I<'c>, I<'c>) -> (I<'c>, Option<I<'c>>),
    ) {
        let e = self.e;
        let place = |row, col| e.iadd(e.imul(row, e.n(stride(panel.width))), col);
        self.fill_places(panel, threads, lanes, from, source, &place);
    }

    /// The same for a panel whose element at a row and a column lies at a place of its own; `lanes` of a row lie together.
    pub(super) fn fill_places(
        &self,
        panel: Panel<'c>,
        threads: u64,
        lanes: u64,
        from: P<'c>,
        source: &dyn Fn(I<'c>, I<'c>) -> (I<'c>, Option<I<'c>>),
        place: &dyn Fn(I<'c>, I<'c>) -> I<'c>,
    ) {
        let e = self.e;
        let in_row = panel.width / lanes;
        let pieces = panel.rows * in_row;
        let copy = |piece: I<'c>| {
            let (row, col) = (e.idiv(piece, in_row), e.imul(e.irem(piece, in_row), e.n(lanes)));
            let to = e.at(panel.base, place(row, col));
            let (index, inside) = source(row, col);
            let index = match inside {
                Some(inside) => {
                    e.select(inside.into(), index.into(), e.n(0).into()).into_int_value()
                }
                None => index,
            };
            self.copy(to, e.at(from, index), lanes, inside);
        };
        if pieces.is_multiple_of(threads) && pieces / threads <= 4 {
            for number in 0..pieces / threads {
                copy(e.iadd(self.thread(), e.n(number * threads)));
            }
        } else {
            e.for_each(self.thread(), e.n(pieces), threads, copy);
        }
    }

    /// One copy to shared memory; asynchronous, unless it is of a single element.
    fn copy(&self, to: P<'c>, from: P<'c>, lanes: u64, inside: Option<I<'c>>) {
        let e = self.e;
        if lanes == 1 {
            let short = e.ctx.i16_type();
            let value = e.load_typed(short, from.address, 2);
            let value = match inside {
                Some(inside) => e.select(inside.into(), value, short.const_zero().into()),
                None => value,
            };
            return e.store_aligned(to.address, value, 2);
        }
        let bytes = 2 * lanes;
        let cache = if bytes == 16 { "cg" } else { "ca" };
        let name = format!("llvm.nvvm.cp.async.{cache}.shared.global.{bytes}");
        let mut args: Vec<V> = vec![to.address.into(), from.address.into()];
        let Some(inside) = inside else {
            e.call_intrinsic(&name, &args);
            return;
        };
        let word = e.ctx.i32_type();
        let [all, none] = [bytes, 0].map(|n| word.const_int(n, false).into());
        args.push(e.select(inside.into(), all, none));
        e.call_intrinsic(&format!("{name}.s"), &args);
    }

    /// Ends a group of copies.
    pub(super) fn commit(&self) {
        self.e.call_intrinsic("llvm.nvvm.cp.async.commit.group", &[]);
    }

    /// Waits until at most `groups` groups of this thread's copies are under way.
    pub(super) fn wait(&self, groups: u64) {
        let groups = self.e.ctx.i32_type().const_int(groups, false).into();
        self.e.call_intrinsic("llvm.nvvm.cp.async.wait.group", &[groups]);
    }

    /// Four matrices of 8 by 8: lane `l` gives the place of row `l % 8` of matrix `l / 8`. Of the two halves of a fragment,
    /// `is_down_first` says that the second matrix lies below the first, not beside it.
    fn matrices(
        &self,
        panel: Panel<'c>,
        [row, col]: [I<'c>; 2],
        is_down_first: bool,
        is_transposed: bool,
    ) -> [V<'c>; 4] {
        let e = self.e;
        let lane = e.irem(self.thread(), 32);
        let (down, beside) = match is_down_first {
            true => (e.irem(lane, 16), e.idiv(lane, 16)),
            false => (
                e.iadd(e.irem(lane, 8), e.imul(e.idiv(lane, 16), e.n(8))),
                e.irem(e.idiv(lane, 8), 2),
            ),
        };
        let (row, col) = (e.iadd(row, down), e.iadd(col, e.imul(beside, e.n(8))));
        let at = e.at(panel.base, e.iadd(e.imul(row, e.n(stride(panel.width))), col)).address;
        let transposed = if is_transposed { ".trans" } else { "" };
        let name = format!("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{transposed}.b16");
        let found = e.intrinsic_of(&name, &[at.get_type().into()], &[at.into()]);
        let found = found.unwrap_basic().into_struct_value();
        std::array::from_fn(|i| built(e.b.build_extract_value(found, i as u32, "")))
    }

    /// The fragment of a left operand: 16 rows of the result from `row` on, [`DEPTH`] steps from `deep` on.
    pub(super) fn left(&self, panel: Panel<'c>, rows: Rows, row: I<'c>, deep: I<'c>) -> [V<'c>; 4] {
        match rows {
            Rows::Along => self.matrices(panel, [row, deep], true, false),
            Rows::Across => self.matrices(panel, [deep, row], false, true),
        }
    }

    /// Writes a fragment of a left operand to where [`Self::left`] finds it in a panel with rows along the contraction: `row` is
    /// that of this thread, `deep` the fragment's first step.
    pub(super) fn put_left(&self, panel: Panel<'c>, row: I<'c>, deep: I<'c>, left: &[V<'c>; 4]) {
        let e = self.e;
        let col = e.iadd(deep, e.imul(e.irem(self.thread(), 4), e.n(2)));
        let at = e.iadd(e.imul(row, e.n(stride(panel.width))), col);
        for (i, &pair) in (0..).zip(left) {
            let offset = i % 2 * 8 * stride(panel.width) + i / 2 * 8;
            e.store_aligned(e.at(panel.base, e.iadd(at, e.n(offset))).address, pair, 4);
        }
    }

    /// Fragments of a right operand: 8 columns of the result from `col` on and the next 8, [`DEPTH`] steps from `deep` on.
    pub(super) fn right(
        &self,
        panel: Panel<'c>,
        rows: Rows,
        col: I<'c>,
        deep: I<'c>,
    ) -> [[V<'c>; 2]; 2] {
        let [a, b, c, d] = match rows {
            Rows::Along => self.matrices(panel, [col, deep], false, false),
            Rows::Across => self.matrices(panel, [deep, col], true, true),
        };
        [[a, b], [c, d]]
    }

    /// Adds the product of two fragments.
    pub(super) fn multiply(&self, left: &[V<'c>; 4], right: &[V<'c>; 2], sums: &Sums<'c>) {
        let e = self.e;
        let mut args = [&left[..], &right[..]].concat();
        args.extend(sums.iter().map(|sum| e.get(sum)));
        let found = e.call_intrinsic("llvm.nvvm.mma.m16n8k16.row.col.bf16", &args);
        let found = found.expect("a product has a value").into_struct_value();
        for (i, sum) in (0..).zip(sums) {
            e.set(sum, built(e.b.build_extract_value(found, i, "")));
        }
    }

    /// Sums that are zero, for `tiles` tiles.
    pub(super) fn no_sums(&self, tiles: u64) -> Vec<Sums<'c>> {
        (0..tiles).map(|_| std::array::from_fn(|_| self.e.local(self.e.float(0.0)))).collect()
    }

    /// Numbers as sums hold them of two neighbouring tiles, rounded to bf16: the fragment of a left operand whose
    /// contraction runs over their 16 columns.
    pub(super) fn narrowed(&self, tiles: [&[V<'c>; 4]; 2]) -> [V<'c>; 4] {
        let e = self.e;
        let pair = |low: V<'c>, high: V<'c>| {
            let pair = e.call_intrinsic("llvm.nvvm.ff2bf16x2.rn", &[high, low]);
            let pair = pair.expect("a conversion has a value");
            built(e.b.build_bit_cast(pair, e.ctx.i32_type(), ""))
        };
        let [a, b] = tiles;
        [pair(a[0], a[1]), pair(a[2], a[3]), pair(b[0], b[1]), pair(b[2], b[3])]
    }

    /// Whether `at` lies below `extent`, if that is a question.
    pub(super) fn below(&self, at: I<'c>, extent: u64, is_sure: bool) -> Option<I<'c>> {
        (!is_sure).then(|| self.e.icmp(IntPredicate::ULT, at, self.e.n(extent)))
    }

    /// Both conditions, as far as they are questions.
    pub(super) fn all(&self, a: Option<I<'c>>, b: Option<I<'c>>) -> Option<I<'c>> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.e.both(a, b)),
            (a, b) => a.or(b),
        }
    }
}
