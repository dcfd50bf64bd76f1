//! Runs `test/lit/piper-run` with the program that was built. Elsewhere these files are skipped: they need its feature.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use piper_lit::{Output, Suite};

fn piper_run(args: &[String], stdin: &[u8], cwd: &Path) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_piper-run"))
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It may end without reading.
    let _ = child.stdin.take().expect("piped").write_all(stdin);
    let done = child.wait_with_output().expect("the program ends");
    Output { stdout: done.stdout, stderr: done.stderr, code: done.status.code().unwrap_or(101) }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = root.join("examples").to_string_lossy().into_owned();
    let suite = Suite::new(root.join("test/lit/piper-run"))
        .tool("piper-run", piper_run)
        .external("head")
        .feature("piper-run")
        .substitution("%examples", &examples);
    suite.run().exit();
}
