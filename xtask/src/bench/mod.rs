//! `cargo xtask bench`: all benchmarks of the workspace, or with `core` the figures of the IR core beside `mlir-opt`'s,
//! with `gemm` matrix products beside OpenBLAS, with `bandwidth` kernels beside what memory can move, with `step` a training step beside JAX, with `compile-kernels` how
//! long machine code takes.

mod bandwidth;
mod comparison;
mod compile_kernels;
mod core;
mod gemm;
mod inputs;
mod machine;
mod process;
mod step;
mod table;

use anyhow::Result;

pub(crate) use bandwidth::{BandwidthOptions, bandwidth};
pub(crate) use compile_kernels::{CompileKernelsOptions, compile_kernels};
pub(crate) use core::{CoreOptions, core};
pub(crate) use gemm::{GemmOptions, gemm};
pub(crate) use step::{StepOptions, step};

use crate::project::Project;
use crate::setup;

/// Runs the benchmarks that crates have, those whose name contains `filter`.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn all(filter: Option<&str>) -> Result<bool> {
    let project = Project::load()?;
    let benches = project.targets("bench", |_| true);
    println!("Benchmarks:");
    for (package, name) in &benches {
        println!("  {package}: {name}");
    }
    let features = project.features_of(None, setup::llvm().is_some());
    let mut command = project.cargo(&["bench", "--workspace", "--benches"]);
    command.args(features);
    if let Some(filter) = filter {
        command.args(["--", filter]);
    }
    Ok(command.status()?.success())
}
