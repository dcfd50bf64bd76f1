//! The stand-in driver: work on its streams, and device memory from within that work.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::call::{Failure, Result, Status};

/// Bytes on a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// Work on a stream; a graph may run it more than once. It gives zero, or a `CUresult`.
pub(crate) type Work = Box<dyn Fn() -> u32 + Send + Sync>;

type Run = unsafe extern "C" fn(*mut c_void) -> u32;
type Free = unsafe extern "C" fn(*mut c_void);
type Launch = unsafe extern "C" fn(
    usize,
    *const c_char,
    Run,
    *mut c_void,
    Free,
    *const Range,
    usize,
    *const Range,
    usize,
) -> u32;

/// The functions that are used.
struct Driver {
    launch: Launch,
    read: unsafe extern "C" fn(u64, *mut u8, usize) -> u32,
    write: unsafe extern "C" fn(u64, *const u8, usize) -> u32,
    context: unsafe extern "C" fn(*mut usize) -> u32,
}

fn load() -> std::result::Result<Driver, String> {
    // SAFETY: the library is the one that the program loaded, or the first that the loader finds; the stand-in has no
    // initialisers.
    let library = unsafe { Library::new("libcuda.so.1") }.map_err(|error| error.to_string())?;
    let library: &'static Library = Box::leak(Box::new(library));
    macro_rules! symbol {
        ($name:literal) => {
            // SAFETY: the type is the function's, as standin/cuda declares it.
            *unsafe { library.get($name) }.map_err(|_| {
                "libcuda.so.1 is not the stand-in; this libcublasLt works with that alone"
                    .to_string()
            })?
        };
    }
    Ok(Driver {
        launch: symbol!(b"piperStandinLaunch\0"),
        read: symbol!(b"piperStandinRead\0"),
        write: symbol!(b"piperStandinWrite\0"),
        context: symbol!(b"cuCtxGetCurrent\0"),
    })
}

fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<std::result::Result<Driver, String>> = OnceLock::new();
    let failed =
        |message: &String| Failure { status: Status::NOT_INITIALIZED, message: message.clone() };
    DRIVER.get_or_init(load).as_ref().map_err(failed)
}

fn checked(code: u32, what: &str) -> Result {
    match code {
        0 => Ok(()),
        code => Err(Failure {
            status: Status::EXECUTION_FAILED,
            message: format!("{what}: the driver gives error {code}"),
        }),
    }
}

unsafe extern "C" fn run(data: *mut c_void) -> u32 {
    // SAFETY: `launch` gave this pointer, and `free` was not called yet.
    let work = unsafe { &*data.cast::<Work>() };
    work()
}

unsafe extern "C" fn free(data: *mut c_void) {
    // SAFETY: `launch` made it from a box, and the driver calls this once.
    drop(unsafe { Box::from_raw(data.cast::<Work>()) });
}

/// A context must be current.
pub(crate) fn check_context() -> Result {
    let mut context = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.context)(&mut context) }, "the current context")?;
    if context != 0 {
        return Ok(());
    }
    let message = "no context is current".to_owned();
    Err(Failure { status: Status::NOT_INITIALIZED, message })
}

/// Puts work onto a stream.
///
/// # Errors
/// The driver refuses.
pub(crate) fn launch(
    stream: usize,
    name: &str,
    work: Work,
    read: &[Range],
    written: &[Range],
) -> Result {
    let driver = driver()?;
    let name = CString::new(name).unwrap_or_default();
    let data = Box::into_raw(Box::new(work)).cast();
    // SAFETY: the functions are the driver's; it copies the name and the ranges, and owns `data` from here on.
    let code = unsafe {
        (driver.launch)(
            stream,
            name.as_ptr(),
            run,
            data,
            free,
            read.as_ptr(),
            read.len(),
            written.as_ptr(),
            written.len(),
        )
    };
    checked(code, "the stream")
}

/// Reads device memory, within work.
pub(crate) fn read(start: u64, bytes: u64) -> std::result::Result<Vec<u8>, u32> {
    let mut to = vec![0; bytes as usize];
    let Ok(driver) = driver() else { return Err(999) };
    // SAFETY: the function is the driver's, and the buffer has the size.
    match unsafe { (driver.read)(start, to.as_mut_ptr(), to.len()) } {
        0 => Ok(to),
        code => Err(code),
    }
}

/// Writes device memory, within work.
pub(crate) fn write(start: u64, bytes: &[u8]) -> std::result::Result<(), u32> {
    let Ok(driver) = driver() else { return Err(999) };
    // SAFETY: the function is the driver's, and the buffer has the size.
    match unsafe { (driver.write)(start, bytes.as_ptr(), bytes.len()) } {
        0 => Ok(()),
        code => Err(code),
    }
}
