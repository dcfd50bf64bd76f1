//! Which passes run, in which order, and what is told of it.

use std::fmt::Write;

use piper_ir::pass::{
    Instrumentation, Pass, PassManager, PassRegistry, PassResult, RunOptions, TimingEntry,
};
use piper_ir::{Module, Op, Reporter};
use piper_passes::pipeline_text::{PassRequest, pass_manager, single_pass};
use piper_passes::registry::implied_pipeline;

/// What is to be run.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    /// Exactly this pipeline.
    Pipeline(String),
    /// These passes; with `implied`, each after what it builds on.
    Passes { requests: Vec<PassRequest>, implied: bool },
}

/// What a run tells, kept even if a pass panics.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// IR that was asked to be printed.
    pub(crate) printed: String,
    /// For each pass that was asked for and needed others first: its name and theirs.
    pub(crate) implied: Vec<(String, Vec<&'static str>)>,
    /// The pass that is running.
    pub(crate) running: Option<String>,
    /// Times and statistics, in order.
    pub(crate) timings: Vec<TimingEntry>,
}

impl Instrumentation for Trace {
    fn before_pass(&mut self, pass: &dyn Pass, _module: &Module, _op: Op) {
        self.running = Some(pass.name().to_owned());
    }

    fn after_pass(&mut self, _pass: &dyn Pass, _module: &Module, _op: Op, _result: PassResult) {
        self.running = None;
    }

    fn print(&mut self, text: &str) {
        self.printed.push_str(text);
    }
}

/// Runs the passes; what is wrong is in `reporter`.
pub(crate) fn run(
    job: &Job,
    registry: &PassRegistry,
    module: &mut Module,
    reporter: &mut Reporter<'_>,
    options: &RunOptions,
    trace: &mut Trace,
) -> PassResult {
    let mut go = |manager: Result<PassManager, String>,
                  module: &mut Module,
                  trace: &mut Trace|
     -> PassResult {
        match manager {
            Ok(mut manager) => {
                let result = manager.run(module, reporter, options, trace);
                trace.timings.extend(manager.timings());
                result
            }
            Err(message) => {
                reporter.error(module.op_loc(module.root()), message);
                Err(piper_ir::pass::PassFailed)
            }
        }
    };
    match job {
        Job::Pipeline(text) => {
            go(pass_manager(registry, text).map_err(|error| error.to_string()), module, trace)
        }
        Job::Passes { requests, implied } => {
            let mut already: Vec<String> = Vec::new();
            for request in requests {
                let before = if *implied {
                    implied_pipeline(registry, module, &request.name, &already)
                } else {
                    Vec::new()
                };
                if !before.is_empty() {
                    trace.implied.push((request.name.clone(), before.clone()));
                }
                let before = before.iter().map(|name| (*name).to_owned());
                let before = before.map(|name| PassRequest { name, options: Vec::new() });
                for request in before.chain([request.clone()]) {
                    go(single_pass(registry, &request), module, trace)?;
                    already.push(request.name);
                }
            }
            Ok(())
        }
    }
}

/// `--mlir-timing`
pub(crate) fn timing_table(timings: &[TimingEntry]) -> String {
    let total: f64 = timings.iter().map(|entry| entry.time.as_secs_f64()).sum();
    let mut out = format!("// pass execution timing, {:.4} s in all\n", total);
    for entry in timings {
        let seconds = entry.time.as_secs_f64();
        let share = if total > 0.0 { seconds / total * 100.0 } else { 0.0 };
        let indent = entry.depth * 2;
        let (runs, s) = (entry.runs, if entry.runs == 1 { "" } else { "s" });
        let _ = writeln!(
            out,
            "//   {seconds:8.4} s {share:5.1}%  {:indent$}{} ({runs} run{s})",
            "", entry.pass
        );
    }
    out
}

/// `--mlir-pass-statistics`
pub(crate) fn statistics_table(timings: &[TimingEntry]) -> String {
    let mut out = "// pass statistics\n".to_owned();
    for entry in timings {
        let _ = writeln!(out, "//   {:indent$}{}", "", entry.pass, indent = entry.depth * 2);
        for (name, count) in &entry.statistics {
            let _ = writeln!(out, "//     {count:>8} {name}");
        }
    }
    out
}
