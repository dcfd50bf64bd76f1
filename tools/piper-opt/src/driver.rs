//! One run: arguments, input, passes, output.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use piper_ir::pass::{IrPrinting, PassRegistry, RunOptions};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Diagnostic, Dialect, Reporter, Severity, SourceFile, Sources};
use piper_passes::pipeline_text::{pass_list, pass_manager};

use crate::args::{Flags, Invocation};
use crate::stages::{Job, Trace};
use crate::{Output, args, crash, expected, files, listing, report, stages};

/// The tool with what it knows.
pub(crate) struct Tool {
    pub(crate) registry: PassRegistry,
    pub(crate) dialects: Vec<Dialect>,
    pub(crate) colour: bool,
}

/// Between parts of a split input, and between their outputs.
const SPLIT: &str = "// -----";

/// What became of one part of the input.
struct Part {
    /// The result, unless something was wrong.
    text: Option<String>,
    stderr: String,
    failed: bool,
    panic: Option<String>,
}

impl Tool {
    pub(crate) fn run(&self, args: &[String], stdin: &mut dyn Read, cwd: &Path) -> Output {
        let invocation = match args::parse(&self.registry, args) {
            Ok(invocation) => invocation,
            Err(error) => return self.command_line_error(&error),
        };
        self.invoke(invocation, stdin, cwd)
            .unwrap_or_else(|stderr| Output::failure(stderr.into_bytes()))
    }

    fn command_line_error(&self, error: &clap::Error) -> Output {
        let text = error.render();
        let text = if self.colour { text.ansi().to_string() } else { text.to_string() };
        if error.use_stderr() { Output::failure(text) } else { Output::success(text) }
    }

    fn invoke(
        &self,
        mut invocation: Invocation,
        stdin: &mut dyn Read,
        cwd: &Path,
    ) -> Result<Output, String> {
        let plain = |message: String| report::plain_error(&message, self.colour);
        let mut ctx = Context::new(self.dialects.iter().cloned());
        if invocation.flags.list_passes {
            return Ok(Output::success(listing::passes(&self.registry)));
        }
        if invocation.flags.show_dialects {
            return Ok(Output::success(listing::dialects(ctx.dialects())));
        }
        // Before the input is read, so that a slip in a pipeline is not answered with "waiting for standard input".
        let mut job = self.job(&ctx, &invocation)?;
        let (name, text) = files::read(&invocation.flags.input, stdin, cwd).map_err(plain)?;
        if invocation.flags.run_reproducer {
            invocation = self.reproduced(&invocation.flags, &text)?;
            job = self.job(&ctx, &invocation)?;
        }
        let flags = &invocation.flags;
        ctx.allow_unregistered = flags.allow_unregistered_dialect;
        let ctx = Arc::new(ctx);
        let mut sources = Sources::default();
        sources.add(SourceFile::new(&*name, &*text));

        let parts = if flags.split_input_file { split(&text) } else { vec![text.clone()] };
        let mut output = Output::default();
        let mut texts = Vec::new();
        for part in parts {
            let done = self.part(&ctx, &sources, &name, &part, &job, flags);
            output.stderr.extend(done.stderr.into_bytes());
            output.code |= i32::from(done.failed);
            texts.extend(done.text);
            if let Some(panic) = done.panic {
                let args = reproducer_args(&invocation);
                let wanted = flags.crash_reproducer.as_deref();
                let file = crash::write_reproducer(wanted, part.trim_start(), &args, cwd);
                output.stderr.extend(self.internal_error(&panic, file).into_bytes());
                output.panic = Some(panic);
                break;
            }
        }
        if output.code == 0 {
            let text = texts.join(&format!("\n{SPLIT}\n\n"));
            if flags.output == "-" {
                output.stdout = text.into_bytes();
            } else {
                files::write(&flags.output, text.as_bytes(), cwd).map_err(plain)?;
            }
        }
        Ok(output)
    }

    /// What the arguments ask to run; an error is already rendered.
    fn job(&self, ctx: &Context, invocation: &Invocation) -> Result<Job, String> {
        let point = |option: &str, text: &str, error: &_| {
            report::pipeline_error(ctx, option, text, error, self.colour)
        };
        match &invocation.flags.pass_pipeline {
            Some(_) if !invocation.passes.is_empty() => Err(report::plain_error(
                "--pass-pipeline says all that runs; it cannot be combined with --pass or passes by name",
                self.colour,
            )),
            Some(text) => match pass_manager(&self.registry, text) {
                Ok(_) => Ok(Job::Pipeline(text.clone())),
                Err(error) => Err(point("--pass-pipeline", text, &error)),
            },
            None => {
                let mut requests = Vec::new();
                for text in &invocation.passes {
                    let list = pass_list(&self.registry, text);
                    requests.extend(list.map_err(|error| point("--pass", text, &error))?);
                }
                Ok(Job::Passes { requests, implied: !invocation.flags.no_implied_passes })
            }
        }
    }

    fn reproduced(&self, given: &Flags, text: &str) -> Result<Invocation, String> {
        let plain = |message: &str| report::plain_error(message, self.colour);
        let args = crash::reproducer_args(text).ok_or_else(|| {
            plain("--run-reproducer: the first line of the input does not say how it was made")
        })?;
        let mut invocation =
            args::parse(&self.registry, &args).map_err(|error| error.render().to_string())?;
        invocation.flags.input.clone_from(&given.input);
        invocation.flags.output.clone_from(&given.output);
        invocation.flags.crash_reproducer.clone_from(&given.crash_reproducer);
        Ok(invocation)
    }

    fn part(
        &self,
        ctx: &Arc<Context>,
        sources: &Sources,
        name: &str,
        text: &str,
        job: &Job,
        flags: &Flags,
    ) -> Part {
        let print = PrintOptions {
            generic: flags.mlir_print_op_generic,
            locations: flags.mlir_print_debuginfo,
        };
        let options = RunOptions {
            verify_each: flags.verify_each,
            printing: IrPrinting {
                before_all: flags.mlir_print_ir_before_all,
                after_all: flags.mlir_print_ir_after_all,
                only_changes: flags.mlir_print_ir_after_change,
                before: flags.mlir_print_ir_before.clone(),
                after: flags.mlir_print_ir_after.clone(),
                module_scope: flags.mlir_print_ir_module_scope,
                print,
                ..IrPrinting::default()
            },
            ..RunOptions::default()
        };
        let source = SourceFile::new(name, text);
        let (mut reporter, mut trace) = (Reporter::new(ctx), Trace::default());
        let outcome = crash::guarded(|| {
            let mut module = parse_module(ctx, &source, &mut reporter)?;
            if !verify(&module, &mut reporter) {
                return None;
            }
            let registry = &self.registry;
            stages::run(job, registry, &mut module, &mut reporter, &options, &mut trace).ok()?;
            Some(print_module(&module, print))
        });
        let mut stderr = std::mem::take(&mut trace.printed);
        let (result, panic) = match outcome {
            Ok(result) => (result, None),
            Err(panic) => {
                let place = trace.running.map(|pass| format!("in pass '{pass}': "));
                (None, Some(format!("{}{panic}", place.unwrap_or_default())))
            }
        };
        if !flags.verify_diagnostics {
            for (pass, before) in &trace.implied {
                stderr += &self.implied_remark(ctx, pass, before);
            }
        }
        if flags.mlir_timing {
            stderr += &stages::timing_table(&trace.records);
        }
        if flags.mlir_pass_statistics {
            stderr += &stages::statistics_table(&trace.records);
        }
        let mut failed = result.is_none() || reporter.error_count() > 0;
        let mut diagnostics = reporter.take();
        if flags.verify_diagnostics {
            let faults = expected::compare(ctx, name, text, &diagnostics);
            failed = !faults.is_empty();
            diagnostics = faults
                .into_iter()
                .map(|fault| {
                    let loc = fault.line.map_or(ctx.unknown_loc(), |l| ctx.file_loc(name, l, 1));
                    Diagnostic::new(Severity::Error, loc, fault.message)
                })
                .collect();
        } else if failed
            && panic.is_none()
            && !diagnostics.iter().any(|d| d.severity == Severity::Error)
        {
            // Never fail without saying so.
            stderr += &report::plain_error("a pass failed and did not say why", self.colour);
        }
        stderr += &report::rendered(ctx, sources, &diagnostics, self.colour);
        Part { text: result, stderr, failed: failed || panic.is_some(), panic }
    }

    fn implied_remark(&self, ctx: &Context, pass: &str, before: &[&str]) -> String {
        let list = before.join(",");
        let message = format!("ran '{list}' before '{pass}', which works on their result");
        let mut remark = Diagnostic::new(Severity::Remark, ctx.unknown_loc(), message);
        remark.hint(format!(
            "the same in full: --pass-pipeline='builtin.module({list},{pass})'; --no-implied-passes leaves them out"
        ));
        report::rendered(ctx, &Sources::default(), &[remark], self.colour)
    }

    fn internal_error(&self, panic: &str, file: Result<String, String>) -> String {
        let error = report::plain_error(&format!("internal error {panic}"), self.colour);
        let repository = env!("CARGO_PKG_REPOSITORY");
        match file {
            Ok(file) => format!(
                "{error}This is a fault of Piper, not of your input. Please report it at {repository}/issues\n\
                 with the file '{file}', which reproduces it:\n\n    piper-opt --run-reproducer '{file}'\n"
            ),
            Err(why) => format!(
                "{error}This is a fault of Piper, not of your input. Please report it at {repository}/issues\n\
                 with the input and the command. ({why})\n"
            ),
        }
    }
}

/// The arguments that matter to a crash.
fn reproducer_args(invocation: &Invocation) -> Vec<String> {
    let flags = &invocation.flags;
    let mut args: Vec<String> =
        invocation.passes.iter().map(|text| format!("--pass={text}")).collect();
    args.extend(flags.pass_pipeline.iter().map(|text| format!("--pass-pipeline={text}")));
    args.push(format!("--verify-each={}", flags.verify_each));
    for (set, flag) in [
        (flags.no_implied_passes, "--no-implied-passes"),
        (flags.allow_unregistered_dialect, "--allow-unregistered-dialect"),
        (flags.mlir_print_op_generic, "--mlir-print-op-generic"),
        (flags.mlir_print_debuginfo, "--mlir-print-debuginfo"),
    ] {
        if set {
            args.push(flag.to_owned());
        }
    }
    args
}

/// The parts of a text between lines that begin with the mark, each after as many empty lines as keep its line numbers.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with(SPLIT) {
            parts.push("\n".repeat(number + 1));
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parts_keep_their_line_numbers() {
        let parts = split("a\nb\n// -----\nc\n// ----- more\n");
        assert_eq!(parts, ["a\nb\n", "\n\n\nc\n", "\n\n\n\n\n"]);
    }
}
