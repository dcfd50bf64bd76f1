//! Running a program with its input at hand, in bounded time and memory.
//!
//! Three threads serve the pipes, so that a program may read and write in any order without a deadlock; this thread watches
//! the clock. The program leads a process group of its own: what it started ends with it.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How much a program may write: this, and [`TIMES_INPUT`] times what it reads. Then it is stopped.
const LEAST_LIMIT: usize = 64 << 20;
const TIMES_INPUT: usize = 32;
/// Of what is written to standard error beyond this, nothing is kept.
const MOST_MESSAGES: usize = 16 << 20;
const PIPES: usize = 3;
/// How often one looks whether the program ended while pipes are open, and once they are closed.
const LOOK: Duration = Duration::from_millis(20);
const POLL: Duration = Duration::from_millis(1);
/// How long pipes may stay open after the program itself ended: something it started holds them.
const GRACE: Duration = Duration::from_secs(1);

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    Status(i32),
    Signal(i32),
    TimedOut,
}

/// What a program left.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) ended: Ended,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// It closed its input with so many bytes not taken from it.
    pub(super) left_unread: Option<usize>,
    /// It was stopped because it wrote more than so many bytes.
    pub(super) wrote_more_than: Option<usize>,
}

/// What a thread at a pipe did.
enum News {
    Input { left: Option<usize> },
    Output(Vec<u8>),
    Messages(Vec<u8>),
}

/// Runs a program to its end, or to the timeout's.
///
/// # Errors
/// It cannot be started; why, as a verb phrase.
pub(super) fn run(words: &[String], input: Vec<u8>, timeout: Duration) -> Result<Finished, String> {
    let (program, arguments) = words.split_first().ok_or("is not named")?;
    let deadline = Instant::now().checked_add(timeout);
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("cannot be started: there is no program '{program}'"),
            _ => format!("cannot be started: {error}"),
        })?;
    let limit = input.len().saturating_mul(TIMES_INPUT).saturating_add(LEAST_LIMIT);
    let told = serve(&mut child, input, limit);
    let mut finished = Finished {
        ended: Ended::TimedOut,
        stdout: Vec::new(),
        stderr: Vec::new(),
        left_unread: None,
        wrote_more_than: None,
    };
    let (mut open, mut has_ended) = (PIPES, false);
    // A timeout too long to count is none.
    let mut until = deadline;
    while open > 0 || !has_ended {
        match told.recv_timeout(if open > 0 { LOOK } else { POLL }) {
            Ok(news) => {
                open -= 1;
                finished.note(news, limit);
                if finished.wrote_more_than.is_some() {
                    break;
                }
            }
            Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !has_ended && has_exited(&child) {
            has_ended = true;
            let grace = Instant::now() + GRACE;
            until = Some(until.map_or(grace, |until| until.min(grace)));
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    // Before it is waited for, so that its number is still its own; what it started and left ends, too.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let status = child.wait().map_err(|error| format!("cannot be waited for: {error}"))?;
    if has_ended {
        finished.ended = ended(status);
    }
    // What fled from the group may still hold a pipe: it is left.
    let last = Instant::now() + GRACE;
    while open > 0 {
        match told.recv_timeout(last.saturating_duration_since(Instant::now())) {
            Ok(news) => finished.note(news, limit),
            Err(_) => break,
        }
        open -= 1;
    }
    Ok(finished)
}

/// Whether the program ended. It is not waited for, so that its number stays its own.
fn has_exited(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

impl Finished {
    fn note(&mut self, news: News, limit: usize) {
        match news {
            News::Input { left } => self.left_unread = left,
            News::Messages(bytes) => self.stderr = bytes,
            News::Output(bytes) => {
                self.wrote_more_than = Some(limit).filter(|limit| bytes.len() > *limit);
                self.stdout = bytes;
            }
        }
    }
}

/// Starts the threads at the pipes.
fn serve(child: &mut Child, input: Vec<u8>, limit: usize) -> Receiver<News> {
    let (sender, receiver) = channel();
    if let Some(mut pipe) = child.stdin.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut at = 0;
            // A program may end without reading; that is told, not a fault of ours.
            while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
                match pipe.write(rest) {
                    Ok(0) => break,
                    Ok(count) => at += count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            let left = Some(input.len() - at).filter(|left| *left > 0);
            let _ = sender.send(News::Input { left });
        });
    }
    if let Some(pipe) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.take(limit as u64 + 1).read_to_end(&mut bytes);
            let _ = sender.send(News::Output(bytes));
        });
    }
    if let Some(mut pipe) = child.stderr.take() {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.by_ref().take(MOST_MESSAGES as u64).read_to_end(&mut bytes);
            // It must be able to go on writing.
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
            let _ = sender.send(News::Messages(bytes));
        });
    }
    receiver
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Status(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Status(-1),
    }
}
