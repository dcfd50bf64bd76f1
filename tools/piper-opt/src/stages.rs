//! Which passes run, in which order, and what is told of it.

use std::fmt::Write;

use piper_ir::pass::{
    Instrumentation, IrDump, PassManager, PassRecord, PassRegistry, PassResult, RunOptions,
};
use piper_ir::{Module, Reporter};
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
    /// The pass that panicked.
    pub(crate) running: Option<String>,
    /// Times and statistics, in order.
    pub(crate) records: Vec<PassRecord>,
}

impl Instrumentation for Trace {
    fn needs_order(&self) -> bool {
        false
    }

    fn pass_panicked(&mut self, pass: &str, _op: &str) {
        self.running = Some(pass.to_owned());
    }

    fn print(&mut self, dump: &IrDump<'_>) {
        let _ = write!(self.printed, "// -----// {} //----- //\n{}\n", dump.title, dump.text);
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
                trace.records.extend_from_slice(manager.records());
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
pub(crate) fn timing_table(records: &[PassRecord]) -> String {
    let total: f64 = records.iter().map(|record| record.wall.as_secs_f64()).sum();
    let mut out = format!("// pass execution timing, {:.4} s in all\n", total);
    let mut line = |record: &PassRecord, depth: usize| {
        let seconds = record.wall.as_secs_f64();
        let share = if total > 0.0 { seconds / total * 100.0 } else { 0.0 };
        let indent = depth * 2;
        let (runs, s) = (record.runs, if record.runs == 1 { "" } else { "s" });
        let _ = writeln!(
            out,
            "//   {seconds:8.4} s {share:5.1}%  {:indent$}{} ({runs} run{s})",
            "", record.name
        );
    };
    each(records, 0, &mut line);
    out
}

/// `--mlir-pass-statistics`
pub(crate) fn statistics_table(records: &[PassRecord]) -> String {
    let mut out = "// pass statistics\n".to_owned();
    let mut line = |record: &PassRecord, depth: usize| {
        let _ = writeln!(out, "//   {:indent$}{}", "", record.name, indent = depth * 2);
        for (name, count) in &record.statistics {
            let _ = writeln!(out, "//     {count:>8} {name}");
        }
    };
    each(records, 0, &mut line);
    out
}

fn each(records: &[PassRecord], depth: usize, tell: &mut impl FnMut(&PassRecord, usize)) {
    for record in records {
        tell(record, depth);
        each(&record.children, depth + 1, tell);
    }
}
