//! Code generation in a child process, because LLVM answers some errors by ending the process it runs in.
//!
//! The embedding program calls [`child_main`] first thing in `main`. Started normally, that returns at once. When
//! [`crate::compile`] needs code it starts the same executable again with the environment variable
//! [`CHILD_VARIABLE`] set; then `child_main` reads a request from standard input, generates code, writes the answer to
//! standard output and exits. A request that kills the child is kept as a reproducer file: run the program with the
//! variable set and the file as standard input to see it again.

use crate::compile::Request;
use crate::error::CodegenError;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Set to `1` in the environment of a code-generating child.
pub const CHILD_VARIABLE: &str = "PIPER_CODEGEN_CHILD";

const NO_HOOK: &str =
    "no code came back: the program must call piper_codegen::child_main() first in main";

/// First byte of an answer: code follows, or a message does.
const CODE: u8 = 0;
const MESSAGE: u8 = 1;

/// Turns this process into the code generator if it was started as one; else returns at once.
pub fn child_main() {
    if std::env::var_os(CHILD_VARIABLE).is_some_and(|v| v == "1") {
        std::process::exit(serve());
    }
}

fn serve() -> i32 {
    let mut request = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut request).is_err() {
        return 2;
    }
    let answer = serde_json::from_slice::<Request>(&request)
        .map_err(|e| format!("the request cannot be read: {e}"))
        .and_then(|r| r.code().map_err(|e| e.to_string()));
    let (tag, bytes) = match answer {
        Ok(code) => (CODE, code),
        Err(message) => (MESSAGE, message.into_bytes()),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(&[tag]).and_then(|()| out.write_all(&bytes)).and_then(|()| out.flush()) {
        Ok(()) => 0,
        Err(_) => 2,
    }
}

/// Has a child generate the code of `request`.
///
/// # Errors
/// [`CodegenError::Child`] with a reproducer if the child dies or answers nonsense; [`CodegenError::Llvm`] with the
/// child's message if it reports an error; [`CodegenError::Io`] if it cannot be started.
pub(crate) fn code(request: &Request) -> Result<Vec<u8>, CodegenError> {
    let io = |action| move |source| CodegenError::Io { action, source };
    // A program without the hook would start itself without end.
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        return Err(CodegenError::Child {
            status: "not started".into(),
            stderr: format!("{NO_HOOK} ({CHILD_VARIABLE} is already set)"),
            reproducer: None,
        });
    }
    let program = std::env::current_exe().map_err(io("cannot find the running program"))?;
    let text = serde_json::to_vec(request).expect("a request holds only plain data");
    let mut child = Command::new(program)
        .env(CHILD_VARIABLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io("cannot start the code generator"))?;
    // A child that dies early breaks the pipe; its status tells why, so the write error itself is not interesting.
    let mut stdin = child.stdin.take().expect("stdin was piped");
    let write = stdin.write_all(&text);
    drop(stdin);
    let output = child.wait_with_output().map_err(io("cannot wait for the code generator"))?;
    if output.status.success() && write.is_ok() {
        match output.stdout.split_first() {
            Some((&CODE, code)) if !code.is_empty() => return Ok(code.to_vec()),
            Some((&MESSAGE, message)) => {
                let reason = String::from_utf8_lossy(message).into_owned();
                return Err(CodegenError::Llvm { step: "generating code", reason });
            }
            _ => {}
        }
    }
    let mut stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() {
        stderr.push_str(
            "no code came back: the program must call piper_codegen::child_main() first in main",
        );
    }
    Err(CodegenError::Child { status: output.status.to_string(), stderr, reproducer: keep(&text) })
}

fn keep(request: &[u8]) -> Option<PathBuf> {
    let mut file =
        tempfile::Builder::new().prefix("piper-codegen-").suffix(".json").tempfile().ok()?;
    file.write_all(request).ok()?;
    file.keep().ok().map(|(_, path)| path)
}
