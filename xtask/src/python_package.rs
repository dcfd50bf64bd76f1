//! The Python package: built as users build it, installed into an environment of its own, tested there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::project::Project;
use crate::{python, setup};

/// What building and testing takes.
const PACKAGES: &[&str] = &["maturin", "numpy", "pytest", "mypy"];

/// Builds and tests the package: `cargo xtask python`. `arguments` are for pytest.
///
/// # Errors
/// When there is no Python, what is needed cannot be installed, or the package cannot be built.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Result<bool> {
    let python = prepared(project)?;
    let has_llvm = setup::llvm().is_some();
    let features = if has_llvm { "extension,llvm" } else { "extension" };
    install(project, &python, features)?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "-q", "bindings/python/tests"]).args(arguments);
    Ok(tests.current_dir(project.folder(".")?).status().context("cannot start pytest")?.success())
}

/// A step of `cargo xtask test`: skipped where Python or its packages cannot be had.
///
/// # Errors
/// As [`run`], but for what is missing on this machine.
pub(crate) fn step(project: &Project) -> Result<bool> {
    match prepared(project) {
        Ok(_) => run(project, &[]),
        Err(why) => {
            println!("      skipped: {why:#}");
            Ok(true)
        }
    }
}

/// The interpreter of an environment that has what is needed.
fn prepared(project: &Project) -> Result<PathBuf> {
    let python = python::environment(project, "python")?;
    let is_missing = |package: &&&str| {
        let imports = Command::new(&python).args(["-c", &format!("import {package}")]).output();
        !imports.is_ok_and(|output| output.status.success())
    };
    let missing: Vec<&str> = PACKAGES.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        python::install(&python, &missing)?;
    }
    Ok(python)
}

/// Builds a wheel in the profile of tests, with the workspace's target folder, and installs it.
fn install(project: &Project, python: &Path, features: &str) -> Result<()> {
    let wheels = project.folder("target/wheels")?;
    for entry in std::fs::read_dir(&wheels)? {
        std::fs::remove_file(entry?.path())?;
    }
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => folder.into(),
        None => project.folder("target")?,
    };
    let mut build = Command::new(python);
    build.args(["-m", "maturin", "build", "--quiet", "--compatibility", "linux"]);
    build.args(["--features", features, "--out"]);
    build.arg(&wheels).arg("--interpreter").arg(python);
    build.arg("--manifest-path").arg(project.folder("bindings/python")?.join("Cargo.toml"));
    let built = build.env("CARGO_TARGET_DIR", target).status().context("cannot start maturin")?;
    ensure!(built.success(), "maturin could not build bindings/python");
    let wheel = std::fs::read_dir(&wheels)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .context("maturin built no wheel")?;
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--force-reinstall", "--no-deps"]).arg(&wheel);
    ensure!(install.status()?.success(), "pip could not install {}", wheel.display());
    Ok(())
}
