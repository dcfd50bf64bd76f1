//! The stand-in driver: work on its streams, and device memory from within that work.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::abi::{Code, Failure, Result, Stream};

/// Bytes on a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// Work on a stream; a graph may run it more than once.
pub(crate) trait Work: Send + Sync {
    /// Does it, on the device's thread. It gives zero, or a `CUresult` after it has said what was wrong.
    fn run(&self) -> u32;
}

type Run = unsafe extern "C" fn(*mut c_void) -> u32;
type Free = unsafe extern "C" fn(*mut c_void);
type Submit = unsafe extern "C" fn(
    Stream,
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
    submit: Submit,
    read: unsafe extern "C" fn(u64, *mut u8, usize) -> u32,
    write: unsafe extern "C" fn(u64, *const u8, usize) -> u32,
    device_of: unsafe extern "C" fn(Stream, *mut i32) -> u32,
    device: unsafe extern "C" fn(*mut i32) -> u32,
    context: unsafe extern "C" fn(*mut usize) -> u32,
    set_context: unsafe extern "C" fn(usize) -> u32,
    retain: unsafe extern "C" fn(*mut usize, i32) -> u32,
    alloc: unsafe extern "C" fn(*mut u64, usize) -> u32,
    free: unsafe extern "C" fn(u64) -> u32,
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
                "libcuda.so.1 is not the stand-in; this libnccl.so.2 works with that alone"
                    .to_string()
            })?
        };
    }
    Ok(Driver {
        submit: symbol!(b"piperStandinSubmit\0"),
        read: symbol!(b"piperStandinRead\0"),
        write: symbol!(b"piperStandinWrite\0"),
        device_of: symbol!(b"piperStandinDeviceOf\0"),
        device: symbol!(b"cuCtxGetDevice\0"),
        context: symbol!(b"cuCtxGetCurrent\0"),
        set_context: symbol!(b"cuCtxSetCurrent\0"),
        retain: symbol!(b"cuDevicePrimaryCtxRetain\0"),
        alloc: symbol!(b"cuMemAlloc_v2\0"),
        free: symbol!(b"cuMemFree_v2\0"),
    })
}

fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<std::result::Result<Driver, String>> = OnceLock::new();
    let driver = DRIVER.get_or_init(load);
    driver.as_ref().map_err(|message| Failure::new(Code::SYSTEM_ERROR, message.clone()))
}

fn checked(code: u32, what: &str) -> Result {
    match code {
        0 => Ok(()),
        code => {
            Err(Failure::new(Code::CUDA_ERROR, format!("{what}: the driver gives error {code}")))
        }
    }
}

unsafe extern "C" fn run(data: *mut c_void) -> u32 {
    // SAFETY: `submit` gave this pointer, and `free` was not called yet.
    unsafe { &*data.cast::<Box<dyn Work>>() }.run()
}

unsafe extern "C" fn free(data: *mut c_void) {
    // SAFETY: `submit` made it from a box, and the driver calls this once.
    drop(unsafe { Box::from_raw(data.cast::<Box<dyn Work>>()) });
}

/// Puts work onto a stream of the context `context`.
///
/// # Errors
/// The driver refuses.
pub(crate) fn submit(
    stream: Stream,
    context: usize,
    name: &str,
    work: Box<dyn Work>,
    read: &[Range],
    written: &[Range],
) -> Result {
    let driver = driver()?;
    let before = current_context()?;
    let name = CString::new(name).unwrap_or_default();
    let data = Box::into_raw(Box::new(work)).cast();
    // SAFETY: the functions are the driver's; it copies the name and the ranges, and owns `data` from here on.
    let code = unsafe {
        (driver.set_context)(context);
        let code = (driver.submit)(
            stream,
            name.as_ptr(),
            run,
            data,
            free,
            read.as_ptr(),
            read.len(),
            written.as_ptr(),
            written.len(),
        );
        (driver.set_context)(before);
        code
    };
    checked(code, "the stream")
}

/// The current context of this thread.
pub(crate) fn current_context() -> Result<usize> {
    let mut context = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.context)(&mut context) }, "the current context")?;
    Ok(context)
}

/// The device of the current context.
pub(crate) fn current_device() -> Result<i32> {
    let mut device = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.device)(&mut device) }, "a communicator needs a current context")?;
    Ok(device)
}

/// The device of a stream.
pub(crate) fn device_of(stream: Stream) -> Result<i32> {
    let mut device = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.device_of)(stream, &mut device) }, "the stream")?;
    Ok(device)
}

/// Makes sure that a device has its primary context.
pub(crate) fn retain(device: i32) -> Result {
    let mut context = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.retain)(&mut context, device) }, "the device")
}

/// Reads device memory, within work.
pub(crate) fn read(range: Range) -> std::result::Result<Vec<u8>, u32> {
    let mut bytes = vec![0; range.bytes as usize];
    let Ok(driver) = driver() else { return Err(999) };
    // SAFETY: the function is the driver's, and the buffer has the size.
    match unsafe { (driver.read)(range.start, bytes.as_mut_ptr(), bytes.len()) } {
        0 => Ok(bytes),
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

/// Allocates device memory.
pub(crate) fn alloc(bytes: usize) -> Result<u64> {
    let mut address = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.alloc)(&mut address, bytes) }, "memory")?;
    Ok(address)
}

/// Frees it.
pub(crate) fn release(address: u64) -> Result {
    // SAFETY: the function is the driver's, and looks the address up.
    checked(unsafe { (driver()?.free)(address) }, "memory")
}
