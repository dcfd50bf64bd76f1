//! `cargo xtask bench step`: the training step of a byte-level GPT in machine code beside JAX, on the same cores.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::machine;
use crate::project::Project;
use crate::python;
use crate::setup;

/// What to measure.
#[derive(Args)]
pub(crate) struct StepOptions {
    /// The larger model too: width 384, 6 layers, sequence 256, batch 16; seconds a step
    #[arg(long)]
    large: bool,
    /// How often both run, in turns
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Threads of each, pinned to as many cores
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Build with the profile of tests, which is faster to build; kernels are not made by rustc
    #[arg(long)]
    quick: bool,
}

/// One model: width, layers, heads, sequence, batch, timed steps.
pub(super) type Model = [usize; 6];

/// What is measured, by name.
pub(super) const MODELS: [(&str, Model); 2] = [
    ("d 128, 4 layers, 4 heads, sequence 64, batch 32", [128, 4, 4, 64, 32, 10]),
    ("d 384, 6 layers, 6 heads, sequence 256, batch 16", [384, 6, 6, 256, 16, 3]),
];

/// Builds an example of piper-run with machine code and says where it is.
///
/// # Errors
/// When it does not build.
pub(super) fn example(project: &Project, name: &str, quick: bool) -> Result<PathBuf> {
    let profile = if quick { "dev" } else { "release" };
    let mut build = project.cargo(&["build", "-p", "piper-run", "--features", "llvm"]);
    build.args(["--example", name, "--profile", profile]);
    ensure!(build.status()?.success(), "the example does not build");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let folder = if quick { "debug" } else { "release" };
    Ok(project.folder(".")?.join(target).join(folder).join("examples").join(name))
}

/// What a program says of its steps: least and median milliseconds, and the highest resident mebibytes of its process.
struct Said {
    least: f64,
    median: f64,
    resident: f64,
}

fn run(command: &mut Command, model: &Model, threads: u32) -> Result<Said> {
    command.args(model.iter().map(usize::to_string)).arg(threads.to_string());
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ensure!(
        output.status.success() && numbers.len() >= 4,
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Said { least: numbers[0], median: numbers[1], resident: numbers[2] })
}

/// A command on the first cores, where the system has a way to say so.
fn pinned(program: &Path, cores: u32) -> Command {
    let has_taskset = Command::new("taskset").arg("--version").output().is_ok();
    if !has_taskset {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &format!("0-{}", cores - 1)]).arg(program);
    command
}

/// Measures and prints a table in Markdown.
///
/// # Errors
/// When LLVM, Python or JAX is missing, or something does not build or run.
pub(crate) fn step(options: &StepOptions) -> Result<bool> {
    ensure!(setup::llvm().is_some(), "machine code needs LLVM 22; cargo xtask demo installs it");
    let project = Project::load()?;
    let python = python::with(&project, &["numpy", "jax"])?;
    let ours = example(&project, "step", options.quick)?;
    let script = project.folder("xtask")?.join("src/bench/gpt_jax.py");
    println!("{}; {} thread(s) each\n", machine::description(), options.threads);
    println!(
        "| model | turn | piper, least ms (median) | JAX, least ms (median) | ratio of the least | piper, MiB resident | JAX, MiB resident |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let models = if options.large { &MODELS[..] } else { &MODELS[..1] };
    for (name, model) in models {
        let mut least = [f64::INFINITY; 2];
        for turn in 1..=options.turns {
            let piper = run(&mut pinned(&ours, options.threads), model, options.threads)?;
            let jax = run(Command::new(&python).arg(&script), model, options.threads)?;
            println!(
                "| {name} | {turn} | {:.1} ({:.1}) | {:.1} ({:.1}) | {:.2} | {:.0} | {:.0} |",
                piper.least,
                piper.median,
                jax.least,
                jax.median,
                piper.least / jax.least,
                piper.resident,
                jax.resident
            );
            least = [least[0].min(piper.least), least[1].min(jax.least)];
        }
        println!(
            "| {name} | all | {:.1} | {:.1} | {:.2} | | |",
            least[0],
            least[1],
            least[0] / least[1]
        );
    }
    Ok(true)
}
