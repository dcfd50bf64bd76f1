//! From object files to a shared object, with whichever linker is on the path.

use crate::error::CodegenError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Linkers tried in order. Compiler drivers come last: they start slower and find the same linker.
const LINKERS: [&str; 8] =
    ["ld.lld", "ld.lld-22", "ld.lld-19", "ld", "cc", "gcc", "clang", "clang-22"];

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Links `objects`, the contents of object files, in their order, and returns the shared object's bytes.
///
/// # Errors
/// [`CodegenError::NoLinker`] if none is on the path, [`CodegenError::Linker`] if the first one found fails,
/// [`CodegenError::Io`] if temporary files cannot be used.
pub fn shared_object(objects: &[Vec<u8>]) -> Result<Vec<u8>, CodegenError> {
    let io = |action| move |source| CodegenError::Io { action, source };
    let (name, linker) = LINKERS
        .iter()
        .find_map(|name| Some((*name, on_path(name)?)))
        .ok_or_else(|| CodegenError::NoLinker { looked_for: LINKERS.join(", ") })?;
    let folder = tempfile::tempdir().map_err(io("cannot create a temporary folder"))?;
    let output = folder.path().join("kernels.so");
    let mut inputs = Vec::with_capacity(objects.len());
    for (at, object) in objects.iter().enumerate() {
        let input = folder.path().join(format!("kernels{at}.o"));
        std::fs::write(&input, object).map_err(io("cannot write an object file"))?;
        inputs.push(input);
    }
    run(name, &linker, &inputs, &output)?;
    std::fs::read(&output).map_err(io("cannot read the linked object"))
}

fn run(name: &str, linker: &Path, inputs: &[PathBuf], output: &Path) -> Result<(), CodegenError> {
    let mut command = Command::new(linker);
    command.arg("-shared").arg("-o").arg(output).args(inputs);
    if name.starts_with("ld") {
        // No build id and no timestamps: the same kernels give the same bytes.
        command.args(["--build-id=none", "-z", "noexecstack"]);
    } else {
        command.args(["-nostdlib", "-Wl,--build-id=none", "-Wl,-z,noexecstack"]);
    }
    let result = command
        .output()
        .map_err(|source| CodegenError::Io { action: "cannot start the linker", source })?;
    if result.status.success() {
        return Ok(());
    }
    Err(CodegenError::Linker {
        linker: linker.display().to_string(),
        status: result.status.to_string(),
        stderr: String::from_utf8_lossy(&result.stderr).trim().to_owned(),
    })
}
