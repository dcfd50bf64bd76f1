//! One part of the input on its way from text to text.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use piper_ir::pass::{IrPrinting, Origin, PassRegistry, RemarkFilter, RemarkKind, RunOptions};
use piper_ir::text::{
    PrintOptions, parse_module, parse_without_module, print_module, print_op, write_module,
};
use piper_ir::verify::verify;
use piper_ir::{Context, Diagnostic, Loc, Module, Op, Reporter, Severity, Sources};
use regex::Regex;

use crate::args::Invocation;
use crate::emit::{Emission, Form};
use crate::files::OutputFile;
use crate::flags::{Flags, VerifyLevel};
use crate::report::Style;
use crate::reproducer::Reproducer;
use crate::split::Part;
use crate::stages::{self, Job};
use crate::timing::Phases;
use crate::trace::Trace;
use crate::{crash, expected, round_trip, statistics, timing};

/// What all parts of an input have in common.
pub(crate) struct Session<'t> {
    pub(crate) ctx: Arc<Context>,
    pub(crate) registry: &'t PassRegistry,
    pub(crate) sources: Sources,
    /// The input's name in locations.
    pub(crate) name: String,
    pub(crate) job: Job,
    pub(crate) invocation: &'t Invocation,
    pub(crate) style: Style,
}

/// What became of a part.
#[derive(Debug)]
pub(crate) struct Done {
    /// The result, unless something was wrong.
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) stderr: String,
    pub(crate) failed: bool,
    /// The message of a panic inside a pass.
    pub(crate) panic: Option<String>,
    /// Whose fault the panic is.
    pub(crate) culprit: Origin,
    /// Files to write: IR around passes.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// A reproducer to write, and where if it was said.
    pub(crate) reproducer: Option<(Option<String>, String)>,
}

impl Session<'_> {
    fn flags(&self) -> &Flags {
        &self.invocation.flags
    }

    /// Checks what flags say that clap does not know to check.
    ///
    /// # Errors
    /// A regular expression that is none.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.remark_filter().map(|_| ())
    }

    /// Takes a part from text to text, which goes to `file` as it is printed if there is one.
    pub(crate) fn part(&self, part: &Part, file: Option<&mut OutputFile>) -> Done {
        let flags = self.flags();
        let start = Instant::now();
        let mut reporter = Reporter::new(&self.ctx);
        reporter.capture_stacks(flags.messages.mlir_print_stacktrace_on_diagnostic);
        let mut trace = Trace {
            to_files: flags.dumps.mlir_print_ir_tree_dir.is_some(),
            keeps_steps: flags.reproducers.local_reproducer,
            ..Trace::default()
        };
        let (mut phases, mut module) = (Phases::default(), None);
        let outcome = crash::guarded(|| {
            self.through(part, &mut reporter, &mut trace, &mut phases, &mut module, file)
        });
        phases.total = start.elapsed();
        let (text, panic) = match outcome {
            Ok(text) => (text, None),
            Err(panic) => {
                let place = trace.failure.as_ref();
                let place = place.map_or(String::new(), |f| format!("in {}: ", f.pass_text()));
                (None, Some(format!("{place}{panic}")))
            }
        };
        let reproducer = self.reproducer(part, &trace, panic.is_some());
        let mut done = Done {
            failed: text.is_none() || reporter.error_count() > 0 || panic.is_some(),
            text,
            stderr: self.near_misses(part) + &std::mem::take(&mut trace.printed),
            panic,
            culprit: trace.failure.as_ref().map(|f| f.origin.clone()).unwrap_or_default(),
            files: Vec::new(),
            reproducer,
        };
        if let Some(folder) = &flags.dumps.mlir_print_ir_tree_dir {
            let files = std::mem::take(&mut trace.files).into_iter();
            done.files =
                files.map(|(path, text)| (PathBuf::from(folder).join(path), text)).collect();
        }
        if flags.passes.dump_pass_pipeline {
            let count = count_passes(&trace);
            done.stderr += &format!("Pass Manager with {count} passes:\n{}\n", trace.pipeline());
        }
        self.messages(part, reporter.take(), module.as_ref(), &trace, &mut done);
        if let Some(panic) = &done.panic {
            done.stderr += &self.style.plain_error(&format!("internal error {panic}"));
        }
        if flags.reports.mlir_timing {
            let (display, format) =
                (flags.reports.mlir_timing_display, flags.reports.mlir_output_format);
            done.stderr += &timing::report(&phases, &trace.records, display, format);
        }
        if flags.reports.mlir_pass_statistics {
            let display = flags.reports.mlir_pass_statistics_display;
            done.stderr += &statistics::report(&trace.records, display);
        }
        done
    }

    /// Warnings of lines that are almost the split marker: about the file, not about a part, so nobody expects them.
    fn near_misses(&self, part: &Part) -> String {
        let warning = |line: &u32| {
            let loc = self.ctx.file_loc(&self.name, *line, 1);
            let message = "this line is almost the split marker";
            let mut warning = Diagnostic::new(Severity::Warning, loc, message);
            warning.hint("the marker stands alone, from the line's beginning");
            warning
        };
        let warnings: Vec<Diagnostic> = part.near_misses.iter().map(warning).collect();
        self.style.rendered(&self.ctx, &self.sources, &warnings)
    }

    /// Reads, verifies, runs, prints. `None` if something was wrong, which is in `reporter`.
    fn through(
        &self,
        part: &Part,
        reporter: &mut Reporter<'_>,
        trace: &mut Trace,
        phases: &mut Phases,
        kept: &mut Option<Module>,
        file: Option<&mut OutputFile>,
    ) -> Option<Vec<u8>> {
        let checking = &self.flags().checking;
        let parse = if checking.no_implicit_module { parse_without_module } else { parse_module };
        let parsed = timed(&mut phases.parser, || parse(&self.ctx, &part.source, reporter))?;
        let module = kept.insert(parsed);
        if self.flags().reproducers.run_reproducer {
            Reproducer::remove_from(module);
        }
        if !checking.mlir_very_unsafe_disable_verifier_on_parsing
            && !timed(&mut phases.verifier, || verify(module, reporter))
        {
            return None;
        }
        if checking.verify_roundtrip && !round_trip::check(module, checking, reporter) {
            return None;
        }
        let options = self.run_options();
        stages::run(&self.job, self.registry, module, reporter, &options, trace).ok()?;
        if self.flags().emit.emit != Form::Pir {
            let emission = Emission {
                flags: &self.flags().emit,
                registry: self.registry,
                sources: &self.sources,
                name: &self.name,
                options: &options,
            };
            let written = emission.run(module, reporter, trace)?;
            return Some(match file {
                None => written,
                Some(file) => {
                    let _ = file.write(&written);
                    Vec::new()
                }
            });
        }
        let print = options.printing.print;
        Some(timed(&mut phases.output, || match file {
            None => print_module(module, print).into_bytes(),
            Some(file) => {
                // The file remembers what went wrong.
                let _ = write_module(module, print, &mut |text| file.write(text.as_bytes()));
                Vec::new()
            }
        }))
    }

    fn print_options(&self) -> PrintOptions {
        let printing = &self.flags().printing;
        PrintOptions {
            generic: printing.mlir_print_op_generic,
            locations: printing.mlir_print_debuginfo,
            local_scope: printing.mlir_print_local_scope,
            skip_regions: printing.mlir_print_skip_regions,
            unique_ids: printing.mlir_print_unique_ssa_ids,
            location_names: printing.mlir_use_nameloc_as_prefix,
            elide_elements: printing.mlir_elide_elementsattrs_if_larger,
            // -1 and all below: never.
            hex_elements: printing
                .mlir_print_elementsattrs_with_hex_if_larger
                .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            elide_resources: printing.mlir_elide_resource_strings_if_larger,
        }
    }

    fn run_options(&self) -> RunOptions {
        let (flags, dumps) = (self.flags(), &self.flags().dumps);
        RunOptions {
            verify_each: flags.checking.verify_each,
            printing: IrPrinting {
                before_all: dumps.mlir_print_ir_before_all,
                after_all: dumps.mlir_print_ir_after_all,
                before: dumps.mlir_print_ir_before.clone(),
                after: dumps.mlir_print_ir_after.clone(),
                only_changes: dumps.mlir_print_ir_after_change,
                only_failures: dumps.mlir_print_ir_after_failure,
                module_scope: dumps.mlir_print_ir_module_scope,
                only: dumps.print_ir_only.clone(),
                print: self.print_options(),
            },
            threads: usize::from(flags.passes.mlir_disable_threading),
            // What is malformed was refused before.
            remarks: self.remark_filter().unwrap_or_default(),
            ..RunOptions::default()
        }
    }

    fn remark_filter(&self) -> Result<RemarkFilter, String> {
        let reports = &self.flags().reports;
        let read = |name: &str, text: &Option<String>| -> Result<Option<Regex>, String> {
            let read = text.as_deref().map(Regex::new).transpose();
            read.map_err(|error| format!("--{name} is not a regular expression: {error}"))
        };
        let all = read("remarks-filter", &reports.remarks_filter)?;
        let passed = read("remarks-filter-passed", &reports.remarks_filter_passed)?;
        let missed = read("remarks-filter-missed", &reports.remarks_filter_missed)?;
        let failed = read("remarks-filter-failed", &reports.remarks_filter_failed)?;
        let analysis = read("remarks-filter-analyse", &reports.remarks_filter_analyse)?;
        if [&all, &passed, &missed, &failed, &analysis].iter().all(|filter| filter.is_none()) {
            return Ok(RemarkFilter::default());
        }
        Ok(RemarkFilter::new(move |kind, pass| {
            let of_kind = match kind {
                RemarkKind::Passed => &passed,
                RemarkKind::Missed => &missed,
                RemarkKind::Failed => &failed,
                RemarkKind::Analysis => &analysis,
            };
            [&all, of_kind].into_iter().flatten().any(|filter| filter.is_match(pass))
        }))
    }

    /// Puts the diagnostics, or how they differ from what was expected, on standard error.
    fn messages(
        &self,
        part: &Part,
        mut diagnostics: Vec<Diagnostic>,
        module: Option<&Module>,
        trace: &Trace,
        done: &mut Done,
    ) {
        let flags = self.flags();
        if let Some(level) = flags.checking.verify_diagnostics {
            let mut faults =
                expected::compare(&self.ctx, &self.name, &part.source.text, &diagnostics);
            faults.retain(|fault| level == VerifyLevel::All || !fault.is_surplus);
            done.failed = !faults.is_empty() || done.panic.is_some();
            let faults: Vec<Diagnostic> = faults
                .into_iter()
                .map(|fault| {
                    let line = fault.line;
                    let loc = line
                        .map_or(self.ctx.unknown_loc(), |l| self.ctx.file_loc(&self.name, l, 1));
                    Diagnostic {
                        hint: fault.hint,
                        ..Diagnostic::new(Severity::Error, loc, fault.message)
                    }
                })
                .collect();
            done.stderr += &self.style.rendered(&self.ctx, &self.sources, &faults);
            return;
        }
        for (pass, before) in &trace.implied {
            diagnostics.insert(0, self.implied_remark(pass, before));
        }
        let is_said = diagnostics.iter().any(|d| d.severity == Severity::Error);
        if done.failed && done.panic.is_none() && !is_said {
            // Never fail without saying so.
            done.stderr += &self.style.plain_error("a pass failed and did not say why");
        }
        if let (Some(module), true) = (module, flags.messages.mlir_print_op_on_diagnostic) {
            add_operations(module, &mut diagnostics);
        }
        done.stderr += &self.style.rendered(&self.ctx, &self.sources, &diagnostics);
    }

    fn implied_remark(&self, pass: &str, before: &[String]) -> Diagnostic {
        let list = before.join(",");
        let message = format!("ran '{list}' before '{pass}', which works on their result");
        let mut remark = Diagnostic::new(Severity::Remark, self.ctx.unknown_loc(), message);
        remark.hint(format!(
            "the same in full: --pass-pipeline='builtin.module({list},{pass})'; --no-implied-passes leaves them out"
        ));
        remark
    }

    /// The reproducer that is wanted, if one is.
    fn reproducer(
        &self,
        part: &Part,
        trace: &Trace,
        panicked: bool,
    ) -> Option<(Option<String>, String)> {
        let flags = &self.flags().reproducers;
        let failed = panicked || trace.failure.is_some();
        let wanted = match &flags.crash_reproducer {
            Some(path) if failed => Some(path.clone()),
            _ => flags.generate_reproducer.clone(),
        };
        if wanted.is_none() && !panicked {
            return None;
        }
        let (text, pipeline) = match &trace.step {
            Some((module, pipeline)) if failed => {
                let print = PrintOptions { locations: false, ..self.print_options() };
                (print_module(module, print), pipeline.clone())
            }
            _ => (part.source.text.to_string(), trace.pipeline()),
        };
        let reproducer = Reproducer::of(self.invocation, pipeline);
        Some((wanted, reproducer.append_to(&text)))
    }

    /// What is said of a reproducer that was written, or was not.
    pub(crate) fn reproducer_message(
        &self,
        written: Result<String, String>,
        panicked: Option<&Origin>,
    ) -> String {
        let blame = |culprit: &Origin| match culprit {
            Origin::Builtin => format!(
                "This is a fault of Piper, not of your input. Please report it at {ISSUES}\n"
            ),
            other => format!(
                "This is a fault of {other}, not of Piper. Please report it to who made it\n"
            ),
        };
        match (written, panicked) {
            (_, _) if self.flags().checking.verify_diagnostics.is_some() => String::new(),
            (Ok(file), Some(culprit)) => format!(
                "{}with the file '{file}', which reproduces it:\n\n    piper-opt --run-reproducer '{file}'\n",
                blame(culprit)
            ),
            (Err(why), Some(culprit)) => {
                format!("{}with the input and the command. ({why})\n", blame(culprit))
            }
            (Ok(file), None) => {
                let message = format!("a reproducer was written to '{file}'");
                let mut remark = Diagnostic::new(Severity::Remark, self.ctx.unknown_loc(), message);
                remark.hint(format!("run it with: piper-opt --run-reproducer '{file}'"));
                self.style.rendered(&self.ctx, &Sources::default(), &[remark])
            }
            (Err(why), None) => self.style.plain_error(&why),
        }
    }
}

const ISSUES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");

fn timed<R>(total: &mut Duration, run: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = run();
    *total += start.elapsed();
    result
}

fn count_passes(trace: &Trace) -> usize {
    fn count(records: &[piper_ir::pass::PassRecord]) -> usize {
        let one = |r: &piper_ir::pass::PassRecord| usize::from(!r.is_pipeline) + count(&r.children);
        records.iter().map(one).sum()
    }
    count(&trace.records)
}

/// Notes with the operations that errors are about: those that have an error's location.
fn add_operations(module: &Module, diagnostics: &mut [Diagnostic]) {
    let unknown = module.ctx().unknown_loc();
    let is_meant = |loc: Loc| loc != unknown;
    let find = |loc: Loc| -> Option<Op> {
        module.walk(module.root()).find(|op| module.op_loc(*op) == loc)
    };
    for diagnostic in diagnostics.iter_mut().filter(|d| d.severity == Severity::Error) {
        if let Some(op) = Some(diagnostic.loc).filter(|loc| is_meant(*loc)).and_then(find) {
            let print = PrintOptions { generic: true, ..PrintOptions::default() };
            let text = print_op(module, op, print);
            diagnostic.note(diagnostic.loc, format!("see current operation: {}", text.trim_end()));
        }
    }
}
