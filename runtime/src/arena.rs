//! Memory of a device: one aligned block that outlives every pointer into it.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of arenas and workspaces in bytes: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// What fresh memory holds. As f32, f64 or bf16 it is a NaN, so a read of unwritten memory shows.
pub(crate) const POISON: u8 = 0xFF;

/// A block of bytes that never moves.
pub(crate) struct Arena {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: an Arena is plain memory reached only through raw pointers; whoever dereferences those orders the accesses
// (the plan's verified order within a device, meetings between devices).
unsafe impl Send for Arena {}
// SAFETY: as above; `&Arena` by itself only yields addresses.
unsafe impl Sync for Arena {}

impl Arena {
    /// A poisoned block of at least one byte.
    pub(crate) fn new(bytes: usize) -> Arena {
        let layout = Arena::layout(bytes);
        // SAFETY: the layout has a size of at least ALIGN bytes.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        // SAFETY: the block was just allocated with layout.size() bytes.
        unsafe { start.as_ptr().write_bytes(POISON, layout.size()) };
        Arena { start, bytes }
    }

    fn layout(bytes: usize) -> Layout {
        let size = bytes.max(1).next_multiple_of(ALIGN);
        Layout::from_size_align(size, ALIGN)
            .expect("sizes are checked against the address space when a plan is loaded")
    }

    /// Its size.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Address of a byte. It must lie in the block.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.bytes, "offset {offset} in an arena of {} bytes", self.bytes);
        // SAFETY: just checked to lie inside the allocation or one past its end.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// The block's contents.
    ///
    /// # Safety
    /// Nobody may write to the block while the slice lives.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the block is initialised (poisoned at first) and has this length; no writers by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The block's contents, to change.
    ///
    /// # Safety
    /// Nobody may use the block while the slice lives.
    #[allow(clippy::mut_from_ref)] // exclusivity is the caller's promise; the arena is shared with parked workers
    pub(crate) unsafe fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.start.as_ptr(), Arena::layout(self.bytes)) };
    }
}
