//! `cargo xtask standin`: builds the stand-ins for NVIDIA's libraries, and puts them where a program finds them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::project::Project;

/// Packages, and the name and further names under which programs load what they build.
const LIBRARIES: [(&str, &str, &[&str]); 3] = [
    ("piper-standin-cuda", "libcuda.so.1", &["libcuda.so"]),
    ("piper-standin-nccl", "libnccl.so.2", &["libnccl.so"]),
    ("piper-standin-cublaslt", "libcublasLt.so.12", &["libcublasLt.so.13", "libcublasLt.so"]),
];

/// Builds them. Without a program, prints what to put into the environment; with one, runs it so.
///
/// # Errors
/// They do not build, cannot be put in place, or the program does not start.
pub(crate) fn run(project: &Project, program: &[OsString]) -> Result<bool> {
    let mut folder = PathBuf::new();
    for (package, name, others) in LIBRARIES {
        let library = built(project, package)?;
        folder = library.parent().unwrap_or(Path::new(".")).with_file_name("standin");
        std::fs::create_dir_all(&folder)?;
        // Put in place whole: somebody may have the old one loaded.
        let fresh = folder.join(format!("{name}.new"));
        let place = |fresh: &Path, name: &str| std::fs::rename(fresh, folder.join(name));
        let link = |other: &&str| {
            std::os::unix::fs::symlink(name, &fresh).and_then(|()| place(&fresh, other))
        };
        std::fs::copy(&library, &fresh)
            .and_then(|_| place(&fresh, name))
            .and_then(|()| others.iter().try_for_each(link))
            .with_context(|| format!("cannot write {}", folder.display()))?;
    }
    let Some((name, args)) = program.split_first() else {
        println!("LD_LIBRARY_PATH={}", folder.display());
        return Ok(true);
    };
    let mut path = folder.into_os_string();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|v| !v.is_empty()) {
        path.push(":");
        path.push(others);
    }
    let status = Command::new(name)
        .args(args)
        .env("LD_LIBRARY_PATH", path)
        .status()
        .with_context(|| format!("cannot start {}", name.display()))?;
    Ok(status.success())
}

/// The shared object of a package.
fn built(project: &Project, package: &str) -> Result<PathBuf> {
    let output = project
        .cargo(&[
            "build",
            "--release",
            "-p",
            package,
            "--message-format",
            "json-render-diagnostics",
        ])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{package} does not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == package.replace('-', "_"))
        .filter_map(|message| message["filenames"].as_array().cloned())
        .flatten()
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .find(|file| file.extension().is_some_and(|e| e == "so"))
        .with_context(|| format!("cargo does not say where the library of {package} is"))
}
