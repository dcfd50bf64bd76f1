//! Events: a place in a stream, for others to wait for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Code, Handle, Result};
use crate::call::{calls, put};
use crate::capture::Capture;
use crate::context::{current, usable};
use crate::handles::Table;
use crate::queue::{Signal, Task, poll, submit, wait};
use crate::settings::settings;
use crate::stream::stream;

/// An event.
#[derive(Default)]
pub(crate) struct Event {
    has_time: bool,
    record: Mutex<Record>,
}

/// The last record of an event.
#[derive(Clone, Default)]
enum Record {
    #[default]
    Never,
    Done(Arc<Signal>),
    /// In a capture, after these nodes.
    Captured(Arc<Capture>, Vec<usize>),
}

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`.
const INTERPROCESS: u32 = 4;

static EVENTS: Table<Event> = Table::new(3);

impl Event {
    fn record(&self) -> Record {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last record that the host may ask about.
    fn last(&self) -> Result<Option<Arc<Signal>>> {
        match self.record() {
            Record::Never => Ok(None),
            Record::Done(signal) => Ok(Some(signal)),
            Record::Captured(..) => Err(Code::CAPTURED_EVENT),
        }
    }
}

/// Whether this wait is the one to leave out, so that one can see who would notice.
fn is_dropped() -> bool {
    static WAITS: AtomicU64 = AtomicU64::new(0);
    let number = WAITS.fetch_add(1, Ordering::Relaxed);
    settings().drop_wait == Some(number)
}

/// Milliseconds between two events.
fn elapsed(start: Handle, end: Handle) -> Result<f32> {
    current()?;
    let (start, end) = (EVENTS.get(start)?, EVENTS.get(end)?);
    if !start.has_time || !end.has_time {
        return Err(Code::INVALID_HANDLE);
    }
    let (Some(start), Some(end)) = (start.last()?, end.last()?) else {
        return Err(Code::INVALID_HANDLE);
    };
    let (Some(a), Some(b)) = (start.finished(), end.finished()) else {
        return Err(Code::NOT_READY);
    };
    let forth = b.saturating_duration_since(a).as_secs_f32();
    let back = a.saturating_duration_since(b).as_secs_f32();
    Ok((forth - back) * 1e3)
}

calls! {
    /// An event.
    fn cuEventCreate(to: *mut Handle, flags: u32) {
        usable()?;
        if flags & INTERPROCESS != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let has_time = flags & DISABLE_TIMING == 0;
        let handle = EVENTS.insert(Arc::new(Event { has_time, ..Event::default() }));
        // SAFETY: the caller's place for the result.
        unsafe { put(to, handle) }
    }

    /// Who waits for it goes on waiting.
    fn cuEventDestroy_v2(event: Handle) {
        EVENTS.remove(event).map(|_| ())
    }

    /// Notes the place after all that is on a stream now.
    fn cuEventRecord(event: Handle, handle: Handle) {
        let event = EVENTS.get(event)?;
        let stream = stream(handle)?;
        let record = match stream.capture() {
            Some(capture) => {
                let front = capture.front(&stream);
                Record::Captured(capture, front)
            }
            None => submit(&stream, Task::mark("event"), &[])?.map_or(Record::Never, Record::Done),
        };
        *event.record.lock().unwrap_or_else(PoisonError::into_inner) = record;
        Ok(())
    }

    /// As above; flags are for graphs alone.
    fn cuEventRecordWithFlags(event: Handle, handle: Handle, _flags: u32) {
        // SAFETY: the same arguments.
        match unsafe { cuEventRecord(event, handle) } {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// What follows on the stream waits for the last record so far; one that was never recorded is no reason to wait.
    fn cuStreamWaitEvent(handle: Handle, event: Handle, _flags: u32) {
        let event = EVENTS.get(event)?;
        let stream = stream(handle)?;
        match (event.record(), stream.capture()) {
            (Record::Never, _) => Ok(()),
            (Record::Captured(capture, nodes), _) => capture.join(&stream, &nodes),
            (Record::Done(_), Some(capture)) => Err(capture.isolated()),
            (Record::Done(_), None) if is_dropped() => Ok(()),
            (Record::Done(signal), None) => {
                submit(&stream, Task::mark("wait for an event"), &[signal]).map(|_| ())
            }
        }
    }

    /// The host waits.
    fn cuEventSynchronize(event: Handle) {
        let context = usable()?;
        if let Some(signal) = EVENTS.get(event)?.last()? {
            wait(&[signal]);
        }
        context.device.check()
    }

    /// The host asks.
    fn cuEventQuery(event: Handle) {
        let context = usable()?;
        let is_done = EVENTS.get(event)?.last()?.is_none_or(|signal| poll(&[signal]));
        context.device.check()?;
        if is_done { Ok(()) } else { Err(Code::NOT_READY) }
    }

    /// Time between two.
    fn cuEventElapsedTime(to: *mut f32, start: Handle, end: Handle) {
        let time = elapsed(start, end)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, time) }
    }

    /// Time between two.
    fn cuEventElapsedTime_v2(to: *mut f32, start: Handle, end: Handle) {
        let time = elapsed(start, end)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, time) }
    }
}
