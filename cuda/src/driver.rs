//! The CUDA driver: its functions, and what its errors are called.
//!
//! Types and constants are `cudarc`'s; functions are looked up here, since `cudarc` panics where one is missing.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::error::{CudaError, NotFound};
use crate::library::{Missing, functions};

/// What the driver's calls give; 0 is success.
pub(crate) type Code = u32;
/// `CUDA_ERROR_NOT_READY`
pub(crate) const NOT_READY: Code = 600;
/// `CUDA_ERROR_NOT_FOUND`
pub(crate) const NOT_FOUND: Code = 500;
/// `CUDA_ERROR_OUT_OF_MEMORY`
pub(crate) const OUT_OF_MEMORY: Code = 2;

functions! {
    /// The driver API. Names are those of the symbols, `_v2` and all.
    Api;
    fn cuInit(flags: c_uint) -> Code;
    fn cuDriverGetVersion(version: *mut c_int) -> Code;
    fn cuGetErrorName(error: Code, name: *mut *const c_char) -> Code;
    fn cuGetErrorString(error: Code, text: *mut *const c_char) -> Code;
    fn cuDeviceGetCount(count: *mut c_int) -> Code;
    fn cuDeviceGet(device: *mut sys::CUdevice, ordinal: c_int) -> Code;
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: sys::CUdevice) -> Code;
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: sys::CUdevice) -> Code;
    fn cuDevicePrimaryCtxRetain(context: *mut sys::CUcontext, device: sys::CUdevice) -> Code;
    fn cuDevicePrimaryCtxRelease_v2(device: sys::CUdevice) -> Code;
    fn cuCtxSetCurrent(context: sys::CUcontext) -> Code;
    fn cuCtxSynchronize() -> Code;
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code;
    fn cuMemAlloc_v2(pointer: *mut sys::CUdeviceptr, bytes: usize) -> Code;
    fn cuMemFree_v2(pointer: sys::CUdeviceptr) -> Code;
    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code;
    fn cuMemFreeHost(pointer: *mut c_void) -> Code;
    fn cuMemcpyHtoD_v2(to: sys::CUdeviceptr, from: *const c_void, bytes: usize) -> Code;
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: sys::CUdeviceptr, bytes: usize) -> Code;
    fn cuMemcpyHtoDAsync_v2(to: sys::CUdeviceptr, from: *const c_void, bytes: usize, stream: sys::CUstream) -> Code;
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: sys::CUdeviceptr, bytes: usize, stream: sys::CUstream) -> Code;
    fn cuMemcpyDtoDAsync_v2(to: sys::CUdeviceptr, from: sys::CUdeviceptr, bytes: usize, stream: sys::CUstream) -> Code;
    fn cuMemsetD8_v2(to: sys::CUdeviceptr, value: u8, count: usize) -> Code;
    fn cuMemsetD8Async(to: sys::CUdeviceptr, value: u8, count: usize, stream: sys::CUstream) -> Code;
    fn cuMemsetD16Async(to: sys::CUdeviceptr, value: u16, count: usize, stream: sys::CUstream) -> Code;
    fn cuMemsetD32Async(to: sys::CUdeviceptr, value: c_uint, count: usize, stream: sys::CUstream) -> Code;
    fn cuModuleLoadDataEx(module: *mut sys::CUmodule, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void) -> Code;
    fn cuModuleGetFunction(function: *mut sys::CUfunction, module: sys::CUmodule, name: *const c_char) -> Code;
    fn cuModuleUnload(module: sys::CUmodule) -> Code;
    fn cuFuncSetAttribute(function: sys::CUfunction, attribute: c_int, value: c_int) -> Code;
    fn cuLaunchKernel(function: sys::CUfunction, x: c_uint, y: c_uint, z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: sys::CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void) -> Code;
    fn cuStreamCreateWithPriority(stream: *mut sys::CUstream, flags: c_uint, priority: c_int) -> Code;
    fn cuStreamDestroy_v2(stream: sys::CUstream) -> Code;
    fn cuStreamQuery(stream: sys::CUstream) -> Code;
    fn cuStreamWaitEvent(stream: sys::CUstream, event: sys::CUevent, flags: c_uint) -> Code;
    fn cuEventCreate(event: *mut sys::CUevent, flags: c_uint) -> Code;
    fn cuEventDestroy_v2(event: sys::CUevent) -> Code;
    fn cuEventRecord(event: sys::CUevent, stream: sys::CUstream) -> Code;
    fn cuEventQuery(event: sys::CUevent) -> Code;
    fn cuEventElapsedTime(milliseconds: *mut f32, from: sys::CUevent, to: sys::CUevent) -> Code;
    optional;
    fn cuStreamBeginCapture_v2(stream: sys::CUstream, mode: c_int) -> Code;
    fn cuStreamEndCapture(stream: sys::CUstream, graph: *mut sys::CUgraph) -> Code;
    fn cuStreamGetCaptureInfo_v2(stream: sys::CUstream, status: *mut c_int, id: *mut u64, graph: *mut sys::CUgraph, nodes: *mut *const sys::CUgraphNode, count: *mut usize) -> Code;
    fn cuGraphInstantiateWithFlags(exec: *mut sys::CUgraphExec, graph: sys::CUgraph, flags: c_ulonglong) -> Code;
    fn cuGraphExecKernelNodeSetParams_v2(exec: sys::CUgraphExec, node: sys::CUgraphNode, params: *const sys::CUDA_KERNEL_NODE_PARAMS) -> Code;
    fn cuGraphUpload(exec: sys::CUgraphExec, stream: sys::CUstream) -> Code;
    fn cuGraphLaunch(exec: sys::CUgraphExec, stream: sys::CUstream) -> Code;
    fn cuGraphExecDestroy(exec: sys::CUgraphExec) -> Code;
    fn cuGraphDestroy(graph: sys::CUgraph) -> Code;
    fn cuDeviceGetDevResource(device: sys::CUdevice, resource: *mut sys::CUdevResource, kind: c_int) -> Code;
    fn cuDevSmResourceSplitByCount(result: *mut sys::CUdevResource, groups: *mut c_uint, input: *const sys::CUdevResource, rest: *mut sys::CUdevResource, flags: c_uint, least: c_uint) -> Code;
    fn cuDevResourceGenerateDesc(description: *mut sys::CUdevResourceDesc, resources: *mut sys::CUdevResource, count: c_uint) -> Code;
    fn cuGreenCtxCreate(context: *mut sys::CUgreenCtx, description: sys::CUdevResourceDesc, device: sys::CUdevice, flags: c_uint) -> Code;
    fn cuGreenCtxDestroy(context: sys::CUgreenCtx) -> Code;
    fn cuCtxFromGreenCtx(context: *mut sys::CUcontext, green: sys::CUgreenCtx) -> Code;
    fn cuGreenCtxStreamCreate(stream: *mut sys::CUstream, context: sys::CUgreenCtx, flags: c_uint, priority: c_int) -> Code;
}

/// The driver, initialised.
pub(crate) struct Driver {
    pub(crate) api: Api,
    /// The CUDA version that it is for: 1000 times the first number plus 10 times the second.
    pub(crate) version: i32,
}

/// The CUDA version of the oldest driver that will do.
const LEAST: i32 = 12_000;

/// `12.4` of 12040.
pub(crate) fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

impl Driver {
    /// Loads and initialises the driver, once.
    ///
    /// # Errors
    /// No driver, one that lacks a function, or one that finds no device.
    pub(crate) fn open() -> Result<&'static Self, CudaError> {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = DRIVER.get() {
            return Ok(driver);
        }
        let driver = Self::load()?;
        Ok(DRIVER.get_or_init(|| driver))
    }

    fn load() -> Result<Self, CudaError> {
        let api = Api::load(&["libcuda.so.1", "libcuda.so"]).map_err(|missing| match missing {
            Missing::Library(why) => CudaError::Library { library: NotFound::Driver, why },
            Missing::Function(function) => CudaError::Function {
                library: "the NVIDIA driver",
                version: String::new(),
                function,
                remedy: "update it to one for CUDA 12.0 or later",
            },
        })?;
        let mut driver = Self { api, version: 0 };
        // SAFETY: the version is written to a number that lives here; this call needs no initialisation.
        let code = unsafe { (driver.api.cuDriverGetVersion)(&raw mut driver.version) };
        driver.check("asking the driver's version", code)?;
        if driver.version < LEAST {
            return Err(CudaError::OldLibrary {
                library: "the NVIDIA driver",
                version: format!("for CUDA {}", version_text(driver.version)),
                remedy: "update it to one for CUDA 12.0 or later",
            });
        }
        // SAFETY: flags must be 0.
        let code = unsafe { (driver.api.cuInit)(0) };
        if code != 0 {
            return Err(CudaError::NoDevice { why: driver.describe(code) });
        }
        Ok(driver)
    }

    /// The driver's name and text of an error.
    pub(crate) fn describe(&self, code: Code) -> String {
        let text = |of: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = std::ptr::null();
            // SAFETY: the driver stores a static string, or null for a code it does not know.
            let known = unsafe { of(code, &raw mut text) } == 0 && !text.is_null();
            // SAFETY: not null, so a string that ends in zero and lives as long as the driver.
            known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        match (text(self.api.cuGetErrorName), text(self.api.cuGetErrorString)) {
            (Some(name), Some(text)) => format!("{name} ({text})"),
            (Some(name), None) => name,
            _ => format!("error {code}"),
        }
    }

    /// What a call came to. `doing` completes "an error came up while ...".
    pub(crate) fn check(&self, doing: impl Into<String>, code: Code) -> Result<(), CudaError> {
        match code {
            0 => Ok(()),
            code => Err(CudaError::Call { doing: doing.into(), why: self.describe(code) }),
        }
    }

    /// Whether steps can be graphs.
    pub(crate) fn check_graphs(&self) -> Result<(), CudaError> {
        let api = &self.api;
        let needed = [
            ("cuStreamBeginCapture_v2", api.cuStreamBeginCapture_v2.is_some()),
            ("cuStreamEndCapture", api.cuStreamEndCapture.is_some()),
            ("cuStreamGetCaptureInfo_v2", api.cuStreamGetCaptureInfo_v2.is_some()),
            ("cuGraphInstantiateWithFlags", api.cuGraphInstantiateWithFlags.is_some()),
            ("cuGraphExecKernelNodeSetParams_v2", api.cuGraphExecKernelNodeSetParams_v2.is_some()),
            ("cuGraphLaunch", api.cuGraphLaunch.is_some()),
        ];
        match needed.into_iter().find(|(_, is_there)| !is_there) {
            None => Ok(()),
            Some((function, _)) => Err(CudaError::Function {
                library: "the NVIDIA driver",
                version: format!("for CUDA {} ", version_text(self.version)),
                function,
                remedy: "run without --graphs",
            }),
        }
    }

    /// Number of devices.
    pub(crate) fn device_count(&self) -> Result<usize, CudaError> {
        let mut count = 0;
        // SAFETY: the count is written to a number that lives here.
        let code = unsafe { (self.api.cuDeviceGetCount)(&raw mut count) };
        if code != 0 {
            return Err(CudaError::NoDevice { why: self.describe(code) });
        }
        match usize::try_from(count) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(CudaError::NoDevice { why: "the driver counts none".to_owned() }),
        }
    }
}
