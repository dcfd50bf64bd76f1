//! `--emit`: what a module becomes beyond IR. The road there runs first, from wherever the module stands.

use clap::{Args, ValueEnum};
use piper_codegen::ptx::{self, Chip, PtxKernel, Stage};
use piper_codegen::{
    Cache, CodegenError, Compiler, Form as Code, Isolation, Kernel, OptLevel, Target, adapter,
};
use piper_dialects::strategy::PlanSpec;
use piper_ir::pass::{PassRegistry, RunOptions};
use piper_ir::{Module, Op, Reporter, Sources};
use piper_passes::{emit_plan, nodes, road, verify_device};
use piper_plan::{Plan, print};

use crate::stages::{self, Job};
use crate::trace::Trace;

/// What comes out.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What comes out")]
pub(crate) struct EmitFlags {
    /// What to write. Anything but 'pir' runs the passes that lead to verified device programs
    #[arg(long, value_name = "FORM", require_equals = true, default_value = "pir")]
    pub(crate) emit: Form,

    /// What code and launches are for: 'host', a level of its architecture such as 'x86-64-v3', or 'sm_80', 'sm_90a' or 'sm_100a'
    #[arg(long, value_name = "NAME", require_equals = true, default_value = "host")]
    pub(crate) target: String,

    /// Which plan to take, where a file has several
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,

    /// The devices to list in a launch sequence, by number; without this flag, all
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', require_equals = true)]
    pub(crate) device: Vec<usize>,

    /// Make code anew, and do not keep it. It is kept in $PIPER_CACHE_DIR, or else in piper in the user's cache folder
    #[arg(long)]
    pub(crate) no_cache: bool,
}

/// A form of output.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Form {
    /// IR after the passes that were asked for.
    #[default]
    Pir,
    /// The plan: tables, and one program for each class of devices.
    Plan,
    /// For each device the launches, collectives and events in the order of issue, with streams and arguments.
    LaunchSequence,
    /// LLVM IR of all kernels.
    Llvm,
    /// Assembly of all kernels.
    Asm,
    /// An object file of all kernels.
    Object,
    /// PTX of all kernels, after a line for each with its grids, blocks and workspace.
    Ptx,
    /// All kernels in MLIR's own dialects: linalg, arith, math, memref, func.
    Mlir,
}

/// What the road needs to know.
pub(crate) struct Emission<'e> {
    pub(crate) flags: &'e EmitFlags,
    pub(crate) registry: &'e PassRegistry,
    pub(crate) sources: &'e Sources,
    /// The input's name.
    pub(crate) name: &'e str,
    pub(crate) options: &'e RunOptions,
}

impl Emission<'_> {
    /// What is to be written, made of a module that may stand at any level. `None` if something was wrong, which is in
    /// `reporter`.
    pub(crate) fn run(
        &self,
        module: &mut Module,
        reporter: &mut Reporter<'_>,
        trace: &mut Trace,
    ) -> Option<Vec<u8>> {
        let device_plan = self.device_plan(module, reporter, trace)?;
        let emit = emit_plan::Options { sources: Some(self.sources), tokens_per_step: 0 };
        let checks = verify_device::Options::default();
        let mut plan =
            verify_device::verified(module, device_plan, reporter, emit, checks).ok()?.plan;
        let cache = if self.flags.no_cache { Cache::none() } else { Cache::of_user() };
        let compiler = Compiler { isolation: Isolation::Child, cache, threads: 0 };
        let written = match self.flags.emit {
            Form::Pir | Form::Plan => {
                self.plan(module, &mut plan, &compiler).map(String::into_bytes)
            }
            Form::LaunchSequence => self.launch_sequence(module, &plan).map(String::into_bytes),
            Form::Ptx => self.ptx(module, &plan, &compiler),
            Form::Mlir if self.flags.target != "host" => Err(format!(
                "kernels in MLIR are for no target, so not for '{}'; leave --target out",
                self.flags.target
            )),
            Form::Mlir => mlir(module, &plan),
            Form::Llvm | Form::Asm | Form::Object => self.code(module, &plan, &compiler),
        };
        if let Some(remark) = compiler.cache.remark() {
            reporter.remark(module.op_loc(device_plan), remark);
        }
        let fault = |why: String| {
            reporter.error(module.op_loc(device_plan), why);
        };
        written.map_err(fault).ok()
    }

    /// The device programs of the module, after whatever it takes to get there.
    fn device_plan(
        &self,
        module: &mut Module,
        reporter: &mut Reporter<'_>,
        trace: &mut Trace,
    ) -> Option<Op> {
        let mut run = |passes: &str, module: &mut Module, reporter: &mut Reporter<'_>| {
            let job = Job::Pipeline(format!("builtin.module({passes})"));
            stages::run(&job, self.registry, module, reporter, self.options, trace).ok()
        };
        if emit_plan::device_plans(module).is_empty() {
            if nodes::graphs(module).is_empty() {
                let plan = match road::choose_plan(module, self.name, self.flags.plan.as_deref()) {
                    Ok(plan) => plan,
                    Err(why) => {
                        reporter.error(module.op_loc(module.root()), why.message).hint(why.hint);
                        return None;
                    }
                };
                run(road::MODEL, module, reporter)?;
                // What is wrong with a plan that cannot be read was found when the module was verified.
                let spec = PlanSpec::read(module, plan)?;
                run(&road::to_graph(&spec, false), module, reporter)?;
            }
            run(&road::to_device(true, false), module, reporter)?;
        }
        emit_plan::device_plans(module).first().copied()
    }

    /// With code and launches, if the target is a chip.
    fn plan(
        &self,
        module: &Module,
        plan: &mut Plan,
        compiler: &Compiler,
    ) -> Result<String, String> {
        if let Some(chip) = self.chip()? {
            adapter::compile_ptx_plan(module, plan, chip, compiler.clone())
                .map_err(|error| said(&error))?;
        }
        Ok(print::plan(plan))
    }

    /// With the grids of a chip, if the target is one.
    fn launch_sequence(&self, module: &Module, plan: &Plan) -> Result<String, String> {
        let devices = plan.devices();
        if let Some(absent) = self.flags.device.iter().find(|device| **device >= devices) {
            return Err(format!(
                "there is no device {absent}: the mesh has devices 0 to {}",
                devices - 1
            ));
        }
        let wanted = match &self.flags.device[..] {
            [] => (0..devices).collect(),
            wanted => wanted.to_vec(),
        };
        let Some(chip) = self.chip()? else {
            return Ok(print::launch_sequence(plan, wanted, &|_| None));
        };
        let mut plan = plan.clone();
        let launched = adapter::ptx_kernels(module, &mut plan, chip)
            .map_err(|error| said(&error))?
            .iter()
            .map(|(symbol, kernel)| PtxKernel::of(symbol, kernel, chip).map(|k| geometry(&k)))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(print::launch_sequence(&plan, wanted, &|kernel| launched.get(kernel.index()).cloned()))
    }

    /// The chip that the target names; `None` for a CPU.
    ///
    /// # Errors
    /// A target that is neither; the message lists those there are.
    fn chip(&self) -> Result<Option<Chip>, String> {
        match Chip::named(&self.flags.target) {
            Some(chip) => Ok(Some(chip)),
            None => match Target::named(&self.flags.target) {
                Ok(_) => Ok(None),
                Err(why) => {
                    Err(format!("{why}; and for PTX {}", Chip::ALL.map(Chip::name).join(", ")))
                }
            },
        }
    }

    fn code(&self, module: &Module, plan: &Plan, compiler: &Compiler) -> Result<Vec<u8>, String> {
        let form = match self.flags.emit {
            Form::Llvm => Code::LlvmIr,
            Form::Asm => Code::Assembly,
            _ => Code::Object,
        };
        if let Some(chip) = self.chip()? {
            return Err(format!("code for {} is written with --emit=ptx", chip.name()));
        }
        let target = Target::named(&self.flags.target)?;
        compiler
            .emit(&kernels(module, plan)?, &target, OptLevel::Full, form)
            .map(|made| made.bytes)
            .map_err(|error| said(&error))
    }

    fn ptx(&self, module: &Module, plan: &Plan, compiler: &Compiler) -> Result<Vec<u8>, String> {
        let chip = self.chip()?.ok_or_else(|| {
            let names = Chip::ALL.map(Chip::name).join(", ");
            format!("there is no PTX for target '{}'; use --target with {names}", self.flags.target)
        })?;
        let kernels =
            adapter::ptx_kernels(module, &mut plan.clone(), chip).map_err(|error| said(&error))?;
        let (text, launched) =
            ptx::compile(&kernels, chip, compiler.clone()).map_err(|error| said(&error))?;
        let head = launched.iter().map(|k| format!("// {}: {}\n", k.symbol, geometry(k)));
        Ok((head.collect::<String>() + &text).into_bytes())
    }
}

fn mlir(module: &Module, plan: &Plan) -> Result<Vec<u8>, String> {
    let text = piper_mlir::text(&kernels(module, plan)?);
    #[cfg(feature = "mlir")]
    piper_mlir::verify(&text).map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}

/// The kernels of a plan, by the symbols it launches them by.
fn kernels(module: &Module, plan: &Plan) -> Result<Vec<(String, Kernel)>, String> {
    let kernels = adapter::plan_kernels(module, plan).map_err(|error| said(&error))?;
    Ok(plan.kernels.iter().map(|declared| declared.symbol.clone()).zip(kernels).collect())
}

/// `grid 3x1x1 block 256`, one for each entry of a kernel, with the shared memory that a launch adds if it does, then the
/// kernel's workspace if it has one.
fn geometry(kernel: &PtxKernel) -> String {
    let stage = |stage: &Stage| {
        let [x, y, z] = stage.grid;
        let shared = match stage.dynamic_shared_bytes {
            0 => String::new(),
            bytes => format!(" shared {bytes} B"),
        };
        format!("grid {x}x{y}x{z} block {}{shared}", stage.block)
    };
    let mut text = kernel.stages.iter().map(stage).collect::<Vec<_>>().join(", then ");
    if kernel.workspace_bytes > 0 {
        text += &format!(", workspace {} B", kernel.workspace_bytes);
    }
    text
}

/// What is wrong with code generation, and what to do where LLVM is absent.
fn said(error: &CodegenError) -> String {
    match error {
        CodegenError::WithoutLlvm => {
            "this build has no LLVM, so there is no code to write; build piper-opt with --features llvm"
                .to_owned()
        }
        error => error.to_string(),
    }
}
