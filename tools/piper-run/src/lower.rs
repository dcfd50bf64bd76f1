//! From a graph to device programs with kernels, native or interpreted.

use std::sync::Arc;

use piper_codegen::adapter::{self, CodeReport};
use piper_codegen::ptx::Chip;
use piper_codegen::{Compiler, Target};
use piper_interp::kernel::{Evaluator, Library, Mode};
use piper_interp::tensor::{Bf16, Data};
use piper_ir::{Module, Reporter};
use piper_passes::{emit_plan, road, verify_device};
use piper_plan::{KernelDecl, Plan};
use piper_runtime::{Arg, Kernel, KernelLibrary, Slice, SliceMut};

use crate::Failure;
use crate::args::Level;
use crate::compile::{Compiled, fault, note_feeds, run_passes};

/// The fastest level of this build.
pub fn best_level() -> Level {
    if cfg!(feature = "llvm") { Level::Native } else { Level::Kernel }
}

/// How machine code is made, and for which processors.
#[derive(Clone, Debug)]
pub struct Native {
    /// Makes it.
    pub compiler: Compiler,
    /// A plan carries code for each; the best that a processor has is loaded.
    pub targets: Vec<Target>,
}

/// For this processor alone, without a cache.
impl Default for Native {
    fn default() -> Self {
        Self { compiler: Compiler::default(), targets: vec![Target::host()] }
    }
}

/// What a graph becomes.
pub struct Lowered {
    /// The device programs, with machine code if the level has any.
    pub plan: Plan,
    /// The kernels they launch.
    pub library: Box<dyn KernelLibrary>,
    /// Of the machine code.
    pub code: Option<CodeReport>,
}

/// [`lowered`]: the plan of a graph and the library of its kernels.
///
/// # Errors
/// As there.
pub fn lower(
    compiled: &mut Compiled,
    level: Level,
    gradients: bool,
    compiler: impl Into<Compiler>,
) -> Result<(Plan, Box<dyn KernelLibrary>), Failure> {
    let how = Native { compiler: compiler.into(), ..Native::default() };
    let Lowered { plan, library, .. } = lowered(compiled, level, gradients, &how)?;
    Ok((plan, library))
}

/// The plan of a graph and the library of its kernels. The graph's module is used up. Code generation in a child needs
/// [`piper_codegen::child_main`] at the head of the program.
///
/// # Errors
/// Whatever the passes find; a level that this build does not have.
pub fn lowered(
    compiled: &mut Compiled,
    level: Level,
    gradients: bool,
    how: &Native,
) -> Result<Lowered, Failure> {
    if level == Level::Native && !cfg!(feature = "llvm") {
        return Err(Failure::with_hint(
            "this build has no LLVM, so there is no machine code to run",
            "use --level kernel, or build with --features llvm (cargo xtask demo installs LLVM on Debian 12)",
        ));
    }
    let plan = device_programs(compiled, level, gradients)?;
    let ctx = compiled.module.ctx_arc();
    if level == Level::Native {
        return native(compiled, plan, how);
    }
    let module = std::mem::replace(&mut compiled.module, Module::new(ctx));
    let library = Box::new(Interpreted(Library::new(Arc::new(module))));
    Ok(Lowered { plan, library, code: None })
}

/// The plan of a graph with PTX for a chip.
///
/// # Errors
/// Whatever the passes find; kernels that a GPU cannot run; a build without LLVM.
pub fn lowered_to_ptx(
    compiled: &mut Compiled,
    chip: Chip,
    gradients: bool,
    compiler: &Compiler,
) -> Result<Plan, Failure> {
    if !cfg!(feature = "llvm") {
        return Err(Failure::with_hint(
            "this build has no LLVM, so there is no PTX",
            "build with --features llvm (cargo xtask demo installs LLVM on Debian 12), or run a .pplan that another build made",
        ));
    }
    let mut plan = device_programs(compiled, Level::Native, gradients)?;
    adapter::compile_ptx_plan(&compiled.module, &mut plan, chip, compiler.clone())
        .map_err(|error| Failure::new(format!("code generation failed: {error}")))?;
    checked(plan)
}

/// A plan whose code asks for more than its programs were verified for: launches of aligned buffers.
fn checked(plan: Plan) -> Result<Plan, Failure> {
    let faults = piper_plan::verify(&plan);
    if faults.is_empty() {
        return Ok(plan);
    }
    let lines: Vec<String> = faults.iter().map(|f| f.render(&plan)).collect();
    Err(Failure::new(lines.join("\n")))
}

/// Lowers the graph to verified device programs.
fn device_programs(
    compiled: &mut Compiled,
    level: Level,
    gradients: bool,
) -> Result<Plan, Failure> {
    let registry = piper_passes::registry::all();
    let pipeline = road::to_device(level != Level::Device, gradients);
    run_passes(&registry, &mut compiled.module, &compiled.sources, &pipeline)?;
    let module = &compiled.module;
    let ctx = module.ctx_arc();
    let Some(&device_plan) = emit_plan::device_plans(module).first() else {
        return Err(Failure::new("lowering gave no device programs"));
    };
    let emit = emit_plan::Options {
        sources: Some(&compiled.sources),
        tokens_per_step: compiled.tokens_per_step(),
    };
    let mut reporter = Reporter::new(&ctx);
    let emitted = verify_device::verified(
        module,
        device_plan,
        &mut reporter,
        emit,
        verify_device::Options::default(),
    );
    fault(&ctx, &compiled.sources, reporter, emitted.is_ok())?;
    let mut plan =
        emitted.map_err(|_| Failure::new("verify-device failed and did not say why"))?.plan;
    plan.name.clone_from(&compiled.name);
    note_feeds(&mut plan, &compiled.feeds);
    Ok(plan)
}

/// Adds machine code.
fn native(compiled: &Compiled, mut plan: Plan, how: &Native) -> Result<Lowered, Failure> {
    use piper_codegen::OptLevel;
    let failed =
        |error: &dyn std::fmt::Display| Failure::new(format!("code generation failed: {error}"));
    let Native { compiler, targets } = how;
    let code =
        adapter::compile_plan(&compiled.module, &mut plan, targets, OptLevel::Full, compiler)
            .map_err(|e| failed(&e))?;
    let library = piper_runtime::NativeLibrary::of_plan(&plan).map_err(|e| failed(&e))?;
    Ok(Lowered { plan, library: Box::new(library), code: Some(code) })
}

/// Kernels computed by the reference interpreter.
struct Interpreted(Library);

impl KernelLibrary for Interpreted {
    fn kernel(&self, decl: &KernelDecl) -> Result<Kernel, String> {
        let evaluator = self
            .0
            .get(&decl.symbol)
            .ok_or_else(|| format!("nothing in the module is called @{}", decl.symbol))?;
        Ok(Kernel::Closure(Arc::new(move |args: &mut [Arg<'_>], scalars: &[f64]| {
            launch(&evaluator, args, scalars)
        })))
    }
}

/// Runs an evaluator on buffers.
fn launch(evaluator: &Evaluator, args: &mut [Arg<'_>], scalars: &[f64]) -> Result<(), String> {
    let modes = evaluator.parameters().iter().map(|p| p.mode);
    let inputs = args.iter().zip(modes.clone()).filter(|(_, mode)| *mode != Mode::Write);
    let inputs: Vec<Data> = inputs.map(|(arg, _)| contents(arg)).collect::<Result<_, _>>()?;
    let outputs = evaluator.run(inputs, scalars)?;
    let written = args.iter_mut().zip(modes).filter(|(_, mode)| *mode != Mode::Read);
    for ((arg, _), data) in written.zip(&outputs) {
        store(arg, data)?;
    }
    Ok(())
}

fn contents(arg: &Arg<'_>) -> Result<Data, String> {
    Ok(match arg {
        Arg::Read(Slice::F32(v)) => Data::F32(v.to_vec()),
        Arg::Read(Slice::F64(v)) => Data::F64(v.to_vec()),
        Arg::Read(Slice::I32(v)) => Data::I32(v.to_vec()),
        Arg::Write(SliceMut::F32(v)) => Data::F32(v.to_vec()),
        Arg::Write(SliceMut::F64(v)) => Data::F64(v.to_vec()),
        Arg::Write(SliceMut::I32(v)) => Data::I32(v.to_vec()),
        Arg::Read(Slice::Bf16(v)) => Data::Bf16(v.iter().map(|bits| Bf16(*bits)).collect()),
        Arg::Write(SliceMut::Bf16(v)) => Data::Bf16(v.iter().map(|bits| Bf16(*bits)).collect()),
    })
}

fn store(arg: &mut Arg<'_>, data: &Data) -> Result<(), String> {
    match (arg, data) {
        (Arg::Write(SliceMut::F32(to)), Data::F32(from)) if to.len() == from.len() => {
            to.copy_from_slice(from)
        }
        (Arg::Write(SliceMut::F64(to)), Data::F64(from)) if to.len() == from.len() => {
            to.copy_from_slice(from)
        }
        (Arg::Write(SliceMut::I32(to)), Data::I32(from)) if to.len() == from.len() => {
            to.copy_from_slice(from)
        }
        (Arg::Write(SliceMut::Bf16(to)), Data::Bf16(from)) if to.len() == from.len() => {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from.0);
        }
        _ => return Err("the interpreter's result does not fit its buffer".to_owned()),
    }
    Ok(())
}
