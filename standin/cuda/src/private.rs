//! What the stand-ins `libnccl.so.2` and `libcublasLt.so.12` need beyond the driver's interface: work of their own on a stream,
//! which may block the device, and device memory from within that work.

use std::ffi::{CStr, c_void};

use piper_standin_interface::abi::{DeviceOf, Free, Range, Read, Submission, Submit, Write};

use crate::abi::{Code, Handle};
use crate::call::{calls, put};
use crate::error::Fault;
use crate::memory;
use crate::queue::{Order, Task, submit};
use crate::stream::stream;

/// What the work is given, and how it is freed.
struct Data {
    data: usize,
    free: Free,
}

impl Data {
    /// A method, so that work captures all of this and not the number alone.
    fn pointer(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.data)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: the other library gave both together, and this is the only owner.
        unsafe { (self.free)(self.pointer()) }
    }
}

/// Ranges that the other library gives.
///
/// # Safety
/// `ranges` has `count` entries.
unsafe fn ranges(ranges: *const Range, count: usize) -> Vec<(u64, u64)> {
    if count == 0 || ranges.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let given = unsafe { std::slice::from_raw_parts(ranges, count) };
    given.iter().map(|range| (range.start, range.bytes)).collect()
}

/// Work of another library, and what it reads and writes.
///
/// # Safety
/// `submission` holds what its fields say.
unsafe fn task(submission: *const Submission) -> Task {
    // SAFETY: the caller's promise.
    let Submission { name, run, data, free, read, reads, written, writes } =
        unsafe { submission.read() };
    let data = Data { data: data.expose_provenance(), free };
    // SAFETY: the caller's promise.
    let (name, read, written) = unsafe {
        (CStr::from_ptr(name).to_string_lossy(), ranges(read, reads), ranges(written, writes))
    };
    Task::new(&name, move |_, touched| {
        touched.read.extend(&read);
        touched.written.extend(&written);
        // SAFETY: the data lives as long as this work.
        match unsafe { run(data.pointer()) } {
            0 => Ok(()),
            code => Err(Fault { code: Code(code), message: "see above".to_string() }),
        }
    })
}

// What libraries take the functions of these names to be.
const _: [Submit; 2] = [piperStandinLaunch, piperStandinSubmit];
const _: (Read, Write, DeviceOf) = (piperStandinRead, piperStandinWrite, piperStandinDeviceOf);

calls! {
    /// Puts work onto a stream, as a kernel is: it may be started whenever what it waits for is done.
    fn piperStandinLaunch(handle: Handle, submission: *const Submission) {
        // SAFETY: the other library's text, work and ranges.
        let task = unsafe { task(submission) };
        let stream = stream(handle)?;
        submit(&stream, task, &[]).map(|_| ())
    }

    /// Puts work onto a stream. Work that was put onto the device before it through this call is never overtaken.
    fn piperStandinSubmit(handle: Handle, submission: *const Submission) {
        // SAFETY: the other library's text, work and ranges.
        let mut task = unsafe { task(submission) };
        task.order = Order::Submitted;
        let stream = stream(handle)?;
        submit(&stream, task, &[]).map(|_| ())
    }

    /// Reads device memory, on a device's thread.
    fn piperStandinRead(address: u64, to: *mut u8, bytes: usize) {
        // SAFETY: the other library's buffer.
        let to = unsafe { std::slice::from_raw_parts_mut(to, bytes) };
        memory::read(address, to).map_err(|fault| {
            eprintln!("standin: {}", fault.message);
            fault.code
        })
    }

    /// Writes device memory, on a device's thread.
    fn piperStandinWrite(address: u64, from: *const u8, bytes: usize) {
        // SAFETY: the other library's buffer.
        let from = unsafe { std::slice::from_raw_parts(from, bytes) };
        memory::write(address, from).map_err(|fault| {
            eprintln!("standin: {}", fault.message);
            fault.code
        })
    }

    /// The number of the device of a stream.
    fn piperStandinDeviceOf(handle: Handle, ordinal: *mut i32) {
        let device = stream(handle)?.device.ordinal;
        // SAFETY: the caller's place for the result.
        unsafe { put(ordinal, device as i32) }
    }
}
