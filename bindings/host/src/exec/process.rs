//! Running a program with its input at hand, in bounded time and memory.
//!
//! Its pipes never block and are served as they are ready, so that it may read and write in any order without a deadlock,
//! and nothing waits for it once its time is up. It leads a process group of its own: what it started ends with it.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How much a program may write: this, and [`TIMES_INPUT`] times what it reads. Then it is stopped.
const LEAST_LIMIT: usize = 64 << 20;
const TIMES_INPUT: usize = 32;
/// Of what is written to standard error beyond this, nothing is kept.
const MOST_MESSAGES: usize = 16 << 20;
/// How much is read at a time.
const CHUNK: usize = 64 << 10;
/// How often one looks whether the program ended while it may still write, and once it cannot.
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
    /// Something that it started, and that fled from its process group, could still write to standard output.
    pub(super) is_held_open: bool,
    /// Something that it started still ran 1 s after it had ended, could write to standard output, and was stopped.
    pub(super) was_cut_off: bool,
    /// It was stopped because it wrote more than so many bytes.
    pub(super) wrote_more_than: Option<usize>,
}

/// Runs a program to its end, or to the timeout's.
///
/// # Errors
/// It cannot be started; why, as a verb phrase.
pub(super) fn run(words: &[String], input: Vec<u8>, timeout: Duration) -> Result<Finished, String> {
    let (program, arguments) = words.split_first().ok_or("is not named")?;
    // A timeout too long to count is none.
    let mut until = Instant::now().checked_add(timeout);
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
    let mut pipes = Pipes::of(&mut child, input);
    let mut has_ended = false;
    loop {
        pipes.serve(if pipes.can_speak() { LOOK } else { POLL });
        if pipes.has_said_too_much() {
            break;
        }
        if !has_ended && has_exited(&child) {
            has_ended = true;
            until = Some(Instant::now() + GRACE);
        }
        if has_ended && !pipes.can_speak() || until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    let was_cut_off = has_ended && pipes.output.is_some();
    // Before it is waited for, so that its number is still its own; what it started and left ends, too. It may be in another
    // group by now.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let _ = child.kill();
    let status = child.wait().map_err(|error| format!("cannot be waited for: {error}"))?;
    // What fled from the group may still hold a pipe: it is left. Of messages there is what there is.
    let last = Instant::now() + GRACE;
    while pipes.can_speak() && !pipes.has_said_too_much() && Instant::now() < last {
        let wait = if pipes.output.is_some() { LOOK } else { Duration::ZERO };
        if !pipes.serve(wait) && pipes.output.is_none() {
            break;
        }
    }
    Ok(Finished {
        ended: if has_ended { ended(status) } else { Ended::TimedOut },
        is_held_open: pipes.output.is_some(),
        was_cut_off,
        wrote_more_than: Some(pipes.limit).filter(|_| pipes.has_said_too_much()),
        stdout: pipes.stdout,
        stderr: pipes.stderr,
    })
}

/// Whether the program ended. It is not waited for, so that its number stays its own.
fn has_exited(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

/// The pipes that are still open, what is to go into one, and what came out of the others.
struct Pipes {
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    messages: Option<ChildStderr>,
    stdin: Vec<u8>,
    /// How much of `stdin` was written.
    written: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// How many bytes of standard output are too many by one.
    limit: usize,
    chunk: Vec<u8>,
}

impl Pipes {
    fn of(child: &mut Child, stdin: Vec<u8>) -> Self {
        // On a pipe this does not fail.
        fn ready<P: AsFd>(pipe: Option<P>) -> Option<P> {
            pipe.filter(|pipe| ioctl_fionbio(pipe, true).is_ok())
        }
        Self {
            input: ready(child.stdin.take()),
            output: ready(child.stdout.take()),
            messages: ready(child.stderr.take()),
            limit: stdin.len().saturating_mul(TIMES_INPUT).saturating_add(LEAST_LIMIT),
            stdin,
            written: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            chunk: vec![0; CHUNK],
        }
    }

    /// Whether anything may still come.
    fn can_speak(&self) -> bool {
        self.output.is_some() || self.messages.is_some()
    }

    fn has_said_too_much(&self) -> bool {
        self.stdout.len() > self.limit
    }

    /// Waits until a pipe is ready, but no longer than `wait`, and serves those that are. Whether any was.
    fn serve(&mut self, wait: Duration) -> bool {
        let reads =
            [self.output.as_ref().map(AsFd::as_fd), self.messages.as_ref().map(AsFd::as_fd)];
        let reads =
            reads.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let writes = self.input.iter().map(|pipe| PollFd::new(pipe, PollFlags::OUT));
        let mut watched: Vec<PollFd<'_>> = reads.chain(writes).collect();
        let for_long = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        match poll(&mut watched, Some(&for_long)) {
            Ok(0) => return false,
            Err(Errno::INTR) => return true,
            Ok(_) => {}
            Err(_) => thread::sleep(wait),
        }
        self.feed();
        let limit = self.limit.saturating_add(1);
        listen(&mut self.output, &mut self.chunk, &mut self.stdout, limit);
        // It must be able to go on writing when enough was kept.
        listen(&mut self.messages, &mut self.chunk, &mut self.stderr, MOST_MESSAGES);
        true
    }

    /// Writes what the program's input has room for; when all is written, or nobody reads it, the pipe is closed. A program
    /// need not read what it does not need.
    fn feed(&mut self) {
        let Some(pipe) = &mut self.input else { return };
        match pipe.write(&self.stdin[self.written..]) {
            Ok(count) if count > 0 => self.written += count,
            Err(error) if is_for_later(&error) => return,
            _ => self.written = self.stdin.len(),
        }
        if self.written == self.stdin.len() {
            self.input = None;
        }
    }
}

/// Reads what a pipe has, up to the chunk's size, and keeps it as long as no more than `most` bytes are kept; at the pipe's
/// end, it is closed.
fn listen<P: Read>(pipe: &mut Option<P>, chunk: &mut [u8], kept: &mut Vec<u8>, most: usize) {
    let Some(open) = pipe else { return };
    match open.read(chunk) {
        Ok(count) if count > 0 => {
            kept.extend_from_slice(&chunk[..count.min(most.saturating_sub(kept.len()))]);
        }
        Err(error) if is_for_later(&error) => {}
        _ => *pipe = None,
    }
}

fn is_for_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Status(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Status(-1),
    }
}
