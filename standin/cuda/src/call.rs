//! The frame of every call: its exported symbol, and what is said when it fails.

use crate::abi::{Code, Result};
use crate::settings::settings;

/// Declares exported functions whose bodies are fallible. Each becomes a C function that gives a `CUresult`.
///
/// Arguments are what the C header says; a body that follows one of its pointers does so in an `unsafe` block.
macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                let body = || -> $crate::abi::Result { $body };
                $crate::call::finish(stringify!($name), body())
            }
        )*
    };
}
pub(crate) use calls;

/// The number that the C caller gets, with a line on standard error when calls are logged.
pub(crate) fn finish(name: &str, outcome: Result) -> u32 {
    let code = match outcome {
        Ok(()) => return 0,
        Err(code) => code,
    };
    if settings().log && code != Code::NOT_READY {
        let text = code.describe().map_or("?", |(name, _)| name.trim_end_matches('\0'));
        eprintln!("standin: {name}: {text}");
    }
    code.0
}

/// Writes a result through a pointer of the caller.
///
/// # Safety
/// `to` is null or may be written.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise; some callers pass packed structures, so alignment is not assumed.
    unsafe { to.write_unaligned(value) };
    Ok(())
}
