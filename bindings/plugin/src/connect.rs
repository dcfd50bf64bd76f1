//! One allocator, and one way to panic, for a plugin and its host.
//!
//! A library has its own copy of the standard library, with its own allocator and its own panics. A vector that was made on
//! one side and is dropped on the other must be known to one allocator; so a plugin's is the host's ([`HostAllocator`]). And
//! a panic that leaves the library would be a foreign exception to the host, which ends the process; so panics are caught
//! here and go on as panics of the host ([`guarded`]).

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::HostApi;

/// The host, [`NONE`] if memory was asked for before there was one, or null as long as neither is the case.
static HOST: AtomicPtr<HostApi> = AtomicPtr::new(ptr::null_mut());

/// An address that stands for "the system's allocator, for good".
static NONE: u8 = 0;

fn none() -> *mut HostApi {
    (&raw const NONE).cast_mut().cast()
}

/// The host; `None` decides that there will be none.
fn host() -> Option<&'static HostApi> {
    let mut found = HOST.load(Ordering::Acquire);
    if found.is_null() {
        let decided = HOST.compare_exchange(found, none(), Ordering::AcqRel, Ordering::Acquire);
        found = decided.map_or_else(|other| other, |_| none());
    }
    // SAFETY: what is neither null nor `none()` was stored by `connect`, whose caller promised that it lives for ever.
    (found != none()).then(|| unsafe { &*found })
}

/// The allocator of a plugin: the host's. A plugin that is not loaded by a host, as in its own tests, has the system's.
#[derive(Debug)]
pub struct HostAllocator;

// SAFETY: all memory of one process goes through one allocator: the host's, or, once any was asked for without a host, the
// system's, which `connect` then does not change any more.
unsafe impl GlobalAlloc for HostAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match host() {
            // SAFETY: the caller's promises are those of `System` and of the host's allocator.
            Some(host) => unsafe { (host.alloc)(layout.size(), layout.align()) },
            // SAFETY: as above.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match host() {
            // SAFETY: as above.
            Some(host) => unsafe { (host.alloc_zeroed)(layout.size(), layout.align()) },
            // SAFETY: as above.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        match host() {
            // SAFETY: as above; it was this allocator's.
            Some(host) => unsafe { (host.dealloc)(at, layout.size(), layout.align()) },
            // SAFETY: as above.
            None => unsafe { System.dealloc(at, layout) },
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match host() {
            // SAFETY: as above.
            Some(host) => unsafe { (host.realloc)(at, layout.size(), layout.align(), size) },
            // SAFETY: as above.
            None => unsafe { System.realloc(at, layout, size) },
        }
    }
}

/// What [`connect`] says if it cannot: memory was taken from the system before.
pub const TOO_LATE: u32 = 1;
/// What [`connect`] says if it cannot: the library has another host.
pub const TAKEN: u32 = 2;

/// Takes up the host's interface; 0, [`TOO_LATE`] or [`TAKEN`].
///
/// # Safety
/// The interface lives for ever, and its functions do what [`HostApi`] says.
pub unsafe extern "C" fn connect(api: *const HostApi) -> u32 {
    match HOST.compare_exchange(
        ptr::null_mut(),
        api.cast_mut(),
        Ordering::AcqRel,
        Ordering::Acquire,
    ) {
        Ok(_) => {
            std::panic::set_hook(Box::new(|info| note(info.to_string())));
            0
        }
        Err(known) if known == api.cast_mut() => 0,
        Err(known) if known == none() => TOO_LATE,
        Err(_) => TAKEN,
    }
}

thread_local! {
    /// How many [`guarded`] calls this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// What the latest panic of this thread said, and where it was.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Remembers what a panic says until it is caught. One that nobody here catches may end the process, so it is told at once.
fn note(text: String) {
    if DEPTH.get() > 0 {
        SAID.set(Some(text));
    } else {
        eprintln!("a plugin {text}");
    }
}

/// A panic that was caught inside the library.
pub(crate) struct Panic {
    said: Option<String>,
    payload: Box<dyn Any + Send>,
}

impl Panic {
    /// What it said, and where it was.
    pub(crate) fn text(&self) -> String {
        let payload = &self.payload;
        let text = || payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = || text().or_else(|| payload.downcast_ref::<String>().cloned());
        let said = self.said.clone().or_else(text);
        said.unwrap_or_else(|| "panicked without a message".to_owned())
    }

    /// Goes on as a panic of the host, or, without a host, as the one that it was. `prefix` is said first.
    fn go_on(self, prefix: &str) -> ! {
        let Some(host) = host() else { resume_unwind(self.payload) };
        let said = format!("{prefix}{}", self.text());
        if DEPTH.get() > 0 {
            // Code of the plugin asked for it, and is guarded: the host's panic would be a foreign one to its guard.
            SAID.set(Some(said));
            resume_unwind(self.payload)
        }
        // SAFETY: the text lives until the call is left, which is when the host's panic passes through this frame.
        unsafe { (host.panic)(said.as_ptr(), said.len()) }
    }
}

/// Runs code of the plugin; gives what it panicked with.
pub(crate) fn caught<R>(run: impl FnOnce() -> R) -> Result<R, Panic> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(run));
    DEPTH.set(DEPTH.get() - 1);
    result.map_err(|payload| Panic { said: SAID.take(), payload })
}

/// Runs code of the plugin; a panic goes on as one of the host.
pub(crate) fn guarded<R>(run: impl FnOnce() -> R) -> R {
    caught(run).unwrap_or_else(|panic| panic.go_on(""))
}

/// As [`guarded`], for code that nothing else names: `what` is said before what the panic says.
pub(crate) fn guarded_as<R>(what: impl FnOnce() -> String, run: impl FnOnce() -> R) -> R {
    caught(run).unwrap_or_else(|panic| panic.go_on(&format!("in {}: ", what())))
}
