//! Pythons of our own, in folders of `target`: with the packages that figures are compared with, or with a wheel whose
//! programs are used.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::project::Project;

/// The interpreter of an environment that has `packages`, made at first use; it needs `python3` and, to install, a network.
///
/// # Errors
/// When there is no Python, or a package cannot be installed.
pub(crate) fn with(project: &Project, packages: &[&str]) -> Result<PathBuf> {
    let python = environment(project, "bench-python")?;
    let missing = |package: &&&str| {
        let imports = Command::new(&python).args(["-c", &format!("import {package}")]).output();
        !imports.is_ok_and(|output| output.status.success())
    };
    let missing: Vec<&str> = packages.iter().filter(missing).copied().collect();
    if !missing.is_empty() {
        install(&python, &missing)?;
    }
    Ok(python)
}

/// The interpreter of the environment `target/<name>`, made at first use; it needs `python3`.
///
/// # Errors
/// When there is no Python, or it cannot make environments.
pub(crate) fn environment(project: &Project, name: &str) -> Result<PathBuf> {
    let folder = project.folder("target")?.join(name);
    let python = folder.join("bin/python");
    if !python.exists() {
        let mut command = Command::new("python3");
        let made = command.args(["-m", "venv"]).arg(&folder).status();
        let made = made.context("cannot start python3, which is needed to install packages")?;
        ensure!(made.success(), "python3 -m venv failed; Debian has it in python3-venv");
    }
    Ok(python)
}

/// Installs packages, named as for pip, which may get options too, each one word.
///
/// # Errors
/// When pip cannot be started or fails, as without a network.
pub(crate) fn install(python: &Path, packages: &[&str]) -> Result<()> {
    let named: Vec<_> = packages.iter().filter(|word| !word.starts_with('-')).copied().collect();
    println!("      installing {} for {}", named.join(" "), python.display());
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    let installed = command.args(packages).status().context("cannot start pip")?;
    ensure!(installed.success(), "pip could not install {}", named.join(" "));
    Ok(())
}

/// The OpenBLAS that NumPy's wheel brings.
///
/// # Errors
/// When the wheel has none, as on systems where NumPy uses another library.
pub(crate) fn openblas(python: &Path) -> Result<PathBuf> {
    let script = "import glob, os, numpy; \
                  libs = os.path.join(os.path.dirname(numpy.__file__), '..', 'numpy.libs'); \
                  print(next(iter(glob.glob(os.path.join(libs, '*openblas*'))), ''))";
    let output = Command::new(python).args(["-c", script]).output().context("cannot run Python")?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    ensure!(path.is_file(), "NumPy's wheel brings no OpenBLAS here");
    Ok(path)
}
