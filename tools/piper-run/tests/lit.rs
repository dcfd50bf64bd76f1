//! Runs `test/lit/piper-run` with the program that was built. Elsewhere these files are skipped: they need its feature.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use piper_lit::{Output, Suite};
use piper_plan::{Kind, Plan};

fn piper_run(args: &[String], stdin: &[u8], cwd: &Path) -> Output {
    // What is told does not depend on earlier runs.
    let cache = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_piper-run"))
        .args(args)
        .env(piper_codegen::CACHE_VARIABLE, cache.path())
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

/// `edit-plan newer|deadlock FROM TO`: a plan of a later format, and one whose first program waits for a value before it sends
/// what that value depends on.
fn edit_plan(args: &[String], _stdin: &[u8], _cwd: &Path) -> Output {
    let [how, from, to] = args else { panic!("edit-plan newer|deadlock FROM TO") };
    let mut bytes = std::fs::read(from).expect("a plan");
    match how.as_str() {
        "newer" => bytes[8] += 1,
        _ => {
            let mut plan = Plan::from_bytes(&bytes).expect("a plan");
            let instrs = &mut plan.programs[0].instrs;
            let send = instrs.iter().position(|i| matches!(i.kind, Kind::Send(_))).expect("sends");
            let recv =
                instrs.iter().position(|i| matches!(i.kind, Kind::Recv(_))).expect("receives");
            let moved = instrs.remove(recv);
            instrs.insert(send, moved);
            bytes = plan.to_bytes();
        }
    }
    std::fs::write(to, bytes).expect("written");
    Output { stdout: Vec::new(), stderr: Vec::new(), code: 0 }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = root.join("examples").to_string_lossy().into_owned();
    let mut suite = Suite::new(root.join("test/lit/piper-run"))
        .tool("piper-run", piper_run)
        .tool("edit-plan", edit_plan)
        .external("head")
        .feature("piper-run")
        .substitution("%examples", &examples);
    if cfg!(feature = "llvm") {
        suite = suite.feature("llvm");
    }
    suite.run().exit();
}
