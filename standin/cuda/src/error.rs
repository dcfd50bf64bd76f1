//! What went wrong on a device, and the calls that put codes into words.

use std::ffi::c_char;

use piper_ptx::FaultKind;

use crate::abi::Code;
use crate::call::{calls, put};

/// Why work failed: what the program gets to know, and what a person does.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl From<piper_ptx::Fault> for Fault {
    fn from(fault: piper_ptx::Fault) -> Self {
        let code = match fault.kind {
            FaultKind::OutOfBounds => Code::ILLEGAL_ADDRESS,
            FaultKind::Misaligned => Code::MISALIGNED_ADDRESS,
            FaultKind::StepLimit => Code::LAUNCH_TIMEOUT,
            FaultKind::Launch => Code::INVALID_VALUE,
            _ => Code::LAUNCH_FAILED,
        };
        Self { code, message: fault.to_string() }
    }
}

/// The text of a number, with its closing zero.
fn describe(error: u32) -> Option<(&'static str, &'static str)> {
    match error {
        0 => Some(("CUDA_SUCCESS\0", "no error\0")),
        error => Code(error).describe(),
    }
}

calls! {
    /// The name of an error.
    fn cuGetErrorName(error: u32, text: *mut *const c_char) {
        let known = describe(error).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: `text` is the caller's place for the result.
        unsafe { put(text, known.0.as_ptr().cast()) }
    }

    /// A sentence about an error.
    fn cuGetErrorString(error: u32, text: *mut *const c_char) {
        let known = describe(error).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: `text` is the caller's place for the result.
        unsafe { put(text, known.1.as_ptr().cast()) }
    }
}
