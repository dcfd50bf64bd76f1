//! Both libraries as a program loads them: by name.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

/// A library, loaded once and never unloaded.
fn load(cell: &'static OnceLock<Library>, name: &str) -> &'static Library {
    // SAFETY: the stand-ins have no initialisers.
    cell.get_or_init(|| unsafe { Library::new(name) }.expect(name))
}

pub(crate) fn cuda() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    load(&LIBRARY, "libcuda.so.1")
}

pub(crate) fn nccl() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    load(&LIBRARY, "libnccl.so.2")
}

/// Calls a function of a library by name; gives its code.
macro_rules! call {
    ($library:ident, $name:ident($($arg:expr => $ty:ty),* $(,)?)) => {{
        let name = concat!(stringify!($name), "\0");
        // SAFETY: the type is that of the C header, and the arguments are as it asks.
        unsafe {
            let f = $crate::libraries::$library()
                .get::<unsafe extern "C" fn($($ty),*) -> u32>(name.as_bytes())
                .expect(name);
            f($($arg),*)
        }
    }};
}
pub(crate) use call;

macro_rules! ok {
    ($library:ident, $name:ident($($args:tt)*)) => {
        assert_eq!(
            $crate::libraries::call!($library, $name($($args)*)), 0,
            "{}: {}", stringify!($name), $crate::libraries::last_error(0)
        )
    };
}
pub(crate) use ok;

/// What NCCL says went wrong.
pub(crate) fn last_error(communicator: usize) -> String {
    // SAFETY: the type is that of the C header; the text ends with a zero and lives on.
    unsafe {
        let f = nccl()
            .get::<unsafe extern "C" fn(usize) -> *const c_char>(b"ncclGetLastError\0")
            .expect("ncclGetLastError");
        CStr::from_ptr(f(communicator)).to_string_lossy().into_owned()
    }
}

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(pub(crate) [u8; 128]);

pub(crate) fn unique_id() -> UniqueId {
    let mut id = UniqueId([0; 128]);
    ok!(nccl, ncclGetUniqueId(&mut id => *mut UniqueId));
    id
}

/// One rank: a device with a stream, and a communicator.
#[derive(Clone, Copy)]
pub(crate) struct Rank {
    pub(crate) communicator: usize,
    pub(crate) stream: usize,
    pub(crate) rank: usize,
    pub(crate) count: usize,
}

/// Makes a device current, and a stream on it.
pub(crate) fn device(ordinal: usize) -> usize {
    let (mut context, mut stream) = (0_usize, 0_usize);
    ok!(cuda, cuInit(0 => u32));
    ok!(cuda, cuDevicePrimaryCtxRetain(&mut context => *mut usize, ordinal as i32 => i32));
    ok!(cuda, cuCtxSetCurrent(context => usize));
    ok!(cuda, cuStreamCreate(&mut stream => *mut usize, 1 => u32));
    stream
}

impl Rank {
    /// Joins on device `ordinal`.
    pub(crate) fn join(id: UniqueId, rank: usize, count: usize, ordinal: usize) -> Self {
        let stream = device(ordinal);
        let mut communicator = 0_usize;
        ok!(nccl, ncclCommInitRank(
            &mut communicator => *mut usize, count as i32 => i32, id => UniqueId, rank as i32 => i32
        ));
        Self { communicator, stream, rank, count }
    }

    /// Copies in, with room for `elements` in all.
    pub(crate) fn upload<T: Copy>(&self, values: &[T]) -> u64 {
        let mut address = 0;
        let bytes = size_of_val(values);
        ok!(cuda, cuMemAlloc_v2(&mut address => *mut u64, bytes.max(1) => usize));
        ok!(cuda, cuMemcpyHtoD_v2(
            address => u64, values.as_ptr().cast() => *const c_void, bytes => usize
        ));
        address
    }

    /// Waits for the stream; gives the driver's code.
    pub(crate) fn wait(&self) -> u32 {
        call!(cuda, cuStreamSynchronize(self.stream => usize))
    }

    pub(crate) fn download<T: Copy + Default>(&self, address: u64, count: usize) -> Vec<T> {
        assert_eq!(self.wait(), 0);
        let mut values = vec![T::default(); count];
        let bytes = size_of::<T>() * count;
        ok!(cuda, cuMemcpyDtoH_v2(
            values.as_mut_ptr().cast() => *mut c_void, address => u64, bytes => usize
        ));
        values
    }

    /// What went wrong on a stream.
    pub(crate) fn asynchronous_error(&self) -> u32 {
        let mut code = 0;
        ok!(nccl, ncclCommGetAsyncError(self.communicator => usize, &mut code => *mut u32));
        code
    }
}
