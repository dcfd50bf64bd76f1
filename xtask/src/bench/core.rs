//! `cargo xtask bench core`: reading, checking, printing and simplifying large modules beside `mlir-opt`, what an operation
//! takes in memory, and how long strategies take to compile.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use super::comparison::{Case, Figure, Tools};
use super::inputs::{self, Keys};
use super::machine;
use super::table::{Goal, Verdicts, table};
use crate::project::Project;

/// What to measure.
#[derive(Args)]
pub(crate) struct CoreOptions {
    /// Operations in each input
    #[arg(long, default_value_t = 1_000_000)]
    ops: usize,
    /// How often each tool runs on each input, in turns
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// 50,000 operations and three runs, without compile times
    #[arg(long)]
    quick: bool,
    /// Only these parts; may be repeated
    #[arg(long = "part", value_enum)]
    parts: Vec<Part>,
    /// Only inputs whose title contains this
    #[arg(long)]
    case: Option<String>,
    /// The piper-opt to measure; built if not given
    #[arg(long)]
    ours: Option<PathBuf>,
}

/// A part of the report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Both tools on large files
    Text,
    /// Bytes and nanoseconds of an operation
    Storage,
    /// From text to verified device programs
    CompileTime,
}

/// What the text is to reach: mlir-opt's figure over ours.
const TEXT_GOALS: &[Goal] = &[
    Goal { figure: Figure::Parse, ratio: 5.0 },
    Goal { figure: Figure::Whole, ratio: 4.0 },
    Goal { figure: Figure::Memory, ratio: 2.0 },
];

/// Least milliseconds of the scale cases before the core was rewritten, in the order the benchmark has them. Measured on
/// another day: see docs/benchmarks.md.
const COMPILE_TIMES_BEFORE: &[f64] = &[42.2, 75.1, 521.0];

/// Measures and prints the report, in Markdown.
///
/// # Errors
/// When something does not build, or a tool fails.
pub(crate) fn core(options: &CoreOptions) -> Result<bool> {
    let project = Project::load()?;
    let (ops, runs) = if options.quick { (50_000, 3) } else { (options.ops, options.runs) };
    ensure!(ops > 0 && runs > 0, "--ops and --runs are at least 1");
    let wants = |part: Part| match options.parts.as_slice() {
        [] => part != Part::CompileTime || !options.quick,
        parts => parts.contains(&part),
    };
    // Everything is built before the load of the machine is read.
    let ours = if wants(Part::Text) {
        Some(options.ours.clone().map_or_else(|| project.built_program("piper-opt"), Ok)?)
    } else {
        None
    };
    if wants(Part::Storage) {
        build_bench(&project, "piper-ir", "storage")?;
    }
    if wants(Part::CompileTime) {
        build_bench(&project, "piper-opt", "compile_time")?;
    }
    println!("Machine: {}.\n", machine::description());
    if let Some(ours) = ours {
        let folder = project.folder("target/bench")?;
        text(options, ops, runs, ours, &folder)?;
    }
    if wants(Part::Storage) {
        println!("## Storage\n");
        let mut command =
            project.cargo(&["bench", "--quiet", "-p", "piper-ir", "--bench", "storage", "--"]);
        command.args([format!("--ops={ops}"), format!("--runs={runs}")]);
        ensure!(command.status()?.success(), "the benchmark of the storage failed");
        println!();
    }
    if wants(Part::CompileTime) {
        compile_times(&project)?;
    }
    Ok(true)
}

fn build_bench(project: &Project, package: &str, name: &str) -> Result<()> {
    let mut command = project.cargo(&["bench", "--no-run", "-p", package, "--bench", name]);
    ensure!(command.status()?.success(), "{package}'s benchmark {name} does not build");
    Ok(())
}

fn text(
    options: &CoreOptions,
    ops: usize,
    runs: usize,
    ours: PathBuf,
    folder: &Path,
) -> Result<()> {
    let theirs = mlir_opt();
    match &theirs {
        Some((path, version)) => println!("Compared with {} ({version}).\n", path.display()),
        None => println!(
            "Neither mlir-opt-22 nor mlir-opt is here (Debian: mlir-22-tools; or set MLIR_OPT), so there is nothing to compare with.\n"
        ),
    }
    let tools = Tools { ours, theirs: theirs.map(|(path, _)| path) };
    let mut verdicts = Verdicts::default();
    for case in cases(&tools, ops, folder)? {
        if options.case.as_ref().is_some_and(|wanted| !case.title.contains(wanted.as_str())) {
            continue;
        }
        let size = fs::metadata(&case.input)?.len() as f64 / 1e6;
        println!("## {}: {ops} operations, {size:.0} MB, turns: {runs}\n", case.title);
        let (mine, other) = case.lines(&tools, folder)?;
        let rounds = case.rounds(&tools, runs)?;
        let goals = if case.figures.contains(&Figure::Parse) { TEXT_GOALS } else { &[] };
        print!("{}", table(&case.figures, &rounds, goals, &mut verdicts));
        match other {
            Some(other) if other != mine => {
                println!("\nLines printed: {mine}, and {other} by mlir-opt.\n")
            }
            _ => println!(
                "\nLines printed: {mine}{}.\n",
                if other.is_some() { " by both" } else { "" }
            ),
        }
    }
    if verdicts != Verdicts::default() {
        println!(
            "Goals: {} met, {} missed, by the median of the turns.\n",
            verdicts.met, verdicts.missed
        );
    }
    Ok(())
}

/// `mlir-opt` and the version it says it is.
fn mlir_opt() -> Option<(PathBuf, String)> {
    let wanted = std::env::var("MLIR_OPT").ok();
    let names = wanted.as_deref().into_iter().chain(["mlir-opt-22", "mlir-opt"]);
    names.map(PathBuf::from).find_map(|path| {
        let output = Command::new(&path).arg("--version").stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().map(str::trim).find(|line| line.contains("version"))?;
        output.status.success().then(|| (path, version.to_owned()))
    })
}

/// Writes the inputs, and says what is done with them.
fn cases(tools: &Tools, ops: usize, folder: &Path) -> Result<Vec<Case>> {
    let write = |name: &str,
                 fill: &dyn Fn(&mut BufWriter<File>) -> std::io::Result<usize>|
     -> Result<PathBuf> {
        let path = folder.join(name);
        let made = File::create(&path).and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 16, file);
            fill(&mut out)?;
            out.flush()
        });
        made.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    };
    let distinct = write("distinct.mlir", &|out| inputs::graph(out, ops, Keys::Distinct))?;
    let same = write("same.mlir", &|out| inputs::graph(out, ops, Keys::Same))?;
    let arith = write("arith.mlir", &|out| inputs::arithmetic(out, ops))?;
    let custom = folder.join("custom.mlir");
    let mut printing = Command::new(tools.theirs.as_ref().unwrap_or(&tools.ours));
    printing.arg(&distinct).arg("--allow-unregistered-dialect").arg("-o").arg(&custom);
    ensure!(printing.status()?.success(), "the custom form was not printed");
    let case = |title: &str, input: &Path, flags: &[&'static str], figures: &[Figure]| Case {
        title: title.to_owned(),
        input: input.to_owned(),
        flags: flags.to_vec(),
        output: PathBuf::from("/dev/null"),
        figures: figures.to_vec(),
    };
    let generic = &["--mlir-print-op-generic"][..];
    let pass = |ours, theirs| {
        [
            Figure::Read,
            Figure::Pass { ours, theirs },
            Figure::Print,
            Figure::Whole,
            Figure::Busy,
            Figure::Memory,
        ]
    };
    let to_file = Case {
        output: folder.join("out.mlir"),
        ..case(
            "Generic form, distinct attributes, to a file",
            &distinct,
            generic,
            &[Figure::Print, Figure::Whole, Figure::Busy, Figure::Memory],
        )
    };
    Ok(vec![
        case("Generic form, distinct attributes", &distinct, generic, &Figure::TEXT),
        case("Generic form, one attribute", &same, generic, &Figure::TEXT),
        case("Custom form, distinct attributes", &custom, &[], &Figure::TEXT),
        to_file,
        case("Operations of arith", &arith, &[], &Figure::TEXT),
        case("Operations of arith, --cse", &arith, &["--cse"], &pass("cse", "CSE")),
        case(
            "Operations of arith, --canonicalize",
            &arith,
            &["--canonicalize"],
            &pass("canonicalize", "Canonicalizer"),
        ),
    ])
}

fn compile_times(project: &Project) -> Result<()> {
    println!("## Compile time: text to verified device programs, least of 7 runs\n");
    let output = project
        .cargo(&["bench", "--quiet", "-p", "piper-opt", "--bench", "compile_time"])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the benchmark of compile times failed");
    println!("| case | before | now | ratio |\n|---|---:|---:|---:|");
    let said = String::from_utf8_lossy(&output.stdout);
    for ((name, now), before) in totals(&said).into_iter().zip(COMPILE_TIMES_BEFORE) {
        println!("| {name} | {before:.1} ms | {now:.1} ms | {:.2} |", before / now);
    }
    Ok(())
}

/// Names and milliseconds in what the benchmark of compile times prints.
fn totals(said: &str) -> Vec<(&str, f64)> {
    let mut name = "";
    let mut found = Vec::new();
    for line in said.lines() {
        if let Some(total) = line.trim_start().strip_prefix("total ") {
            if let Some(Ok(time)) = total.split_whitespace().next().map(str::parse) {
                found.push((name, time));
            }
        } else if let Some((title, _)) = line.split_once(": ") {
            name = title;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn compile_times_are_read() {
        let said = "\na, 2 layers: 35 KiB of text, 7226 nodes\n  total     42.2 ms (median 43.8), 5.84 us a node\n    \
                    order  1.0 ms\n\nb: 9 KiB of text, 1 nodes\n  total  521.0 ms (median 543.1), 8.09 us a node\n";
        assert_eq!(super::totals(said), [("a, 2 layers", 42.2), ("b", 521.0)]);
    }
}
