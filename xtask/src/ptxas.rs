//! `cargo xtask ptxas`: every kernel of every example, and a catalogue of kernels, assembled by NVIDIA's `ptxas` for each
//! architecture. The assembler comes from PyPI, so no GPU and no CUDA toolkit is needed. Assembling shows that the text is
//! legal, how many registers it takes and that none spill; that it computes the right thing is for the tests that run it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::project::Project;
use crate::{python, setup};

/// The wheel that brings `ptxas`, and where it lies in it.
const WHEEL: &str = "nvidia-cuda-nvcc>=13,<14";
const IN_WHEEL: &str = "nvidia/cu13/bin/ptxas";
const CHIPS: [&str; 3] = ["sm_80", "sm_90a", "sm_100a"];

/// Runs it all; `given` is the assembler to use instead of the wheel's.
///
/// # Errors
/// When LLVM or the assembler cannot be had, or something does not build.
pub(crate) fn run(project: &Project, given: Option<&Path>) -> Result<bool> {
    ensure!(setup::llvm().is_some(), "there is no LLVM 22 here, without which no PTX is made");
    let ptxas = match given {
        Some(path) => path.to_owned(),
        None => assembler(project)?,
    };
    assemble(project, &ptxas)
}

/// The same as a step of the tests, which is left out, and says so, where the assembler cannot be had.
///
/// # Errors
/// When something does not build.
pub(crate) fn step(project: &Project) -> Result<bool> {
    if setup::llvm().is_none() {
        println!("      skipped: without LLVM there is no PTX");
        return Ok(true);
    }
    match assembler(project) {
        Ok(ptxas) => assemble(project, &ptxas),
        Err(why) => {
            println!("      skipped, nothing was assembled: {why:#}");
            Ok(true)
        }
    }
}

/// The wheel's `ptxas`, installed at first use.
fn assembler(project: &Project) -> Result<PathBuf> {
    let python = python::environment(project, "ptxas-python")?;
    let place = || -> Option<PathBuf> {
        let script = "import sysconfig; print(sysconfig.get_paths()['platlib'])";
        let output = Command::new(&python).args(["-c", script]).output().ok()?;
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Some(PathBuf::from(folder).join(IN_WHEEL)).filter(|path| path.is_file())
    };
    if let Some(path) = place() {
        return Ok(path);
    }
    python::install(&python, &["--no-deps", "--retries=1", "--timeout=20", WHEEL])?;
    place().with_context(|| format!("the wheel {WHEEL} has no {IN_WHEEL} on this system"))
}

fn assemble(project: &Project, ptxas: &Path) -> Result<bool> {
    // The profile and features that tests have, so that nothing is compiled twice.
    let mut build = vec!["build", "--workspace", "--bin", "piper-opt", "--example", "ptx_catalog"];
    let features = project.all_features(true, setup::has_mlir());
    build.extend(features.iter().map(String::as_str));
    let programs = project.built(&build)?;
    let program = |name: &str| {
        let found = programs.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
        found.with_context(|| format!("cargo does not say where {name} is"))
    };
    let (opt, catalogue) = (program("piper-opt")?, program("ptx_catalog")?);
    let folder = project.folder("target/ptxas")?;
    let mut files = vec![];
    for example in examples(project)? {
        for chip in CHIPS {
            files.extend(written(opt, &example, chip, &folder)?);
        }
    }
    let mut command = Command::new(catalogue);
    command.arg(&folder).arg("--ptxas").arg(ptxas).args(files);
    Ok(command.status().with_context(|| format!("cannot start {command:?}"))?.success())
}

fn examples(project: &Project) -> Result<Vec<PathBuf>> {
    let folder = project.folder("examples")?;
    let entries = std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
    let mut files = entries.collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pir"));
    files.sort();
    Ok(files)
}

/// The PTX of an example; `None` for one whose computations are only declared.
///
/// # Errors
/// When it cannot be made.
fn written(opt: &Path, example: &Path, chip: &str, folder: &Path) -> Result<Option<PathBuf>> {
    let mut command = Command::new(opt);
    command.arg("--emit=ptx").arg(format!("--target={chip}")).arg(example);
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let name = example.file_stem().unwrap_or_default().to_string_lossy();
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && said.contains("is only declared") {
        if chip == CHIPS[0] {
            println!("      {name}: declared computations have no code to assemble");
        }
        return Ok(None);
    }
    ensure!(output.status.success(), "{name} for {chip}: {said}");
    let path = folder.join(format!("{name}.{chip}.ptx"));
    std::fs::write(&path, output.stdout).with_context(|| format!("{}", path.display()))?;
    Ok(Some(path))
}
