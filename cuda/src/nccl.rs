//! NCCL: its functions, and communicators.
//!
//! Its runtime library is called `libnccl.so.2`. `PIPER_NCCL_LIBRARY` names another file.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys;
use cudarc::nccl::sys::{ncclComm_t, ncclConfig_t, ncclDataType_t, ncclUniqueId};
use piper_plan::DType;

use crate::error::{CudaError, NotFound};
use crate::library::{Missing, functions};

type Code = u32;

functions! {
    /// NCCL's functions.
    Api;
    fn ncclGetVersion(version: *mut c_int) -> Code;
    fn ncclGetUniqueId(id: *mut ncclUniqueId) -> Code;
    fn ncclCommInitRankConfig(comm: *mut ncclComm_t, ranks: c_int, id: ncclUniqueId, rank: c_int, config: *mut ncclConfig_t) -> Code;
    fn ncclCommDestroy(comm: ncclComm_t) -> Code;
    fn ncclCommAbort(comm: ncclComm_t) -> Code;
    fn ncclCommGetAsyncError(comm: ncclComm_t, error: *mut Code) -> Code;
    fn ncclGetErrorString(error: Code) -> *const c_char;
    fn ncclGroupStart() -> Code;
    fn ncclGroupEnd() -> Code;
    fn ncclAllReduce(from: *const c_void, to: *mut c_void, count: usize, dtype: Code, operation: Code, comm: ncclComm_t, stream: sys::CUstream) -> Code;
    fn ncclReduceScatter(from: *const c_void, to: *mut c_void, count: usize, dtype: Code, operation: Code, comm: ncclComm_t, stream: sys::CUstream) -> Code;
    fn ncclAllGather(from: *const c_void, to: *mut c_void, count: usize, dtype: Code, comm: ncclComm_t, stream: sys::CUstream) -> Code;
    fn ncclSend(from: *const c_void, count: usize, dtype: Code, peer: c_int, comm: ncclComm_t, stream: sys::CUstream) -> Code;
    fn ncclRecv(to: *mut c_void, count: usize, dtype: Code, peer: c_int, comm: ncclComm_t, stream: sys::CUstream) -> Code;
    optional;
    fn ncclGetLastError(comm: ncclComm_t) -> *const c_char;
}

/// `ncclSum`
const SUM: Code = 0;
/// `ncclInProgress`
const IN_PROGRESS: Code = 7;
/// `NCCL_CONFIG_UNDEF_INT`: whatever NCCL takes by itself.
const UNDEFINED: c_int = c_int::MIN;

/// The first version whose communicators take limits of blocks: 2.18.0.
const LEAST: c_int = 21_800;

/// NCCL, loaded.
pub(crate) struct Nccl {
    pub(crate) api: Api,
    /// As `2.28.3`.
    pub(crate) version: String,
}

impl Nccl {
    /// Loads NCCL, once.
    ///
    /// # Errors
    /// No library, or one that lacks a function.
    pub(crate) fn open() -> Result<&'static Self, CudaError> {
        static NCCL: OnceLock<Nccl> = OnceLock::new();
        if let Some(nccl) = NCCL.get() {
            return Ok(nccl);
        }
        let nccl = Self::load()?;
        Ok(NCCL.get_or_init(|| nccl))
    }

    fn load() -> Result<Self, CudaError> {
        let named = std::env::var("PIPER_NCCL_LIBRARY").ok();
        let names = match &named {
            Some(name) => vec![&name[..]],
            None => vec!["libnccl.so.2", "libnccl.so"],
        };
        let api = Api::load(&names).map_err(|missing| match missing {
            Missing::Library(why) => CudaError::Library { library: NotFound::Nccl, why },
            Missing::Function(function) => CudaError::Function {
                library: "NCCL",
                version: String::new(),
                function,
                remedy: "install 2.18 or later",
            },
        })?;
        let mut number = 0;
        // SAFETY: the version is written to a number that lives here.
        unsafe { (api.ncclGetVersion)(&raw mut number) };
        let version = format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100);
        if number < LEAST {
            let remedy = "install 2.18 or later";
            return Err(CudaError::OldLibrary { library: "NCCL", version, remedy });
        }
        Ok(Self { api, version })
    }

    /// A name that the ranks of a new communicator find each other by.
    pub(crate) fn unique_id(&self) -> Result<Vec<u8>, CudaError> {
        let mut id = ncclUniqueId { internal: [0; 128] };
        // SAFETY: the name is written to an array of the size that NCCL defines.
        let code = unsafe { (self.api.ncclGetUniqueId)(&raw mut id) };
        if code != 0 {
            return Err(self.failed("no name for a communicator", code, std::ptr::null_mut()));
        }
        Ok(id.internal.iter().map(|c| *c as u8).collect())
    }

    /// NCCL's text of an error, and what it said last.
    pub(crate) fn describe(&self, code: Code, comm: ncclComm_t) -> String {
        let text = |text: *const c_char| {
            // SAFETY: NCCL gives a string that ends in zero and stays until its next error.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        // SAFETY: any number may be asked about.
        let name = text(unsafe { (self.api.ncclGetErrorString)(code) }).map(|t| t.into_owned());
        let name = name.unwrap_or_else(|| format!("error {code}"));
        // SAFETY: a communicator of ours, or null for none.
        let last = self.api.ncclGetLastError.and_then(|last| text(unsafe { last(comm) }));
        match last.map(|last| last.trim().to_owned()).filter(|last| !last.is_empty()) {
            Some(last) => format!("NCCL {}: {name}: {last}", self.version),
            None => format!("NCCL {}: {name}", self.version),
        }
    }

    fn failed(&self, doing: &str, code: Code, comm: ncclComm_t) -> CudaError {
        CudaError::Communicators(format!("{doing}: {}", self.describe(code, comm)))
    }
}

/// The version of NCCL, as `2.28.3`.
///
/// # Errors
/// No NCCL, or too old a one.
pub fn nccl_version() -> Result<String, CudaError> {
    Ok(Nccl::open()?.version.clone())
}

/// One rank of a communicator. It stays with the thread that made it.
pub(crate) struct Communicator {
    nccl: &'static Nccl,
    raw: ncclComm_t,
}

impl Communicator {
    /// Joins a communicator; returns when all ranks have. The device's context is current. `ctas` are the fewest and most
    /// blocks that its kernels may have.
    ///
    /// # Errors
    /// Whatever NCCL finds.
    pub(crate) fn join(
        nccl: &'static Nccl,
        id: &[u8],
        rank: usize,
        ranks: usize,
        ctas: Option<(u32, u32)>,
    ) -> Result<Self, CudaError> {
        let mut unique = ncclUniqueId { internal: [0; 128] };
        unique.internal.iter_mut().zip(id).for_each(|(to, from)| *to = *from as c_char);
        let limit = |n: Option<u32>| n.map_or(UNDEFINED, |n| n as c_int);
        let mut config = ncclConfig_t {
            size: size_of::<ncclConfig_t>(),
            magic: 0xcafe_beef,
            // The layout is that of 2.18, which later versions read by its size.
            version: 21_801,
            blocking: 1,
            cgaClusterSize: UNDEFINED,
            minCTAs: limit(ctas.map(|c| c.0)),
            maxCTAs: limit(ctas.map(|c| c.1)),
            netName: std::ptr::null(),
            splitShare: UNDEFINED,
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the communicator is written to a pointer that lives here; the configuration is one of NCCL's layouts.
        let code = unsafe {
            (nccl.api.ncclCommInitRankConfig)(
                &raw mut raw,
                ranks as c_int,
                unique,
                rank as c_int,
                &raw mut config,
            )
        };
        if code != 0 {
            let doing = format!("rank {rank} of {ranks} cannot join");
            return Err(nccl.failed(&doing, code, std::ptr::null_mut()));
        }
        Ok(Self { nccl, raw })
    }

    /// NCCL's handle.
    pub(crate) fn raw(&self) -> ncclComm_t {
        self.raw
    }

    /// What has gone wrong with it since it was made, on this rank or another.
    pub(crate) fn fault(&self) -> Option<String> {
        let mut error = 0;
        // SAFETY: a communicator that was joined; the error is written to a number that lives here.
        let code = unsafe { (self.nccl.api.ncclCommGetAsyncError)(self.raw, &raw mut error) };
        let error = if code == 0 { error } else { code };
        (error != 0 && error != IN_PROGRESS).then(|| self.nccl.describe(error, self.raw))
    }

    /// Ends what is under way and leaves, without waiting for the others.
    pub(crate) fn abort(mut self) {
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        // SAFETY: a communicator that was joined, and that nobody uses after this. Nothing is done about a failure to give up.
        unsafe { (self.nccl.api.ncclCommAbort)(raw) };
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: a communicator that was joined; all its work has ended. A failure to leave changes nothing.
            unsafe { (self.nccl.api.ncclCommDestroy)(self.raw) };
        }
    }
}

/// NCCL's number for an element type.
pub(crate) fn dtype(dtype: DType) -> Code {
    let named = match dtype {
        DType::F32 => ncclDataType_t::ncclFloat32,
        DType::F64 => ncclDataType_t::ncclFloat64,
        DType::I32 => ncclDataType_t::ncclInt32,
        DType::Bf16 => ncclDataType_t::ncclBfloat16,
    };
    named as Code
}

/// A collective over one communicator: what is read, what is written, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Collective {
    /// `count` elements each.
    AllReduce { count: usize },
    /// `count` elements are received.
    ReduceScatter { count: usize },
    /// `count` elements are sent.
    AllGather { count: usize },
}

impl Nccl {
    /// Puts a collective on a stream.
    ///
    /// # Safety
    /// `from` and `to` are device memory of the communicator's device, of the sizes that the collective has, which nothing else
    /// writes until the stream has passed; `comm` is joined.
    pub(crate) unsafe fn collective(
        &self,
        what: Collective,
        dtype: Code,
        (from, to): (u64, u64),
        comm: ncclComm_t,
        stream: sys::CUstream,
    ) -> Result<(), String> {
        let (from_at, to_at) = (from as *const c_void, to as *mut c_void);
        let api = &self.api;
        // SAFETY: the caller's promise.
        let code = unsafe {
            match what {
                Collective::AllReduce { count } => {
                    (api.ncclAllReduce)(from_at, to_at, count, dtype, SUM, comm, stream)
                }
                Collective::ReduceScatter { count } => {
                    (api.ncclReduceScatter)(from_at, to_at, count, dtype, SUM, comm, stream)
                }
                Collective::AllGather { count } => {
                    (api.ncclAllGather)(from_at, to_at, count, dtype, comm, stream)
                }
            }
        };
        self.outcome(code, comm)
    }

    /// Puts transfers on a stream, which start together and complete together.
    ///
    /// # Safety
    /// As [`Self::collective`].
    pub(crate) unsafe fn transfers(
        &self,
        transfers: &[Transfer],
        stream: sys::CUstream,
    ) -> Result<(), String> {
        let api = &self.api;
        let is_group = transfers.len() > 1;
        if is_group {
            // SAFETY: groups may be begun at any time; this one is ended below, whatever happens.
            self.outcome(unsafe { (api.ncclGroupStart)() }, std::ptr::null_mut())?;
        }
        let mut first = Ok(());
        for t in transfers {
            let at = t.address as *mut c_void;
            // SAFETY: the caller's promise.
            let code = unsafe {
                match t.is_send {
                    true => (api.ncclSend)(at, t.count, t.dtype, t.peer, t.comm, stream),
                    false => (api.ncclRecv)(at, t.count, t.dtype, t.peer, t.comm, stream),
                }
            };
            first = first.and(self.outcome(code, t.comm));
        }
        if is_group {
            // SAFETY: begun above by this thread.
            first = first.and(self.outcome(unsafe { (api.ncclGroupEnd)() }, std::ptr::null_mut()));
        }
        first
    }

    fn outcome(&self, code: Code, comm: ncclComm_t) -> Result<(), String> {
        if code == 0 { Ok(()) } else { Err(self.describe(code, comm)) }
    }

    /// The version as two numbers.
    pub(crate) fn version_pair(&self) -> (u32, u32) {
        let mut parts = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

/// One side of a transfer between two ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) is_send: bool,
    pub(crate) address: u64,
    pub(crate) count: usize,
    pub(crate) dtype: u32,
    pub(crate) peer: c_int,
    pub(crate) comm: ncclComm_t,
}
