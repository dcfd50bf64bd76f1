//! Functions: loaded kernels, what is known of them, and how many of their blocks a multiprocessor holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use piper_ptx::Kernel;

use crate::abi::{Code, Handle, Result};
use crate::call::{calls, put};
use crate::chip::{REGISTERS, SHARED_UNASKED, THREADS};
use crate::device::Device;
use crate::handles::Table;

/// A loaded kernel.
pub(crate) struct Function {
    pub(crate) kernel: Kernel,
    pub(crate) device: Arc<Device>,
    /// Bytes of dynamic shared memory that a launch may ask for.
    most_dynamic: AtomicU32,
}

static FUNCTIONS: Table<Function> = Table::new(5);

/// Takes a kernel in.
pub(crate) fn insert(kernel: Kernel, device: Arc<Device>) -> Handle {
    let own = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
    let most_dynamic = AtomicU32::new(SHARED_UNASKED.saturating_sub(own));
    FUNCTIONS.insert(Arc::new(Function { kernel, device, most_dynamic }))
}

/// The function of a handle.
pub(crate) fn function(handle: Handle) -> Result<Arc<Function>> {
    FUNCTIONS.get(handle)
}

/// Registers of a thread, as far as one can say: those of the text are virtual, so this is a guess that no launch is
/// refused for.
const REGISTERS_OF_A_THREAD: u32 = 64;

/// `CUfunction_attribute`: which can be set.
const MOST_DYNAMIC: u32 = 8;
const CARVEOUT: u32 = 9;

impl Function {
    pub(crate) fn most_dynamic(&self) -> u32 {
        self.most_dynamic.load(Ordering::Relaxed)
    }

    fn shared(&self) -> u32 {
        u32::try_from(self.kernel.shared_bytes()).unwrap_or(u32::MAX)
    }

    fn threads(&self) -> u32 {
        self.kernel.threads().map_or(1024, |(most, _)| most.iter().product::<u32>().min(1024))
    }

    fn attribute(&self, number: u32) -> Result<i32> {
        let (major, minor) = self.device.chip.capability;
        Ok(match number {
            0 => self.threads() as i32,
            1 => self.shared() as i32,
            2 | 7 => 0,
            3 => self.kernel.local_bytes() as i32,
            4 => REGISTERS_OF_A_THREAD as i32,
            5 | 6 => major * 10 + minor,
            MOST_DYNAMIC => self.most_dynamic() as i32,
            CARVEOUT => -1,
            10..=18 => 0,
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// Blocks of `threads` threads with `dynamic` bytes of shared memory that a multiprocessor holds at a time, by
    /// threads, registers, shared memory and the most that the chip allows.
    fn blocks_per_multiprocessor(&self, threads: u32, dynamic: u64) -> u32 {
        let chip = self.device.chip;
        let warps = threads.div_ceil(32).max(1);
        let by_threads = THREADS / 32 / warps;
        let by_registers = REGISTERS / (warps * 32 * REGISTERS_OF_A_THREAD);
        // The system keeps a kilobyte a block.
        let shared = u64::from(self.shared()) + dynamic + 1024;
        let by_shared = u64::from(chip.shared_per_multiprocessor) / shared;
        by_threads
            .min(by_registers)
            .min(u32::try_from(by_shared).unwrap_or(u32::MAX))
            .min(chip.blocks_per_multiprocessor)
    }
}

calls! {
    /// A figure of a kernel.
    fn cuFuncGetAttribute(to: *mut i32, attribute: u32, handle: Handle) {
        let value = function(handle)?.attribute(attribute)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, value) }
    }

    /// How much dynamic shared memory launches may ask for; the division of the cache has no effect.
    fn cuFuncSetAttribute(handle: Handle, attribute: u32, value: i32) {
        let function = function(handle)?;
        match (attribute, u32::try_from(value)) {
            (MOST_DYNAMIC, Ok(bytes)) => {
                let total = bytes.saturating_add(function.shared());
                if total > function.device.chip.shared_per_block {
                    return Err(Code::INVALID_VALUE);
                }
                function.most_dynamic.store(bytes, Ordering::Relaxed);
                Ok(())
            }
            (CARVEOUT, _) => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// There are no caches.
    fn cuFuncSetCacheConfig(handle: Handle, _config: u32) {
        function(handle).map(|_| ())
    }

    /// Blocks of a kernel that a multiprocessor holds.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: *mut i32,
        handle: Handle,
        threads: i32,
        dynamic: usize,
    ) {
        let function = function(handle)?;
        let threads = u32::try_from(threads).map_err(|_| Code::INVALID_VALUE)?;
        let blocks = if threads == 0 || threads > function.threads() {
            return Err(Code::INVALID_VALUE);
        } else {
            function.blocks_per_multiprocessor(threads, dynamic as u64)
        };
        // SAFETY: the caller's place for the result.
        unsafe { put(to, blocks as i32) }
    }

    /// As above; the flag is about caches.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32,
        handle: Handle,
        threads: i32,
        dynamic: usize,
        _flags: u32,
    ) {
        // SAFETY: the same arguments.
        match unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(to, handle, threads, dynamic) } {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }
}
