//! What a thread of a GPU has beyond a processor's: its place in the grid, barriers, shuffles and shared memory.

use super::chip::Chip;
use super::launch::{ACCESS_BYTES, Stage, Team};
use crate::kernel::Dtype;
use crate::llvm::emit::{Emitter, I, P, V, built};
use inkwell::module::Linkage;
use inkwell::types::BasicTypeEnum;
use inkwell::{AddressSpace, IntPredicate};

/// Address space of shared memory.
pub(super) const SHARED: u16 = 3;
/// All threads of a warp.
const WARP: u64 = 0xffff_ffff;

/// Alignment of `lanes` elements at an index that is a multiple of `lanes`: buffers promise no more than the widest access.
fn alignment(lanes: u64, element: Dtype) -> u64 {
    (lanes * element.bytes()).min(ACCESS_BYTES)
}

/// One stage of a kernel while it is emitted.
pub(super) struct Device<'e, 'c> {
    pub(super) e: &'e Emitter<'c>,
    pub(super) buffers: Vec<P<'c>>,
    /// Run-time scalars, f64.
    pub(super) scalars: Vec<V<'c>>,
    /// Scratch memory as bytes, if the kernel has any.
    pub(super) workspace: Option<V<'c>>,
    pub(super) stage: &'e Stage,
    /// The block whose work this is, if blocks take that of several.
    pub(super) at: Option<[I<'c>; 3]>,
    pub(super) chip: Chip,
}

impl<'c> Device<'_, 'c> {
    fn register(&self, name: &str, below: u64) -> I<'c> {
        let e = self.e;
        if below <= 1 {
            return e.n(0);
        }
        let value = e.call_intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{name}"), &[]);
        built(e.b.build_int_z_extend(
            value.expect("a register has a value").into_int_value(),
            e.i64(),
            "",
        ))
    }

    /// This thread's number in its block.
    pub(super) fn thread(&self) -> I<'c> {
        self.register("tid.x", u64::from(self.stage.block))
    }

    /// This block's number along an axis.
    pub(super) fn block(&self, axis: usize) -> I<'c> {
        if let Some(at) = &self.at {
            return at[axis];
        }
        let name = ["ctaid.x", "ctaid.y", "ctaid.z"][axis];
        self.register(name, u64::from(self.stage.grid[axis]))
    }

    /// Threads of the grid, along x.
    pub(super) fn threads(&self) -> u64 {
        u64::from(self.stage.block) * u64::from(self.stage.work.unwrap_or(self.stage.grid)[0])
    }

    /// This thread's number in the grid, along x.
    pub(super) fn place(&self) -> I<'c> {
        let e = self.e;
        e.iadd(e.imul(self.block(0), e.n(u64::from(self.stage.block))), self.thread())
    }

    /// Runs `body` for the pieces below `count`, which all threads of the grid share.
    pub(super) fn walk(&self, count: u64, body: impl FnOnce(I<'c>)) {
        let e = self.e;
        let place = self.place();
        if count <= self.threads() {
            e.if_true(e.icmp(IntPredicate::ULT, place, e.n(count)), || body(place));
        } else {
            e.for_each(place, e.n(count), self.threads(), body);
        }
    }

    /// Waits for all threads of the block and makes what they wrote to shared memory visible.
    pub(super) fn barrier(&self) {
        let zero = self.e.ctx.i32_type().const_zero().into();
        self.e.call_intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[zero]);
    }

    /// The same for the `threads` threads, whole warps, that come to barrier `number`; number 0 is that of the block.
    pub(super) fn barrier_of(&self, number: I<'c>, threads: u64) {
        let word = self.e.ctx.i32_type();
        let number = built(self.e.b.build_int_truncate(number, word, ""));
        let threads = word.const_int(threads, false);
        let name = "llvm.nvvm.barrier.cta.sync.aligned.count";
        self.e.call_intrinsic(name, &[number.into(), threads.into()]);
    }

    /// `elems` elements of shared memory, distinct from any other.
    pub(super) fn shared(&self, element: Dtype, elems: u64) -> P<'c> {
        let e = self.e;
        let ty = match e.stored(element) {
            BasicTypeEnum::FloatType(t) => t.array_type(elems as u32),
            other => other.into_int_type().array_type(elems as u32),
        };
        let space = AddressSpace::from(SHARED);
        let global = e.module.add_global(ty, Some(space), "piper_shared");
        global.set_linkage(Linkage::Internal);
        global.set_initializer(&ty.get_undef());
        global.set_alignment(16);
        P { address: global.as_pointer_value(), element }
    }

    /// Workspace from byte `offset` on, as elements of a type.
    pub(super) fn scratch(&self, element: Dtype, offset: u64) -> P<'c> {
        let bytes = self.workspace.expect("the stage's kernel has workspace").into_pointer_value();
        let address = self.e.at_typed(bytes, self.e.n(offset), self.e.ctx.i8_type());
        P { address, element }
    }

    /// Runs `body(first element, elements)` over all of `elems` elements: pieces of `lanes` that all threads of the grid share,
    /// then one by one what is left over.
    pub(super) fn pieces(&self, elems: u64, lanes: u64, body: impl Fn(I<'c>, u64)) {
        let e = self.e;
        let (pieces, rest) = (elems / lanes, elems % lanes);
        if pieces > 0 {
            self.walk(pieces, |piece| body(e.imul(piece, e.n(lanes)), lanes));
        }
        if rest > 0 {
            self.walk(rest, |i| body(e.iadd(e.n(pieces * lanes), i), 1));
        }
    }

    /// `lanes` elements at an index that is a multiple of `lanes`; one of them as a number.
    pub(super) fn load(&self, from: P<'c>, index: I<'c>, lanes: u64) -> V<'c> {
        let e = self.e;
        if lanes == 1 {
            return e.load(from, index);
        }
        let at = e.at(from, index);
        let ty = match e.stored(from.element) {
            BasicTypeEnum::FloatType(t) => t.vec_type(lanes as u32),
            other => other.into_int_type().vec_type(lanes as u32),
        };
        e.widened(e.load_typed(ty, at.address, alignment(lanes, from.element)), from.element)
    }

    /// Writes what [`Self::load`] reads.
    pub(super) fn store(&self, to: P<'c>, index: I<'c>, value: V<'c>) {
        let e = self.e;
        let V::VectorValue(vector) = value else {
            return e.store(to, index, value);
        };
        let lanes = u64::from(vector.get_type().get_size());
        let value = if to.element == Dtype::Bf16 { e.bf16_bits(value) } else { value };
        e.store_aligned(e.at(to, index).address, value, alignment(lanes, to.element));
    }

    /// Element `index` of a vector.
    pub(super) fn lane(&self, vector: V<'c>, index: u64) -> V<'c> {
        match vector {
            V::VectorValue(v) => built(self.e.b.build_extract_element(
                v,
                self.e.ctx.i32_type().const_int(index, false),
                "",
            )),
            number => number,
        }
    }

    /// `lanes` zeros; one of them as a number.
    pub(super) fn zero(&self, lanes: u64) -> V<'c> {
        let e = self.e;
        if lanes == 1 { e.float(0.0) } else { e.vector(lanes).const_zero().into() }
    }

    /// Numbers rounded or widened to `dtype`.
    pub(super) fn converted(&self, value: V<'c>, dtype: Dtype) -> V<'c> {
        match value {
            V::VectorValue(_) => self.e.convert_lanes(value, dtype),
            number => self.e.convert(number, dtype),
        }
    }

    /// A vector of numbers.
    pub(super) fn vector(&self, parts: &[V<'c>]) -> V<'c> {
        let e = self.e;
        let ty = parts[0].into_float_value().get_type().vec_type(parts.len() as u32);
        let fill = |vector, (i, part): (usize, &V<'c>)| {
            let index = e.ctx.i32_type().const_int(i as u64, false);
            built(e.b.build_insert_element(vector, *part, index, ""))
        };
        parts.iter().enumerate().fold(ty.get_poison(), fill).into()
    }

    /// The value of the thread whose number in the warp differs by the bits of `mask`.
    pub(super) fn shuffle(&self, value: V<'c>, mask: u64) -> V<'c> {
        let e = self.e;
        let word = e.ctx.i32_type();
        let exchange = |bits: I<'c>| -> I<'c> {
            let args = [
                word.const_int(WARP, false),
                bits,
                word.const_int(mask, false),
                word.const_int(31, false),
            ];
            let result = e.call_intrinsic("llvm.nvvm.shfl.sync.bfly.i32", &args.map(Into::into));
            result.expect("a shuffle has a value").into_int_value()
        };
        let bits = e.to_bits(value).into_int_value();
        if !e.is_double(value) {
            return e.number_from_bits(exchange(bits).into(), value);
        }
        let low = exchange(built(e.b.build_int_truncate(bits, word, "")));
        let high = built(e.b.build_right_shift(bits, e.n(32), false, ""));
        let high = exchange(built(e.b.build_int_truncate(high, word, "")));
        let [low, high] = [low, high].map(|half| built(e.b.build_int_z_extend(half, e.i64(), "")));
        let high = built(e.b.build_left_shift(high, e.n(32), ""));
        e.number_from_bits(built(e.b.build_or(low, high, "")).into(), value)
    }

    /// Combines the values of groups of `threads` neighbouring threads of a warp; each gets the result.
    pub(super) fn across(
        &self,
        threads: u64,
        mut value: V<'c>,
        combine: impl Fn(V<'c>, V<'c>) -> V<'c>,
    ) -> V<'c> {
        let mut mask = threads / 2;
        while mask > 0 {
            value = combine(value, self.shuffle(value, mask));
            mask /= 2;
        }
        value
    }

    /// Combines the values of a team, in an order that does not depend on time; each thread gets the result.
    pub(super) fn together(
        &self,
        team: Team,
        value: V<'c>,
        combine: impl Fn(V<'c>, V<'c>) -> V<'c>,
    ) -> V<'c> {
        let e = self.e;
        let value = self.across(32, value, &combine);
        if team.threads == 32 {
            return value;
        }
        let warps = team.threads / 32;
        let element = if e.is_double(value) { Dtype::F64 } else { Dtype::F32 };
        let shared = self.shared(element, warps);
        let is_first = e.icmp(IntPredicate::EQ, e.irem(self.thread(), 32), e.n(0));
        e.if_true(is_first, || e.store(shared, e.idiv(self.thread(), 32), value));
        self.barrier();
        (1..warps).fold(e.load(shared, e.n(0)), |sum, warp| combine(sum, e.load(shared, e.n(warp))))
    }

    /// Runs `body(row)` for the row of this thread's team, if there is one.
    pub(super) fn row(&self, team: Team, rows: u64, body: impl FnOnce(I<'c>)) {
        let e = self.e;
        if team.per_block == 1 {
            return body(self.block(0));
        }
        let row =
            e.iadd(e.imul(self.block(0), e.n(team.per_block)), e.idiv(self.thread(), team.threads));
        e.if_true(e.icmp(IntPredicate::ULT, row, e.n(rows)), || body(row));
    }

    /// Runs `body` on the first thread of each team.
    pub(super) fn once(&self, team: Team, body: impl FnOnce()) {
        let e = self.e;
        let is_first = e.icmp(IntPredicate::EQ, e.irem(self.thread(), team.threads), e.n(0));
        e.if_true(is_first, body);
    }

    /// Runs `body(first column)` for each piece of `lanes` columns that falls to this thread of a team.
    pub(super) fn columns(&self, team: Team, cols: u64, lanes: u64, body: impl FnOnce(I<'c>)) {
        let e = self.e;
        let first = e.imul(e.irem(self.thread(), team.threads), e.n(lanes));
        if cols <= team.threads * lanes {
            e.if_true(e.icmp(IntPredicate::ULT, first, e.n(cols)), || body(first));
        } else {
            e.for_each(first, e.n(cols), team.threads * lanes, body);
        }
    }

    /// Sum over a row of what `term` gives for `lanes` columns from the one it is told.
    pub(super) fn row_sum(
        &self,
        team: Team,
        cols: u64,
        lanes: u64,
        term: impl Fn(I<'c>) -> V<'c>,
    ) -> V<'c> {
        let e = self.e;
        let sum = e.local(self.zero(lanes));
        self.columns(team, cols, lanes, |c| e.set(&sum, e.add(e.get(&sum), term(c))));
        let sum = e.get(&sum);
        let sum = if lanes == 1 { sum } else { e.lane_sum(sum) };
        self.together(team, sum, |a, b| e.add(a, b))
    }
}
