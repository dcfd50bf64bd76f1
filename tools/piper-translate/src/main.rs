//! The program: the process's arguments and streams.

#![forbid(unsafe_code)]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = piper_translate::main_with(&args, &mut std::io::stdin(), Path::new(""));
    // A reader that has seen enough is no failure.
    let _ = std::io::stderr().write_all(&done.stderr);
    let _ = std::io::stdout().write_all(&done.stdout);
    ExitCode::from(done.code)
}
