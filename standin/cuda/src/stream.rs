//! Streams: work in order, and the default stream's rule.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Code, Handle, Result};
use crate::call::{calls, put};
use crate::capture::Capture;
use crate::context::{Context, context, current, usable};
use crate::device::Device;
use crate::handles::Table;
use crate::queue::{Signal, lock, poll, wait};

/// A stream.
pub(crate) struct Stream {
    /// Zero for default streams.
    pub(crate) handle: Handle,
    pub(crate) context: Handle,
    pub(crate) device: Arc<Device>,
    /// Its number among all streams of the process.
    pub(crate) lane: usize,
    role: Role,
    flags: u32,
    priority: i32,
    tail: Mutex<Option<Arc<Signal>>>,
    capture: Mutex<Option<Arc<Capture>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Stands for "no stream".
    Default,
    /// Waits for the default stream, and it for this.
    Blocking,
    /// Has nothing to do with it.
    Free,
}

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;
/// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
const LEGACY: Handle = 1;
const PER_THREAD: Handle = 2;

static STREAMS: Table<Stream> = Table::new(2);

thread_local! {
    static OWN: RefCell<BTreeMap<Handle, Arc<Stream>>> = const { RefCell::new(BTreeMap::new()) };
}

/// The stream of a handle, in a context without errors.
pub(crate) fn stream(handle: Handle) -> Result<Arc<Stream>> {
    let found = match handle {
        0 | LEGACY => usable()?.default_stream().clone(),
        PER_THREAD => {
            let context = usable()?;
            OWN.with_borrow_mut(|own| {
                let make = || Stream::create(&context, Role::Blocking, 0, 0);
                own.entry(context.handle).or_insert_with(make).clone()
            })
        }
        handle => {
            // Forbidden in functions of the host, as every call.
            current()?;
            STREAMS.get(handle)?
        }
    };
    found.device.check()?;
    Ok(found)
}

impl Stream {
    fn new(context: &Context, handle: Handle, role: Role, flags: u32, priority: i32) -> Arc<Self> {
        Arc::new(Self {
            handle,
            context: context.handle,
            device: context.device.clone(),
            lane: lock().new_lane(),
            role,
            flags,
            priority,
            tail: Mutex::default(),
            capture: Mutex::default(),
        })
    }

    /// The default stream of a context.
    pub(crate) fn default_of(context: &Context) -> Arc<Self> {
        Self::new(context, 0, Role::Default, 0, 0)
    }

    fn create(context: &Context, role: Role, flags: u32, priority: i32) -> Arc<Self> {
        let handle = STREAMS.insert_with(|h| Self::new(context, h, role, flags, priority));
        let stream =
            STREAMS.get(handle).unwrap_or_else(|_| unreachable!("the stream was inserted"));
        context.adopt(&stream);
        stream
    }

    /// A stream as a call of the program asks for it.
    pub(crate) fn create_with(context: &Context, flags: u32, priority: i32) -> Result<Arc<Self>> {
        let role = match flags {
            0 => Role::Blocking,
            NON_BLOCKING => Role::Free,
            _ => return Err(Code::INVALID_VALUE),
        };
        Ok(Self::create(context, role, flags, priority))
    }

    /// The last work.
    pub(crate) fn tail(&self) -> Option<Arc<Signal>> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_tail(&self, signal: Arc<Signal>) {
        *self.tail.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
    }

    /// What the next work of this stream comes after.
    pub(crate) fn predecessors(&self) -> Vec<Arc<Signal>> {
        let mut found: Vec<_> = self.tail().into_iter().collect();
        let Ok(context) = context(self.context) else { return found };
        match self.role {
            Role::Free => {}
            Role::Blocking => found.extend(context.default_stream().tail()),
            Role::Default => {
                let streams = context.streams();
                let blocking = streams.iter().filter(|s| s.role == Role::Blocking);
                found.extend(blocking.filter_map(|s| s.tail()));
            }
        }
        found
    }

    /// Whether work goes into a graph instead.
    pub(crate) fn is_captured(&self) -> bool {
        self.capture().is_some()
    }

    /// The capture that its work goes into.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_capture(&self, capture: Option<Arc<Capture>>) {
        *self.capture.lock().unwrap_or_else(PoisonError::into_inner) = capture;
    }

    /// The default stream may not be used while a stream that waits for it is captured.
    pub(crate) fn check_no_capture(&self) -> Result {
        if self.role != Role::Default {
            return Ok(());
        }
        let is_waiting = |s: &Arc<Self>| s.role == Role::Blocking && s.is_captured();
        match context(self.context).is_ok_and(|c| c.streams().iter().any(is_waiting)) {
            true => Err(Code::STREAM_CAPTURE_IMPLICIT),
            false => Ok(()),
        }
    }
}

calls! {
    /// A stream.
    fn cuStreamCreate(to: *mut Handle, flags: u32) {
        let stream = Stream::create_with(&*usable()?, flags, 0)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, stream.handle) }
    }

    /// A stream with a priority, which is remembered and has no effect.
    fn cuStreamCreateWithPriority(to: *mut Handle, flags: u32, priority: i32) {
        let stream = Stream::create_with(&*usable()?, flags, priority.clamp(-5, 0))?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, stream.handle) }
    }

    /// Its work goes on.
    fn cuStreamDestroy_v2(handle: Handle) {
        STREAMS.remove(handle).map(|_| ())
    }

    /// Waits for its work.
    fn cuStreamSynchronize(handle: Handle) {
        let stream = stream(handle)?;
        if stream.is_captured() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        wait(&stream.predecessors());
        stream.device.check()
    }

    /// Whether its work is done.
    fn cuStreamQuery(handle: Handle) {
        let stream = stream(handle)?;
        if stream.is_captured() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let is_done = poll(&stream.predecessors());
        stream.device.check()?;
        if is_done { Ok(()) } else { Err(Code::NOT_READY) }
    }

    /// The priority that it was given.
    fn cuStreamGetPriority(handle: Handle, to: *mut i32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, stream(handle)?.priority) }
    }

    /// The flags that it was given.
    fn cuStreamGetFlags(handle: Handle, to: *mut u32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, stream(handle)?.flags) }
    }

    /// Its number.
    fn cuStreamGetId(handle: Handle, to: *mut u64) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, stream(handle)?.lane as u64) }
    }

    /// The context in which it was created.
    fn cuStreamGetCtx(handle: Handle, to: *mut Handle) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, stream(handle)?.context) }
    }
}
