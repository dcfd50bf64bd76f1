//! An allocator that knows the most memory that was held at once, so that a target can compare it with its input's size.
//!
//! Counting what is asked for is exact and the same on every machine, unlike the resident set of the process, in which the
//! fuzzer's own corpus stands too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counting.
pub struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    MOST.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is handed to the system's allocator unchanged; counting touches nothing else.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` and returns the most bytes that were held at once beyond those held before.
pub fn most_held(work: impl FnOnce()) -> usize {
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    work();
    MOST.load(Relaxed).saturating_sub(before)
}
