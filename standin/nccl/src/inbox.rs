//! Messages that came for the ranks of this process, in order for each pair of ranks and each purpose.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a message is for. Messages of two purposes do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Purpose {
    /// A rank's part of a collective.
    Collective,
    /// What is sent to one rank.
    Send,
    /// That it was received.
    Received,
    /// Between calls of the host: splits.
    Control,
}

impl Purpose {
    pub(crate) fn of(number: u8) -> Option<Self> {
        [Self::Collective, Self::Send, Self::Received, Self::Control].get(number as usize).copied()
    }
}

/// Where a message goes and where it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    pub(crate) communicator: u128,
    pub(crate) to: u32,
    pub(crate) from: u32,
    pub(crate) purpose: Purpose,
}

/// A message: what the sender does, and its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) note: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

/// Why a message did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    TimedOut,
    /// The process of the sender has ended.
    Gone,
    /// The program gave up.
    Aborted,
}

#[derive(Default)]
struct Inbox {
    waiting: HashMap<Route, VecDeque<Message>>,
    /// Processes that have ended.
    gone: HashSet<u64>,
}

static INBOX: Mutex<Option<Inbox>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Option<Inbox>> {
    INBOX.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a message in.
pub(crate) fn deliver(route: Route, message: Message) {
    lock().get_or_insert_default().waiting.entry(route).or_default().push_back(message);
    CHANGED.notify_all();
}

/// Notes that a process has ended.
pub(crate) fn lost(process: u64) {
    lock().get_or_insert_default().gone.insert(process);
    CHANGED.notify_all();
}

/// Has everyone who waits look again.
pub(crate) fn wake() {
    // With the lock, so that nobody is between looking and waiting.
    drop(lock());
    CHANGED.notify_all();
}

/// Takes the next message of a route, which comes from `process`; waits until `deadline` or until `is_given_up`.
pub(crate) fn take(
    route: Route,
    process: u64,
    deadline: Instant,
    is_given_up: impl Fn() -> bool,
) -> Result<Message, Absent> {
    let mut inbox = lock();
    loop {
        let inner = inbox.get_or_insert_default();
        if let Some(queue) = inner.waiting.get_mut(&route)
            && let Some(message) = queue.pop_front()
        {
            if queue.is_empty() {
                inner.waiting.remove(&route);
            }
            return Ok(message);
        }
        if is_given_up() {
            return Err(Absent::Aborted);
        }
        if inner.gone.contains(&process) {
            return Err(Absent::Gone);
        }
        let now = Instant::now();
        if now >= deadline {
            return Err(Absent::TimedOut);
        }
        let waited = CHANGED.wait_timeout(inbox, deadline - now);
        inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
