//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use piper_codegen::Target;

/// Trains a model under a strategy, on virtual devices in this process.
///
/// The input is .pir text (a model, a mesh, a strategy.plan) or a compiled .pplan. The bytes of the data file are the tokens;
/// every strategy sees the same global batches. `piper-run demo` shows all of it at work.
#[derive(Clone, Debug, Parser)]
#[command(name = "piper-run", version)]
pub struct RunArgs {
    /// .pir or .pplan file
    pub input: PathBuf,
    /// Text to train on; its bytes are the tokens
    #[arg(long, value_name = "FILE", required_unless_present = "compile_only")]
    pub data: Option<PathBuf>,
    /// Steps to train
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub steps: u64,
    /// Which strategy.plan of the file
    #[arg(long, value_name = "NAME")]
    pub plan: Option<String>,
    /// Load a plugin: a library with dialects and schedules. May be repeated
    #[arg(long, value_name = "FILE")]
    pub load_plugin: Vec<String>,
    /// Register the dialects that a file of 'irdl' operations defines. May be repeated; later files may name what earlier
    /// ones define
    #[arg(long, alias = "irdl-file", value_name = "FILE")]
    pub load_dialect: Vec<String>,
    /// What runs: machine code, or the interpreter of a level. The default is the fastest that this build has
    #[arg(long, value_enum)]
    pub level: Option<Level>,
    /// What devices are: threads of this process, or NVIDIA GPUs
    #[arg(long, value_enum, default_value_t)]
    pub backend: Backend,
    /// The chip that kernels are compiled for: sm_80, sm_90a or sm_100a; with --backend cuda or --compile-only. The default of
    /// --backend cuda is that of the GPU
    #[arg(long, value_name = "CHIP")]
    pub target: Option<String>,
    /// From the second step on, replay steps as CUDA graphs; with --backend cuda
    #[arg(long)]
    pub graphs: bool,
    /// Wait for every launch, so that a fault is found where it happens; with --backend cuda
    #[arg(long, conflicts_with = "graphs")]
    pub check_launches: bool,
    /// What computes matrix products: the plan's own kernels, or cuBLASLt where it has the form; with --backend cuda
    #[arg(long, value_enum, default_value_t)]
    pub gemm: Gemm,
    /// Write a trace of the steps for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Also run the same model on one device and report the largest differences
    #[arg(long)]
    pub compare_single: bool,
    /// Add gradients in one fixed tree, so that strategies agree bit for bit
    #[arg(long)]
    pub fixed_tree: bool,
    /// Compile, write the plan if -o says where, and stop
    #[arg(long)]
    pub compile_only: bool,
    /// Where to write the compiled plan; with --compile-only
    #[arg(short = 'o', long = "output", value_name = "FILE", requires = "compile_only")]
    pub output: Option<PathBuf>,
    /// Chooses the batches
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,
    /// A step without progress for so long is given up, with where each device stands
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive)]
    pub devices_timeout: f64,
    /// Vector instructions that machine code is for: host, all, or a list of portable, avx2, avx512 (neon on AArch64). A plan carries
    /// code for each, and takes the best that its processor has [default: host]
    #[arg(long, value_name = "LEVELS", value_parser = vectors)]
    pub vectors: Option<Vectors>,
    /// Threads of each virtual device: large kernels run on all of them, with the same results to the bit
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    pub threads_per_device: usize,
    /// Make machine code anew, and do not keep it. It is kept in $PIPER_CACHE_DIR, or else in piper in the user's cache folder
    #[arg(long)]
    pub no_cache: bool,
    /// Print the loss every so many steps (default: about 20 lines)
    #[arg(long, value_name = "K")]
    pub log_every: Option<u64>,
}

/// `piper-run demo`
#[derive(Clone, Debug, Parser)]
#[command(
    name = "piper-run demo",
    about = "Trains a small GPT by DualPipe on 4 pipeline ranks x 2 replicas with ZeRO-1, and compares it with one device"
)]
pub struct DemoArgs {
    /// Text to train on; this repository's docs and sources if none is given
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Steps to train
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// What runs: machine code, or the interpreter of a level
    #[arg(long, value_enum)]
    pub level: Option<Level>,
    /// Where the trace goes
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Make machine code anew, and do not keep it
    #[arg(long)]
    pub no_cache: bool,
}

/// `piper-run gpu-check`
#[derive(Clone, Debug, Parser)]
#[command(
    name = "piper-run gpu-check",
    about = "Checks and measures the first NVIDIA GPU of this machine: training beside a processor, graphs, kernels beside cuBLASLt, launches, partitions"
)]
pub struct GpuCheckArgs {
    /// Sizes so small that a stand-in for the driver ends soon; speeds then mean nothing
    #[arg(long)]
    pub small: bool,
}

/// What takes the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Device programs with machine code
    Native,
    /// Device programs, kernels interpreted
    Kernel,
    /// Device programs, chunks interpreted
    Device,
    /// The graph, interpreted
    Dag,
}

impl Level {
    /// As it is written on the command line.
    pub fn text(self) -> &'static str {
        match self {
            Level::Native => "native",
            Level::Kernel => "kernel",
            Level::Device => "device",
            Level::Dag => "dag",
        }
    }
}

/// What runs the devices of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Every device is a thread of this process
    #[default]
    Threads,
    /// Every device is an NVIDIA GPU: of this process, or of one of those that torchrun, mpirun or srun starts
    Cuda,
}

/// What computes matrix products on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Gemm {
    /// The plan's own kernels
    #[default]
    Own,
    /// cuBLASLt for plain products, with a bias or added to what is there; the plan's own kernels for the rest
    Cublaslt,
}

impl RunArgs {
    /// The processors that machine code is made for.
    pub fn targets(&self) -> Vec<Target> {
        self.vectors.as_ref().map_or_else(|| vec![Target::host()], |vectors| vectors.0.clone())
    }
}

/// What machine code is for.
#[derive(Clone, Debug)]
pub struct Vectors(pub Vec<Target>);

fn vectors(text: &str) -> Result<Vectors, String> {
    Target::of_vectors(text).map(Vectors)
}

fn threads(text: &str) -> Result<usize, String> {
    let most = piper_runtime::MOST_THREADS;
    let threads = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if (1..=most).contains(&threads) {
        Ok(threads)
    } else {
        Err(format!("a device has 1 to {most} threads"))
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    // The upper bound keeps it a duration; it is three years.
    if seconds > 0.0 && seconds < 1e8 {
        Ok(seconds)
    } else {
        Err("more than 0 and less than 1e8 seconds".to_owned())
    }
}
