//! Code generation in a child process, because LLVM answers some errors by ending the process it runs in.
//!
//! The embedding program calls [`child_main`] first thing in `main`. Started normally, that returns at once. When
//! [`crate::compile`] needs code it starts the same executable again with the environment variable
//! [`CHILD_VARIABLE`] set; then `child_main` reads a request from standard input, generates code, writes the answer to
//! standard output and exits. One child serves all modules of a request, on as many threads as it is told: starting a process
//! that loads LLVM takes as long as generating the code of a few kernels. A child that dies is replaced by one a module, to find
//! the module that killed it; that request is kept as a reproducer file: run the program with the variable set and the file as
//! standard input to see it again. A program that is not one's own, as an interpreter, is started by a command instead
//! ([`crate::Isolation::Program`]) that does what [`serve_child`] does.

use crate::error::CodegenError;
use crate::modules::{Module, code};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
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
        std::process::exit(serve_child());
    }
}

/// What a child is asked for.
#[derive(Serialize, Deserialize)]
struct Request<'m> {
    modules: Cow<'m, [Module]>,
    threads: usize,
}

/// Answers one request, from standard input to standard output, and gives the status to exit with.
pub fn serve_child() -> i32 {
    let mut request = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut request).is_err() {
        return 2;
    }
    let answer = serde_json::from_slice::<Request<'_>>(&request)
        .map_err(|e| format!("the request cannot be read: {e}"))
        .and_then(|r| code(&r.modules, r.threads).map_err(|e| e.to_string()));
    let mut bytes = Vec::new();
    match answer {
        Ok(code) => {
            bytes.push(CODE);
            for code in code {
                bytes.extend((code.len() as u64).to_le_bytes());
                bytes.extend(code);
            }
        }
        Err(message) => {
            bytes.push(MESSAGE);
            bytes.extend(message.into_bytes());
        }
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(&bytes).and_then(|()| out.flush()) {
        Ok(()) => 0,
        Err(_) => 2,
    }
}

/// The codes of an answer, if it is whole: one a module, none empty.
fn codes(mut answer: &[u8], modules: usize) -> Option<Vec<Vec<u8>>> {
    let mut codes = Vec::with_capacity(modules);
    while let Some((length, rest)) = answer.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (code, rest) = rest.split_at_checked(length)?;
        codes.push(code.to_vec());
        answer = rest;
    }
    let is_whole = answer.is_empty() && codes.len() == modules;
    (is_whole && codes.iter().all(|code| !code.is_empty())).then_some(codes)
}

/// Has a child generate the code of modules, on `threads` threads. The child is started by `command`; by the running program
/// again if that is empty.
///
/// # Errors
/// [`CodegenError::Child`] with a reproducer if the child dies or answers nonsense; [`CodegenError::Llvm`] with the
/// child's message if it reports an error; [`CodegenError::Io`] if it cannot be started.
pub(crate) fn generated(
    modules: &[Module],
    threads: usize,
    command: &[String],
) -> Result<Vec<Vec<u8>>, CodegenError> {
    let answer = asked(modules, threads, command);
    if modules.len() > 1 && matches!(answer, Err(CodegenError::Child { .. })) {
        let alone = |module| asked(std::slice::from_ref(module), 1, command);
        modules.iter().map(alone).find(Result::is_err).unwrap_or(answer)
    } else {
        answer
    }
}

fn asked(
    modules: &[Module],
    threads: usize,
    command: &[String],
) -> Result<Vec<Vec<u8>>, CodegenError> {
    let io = |action| move |source| CodegenError::Io { action, source };
    // A program without the hook would start itself without end.
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        return Err(CodegenError::Child {
            status: "not started".into(),
            stderr: format!("{NO_HOOK} ({CHILD_VARIABLE} is already set)"),
            reproducer: None,
        });
    }
    let mut starting = match command {
        [] => Command::new(std::env::current_exe().map_err(io("cannot find the running program"))?),
        [program, arguments @ ..] => {
            let mut starting = Command::new(program);
            starting.args(arguments);
            starting
        }
    };
    let request = Request { modules: Cow::Borrowed(modules), threads };
    let text = serde_json::to_vec(&request).expect("a request holds only plain data");
    let mut child = starting
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
            Some((&CODE, answer)) => {
                if let Some(codes) = codes(answer, modules.len()) {
                    return Ok(codes);
                }
            }
            Some((&MESSAGE, message)) => {
                let reason = String::from_utf8_lossy(message).into_owned();
                return Err(CodegenError::Llvm { step: "generating code", reason });
            }
            _ => {}
        }
    }
    let mut stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() {
        stderr.push_str(NO_HOOK);
    }
    Err(CodegenError::Child { status: output.status.to_string(), stderr, reproducer: keep(&text) })
}

fn keep(request: &[u8]) -> Option<PathBuf> {
    let mut file =
        tempfile::Builder::new().prefix("piper-codegen-").suffix(".json").tempfile().ok()?;
    file.write_all(request).ok()?;
    file.keep().ok().map(|(_, path)| path)
}
