//! Stream capture: work goes into a graph instead of a queue. Other streams join by waiting for an event of a captured
//! stream, and have to be waited for in turn before the capture ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use crate::abi::{Code, Handle, Result};
use crate::call::{calls, put};
use crate::graph::{self, Graph, Node};
use crate::queue::Task;
use crate::stream::{Stream, stream};

/// A capture that is under way.
pub(crate) struct Capture {
    id: u64,
    /// The stream on which it began.
    origin: usize,
    /// Who may end it, unless it is relaxed.
    thread: Option<ThreadId>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    nodes: Vec<Node>,
    /// Streams by number, and the nodes that what comes next on each has to follow.
    streams: BTreeMap<usize, (Arc<Stream>, Vec<usize>)>,
    is_invalid: bool,
    has_ended: bool,
}

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: u32 = 2;

thread_local! {
    /// What the last question showed.
    static FRONT: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

static IDS: AtomicU64 = AtomicU64::new(1);

impl Capture {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes every later call of the capture fail.
    fn invalidate(&self, code: Code) -> Code {
        self.inner().is_invalid = true;
        code
    }

    /// Adds work of `stream`.
    pub(crate) fn add(&self, stream: &Stream, task: Task) -> Result {
        let mut inner = self.inner();
        if inner.is_invalid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        let number = inner.nodes.len();
        let (_, next) = inner.streams.get_mut(&stream.lane).ok_or(Code::UNKNOWN)?;
        let after = std::mem::replace(next, vec![number]);
        inner.nodes.push(Node { task, after, device: stream.device.ordinal, lane: stream.lane });
        Ok(())
    }

    /// The nodes that what comes next on `stream` has to follow.
    pub(crate) fn front(&self, stream: &Stream) -> Vec<usize> {
        self.inner().streams.get(&stream.lane).map_or(Vec::new(), |(_, next)| next.clone())
    }

    /// Has `stream` follow `nodes` of this capture; it joins if it was not captured.
    pub(crate) fn join(self: &Arc<Self>, stream: &Arc<Stream>, nodes: &[usize]) -> Result {
        if self.inner().has_ended {
            return Err(Code::CAPTURED_EVENT);
        }
        match stream.capture() {
            Some(other) if !Arc::ptr_eq(&other, self) => {
                return Err(other.invalidate(self.invalidate(Code::STREAM_CAPTURE_MERGE)));
            }
            Some(_) => {}
            None if stream.handle == 0 => {
                return Err(self.invalidate(Code::STREAM_CAPTURE_IMPLICIT));
            }
            None => {
                stream.set_capture(Some(self.clone()));
                self.inner().streams.insert(stream.lane, (stream.clone(), Vec::new()));
            }
        }
        let mut inner = self.inner();
        let (_, next) = inner.streams.get_mut(&stream.lane).ok_or(Code::UNKNOWN)?;
        for node in nodes {
            if !next.contains(node) {
                next.push(*node);
            }
        }
        Ok(())
    }

    /// A stream of the capture waits for work outside of it.
    pub(crate) fn isolated(&self) -> Code {
        self.invalidate(Code::STREAM_CAPTURE_ISOLATION)
    }

    /// The graph, once every stream that joined is waited for.
    fn end(&self) -> Result<Graph> {
        let fresh = Inner { has_ended: true, ..Inner::default() };
        let mut inner = std::mem::replace(&mut *self.inner(), fresh);
        for (stream, _) in inner.streams.values() {
            stream.set_capture(None);
        }
        if inner.is_invalid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        let origin = inner.streams.remove(&self.origin).ok_or(Code::UNKNOWN)?.1;
        let mut is_waited_for = vec![false; inner.nodes.len()];
        for node in origin {
            is_waited_for[node] = true;
        }
        // Nodes only follow earlier ones.
        for number in (0..inner.nodes.len()).rev() {
            if is_waited_for[number] {
                for before in &inner.nodes[number].after {
                    is_waited_for[*before] = true;
                }
            }
        }
        match is_waited_for.iter().all(|waited| *waited) {
            true => Ok(Graph { id: self.id, nodes: inner.nodes }),
            false => Err(Code::STREAM_CAPTURE_UNJOINED),
        }
    }
}

fn status(capture: Option<&Arc<Capture>>) -> u32 {
    match capture {
        None => 0,
        Some(capture) if capture.inner().is_invalid => 2,
        Some(_) => 1,
    }
}

calls! {
    /// Begins: what is submitted to the stream goes into a graph.
    fn cuStreamBeginCapture_v2(handle: Handle, mode: u32) {
        let stream = stream(handle)?;
        if stream.handle == 0 {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if mode > RELAXED {
            return Err(Code::INVALID_VALUE);
        }
        if stream.is_captured() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let capture = Arc::new(Capture {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            origin: stream.lane,
            thread: (mode != RELAXED).then(|| std::thread::current().id()),
            inner: Mutex::default(),
        });
        capture.inner().streams.insert(stream.lane, (stream.clone(), Vec::new()));
        stream.set_capture(Some(capture));
        Ok(())
    }

    /// Ends, and gives the graph.
    fn cuStreamEndCapture(handle: Handle, to: *mut Handle) {
        let stream = stream(handle)?;
        let capture = stream.capture().ok_or(Code::STREAM_CAPTURE_UNMATCHED)?;
        if capture.origin != stream.lane {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        if capture.thread.is_some_and(|thread| thread != std::thread::current().id()) {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD);
        }
        let graph = capture.end().inspect_err(|_| {
            // SAFETY: the caller's place for the result; a failed capture has no graph.
            let _ = unsafe { put(to, 0) };
        })?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, graph::insert(graph)) }
    }

    /// Whether a stream is captured: 0 no, 1 yes, 2 yes but it failed.
    fn cuStreamIsCapturing(handle: Handle, to: *mut u32) {
        let capture = stream(handle)?.capture();
        // SAFETY: the caller's place for the result.
        unsafe { put(to, status(capture.as_ref())) }
    }

    /// The same, the number of the capture, and the nodes that what comes next has to follow; the array is valid until
    /// this thread asks again. The graph has no handle before the capture ends.
    fn cuStreamGetCaptureInfo_v2(
        handle: Handle,
        to: *mut u32,
        id: *mut u64,
        graph: *mut Handle,
        nodes: *mut *const Handle,
        count: *mut usize,
    ) {
        let stream = stream(handle)?;
        let capture = stream.capture();
        let front = capture.as_ref().map_or(Vec::new(), |capture| {
            let front = capture.front(&stream).into_iter();
            front.map(|number| graph::node_handle(capture.id, number)).collect()
        });
        let shown = FRONT.with_borrow_mut(|shown| {
            *shown = front;
            (shown.as_ptr(), shown.len())
        });
        // SAFETY: the caller's places for the results, of which all but the first may be null.
        unsafe {
            put(to, status(capture.as_ref()))?;
            if !id.is_null() {
                put(id, capture.map_or(0, |capture| capture.id))?;
            }
            if !graph.is_null() {
                put(graph, 0)?;
            }
            if !nodes.is_null() {
                put(nodes, shown.0)?;
            }
            if !count.is_null() {
                put(count, shown.1)?;
            }
        }
        Ok(())
    }

    /// As above; there are no data of edges.
    fn cuStreamGetCaptureInfo_v3(
        handle: Handle,
        to: *mut u32,
        id: *mut u64,
        graph: *mut Handle,
        nodes: *mut *const Handle,
        edges: *mut Handle,
        count: *mut usize,
    ) {
        if !edges.is_null() {
            // SAFETY: the caller's place for the result.
            unsafe { put(edges, 0)? };
        }
        // SAFETY: the same arguments.
        match unsafe { cuStreamGetCaptureInfo_v2(handle, to, id, graph, nodes, count) } {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// Modes are about calls that this library allows in all of them.
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) {
        if mode.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(())
    }
}
