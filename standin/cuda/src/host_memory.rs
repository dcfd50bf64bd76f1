//! Memory of the host that the device may use at any time: copies from and to it are truly asynchronous, so what the
//! program writes there before it has waited is what the device sees.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use crate::abi::{Code, Result};
use crate::call::{calls, put};
use crate::context::usable;

/// Bytes from an address on, and whether they are ours to free.
static PINNED: Mutex<BTreeMap<usize, (usize, bool)>> = Mutex::new(BTreeMap::new());

const ALIGN: usize = 4096;

/// Whether all of a range is such memory.
pub(crate) fn is_pinned(address: usize, bytes: usize) -> bool {
    let pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((start, (size, _))) = pinned.range(..=address).next_back() else { return false };
    address + bytes <= start + size
}

fn allocate(bytes: usize) -> Result<*mut c_void> {
    usable()?;
    let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| Code::OUT_OF_MEMORY)?;
    if bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the size is not zero.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(Code::OUT_OF_MEMORY);
    }
    let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
    pinned.insert(start.addr(), (bytes, true));
    Ok(start.cast())
}

calls! {
    /// Allocates; flags (portable, mapped, write-combined) have no effect.
    fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, _flags: u32) {
        let start = allocate(bytes)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, start) }
    }

    /// Allocates.
    fn cuMemAllocHost_v2(to: *mut *mut c_void, bytes: usize) {
        let start = allocate(bytes)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, start) }
    }

    /// Frees.
    fn cuMemFreeHost(start: *mut c_void) {
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((bytes, true)) = pinned.get(&start.addr()).copied() else {
            return Err(Code::INVALID_VALUE);
        };
        pinned.remove(&start.addr());
        let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| Code::INVALID_VALUE)?;
        // SAFETY: allocated with this layout, and forgotten just now, so nobody frees it twice.
        unsafe { dealloc(start.cast(), layout) };
        Ok(())
    }

    /// Makes memory of the program's such memory.
    fn cuMemHostRegister_v2(start: *mut c_void, bytes: usize, _flags: u32) {
        usable()?;
        if start.is_null() || bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        PINNED.lock().unwrap_or_else(PoisonError::into_inner).insert(start.addr(), (bytes, false));
        Ok(())
    }

    /// Takes that back.
    fn cuMemHostUnregister(start: *mut c_void) {
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        match pinned.get(&start.addr()) {
            Some((_, false)) => pinned.remove(&start.addr()),
            _ => return Err(Code::INVALID_VALUE),
        };
        Ok(())
    }

    /// Kernels do not reach memory of the host.
    fn cuMemHostGetDevicePointer_v2(_to: *mut u64, _start: *mut c_void, _flags: u32) {
        Err(Code::NOT_SUPPORTED)
    }
}
