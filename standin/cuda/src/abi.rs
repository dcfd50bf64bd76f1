//! Names of the driver's interface: types of its C header, and the numbers of its enumerations that are used here.
//!
//! Source: the CUDA driver API reference, 13.x (`cuda.h`); layouts are those of all versions since 11.4.

use std::ffi::c_void;

/// `CUdeviceptr`.
pub(crate) type DevicePtr = u64;
/// `CUdevice`.
pub(crate) type DeviceOrdinal = i32;
/// Any opaque handle: a number of `handles`.
pub(crate) type Handle = usize;
/// `CUhostFn`.
pub(crate) type HostFn = unsafe extern "C" fn(*mut c_void);

/// `CUresult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) u32);

/// What a call gives.
pub(crate) type Result<T = ()> = std::result::Result<T, Code>;

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl Code {
            // Some are only described.
            $(#[allow(dead_code)] pub(crate) const $name: Self = Self($number);)*

            /// The name in `cuda.h` without its prefix, and a sentence.
            pub(crate) fn describe(self) -> Option<(&'static str, &'static str)> {
                match self.0 {
                    $($number => Some((
                        concat!("CUDA_ERROR_", stringify!($name), "\0"),
                        concat!($text, "\0"),
                    )),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    INVALID_VALUE = 1, "an argument has a value that is not allowed";
    OUT_OF_MEMORY = 2, "not enough memory";
    NOT_INITIALIZED = 3, "cuInit was not called";
    NO_DEVICE = 100, "there is no device";
    INVALID_DEVICE = 101, "there is no device of that number";
    INVALID_IMAGE = 200, "the module is no PTX text";
    INVALID_CONTEXT = 201, "no context is current, or it is gone";
    NO_BINARY_FOR_GPU = 209, "the module is for another chip";
    UNSUPPORTED_LIMIT = 215, "there is no such limit";
    INVALID_PTX = 218, "the PTX text cannot be compiled";
    FILE_NOT_FOUND = 301, "the file cannot be read";
    INVALID_HANDLE = 400, "there is no such stream, event, module, function or graph";
    NOT_FOUND = 500, "there is nothing of that name";
    NOT_READY = 600, "work is still under way";
    ILLEGAL_ADDRESS = 700, "a kernel or a copy used memory outside of every allocation";
    LAUNCH_OUT_OF_RESOURCES = 701, "the launch needs more than the chip has";
    LAUNCH_TIMEOUT = 702, "a kernel did not end";
    PRIMARY_CONTEXT_ACTIVE = 708, "the primary context is in use";
    CONTEXT_IS_DESTROYED = 709, "the context is destroyed";
    ILLEGAL_INSTRUCTION = 715, "a kernel met an instruction that it may not execute";
    MISALIGNED_ADDRESS = 716, "a kernel used an address that is not a multiple of the access";
    LAUNCH_FAILED = 719, "a kernel did something wrong";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "a cooperative launch has more blocks than run together";
    NOT_PERMITTED = 800, "the call is not permitted here";
    NOT_SUPPORTED = 801, "the stand-in does not support this";
    STREAM_CAPTURE_UNSUPPORTED = 900, "the call is not allowed while a stream is captured";
    STREAM_CAPTURE_INVALIDATED = 901, "the capture failed before";
    STREAM_CAPTURE_MERGE = 902, "two captures would become one";
    STREAM_CAPTURE_UNMATCHED = 903, "the capture did not begin on this stream";
    STREAM_CAPTURE_UNJOINED = 904, "a stream that joined the capture was not joined back";
    STREAM_CAPTURE_ISOLATION = 905, "the capture would depend on work outside of it";
    STREAM_CAPTURE_IMPLICIT = 906, "the default stream cannot be part of a capture";
    CAPTURED_EVENT = 907, "the event was recorded in a capture";
    STREAM_CAPTURE_WRONG_THREAD = 908, "the capture began on another thread";
    INVALID_RESOURCE_TYPE = 914, "the resource is not one of multiprocessors";
    INVALID_RESOURCE_CONFIGURATION = 915, "so many multiprocessors cannot be had";
    UNKNOWN = 999, "something went wrong";
}
