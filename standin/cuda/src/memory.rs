//! Device memory: allocating, copying, filling.
//!
//! A copy from ordinary memory of the host takes the bytes at the call; one to it returns when they are there. With
//! memory of `host_memory` both happen when the stream gets there. So it is on a GPU, at most.

use std::ffi::c_void;
use std::sync::Arc;

use piper_ptx::DevicePtr as Pointer;

use crate::abi::{Code, DevicePtr, Handle, Result};
use crate::call::{calls, put};
use crate::context::usable;
use crate::device::{Device, device_of};
use crate::error::Fault;
use crate::host_memory::is_pinned;
use crate::queue::{Signal, Task, Touched, submit, wait};
use crate::settings::settings;
use crate::stream::{Stream, stream};

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
enum Place {
    Device(u64),
    /// An address of the host.
    Host(usize),
}

impl Place {
    /// Which it is, by the address alone.
    fn of(address: u64) -> Self {
        match device_of(address) {
            Some(_) => Self::Device(address),
            None => Self::Host(address as usize),
        }
    }
}

/// Checks that a range lies within one allocation.
fn check(address: u64, bytes: usize) -> Result<&'static Arc<Device>> {
    let refuse = |what: &str| {
        if settings().log {
            eprintln!("standin: {bytes} bytes at {address:#x}: {what}");
        }
        Err(Code::INVALID_VALUE)
    };
    let Some(device) = device_of(address) else {
        return refuse("this is no address of a device");
    };
    let fits = |(start, size): (u64, u64)| address - start + bytes as u64 <= size;
    let is_known = device.allocation(address).is_some_and(fits);
    if !is_known && !device.machine().holds(Pointer(address), bytes) {
        return refuse("they are not within one allocation");
    }
    Ok(device)
}

/// Reads memory of a device, from the thread of any.
pub(crate) fn read(address: u64, to: &mut [u8]) -> std::result::Result<(), Fault> {
    let device = device_of(address).ok_or_else(|| no_device(address))?;
    Ok(device.machine().copy_out(Pointer(address), to)?)
}

/// Writes memory of a device, from the thread of any.
pub(crate) fn write(address: u64, from: &[u8]) -> std::result::Result<(), Fault> {
    let device = device_of(address).ok_or_else(|| no_device(address))?;
    Ok(device.machine().copy_in(Pointer(address), from)?)
}

fn no_device(address: u64) -> Fault {
    Fault {
        code: Code::ILLEGAL_ADDRESS,
        message: format!("{address:#x} is no address of a device"),
    }
}

/// Submits a copy.
fn copy(to: Place, from: Place, bytes: usize, stream: &Stream) -> Result<Option<Arc<Signal>>> {
    if bytes == 0 {
        return Ok(None);
    }
    let mut returns_late = false;
    let task = match (to, from) {
        (Place::Device(to), Place::Host(from)) => {
            check(to, bytes)?;
            // SAFETY: the program gives `bytes` bytes to read; it does not change them during the call.
            let view = move || unsafe { std::slice::from_raw_parts(from as *const u8, bytes) };
            if from == 0 {
                return Err(Code::INVALID_VALUE);
            }
            let is_late = is_pinned(from, bytes) || stream.is_captured();
            let held = if is_late { None } else { Some(view().to_vec()) };
            Task::new("copy to the device", move |_, touched| {
                touched.written.push((to, bytes as u64));
                match &held {
                    Some(held) => write(to, held),
                    // Such memory lives until it is freed, which a program may do only when its copies are done, or
                    // its graphs are gone.
                    None => write(to, view()),
                }
            })
        }
        (Place::Host(to), Place::Device(from)) => {
            check(from, bytes)?;
            if to == 0 {
                return Err(Code::INVALID_VALUE);
            }
            returns_late = !is_pinned(to, bytes);
            Task::new("copy to the host", move |_, touched| {
                touched.read.push((from, bytes as u64));
                // SAFETY: the program gives `bytes` bytes to write, and leaves them alone until the copy is done: it
                // waits for it, here for ordinary memory or by itself for pinned memory.
                let view = unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes) };
                read(from, view)
            })
        }
        (Place::Device(to), Place::Device(from)) => {
            let (there, here) = (check(to, bytes)?, check(from, bytes)?);
            let is_local = Arc::ptr_eq(there, here);
            Task::new("copy on the device", move |device, touched| {
                touched.read.push((from, bytes as u64));
                touched.written.push((to, bytes as u64));
                if is_local && device.ordinal == here.ordinal {
                    let mut machine = device.machine();
                    return Ok(machine.copy_within(Pointer(to), Pointer(from), bytes)?);
                }
                let mut held = vec![0; bytes];
                read(from, &mut held)?;
                write(to, &held)
            })
        }
        (Place::Host(to), Place::Host(from)) => Task::new("copy on the host", move |_, _| {
            // SAFETY: both ends are the program's, who gives `bytes` bytes at each.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
            Ok(())
        }),
    };
    let done = submit(stream, task, &[])?;
    if let Some(done) = done.as_ref().filter(|_| returns_late) {
        wait(std::slice::from_ref(done));
        stream.device.check()?;
    }
    Ok(done)
}

/// A copy that is done when the call returns.
fn copy_now(to: Place, from: Place, bytes: usize) -> Result {
    let context = usable()?;
    if let Some(done) = copy(to, from, bytes, context.default_stream())? {
        wait(&[done]);
    }
    context.device.check()
}

/// Submits a fill with `count` values of `bytes` bytes.
fn fill(to: u64, value: u32, bytes: usize, count: usize, stream: &Stream) -> Result {
    if count == 0 {
        return Ok(());
    }
    let total = count.checked_mul(bytes).ok_or(Code::INVALID_VALUE)?;
    if !to.is_multiple_of(bytes as u64) {
        return Err(Code::INVALID_VALUE);
    }
    check(to, total)?;
    let task = Task::new("fill", move |_, touched: &mut Touched| {
        touched.written.push((to, total as u64));
        write(to, &value.to_le_bytes()[..bytes].repeat(count))
    });
    submit(stream, task, &[]).map(|_| ())
}

calls! {
    /// Allocates in the current context.
    fn cuMemAlloc_v2(to: *mut DevicePtr, bytes: usize) {
        let context = usable()?;
        let address = context.device.alloc(bytes, context.handle)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, address) }
    }

    /// Waits for everything on the device, then frees.
    fn cuMemFree_v2(address: DevicePtr) {
        if address == 0 {
            return Ok(());
        }
        usable()?;
        let device = device_of(address).ok_or(Code::INVALID_VALUE)?;
        device.wait();
        let freed = device.allocation(address);
        device.free(address)?;
        device.forget(freed);
        Ok(())
    }

    /// Allocates; the program promises to use it only after this place in the stream.
    fn cuMemAllocAsync(to: *mut DevicePtr, bytes: usize, handle: Handle) {
        let stream = stream(handle)?;
        if stream.is_captured() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let address = stream.device.alloc(bytes, stream.context)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, address) }
    }

    /// Frees when the stream gets here.
    fn cuMemFreeAsync(address: DevicePtr, handle: Handle) {
        let stream = stream(handle)?;
        let Some((start, bytes)) = stream.device.allocation(address) else {
            return Err(Code::INVALID_VALUE);
        };
        if stream.is_captured() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if start != address {
            return Err(Code::INVALID_VALUE);
        }
        let task = Task::new("free", move |device, touched| {
            touched.freed.push((start, bytes));
            device.free(start).map_err(|code| Fault {
                code,
                message: format!("{start:#x} is freed, but is not allocated any more"),
            })
        });
        submit(&stream, task, &[]).map(|_| ())
    }

    /// Free and total bytes of the current device.
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let room = usable()?.device.room();
        // SAFETY: the caller's places for the results.
        unsafe {
            put(free, room.0 as usize)?;
            put(total, room.1 as usize)
        }
    }

    /// Start and size of the allocation that holds an address.
    fn cuMemGetAddressRange_v2(start: *mut DevicePtr, bytes: *mut usize, address: DevicePtr) {
        let device = device_of(address).ok_or(Code::NOT_FOUND)?;
        let found = device.allocation(address).ok_or(Code::NOT_FOUND)?;
        if !start.is_null() {
            // SAFETY: the caller's place for the result.
            unsafe { put(start, found.0)? };
        }
        if !bytes.is_null() {
            // SAFETY: the caller's place for the result.
            unsafe { put(bytes, found.1 as usize)? };
        }
        Ok(())
    }

    /// From the host.
    fn cuMemcpyHtoD_v2(to: DevicePtr, from: *const c_void, bytes: usize) {
        copy_now(Place::Device(to), Place::Host(from.addr()), bytes)
    }

    /// To the host.
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: DevicePtr, bytes: usize) {
        copy_now(Place::Host(to.addr()), Place::Device(from), bytes)
    }

    /// On the device; the host does not wait.
    fn cuMemcpyDtoD_v2(to: DevicePtr, from: DevicePtr, bytes: usize) {
        let context = usable()?;
        copy(Place::Device(to), Place::Device(from), bytes, context.default_stream()).map(|_| ())
    }

    /// Between any two places.
    fn cuMemcpy(to: DevicePtr, from: DevicePtr, bytes: usize) {
        copy_now(Place::of(to), Place::of(from), bytes)
    }

    /// From the host, in a stream.
    fn cuMemcpyHtoDAsync_v2(to: DevicePtr, from: *const c_void, bytes: usize, handle: Handle) {
        let (to, from) = (Place::Device(to), Place::Host(from.addr()));
        copy(to, from, bytes, &*stream(handle)?).map(|_| ())
    }

    /// To the host, in a stream.
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: DevicePtr, bytes: usize, handle: Handle) {
        let (to, from) = (Place::Host(to.addr()), Place::Device(from));
        copy(to, from, bytes, &*stream(handle)?).map(|_| ())
    }

    /// On the device, in a stream.
    fn cuMemcpyDtoDAsync_v2(to: DevicePtr, from: DevicePtr, bytes: usize, handle: Handle) {
        copy(Place::Device(to), Place::Device(from), bytes, &*stream(handle)?).map(|_| ())
    }

    /// Between any two places, in a stream.
    fn cuMemcpyAsync(to: DevicePtr, from: DevicePtr, bytes: usize, handle: Handle) {
        copy(Place::of(to), Place::of(from), bytes, &*stream(handle)?).map(|_| ())
    }

    /// Between two devices, in a stream of either.
    fn cuMemcpyPeerAsync(
        to: DevicePtr,
        _there: Handle,
        from: DevicePtr,
        _here: Handle,
        bytes: usize,
        handle: Handle,
    ) {
        copy(Place::Device(to), Place::Device(from), bytes, &*stream(handle)?).map(|_| ())
    }

    /// Fills bytes.
    fn cuMemsetD8_v2(to: DevicePtr, value: u8, count: usize) {
        fill(to, u32::from(value), 1, count, usable()?.default_stream())
    }

    /// Fills halves of a word.
    fn cuMemsetD16_v2(to: DevicePtr, value: u16, count: usize) {
        fill(to, u32::from(value), 2, count, usable()?.default_stream())
    }

    /// Fills words.
    fn cuMemsetD32_v2(to: DevicePtr, value: u32, count: usize) {
        fill(to, value, 4, count, usable()?.default_stream())
    }

    /// Fills bytes, in a stream.
    fn cuMemsetD8Async(to: DevicePtr, value: u8, count: usize, handle: Handle) {
        fill(to, u32::from(value), 1, count, &*stream(handle)?)
    }

    /// Fills halves of a word, in a stream.
    fn cuMemsetD16Async(to: DevicePtr, value: u16, count: usize, handle: Handle) {
        fill(to, u32::from(value), 2, count, &*stream(handle)?)
    }

    /// Fills words, in a stream.
    fn cuMemsetD32Async(to: DevicePtr, value: u32, count: usize, handle: Handle) {
        fill(to, value, 4, count, &*stream(handle)?)
    }
}
