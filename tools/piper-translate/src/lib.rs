//! `piper-translate`: pipeline schedules without a model, and kernels for other compilers.
//!
//! A schedule comes from the catalogue (`--emit-schedule`) or from torch's CSV (`--import-schedule`), is proved complete and
//! free of deadlock, is lowered if asked, and goes out as CSV, as a table, as the directives of a plan, or as
//! figures. `--to-mlir` writes the kernels of a plan in MLIR's own dialects. Exit status: 0; 1 for anything wrong with the schedule; 2 for a command line that is none.
#![forbid(unsafe_code)]

mod args;
mod directives;
mod metrics;
mod report;
mod source;
mod written;

use std::io::Read;
use std::path::Path;

use clap::Parser;

use args::Args;

/// What a run left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Exit status.
    pub code: u8,
}

/// Runs the tool; `args` has no program name, relative paths begin at `cwd`.
pub fn main_with(args: &[String], stdin: &mut dyn Read, cwd: &Path) -> Done {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let text = error.render().to_string().into_bytes();
            return match error.use_stderr() {
                true => Done { stderr: text, code: 2, ..Done::default() },
                false => Done { stdout: text, ..Done::default() },
            };
        }
    };
    if let Some(file) = &args.to_mlir {
        return to_mlir(file, &args, stdin, cwd);
    }
    match run(&args, stdin, cwd) {
        Ok(text) => Done { stdout: text.into_bytes(), ..Done::default() },
        Err(message) => Done { stderr: message.into_bytes(), code: 1, ..Done::default() },
    }
}

/// The road from a strategy to kernels is the compiler driver's.
fn to_mlir(file: &str, given: &Args, stdin: &mut dyn Read, cwd: &Path) -> Done {
    let mut args = vec!["--emit=mlir".to_owned(), file.to_owned()];
    args.extend(given.plan.iter().map(|plan| format!("--plan={plan}")));
    args.extend(given.load_plugin.iter().map(|plugin| format!("--load-plugin={plugin}")));
    args.extend(given.load_dialect.iter().map(|file| format!("--load-dialect={file}")));
    let (registry, dialects) = (piper_passes::registry::all(), piper_dialects::all());
    let done = piper_opt::main_with(registry, dialects, &args, stdin, cwd);
    Done { stdout: done.stdout, stderr: done.stderr, code: u8::from(done.code != 0) }
}

fn run(args: &Args, stdin: &mut dyn Read, cwd: &Path) -> Result<String, String> {
    if args.list_schedules {
        return Ok(args::list(&source::schedules(args, cwd)?));
    }
    let source = source::read(args, stdin, cwd)?;
    if args.metrics {
        return metrics::of(&source, args);
    }
    written::write(&source, args)
}
