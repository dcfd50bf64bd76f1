//! `cargo xtask`: the one entrance for whoever works on Piper.
//!
//! Each subcommand says what it does as it goes, installs what it needs where it knows how, and ends with a verdict.
#![forbid(unsafe_code)]

mod bench;
mod capi;
mod conformance;
mod fuzz;
mod new_plugin;
mod project;
mod ptxas;
mod python;
mod python_package;
mod setup;
mod standin;
mod steps;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use project::Project;
use setup::Purpose;
use steps::Steps;

/// Builds, tests and shows Piper.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Train the demonstration model under DualPipe and compare it with one device
    Demo {
        /// Further arguments for `piper-run demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run every check: format, lints, docs, all tests, and a build without LLVM
    Test,
    /// Rewrite the generated CHECK lines of the lit tests with what the tools print now
    Bless {
        /// Only tests whose path contains this
        filter: Option<String>,
    },
    /// Write the reference of dialects and passes (docs/dialects, docs/passes.md) from their definitions
    Docs,
    /// Write the C header and the table of functions for plugins (bindings/capi) from the exported functions
    Header,
    /// Install libpiper for C: header, shared library, archive, pkg-config
    InstallC(capi::InstallOptions),
    /// Run the benchmarks; with 'core', measure the IR core beside mlir-opt
    #[command(args_conflicts_with_subcommands = true)]
    Bench {
        /// Only benchmarks whose name contains this
        filter: Option<String>,
        #[command(subcommand)]
        task: Option<BenchTask>,
    },
    /// Compare with mlir-opt on MLIR's own parser tests
    Conformance {
        /// The folder mlir/test/IR of a checkout of LLVM
        folder: std::path::PathBuf,
        /// The piper-opt to compare; built if not given
        #[arg(long)]
        ours: Option<std::path::PathBuf>,
        /// Write the table of counts to this file
        #[arg(long)]
        table: Option<std::path::PathBuf>,
        /// Only files whose name contains this
        #[arg(long)]
        filter: Option<String>,
    },
    /// Assemble the kernels of all examples and of a catalogue for NVIDIA GPUs; none may spill registers
    Ptxas {
        /// The assembler; without this option it is installed from PyPI, below target
        #[arg(long)]
        ptxas: Option<std::path::PathBuf>,
    },
    /// Build the Python package into an environment below target, and test it
    Python {
        /// Further arguments for pytest
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Give arbitrary text to the parser and to the little languages
    Fuzz {
        /// How long each target runs
        #[arg(default_value_t = 60)]
        seconds: u32,
        /// Only this target
        #[arg(long)]
        target: Option<String>,
    },
    /// Build the stand-ins for libcuda and libnccl; print where they are, or run a program on them
    Standin {
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<std::ffi::OsString>,
    },
    /// Check and measure the NVIDIA GPU of this machine; needs no network once its dependencies are there
    GpuCheck {
        /// Further arguments for `piper-run gpu-check`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Make a plugin: a crate outside the workspace, with a pass and a test
    NewPlugin {
        /// What it is called
        name: String,
        /// Where to make it; a folder of its name if not given
        #[arg(long, value_name = "DIR")]
        path: Option<std::path::PathBuf>,
    },
    /// Check format, lints, docs and the dependency rules, without running the other tests
    Lint,
}

#[derive(Subcommand)]
enum BenchTask {
    /// Large files beside mlir-opt, memory and times of an operation, compile times of strategies
    Core(bench::CoreOptions),
    /// Matrix products in machine code beside OpenBLAS, on the same cores
    Gemm(bench::GemmOptions),
    /// Elementwise, norm and loss kernels beside what memory can move, one thread
    Bandwidth(bench::BandwidthOptions),
    /// The training step of a byte-level GPT beside JAX, on the same cores
    Step(bench::StepOptions),
    /// How long the machine code of these models takes, made anew and from the cache
    CompileKernels(bench::CompileKernelsOptions),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Demo { args } => demo(&args),
        Task::Test => test(),
        Task::Bless { filter } => bless(filter.as_deref()),
        Task::Docs => docs(),
        Task::Header => capi::header(),
        Task::InstallC(options) => capi::install(&options),
        Task::Bench { task: Some(BenchTask::Core(options)), .. } => bench::core(&options),
        Task::Bench { task: Some(BenchTask::Gemm(options)), .. } => bench::gemm(&options),
        Task::Bench { task: Some(BenchTask::Bandwidth(options)), .. } => bench::bandwidth(&options),
        Task::Bench { task: Some(BenchTask::Step(options)), .. } => bench::step(&options),
        Task::Bench { task: Some(BenchTask::CompileKernels(options)), .. } => {
            bench::compile_kernels(&options)
        }
        Task::Bench { filter, task: None } => bench::all(filter.as_deref()),
        Task::Conformance { folder, ours, table, filter } => {
            conformance(&folder, ours, table.as_deref(), filter.as_deref())
        }
        Task::Python { args } => {
            Project::load().and_then(|project| python_package::run(&project, &args))
        }
        Task::Fuzz { seconds, target } => {
            Project::load().and_then(|project| fuzz::run(&project, seconds, target.as_deref()))
        }
        Task::Standin { program } => {
            Project::load().and_then(|project| standin::run(&project, &program))
        }
        Task::NewPlugin { name, path } => {
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            new_plugin::create(&root, &name, path)
                .map(|folder| println!("{}", new_plugin::next_steps(&name, &folder)))
                .map(|()| true)
        }
        Task::Ptxas { ptxas } => {
            Project::load().and_then(|project| ptxas::run(&project, ptxas.as_deref()))
        }
        Task::GpuCheck { args } => gpu_check(&args),
        Task::Lint => lint(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn conformance(
    folder: &std::path::Path,
    ours: Option<std::path::PathBuf>,
    table: Option<&std::path::Path>,
    filter: Option<&str>,
) -> Result<bool> {
    let ours = match ours {
        Some(ours) => ours,
        None => Project::load()?.built_program("piper-opt")?,
    };
    conformance::run(folder, ours, table, filter)
}

fn demo(args: &[String]) -> Result<bool> {
    let project = Project::load()?;
    let machine = setup::prepare(Purpose::Demo);
    let mut command = project.cargo(&["run", "--release", "-p", "piper-run"]);
    command.args(project.features_of(Some("piper-run"), machine.has_llvm));
    command.arg("--").arg("demo").args(args);
    Ok(command.status()?.success())
}

/// Says that there is no driver before anything is built: that takes longer than the check.
fn gpu_check(args: &[String]) -> Result<bool> {
    let project = Project::load()?;
    let names = ["libcuda.so.1", "libcuda.so"];
    let folders = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let is_on_path =
        std::env::split_paths(&folders).any(|folder| names.iter().any(|n| folder.join(n).exists()));
    let is_installed = is_on_path || {
        let listed = std::process::Command::new("ldconfig").arg("-p").output();
        // Where there is no ldconfig, piper-run finds out.
        listed.map_or(true, |listed| String::from_utf8_lossy(&listed.stdout).contains(names[1]))
    };
    anyhow::ensure!(
        is_installed,
        "there is no NVIDIA driver on this machine (libcuda.so.1 is not installed), so there is no GPU to check; `cargo xtask standin` has a stand-in"
    );
    let mut command = project.cargo(&["run", "--release", "-p", "piper-run"]);
    command.args(project.features_of(Some("piper-run"), setup::llvm().is_some()));
    command.arg("--").arg("gpu-check").args(args);
    Ok(command.status()?.success())
}

fn test() -> Result<bool> {
    let project = Project::load()?;
    let mut steps = Steps::new(9);
    let mut has_llvm = false;
    steps.check("setup", "what this machine needs", || {
        let machine = setup::prepare(Purpose::Test);
        has_llvm = machine.has_llvm;
        Ok(machine.is_complete)
    })?;
    let has_mlir = setup::has_mlir();
    if !has_mlir {
        println!("      MLIR 22 with its headers is not installed: kernels are not checked by it");
    }
    let features = project.all_features(has_llvm, has_mlir);
    lint_steps(&project, &mut steps, &features)?;
    let mut tests = project.cargo(&["test", "--workspace", "--no-fail-fast"]);
    tests.args(&features);
    steps.tests("tests", &mut tests)?;
    steps.check("plugin", "one made, built and loaded outside the workspace", || {
        new_plugin::step(&project, &features)
    })?;
    steps.check("ptxas", "kernels assembled for NVIDIA GPUs", || ptxas::step(&project))?;
    steps.check("python", "the package piper", || python_package::step(&project))?;
    let mut lean = project.cargo(&["build", "-p", "piper-opt", "--no-default-features"]);
    steps.run("lean", "piper-opt without LLVM", &mut lean)?;
    Ok(steps.verdict())
}

fn lint() -> Result<bool> {
    let project = Project::load()?;
    let features = project.all_features(setup::llvm().is_some(), setup::has_mlir());
    let mut steps = Steps::new(4);
    lint_steps(&project, &mut steps, &features)?;
    let mut rules = project.cargo(&["test", "-p", "xtask", "--test", "architecture"]);
    steps.tests("rules", &mut rules)?;
    Ok(steps.verdict())
}

/// Format, clippy and rustdoc: three steps that `test` and `lint` share.
fn lint_steps(project: &Project, steps: &mut Steps, features: &[String]) -> Result<()> {
    steps.run("fmt", "source format", &mut project.cargo(&["fmt", "--all", "--check"]))?;
    let mut clippy = project.cargo(&["clippy", "--workspace", "--all-targets"]);
    clippy.args(features).args(["--", "-D", "warnings"]);
    steps.run("clippy", "lints, warnings refused", &mut clippy)?;
    let mut doc = project.cargo(&["doc", "--workspace", "--no-deps"]);
    doc.args(features).env("RUSTDOCFLAGS", "-D warnings");
    steps.run("rustdoc", "documentation, warnings refused", &mut doc)
}

fn bless(filter: Option<&str>) -> Result<bool> {
    let project = Project::load()?;
    let has_llvm = setup::llvm().is_some();
    let suites = project.targets("test", |name| name == "lit");
    if suites.is_empty() {
        println!("No crate has a test target named 'lit', so there is nothing to bless.");
        return Ok(true);
    }
    let mut steps = Steps::new(suites.len());
    for (package, _) in &suites {
        let mut command = project.cargo(&["test", "-p", package, "--test", "lit"]);
        command.args(project.features_of(Some(package), has_llvm)).arg("--").args(filter);
        command.env("PIPER_BLESS", "1");
        steps.tests(package, &mut command)?;
    }
    println!("Review what changed with `git diff` before committing it.");
    Ok(steps.verdict())
}

fn docs() -> Result<bool> {
    let project = Project::load()?;
    Ok(project.cargo(&["run", "--quiet", "-p", "piper-doc"]).status()?.success())
}
