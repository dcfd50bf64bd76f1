//! A device's thread: runs its instructions in order, meets others, sleeps between steps.

#![allow(unsafe_code)]

use crate::library::{Arg, Kernel, NativeParts, SliceMut};
use crate::meeting::{Arrival, Meeting};
use crate::pool::{Divided, Pool};
use crate::resolve::{Code, Launch, Machine, Op};
use crate::trace::Span;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Instant;

/// Looks at a counter this often before sleeping: about as long as a wake-up takes.
const SPINS: u32 = 200;

/// Not waiting anywhere.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What a device shows of itself to the watchdog and the reports.
#[repr(align(64))] // one cache line a device: its thread writes this for every instruction
#[derive(Default)]
pub(crate) struct Status {
    /// The op it is in.
    pub(crate) at: AtomicU32,
    /// The op at which it sleeps, waiting for others, or [`NOWHERE`].
    pub(crate) asleep_at: AtomicU32,
    /// The last step it has ended.
    pub(crate) ended: AtomicU64,
    pub(crate) wall_ns: AtomicU64,
    pub(crate) waiting_ns: AtomicU64,
}

/// Why a device gave up.
pub(crate) struct Failure {
    pub(crate) device: usize,
    pub(crate) op: usize,
    pub(crate) message: String,
}

/// What the session and all workers share.
pub(crate) struct Shared {
    pub(crate) machine: Machine,
    pub(crate) status: Vec<Status>,
    /// The further threads of each device.
    pub(crate) pools: Vec<Pool>,
    /// Values of the plan's scalars this step, as bits.
    pub(crate) scalars: Vec<AtomicU64>,
    /// The step to run; workers sleep until it grows.
    pub(crate) step: AtomicU64,
    pub(crate) ended: AtomicU32,
    /// Everyone has to give up.
    pub(crate) abort: AtomicBool,
    pub(crate) quit: AtomicBool,
    /// The first failure.
    pub(crate) failure: Mutex<Option<Failure>>,
    pub(crate) workers: OnceLock<Vec<Thread>>,
    /// Who is to be told that a step has ended.
    pub(crate) session: Mutex<Option<Thread>>,
    pub(crate) spans: Vec<Mutex<Vec<Span>>>,
    pub(crate) is_traced: bool,
    pub(crate) epoch: Instant,
}

/// The step was given up because of another device.
struct Aborted;

impl Shared {
    pub(crate) fn wake_all(&self) {
        self.workers.get().into_iter().flatten().for_each(Thread::unpark);
    }

    fn wake(&self, meeting: &Meeting, but: usize) {
        let Some(workers) = self.workers.get() else { return };
        for side in meeting.sides.iter().filter(|s| s.device as usize != but) {
            workers[side.device as usize].unpark();
        }
    }

    /// Notes a failure, if it is the first, and makes everyone give up.
    fn fail(&self, device: usize, message: String) {
        let op = self.status[device].at.load(Ordering::Relaxed) as usize;
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(Failure { device, op, message });
        drop(failure);
        self.abort.store(true, Ordering::Release);
        self.wake_all();
    }

    /// A worker's life.
    pub(crate) fn work(&self, device: usize) {
        let mut step = 0;
        loop {
            while self.step.load(Ordering::Acquire) == step && !self.quit.load(Ordering::Acquire) {
                std::thread::park();
            }
            if self.quit.load(Ordering::Acquire) {
                return;
            }
            step += 1;
            let start = Instant::now();
            let run = Run { shared: self, device, step, waited_ns: Cell::new(0) };
            match catch_unwind(AssertUnwindSafe(|| run.step())) {
                Ok(Ok(()) | Err(Stop::Aborted)) => {}
                Ok(Err(Stop::Failed(message))) => self.fail(device, message),
                Err(panic) => {
                    self.fail(device, format!("panicked: {}", panic_text(panic.as_ref())))
                }
            }
            let status = &self.status[device];
            status.wall_ns.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            status.waiting_ns.store(run.waited_ns.get(), Ordering::Relaxed);
            status.asleep_at.store(NOWHERE, Ordering::Relaxed);
            status.ended.store(step, Ordering::Release);
            if self.ended.fetch_add(1, Ordering::AcqRel) + 1 == self.status.len() as u32
                && let Some(session) = &*self.session.lock().unwrap_or_else(PoisonError::into_inner)
            {
                session.unpark();
            }
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Why a device does not finish its step.
enum Stop {
    Aborted,
    Failed(String),
}

impl From<Aborted> for Stop {
    fn from(_: Aborted) -> Stop {
        Stop::Aborted
    }
}

/// One device in one step.
struct Run<'a> {
    shared: &'a Shared,
    device: usize,
    step: u64,
    waited_ns: Cell<u64>,
}

impl Run<'_> {
    fn step(&self) -> Result<(), Stop> {
        let code = &self.shared.machine.codes[self.device];
        let status = &self.shared.status[self.device];
        let scalar = |id: &piper_plan::ScalarId| {
            f64::from_bits(self.shared.scalars[id.index()].load(Ordering::Relaxed))
        };
        let scalars: Vec<f64> = code.scalars.iter().map(scalar).collect();
        let mut spans = Vec::new();
        for (at, op) in code.ops.iter().enumerate() {
            status.at.store(at as u32, Ordering::Relaxed);
            let start = if self.shared.is_traced { Some(Instant::now()) } else { None };
            match op {
                Op::Launch(launch) => self.launch(launch, &scalars).map_err(Stop::Failed)?,
                Op::Meet(ends) => self.meet(code, ends.clone(), at as u32)?,
                // SAFETY: both ranges are valid for `bytes` and do not overlap (verified); this device alone uses them now.
                Op::Copy { src, dst, bytes } => unsafe {
                    std::ptr::copy_nonoverlapping(*src, *dst, *bytes)
                },
                Op::Fill { dst, elems, dtype, value } => {
                    // SAFETY: a buffer of this device's arena, used by nobody else now.
                    fill(unsafe { SliceMut::new(*dst, *elems, *dtype) }, *value);
                }
            }
            if let Some(start) = start {
                let from = start.duration_since(self.shared.epoch);
                spans.push(Span {
                    instr: code.instrs[at],
                    from,
                    lasted: start.elapsed(),
                    step: self.step,
                });
            }
        }
        status.at.store(code.ops.len() as u32, Ordering::Relaxed);
        if self.shared.is_traced {
            self.shared.spans[self.device]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .append(&mut spans);
        }
        Ok(())
    }

    fn launch(&self, launch: &Launch, scalars: &[f64]) -> Result<(), String> {
        let scalars = &scalars[launch.scalars.clone()];
        match &launch.kernel {
            Kernel::Native { parts: Some(NativeParts { entry, end, .. }), .. }
                if launch.parts > 1 =>
            {
                let (bufs, scalars) = (launch.bufs.as_ptr(), scalars.as_ptr());
                let workspace = launch.workspace;
                let divided =
                    Divided { entry: *entry, bufs, scalars, workspace, parts: launch.parts };
                // SAFETY: as below, with a workspace for so many parts; this is the device's own thread.
                unsafe {
                    self.shared.pools[self.device].run(divided);
                    if let Some(end) = end {
                        end(bufs, scalars, workspace);
                    }
                }
                Ok(())
            }
            Kernel::Native { entry, .. } => {
                // SAFETY: buffers, scalars and workspace are as the declaration says (verified), and the library vouches
                // that the symbol is a kernel of that declaration.
                unsafe { entry(launch.bufs.as_ptr(), scalars.as_ptr(), launch.workspace) };
                Ok(())
            }
            Kernel::Closure(kernel) => {
                let args = launch.bufs.iter().zip(&launch.params);
                // SAFETY: buffers have the declared sizes, types and alignment (verified), lie in this device's arena, which
                // is initialised, and those written overlap no other (verified).
                let mut args: Vec<Arg> = args
                    .map(|(&buf, &(elems, dtype, mode))| unsafe {
                        Arg::new(buf, elems, dtype, mode)
                    })
                    .collect();
                kernel(&mut args, scalars)
            }
        }
    }

    fn meet(&self, code: &Code, ends: std::ops::Range<u32>, at: u32) -> Result<(), Aborted> {
        let meetings = &self.shared.machine.meetings;
        let ends = &code.ends[ends.start as usize..ends.end as usize];
        // A collective stands alone in its instruction, so one flag is enough.
        let mut did_part = false;
        for &(meeting, part) in ends {
            let meeting = &meetings[meeting as usize];
            // SAFETY: the memory is this device's operand of this instruction, which it does not leave before the end.
            match unsafe { meeting.arrive(self.step) } {
                Arrival::Early => {}
                Arrival::Finished => self.shared.wake(meeting, self.device),
                Arrival::Shared => {
                    self.shared.wake(meeting, self.device);
                    self.part(meeting, part);
                    did_part = true;
                }
            }
        }
        for &(meeting, part) in ends {
            let meeting = &meetings[meeting as usize];
            if meeting.is_shared() && !did_part {
                self.wait(at, || meeting.is_full(self.step))?;
                self.part(meeting, part);
            }
            self.wait(at, || meeting.is_over(self.step))?;
        }
        Ok(())
    }

    fn part(&self, meeting: &Meeting, part: u32) {
        // SAFETY: the meeting is full, and `meet` calls this once a step and side.
        if unsafe { meeting.do_part(part as usize, self.step) } {
            self.shared.wake(meeting, self.device);
        }
    }

    /// Waits until `is_done`, first spinning, then asleep. Completions wake the sides; so does giving up.
    fn wait(&self, at: u32, is_done: impl Fn() -> bool) -> Result<(), Aborted> {
        for _ in 0..SPINS {
            if is_done() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let status = &self.shared.status[self.device];
        let start = Instant::now();
        status.asleep_at.store(at, Ordering::Release);
        let outcome = loop {
            if is_done() {
                break Ok(());
            }
            if self.shared.abort.load(Ordering::Acquire) {
                break Err(Aborted);
            }
            std::thread::park();
        };
        status.asleep_at.store(NOWHERE, Ordering::Release);
        self.waited_ns.set(self.waited_ns.get() + start.elapsed().as_nanos() as u64);
        outcome
    }
}

fn fill(slice: SliceMut, value: f64) {
    match slice {
        SliceMut::F32(s) => s.fill(value as f32),
        SliceMut::F64(s) => s.fill(value),
        SliceMut::I32(s) => s.fill(value as i32),
        SliceMut::Bf16(s) => {
            let mut bits = [0; 2];
            crate::tensor::write_element(value, piper_plan::DType::Bf16, &mut bits);
            s.fill(u16::from_ne_bytes(bits));
        }
    }
}
