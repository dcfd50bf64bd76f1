//! Contexts: whose memory and streams are whose, and which one a thread of the host works with.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::abi::{Code, DeviceOrdinal, Handle, Result};
use crate::call::{calls, put};
use crate::device::{Device, device};
use crate::handles::Table;
use crate::queue::{Signal, wait};
use crate::stream::Stream;

/// A context.
pub(crate) struct Context {
    pub(crate) handle: Handle,
    pub(crate) device: Arc<Device>,
    /// Multiprocessors of a green context.
    pub(crate) multiprocessors: Option<u32>,
    /// Streams that wait for the default stream, and it for them, and those that do not.
    streams: Mutex<Vec<Weak<Stream>>>,
    default_stream: OnceLock<Arc<Stream>>,
}

static CONTEXTS: Table<Context> = Table::new(1);

/// The primary context of each device, and how often it is retained.
static PRIMARY: Mutex<BTreeMap<usize, (Arc<Context>, u32)>> = Mutex::new(BTreeMap::new());

thread_local! {
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function of the program on a device's thread, where calls of the driver are not permitted.
pub(crate) fn within_host_function(run: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    run();
    IN_HOST_FUNCTION.set(false);
}

/// The current context, whatever has happened to its device.
pub(crate) fn current() -> Result<Arc<Context>> {
    if IN_HOST_FUNCTION.get() {
        return Err(Code::NOT_PERMITTED);
    }
    let top = STACK.with_borrow(|stack| stack.last().copied());
    CONTEXTS
        .get(top.filter(|h| *h != 0).ok_or(Code::INVALID_CONTEXT)?)
        .map_err(|_| Code::CONTEXT_IS_DESTROYED)
}

/// The current context, whose device has met no error.
pub(crate) fn usable() -> Result<Arc<Context>> {
    let context = current()?;
    context.device.check()?;
    Ok(context)
}

impl Context {
    /// A new context on `device`; it is known under the handle that it holds.
    pub(crate) fn create(device: Arc<Device>, multiprocessors: Option<u32>) -> Arc<Self> {
        let handle = CONTEXTS.insert_with(|handle| {
            Arc::new(Self {
                handle,
                device,
                multiprocessors,
                streams: Mutex::default(),
                default_stream: OnceLock::new(),
            })
        });
        // It was inserted just now.
        CONTEXTS.get(handle).unwrap_or_else(|_| unreachable!("the context was inserted"))
    }

    /// The stream that stands for "no stream": it and all others (but those that opted out) wait for each other.
    pub(crate) fn default_stream(self: &Arc<Self>) -> &Arc<Stream> {
        self.default_stream.get_or_init(|| Stream::default_of(self))
    }

    /// Takes note of a stream.
    pub(crate) fn adopt(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|s| s.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    /// The streams that were created here and still are.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    /// The last work of every stream.
    pub(crate) fn tails(&self) -> Vec<Arc<Signal>> {
        let own = self.default_stream.get().and_then(|s| s.tail());
        self.streams().iter().filter_map(|s| s.tail()).chain(own).collect()
    }
}

/// Makes `handle` the current context of this thread, in place of what was.
fn set_current(handle: Handle) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
}

/// Waits for everything in `context`, and frees what it holds.
pub(crate) fn destroy(context: &Context) -> Result {
    context.device.wait();
    CONTEXTS.remove(context.handle).map_err(|_| Code::INVALID_CONTEXT)?;
    context.device.free_all_of(context.handle);
    Ok(())
}

/// The context of a handle.
pub(crate) fn context(handle: Handle) -> Result<Arc<Context>> {
    CONTEXTS.get(handle).map_err(|_| Code::INVALID_CONTEXT)
}

calls! {
    /// The context that all who ask for a device's share.
    fn cuDevicePrimaryCtxRetain(to: *mut Handle, ordinal: DeviceOrdinal) {
        let device = device(ordinal)?;
        let mut primary = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = primary
            .entry(device.ordinal)
            .or_insert_with(|| (Context::create(device.clone(), None), 0));
        entry.1 += 1;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, entry.0.handle) }
    }

    /// The last release destroys it.
    fn cuDevicePrimaryCtxRelease_v2(ordinal: DeviceOrdinal) {
        let device = device(ordinal)?;
        let last = {
            let mut primary = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = primary.get_mut(&device.ordinal).ok_or(Code::INVALID_CONTEXT)?;
            entry.1 -= 1;
            if entry.1 > 0 { None } else { primary.remove(&device.ordinal) }
        };
        last.map_or(Ok(()), |(context, _)| destroy(&context))
    }

    /// Whether it is in use.
    fn cuDevicePrimaryCtxGetState(ordinal: DeviceOrdinal, flags: *mut u32, is_active: *mut i32) {
        let device = device(ordinal)?;
        let primary = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's places for the results.
        unsafe {
            put(flags, 0)?;
            put(is_active, i32::from(primary.contains_key(&device.ordinal)))
        }
    }

    /// Flags say how the host waits; here it always sleeps.
    fn cuDevicePrimaryCtxSetFlags_v2(ordinal: DeviceOrdinal, _flags: u32) {
        device(ordinal).map(|_| ())
    }

    /// A context of one's own; it becomes current.
    fn cuCtxCreate_v2(to: *mut Handle, _flags: u32, ordinal: DeviceOrdinal) {
        let context = Context::create(device(ordinal)?.clone(), None);
        STACK.with_borrow_mut(|stack| stack.push(context.handle));
        // SAFETY: the caller's place for the result.
        unsafe { put(to, context.handle) }
    }

    /// As above; parameters of version 4 are taken when there are none.
    fn cuCtxCreate_v4(to: *mut Handle, params: *const c_void, flags: u32, ordinal: DeviceOrdinal) {
        if !params.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        // SAFETY: the same arguments.
        match unsafe { cuCtxCreate_v2(to, flags, ordinal) } {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// Ends a context of one's own.
    fn cuCtxDestroy_v2(handle: Handle) {
        let context = context(handle)?;
        let primary = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
        if primary.values().any(|(p, _)| p.handle == handle) {
            return Err(Code::INVALID_CONTEXT);
        }
        drop(primary);
        STACK.with_borrow_mut(|stack| stack.retain(|h| *h != handle));
        destroy(&context)
    }

    /// Makes a context current, or none.
    fn cuCtxSetCurrent(handle: Handle) {
        if handle != 0 {
            context(handle)?;
        }
        set_current(handle);
        Ok(())
    }

    /// Which is current; zero if none.
    fn cuCtxGetCurrent(to: *mut Handle) {
        let top = STACK.with_borrow(|stack| stack.last().copied()).unwrap_or(0);
        // SAFETY: the caller's place for the result.
        unsafe { put(to, top) }
    }

    /// Makes a context current until it is popped.
    fn cuCtxPushCurrent_v2(handle: Handle) {
        context(handle)?;
        STACK.with_borrow_mut(|stack| stack.push(handle));
        Ok(())
    }

    /// Goes back to the one before.
    fn cuCtxPopCurrent_v2(to: *mut Handle) {
        let top = STACK.with_borrow_mut(Vec::pop).ok_or(Code::INVALID_CONTEXT)?;
        if to.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(to, top) }
    }

    /// The device of the current context.
    fn cuCtxGetDevice(to: *mut DeviceOrdinal) {
        let ordinal = current()?.device.ordinal as DeviceOrdinal;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, ordinal) }
    }

    /// The version of the interface.
    fn cuCtxGetApiVersion(_context: Handle, version: *mut u32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(version, 13_000) }
    }

    /// Waits for everything that was submitted in the current context.
    fn cuCtxSynchronize() {
        let context = usable()?;
        if context.streams().iter().any(|s| s.is_captured()) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        wait(&context.tails());
        context.device.check()
    }

    /// Flags have no effect.
    fn cuCtxSetFlags(_flags: u32) {
        current().map(|_| ())
    }

    /// No flags are set.
    fn cuCtxGetFlags(to: *mut u32) {
        current()?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, 0) }
    }

    /// Greatest and least priority, which is all they are good for.
    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        current()?;
        for (to, value) in [(least, 0), (greatest, -5)] {
            if !to.is_null() {
                // SAFETY: the caller's places for the results.
                unsafe { put(to, value)? };
            }
        }
        Ok(())
    }

    /// Limits that exist are taken; the interpreter needs none of them.
    fn cuCtxSetLimit(limit: u32, _value: usize) {
        current()?;
        if limit > 10 { Err(Code::UNSUPPORTED_LIMIT) } else { Ok(()) }
    }

    /// The size of the stack, of the buffer for printing, of the heap; zero for others.
    fn cuCtxGetLimit(to: *mut usize, limit: u32) {
        current()?;
        let value = match limit {
            0 => 1024,
            1 => 1 << 20,
            2 => 8 << 20,
            3..=10 => 0,
            _ => return Err(Code::UNSUPPORTED_LIMIT),
        };
        // SAFETY: the caller's place for the result.
        unsafe { put(to, value) }
    }

    /// There are no caches.
    fn cuCtxSetCacheConfig(_config: u32) {
        current().map(|_| ())
    }

    /// There are no caches: no preference.
    fn cuCtxGetCacheConfig(to: *mut u32) {
        current()?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, 0) }
    }

    /// Memory of a peer is reached by copies alone.
    fn cuCtxEnablePeerAccess(_peer: Handle, _flags: u32) {
        Err(Code::NOT_SUPPORTED)
    }
}
