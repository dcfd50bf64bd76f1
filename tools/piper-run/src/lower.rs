//! From a graph to device programs with kernels, native or interpreted.

use piper::{Executable, Kernels, Native};
use piper_codegen::Compiler;
use piper_codegen::ptx::Chip;
use piper_plan::Plan;
use piper_runtime::KernelLibrary;

use crate::Failure;
use crate::args::Level;
use crate::compile::{self, Compiled, note_feeds};

/// The fastest level of this build.
pub fn best_level() -> Level {
    if cfg!(feature = "llvm") { Level::Native } else { Level::Kernel }
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
    let Executable { plan, library, .. } = lowered(compiled, level, gradients, &how)?;
    Ok((plan, library))
}

/// The programs of a graph with their kernels. The graph's module is used up. Code generation in a child needs
/// [`piper_codegen::child_main`] at the head of the program.
///
/// # Errors
/// Whatever the passes find; a level that this build does not have.
pub fn lowered(
    compiled: &mut Compiled,
    level: Level,
    gradients: bool,
    how: &Native,
) -> Result<Executable, Failure> {
    let kernels = match level {
        Level::Native => Kernels::Native(how.clone()),
        _ => Kernels::Interpreted,
    };
    made(compiled, level, gradients, &kernels)
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
    let kernels = Kernels::Ptx(chip, compiler.clone());
    Ok(made(compiled, Level::Native, gradients, &kernels)?.plan)
}

fn made(
    compiled: &mut Compiled,
    level: Level,
    gradients: bool,
    kernels: &Kernels,
) -> Result<Executable, Failure> {
    kernels.check()?;
    let compiler = compile::compiler();
    let tokens = compiled.tokens_per_step();
    let are_kernels = level != Level::Device;
    let mut plan =
        compiler.device_programs(&mut compiled.program, are_kernels, gradients, tokens)?;
    plan.name.clone_from(&compiled.name);
    note_feeds(&mut plan, &compiled.feeds);
    let used_up = compiler.program(compiled.program.name.clone());
    let program = std::mem::replace(&mut compiled.program, used_up);
    compiler.with_kernels(program, plan, kernels)
}
