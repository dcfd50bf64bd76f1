//! Loads, stores and local variables. Loads widen what is stored in bf16, stores round to it, so that kernels are written
//! once for all element types.

use super::{Emitter, I, V, built};
use crate::kernel::Dtype;
use inkwell::FloatPredicate;
use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{BasicValue, InstructionValue, PointerValue};

/// How far ahead of what is read memory is asked for, by [`Emitter::load_streamed`].
const AHEAD_BYTES: u64 = 4096;
/// Bytes that one request for memory brings.
const CACHE_LINE_BYTES: usize = 64;

/// A mutable local variable.
pub(crate) struct Local<'c> {
    slot: PointerValue<'c>,
    ty: BasicTypeEnum<'c>,
}

/// A pointer to elements of one type, which may be narrower than what is computed with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct P<'c> {
    pub(crate) address: PointerValue<'c>,
    pub(crate) element: Dtype,
}

impl<'c> From<P<'c>> for V<'c> {
    fn from(pointer: P<'c>) -> Self {
        pointer.address.into()
    }
}

impl<'c> Emitter<'c> {
    /// A pointer, given as an argument, to elements of a type.
    pub(crate) fn pointer(&self, address: V<'c>, element: Dtype) -> P<'c> {
        P { address: address.into_pointer_value(), element }
    }

    /// What elements are in memory; of bf16 the bits.
    pub(crate) fn stored(&self, element: Dtype) -> BasicTypeEnum<'c> {
        match element {
            Dtype::F32 => self.ctx.f32_type().into(),
            Dtype::F64 => self.ctx.f64_type().into(),
            Dtype::I32 => self.ctx.i32_type().into(),
            Dtype::Bf16 => self.ctx.i16_type().into(),
        }
    }

    /// Address of element `index` of an array of `ty`.
    #[allow(unsafe_code)]
    pub(crate) fn at_typed(
        &self,
        base: PointerValue<'c>,
        index: I<'c>,
        ty: impl BasicType<'c>,
    ) -> PointerValue<'c> {
        // SAFETY: building a GEP is unsafe in inkwell because an in-bounds one with wrong indices is undefined when
        // executed. Each caller computes its index from the same shapes that `Kernel::parameters` and
        // `Kernel::workspace_bytes` are derived from.
        built(unsafe { self.b.build_in_bounds_gep(ty, base, &[index], "") })
    }

    /// Pointer to element `index`.
    pub(crate) fn at(&self, base: P<'c>, index: I<'c>) -> P<'c> {
        P { address: self.at_typed(base.address, index, self.stored(base.element)), ..base }
    }

    pub(crate) fn load_typed(
        &self,
        ty: impl BasicType<'c>,
        address: PointerValue<'c>,
        align: u64,
    ) -> V<'c> {
        let value = built(self.b.build_load(ty, address, ""));
        let load = value.as_instruction_value().expect("a load is an instruction");
        load.set_alignment(align as u32).expect("alignments are powers of two");
        value
    }

    pub(crate) fn store_aligned(&self, address: PointerValue<'c>, value: V<'c>, align: u64) {
        self.aligned_store(address, value, align);
    }

    fn aligned_store(
        &self,
        address: PointerValue<'c>,
        value: V<'c>,
        align: u64,
    ) -> InstructionValue<'c> {
        let store = built(self.b.build_store(address, value));
        store.set_alignment(align as u32).expect("alignments are powers of two");
        store
    }

    /// One element; of bf16 as f32.
    pub(crate) fn load(&self, base: P<'c>, index: I<'c>) -> V<'c> {
        let P { address, element } = self.at(base, index);
        self.widened(self.load_typed(self.stored(element), address, element.bytes()), element)
    }

    /// Writes one element, rounded if they are bf16.
    pub(crate) fn store(&self, base: P<'c>, index: I<'c>, value: V<'c>) {
        self.store_lanes(self.at(base, index), value);
    }

    /// `lanes` consecutive elements.
    pub(crate) fn load_lanes(&self, from: P<'c>, lanes: u64) -> V<'c> {
        let ty = match self.stored(from.element) {
            BasicTypeEnum::FloatType(t) => t.vec_type(lanes as u32),
            other => other.into_int_type().vec_type(lanes as u32),
        };
        self.widened(self.load_typed(ty, from.address, from.element.bytes()), from.element)
    }

    /// Writes consecutive elements.
    pub(crate) fn store_lanes(&self, to: P<'c>, value: V<'c>) {
        let value = if to.element == Dtype::Bf16 { self.bf16_bits(value) } else { value };
        self.store_aligned(to.address, value, to.element.bytes());
    }

    /// A virtual vector of the lanes in `mask`, the others zero. No byte of the others is touched.
    pub(crate) fn load_masked(&self, from: P<'c>, mask: V<'c>) -> V<'c> {
        let ty = self.vector(self.lanes());
        let types = [ty.into(), from.address.get_type().into()];
        let args = [from.into(), mask, ty.const_zero().into()];
        self.intrinsic_of("llvm.masked.load", &types, &args).unwrap_basic()
    }

    /// Writes the lanes in `mask` of a virtual vector, and no byte beyond.
    pub(crate) fn store_masked(&self, to: P<'c>, value: V<'c>, mask: V<'c>) {
        let types = [value.get_type(), to.address.get_type().into()];
        self.intrinsic_of("llvm.masked.store", &types, &[value, to.into(), mask]);
    }

    /// Asks for the cache line at `index`, to be written soon. Harmless wherever it points.
    pub(crate) fn prefetch_for_writing(&self, base: P<'c>, index: I<'c>) {
        self.prefetch(base, index, true);
    }

    /// Asks for the cache line `ahead` elements behind `index`, to be read soon. Harmless wherever it points.
    pub(crate) fn prefetch_for_reading(&self, base: P<'c>, index: I<'c>, ahead: u64) {
        self.prefetch(base, self.iadd(index, self.n(ahead)), false);
    }

    fn prefetch(&self, base: P<'c>, index: I<'c>, to_write: bool) {
        // No address inside an object is claimed, as what is ahead may lie beyond its end.
        let bytes = self.imul(index, self.n(base.element.bytes()));
        let start = built(self.b.build_ptr_to_int(base.address, self.i64(), ""));
        let address = built(self.b.build_int_add(start, bytes, ""));
        let address = built(self.b.build_int_to_ptr(address, base.address.get_type(), ""));
        // Into the nearest cache, of data.
        let [write, nearest, data] =
            [u64::from(to_write), 3, 1].map(|n| self.ctx.i32_type().const_int(n, false).into());
        let args = [address.into(), write, nearest, data];
        self.intrinsic_of("llvm.prefetch", &[address.get_type().into()], &args);
    }

    pub(crate) fn widened(&self, value: V<'c>, element: Dtype) -> V<'c> {
        if element != Dtype::Bf16 {
            return value;
        }
        match value {
            V::VectorValue(bits) => {
                let count = bits.get_type().get_size();
                let wide = self.ctx.i32_type().vec_type(count);
                let bits = built(self.b.build_int_z_extend(bits, wide, ""));
                let shift = VectorType::const_vector(&vec![
                    self.ctx.i32_type().const_int(16, false);
                    count as usize
                ]);
                let bits = built(self.b.build_left_shift(bits, shift, ""));
                built(self.b.build_bit_cast(bits, self.ctx.f32_type().vec_type(count), ""))
            }
            bits => {
                let wide = self.ctx.i32_type();
                let bits = built(self.b.build_int_z_extend(bits.into_int_value(), wide, ""));
                let bits = built(self.b.build_left_shift(bits, wide.const_int(16, false), ""));
                built(self.b.build_bit_cast(bits, self.ctx.f32_type(), ""))
            }
        }
    }

    /// The bits of f32 values rounded to bf16, to nearest with ties to even; a NaN stays one. The instruction that
    /// some CPUs have for this is not used: it takes subnormal values for zero.
    pub(crate) fn bf16_bits(&self, value: V<'c>) -> V<'c> {
        let bits = self.to_bits(value);
        let constant = |n: u64| self.bits_like(value, n);
        let high = self.shift_right(bits, constant(16));
        let odd = self.bit_and(high, constant(1));
        let rounded = self.bit_add(bits, self.bit_add(odd, constant(0x7fff)));
        let rounded = self.shift_right(rounded, constant(16));
        let nan = self.compare(FloatPredicate::UNO, value, value);
        let chosen = self.select(nan, self.bit_or(high, constant(0x40)), rounded);
        let short = self.ctx.i16_type();
        match chosen {
            V::VectorValue(v) => {
                let ty = short.vec_type(v.get_type().get_size());
                built(self.b.build_int_truncate(v, ty, "")).into()
            }
            v => built(self.b.build_int_truncate(v.into_int_value(), short, "")).into(),
        }
    }

    /// A virtual vector whose first `width` lanes are read and whose others are zero. No byte beyond is touched.
    pub(crate) fn load_piece(&self, base: P<'c>, index: I<'c>, width: u64) -> V<'c> {
        let lanes = self.lanes();
        let piece = self.load_lanes(self.at(base, index), width);
        if width == lanes {
            return piece;
        }
        let zero = self.like(piece, 0.0);
        let indices: Vec<_> = (0..lanes).map(|l| if l < width { l } else { width }).collect();
        self.shuffle(piece, zero, &indices)
    }

    /// As [`Self::load_piece`], of an operand that comes from memory: what lies further on is asked for. Where much is done to each
    /// element the processor does not run ahead to the next loads by itself, and its own fetching stops where a page ends.
    pub(crate) fn load_streamed(&self, base: P<'c>, index: I<'c>, width: u64) -> V<'c> {
        let element = base.element.bytes();
        for line in (0..width * element).step_by(CACHE_LINE_BYTES) {
            self.prefetch_for_reading(base, index, (AHEAD_BYTES + line) / element);
        }
        self.load_piece(base, index, width)
    }

    /// Writes the first `width` lanes and no byte beyond.
    pub(crate) fn store_piece(&self, base: P<'c>, index: I<'c>, value: V<'c>, width: u64) {
        let piece = if width == self.lanes() {
            value
        } else {
            self.shuffle(value, value, &(0..width).collect::<Vec<_>>())
        };
        self.store_lanes(self.at(base, index), piece);
    }

    /// As [`Self::store_piece`], for a result that the kernel does not read again: past the caches, where
    /// [`Self::streams_results`] is set and the piece is whole.
    pub(crate) fn store_result(&self, base: P<'c>, index: I<'c>, value: V<'c>, width: u64) {
        if !self.streams_results.get() || width != self.lanes() {
            return self.store_piece(base, index, value, width);
        }
        let to = self.at(base, index);
        let value = if to.element == Dtype::Bf16 { self.bf16_bits(value) } else { value };
        let align = super::VIRTUAL_BYTES.min(width * to.element.bytes());
        let store = self.aligned_store(to.address, value, align);
        let one = self.ctx.i32_type().const_int(1, false);
        let kind = self.ctx.get_kind_id("nontemporal");
        let node = self.ctx.metadata_node(&[one.into()]);
        store.set_metadata(node, kind).expect("stores take metadata");
    }

    /// Emits `body` so that what it stores with [`Self::store_result`] goes past the caches, and once more without for when
    /// one of `results` does not lie at a whole virtual vector. The former has `widened` times as many lanes as the latter.
    pub(crate) fn streaming(&self, results: &[P<'c>], widened: u64, body: impl Fn()) {
        let address = |p: &P<'c>| built(self.b.build_ptr_to_int(p.address, self.i64(), ""));
        let bits = results.iter().map(address).reduce(|a, b| built(self.b.build_or(a, b, "")));
        let Some(bits) = bits else { return body() };
        let is_aligned =
            self.icmp(inkwell::IntPredicate::EQ, self.irem(bits, super::VIRTUAL_BYTES), self.n(0));
        let streamed = || {
            self.streams_results.set(true);
            self.widened.set(widened);
            body();
            self.widened.set(1);
            self.streams_results.set(false);
            // Such stores are not ordered with later ones, by which another thread may learn of them.
            let order = inkwell::AtomicOrdering::SequentiallyConsistent;
            built(self.b.build_fence(order, false, ""));
        };
        self.if_else(is_aligned, streamed, &body);
    }

    /// A mutable local, which optimisation turns into a register.
    pub(crate) fn local(&self, initial: V<'c>) -> Local<'c> {
        let entry = self
            .current_function()
            .get_first_basic_block()
            .expect("functions are emitted from their entry");
        let at_entry = self.ctx.create_builder();
        match entry.get_first_instruction() {
            Some(first) => at_entry.position_before(&first),
            None => at_entry.position_at_end(entry),
        }
        let slot = built(at_entry.build_alloca(initial.get_type(), ""));
        built(self.b.build_store(slot, initial));
        Local { slot, ty: initial.get_type() }
    }

    pub(crate) fn get(&self, local: &Local<'c>) -> V<'c> {
        built(self.b.build_load(local.ty, local.slot, ""))
    }

    pub(crate) fn set(&self, local: &Local<'c>, value: V<'c>) {
        built(self.b.build_store(local.slot, value));
    }
}
