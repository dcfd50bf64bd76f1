//! `exec`: a program outside Piper as a pass.
//!
//! The program gets the module's text on standard input and writes the module that takes its place to standard output.
//! Whatever it does, Piper goes on: a program that crashes, hangs, or writes what is no module is an error that names it.
//! Lines on its standard error are diagnostics (`messages.rs` reads them).
//!
//! The command is split into words as a shell does it, but there is no shell: no variables, pipes or patterns. Who wants
//! one says `sh -c '...'`.

mod messages;
mod output;
mod process;

use std::time::Duration;

use piper_ir::pass::{
    OptionDef, Origin, PassContext, PassFailed, PassInfo, PassOptions, PassResult, quoted_value,
};
use piper_ir::text::{PrintOptions, print_module};
use piper_ir::{Diagnostic, Severity, SourceFile};

use process::{Ended, Finished};

/// The pass's name.
pub const NAME: &str = "exec";

/// How long a program may take, in seconds, if nothing else is said.
const DEFAULT_TIMEOUT: &str = "60";

/// Of what a failing program wrote to standard error, the last lines go with the error.
const LAST_LINES: usize = 30;
/// What to do about something that is left and could still write.
const LEFT: &str =
    "wait for what writes; what is to stay needs an output of its own: '... > /dev/null &'";

const DESCRIPTION: &str = "\
Input: any module. Its text goes to the program's standard input; what the program writes to standard output takes the \
module's place. Lines on standard error that are JSON objects are diagnostics, others are remarks. See docs/plugins.md.

Fails if the program cannot be started, ends with another status than 0 or by a signal, takes longer than `timeout`, \
leaves something running that could still write its output 1 s later, reports an error, or writes something that is not a \
module or does not verify.";

/// The pass `exec`.
pub fn pass() -> PassInfo {
    let options = vec![
        OptionDef::new("command", "the program and its arguments, as in 'python3 pass.py'", None),
        OptionDef::new(
            "options",
            "what it gets as further arguments: a=1,b becomes --a=1 --b",
            None,
        ),
        OptionDef::new(
            "timeout",
            "seconds it may take; then it is killed with what it started",
            Some(DEFAULT_TIMEOUT),
        ),
        OptionDef::new("form", "custom or generic: the form of the text it gets", Some("custom")),
        OptionDef::new("locations", "write locations, so that they survive", Some("true")),
    ];
    PassInfo::with_options(NAME, "Run a program outside Piper as a pass", options, |options| {
        let program = Program::read(options)?;
        Ok(move |cx: &mut PassContext<'_, '_>| program.run(cx))
    })
    .lists(&["options"])
    .from_origin(Origin::Program("".into()))
    .describe(DESCRIPTION)
}

/// What is run, and how.
#[derive(Clone, Debug)]
struct Program {
    /// The command as the user wrote it.
    command: String,
    words: Vec<String>,
    timeout: Duration,
    /// The argument that gives it more time.
    with_more_time: String,
    print: PrintOptions,
}

impl Program {
    fn read(options: &PassOptions) -> Result<Self, String> {
        let command = options.text("command").ok_or_else(|| {
            format!("pass '{NAME}' needs a command, as in {NAME}{{command='python3 pass.py'}}")
        })?;
        let mut words = shlex::split(command).ok_or_else(|| {
            format!(
                "the option 'command' of pass '{NAME}' has a quote that is not closed: '{command}'"
            )
        })?;
        if words.is_empty() {
            return Err(format!(
                "the option 'command' of pass '{NAME}' names no program: '{command}'"
            ));
        }
        for option in options.list::<String>("options")? {
            words.push(format!("--{option}"));
        }
        // It has a default.
        let seconds: f64 = options.get("timeout")?.unwrap_or_default();
        let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|t| !t.is_zero());
        let timeout = timeout.ok_or_else(|| {
            format!(
                "option 'timeout' of pass '{NAME}' takes seconds, from a nanosecond to 10^19, not '{seconds}'"
            )
        })?;
        let form = options.one_of("form", &["custom", "generic"])?;
        let print = PrintOptions {
            generic: form == Some("generic"),
            locations: options.get("locations")?.unwrap_or(true),
            // A line says all about itself, which is what scripts that read lines need.
            local_scope: true,
            ..PrintOptions::default()
        };
        let with_more_time = with_more_time(options, seconds);
        Ok(Self { command: command.to_owned(), words, timeout, with_more_time, print })
    }

    fn run(&self, cx: &mut PassContext<'_, '_>) -> PassResult {
        let loc = cx.module.op_loc(cx.op);
        if cx.op != cx.module.root() || cx.module.name_text(cx.op) != "builtin.module" {
            let message = format!("pass '{NAME}' runs on the whole file, which must be a module");
            cx.reporter.error(loc, message);
            return Err(PassFailed);
        }
        let text = print_module(cx.module, self.print);
        let finished = process::run(&self.words, text.into_bytes(), self.timeout);
        let finished = finished.map_err(|problem| {
            let message = format!("{} {problem}", self.named());
            cx.reporter.error(loc, message);
            PassFailed
        })?;
        let before = cx.reporter.error_count();
        let plain = messages::report(&finished.stderr, &self.command, cx.reporter);
        let problem = self.problem(&finished);
        if let Some((problem, hint)) = problem {
            let mut error =
                Diagnostic::new(Severity::Error, loc, format!("{} {problem}", self.named()));
            let skipped = plain.len().saturating_sub(LAST_LINES);
            for line in plain.iter().skip(skipped) {
                error.note(cx.ctx().unknown_loc(), format!("it wrote: {line}"));
            }
            error.hint = hint;
            cx.reporter.report(error);
            return Err(PassFailed);
        }
        for line in plain {
            cx.reporter.remark(cx.ctx().unknown_loc(), format!("{}: {line}", self.command));
        }
        cx.fail_if_errors_since(before)?;
        self.replace(cx, finished)
    }

    /// What is wrong with how the program ended, and what to do about it.
    fn problem(&self, finished: &Finished) -> Option<(String, Option<String>)> {
        let seconds = self.timeout.as_secs_f64();
        let because = |text: String| Some((text, None));
        if let Some(bytes) = finished.wrote_more_than {
            return because(format!("wrote more than {} MiB and was stopped", bytes >> 20));
        }
        match &finished.ended {
            Ended::TimedOut => Some((
                format!("took longer than {seconds} s and was killed"),
                Some(format!("if it needs more: {}", self.with_more_time)),
            )),
            Ended::Signal(signal) => because(format!("was ended by signal {signal}")),
            Ended::Status(0) if finished.is_held_open => Some((
                "ended, but something that it started still holds its output open".to_owned(),
                Some(LEFT.to_owned()),
            )),
            Ended::Status(0) if finished.was_cut_off => Some((
                "ended, but something that it started could still write its output 1 s later, and was stopped".to_owned(),
                Some(LEFT.to_owned()),
            )),
            Ended::Status(0) if finished.stdout.trim_ascii().is_empty() => Some((
                "wrote no module".to_owned(),
                Some("a pass that changes nothing writes what it read".to_owned()),
            )),
            Ended::Status(0) => None,
            Ended::Status(status) => because(format!("ended with status {status}")),
        }
    }

    /// Reads what the program wrote and puts it in the module's place.
    fn replace(&self, cx: &mut PassContext<'_, '_>, finished: Finished) -> PassResult {
        let loc = cx.module.op_loc(cx.op);
        let ctx = cx.module.ctx_arc();
        let text = String::from_utf8(finished.stdout).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let message = format!("{} wrote bytes that are no text, in line {line}", self.named());
            cx.reporter.error(loc, message);
            PassFailed
        })?;
        let source = SourceFile::new(format!("<output of {}>", self.command), text);
        let (read, diagnostics) = output::read(&ctx, &source);
        for diagnostic in diagnostics {
            cx.reporter.report(diagnostic);
        }
        match read {
            Ok(module) => {
                *cx.module = module;
                cx.op = cx.module.root();
                Ok(())
            }
            Err(what) => {
                let message = format!("{} wrote {what}", self.named());
                cx.reporter.error(loc, message).hint("the errors above are in its output");
                Err(PassFailed)
            }
        }
    }

    fn named(&self) -> String {
        format!("pass '{NAME}': program '{}'", self.command)
    }
}

/// The pass with these options as an argument of a command line, with twice as many seconds.
fn with_more_time(options: &PassOptions, seconds: f64) -> String {
    let mut text = format!("{NAME}{{");
    for name in ["command", "options", "form", "locations"] {
        if let (true, Some(value)) = (options.is_given(name), options.text(name)) {
            text += &format!("{name}={} ", quoted_value(value));
        }
    }
    text += &format!("timeout={}}}", seconds * 2.0);
    let quoted = shlex::try_quote(&text).map(|quoted| quoted.into_owned());
    format!("--pass {}", quoted.unwrap_or(text))
}
