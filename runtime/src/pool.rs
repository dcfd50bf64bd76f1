//! The threads of one virtual device: a launch in parts, each part on a thread.
//!
//! The device's own thread hands a launch over and takes the first part itself; the others are taken by threads that wait for the next
//! launch, first looking, then asleep. Nothing is allocated for a launch. A kernel gives the same bits in any number of parts, so
//! how many there are is a matter of speed alone.
//!
//! One word says which launch it is and in how many parts. A thread beyond those parts looks at nothing else; the device's thread
//! waits for all that have a part before it goes on. So the launch, which is no atomic, is written only while nobody reads it.

#![allow(unsafe_code)]

use crate::library::NativePartFn;
use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;

/// How often a thread looks for the next launch before it sleeps: some 50 microseconds, which most pauses between launches are
/// shorter than and the wake-up of a thread is not.
const SPINS: u32 = 2000;
/// The same where there are fewer cores than threads, and looking keeps another from working.
const SPINS_CROWDED: u32 = 20;

/// Bits of the word for the number of parts; the launch is counted in the others.
const PARTS_BITS: u32 = 16;

/// Most threads of one device.
pub const MOST_THREADS: usize = 1 << 10;

/// A launch in parts.
#[derive(Clone, Copy)]
pub(crate) struct Divided {
    pub(crate) entry: NativePartFn,
    pub(crate) bufs: *const *mut u8,
    pub(crate) scalars: *const f64,
    pub(crate) workspace: *mut u8,
    pub(crate) parts: u32,
}

impl Divided {
    /// # Safety
    /// The addresses are what the kernel expects, and no other thread runs this part.
    unsafe fn run(&self, part: u32) {
        let (part, parts) = (u64::from(part), u64::from(self.parts));
        // SAFETY: the caller's promise.
        unsafe { (self.entry)(self.bufs, self.scalars, self.workspace, part, parts) }
    }
}

/// Who takes parts besides the device's own thread.
#[derive(Default)]
pub(crate) struct Pool {
    /// The launch at hand.
    launch: UnsafeCell<Option<Divided>>,
    /// Its number and, in the lowest bits, its parts.
    word: AtomicU64,
    /// Parts not yet done, but for the device's own.
    left: AtomicU32,
    /// The device's thread, and whether it sleeps until they are.
    owner: OnceLock<Thread>,
    is_owner_asleep: AtomicBool,
    /// The other threads, and whether each sleeps.
    threads: OnceLock<Vec<Thread>>,
    asleep: Vec<AtomicBool>,
    quit: AtomicBool,
    spins: u32,
}

// SAFETY: `launch` is written by the owner while no part is left, and read by threads that have one; `word` and `left` order the
// two. What its addresses lead to is the parts' business (see `run`).
unsafe impl Sync for Pool {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Pool {}

impl Pool {
    /// For `threads` threads besides the device's own.
    pub(crate) fn new(threads: usize, is_crowded: bool) -> Pool {
        Pool {
            asleep: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            spins: if is_crowded { SPINS_CROWDED } else { SPINS },
            ..Pool::default()
        }
    }

    /// How many threads it is for.
    pub(crate) fn threads(&self) -> usize {
        self.asleep.len()
    }

    /// Names its threads, once they run.
    pub(crate) fn started(&self, threads: Vec<Thread>) {
        assert_eq!(threads.len(), self.asleep.len());
        assert!(self.threads.set(threads).is_ok(), "started once");
    }

    /// Lets all threads end that have no part.
    pub(crate) fn quit(&self) {
        self.quit.store(true, Ordering::SeqCst);
        self.threads.get().into_iter().flatten().for_each(Thread::unpark);
    }

    /// Runs a launch, in at most as many parts as there are threads, and returns when all parts are done.
    ///
    /// # Safety
    /// The addresses are what the kernel expects, and nobody else uses what it writes. Only one thread, always the same, calls this.
    pub(crate) unsafe fn run(&self, launch: Divided) {
        let others = launch.parts - 1;
        assert!(others as usize <= self.asleep.len(), "more parts than threads");
        self.owner.get_or_init(std::thread::current);
        // SAFETY: no part of the last launch is left, so nobody reads.
        unsafe { *self.launch.get() = Some(launch) };
        self.left.store(others, Ordering::Relaxed);
        let number = (self.word.load(Ordering::Relaxed) >> PARTS_BITS) + 1;
        // A thread says that it sleeps, then looks at the word; here it is the other way round. Sequentially consistent, so one of
        // the two sees the other.
        self.word.store(number << PARTS_BITS | u64::from(launch.parts), Ordering::SeqCst);
        for (asleep, thread) in
            self.asleep.iter().zip(self.threads.get().into_iter().flatten()).take(others as usize)
        {
            if asleep.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
        // SAFETY: the caller's promise; the first part is nobody else's.
        unsafe { launch.run(0) };
        for _ in 0..self.spins {
            if self.left.load(Ordering::Acquire) == 0 {
                return;
            }
            std::hint::spin_loop();
        }
        self.is_owner_asleep.store(true, Ordering::SeqCst);
        while self.left.load(Ordering::SeqCst) > 0 {
            std::thread::park();
        }
        self.is_owner_asleep.store(false, Ordering::Relaxed);
    }

    /// The life of thread `index`, from 0: takes part `index + 1` of each launch that has one.
    pub(crate) fn work(&self, index: usize) {
        let mut seen = 0;
        loop {
            let Some(word) = self.next(index, seen) else { return };
            seen = word;
            let (part, parts) = (index as u32 + 1, (word & ((1 << PARTS_BITS) - 1)) as u32);
            if part >= parts {
                continue;
            }
            // SAFETY: this thread has a part, so the launch stays as it is until `left` says that the part is done.
            let launch = unsafe { *self.launch.get() };
            if let Some(launch) = launch {
                // SAFETY: whoever called `run` promises it; each thread takes its own part.
                unsafe { launch.run(part) };
            }
            if self.left.fetch_sub(1, Ordering::SeqCst) == 1
                && self.is_owner_asleep.load(Ordering::SeqCst)
                && let Some(owner) = self.owner.get()
            {
                owner.unpark();
            }
        }
    }

    /// The word of the next launch after that of `seen`; `None` to end.
    fn next(&self, index: usize, seen: u64) -> Option<u64> {
        let changed = |order| Some(self.word.load(order)).filter(|word| *word != seen);
        for _ in 0..self.spins {
            if let Some(word) = changed(Ordering::Acquire) {
                return Some(word);
            }
            std::hint::spin_loop();
        }
        self.asleep[index].store(true, Ordering::SeqCst);
        let word = loop {
            if let Some(word) = changed(Ordering::SeqCst) {
                break Some(word);
            }
            if self.quit.load(Ordering::SeqCst) {
                break None;
            }
            std::thread::park();
        };
        self.asleep[index].store(false, Ordering::Relaxed);
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Adds one to the counter of the part, and remembers the number of parts.
    unsafe extern "C" fn count(
        bufs: *const *mut u8,
        _: *const f64,
        _: *mut u8,
        part: u64,
        parts: u64,
    ) {
        // SAFETY: the test gives an array of counters, one a part.
        unsafe {
            let counters = (*bufs).cast::<u64>();
            *counters.add(part as usize) += parts;
        }
    }

    fn run(threads: usize, is_crowded: bool, launches: impl Iterator<Item = u32>) -> Vec<u64> {
        let pool = Arc::new(Pool::new(threads - 1, is_crowded));
        let work = |index| {
            let pool = Arc::clone(&pool);
            std::thread::spawn(move || pool.work(index))
        };
        let handles: Vec<_> = (0..threads - 1).map(work).collect();
        pool.started(handles.iter().map(|h| h.thread().clone()).collect());
        let mut counters = vec![0_u64; threads];
        let bufs = [counters.as_mut_ptr().cast::<u8>()];
        for parts in launches {
            let launch = Divided {
                entry: count,
                bufs: bufs.as_ptr(),
                scalars: std::ptr::null(),
                workspace: std::ptr::null_mut(),
                parts,
            };
            // SAFETY: one counter a part, and this thread alone runs launches.
            unsafe { pool.run(launch) };
        }
        pool.quit();
        for handle in handles {
            handle.join().expect("no panic");
        }
        counters
    }

    #[test]
    fn every_part_runs_once() {
        for is_crowded in [false, true] {
            for threads in [1, 2, 3, 5] {
                let counters = run(threads, is_crowded, (0..2000).map(|_| threads as u32));
                assert_eq!(counters, vec![2000 * threads as u64; threads]);
            }
        }
    }

    #[test]
    fn threads_without_a_part_stay_out() {
        let parts = |i: u32| 1 + i % 4;
        let counters = run(4, true, (0..4000).map(parts));
        // Part p runs in launches of more than p parts; each adds their number.
        assert_eq!(counters, [10_000, 9000, 7000, 4000]);
    }

    #[test]
    fn sleepers_are_woken() {
        let pause = |i: u64| {
            std::thread::sleep(std::time::Duration::from_millis(i % 3));
            2
        };
        assert_eq!(run(2, false, (0..30).map(pause)), [60, 60]);
    }
}
