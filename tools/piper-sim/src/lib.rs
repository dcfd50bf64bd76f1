//! The command `piper-sim`: reads a plan and a machine, simulates one step, and writes what was asked for.
#![forbid(unsafe_code)]

pub mod publications;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use piper_plan::Plan;
use piper_sim::{Failure, Machine, Outcome, html, json, simulate, table, trace};

/// What a compiled plan would take on a cluster
#[derive(Debug, Parser)]
#[command(
    name = "piper-sim",
    version,
    after_help = "Plans are written by piper-run FILE.pir --compile-only -o FILE.pplan. docs/simulation.md shows machine files."
)]
pub struct Args {
    /// The plan
    #[arg(value_name = "PLAN.pplan")]
    pub plan: PathBuf,
    /// The machine
    #[arg(long, value_name = "FILE.toml")]
    pub machine: PathBuf,
    /// How to print the outcome
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Write the timeline for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Write the timeline as a page that a browser draws
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
    /// Trust the plan instead of verifying it first
    #[arg(long)]
    pub no_verify: bool,
}

/// Forms of the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

/// Runs the command line; 1 if anything is wrong.
pub fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(text) => {
            // Who reads only the head of it closes the pipe, which is no failure.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Simulates what the arguments say; returns what is to be printed.
///
/// # Errors
/// Files that cannot be read or written, a machine file or plan that is wrong: what, where, and what to do.
pub fn run(args: &Args) -> Result<String, String> {
    let machine = read_machine(&args.machine)?;
    let plan =
        Plan::read(&args.plan).map_err(|error| format!("'{}': {error}", args.plan.display()))?;
    if !args.no_verify {
        let faults = piper_plan::verify(&plan);
        if !faults.is_empty() {
            let all: Vec<String> = faults.iter().map(|fault| fault.render(&plan)).collect();
            return Err(format!(
                "'{}' is not safe to run:\n{}",
                args.plan.display(),
                all.join("\n")
            ));
        }
    }
    let outcome = simulated(&plan, &machine, &args.machine)?;
    if let Some(path) = &args.trace {
        write("trace", path, &trace::render(&plan, &outcome))?;
    }
    if let Some(path) = &args.html {
        write("page", path, &html::render(&plan, &machine, &outcome))?;
    }
    Ok(match args.format {
        Format::Table => table::render(&plan, &machine, &outcome),
        Format::Json => json::render(&plan, &machine, &outcome),
    })
}

fn simulated(plan: &Plan, machine: &Machine, path: &Path) -> Result<Outcome, String> {
    simulate(plan, machine).map_err(|failure| match failure {
        Failure::Machine(error) => format!("{}:{error}", path.display()),
        Failure::Plan(error) => error.to_string(),
    })
}

/// The machine of a file.
///
/// # Errors
/// A file that cannot be read, or an entry that is wrong, with its place.
pub fn read_machine(path: &Path) -> Result<Machine, String> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read the machine '{shown}': {error}"))?;
    Machine::parse(&text).map_err(|error| format!("{shown}:{error}"))
}

fn write(what: &str, path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text)
        .map_err(|error| format!("cannot write the {what} to '{}': {error}", path.display()))
}
