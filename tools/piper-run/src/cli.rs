//! The tool as a program: arguments in, exit status out.

use std::process::ExitCode;

use clap::Parser;
use piper_runtime::StopFlag;

use crate::Failure;
use crate::args::{DemoArgs, GpuCheckArgs, RunArgs};
use crate::run::Ending;

/// Runs the tool on the process's arguments. Exit status: 0; 1 for anything wrong, other numbers than one device's included; 2
/// for a command line that is none; 130 for an interrupted run.
pub fn main() -> ExitCode {
    let stop = StopFlag::new();
    if let Err(error) = stop.raise_on_interrupt() {
        eprintln!("warning: an interrupt will end the run at once: {error}");
    }
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let rest = || args[..1].iter().chain(&args[2..]);
    let ended = match args.get(1).and_then(|arg| arg.to_str()) {
        Some("demo") => crate::demo::demo(&DemoArgs::parse_from(rest()), &stop),
        Some("gpu-check") => crate::gpu_check::gpu_check(&GpuCheckArgs::parse_from(rest()), &stop),
        _ => crate::run::run(&RunArgs::parse_from(&args), &stop),
    };
    status(ended)
}

fn status(ended: Result<Ending, Failure>) -> ExitCode {
    match ended {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Differs) => ExitCode::FAILURE,
        Ok(Ending::Interrupted) => ExitCode::from(130),
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
    }
}
