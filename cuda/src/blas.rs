//! Matrix products of cuBLASLt, for comparison. No plan uses them.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::time::Instant;

use cudarc::driver::sys;

use crate::device::Bench;
use crate::driver::{Driver, NOT_READY};
use crate::error::CudaError;
use crate::library::functions;

functions! {
    /// The functions of cuBLASLt that one product takes.
    Lt;
    fn cublasLtCreate(handle: *mut *mut c_void) -> u32;
    fn cublasLtDestroy(handle: *mut c_void) -> u32;
    fn cublasLtMatmulDescCreate(description: *mut *mut c_void, compute: c_int, scale: c_int) -> u32;
    fn cublasLtMatrixLayoutCreate(layout: *mut *mut c_void, dtype: c_int, rows: u64, columns: u64, leading: i64) -> u32;
    fn cublasLtMatmul(handle: *mut c_void, description: *mut c_void, alpha: *const c_void, a: u64, a_layout: *mut c_void, b: u64, b_layout: *mut c_void, beta: *const c_void, c: u64, c_layout: *mut c_void, d: u64, d_layout: *mut c_void, algorithm: *const c_void, workspace: u64, workspace_bytes: usize, stream: sys::CUstream) -> u32;
    optional;
}

/// `CUDA_R_32F`
const F32: c_int = 0;
/// `CUDA_R_16BF`
const BF16: c_int = 14;
/// `CUBLAS_COMPUTE_32F`
const COMPUTE_F32: c_int = 68;
/// Bytes that products may use besides their operands.
const WORKSPACE: u64 = 32 << 20;

/// Seconds that cuBLASLt takes for a product of `m` x `k` and `k` x `n`, in bf16 or f32 with sums in f32, on a GPU; the mean of
/// `repeats` after as many to warm up. `None` where there is no cuBLASLt, or it refuses.
///
/// # Errors
/// A device that cannot be opened, or is too small.
pub fn cublaslt_seconds(
    ordinal: usize,
    [m, n, k]: [u64; 3],
    is_bf16: bool,
    repeats: u32,
) -> Result<Option<f64>, CudaError> {
    let names = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"];
    let Ok(lt) = Lt::load(&names) else { return Ok(None) };
    let driver = Driver::open()?;
    let (dtype, size) = if is_bf16 { (BF16, 2) } else { (F32, 4) };
    let bytes = [m * k * size, k * n * size, m * n * size, WORKSPACE];
    let bench = Bench::open(driver, ordinal, &bytes)?;
    let [a, b, c, workspace] = [0, 1, 2, 3].map(|at| bench.blocks[at].at(0));
    let (mut handle, mut description) = (null_mut(), null_mut());
    let mut layouts = [null_mut(); 3];
    // SAFETY: the results are written to pointers that live here; the context of the device is current.
    let codes = unsafe {
        let shapes = [(m, k), (k, n), (m, n)];
        let mut codes = vec![
            (lt.cublasLtCreate)(&raw mut handle),
            (lt.cublasLtMatmulDescCreate)(&raw mut description, COMPUTE_F32, F32),
        ];
        for (layout, (rows, columns)) in layouts.iter_mut().zip(shapes) {
            codes.push((lt.cublasLtMatrixLayoutCreate)(layout, dtype, rows, columns, rows as i64));
        }
        codes
    };
    if codes.iter().any(|code| *code != 0) {
        return Ok(None);
    }
    let (one, zero) = (1f32, 0f32);
    let run = |times: u32| -> Result<Option<f64>, CudaError> {
        let start = Instant::now();
        for _ in 0..times {
            // SAFETY: operands are blocks of this device of the sizes that their layouts say; the scale factors live here.
            let code = unsafe {
                (lt.cublasLtMatmul)(
                    handle,
                    description,
                    (&raw const one).cast(),
                    a,
                    layouts[0],
                    b,
                    layouts[1],
                    (&raw const zero).cast(),
                    c,
                    layouts[2],
                    c,
                    layouts[2],
                    std::ptr::null(),
                    workspace,
                    WORKSPACE as usize,
                    bench.stream.raw,
                )
            };
            if code != 0 {
                return Ok(None);
            }
        }
        loop {
            // SAFETY: a stream of this device.
            match unsafe { (driver.api.cuStreamQuery)(bench.stream.raw) } {
                0 => return Ok(Some(start.elapsed().as_secs_f64() / f64::from(times))),
                NOT_READY => std::hint::spin_loop(),
                code => driver.check("multiplying with cuBLASLt", code)?,
            }
        }
    };
    let seconds = match run(repeats)? {
        Some(_) => run(repeats)?,
        None => None,
    };
    // SAFETY: made above, and all its work has ended. Descriptions and layouts are small, and go with the process.
    unsafe { (lt.cublasLtDestroy)(handle) };
    Ok(seconds)
}
