//! The library as a program sees it: symbols of a shared object.

use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

/// The built library, which cargo puts beside the tests.
pub(crate) fn path() -> PathBuf {
    let tests = std::env::current_exe().expect("a path of this test");
    tests.parent().expect("a folder").join("libpiper_standin_cuda.so")
}

/// The library, loaded once and never unloaded.
pub(crate) fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        // SAFETY: no other thread of this test reads the environment before the library does.
        unsafe {
            if std::env::var_os("PIPER_STANDIN_DEVICES").is_none() {
                std::env::set_var("PIPER_STANDIN_DEVICES", "2");
            }
            // SAFETY: the stand-in has no initialisers.
            Library::new(path()).expect("the library loads")
        }
    })
}

/// Calls a function by name; gives its `CUresult`.
macro_rules! cu {
    ($name:ident($($arg:expr => $ty:ty),* $(,)?)) => {{
        let name = concat!(stringify!($name), "\0");
        // SAFETY: the type is that of the C header, and the arguments are as it asks.
        unsafe {
            let f = $crate::library::library()
                .get::<unsafe extern "C" fn($($ty),*) -> u32>(name.as_bytes())
                .expect(name);
            f($($arg),*)
        }
    }};
}
pub(crate) use cu;

/// Calls a function that has to succeed.
macro_rules! ok {
    ($name:ident($($args:tt)*)) => {
        assert_eq!(cu!($name($($args)*)), 0, stringify!($name))
    };
}
pub(crate) use ok;

/// Makes the primary context of a device current on this thread.
pub(crate) fn context(device: i32) -> usize {
    let mut context = 0_usize;
    ok!(cuInit(0 => u32));
    ok!(cuDevicePrimaryCtxRetain(&mut context => *mut usize, device => i32));
    ok!(cuCtxSetCurrent(context => usize));
    context
}

pub(crate) fn alloc(bytes: usize) -> u64 {
    let mut address = 0;
    ok!(cuMemAlloc_v2(&mut address => *mut u64, bytes => usize));
    address
}

pub(crate) fn upload<T: Copy>(values: &[T]) -> u64 {
    let address = alloc(size_of_val(values));
    let from = values.as_ptr().cast::<c_void>();
    ok!(cuMemcpyHtoD_v2(address => u64, from => *const c_void, size_of_val(values) => usize));
    address
}

pub(crate) fn download<T: Copy + Default>(address: u64, count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    let to = values.as_mut_ptr().cast::<c_void>();
    ok!(cuMemcpyDtoH_v2(to => *mut c_void, address => u64, size_of::<T>() * count => usize));
    values
}

/// Loads a module and gives one of its kernels.
pub(crate) fn kernel(ptx: &str, name: &str) -> usize {
    let (mut module, mut function) = (0_usize, 0_usize);
    let (ptx, name) = (CString::new(ptx).expect("text"), CString::new(name).expect("a name"));
    ok!(cuModuleLoadData(&mut module => *mut usize, ptx.as_ptr() => *const i8));
    ok!(cuModuleGetFunction(&mut function => *mut usize, module => usize, name.as_ptr() => *const i8));
    function
}

pub(crate) fn stream() -> usize {
    let mut stream = 0;
    ok!(cuStreamCreate(&mut stream => *mut usize, 1 => u32));
    stream
}

pub(crate) fn event() -> usize {
    let mut event = 0;
    ok!(cuEventCreate(&mut event => *mut usize, 0 => u32));
    event
}

/// Launches in one dimension; arguments are words of 64 bits, of which a parameter takes what it needs.
pub(crate) fn launch(function: usize, grid: u32, block: u32, stream: usize, args: &[u64]) -> u32 {
    let params: Vec<*const u64> = args.iter().map(|arg| arg as *const u64).collect();
    cu!(cuLaunchKernel(
        function => usize, grid => u32, 1 => u32, 1 => u32, block => u32, 1 => u32, 1 => u32, 0 => u32,
        stream => usize, params.as_ptr() => *const *const u64, std::ptr::null() => *const c_void,
    ))
}
