//! Memory of a device, and memory of the host that a device copies from and to.

#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::driver::{Driver, OUT_OF_MEMORY};
use crate::error::CudaError;

/// What unwritten bytes of an arena begin as: in f32 and f64 a large negative number that nobody computes by chance.
pub(crate) const POISON: u8 = 0xCB;

/// A block of device memory. The context that it belongs to is current where it is made, used and dropped.
pub(crate) struct DeviceMemory {
    driver: &'static Driver,
    address: u64,
    bytes: usize,
}

/// What cannot be had, for [`CudaError::Memory`].
pub(crate) struct NoMemory {
    pub(crate) free: u64,
    pub(crate) total: u64,
}

impl DeviceMemory {
    /// A block; of no bytes it has no address.
    ///
    /// # Errors
    /// The inner error: it does not fit.
    pub(crate) fn new(
        driver: &'static Driver,
        bytes: u64,
    ) -> Result<Result<Self, NoMemory>, CudaError> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut address = 0;
        if bytes > 0 {
            // SAFETY: the address is written to a number that lives here.
            let code = unsafe { (driver.api.cuMemAlloc_v2)(&raw mut address, bytes) };
            if code == OUT_OF_MEMORY {
                let (mut free, mut total) = (0, 0);
                // SAFETY: as above; a failure leaves zeros.
                unsafe { (driver.api.cuMemGetInfo_v2)(&raw mut free, &raw mut total) };
                return Ok(Err(NoMemory { free: free as u64, total: total as u64 }));
            }
            driver.check(format!("allocating {bytes} bytes on the device"), code)?;
        }
        Ok(Ok(Self { driver, address, bytes }))
    }

    /// The address of a byte.
    pub(crate) fn at(&self, offset: u64) -> u64 {
        self.address + offset
    }

    /// Sets all bytes, and waits.
    pub(crate) fn fill(&self, value: u8) -> Result<(), CudaError> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: exactly this block.
        let code = unsafe { (self.driver.api.cuMemsetD8_v2)(self.address, value, self.bytes) };
        self.driver.check("clearing device memory", code)?;
        self.settle()
    }

    /// Waits until what was done to memory outside of streams is done: nothing else orders it before work on a stream.
    fn settle(&self) -> Result<(), CudaError> {
        // SAFETY: waits for the current context.
        let code = unsafe { (self.driver.api.cuCtxSynchronize)() };
        self.driver.check("waiting for device memory", code)
    }

    /// Copies from the host, and waits.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), CudaError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.check(offset, bytes.len());
        // SAFETY: the range lies in this block (checked), the bytes are readable.
        let code = unsafe {
            (self.driver.api.cuMemcpyHtoD_v2)(self.at(offset), bytes.as_ptr().cast(), bytes.len())
        };
        self.driver.check("writing device memory", code)?;
        self.settle()
    }

    /// Copies to the host, and waits.
    pub(crate) fn read(&self, offset: u64, bytes: usize) -> Result<Vec<u8>, CudaError> {
        let mut into = vec![0u8; bytes];
        if bytes == 0 {
            return Ok(into);
        }
        self.check(offset, bytes);
        // SAFETY: the range lies in this block (checked), and the vector has as many bytes.
        let code = unsafe {
            (self.driver.api.cuMemcpyDtoH_v2)(into.as_mut_ptr().cast(), self.at(offset), bytes)
        };
        self.driver.check("reading device memory", code)?;
        Ok(into)
    }

    /// Position after the last byte that is not [`POISON`].
    pub(crate) fn used(&self) -> Result<u64, CudaError> {
        const CHUNK: usize = 16 << 20;
        let mut end = self.bytes;
        while end > 0 {
            let from = end.saturating_sub(CHUNK);
            let bytes = self.read(from as u64, end - from)?;
            if let Some(at) = bytes.iter().rposition(|byte| *byte != POISON) {
                return Ok((from + at + 1) as u64);
            }
            end = from;
        }
        Ok(0)
    }

    fn check(&self, offset: u64, bytes: usize) {
        let end = offset.checked_add(bytes as u64);
        assert!(end.is_some_and(|end| end <= self.bytes as u64), "verified: buffers lie in arenas");
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: allocated by `new`, freed once. A failure to free leaks it until the process ends.
            unsafe { (self.driver.api.cuMemFree_v2)(self.address) };
        }
    }
}

/// Page-locked memory of the host: copies to and from it run while the host goes on.
pub(crate) struct HostMemory {
    driver: &'static Driver,
    address: *mut u8,
    bytes: usize,
}

impl HostMemory {
    /// A block of zeros. A context is current.
    pub(crate) fn new(driver: &'static Driver, bytes: usize) -> Result<Self, CudaError> {
        let mut address: *mut c_void = std::ptr::null_mut();
        if bytes > 0 {
            // SAFETY: the address is written to a pointer that lives here.
            let code = unsafe { (driver.api.cuMemHostAlloc)(&raw mut address, bytes, 0) };
            driver.check(format!("allocating {bytes} bytes of page-locked memory"), code)?;
            // SAFETY: the driver gave as many bytes.
            unsafe { address.cast::<u8>().write_bytes(0, bytes) };
        }
        Ok(Self { driver, address: address.cast(), bytes })
    }

    /// The address of a byte.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.bytes, "within the block");
        self.address.wrapping_add(offset)
    }

    /// Replaces bytes. No copy to or from them is under way.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.bytes, "within the block");
        if !bytes.is_empty() {
            // SAFETY: the range lies in this block (checked), and `&mut self` keeps other users of this process away.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(offset), bytes.len());
            }
        }
    }

    /// Some bytes. No copy to them is under way.
    pub(crate) fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        assert!(offset + bytes <= self.bytes, "within the block");
        if bytes == 0 {
            return Vec::new();
        }
        // SAFETY: the range lies in this block (checked), whose bytes were initialised.
        unsafe { std::slice::from_raw_parts(self.at(offset), bytes) }.to_vec()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: allocated by `new`, freed once. A failure to free leaks it until the process ends.
            unsafe { (self.driver.api.cuMemFreeHost)(self.address.cast()) };
        }
    }
}
