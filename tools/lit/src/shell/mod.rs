//! Executes one `RUN:` line: pipelines of tools, builtins and FileCheck, one command after the other.
//!
//! Commands of a pipeline run in sequence, each given the whole output of the one before. A pipeline fails when any of
//! its commands does. Where standard error goes to the same place as standard output, it comes first: a
//! tool reports while it works and prints its result at the end.

mod builtins;
mod diff;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use syntax::{Command, Join, Pipeline, Redirection};

use crate::bless::Blesser;
use crate::filecheck;
use crate::{Output, panics};

/// A tool that runs in this process.
pub(crate) type Tool = Arc<dyn Fn(&[String], &[u8], &Path) -> Output + Send + Sync>;

/// What a test may call besides builtins.
#[derive(Clone, Default)]
pub(crate) struct Commands {
    pub(crate) tools: BTreeMap<String, Tool>,
    pub(crate) externals: BTreeSet<String>,
}

/// The state between the RUN lines of one test.
pub(crate) struct Shell<'a> {
    pub(crate) commands: &'a Commands,
    pub(crate) cwd: PathBuf,
    /// Present when expected output is being regenerated.
    pub(crate) blesser: Option<&'a mut Blesser>,
}

/// Longest excerpt of a stream that a failure shows, in bytes.
const EXCERPT: usize = 8_000;

/// A command's status; a panic is kept apart, because `not` must not turn it into success.
struct Status {
    output: Output,
    panic: Option<String>,
}

impl From<Output> for Status {
    fn from(output: Output) -> Self {
        Self { output, panic: None }
    }
}

impl Shell<'_> {
    /// Runs `line`, already substituted.
    ///
    /// # Errors
    /// A report of the commands that ran, with their status and output, when the line as a whole fails.
    pub(crate) fn run_line(&mut self, line: &str) -> Result<(), String> {
        let pipelines = syntax::parse(line)?;
        let mut succeeded = true;
        let mut log = String::new();
        for pipeline in &pipelines {
            let due = match pipeline.join {
                Join::Always => true,
                Join::OnSuccess => succeeded,
                Join::OnFailure => !succeeded,
            };
            if due {
                succeeded = self.run_pipeline(pipeline, &mut log)? != pipeline.negated;
            }
        }
        if succeeded { Ok(()) } else { Err(log) }
    }

    fn run_pipeline(&mut self, pipeline: &Pipeline, log: &mut String) -> Result<bool, String> {
        let mut stdin = Vec::new();
        let mut succeeded = true;
        for (index, command) in pipeline.commands.iter().enumerate() {
            let is_last = index + 1 == pipeline.commands.len();
            if let Some(from) = command.redirections.iter().rev().find_map(|r| match r {
                Redirection::Input(from) => Some(from),
                _ => None,
            }) {
                stdin = fs::read(self.cwd.join(from))
                    .map_err(|e| format!("cannot read '{from}': {e}"))?;
            }
            let status = self.run_words(&command.words, &stdin)?;
            let failed = status.output.code != 0;
            succeeded &= !failed;
            let Output { stdout, stderr, code } = status.output;
            let (piped, kept_error) = self.redirect(command, stdout, stderr)?;
            if failed || status.panic.is_some() {
                log.push_str(&format!("$ {}\n  exit status {code}\n", shown(&command.words)));
            }
            if let Some(message) = status.panic {
                return Err(format!("{log}  the tool panicked: {message}\n"));
            }
            if failed || !kept_error.is_empty() {
                log.push_str(&excerpt("stderr", &kept_error));
            }
            if failed && is_last {
                log.push_str(&excerpt("stdout", &piped));
            }
            stdin = piped;
        }
        Ok(succeeded)
    }

    /// Sends both streams where the redirections say; gives what goes into the pipe and what stays on stderr.
    fn redirect(
        &self,
        command: &Command,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    ) -> Result<(Vec<u8>, Vec<u8>), String> {
        #[derive(Clone, PartialEq)]
        enum Sink {
            Pipe,
            Error,
            File(PathBuf),
        }
        let (mut out, mut err) = (Sink::Pipe, Sink::Error);
        let open = |to: &str, append: bool| -> Result<Sink, String> {
            let path = self.cwd.join(to);
            if !append {
                fs::write(&path, "").map_err(|e| format!("cannot write '{to}': {e}"))?;
            }
            Ok(Sink::File(path))
        };
        for redirection in &command.redirections {
            match redirection {
                Redirection::Input(_) => {}
                Redirection::Output { to, append } => out = open(to, *append)?,
                Redirection::Error { to, append } => err = open(to, *append)?,
                Redirection::Both { to, append } => {
                    out = open(to, *append)?;
                    err = out.clone();
                }
                Redirection::ErrorToOutput => err = out.clone(),
                Redirection::OutputToError => out = err.clone(),
            }
        }
        let (mut piped, mut kept) = (Vec::new(), Vec::new());
        for (sink, bytes) in [(err, stderr), (out, stdout)] {
            match sink {
                Sink::Pipe => piped.extend(bytes),
                Sink::Error => kept.extend(bytes),
                Sink::File(path) => {
                    use std::io::Write as _;
                    let file = fs::OpenOptions::new().create(true).append(true).open(&path);
                    file.and_then(|mut f| f.write_all(&bytes))
                        .map_err(|e| format!("cannot write '{}': {e}", path.display()))?;
                }
            }
        }
        Ok((piped, kept))
    }

    /// # Errors
    /// A message when the command is unknown, which fails the test whatever surrounds the command.
    fn run_words(&mut self, words: &[String], stdin: &[u8]) -> Result<Status, String> {
        let (name, args) = words.split_first().ok_or("a command is missing")?;
        match name.as_str() {
            "not" => return self.run_not(args, stdin),
            "cd" => {
                let [dir] = args else { return Err("cd needs one directory".into()) };
                let dir = self.cwd.join(dir);
                if !dir.is_dir() {
                    return Ok(Output::failure(
                        1,
                        format!("cd: no directory '{}'\n", dir.display()),
                    )
                    .into());
                }
                self.cwd = dir;
                return Ok(Output::default().into());
            }
            "FileCheck" => return Ok(self.file_check(args, stdin).into()),
            _ => {}
        }
        if let Some(tool) = self.commands.tools.get(name) {
            return Ok(match panics::catch(|| tool(args, stdin, &self.cwd)) {
                Ok(output) => output.into(),
                Err(message) => Status { output: Output::failure(101, ""), panic: Some(message) },
            });
        }
        if let Some(output) = builtins::run(name, args, stdin, &self.cwd) {
            return Ok(output.into());
        }
        if self.commands.externals.contains(name) {
            return self.run_external(name, args, stdin).map(Status::from);
        }
        let known: Vec<&str> = self.commands.tools.keys().map(String::as_str).collect();
        Err(format!("unknown command '{name}' (the tools of this suite: {})", known.join(", ")))
    }

    fn run_not(&mut self, args: &[String], stdin: &[u8]) -> Result<Status, String> {
        let (crash, args) = match args {
            [flag, rest @ ..] if flag == "--crash" => (true, rest),
            rest => (false, rest),
        };
        let mut status = self.run_words(args, stdin)?;
        if crash {
            status.output.code = i32::from(status.panic.take().is_none());
        } else {
            status.output.code = i32::from(status.output.code == 0);
        }
        Ok(status)
    }

    fn run_external(&self, name: &str, args: &[String], stdin: &[u8]) -> Result<Output, String> {
        let mut child = Process::new(name)
            .args(args)
            .current_dir(&self.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start '{name}': {e}"))?;
        let pipe = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // Written from its own thread: a child that fills its output before it reads would otherwise wait forever.
            scope.spawn(move || {
                use std::io::Write as _;
                // A child may end without reading everything; that is its right.
                let _ = pipe.map(|mut pipe| pipe.write_all(stdin));
            });
            child.wait_with_output()
        })
        .map_err(|e| format!("'{name}': {e}"))?;
        Ok(Output {
            stdout: output.stdout,
            stderr: output.stderr,
            code: output.status.code().unwrap_or(134),
        })
    }

    fn file_check(&mut self, args: &[String], stdin: &[u8]) -> Output {
        let invocation = match filecheck::parse_arguments(args) {
            Ok(invocation) => invocation,
            Err(message) => return Output::failure(2, message + "\n"),
        };
        if let Some(blesser) = self.blesser.as_deref_mut()
            && blesser.is_for(&self.cwd.join(&invocation.check_file), &invocation.options.prefixes)
        {
            let text = match invocation.input(stdin, &self.cwd) {
                Ok((_, text)) => text,
                Err(message) => return Output::failure(2, message + "\n"),
            };
            return match blesser.record(&invocation.options.prefixes, &text) {
                Ok(()) => Output::default(),
                Err(message) => Output::failure(2, message + "\n"),
            };
        }
        filecheck::run(args, stdin, &self.cwd)
    }
}

/// A command line as a person would type it.
fn shown(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        if word.is_empty() || word.contains([' ', '\'', '"', '|', ';', '<', '>', '&', '(', ')']) {
            format!("'{}'", word.replace('\'', "'\\''"))
        } else {
            word.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn excerpt(name: &str, bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return String::new();
    }
    let cut = &bytes[..bytes.len().min(EXCERPT)];
    let mut text = format!("  {name}:\n");
    for line in String::from_utf8_lossy(cut).lines() {
        text.push_str(&format!("    {line}\n"));
    }
    if cut.len() < bytes.len() {
        text.push_str(&format!("    ... {} bytes more\n", bytes.len() - cut.len()));
    }
    text
}
