//! `cargo xtask bench bandwidth`: elementwise, norm and loss kernels beside what the machine's memory can move.

use anyhow::{Result, ensure};
use clap::Args;

use super::machine;
use crate::project::Project;
use crate::setup;

/// What to measure.
#[derive(Args)]
pub(crate) struct BandwidthOptions {
    /// Only kernels whose name contains this, such as 'norm'
    filter: Option<String>,
    /// Build with the profile of tests, which is faster to build; what is measured is not made by rustc
    #[arg(long)]
    quick: bool,
}

/// Measures and prints the table.
///
/// # Errors
/// When LLVM is missing, or something does not build.
pub(crate) fn bandwidth(options: &BandwidthOptions) -> Result<bool> {
    ensure!(setup::llvm().is_some(), "machine code needs LLVM 22; cargo xtask demo installs it");
    let project = Project::load()?;
    println!("{}", machine::description());
    let mut command = project.cargo(&["bench", "-p", "piper-codegen", "--features", "llvm"]);
    command.args(["--bench", "bandwidth"]);
    if options.quick {
        command.args(["--profile", "dev"]);
    }
    if let Some(filter) = &options.filter {
        command.env("PIPER_BANDWIDTH", filter);
    }
    Ok(command.status()?.success())
}
