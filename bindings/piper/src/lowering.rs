//! From a strategy to device programs with kernels.

use std::sync::Arc;

use piper_codegen::adapter::{self, CodeReport};
use piper_codegen::ptx::Chip;
use piper_codegen::{Compiler as CodeCompiler, Isolation, OptLevel, Target};
use piper_interp::kernel::Library;
use piper_ir::diag::Reporter;
use piper_ir::{Module, Op};
use piper_passes::{emit_plan, nodes, road, verify_device};
use piper_plan::Plan;

use crate::interpreted::Interpreted;
use crate::{Compiler, Executable, Failure, Program};

/// How machine code is made, and for which processors.
#[derive(Clone, Debug)]
pub struct Native {
    /// Makes it. [`Isolation::Child`] needs [`piper_codegen::child_main`] at the head of the program.
    pub compiler: CodeCompiler,
    /// A plan carries code for each; the best that a processor has is loaded.
    pub targets: Vec<Target>,
}

/// For this processor alone, in this process, without a cache: an error inside LLVM ends the process.
impl Default for Native {
    fn default() -> Self {
        Self { compiler: CodeCompiler::from(Isolation::InProcess), targets: vec![Target::host()] }
    }
}

/// What computes kernels.
#[derive(Clone, Debug)]
pub enum Kernels {
    /// Machine code for processors; needs the feature `llvm`.
    Native(Native),
    /// PTX for NVIDIA GPUs, to be written or run by piper-run; needs the feature `llvm`.
    Ptx(Chip, CodeCompiler),
    /// The reference interpreter: slow, and needs nothing.
    Interpreted,
}

/// Machine code in a build with LLVM, else the interpreter.
impl Default for Kernels {
    fn default() -> Self {
        match cfg!(feature = "llvm") {
            true => Self::Native(Native::default()),
            false => Self::Interpreted,
        }
    }
}

impl Kernels {
    /// Whether this build can make them: asked before anything is lowered.
    ///
    /// # Errors
    /// A build without LLVM.
    pub fn check(&self) -> Result<(), Failure> {
        let (what, hint) = match self {
            _ if cfg!(feature = "llvm") => return Ok(()),
            Self::Interpreted => return Ok(()),
            Self::Native(_) => ("machine code to run", "use --level kernel, or build with"),
            Self::Ptx(..) => ("PTX", "run a .pplan that another build made, or build with"),
        };
        Err(Failure::with_hint(
            format!("this build has no LLVM, so there is no {what}"),
            format!("{hint} --features llvm (cargo xtask demo installs LLVM on Debian 12)"),
        ))
    }
}

/// What to compile, and how.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// The strategy's name; the only one of the program if none is given.
    pub plan: Option<String>,
    /// What computes kernels.
    pub kernels: Kernels,
    /// Every complete gradient is an output of a step, called `grad.` and its parameter's name.
    pub gradients: bool,
    /// Add gradients as a balanced tree over the grains of the batch, so that strategies agree bit for bit.
    pub fixed_tree: bool,
}

impl Compiler {
    /// All the way from a program at any level to device programs with kernels.
    ///
    /// # Errors
    /// Whatever is wrong with the program, with its source lines; code generation that failed; a build without LLVM asked for
    /// machine code.
    pub fn compile(
        &self,
        mut program: Program,
        options: &CompileOptions,
    ) -> Result<Executable, Failure> {
        options.kernels.check()?;
        let plan = self.device_plan(&mut program, options)?;
        self.with_kernels(program, plan, &options.kernels)
    }

    /// Verified device programs of a program at any level, still without code: what is printed, simulated and written.
    ///
    /// # Errors
    /// Whatever is wrong with the program, with its source lines.
    pub fn device_plan(
        &self,
        program: &mut Program,
        options: &CompileOptions,
    ) -> Result<Plan, Failure> {
        if emit_plan::device_plans(&program.module).is_empty()
            && nodes::graphs(&program.module).is_empty()
        {
            let spec = program.choose_plan(options.plan.as_deref())?;
            self.run(program, road::MODEL)?;
            self.run(program, &road::to_graph(&spec, options.fixed_tree))?;
        }
        self.device_programs(program, true, options.gradients, 0)
    }

    /// Verified device programs of a program that is a graph, or at the device level already.
    ///
    /// # Errors
    /// Whatever is wrong with the program, with its source lines.
    pub fn device_programs(
        &self,
        program: &mut Program,
        kernels: bool,
        gradients: bool,
        tokens_per_step: u64,
    ) -> Result<Plan, Failure> {
        let device_plan = |module: &Module| emit_plan::device_plans(module).first().copied();
        let found: Op = match device_plan(&program.module) {
            Some(found) => found,
            None => {
                self.run(program, &road::to_device(kernels, gradients))?;
                device_plan(&program.module)
                    .ok_or_else(|| Failure::new("lowering gave no device programs"))?
            }
        };
        let ctx = program.module.ctx_arc();
        let emit = emit_plan::Options { sources: Some(&program.sources), tokens_per_step };
        let mut reporter = Reporter::new(&ctx);
        let checks = verify_device::Options::default();
        let module = &program.module;
        let emitted = verify_device::verified(module, found, &mut reporter, emit, checks);
        program.outcome(reporter, emitted.is_ok())?;
        emitted.map(|emitted| emitted.plan).map_err(|_| Failure::new("verify-device failed"))
    }

    /// Gives device programs the kernels of their program, which is used up.
    ///
    /// # Errors
    /// Code generation that failed; a build without LLVM asked for machine code.
    pub fn with_kernels(
        &self,
        program: Program,
        mut plan: Plan,
        kernels: &Kernels,
    ) -> Result<Executable, Failure> {
        kernels.check()?;
        match kernels {
            Kernels::Interpreted => {
                let library = Box::new(Interpreted(Library::new(Arc::new(program.module))));
                Ok(Executable { plan, library, code: None })
            }
            Kernels::Native(native) => {
                let code = native_code(&program.module, &mut plan, native)?;
                Ok(Executable { code: Some(code), ..Executable::of_plan(plan) })
            }
            Kernels::Ptx(chip, compiler) => {
                ptx_code(&program.module, &mut plan, *chip, compiler)?;
                Ok(Executable::of_plan(plan))
            }
        }
    }
}

fn native_code(module: &Module, plan: &mut Plan, native: &Native) -> Result<CodeReport, Failure> {
    let Native { compiler, targets } = native;
    adapter::compile_plan(module, plan, targets, OptLevel::Full, compiler).map_err(failed)
}

fn ptx_code(
    module: &Module,
    plan: &mut Plan,
    chip: Chip,
    compiler: &CodeCompiler,
) -> Result<(), Failure> {
    adapter::compile_ptx_plan(module, plan, chip, compiler.clone()).map_err(failed)?;
    // The code asks for more than the programs were verified for: launches of aligned buffers.
    let faults: Vec<String> = piper_plan::verify(plan).iter().map(|f| f.render(plan)).collect();
    if faults.is_empty() { Ok(()) } else { Err(Failure::new(faults.join("\n"))) }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("code generation failed: {error}"))
}
