//! `cargo xtask bench compile-kernels`: how long machine code takes, made anew and from the cache.

use anyhow::{Result, ensure};
use clap::Args;

use super::{machine, step};
use crate::project::Project;
use crate::setup;

/// What to measure.
#[derive(Args)]
pub(crate) struct CompileKernelsOptions {
    /// How often each way runs, in turns
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Build with the profile of tests, which is faster to build; LLVM, where the time goes, is the same
    #[arg(long)]
    quick: bool,
}

/// Measures and prints a table in Markdown for each model of `bench step`.
///
/// # Errors
/// When LLVM is missing, or something does not build or run.
pub(crate) fn compile_kernels(options: &CompileKernelsOptions) -> Result<bool> {
    ensure!(setup::llvm().is_some(), "machine code needs LLVM 22; cargo xtask demo installs it");
    let project = Project::load()?;
    let program = step::example(&project, "compile_kernels", options.quick)?;
    println!("{}", machine::description());
    for (name, model) in step::MODELS {
        println!("\n{name}: ");
        let mut command = std::process::Command::new(&program);
        command.args(model[..5].iter().map(usize::to_string)).arg(options.turns.to_string());
        ensure!(command.status()?.success(), "{command:?} failed");
    }
    Ok(true)
}
