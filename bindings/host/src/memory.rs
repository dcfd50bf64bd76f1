//! What a host gives a plugin: its allocator, and its panics.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};

use piper_plugin::HostApi;

/// The interface of this program.
pub(crate) static API: HostApi = HostApi {
    alloc: take,
    alloc_zeroed: take_zeroed,
    dealloc: give_back,
    realloc: change,
    panic: go_on,
};

/// # Safety
/// Size and alignment are those of a [`Layout`].
unsafe fn layout(size: usize, align: usize) -> Layout {
    // SAFETY: as the caller promises.
    unsafe { Layout::from_size_align_unchecked(size, align) }
}

unsafe extern "C" fn take(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the plugin's allocator passes on what it is promised: a layout of a size that is not 0.
    unsafe { alloc(layout(size, align)) }
}

unsafe extern "C" fn take_zeroed(size: usize, align: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { alloc_zeroed(layout(size, align)) }
}

unsafe extern "C" fn give_back(at: *mut u8, size: usize, align: usize) {
    // SAFETY: as above; the memory came from here with this layout.
    unsafe { dealloc(at, layout(size, align)) }
}

unsafe extern "C" fn change(at: *mut u8, size: usize, align: usize, new: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { realloc(at, layout(size, align), new) }
}

/// A panic of a plugin, as one of this program: it passes through the plugin's frames as any foreign exception does, and
/// is caught where ours are.
unsafe extern "C-unwind" fn go_on(text: *const u8, len: usize) -> ! {
    // SAFETY: the plugin gives a text that lives until it is left.
    let text = unsafe { std::slice::from_raw_parts(text, len) };
    std::panic::resume_unwind(Box::new(String::from_utf8_lossy(text).into_owned()))
}
