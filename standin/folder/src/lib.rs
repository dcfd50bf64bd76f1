//! Where the stand-in `libcuda.so.1`, `libnccl.so.2` and `libcublasLt.so.12` are, under the names by which programs load them.
//!
//! A test that names this crate among its `[dev-dependencies]` gets the libraries built, and runs a program on them:
//!
//! ```no_run
//! let output = piper_standin::command("piper-run")?
//!     .env("PIPER_STANDIN_DEVICES", "2")
//!     .args(["train.pplan", "--backend", "cuda"])
//!     .output()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What is loaded by name is found through `LD_LIBRARY_PATH`, which is read when a process starts: hence a [`Command`].
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names of links, and the library that each is for.
const LINKS: [(&str, &str); 7] = [
    ("libcuda.so.1", "libpiper_standin_cuda.so"),
    ("libcuda.so", "libpiper_standin_cuda.so"),
    ("libnccl.so.2", "libpiper_standin_nccl.so"),
    ("libnccl.so", "libpiper_standin_nccl.so"),
    ("libcublasLt.so.13", "libpiper_standin_cublaslt.so"),
    ("libcublasLt.so.12", "libpiper_standin_cublaslt.so"),
    ("libcublasLt.so", "libpiper_standin_cublaslt.so"),
];

/// The folder with the libraries that were built with the running program.
///
/// # Errors
/// They are not beside it, or the links to them cannot be made.
pub fn folder() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let here = program.parent().unwrap_or(Path::new("."));
    let places = [here.to_path_buf(), here.join("deps")];
    let built = places.iter().find(|place| place.join(LINKS[0].1).exists()).ok_or_else(|| {
        let message = format!(
            "{} is not beside {}: cargo builds it for whoever depends on piper-standin",
            LINKS[0].1,
            program.display()
        );
        io::Error::new(io::ErrorKind::NotFound, message)
    })?;
    let folder = built.join("standin");
    link(built, &folder)?;
    Ok(folder)
}

/// Makes `folder` with a link under every name of a library in `built`; libraries that are not there are left out.
///
/// # Errors
/// Those of the file system.
pub fn link(built: &Path, folder: &Path) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    std::fs::create_dir_all(folder)?;
    for (name, library) in LINKS {
        let target = built.join(library);
        if !target.exists() {
            continue;
        }
        let link = folder.join(name);
        if std::fs::read_link(&link).is_ok_and(|old| old == target) {
            continue;
        }
        // Other processes and threads may do the same at this moment, so the link is put in place whole.
        let unique = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let fresh = folder.join(format!("{name}.{}.{}", unique.0, unique.1));
        let _ = std::fs::remove_file(&fresh);
        std::os::unix::fs::symlink(&target, &fresh)?;
        std::fs::rename(&fresh, &link)?;
    }
    Ok(())
}

/// A command that finds the stand-in libraries before any others.
///
/// # Errors
/// As [`folder`].
pub fn command(program: impl AsRef<OsStr>) -> io::Result<Command> {
    let folder = folder()?;
    let mut path = folder.into_os_string();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(others);
    }
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", path);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::{LINKS, link};

    #[test]
    fn threads_may_make_the_links_at_once() {
        let built = tempfile::tempdir().expect("a folder");
        for (_, library) in LINKS {
            std::fs::write(built.path().join(library), "").expect("written");
        }
        for turn in 0..50 {
            let folder = built.path().join(format!("standin{turn}"));
            let make = || link(built.path(), &folder).expect("made, whoever else makes them");
            std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(make))));
            assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), LINKS.len());
        }
    }
}
