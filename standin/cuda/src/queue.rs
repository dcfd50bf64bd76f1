//! Work that waits, and what it waits for.
//!
//! Everything that is submitted has a [`Signal`], set once it is done, and a list of signals that it waits for: the work
//! before it on its stream, events, and the default stream's rules. Which work happens before which other is known
//! when it is submitted, as a vector clock over the streams; `history` finds with it what nothing orders.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::{Code, Result};
use crate::device::Device;
use crate::error::Fault;
use crate::settings::MOST_DEVICES;
use crate::stream::Stream;

/// How far each stream had come, by number of the stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Vec<u32>);

impl Clock {
    pub(crate) fn at(&self, lane: usize) -> u32 {
        self.0.get(lane).copied().unwrap_or(0)
    }

    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, seen) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*seen);
        }
    }

    pub(crate) fn set(&mut self, lane: usize, tick: u32) {
        if self.0.len() <= lane {
            self.0.resize(lane + 1, 0);
        }
        self.0[lane] = tick;
    }
}

/// That some work is done.
#[derive(Debug)]
pub(crate) struct Signal {
    is_done: AtomicBool,
    /// A thread of the host waits for it.
    is_watched: AtomicBool,
    finished: OnceLock<Instant>,
    /// What happened before the work's end, itself included.
    pub(crate) clock: Clock,
    /// The work's stream, and its place there.
    pub(crate) lane: usize,
    pub(crate) tick: u32,
    /// What the work is, for messages.
    pub(crate) name: Arc<str>,
}

impl Signal {
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// When the work was done.
    pub(crate) fn finished(&self) -> Option<Instant> {
        self.finished.get().copied()
    }

    /// Whether all of `other` happened before this began.
    pub(crate) fn follows(&self, other: &Self) -> bool {
        self.clock.at(other.lane) >= other.tick
    }
}

/// Bytes that work read and wrote, as address and length.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) read: Vec<(u64, u64)>,
    pub(crate) written: Vec<(u64, u64)>,
    /// Memory that is gone after the work.
    pub(crate) freed: Vec<(u64, u64)>,
}

/// What a device does for one entry of a stream.
pub(crate) type Work =
    Arc<dyn Fn(&Device, &mut Touched) -> std::result::Result<(), Fault> + Send + Sync>;

/// In which order work may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Whenever what it waits for is done.
    Free,
    /// Not before other work of this kind that was submitted to the device earlier. It may wait for other devices, so an
    /// order that differs from device to device would be a deadlock that a GPU with room for both does not have.
    Submitted,
}

/// Work with a name, before it is on a stream.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) name: Arc<str>,
    pub(crate) order: Order,
    /// None: only the place in the stream matters.
    pub(crate) work: Option<Work>,
}

impl Task {
    /// Work that may run whenever it is ready.
    pub(crate) fn new(
        name: &str,
        work: impl Fn(&Device, &mut Touched) -> std::result::Result<(), Fault> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), order: Order::Free, work: Some(Arc::new(work)) }
    }

    /// A place in a stream.
    pub(crate) fn mark(name: &str) -> Self {
        Self { name: name.into(), order: Order::Free, work: None }
    }
}

/// Work on the queue of a device.
pub(crate) struct Item {
    pub(crate) task: Task,
    pub(crate) after: Vec<Arc<Signal>>,
    pub(crate) done: Arc<Signal>,
}

impl Item {
    pub(crate) fn is_ready(&self) -> bool {
        self.after.iter().all(|signal| signal.is_done())
    }
}

/// The queue of one device, in the order of submission.
#[derive(Default)]
pub(crate) struct Line {
    pub(crate) items: VecDeque<Item>,
    /// What is being done.
    pub(crate) running: Option<Arc<Signal>>,
    /// What went wrong; nothing runs after that.
    pub(crate) error: Option<Code>,
    /// Submissions so far.
    pub(crate) submitted: u64,
    /// The host has asked whether something is done.
    pub(crate) is_asked: bool,
}

/// All queues of the process: one lock, because work of one device waits for events of others.
#[derive(Default)]
pub(crate) struct Queues {
    pub(crate) lines: Vec<Line>,
    /// What the host has waited for.
    pub(crate) host: Clock,
    /// Threads of the host that wait.
    pub(crate) waiting: usize,
    /// The next tick of each stream.
    ticks: Vec<u32>,
}

static QUEUES: Mutex<Option<Queues>> = Mutex::new(None);
/// Threads of devices wait here, each at its own place.
static LINES: [Condvar; MOST_DEVICES] = [const { Condvar::new() }; MOST_DEVICES];
/// Threads of the host wait here.
static HOSTS: Condvar = Condvar::new();

/// The queues, locked.
pub(crate) struct Locked(MutexGuard<'static, Option<Queues>>);

impl std::ops::Deref for Locked {
    type Target = Queues;

    fn deref(&self) -> &Queues {
        self.0.as_ref().expect("lock() made them")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Queues {
        self.0.as_mut().expect("lock() made them")
    }
}

/// Locks the queues.
pub(crate) fn lock() -> Locked {
    let mut guard = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_with(Queues::default);
    Locked(guard)
}

/// Waits until something may have changed for the queue of `device`, or `most` has passed.
pub(crate) fn wait_for_work(locked: Locked, device: usize, most: Option<Duration>) -> Locked {
    match most {
        None => Locked(LINES[device].wait(locked.0).unwrap_or_else(PoisonError::into_inner)),
        Some(most) => {
            let waited = LINES[device].wait_timeout(locked.0, most);
            Locked(waited.unwrap_or_else(PoisonError::into_inner).0)
        }
    }
}

impl Queues {
    pub(crate) fn line(&mut self, device: usize) -> &mut Line {
        if self.lines.len() <= device {
            self.lines.resize_with(device + 1, Line::default);
        }
        &mut self.lines[device]
    }

    /// Everything on a device that is not done, whether its stream still exists or not.
    pub(crate) fn pending(&mut self, device: usize) -> Vec<Arc<Signal>> {
        let line = self.line(device);
        line.items.iter().map(|item| item.done.clone()).chain(line.running.clone()).collect()
    }

    /// A number for a new stream.
    pub(crate) fn new_lane(&mut self) -> usize {
        self.ticks.push(0);
        self.ticks.len() - 1
    }

    /// Puts work onto the queue of `device`, in `lane`, after `after`.
    pub(crate) fn push(
        &mut self,
        device: usize,
        lane: usize,
        task: Task,
        mut after: Vec<Arc<Signal>>,
    ) -> Arc<Signal> {
        self.ticks[lane] += 1;
        let tick = self.ticks[lane];
        let mut clock = self.host.clone();
        for signal in &after {
            clock.join(&signal.clock);
        }
        clock.set(lane, tick);
        after.retain(|signal| !signal.is_done());
        let done = Arc::new(Signal {
            is_done: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
            finished: OnceLock::new(),
            clock,
            lane,
            tick,
            name: task.name.clone(),
        });
        let line = self.line(device);
        line.submitted += 1;
        line.items.push_back(Item { task, after, done: done.clone() });
        LINES[device].notify_one();
        done
    }

    /// Says that work is done, to all who may wait for it.
    pub(crate) fn finish(&mut self, signal: &Signal) {
        let _ = signal.finished.set(Instant::now());
        signal.is_done.store(true, Ordering::Release);
        if signal.is_watched.load(Ordering::Relaxed) {
            HOSTS.notify_all();
        }
        self.look_again();
    }

    /// Has every device that has work look whether some of it may start.
    fn look_again(&self) {
        let waiting = self.lines.iter().zip(&LINES).filter(|(line, _)| !line.items.is_empty());
        waiting.for_each(|(_, place)| place.notify_one());
    }
}

/// Waits on the host until all of `signals` are set; what follows on any stream comes after them.
pub(crate) fn wait(signals: &[Arc<Signal>]) {
    let mut queues = lock();
    queues.waiting += 1;
    queues.look_again();
    // Set and read under the lock, so whoever finishes the work from here on wakes this thread.
    signals.iter().for_each(|signal| signal.is_watched.store(true, Ordering::Relaxed));
    while !signals.iter().all(|signal| signal.is_done()) {
        queues = Locked(HOSTS.wait(queues.0).unwrap_or_else(PoisonError::into_inner));
    }
    queues.waiting -= 1;
    for signal in signals {
        queues.host.join(&signal.clock);
    }
}

/// Whether all of `signals` are set; if so, what follows comes after them. Asking gets the queues going.
pub(crate) fn poll(signals: &[Arc<Signal>]) -> bool {
    let mut queues = lock();
    if !signals.iter().all(|signal| signal.is_done()) {
        // Whoever asks in a loop must not be kept waiting for more submissions.
        for line in &mut queues.lines {
            line.is_asked = true;
        }
        queues.look_again();
        return false;
    }
    for signal in signals {
        queues.host.join(&signal.clock);
    }
    true
}

/// Submits `task` to `stream`, after what is on it and after `more`. A captured stream keeps it for its graph, and there is
/// no signal.
pub(crate) fn submit(
    stream: &Stream,
    task: Task,
    more: &[Arc<Signal>],
) -> Result<Option<Arc<Signal>>> {
    if let Some(capture) = stream.capture() {
        capture.add(stream, task)?;
        return Ok(None);
    }
    stream.check_no_capture()?;
    let mut queues = lock();
    if let Some(code) = queues.line(stream.device.ordinal).error {
        return Err(code);
    }
    let mut after = stream.predecessors();
    after.extend(more.iter().cloned());
    let done = queues.push(stream.device.ordinal, stream.lane, task, after);
    stream.set_tail(done.clone());
    Ok(Some(done))
}
