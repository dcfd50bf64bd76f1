//! Parts of a device that the driver sets aside: green contexts.
//!
//! The plan's partitions are split off one after the other, in its order; the last may be all that is left. Streams of a
//! partition are made in its context and so keep to its multiprocessors.

#![allow(unsafe_code)]

use cudarc::driver::sys;
use piper_plan::{Method, Partition};

use crate::driver::Driver;
use crate::error::CudaError;
use crate::target::DeviceInfo;

/// `CU_DEV_RESOURCE_TYPE_SM`
const SM: i32 = 1;
/// `CU_GREEN_CTX_DEFAULT_STREAM`, which the driver asks for.
const DEFAULT_STREAM: u32 = 1;
/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;

/// A part of a device. The primary context outlives it.
pub(crate) struct Green {
    driver: &'static Driver,
    raw: sys::CUgreenCtx,
    /// As a context that can be made current.
    pub(crate) context: sys::CUcontext,
}

/// What the driver must have for green contexts: all or nothing.
macro_rules! green {
    ($driver:expr, $name:ident) => {
        $driver.api.$name.ok_or(CudaError::Function {
            library: "the NVIDIA driver",
            version: format!("for CUDA {} ", crate::driver::version_text($driver.version)),
            function: stringify!($name),
            remedy: "green contexts need one for CUDA 12.5 or later; without: partitions with method = \"grid\"",
        })?
    };
}

/// Splits a device. Entries are `None` for partitions that the driver does not make: kernels keep to those themselves.
pub(crate) fn split(
    driver: &'static Driver,
    info: &DeviceInfo,
    partitions: &[Partition],
) -> Result<Vec<Option<Green>>, CudaError> {
    let is_green = |p: &Partition| p.method == Method::Green;
    let Some(first) = partitions.iter().find(|p| is_green(p)) else {
        return Ok(partitions.iter().map(|_| None).collect());
    };
    if first.total != info.multiprocessors {
        return Err(CudaError::Multiprocessors {
            ordinal: info.ordinal,
            name: info.name.clone(),
            planned: first.total,
            found: info.multiprocessors,
        });
    }
    let mut rest = no_resource();
    let ask = green!(driver, cuDeviceGetDevResource);
    // SAFETY: the resource is written to a structure that lives here.
    let code = unsafe { ask(info.handle, &raw mut rest, SM) };
    driver.check(format!("asking for the multiprocessors of device {}", info.ordinal), code)?;
    let mut made = Vec::new();
    for partition in partitions {
        made.push(match is_green(partition) {
            true => Some(one(driver, info, partition, &mut rest)?),
            false => None,
        });
    }
    Ok(made)
}

fn no_resource() -> sys::CUdevResource {
    // SAFETY: a structure of numbers, for which zero is a value: "invalid".
    unsafe { std::mem::zeroed() }
}

fn multiprocessors(resource: &sys::CUdevResource) -> u32 {
    // SAFETY: resources here are of multiprocessors, of which the union holds the count.
    unsafe { resource.__bindgen_anon_1.sm.smCount }
}

fn one(
    driver: &'static Driver,
    info: &DeviceInfo,
    partition: &Partition,
    rest: &mut sys::CUdevResource,
) -> Result<Green, CudaError> {
    let refuse = |why: String| CudaError::Partition { name: partition.name.clone(), why };
    let failed = |doing: &str, code: u32| match code {
        0 => Ok(()),
        code => Err(refuse(format!("{doing}: {}", driver.describe(code)))),
    };
    let mut part = *rest;
    if multiprocessors(rest) != partition.size {
        let (mut groups, mut left) = (1, no_resource());
        let split = green!(driver, cuDevSmResourceSplitByCount);
        part = no_resource();
        // SAFETY: there is room for the one group that is asked for; all structures live here.
        let code = unsafe {
            split(&raw mut part, &raw mut groups, rest, &raw mut left, 0, partition.size)
        };
        failed("the driver cannot split the device", code)?;
        *rest = left;
    }
    let got = multiprocessors(&part);
    if got != partition.size {
        return Err(refuse(format!(
            "{} multiprocessors were asked for, and the driver gives {got}",
            partition.size
        )));
    }
    let (mut description, mut raw) = (std::ptr::null_mut(), std::ptr::null_mut());
    let describe = green!(driver, cuDevResourceGenerateDesc);
    // SAFETY: one resource, which the driver filled in.
    failed("describing it", unsafe { describe(&raw mut description, &raw mut part, 1) })?;
    let create = green!(driver, cuGreenCtxCreate);
    // SAFETY: the description is the driver's own.
    let code = unsafe { create(&raw mut raw, description, info.handle, DEFAULT_STREAM) };
    failed("making a green context", code)?;
    let mut green = Green { driver, raw, context: std::ptr::null_mut() };
    let convert = green!(driver, cuCtxFromGreenCtx);
    // SAFETY: a green context that was just made.
    failed("entering it", unsafe { convert(&raw mut green.context, raw) })?;
    Ok(green)
}

impl Green {
    /// A stream that keeps to this part.
    pub(crate) fn stream(&self) -> Result<sys::CUstream, CudaError> {
        let mut stream = std::ptr::null_mut();
        let create = green!(self.driver, cuGreenCtxStreamCreate);
        // SAFETY: a green context of ours; the stream is written to a pointer that lives here.
        let code = unsafe { create(&raw mut stream, self.raw, NON_BLOCKING, 0) };
        self.driver.check("making a stream of a partition", code)?;
        Ok(stream)
    }
}

impl Drop for Green {
    fn drop(&mut self) {
        if let Some(destroy) = self.driver.api.cuGreenCtxDestroy {
            // SAFETY: made by `one`, destroyed once, after its streams. A failure leaks it until the process ends.
            unsafe { destroy(self.raw) };
        }
    }
}
