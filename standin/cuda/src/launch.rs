//! Launches: of kernels on the device, of functions of the program between them.

use std::ffi::c_void;
use std::sync::Arc;

use piper_ptx::{Arg, Dim};

use crate::abi::{Code, Handle, HostFn, Result};
use crate::call::calls;
use crate::context::within_host_function;
use crate::function::{Function, function};
use crate::queue::{Task, submit};
use crate::settings::settings;
use crate::stream::stream;

/// Marks of the `extra` argument: what follows is a buffer, its size, or the end.
const EXTRA_END: usize = 0;
const EXTRA_BUFFER: usize = 1;
const EXTRA_SIZE: usize = 2;

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: Handle,
    attributes: *const c_void,
    count: u32,
}

/// Copies the arguments, which are the program's only until the launch returns.
///
/// # Safety
/// Either `params` has a pointer to each parameter, or `extra` a buffer with its size.
unsafe fn arguments(
    function: &Function,
    params: *const *const u8,
    extra: *const usize,
) -> Result<Vec<Arg>> {
    let sizes = function.kernel.params().map(|param| param.bytes as usize);
    if sizes.len() == 0 {
        return Ok(Vec::new());
    }
    if !params.is_null() {
        let take = |(at, bytes)| {
            // SAFETY: there is a pointer to `bytes` bytes for each parameter.
            let from = unsafe { params.add(at).read() };
            if from.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            // SAFETY: as above.
            Ok(Arg::Bytes(unsafe { std::slice::from_raw_parts(from, bytes) }.to_vec()))
        };
        return sizes.enumerate().map(take).collect();
    }
    if extra.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let (mut buffer, mut size) = (std::ptr::null::<u8>(), 0);
    let mut at = 0;
    loop {
        // SAFETY: marks and values alternate up to the mark for the end.
        let (mark, value) = unsafe { (extra.add(at).read(), extra.add(at + 1)) };
        match mark {
            EXTRA_END => break,
            // SAFETY: as above.
            EXTRA_BUFFER => buffer = unsafe { value.cast::<*const u8>().read() },
            // SAFETY: as above; the value points to the size.
            EXTRA_SIZE => size = unsafe { value.cast::<*const usize>().read().read() },
            _ => return Err(Code::INVALID_VALUE),
        }
        at += 2;
    }
    if buffer.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the program says that the buffer has this size.
    let buffer = unsafe { std::slice::from_raw_parts(buffer, size) };
    let mut offset = 0_usize;
    let take = |bytes: usize| {
        offset = offset.next_multiple_of(bytes.next_power_of_two().clamp(1, 16));
        let part = buffer.get(offset..offset + bytes).ok_or(Code::INVALID_VALUE)?;
        offset += bytes;
        Ok(Arg::Bytes(part.to_vec()))
    };
    sizes.map(take).collect()
}

/// What is launched, and how.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

/// A launch as work, once it is known to fit the kernel and the chip.
fn task(function: &Function, shape: Shape, args: Vec<Arg>) -> Result<Task> {
    let Shape { grid, block, shared } = shape;
    let kernel = function.kernel.clone();
    let refuse = |what: String| {
        if settings().log {
            eprintln!("standin: launch of {}: {what}", kernel.name());
        }
        Err(Code::INVALID_VALUE)
    };
    let threads = block.iter().try_fold(1_u32, |n, size| n.checked_mul(*size)).unwrap_or(u32::MAX);
    let is_block = (1..=1024).contains(&threads) && block[2] <= 64;
    let is_grid =
        grid.iter().all(|n| *n > 0) && grid[0] <= 0x7fff_ffff && grid[1].max(grid[2]) <= 65_535;
    if !is_block || !is_grid {
        return refuse(format!("a grid of {grid:?} blocks of {block:?} threads"));
    }
    if kernel.threads().is_some_and(|(most, is_exact)| {
        let allowed: u32 = most.iter().product();
        if is_exact { most != block } else { threads > allowed }
    }) {
        return refuse(format!("{block:?} threads are not what the kernel asks for"));
    }
    let most = function.most_dynamic();
    if shared > most {
        return refuse(format!(
            "{shared} bytes of dynamic shared memory; {most} were asked for with cuFuncSetAttribute"
        ));
    }
    let name = format!("kernel {}", kernel.name());
    Ok(Task::new(&name, move |device, touched| {
        let mut machine = device.machine();
        machine.launch(&kernel, Dim(grid), Dim(block), shared, &args)?;
        if settings().checks.streams {
            machine.touched(&mut touched.read, &mut touched.written);
        }
        Ok(())
    }))
}

/// A launch of a graph's node with other arguments.
///
/// # Safety
/// As [`arguments`].
pub(crate) unsafe fn node(
    function: &Function,
    shape: Shape,
    params: *const *const u8,
    extra: *const usize,
) -> Result<Task> {
    // SAFETY: the caller's promise.
    task(function, shape, unsafe { arguments(function, params, extra)? })
}

/// Submits a launch.
fn launch(function: &Function, shape: Shape, handle: Handle, args: Vec<Arg>) -> Result {
    let stream = stream(handle)?;
    if !Arc::ptr_eq(&stream.device, &function.device) {
        // A kernel of one device, a stream of another.
        return Err(Code::INVALID_HANDLE);
    }
    submit(&stream, task(function, shape, args)?, &[]).map(|_| ())
}

calls! {
    /// Launches a kernel.
    fn cuLaunchKernel(
        handle: Handle,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        on: Handle,
        params: *const *const u8,
        extra: *const usize,
    ) {
        let function = function(handle)?;
        // SAFETY: the caller gives the arguments in one of the two forms.
        let args = unsafe { arguments(&function, params, extra)? };
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(&function, Shape { grid, block, shared }, on, args)
    }

    /// Launches a kernel; attributes (clusters, priorities, early starts) have no effect.
    fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        handle: Handle,
        params: *const *const u8,
        extra: *const usize,
    ) {
        let function = function(handle)?;
        if config.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller's structure and arguments.
        let (config, args) = unsafe { (config.read(), arguments(&function, params, extra)?) };
        let LaunchConfig { grid, block, shared, stream, attributes, count } = config;
        if settings().log && count > 0 && !attributes.is_null() {
            eprintln!("standin: launch of {}: attributes are ignored", function.kernel.name());
        }
        launch(&function, Shape { grid, block, shared }, stream, args)
    }

    /// Runs a function of the program when the stream gets there; it may not call the driver.
    fn cuLaunchHostFunc(handle: Handle, run: Option<HostFn>, data: *mut c_void) {
        let run = run.ok_or(Code::INVALID_VALUE)?;
        let stream = stream(handle)?;
        let data = data.expose_provenance();
        let task = Task::new("function of the host", move |_, _| {
            let data = std::ptr::with_exposed_provenance_mut(data);
            // SAFETY: the program gives a function and what it is called with, and keeps both until it was called.
            within_host_function(|| unsafe { run(data) });
            Ok(())
        });
        submit(&stream, task, &[]).map(|_| ())
    }
}
