//! `cuGetProcAddress`: how the CUDA runtime and others find functions, by name without its version.

use std::ffi::{CStr, c_char, c_void};

use crate::abi::Code;
use crate::call::{calls, put};
use crate::settings::settings;

macro_rules! exports {
    ($($module:ident: $($name:ident)*;)*) => {
        const EXPORTS: &[(&str, fn() -> *const c_void)] = &[
            $($((stringify!($name), || crate::$module::$name as *const c_void),)*)*
        ];
    };
}

exports! {
    error: cuGetErrorName cuGetErrorString;
    device: cuInit cuDriverGetVersion cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetUuid cuDeviceGetUuid_v2
        cuDeviceTotalMem_v2 cuDeviceGetAttribute cuDeviceComputeCapability cuDeviceCanAccessPeer cuDeviceGetPCIBusId
        cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuMemPoolSetAttribute cuMemPoolTrimTo;
    context: cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxGetState
        cuDevicePrimaryCtxSetFlags_v2 cuCtxCreate_v2 cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxSetCurrent cuCtxGetCurrent
        cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxGetDevice cuCtxGetApiVersion cuCtxSynchronize cuCtxSetFlags
        cuCtxGetFlags cuCtxGetStreamPriorityRange cuCtxSetLimit cuCtxGetLimit cuCtxSetCacheConfig
        cuCtxGetCacheConfig cuCtxEnablePeerAccess;
    memory: cuMemAlloc_v2 cuMemFree_v2 cuMemAllocAsync cuMemFreeAsync cuMemGetInfo_v2 cuMemGetAddressRange_v2
        cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyDtoD_v2 cuMemcpy cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2
        cuMemcpyDtoDAsync_v2 cuMemcpyAsync cuMemcpyPeerAsync cuMemsetD8_v2 cuMemsetD16_v2 cuMemsetD32_v2
        cuMemsetD8Async cuMemsetD16Async cuMemsetD32Async;
    host_memory: cuMemHostAlloc cuMemAllocHost_v2 cuMemFreeHost cuMemHostRegister_v2 cuMemHostUnregister
        cuMemHostGetDevicePointer_v2;
    module: cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary cuModuleLoad cuModuleUnload cuModuleGetFunction
        cuModuleGetFunctionCount cuModuleGetGlobal_v2;
    function: cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig
        cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
    launch: cuLaunchKernel cuLaunchKernelEx cuLaunchHostFunc;
    stream: cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamSynchronize cuStreamQuery
        cuStreamGetPriority cuStreamGetFlags cuStreamGetId cuStreamGetCtx;
    event: cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventRecordWithFlags cuStreamWaitEvent cuEventSynchronize
        cuEventQuery cuEventElapsedTime cuEventElapsedTime_v2;
    capture: cuStreamBeginCapture_v2 cuStreamEndCapture cuStreamIsCapturing cuStreamGetCaptureInfo_v2
        cuStreamGetCaptureInfo_v3 cuThreadExchangeStreamCaptureMode;
    graph: cuGraphInstantiateWithFlags cuGraphInstantiateWithParams cuGraphExecKernelNodeSetParams_v2 cuGraphUpload cuGraphLaunch cuGraphExecDestroy
        cuGraphDestroy cuGraphGetNodes;
    green: cuDeviceGetDevResource cuDevSmResourceSplitByCount cuDevResourceGenerateDesc cuGreenCtxCreate
        cuGreenCtxDestroy cuCtxFromGreenCtx cuGreenCtxGetDevResource cuCtxGetDevResource cuGreenCtxStreamCreate
        cuStreamGetGreenCtx;
    proc_address: cuGetProcAddress cuGetProcAddress_v2;
}

/// The newest function of a name.
fn find(name: &str) -> Option<*const c_void> {
    let versions = (2..=4).rev().map(|n| format!("{name}_v{n}")).chain([name.to_string()]);
    versions
        .filter_map(|name| EXPORTS.iter().find(|(known, _)| *known == name))
        .map(|(_, address)| address())
        .next()
}

/// `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const SYMBOL_NOT_FOUND: u32 = 1;

calls! {
    /// The address of a function.
    fn cuGetProcAddress_v2(
        name: *const c_char,
        to: *mut *const c_void,
        _version: i32,
        _flags: u64,
        status: *mut u32,
    ) {
        if name.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller's name ends with a zero.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let found = find(&name);
        if found.is_none() && settings().log {
            eprintln!("standin: cuGetProcAddress: there is no {name}");
        }
        if !status.is_null() {
            // SAFETY: the caller's place for the result.
            unsafe { put(status, if found.is_some() { 0 } else { SYMBOL_NOT_FOUND })? };
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(to, found.unwrap_or(std::ptr::null()))? };
        found.map(|_| ()).ok_or(Code::NOT_FOUND)
    }

    /// The address of a function.
    fn cuGetProcAddress(name: *const c_char, to: *mut *const c_void, version: i32, flags: u64) {
        // SAFETY: the same arguments.
        match unsafe { cuGetProcAddress_v2(name, to, version, flags, std::ptr::null_mut()) } {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }
}
