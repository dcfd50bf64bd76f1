//! The C library: its header from the sources, and its files as C programs find them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::project::Project;

/// Writes `include/piper.h` and the table of functions from the sources, by the test that says when they are stale.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn header() -> Result<bool> {
    let project = Project::load()?;
    let test = ["test", "-p", "piper-capi", "--no-default-features", "--test", "header"];
    Ok(project.cargo(&test).env("PIPER_BLESS", "1").status()?.success())
}

/// What is installed, and where.
#[derive(Args)]
pub(crate) struct InstallOptions {
    /// The folder that gets include/, lib/ and lib/pkgconfig/
    #[arg(long)]
    prefix: PathBuf,
    /// Kernels in machine code, by LLVM 22
    #[arg(long)]
    llvm: bool,
}

/// What the shared library is called by programs that are linked against it: the interface's number before 1.0 is 0.
const SONAME: &str = "libpiper.so.0";

/// Installs libpiper as shared library and archive, the header, and a file for pkg-config.
///
/// # Errors
/// When it does not build, or the folder cannot be written.
pub(crate) fn install(options: &InstallOptions) -> Result<bool> {
    let project = Project::load()?;
    let [shared, archive] = libraries(&project, options.llvm)?;
    let make = |name: &str| {
        let folder = options.prefix.join(name);
        std::fs::create_dir_all(&folder)
            .and_then(|()| folder.canonicalize())
            .with_context(|| format!("cannot make {}", folder.display()))
    };
    let (include, lib, packages) = (make("include")?, make("lib")?, make("lib/pkgconfig")?);
    let header = project.folder("bindings/capi/include")?.join("piper.h");
    copy(&header, &include.join("piper.h"))?;
    copy(&shared, &lib.join(SONAME))?;
    copy(&archive, &lib.join("libpiper.a"))?;
    let link = lib.join("libpiper.so");
    drop(std::fs::remove_file(&link));
    std::os::unix::fs::symlink(SONAME, &link)
        .with_context(|| format!("cannot make {}", link.display()))?;
    let prefix = options.prefix.canonicalize()?;
    let file = packages.join("piper.pc");
    std::fs::write(&file, description(&prefix, options.llvm))
        .with_context(|| format!("cannot write {}", file.display()))?;
    println!("cc $(pkg-config --cflags piper) FILE.c $(pkg-config --libs piper)");
    println!("PKG_CONFIG_PATH={}", packages.display());
    Ok(true)
}

/// Puts a file in place whole: somebody may have the old one loaded.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let fresh = to.with_extension("new");
    std::fs::copy(from, &fresh)
        .and_then(|_| std::fs::rename(&fresh, to))
        .with_context(|| format!("cannot write {}", to.display()))
}

fn description(prefix: &Path, has_llvm: bool) -> String {
    let llvm = if has_llvm { " -lLLVM-22" } else { "" };
    format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\nName: piper\n\
         Description: Compiler for distributed training\nVersion: {}\nCflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -lpiper\nLibs.private: -lgcc_s -lpthread -ldl -lm{llvm}\n",
        prefix.display(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Builds the shared library and the archive.
fn libraries(project: &Project, has_llvm: bool) -> Result<[PathBuf; 2]> {
    let mut command = project.cargo(&["build", "--release", "-p", "piper-capi"]);
    if has_llvm {
        command.args(["--features", "piper-capi/llvm"]);
    }
    command.args(["--message-format", "json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "piper-capi does not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    let files: Vec<PathBuf> = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "piper_capi")
        .filter_map(|message| message["filenames"].as_array().cloned())
        .flatten()
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .collect();
    let of_kind = |extension: &str| {
        let found = files.iter().find(|file| file.extension().is_some_and(|e| e == extension));
        found.cloned().with_context(|| format!("cargo does not say where libpiper.{extension} is"))
    };
    Ok([of_kind("so")?, of_kind("a")?])
}
