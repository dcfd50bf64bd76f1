//! `--backend cuda`: the devices of a mesh are NVIDIA GPUs.

use std::time::Duration;

use piper_codegen::Compiler;
use piper_codegen::ptx::Chip;
use piper_cuda::{CudaError, NotFound, Session, World};
use piper_plan::Plan;
use piper_runtime::{MemoryUse, StopFlag};

use crate::Failure;
use crate::args::{Backend, Gemm, Level, RunArgs};
use crate::compile::Compiled;
use crate::data::{Corpus, Feed};
use crate::engine::{Engine, Step, StepFault, Values, parameters_of, source, step_of};
use crate::lower::lowered_to_ptx;

/// What the arguments say of GPUs.
#[derive(Clone, Debug)]
pub struct CudaOptions {
    /// What kernels are compiled for.
    pub chip: Chip,
    /// Which process this is.
    pub world: World,
    /// Replay steps as graphs.
    pub graphs: bool,
    /// Wait for every launch.
    pub check_launches: bool,
    /// Steps are recorded.
    pub trace: bool,
    /// What computes matrix products.
    pub gemm: piper_cuda::Gemm,
    /// A step without progress for so long is given up.
    pub timeout: Duration,
    /// Ends the run between steps.
    pub stop: StopFlag,
}

fn failed(error: &CudaError) -> Failure {
    let otherwise = match error {
        CudaError::Library { library: NotFound::Driver, .. } | CudaError::NoDevice { .. } => {
            "; --backend threads runs on processors"
        }
        _ => "",
    };
    Failure::new(format!("{error}{otherwise}"))
}

/// The chip that `--target` names.
///
/// # Errors
/// A name that is none; the message lists those there are.
pub fn chip_named(name: &str) -> Result<Chip, Failure> {
    Chip::named(name).ok_or_else(|| {
        let names = Chip::ALL.map(Chip::name).join(", ");
        Failure::with_hint(format!("there is no PTX for target '{name}'"), format!("use {names}"))
    })
}

/// Checks arguments against each other.
///
/// # Errors
/// Flags of one back end with the other.
pub fn check(args: &RunArgs) -> Result<(), Failure> {
    let only = |flag: &str, with: &str| {
        Err(Failure::with_hint(format!("{flag} is for --backend cuda"), with.to_owned()))
    };
    let is_for_gpus = args.backend == Backend::Cuda || args.target.is_some();
    let of_processors = [
        ("--vectors", args.vectors.is_some()),
        ("--threads-per-device", args.threads_per_device > 1),
    ];
    if let Some((flag, _)) = of_processors.iter().find(|(_, is_given)| is_for_gpus && *is_given) {
        return Err(Failure::with_hint(
            format!("{flag} is for code of processors, not of GPUs"),
            format!("leave {flag} out"),
        ));
    }
    if args.backend == Backend::Threads {
        if args.graphs {
            return only("--graphs", "add --backend cuda, or leave it out");
        }
        if args.check_launches {
            return only("--check-launches", "add --backend cuda, or leave it out");
        }
        if args.gemm != Gemm::Own {
            return only("--gemm", "add --backend cuda, or leave it out");
        }
        if args.target.is_some() && !args.compile_only {
            return only(
                "--target",
                "add --backend cuda to run on a GPU, or --compile-only -o FILE.pplan to compile for one",
            );
        }
        return Ok(());
    }
    if let Some(level) = args.level.filter(|level| *level != Level::Native) {
        return Err(Failure::with_hint(
            format!("GPUs run machine code, not level {}", level.text()),
            "leave --level out, or use --backend threads",
        ));
    }
    if args.trace.is_some() && args.graphs {
        return Err(Failure::with_hint(
            "--trace times operations one by one, which cannot be seen in a step that is replayed as a graph",
            "leave --graphs out, or use NVIDIA's nsys profile",
        ));
    }
    Ok(())
}

/// What the arguments say; finds the GPU if they name no chip.
///
/// # Errors
/// No driver, no GPU, one that is too old, variables of a launcher that make no sense.
pub fn options(args: &RunArgs, stop: &StopFlag) -> Result<CudaOptions, Failure> {
    let world = World::of_environment().map_err(|e| failed(&e))?;
    let chip = match &args.target {
        Some(name) => chip_named(name)?,
        None => chip_of_machine()?,
    };
    if !args.compile_only {
        // What is missing is told before anything is compiled.
        piper_cuda::devices().map_err(|e| failed(&e))?;
    }
    Ok(CudaOptions {
        chip,
        world,
        graphs: args.graphs,
        check_launches: args.check_launches,
        trace: args.trace.is_some(),
        gemm: match args.gemm {
            Gemm::Own => piper_cuda::Gemm::Own,
            Gemm::Cublaslt => piper_cuda::Gemm::CublasLt,
        },
        timeout: Duration::from_secs_f64(args.devices_timeout),
        stop: stop.clone(),
    })
}

/// The chip of this machine's first GPU.
///
/// # Errors
/// No driver, no GPU, one that is too old.
pub fn chip_of_machine() -> Result<Chip, Failure> {
    let devices = piper_cuda::devices().map_err(|e| failed(&e))?;
    let Some(first) = devices.first() else {
        return Err(Failure::new("there is no CUDA device"));
    };
    first.chip().and_then(Chip::named).ok_or_else(|| {
        let (major, minor) = first.capability;
        Failure::with_hint(
            format!(
                "device 0 ({}, compute capability {major}.{minor}) is older than any that Piper makes code for",
                first.name
            ),
            "an A100 (8.0) or later is needed",
        )
    })
}

/// Compiles a graph for GPUs and puts it there.
///
/// # Errors
/// Whatever lowering or loading finds.
pub fn open(
    compiled: &mut Compiled,
    options: &CudaOptions,
    gradients: bool,
    compiler: &Compiler,
) -> Result<CudaEngine, Failure> {
    let plan = lowered_to_ptx(compiled, options.chip, gradients, compiler)?;
    CudaEngine::load(plan, compiled.feeds.clone(), options)
}

/// Runs device programs on GPUs.
pub struct CudaEngine {
    session: Session,
    feeds: Vec<Feed>,
}

impl CudaEngine {
    /// Puts a plan on GPUs.
    ///
    /// # Errors
    /// Whatever stands in the way.
    pub fn load(plan: Plan, feeds: Vec<Feed>, options: &CudaOptions) -> Result<Self, Failure> {
        let is_first = options.world.rank == 0;
        let options = piper_cuda::Options {
            timeout: options.timeout,
            graphs: options.graphs,
            check_each: options.check_launches,
            gemm: options.gemm,
            trace: options.trace,
            stop: options.stop.clone(),
            world: options.world.clone(),
            ..piper_cuda::Options::default()
        };
        let session = Session::load(plan, options).map_err(|e| failed(&e))?;
        // Of several processes one tells.
        for remark in session.remarks().iter().filter(|_| is_first) {
            eprintln!("remark: {remark}");
        }
        Ok(Self { session, feeds })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

impl Engine for CudaEngine {
    fn step(&mut self, corpus: &Corpus) -> Result<Step, StepFault> {
        step_of(self.session.step(&source(&self.feeds, corpus)))
    }

    fn parameters(&self) -> Result<Values, Failure> {
        parameters_of(self.session.states(), |name| self.session.state(name))
    }

    fn memory(&self) -> Vec<(String, MemoryUse)> {
        let mesh = self.session.plan().mesh();
        // What cannot be read is not shown; the steps have been taken.
        let uses = self.session.memory().unwrap_or_default();
        uses.into_iter().map(|(device, memory)| (mesh.render(device), memory)).collect()
    }

    fn trace(&self) -> Result<Option<String>, Failure> {
        let failed = |error: CudaError| Failure::new(format!("the trace is lost: {error}"));
        self.session.trace_json().map(Some).map_err(failed)
    }
}
