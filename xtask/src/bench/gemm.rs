//! `cargo xtask bench gemm`: matrix products in machine code beside OpenBLAS.

use anyhow::{Result, ensure};
use clap::Args;

use super::machine;
use crate::project::Project;
use crate::python;
use crate::setup;

/// What to measure.
#[derive(Args)]
pub(crate) struct GemmOptions {
    /// Only shapes whose line contains this, such as 'square' or '2048x384'
    filter: Option<String>,
    /// Threads of each, in turns on the same cores
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Build with the profile of tests, which is faster to build; what is measured is not made by rustc
    #[arg(long)]
    quick: bool,
}

/// Measures and prints the table.
///
/// # Errors
/// When LLVM or OpenBLAS is missing, or something does not build.
pub(crate) fn gemm(options: &GemmOptions) -> Result<bool> {
    ensure!(setup::llvm().is_some(), "machine code needs LLVM 22; cargo xtask demo installs it");
    let project = Project::load()?;
    let openblas = python::openblas(&python::with(&project, &["numpy"])?)?;
    println!("{}", machine::description());
    let mut command = project.cargo(&["bench", "-p", "piper-codegen", "--features", "llvm"]);
    command.args(["--bench", "gemm"]);
    if options.quick {
        command.args(["--profile", "dev"]);
    }
    let threads = options.threads.to_string();
    command.env("PIPER_OPENBLAS", openblas).env("OPENBLAS_NUM_THREADS", &threads);
    command.env("PIPER_GEMM_THREADS", threads);
    if let Some(filter) = &options.filter {
        command.env("PIPER_GEMM", filter);
    }
    Ok(command.status()?.success())
}
