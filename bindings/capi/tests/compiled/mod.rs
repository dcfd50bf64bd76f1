//! C programs and plugins, compiled and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with the library as it is installed, and whatever is compiled.
pub(crate) struct Workshop {
    folder: TempDir,
}

/// The workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says that a check is skipped, and why, where the tool for it is not installed.
pub(crate) fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("skipped: {tool} is not installed");
    }
    found
}

/// What cargo built beside the tests.
pub(crate) fn built(name: &str) -> PathBuf {
    let mut folder = std::env::current_exe().expect("a program has a path");
    while folder.pop() {
        let path = folder.join(name);
        if path.exists() {
            return path;
        }
    }
    panic!("cargo did not build {name}")
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        std::os::unix::fs::symlink(built("libpiper_capi.so"), folder.path().join("libpiper.so.0"))
            .and_then(|()| {
                std::os::unix::fs::symlink("libpiper.so.0", folder.path().join("libpiper.so"))
            })
            .expect("a link to the library");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compile(&self, compiler: &str, source: &Path, out: &str, flags: &[&str]) -> PathBuf {
        let out = self.path(out);
        let output = Command::new(compiler)
            .args(["-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
            .arg("-I")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
            .arg(source)
            .args(["-o".as_ref(), out.as_os_str()])
            .args(flags)
            .output()
            .expect("a C compiler: apt install gcc");
        assert!(
            output.status.success(),
            "{} does not compile:\n{}",
            source.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        out
    }

    /// A program that uses the library.
    pub(crate) fn program(&self, source: &Path, out: &str, flags: &[&str]) -> PathBuf {
        let folder = format!("-L{}", self.folder.path().display());
        let mut all = vec!["-std=c99", folder.as_str(), "-lpiper"];
        all.extend(flags);
        self.compile("cc", source, out, &all)
    }

    /// A program that is linked with what the flags say.
    pub(crate) fn program_alone(&self, source: &Path, out: &str, flags: &[&str]) -> PathBuf {
        let mut all = vec!["-std=c99"];
        all.extend(flags);
        self.compile("cc", source, out, &all)
    }

    /// As [`program`](Self::program), in C++.
    pub(crate) fn program_cpp(&self, source: &Path, out: &str) -> PathBuf {
        let folder = format!("-L{}", self.folder.path().display());
        self.compile("c++", source, out, &["-std=c++17", &folder, "-lpiper"])
    }

    /// A plugin, which uses nothing.
    pub(crate) fn plugin(&self, source: &Path, out: &str, flags: &[&str]) -> PathBuf {
        let mut all = vec!["-std=c99", "-shared", "-fPIC", "-Wl,--no-undefined"];
        all.extend(flags);
        self.compile("cc", source, out, &all)
    }

    /// A command that finds the library.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let others = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders =
            [self.folder.path().to_owned()].into_iter().chain(std::env::split_paths(&others));
        command.env("LD_LIBRARY_PATH", std::env::join_paths(folders).expect("folders"));
        command
    }
}

/// What a command printed, if it ended well.
pub(crate) fn printed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}\n{stderr}");
    stdout.into_owned()
}
