//! The frame of every call: its exported symbol, and what is kept of its failure for `ncclGetLastError`.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::sync::{Mutex, PoisonError};

use crate::abi::{Code, Failure, Handle, Result, refuse};
use crate::communicator::communicator;

/// Declares exported functions whose bodies are fallible. Each becomes a C function that gives an `ncclResult_t`.
macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                let body = || -> $crate::abi::Result { $body };
                $crate::failure::finish(stringify!($name), body())
            }
        )*
    };
}
pub(crate) use calls;

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Texts given out, which a program may keep: one for each failure of a communicator.
static KEPT: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// The number that the C caller gets; the message is kept, and said when calls are logged.
pub(crate) fn finish(name: &str, outcome: Result) -> u32 {
    let Err(Failure { code, message }) = outcome else { return 0 };
    if code == Code::IN_PROGRESS {
        return code.0;
    }
    let text = format!("{name}: {message}");
    if crate::settings::settings().log {
        eprintln!("standin: {text}");
    }
    LAST.set(CString::new(text).ok());
    code.0
}

/// Writes a result through a pointer of the caller.
///
/// # Safety
/// `to` is null or may be written.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return refuse("the place for the result is null");
    }
    // SAFETY: the caller's promise.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// What a result means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetErrorString(code: u32) -> *const c_char {
    Code(code).describe().as_ptr().cast()
}

/// What went wrong last: with a communicator, or, without one, in this thread's calls.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetLastError(handle: Handle) -> *const c_char {
    let asynchronous = communicator(handle).ok().and_then(|c| c.failure());
    if let Some(text) = asynchronous.and_then(|failure| CString::new(failure.message).ok()) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| **known == text) {
            return known.as_ptr();
        }
        kept.push(text);
        return kept.last().map_or(std::ptr::null(), |text| text.as_ptr());
    }
    LAST.with_borrow(|last| last.as_ref().map_or(c"no error".as_ptr(), |text| text.as_ptr()))
}
