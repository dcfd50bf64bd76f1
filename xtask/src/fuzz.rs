//! `cargo xtask fuzz`: arbitrary text as modules and as the little languages of the command line.
//!
//! The targets and their seeds lie in `fuzz/`, a workspace of its own, because they are compiled by a nightly compiler
//! that marks every branch. A target fails on a panic, a hang, memory out of proportion to its input, and on what it
//! asserts itself. Inputs that reach new code go to `fuzz/grown/`, which is not kept in the repository.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::project::Project;
use crate::steps::Steps;

/// The targets in `fuzz/fuzz_targets`.
const TARGETS: [&str; 2] = ["parser", "pipeline"];

/// One input may take so long; with the branches marked, a text of four kilobytes takes milliseconds.
const SECONDS_AN_INPUT: u32 = 20;

/// The whole process, which keeps its corpus in memory.
const MOST_MEGABYTES: u32 = 3000;

/// Runs each target for so many seconds.
///
/// # Errors
/// When cargo or the tool cannot be started.
pub(crate) fn run(project: &Project, seconds: u32, only: Option<&str>) -> Result<bool> {
    let targets: Vec<&str> =
        TARGETS.into_iter().filter(|target| only.is_none_or(|only| only == *target)).collect();
    if targets.is_empty() {
        bail!("no such target; there are {}", TARGETS.join(" and "));
    }
    install()?;
    let mut steps = Steps::new(targets.len());
    for target in targets {
        let grown = project.folder(&format!("fuzz/grown/{target}"))?;
        let mut command = Command::new("cargo");
        // This process may have been started for another toolchain, which the variable would force on the next one.
        command.env_remove("RUSTUP_TOOLCHAIN").current_dir(project.folder("")?);
        command.args(["+nightly", "fuzz", "run", "--sanitizer", "none", target]);
        command.arg(&grown).arg(Path::new("fuzz/corpus").join(target)).arg("--");
        command.arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-timeout={SECONDS_AN_INPUT}"));
        command.arg(format!("-rss_limit_mb={MOST_MEGABYTES}"));
        command.args(["-max_len=4096", "-print_final_stats=1"]);
        command.arg(format!("-dict=fuzz/{target}.dict"));
        steps.run(target, &format!("{seconds} s of arbitrary text"), &mut command)?;
    }
    Ok(steps.verdict())
}

/// Installs cargo-fuzz and a nightly compiler where they are missing.
fn install() -> Result<()> {
    let succeeds = |arguments: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.env_remove("RUSTUP_TOOLCHAIN").args(arguments);
        cargo.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    if !succeeds(&["+nightly", "--version"]) {
        println!("installing a nightly compiler");
        let status = Command::new("rustup")
            .args(["toolchain", "install", "nightly", "--profile", "minimal"])
            .status();
        if !status.is_ok_and(|status| status.success()) {
            bail!("a nightly compiler is needed: rustup toolchain install nightly");
        }
    }
    if !succeeds(&["fuzz", "--version"]) {
        println!("installing cargo-fuzz");
        let status = Command::new("cargo").args(["install", "cargo-fuzz", "--locked"]).status();
        if !status.is_ok_and(|status| status.success()) {
            bail!("cargo-fuzz is needed: cargo install cargo-fuzz --locked");
        }
    }
    Ok(())
}
