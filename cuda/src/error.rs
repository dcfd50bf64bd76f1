//! What can stand between a plan and its GPUs, each in one line that says what to do.

use piper_runtime::LoadError;

/// A library that is not there, or is not what is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// The CUDA driver's.
    Driver,
    /// NCCL.
    Nccl,
    /// cuBLASLt.
    CublasLt,
}

/// Why a plan cannot be run on GPUs.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// A library cannot be loaded.
    #[error("{}", not_found(.library, .why))]
    Library {
        /// Which.
        library: NotFound,
        /// What the system's loader said.
        why: String,
    },
    /// A library lacks a function.
    #[error("{library} {version}is too old: it lacks {function}; {remedy}")]
    Function {
        /// The library.
        library: &'static str,
        /// Its version and a space, if it tells one.
        version: String,
        /// The function.
        function: &'static str,
        /// What to install.
        remedy: &'static str,
    },
    /// A library is of an earlier version than is needed.
    #[error("{library} {version} is too old: {remedy}")]
    OldLibrary {
        /// The library.
        library: &'static str,
        /// Its version.
        version: String,
        /// What to install.
        remedy: &'static str,
    },
    /// The driver cannot compile the plan's PTX.
    #[error("the NVIDIA driver is for CUDA {have}, but PTX {ptx} needs {need}: update the driver")]
    OldDriver {
        /// The driver's version.
        have: String,
        /// The version of the PTX.
        ptx: String,
        /// The first version that knows it.
        need: String,
    },
    /// There is no GPU.
    #[error("there is no CUDA device: {why}")]
    NoDevice {
        /// What the driver said.
        why: String,
    },
    /// There are fewer GPUs than are needed here.
    #[error("{message}")]
    TooFewDevices {
        /// How many there are, how many are needed, and how more can be had.
        message: String,
    },
    /// The GPU is another than the plan is for.
    #[error(
        "device {ordinal} ({name}, compute capability {major}.{minor}) cannot run code for {chip}; compile the plan with --target {suggestion}"
    )]
    Chip {
        /// Its number.
        ordinal: usize,
        /// What it is called.
        name: String,
        /// Compute capability.
        major: i32,
        /// Compute capability.
        minor: i32,
        /// The chip that the plan's code is for.
        chip: String,
        /// A chip whose code it runs.
        suggestion: String,
    },
    /// The GPU has another number of multiprocessors than the plan divides.
    #[error(
        "the plan divides {planned} multiprocessors, but device {ordinal} ({name}) has {found}: give the partition total = {found}"
    )]
    Multiprocessors {
        /// Its number.
        ordinal: usize,
        /// What it is called.
        name: String,
        /// How many the plan divides.
        planned: u32,
        /// How many there are.
        found: u32,
    },
    /// The driver cannot divide a device.
    #[error("partition {name}: {why}")]
    Partition {
        /// Which.
        name: String,
        /// Why not.
        why: String,
    },
    /// The plan does not fit.
    #[error(
        "@{program} needs {need} bytes on device {ordinal} ({}), of which {free} of {total} are free",
        .what
    )]
    Memory {
        /// The program.
        program: String,
        /// Its GPU.
        ordinal: usize,
        /// Bytes asked for.
        need: u64,
        /// Arena, workspace.
        what: &'static str,
        /// Bytes that are free.
        free: u64,
        /// Bytes that there are.
        total: u64,
    },
    /// The plan's code is none for a GPU.
    #[error(
        "the plan carries {code}, not PTX: compile it with --target and one of sm_80, sm_90a, sm_100a"
    )]
    Code {
        /// What it carries.
        code: &'static str,
    },
    /// The driver cannot compile the PTX.
    #[error("the driver cannot load the plan's PTX: {why}")]
    Ptx {
        /// The error, and what the driver's compiler said.
        why: String,
    },
    /// The PTX lacks an entry.
    #[error("the plan's PTX has no entry {entry} of kernel {symbol}")]
    Entry {
        /// The entry.
        entry: String,
        /// The kernel.
        symbol: String,
    },
    /// The plan is not safe to run.
    #[error(transparent)]
    Plan(#[from] LoadError),
    /// A trace of what cannot be seen.
    #[error("a step that is replayed as a graph cannot be traced: its operations are out of sight")]
    TraceOfGraph,
    /// Communicators were not made.
    #[error("communicators: {0}")]
    Communicators(String),
    /// Processes did not find each other, or disagree.
    #[error("rendezvous: {0}")]
    Rendezvous(String),
    /// Any other call of a library that failed.
    #[error("{doing}: {why}")]
    Call {
        /// What was being done.
        doing: String,
        /// The library's name for the error, and its text.
        why: String,
    },
}

fn not_found(library: &NotFound, why: &str) -> String {
    match library {
        NotFound::Driver => format!(
            "there is no NVIDIA driver on this machine: libcuda.so.1 cannot be loaded ({why})"
        ),
        NotFound::Nccl => format!(
            "the plan communicates, and NCCL cannot be loaded ({why}): install libnccl.so.2 (package libnccl2, or nvidia-nccl-cu12 of PyPI with its folder in LD_LIBRARY_PATH), or name it in PIPER_NCCL_LIBRARY"
        ),
        NotFound::CublasLt => format!(
            "--gemm cublaslt: cuBLASLt cannot be loaded ({why}): install libcublasLt.so.12 or .13 (package libcublas, or nvidia-cublas-cu12 of PyPI with its folder in LD_LIBRARY_PATH), name it in PIPER_CUBLASLT_LIBRARY, or leave --gemm out"
        ),
    }
}
