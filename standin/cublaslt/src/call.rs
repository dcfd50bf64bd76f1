//! The frame of every call: its exported symbol, and what is said when it is refused.

use std::ffi::c_char;

use piper_standin_interface::driver::DriverError;
use piper_standin_interface::version;

/// `cublasStatus_t`, as far as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u32);

impl Status {
    pub(crate) const NOT_INITIALIZED: Self = Self(1);
    pub(crate) const INVALID_VALUE: Self = Self(7);
    pub(crate) const EXECUTION_FAILED: Self = Self(13);
    pub(crate) const NOT_SUPPORTED: Self = Self(15);
}

/// What went wrong, in a status and in words.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        let status = match error {
            DriverError::Missing(_) => Status::NOT_INITIALIZED,
            DriverError::Call { .. } => Status::EXECUTION_FAILED,
        };
        Self { status, message: error.to_string() }
    }
}

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// A wrong argument.
pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T> {
    Err(Failure { status: Status::INVALID_VALUE, message: message.into() })
}

/// Declares exported functions whose bodies are fallible. Each becomes a C function that gives a `cublasStatus_t`.
macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                let body = || -> $crate::call::Result { $body };
                $crate::call::finish(stringify!($name), body())
            }
        )*
    };
}
pub(crate) use calls;

/// The number that the C caller gets. What is merely not supported is said when calls are logged, the rest always.
pub(crate) fn finish(name: &str, outcome: Result) -> u32 {
    let Err(Failure { status, message }) = outcome else { return 0 };
    let is_logged = std::env::var("PIPER_STANDIN_LOG").is_ok_and(|v| v != "0");
    if status != Status::NOT_SUPPORTED || is_logged {
        eprintln!("standin: {name}: {message}");
    }
    status.0
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

/// The version of the interface: 12.8.4, or what `PIPER_STANDIN_CUBLASLT` says, as `11.11.3`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetVersion() -> usize {
    let Ok(text) = std::env::var("PIPER_STANDIN_CUBLASLT") else { return 120_804 };
    match version(&text) {
        Some([major, minor, patch]) => (major * 10_000 + minor * 100 + patch) as usize,
        None => {
            eprintln!("standin: PIPER_STANDIN_CUBLASLT = '{text}': expected a version, as 12.8.4");
            std::process::exit(1)
        }
    }
}

/// What a status means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetStatusString(status: u32) -> *const c_char {
    let text = match status {
        0 => c"success",
        1 => c"the library was not initialised",
        7 => c"an argument has a value that is not allowed",
        13 => c"the product failed to execute",
        15 => c"the product is not supported",
        _ => c"unknown status",
    };
    text.as_ptr()
}
