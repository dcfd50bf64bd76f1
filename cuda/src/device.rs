//! One GPU with everything of the plan on it: contexts, streams, arena and workspaces, the kernels' functions.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};

use cudarc::driver::sys;
use piper_plan::{Code, Kind, Plan, Program, Ptx};
use rustc_hash::FxHashMap;

use crate::driver::{Driver, NOT_FOUND};
use crate::error::CudaError;
use crate::memory::{DeviceMemory, POISON};
use crate::partition::{self, Green};
use crate::target::DeviceInfo;

/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`
const NO_TIMING: u32 = 2;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
const MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_JIT_ERROR_LOG_BUFFER` and its size.
const ERROR_LOG: [c_int; 2] = [5, 6];
/// Bytes of what the driver's compiler says that are kept.
const LOG_BYTES: usize = 8 << 10;
/// What blocks of device memory are multiples of: the driver aligns to as much, and kernels ask for less.
const ALIGN: u64 = 256;

/// A GPU with a plan's things. Used by the thread that opened it.
pub(crate) struct Device {
    pub(crate) driver: &'static Driver,
    /// Device of the mesh.
    pub(crate) number: usize,
    ordinal: usize,
    // In the order in which they have to go.
    modules: Vec<sys::CUmodule>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) arena: DeviceMemory,
    /// By stream, for those that launch kernels that need it: kernels of two streams may run at the same time.
    workspaces: Vec<DeviceMemory>,
    greens: Vec<Option<Green>>,
    primary: Primary,
}

/// A stream and the context that it was made in.
pub(crate) struct Stream {
    pub(crate) raw: sys::CUstream,
    pub(crate) context: sys::CUcontext,
    driver: &'static Driver,
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made by `Device::open`, destroyed once. A failure leaks it until the process ends.
        unsafe { (self.driver.api.cuStreamDestroy_v2)(self.raw) };
    }
}

/// The primary context, retained.
struct Primary {
    driver: &'static Driver,
    device: sys::CUdevice,
    context: sys::CUcontext,
}

impl Primary {
    fn retain(driver: &'static Driver, info: &DeviceInfo) -> Result<Self, CudaError> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the context is written to a pointer that lives here.
        let code = unsafe { (driver.api.cuDevicePrimaryCtxRetain)(&raw mut context, info.handle) };
        driver.check(format!("opening device {} ({})", info.ordinal, info.name), code)?;
        Ok(Self { driver, device: info.handle, context })
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: retained by `retain`, released once.
        unsafe { (self.driver.api.cuDevicePrimaryCtxRelease_v2)(self.device) };
    }
}

/// Functions of a kernel's stages.
pub(crate) type Functions = Vec<sys::CUfunction>;

impl Device {
    /// Opens a GPU for a device of the mesh; its context is current for this thread afterwards.
    ///
    /// # Errors
    /// Too little memory, partitions that the driver cannot make, any call that fails.
    pub(crate) fn open(
        driver: &'static Driver,
        info: &DeviceInfo,
        plan: &Plan,
        number: usize,
    ) -> Result<Self, CudaError> {
        let primary = Primary::retain(driver, info)?;
        let (context, ordinal) = (primary.context, info.ordinal);
        enter(driver, context)?;
        let program = &plan.programs[plan.device_program[number].index()];
        let greens = partition::split(driver, info, &plan.partitions)?;
        let mut streams = Vec::new();
        for name in &program.streams {
            streams.push(match plan.partition_of(name).and_then(|at| greens[at].as_ref()) {
                Some(green) => Stream { raw: green.stream()?, context: green.context, driver },
                None => stream(driver, context)?,
            });
        }
        let memory =
            |bytes: u64, what: &'static str| memory(driver, ordinal, &program.name, bytes, what);
        let arena = memory(program.arena_bytes, "arena")?;
        arena.fill(POISON)?;
        let workspaces = workspace_bytes(plan, program).into_iter();
        let workspaces = workspaces.map(|bytes| memory(bytes, "workspace of a stream"));
        let workspaces = workspaces.collect::<Result<_, _>>()?;
        Ok(Self {
            driver,
            number,
            ordinal,
            modules: Vec::new(),
            streams,
            arena,
            workspaces,
            greens,
            primary,
        })
    }

    /// Makes a context current: functions are loaded and events made in that of the stream they are used with.
    pub(crate) fn enter(&self, context: sys::CUcontext) -> Result<(), CudaError> {
        enter(self.driver, context)
    }

    /// Makes the primary context current.
    pub(crate) fn enter_primary(&self) -> Result<(), CudaError> {
        self.enter(self.primary.context)
    }

    /// Whether a stream is one of the primary context.
    pub(crate) fn is_primary(&self, stream: usize) -> bool {
        self.streams[stream].context == self.primary.context
    }

    /// More memory for a program.
    pub(crate) fn memory(
        &self,
        program: &str,
        bytes: u64,
        what: &'static str,
    ) -> Result<DeviceMemory, CudaError> {
        memory(self.driver, self.ordinal, program, bytes, what)
    }

    /// The workspace of a stream's kernels.
    pub(crate) fn workspace(&self, stream: usize) -> u64 {
        self.workspaces[stream].at(0)
    }

    /// Multiprocessors set aside, if any are.
    pub(crate) fn is_divided(&self) -> bool {
        self.greens.iter().any(Option::is_some)
    }

    /// A new event, to be recorded on a stream.
    pub(crate) fn event(&self, stream: &Stream) -> Result<Event, CudaError> {
        self.new_event(stream, NO_TIMING)
    }

    /// A new event that notes its time.
    pub(crate) fn timed_event(&self, stream: &Stream) -> Result<Event, CudaError> {
        self.new_event(stream, 0)
    }

    fn new_event(&self, stream: &Stream, flags: u32) -> Result<Event, CudaError> {
        self.enter(stream.context)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the event is written to a pointer that lives here.
        let code = unsafe { (self.driver.api.cuEventCreate)(&raw mut raw, flags) };
        self.driver.check("making an event", code)?;
        Ok(Event { driver: self.driver, raw })
    }

    /// The functions of all kernels that the program launches, by context and kernel; contexts are those of the launches'
    /// streams.
    pub(crate) fn functions(
        &mut self,
        plan: &Plan,
    ) -> Result<FxHashMap<(usize, usize), Functions>, CudaError> {
        let Code::Ptx(ptx) = &plan.code else {
            return Err(CudaError::Code { code: plan.code.name() });
        };
        let program = &plan.programs[plan.device_program[self.number].index()];
        let mut modules: FxHashMap<usize, sys::CUmodule> = FxHashMap::default();
        let mut functions: FxHashMap<(usize, usize), Functions> = FxHashMap::default();
        for instr in &program.instrs {
            let Kind::Launch { kernel, .. } = &instr.kind else { continue };
            let context = self.streams[usize::from(instr.stream)].context;
            let key = (context as usize, kernel.index());
            if functions.contains_key(&key) {
                continue;
            }
            let module = match modules.get(&key.0) {
                Some(module) => *module,
                None => {
                    self.enter(context)?;
                    let module = load(self.driver, ptx)?;
                    self.modules.push(module);
                    modules.insert(key.0, module);
                    module
                }
            };
            let stages = ptx.kernels[kernel.index()].stages.iter();
            let symbol = &plan.kernels[kernel.index()].symbol;
            let found =
                stages.map(|stage| self.function(module, &stage.entry, symbol, stage.shared_bytes));
            functions.insert(key, found.collect::<Result<_, _>>()?);
        }
        self.enter_primary()?;
        Ok(functions)
    }

    fn function(
        &self,
        module: sys::CUmodule,
        entry: &str,
        symbol: &str,
        shared_bytes: u32,
    ) -> Result<sys::CUfunction, CudaError> {
        let missing = || CudaError::Entry { entry: entry.to_owned(), symbol: symbol.to_owned() };
        let name = CString::new(entry).map_err(|_| missing())?;
        let mut function = std::ptr::null_mut();
        // SAFETY: a module of ours and a string that ends in zero.
        let code = unsafe {
            (self.driver.api.cuModuleGetFunction)(&raw mut function, module, name.as_ptr())
        };
        match code {
            0 => {}
            NOT_FOUND => return Err(missing()),
            code => {
                let why =
                    format!("entry {entry} of kernel {symbol}: {}", self.driver.describe(code));
                return Err(CudaError::Ptx { why });
            }
        }
        if shared_bytes > 0 {
            // SAFETY: a function of ours.
            let code = unsafe {
                (self.driver.api.cuFuncSetAttribute)(
                    function,
                    MAX_DYNAMIC_SHARED,
                    shared_bytes as c_int,
                )
            };
            self.driver
                .check(format!("giving {entry} {shared_bytes} bytes of shared memory"), code)?;
        }
        Ok(function)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // What fails here is leaked until the process ends.
        let _ = self.enter_primary();
        for module in self.modules.drain(..) {
            // SAFETY: loaded by `functions`, unloaded once; all work has ended.
            unsafe { (self.driver.api.cuModuleUnload)(module) };
        }
    }
}

/// An event.
pub(crate) struct Event {
    driver: &'static Driver,
    pub(crate) raw: sys::CUevent,
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `Device::event`, destroyed once. A failure leaks it until the process ends.
        unsafe { (self.driver.api.cuEventDestroy_v2)(self.raw) };
    }
}

/// Memory of the current context.
fn memory(
    driver: &'static Driver,
    ordinal: usize,
    program: &str,
    bytes: u64,
    what: &'static str,
) -> Result<DeviceMemory, CudaError> {
    let bytes = if bytes == 0 { 0 } else { bytes.next_multiple_of(ALIGN) };
    DeviceMemory::new(driver, bytes)?.map_err(|had| CudaError::Memory {
        program: program.to_owned(),
        ordinal,
        need: bytes,
        what,
        free: had.free,
        total: had.total,
    })
}

fn enter(driver: &Driver, context: sys::CUcontext) -> Result<(), CudaError> {
    // SAFETY: a context of ours.
    driver.check("entering a context", unsafe { (driver.api.cuCtxSetCurrent)(context) })
}

/// A stream in the current context.
fn stream(driver: &'static Driver, context: sys::CUcontext) -> Result<Stream, CudaError> {
    let mut raw = std::ptr::null_mut();
    // SAFETY: the stream is written to a pointer that lives here.
    let code = unsafe { (driver.api.cuStreamCreateWithPriority)(&raw mut raw, NON_BLOCKING, 0) };
    driver.check("making a stream", code)?;
    Ok(Stream { raw, context, driver })
}

/// Bytes of workspace for each stream of a program.
pub(crate) fn workspace_bytes(plan: &Plan, program: &Program) -> Vec<u64> {
    let mut bytes = vec![0; program.streams.len()];
    for instr in &program.instrs {
        if let Kind::Launch { kernel, .. } = &instr.kind {
            let most = &mut bytes[usize::from(instr.stream)];
            *most = plan.kernels[kernel.index()].workspace_bytes.max(*most);
        }
    }
    bytes
}

/// Compiles PTX in the current context.
fn load(driver: &Driver, ptx: &Ptx) -> Result<sys::CUmodule, CudaError> {
    let text = CString::new(&ptx.text[..])
        .map_err(|_| CudaError::Ptx { why: "it contains a zero byte".to_owned() })?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = ERROR_LOG;
    let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the text ends in zero; the options are a buffer that lives here and its size, as many as are told.
    let code = unsafe {
        (driver.api.cuModuleLoadDataEx)(
            &raw mut module,
            text.as_ptr().cast::<c_char>().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if code == 0 {
        return Ok(module);
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let said = String::from_utf8_lossy(&log[..end]).trim().to_owned();
    let why = driver.describe(code);
    Err(CudaError::Ptx { why: if said.is_empty() { why } else { format!("{why}\n{said}") } })
}
