//! Runs `test/lit/**` with `piper-opt` in this process: a panic of the tool fails the test that provoked it.

use std::path::Path;

use piper_lit::{Output, Suite};

fn piper_opt(args: &[String], mut stdin: &[u8], cwd: &Path) -> Output {
    let (registry, dialects) = (piper_passes::registry::all(), piper_dialects::all());
    let done = piper_opt::main_with(registry, dialects, args, &mut stdin, cwd);
    if let Some(panic) = done.panic {
        std::panic::panic_any(format!("{panic}\n{}", String::from_utf8_lossy(&done.stderr)));
    }
    Output { stdout: done.stdout, stderr: done.stderr, code: done.code }
}

/// Whether a program of this name is on the path.
fn installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = root.join("examples").to_string_lossy().into_owned();
    let mut suite = Suite::new(root.join("test/lit"))
        .tool("piper-opt", piper_opt)
        .substitution("%examples", &examples);
    if installed("mlir-opt-22") {
        suite = suite.external("mlir-opt-22").feature("mlir-opt-22");
    }
    if cfg!(feature = "llvm") {
        suite = suite.feature("llvm");
    }
    suite.run().exit();
}
