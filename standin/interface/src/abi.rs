//! The types of the functions that the stand-in driver has for the libraries on it, beyond the driver's own interface. Both sides
//! use these: the driver checks its functions against them when it is built, and libraries find the functions by name.

use std::ffi::{c_char, c_void};

/// Bytes on a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Address of the first.
    pub start: u64,
    /// How many.
    pub bytes: u64,
}

/// Work of a library. It gives zero, or a `CUresult` after it has said on standard error what was wrong.
pub type Run = unsafe extern "C" fn(*mut c_void) -> u32;

/// Frees what the work was given, once it will not run again.
pub type Free = unsafe extern "C" fn(*mut c_void);

/// Work for a stream, and all that it reads and writes. The driver copies the name and the ranges.
#[repr(C)]
#[derive(Debug)]
pub struct Submission {
    /// A C string, for people.
    pub name: *const c_char,
    /// Called with `data`, until `free` was.
    pub run: Run,
    /// The driver's from here on, whatever the call gives.
    pub data: *mut c_void,
    /// Called once, with `data`.
    pub free: Free,
    /// `reads` ranges.
    pub read: *const Range,
    /// How many.
    pub reads: usize,
    /// `writes` ranges.
    pub written: *const Range,
    /// How many.
    pub writes: usize,
}

/// `piperStandinLaunch` and `piperStandinSubmit`: puts work onto a stream.
pub type Submit = unsafe extern "C" fn(usize, *const Submission) -> u32;

/// `piperStandinRead`: reads device memory, from within work.
pub type Read = unsafe extern "C" fn(u64, *mut u8, usize) -> u32;

/// `piperStandinWrite`: writes device memory, from within work.
pub type Write = unsafe extern "C" fn(u64, *const u8, usize) -> u32;

/// `piperStandinDeviceOf`: the number of the device of a stream.
pub type DeviceOf = unsafe extern "C" fn(usize, *mut i32) -> u32;
