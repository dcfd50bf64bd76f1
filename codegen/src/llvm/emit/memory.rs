//! Loads, stores and local variables.

use super::{Emitter, I, P, V, built};
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::BasicValue;

/// A mutable local variable.
pub(crate) struct Local<'c> {
    slot: P<'c>,
    ty: BasicTypeEnum<'c>,
}

impl<'c> Emitter<'c> {
    /// Address of element `index` of an array of `ty`.
    #[allow(unsafe_code)]
    pub(crate) fn at_typed(&self, base: P<'c>, index: I<'c>, ty: impl BasicType<'c>) -> P<'c> {
        // SAFETY: building a GEP is unsafe in inkwell because an in-bounds one with wrong indices is undefined when
        // executed. Each caller computes its index from the same shapes that `Kernel::parameters` and
        // `Kernel::workspace_bytes` are derived from.
        built(unsafe { self.b.build_in_bounds_gep(ty, base, &[index], "") })
    }

    /// Address of element `index` of an array of the element type.
    pub(crate) fn at(&self, base: P<'c>, index: I<'c>) -> P<'c> {
        self.at_typed(base, index, self.real())
    }

    pub(crate) fn load_typed(&self, ty: impl BasicType<'c>, address: P<'c>, align: u64) -> V<'c> {
        let value = built(self.b.build_load(ty, address, ""));
        let load = value.as_instruction_value().expect("a load is an instruction");
        load.set_alignment(align as u32).expect("alignments are powers of two");
        value
    }

    pub(crate) fn store_aligned(&self, address: P<'c>, value: V<'c>, align: u64) {
        let store = built(self.b.build_store(address, value));
        store.set_alignment(align as u32).expect("alignments are powers of two");
    }

    /// One element.
    pub(crate) fn load(&self, base: P<'c>, index: I<'c>) -> V<'c> {
        self.load_typed(self.real(), self.at(base, index), self.dtype().bytes())
    }

    pub(crate) fn store(&self, base: P<'c>, index: I<'c>, value: V<'c>) {
        self.store_aligned(self.at(base, index), value, self.dtype().bytes());
    }

    /// `lanes` consecutive elements.
    pub(crate) fn load_lanes(&self, address: P<'c>, lanes: u64) -> V<'c> {
        self.load_typed(self.vector(lanes), address, self.dtype().bytes())
    }

    pub(crate) fn store_lanes(&self, address: P<'c>, value: V<'c>) {
        self.store_aligned(address, value, self.dtype().bytes());
    }

    /// A virtual vector whose first `width` lanes are read and whose others are zero. No byte beyond is touched.
    pub(crate) fn load_piece(&self, base: P<'c>, index: I<'c>, width: u64) -> V<'c> {
        let lanes = self.lanes();
        let piece = self.load_lanes(self.at(base, index), width);
        if width == lanes {
            return piece;
        }
        let zero = self.vector(width).const_zero().into();
        let indices: Vec<_> = (0..lanes).map(|l| if l < width { l } else { width }).collect();
        self.shuffle(piece, zero, &indices)
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
