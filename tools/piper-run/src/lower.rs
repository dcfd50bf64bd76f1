//! From a graph to device programs with kernels.

use piper_plan::Plan;
use piper_runtime::KernelLibrary;

use crate::Failure;
use crate::args::Level;
use crate::compile::Compiled;

/// The fastest level of this build.
pub fn best_level() -> Level {
    Level::Dag
}

/// The plan of a graph and the library of its kernels.
///
/// # Errors
/// Whatever the passes find; a level that this build does not have.
pub fn lower(
    compiled: &mut Compiled,
    level: Level,
    gradients: bool,
) -> Result<(Plan, Box<dyn KernelLibrary>), Failure> {
    let _ = (compiled, gradients);
    Err(Failure::with_hint(
        format!("this build cannot run level {}", level.text()),
        "use --level dag",
    ))
}
