//! `piper-opt`: reads `.pir` text, runs named passes over it, prints the result. Counterpart: `mlir-opt`, whose flag names
//! it keeps.
//!
//! The tool is a function from arguments and standard input to an [`Output`], so that tests run it in their own process:
//!
//! ```
//! use piper_ir::pass::PassRegistry;
//!
//! let args = ["--mlir-print-op-generic".to_string()];
//! let mut stdin: &[u8] = b"module { }";
//! let cwd = std::path::Path::new(".");
//! let output = piper_opt::main_with(PassRegistry::default(), Vec::new(), &args, &mut stdin, cwd);
//! assert_eq!(output.code, 0);
//! assert_eq!(output.stdout, b"\"builtin.module\"() ({\n^bb0:\n}) : () -> ()\n");
//! ```

#![forbid(unsafe_code)]

mod args;
mod crash;
mod driver;
mod emit;
mod expected;
mod files;
mod flags;
mod listing;
mod part;
mod plugins;
mod report;
mod reproducer;
mod round_trip;
mod split;
mod stages;
mod statistics;
mod timing;
mod trace;

use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use piper_ir::Dialect;
use piper_ir::pass::PassRegistry;

/// What a run leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Bytes for standard output.
    pub stdout: Vec<u8>,
    /// Bytes for standard error.
    pub stderr: Vec<u8>,
    /// Exit status: 0, or 1 for any fault.
    pub code: i32,
    /// The message of a panic inside a pass, which was also reported on standard error.
    pub panic: Option<String>,
}

impl Output {
    fn success(stdout: impl Into<Vec<u8>>) -> Self {
        Self { stdout: stdout.into(), ..Self::default() }
    }

    fn failure(stderr: impl Into<Vec<u8>>) -> Self {
        Self { stderr: stderr.into(), code: 1, ..Self::default() }
    }
}

/// Runs the tool with these passes and dialects. `args` come without the program's name; relative paths are under `cwd`.
/// The only files touched are those the arguments name, and a reproducer in `cwd` if a pass panics. What happens to be on
/// the terminal does not matter: there are no colours unless `--color` asks for them.
pub fn main_with(
    registry: PassRegistry,
    dialects: Vec<Dialect>,
    args: &[String],
    stdin: &mut dyn Read,
    cwd: &Path,
) -> Output {
    driver::Tool::new(registry, dialects, false).run(args, stdin, cwd)
}

/// The tool as a program: the process's arguments, streams and folder.
pub fn main(registry: PassRegistry, dialects: Vec<Dialect>) -> ExitCode {
    piper_codegen::child_main();
    crash::record_panics();
    // A pipe may hand over bytes that are no text; they can only name a file that is then not found.
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let cwd = std::env::current_dir().unwrap_or_default();
    let tool = driver::Tool::new(registry, dialects, colour);
    let output = tool.run(&args, &mut std::io::stdin().lock(), &cwd);
    // Nobody is left to tell if standard error is closed.
    let _ = std::io::stderr().lock().write_all(&output.stderr);
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(&output.stdout).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::from(u8::try_from(output.code).unwrap_or(1)),
        // The reader had enough, as `head` has.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
    }
}
