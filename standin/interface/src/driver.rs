//! The stand-in driver, loaded: work on its streams, device memory from within that work, and the calls of its own interface that
//! libraries need.

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::OnceLock;

use libloading::Library;

use crate::abi::{DeviceOf, Read, Submission, Submit, Write};

pub use crate::abi::Range;

/// Work on a stream, done on the device's thread; a graph may run it more than once. It gives zero, or a `CUresult` after it has said
/// what was wrong.
pub type Work = Box<dyn Fn() -> u32 + Send + Sync>;

/// When work starts that others do not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whenever what it waits for is done, as a kernel.
    Free,
    /// Not before what was put onto the device ahead of it in this order: work that waits for other devices.
    Submitted,
}

/// Why the driver did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverError {
    /// It is not there, or not the stand-in.
    Missing(String),
    /// A call gave this `CUresult`.
    Call {
        /// What was asked for.
        what: &'static str,
        /// The result.
        code: u32,
    },
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(why) => f.write_str(why),
            Self::Call { what, code } => write!(f, "{what}: the driver gives error {code}"),
        }
    }
}

impl std::error::Error for DriverError {}

/// The functions that are used.
struct Driver {
    launch: Submit,
    submit: Submit,
    read: Read,
    write: Write,
    device_of: DeviceOf,
    device: unsafe extern "C" fn(*mut i32) -> u32,
    context: unsafe extern "C" fn(*mut usize) -> u32,
    set_context: unsafe extern "C" fn(usize) -> u32,
    retain: unsafe extern "C" fn(*mut usize, i32) -> u32,
    alloc: unsafe extern "C" fn(*mut u64, usize) -> u32,
    free: unsafe extern "C" fn(u64) -> u32,
}

fn load() -> Result<Driver, String> {
    // SAFETY: the library is the one that the program loaded, or the first that the loader finds; the stand-in has no
    // initialisers.
    let library = unsafe { Library::new("libcuda.so.1") }.map_err(|error| error.to_string())?;
    let library: &'static Library = Box::leak(Box::new(library));
    macro_rules! symbol {
        ($name:literal) => {
            // SAFETY: the type is the function's: standin/cuda checks its own, and `cuda.h` has the others.
            *unsafe { library.get($name) }.map_err(|_| {
                "libcuda.so.1 is not the stand-in; the stand-ins of libraries work with that alone"
                    .to_string()
            })?
        };
    }
    Ok(Driver {
        launch: symbol!(b"piperStandinLaunch\0"),
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

fn checked(code: u32, what: &'static str) -> Result<(), DriverError> {
    match code {
        0 => Ok(()),
        code => Err(DriverError::Call { what, code }),
    }
}

unsafe extern "C" fn run(data: *mut c_void) -> u32 {
    // SAFETY: `submit` gave this pointer, and `free` was not called yet.
    let work = unsafe { &*data.cast::<Work>() };
    work()
}

unsafe extern "C" fn free(data: *mut c_void) {
    // SAFETY: `submit` made it from a box, and the driver calls this once.
    drop(unsafe { Box::from_raw(data.cast::<Work>()) });
}

/// The driver of this process, loaded when it is first asked for.
fn driver() -> Result<&'static Driver, DriverError> {
    static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
    DRIVER.get_or_init(load).as_ref().map_err(|why| DriverError::Missing(why.clone()))
}

/// `CUDA_ERROR_UNKNOWN`: of work without a driver.
const UNKNOWN: u32 = 999;

/// Puts work onto a stream, named for people, with all that it reads and writes.
///
/// # Errors
/// The driver refuses.
pub fn submit(
    stream: usize,
    order: Order,
    name: &str,
    work: Work,
    read: &[Range],
    written: &[Range],
) -> Result<(), DriverError> {
    let driver = driver()?;
    let call = match order {
        Order::Free => driver.launch,
        Order::Submitted => driver.submit,
    };
    let name = CString::new(name).unwrap_or_default();
    let submission = Submission {
        name: name.as_ptr(),
        run,
        data: Box::into_raw(Box::new(work)).cast(),
        free,
        read: read.as_ptr(),
        reads: read.len(),
        written: written.as_ptr(),
        writes: written.len(),
    };
    // SAFETY: the functions are the driver's; it copies the name and the ranges, and owns the work from here on.
    let code = unsafe { call(stream, &submission) };
    checked(code, "the stream")
}

/// Does something with another context current.
///
/// # Errors
/// Those of the driver, and of what is done.
pub fn within<T>(
    context: usize,
    work: impl FnOnce() -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    let (driver, before) = (driver()?, current_context()?);
    // SAFETY: the function is the driver's, and looks the context up.
    let set = |context| unsafe { (driver.set_context)(context) };
    checked(set(context), "the context")?;
    let done = work();
    checked(set(before), "the context")?;
    done
}

/// The current context of this thread; zero if there is none.
///
/// # Errors
/// The driver refuses.
pub fn current_context() -> Result<usize, DriverError> {
    let mut context = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.context)(&mut context) }, "the current context")?;
    Ok(context)
}

/// The device of the current context.
///
/// # Errors
/// None is current.
pub fn current_device() -> Result<i32, DriverError> {
    let mut device = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.device)(&mut device) }, "the device of the current context")?;
    Ok(device)
}

/// The device of a stream.
///
/// # Errors
/// There is no such stream.
pub fn device_of(stream: usize) -> Result<i32, DriverError> {
    let mut device = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.device_of)(stream, &mut device) }, "the stream")?;
    Ok(device)
}

/// Makes sure that a device has its primary context.
///
/// # Errors
/// There is no such device.
pub fn retain(device: i32) -> Result<(), DriverError> {
    let mut context = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.retain)(&mut context, device) }, "the device")
}

/// Reads device memory, within work.
///
/// # Errors
/// A `CUresult`; the driver has said what was wrong.
pub fn read(range: Range) -> Result<Vec<u8>, u32> {
    let mut bytes = vec![0; range.bytes as usize];
    let driver = driver().map_err(|_| UNKNOWN)?;
    // SAFETY: the function is the driver's, and the buffer has the size.
    match unsafe { (driver.read)(range.start, bytes.as_mut_ptr(), bytes.len()) } {
        0 => Ok(bytes),
        code => Err(code),
    }
}

/// Writes device memory, within work.
///
/// # Errors
/// As [`read`].
pub fn write(start: u64, bytes: &[u8]) -> Result<(), u32> {
    let driver = driver().map_err(|_| UNKNOWN)?;
    // SAFETY: the function is the driver's, and the buffer has the size.
    match unsafe { (driver.write)(start, bytes.as_ptr(), bytes.len()) } {
        0 => Ok(()),
        code => Err(code),
    }
}

/// Allocates device memory.
///
/// # Errors
/// There is not as much.
pub fn alloc(bytes: usize) -> Result<u64, DriverError> {
    let mut address = 0;
    // SAFETY: the function is the driver's, and the place is ours.
    checked(unsafe { (driver()?.alloc)(&mut address, bytes) }, "memory")?;
    Ok(address)
}

/// Frees it.
///
/// # Errors
/// Nothing was allocated there.
pub fn release(address: u64) -> Result<(), DriverError> {
    // SAFETY: the function is the driver's, and looks the address up.
    checked(unsafe { (driver()?.free)(address) }, "memory")
}
