//! cuBLASLt: its functions, and what its errors are called. `PIPER_CUBLASLT_LIBRARY` names another file than the usual ones.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::error::{CudaError, NotFound};
use crate::library::{Missing, functions};

/// A `cublasStatus_t`; 0 is success.
pub(crate) type Status = u32;
/// `CUBLAS_STATUS_NOT_SUPPORTED`
pub(crate) const NOT_SUPPORTED: Status = 15;

/// A handle, a description, a layout or a preference.
pub(crate) type Object = *mut c_void;

/// `cublasLtMatmulHeuristicResult_t`: one way to multiply.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// `cublasLtMatmulAlgo_t`
    pub(crate) algorithm: [u64; 8],
    pub(crate) workspace_bytes: usize,
    pub(crate) status: Status,
    waves: f32,
    reserved: [c_int; 4],
}

functions! {
    /// The functions that products take.
    Api;
    fn cublasLtGetVersion() -> usize;
    fn cublasLtCreate(handle: *mut Object) -> Status;
    fn cublasLtDestroy(handle: Object) -> Status;
    fn cublasLtMatmulDescCreate(description: *mut Object, compute: c_int, scale: c_int) -> Status;
    fn cublasLtMatmulDescDestroy(description: Object) -> Status;
    fn cublasLtMatmulDescSetAttribute(description: Object, attribute: c_int, value: *const c_void, bytes: usize) -> Status;
    fn cublasLtMatrixLayoutCreate(layout: *mut Object, dtype: c_int, rows: u64, columns: u64, leading: i64) -> Status;
    fn cublasLtMatrixLayoutDestroy(layout: Object) -> Status;
    fn cublasLtMatrixLayoutSetAttribute(layout: Object, attribute: c_int, value: *const c_void, bytes: usize) -> Status;
    fn cublasLtMatmulPreferenceCreate(preference: *mut Object) -> Status;
    fn cublasLtMatmulPreferenceDestroy(preference: Object) -> Status;
    fn cublasLtMatmulPreferenceSetAttribute(preference: Object, attribute: c_int, value: *const c_void, bytes: usize) -> Status;
    fn cublasLtMatmulAlgoGetHeuristic(handle: Object, description: Object, a: Object, b: Object, c: Object, d: Object, preference: Object, most: c_int, ways: *mut Way, count: *mut c_int) -> Status;
    fn cublasLtMatmul(handle: Object, description: Object, alpha: *const c_void, a: u64, a_layout: Object, b: u64, b_layout: Object, beta: *const c_void, c: u64, c_layout: Object, d: u64, d_layout: Object, algorithm: *const [u64; 8], workspace: u64, workspace_bytes: usize, stream: sys::CUstream) -> Status;
    optional;
    fn cublasLtGetStatusString(status: Status) -> *const c_char;
}

/// The first version that is known to do.
const LEAST: usize = 12;

/// The version of cuBLASLt, as `12.8.4`.
///
/// # Errors
/// No cuBLASLt, or too old a one.
pub fn cublaslt_version() -> Result<String, CudaError> {
    Ok(CublasLt::open()?.version.clone())
}

/// cuBLASLt, loaded.
pub(crate) struct CublasLt {
    pub(crate) api: Api,
    /// As `12.8.4`.
    pub(crate) version: String,
}

impl CublasLt {
    /// Loads it, once.
    ///
    /// # Errors
    /// No library, or too old a one.
    pub(crate) fn open() -> Result<&'static Self, CudaError> {
        static CUBLASLT: OnceLock<CublasLt> = OnceLock::new();
        if let Some(library) = CUBLASLT.get() {
            return Ok(library);
        }
        let library = Self::load()?;
        Ok(CUBLASLT.get_or_init(|| library))
    }

    fn load() -> Result<Self, CudaError> {
        let named = std::env::var("PIPER_CUBLASLT_LIBRARY").ok();
        let names = match &named {
            Some(name) => vec![&name[..]],
            None => vec!["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"],
        };
        let remedy = "install that of CUDA 12.0 or later, or leave --gemm out";
        let api = Api::load(&names).map_err(|missing| match missing {
            Missing::Library(why) => CudaError::Library { library: NotFound::CublasLt, why },
            Missing::Function(function) => CudaError::Function {
                library: "cuBLASLt",
                version: String::new(),
                function,
                remedy,
            },
        })?;
        // SAFETY: it takes nothing and cannot fail.
        let number = unsafe { (api.cublasLtGetVersion)() };
        let version = format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100);
        if number / 10_000 < LEAST {
            return Err(CudaError::OldLibrary { library: "cuBLASLt", version, remedy });
        }
        Ok(Self { api, version })
    }

    /// What a call came to. `doing` completes "an error came up while ...".
    pub(crate) fn check(&self, doing: &str, status: Status) -> Result<(), CudaError> {
        match status {
            0 => Ok(()),
            _ => Err(CudaError::Call { doing: doing.to_owned(), why: self.describe(status) }),
        }
    }

    /// Its text for a status.
    pub(crate) fn describe(&self, status: Status) -> String {
        // SAFETY: any number may be asked about; the text is static and ends in zero.
        let text = self.api.cublasLtGetStatusString.map(|text| unsafe { text(status) });
        let text = text.filter(|text| !text.is_null()).map(|text| {
            // SAFETY: see above.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        });
        let text = text.unwrap_or_else(|| format!("status {status}"));
        format!("cuBLASLt {}: {text}", self.version)
    }
}
