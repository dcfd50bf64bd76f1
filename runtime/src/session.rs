//! A loaded plan: steps it, watches over it, and reads its state.

#![allow(unsafe_code)]

use crate::arena::POISON;
use crate::library::{KernelLibrary, SliceMut};
use crate::manifest::{self, Stored};
use crate::pool::{MOST_THREADS, Pool};
use crate::report::{self, DeviceStats, LoadError, MemoryUse, OutputValue, StepError, StepReport};
use crate::resolve::{Op, resolve};
use crate::stop::StopFlag;
use crate::tensor::{ReadBackError, TensorValue, write_element};
use crate::trace;
use crate::worker::{NOWHERE, Shared, Status};
use piper_plan::{BufferId, DType, Input, Plan, State};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the session looks after its workers.
const WATCH: Duration = Duration::from_millis(10);
/// How long workers have to notice that a step is given up. Those still in a kernel then are left behind.
const GRACE: Duration = Duration::from_secs(2);

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// A step fails after this long without any device starting a new instruction.
    pub timeout: Duration,
    /// Record every instruction for [`Session::trace_json`].
    pub trace: bool,
    /// Seed of the initial values.
    pub seed: u64,
    /// Ends the run between steps.
    pub stop: StopFlag,
    /// Threads of each virtual device, from 1 to [`MOST_THREADS`]. Kernels in machine code that are large enough run on all of
    /// them; results are the same to the bit.
    pub threads_per_device: usize,
    /// Skip the verifier's rules about communication, so that tests can watch a deadlock. Structure is still checked.
    #[doc(hidden)]
    pub allow_hangs: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            timeout: Duration::from_secs(60),
            trace: false,
            seed: 0,
            stop: StopFlag::new(),
            threads_per_device: 1,
            allow_hangs: false,
        }
    }
}

/// Supplies the global inputs of each step.
pub trait DataSource {
    /// Fills `into`, the row-major elements of `input` for `step` (from 1). An error ends the step before it begins.
    fn fill(&self, step: u64, input: &Input, into: SliceMut<'_>) -> Result<(), String>;
}

impl<F: Fn(u64, &Input, SliceMut<'_>) -> Result<(), String>> DataSource for F {
    fn fill(&self, step: u64, input: &Input, into: SliceMut<'_>) -> Result<(), String> {
        self(step, input, into)
    }
}

/// A loaded plan with its devices' memory and threads.
pub struct Session {
    plan: Plan,
    options: Options,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The further threads of devices, each with its device.
    part_threads: Vec<(usize, JoinHandle<()>)>,
    is_poisoned: bool,
}

impl Session {
    /// Verifies a plan, resolves it, sets its state to the initial values and starts one thread a device.
    pub fn load(
        plan: Plan,
        library: &dyn KernelLibrary,
        options: Options,
    ) -> Result<Session, LoadError> {
        let mut faults = piper_plan::verify(&plan);
        if options.allow_hangs {
            use piper_plan::FaultKind::{Collective, Deadlock, Pairing};
            faults.retain(|f| !matches!(f.kind, Collective | Deadlock | Pairing));
        }
        if !faults.is_empty() {
            let rendered = faults.iter().map(|f| f.render(&plan)).collect();
            return Err(LoadError::Unsafe { faults, rendered });
        }
        let threads = options.threads_per_device;
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(LoadError::Threads { threads });
        }
        // Multiprocessors mean nothing to a thread, but workers would be promised and not there.
        let of_cpu = plan.partitions.iter().filter(|p| p.method == piper_plan::Method::Workers);
        let workers = of_cpu.map(|p| p.size).fold(0, u32::saturating_add);
        if workers as usize > threads {
            return Err(LoadError::Workers { workers, threads });
        }
        let machine = resolve(&plan, library, threads as u32)?;
        let devices = machine.codes.len();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = |_| Pool::new(threads - 1, devices * threads > cores);
        let shared = Arc::new(Shared {
            machine,
            status: (0..devices)
                .map(|_| Status { asleep_at: AtomicU32::new(NOWHERE), ..Status::default() })
                .collect(),
            pools: (0..devices).map(pool).collect(),
            scalars: plan.scalars.iter().map(|_| AtomicU64::new(0)).collect(),
            step: AtomicU64::new(0),
            ended: AtomicU32::new(0),
            abort: AtomicBool::new(false),
            quit: AtomicBool::new(false),
            failure: Mutex::new(None),
            workers: OnceLock::new(),
            session: Mutex::new(None),
            spans: (0..devices).map(|_| Mutex::new(Vec::new())).collect(),
            is_traced: options.trace,
            epoch: Instant::now(),
        });
        let (threads, part_threads) = (Vec::new(), Vec::new());
        let mut session =
            Session { plan, options, shared, threads, part_threads, is_poisoned: false };
        session.initialise();
        let named = |name: String| std::thread::Builder::new().name(name).stack_size(8 << 20);
        for device in 0..devices {
            let shared = Arc::clone(&session.shared);
            let builder = named(format!("device {device}"));
            session.threads.push(builder.spawn(move || shared.work(device))?);
        }
        for device in 0..devices {
            let mut threads = Vec::new();
            for index in 0..session.shared.pools[device].threads() {
                let shared = Arc::clone(&session.shared);
                let builder = named(format!("device {device} part {}", index + 1));
                let thread = builder.spawn(move || shared.pools[device].work(index))?;
                threads.push(thread.thread().clone());
                session.part_threads.push((device, thread));
            }
            session.shared.pools[device].started(threads);
        }
        let handles = session.threads.iter().map(|t| t.thread().clone()).collect();
        assert!(session.shared.workers.set(handles).is_ok(), "set once");
        Ok(session)
    }

    /// The plan being run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Steps completed.
    pub fn steps(&self) -> u64 {
        self.shared.step.load(Ordering::Relaxed)
    }

    /// Runs one step on all devices.
    ///
    /// After an error other than `Stopped` and `Data` the state is incomplete and the session takes no more steps.
    pub fn step(&mut self, data: &dyn DataSource) -> Result<StepReport, StepError> {
        if self.is_poisoned {
            return Err(StepError::Poisoned);
        }
        let step = self.steps() + 1;
        if self.options.stop.is_raised() {
            return Err(StepError::Stopped { step });
        }
        for (input, host) in self.plan.inputs.iter().zip(&self.shared.machine.inputs) {
            let elems = input.shape.iter().product::<u64>() as usize;
            // SAFETY: no step is running, so nobody else uses the host copies; they have this size and are aligned.
            let slice = unsafe { SliceMut::new(host.at(0), elems, input.dtype) };
            data.fill(step, input, slice)
                .map_err(|why| StepError::Data { input: input.name.clone(), why })?;
        }
        for (scalar, value) in self.plan.scalars.iter().zip(&self.shared.scalars) {
            value.store(scalar.source.at(step).to_bits(), Ordering::Relaxed);
        }
        *self.shared.session.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(std::thread::current());
        self.shared.ended.store(0, Ordering::Relaxed);
        let start = Instant::now();
        self.shared.step.store(step, Ordering::Release);
        self.shared.wake_all();
        self.is_poisoned = true; // until the step is known to be whole
        self.watch(step)?;
        let wall = start.elapsed();
        let outputs = self.outputs()?;
        self.is_poisoned = false;
        Ok(StepReport { step, outputs, wall, devices: self.stats() })
    }

    fn stats(&self) -> Vec<DeviceStats> {
        let of = |(status, code): (&Status, &crate::resolve::Code)| DeviceStats {
            instructions: code.ops.len() as u64,
            wall: Duration::from_nanos(status.wall_ns.load(Ordering::Relaxed)),
            waiting: Duration::from_nanos(status.waiting_ns.load(Ordering::Relaxed)),
        };
        self.shared.status.iter().zip(&self.shared.machine.codes).map(of).collect()
    }

    /// Waits for the end of the step, looking for failures, deadlock and standstill.
    fn watch(&self, step: u64) -> Result<(), StepError> {
        let all = self.shared.status.len() as u32;
        let (mut progress, mut since) = (u64::MAX, Instant::now());
        while self.shared.ended.load(Ordering::Acquire) < all {
            std::thread::park_timeout(WATCH);
            if self.shared.abort.load(Ordering::Acquire) {
                break;
            }
            let now = self
                .shared
                .status
                .iter()
                .map(|s| u64::from(s.at.load(Ordering::Relaxed)) + s.ended.load(Ordering::Relaxed))
                .sum();
            if now != progress {
                (progress, since) = (now, Instant::now());
            } else if self.is_deadlocked(step) {
                let report = self.give_up(step);
                return Err(StepError::Deadlock { step, report });
            } else if since.elapsed() > self.options.timeout {
                let report = self.give_up(step);
                return Err(StepError::Timeout { step, timeout: self.options.timeout, report });
            }
        }
        let failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failure {
            None => Ok(()),
            Some(failure) => {
                self.give_up(step);
                let instr = self.instr(failure.device, failure.op);
                let place =
                    instr.map(|i| report::place(&self.plan, failure.device, i)).unwrap_or_default();
                let device = self.plan.mesh().render(failure.device);
                Err(StepError::Device { step, device, message: failure.message, place })
            }
        }
    }

    /// Whether every device that has not ended sleeps at a meeting that is not full. Looked at twice: what held for all
    /// at the second look held for all at one moment, and then nobody is left to change it.
    fn is_deadlocked(&self, step: u64) -> bool {
        let look = || -> Option<Vec<u32>> {
            let at = |(device, status): (usize, &Status)| {
                if status.ended.load(Ordering::Acquire) >= step {
                    return Some(NOWHERE);
                }
                let op = status.asleep_at.load(Ordering::Acquire);
                let code = &self.shared.machine.codes[device];
                let Some(Op::Meet(ends)) = code.ops.get(op as usize) else { return None };
                let mut ends = code.ends[ends.start as usize..ends.end as usize].iter();
                ends.any(|e| !self.shared.machine.meetings[e.0 as usize].is_full(step))
                    .then_some(op)
            };
            self.shared.status.iter().enumerate().map(at).collect()
        };
        let first = look();
        first.is_some_and(|seen| seen.iter().any(|&op| op != NOWHERE) && look() == Some(seen))
    }

    fn instr(&self, device: usize, op: usize) -> Option<usize> {
        self.shared.machine.codes[device].instrs.get(op).map(|&i| i as usize)
    }

    /// Says where the unfinished devices are, and releases them.
    fn give_up(&self, step: u64) -> String {
        let mut lines = Vec::new();
        for (device, status) in self.shared.status.iter().enumerate() {
            if status.ended.load(Ordering::Acquire) < step
                && let Some(instr) = self.instr(device, status.at.load(Ordering::Relaxed) as usize)
            {
                lines.push(report::stuck(&self.plan, device, instr));
            }
        }
        self.shared.abort.store(true, Ordering::Release);
        let start = Instant::now();
        while self.shared.ended.load(Ordering::Acquire) < self.shared.status.len() as u32
            && start.elapsed() < GRACE
        {
            self.shared.wake_all();
            std::thread::park_timeout(Duration::from_millis(1));
        }
        lines.join("\n")
    }

    fn outputs(&self) -> Result<Vec<(String, OutputValue)>, StepError> {
        let contributions = self.shared.machine.contributions.iter();
        let stored = contributions.map(|c| Stored {
            output: c.output,
            device: c.device,
            buffer: c.buffer,
            part: c.part,
            // SAFETY: the step has ended; nobody writes to the slots.
            bytes: Cow::Borrowed(unsafe { c.slot.bytes() }),
        });
        manifest::outputs(&self.plan, &stored.collect::<Vec<_>>())
    }

    /// Names of the state tensors.
    pub fn states(&self) -> impl Iterator<Item = &str> {
        self.plan.states.tensors.iter().map(|s| s.name.as_str())
    }

    /// A state tensor as it is between steps, gathered from its shards; replicas have to agree bitwise.
    pub fn state(&self, name: &str) -> Result<TensorValue, ReadBackError> {
        manifest::gather(&self.plan, name, &mut |device, buffer| {
            let range = self.range(device, buffer);
            // SAFETY: no step is running (`&self` and `step` takes `&mut self`), so nobody writes to the arena.
            let arena = unsafe { self.shared.machine.codes[device].arena.bytes() };
            Ok(Cow::Borrowed(&arena[range]))
        })
    }

    /// Replaces a state tensor on all devices that hold any of it.
    pub fn set_state(&mut self, name: &str, value: &TensorValue) -> Result<(), ReadBackError> {
        let state = manifest::find(&self.plan, name)?;
        manifest::check_value(state, value)?;
        let size = state.dtype.size() as usize;
        self.write_state(state, |index, to| {
            to.copy_from_slice(&value.bytes[index as usize * size..][..size])
        });
        Ok(())
    }

    fn initialise(&mut self) {
        for state in &self.plan.states.tensors {
            let (values, dtype): (_, DType) =
                (state.init.values(&state.name, self.options.seed), state.dtype);
            self.write_state(state, |index, to| write_element(values.at(index), dtype, to));
        }
    }

    /// Calls `write(index in the tensor, bytes of the element)` for every element held anywhere. No step may be running.
    fn write_state(&self, state: &State, write: impl Fn(u64, &mut [u8])) {
        for device in 0..self.plan.devices() {
            let program = self.plan.device_program[device];
            let mut homes: Vec<BufferId> =
                state.homes.iter().filter(|h| h.program == program).map(|h| h.buffer).collect();
            homes.sort_unstable();
            homes.dedup();
            for buffer in homes {
                let range = self.range(device, buffer);
                // SAFETY: called by `load` before any worker exists and by `set_state`, which holds `&mut self`.
                let arena = unsafe { self.shared.machine.codes[device].arena.bytes_mut() };
                manifest::spread(&self.plan, state, device, buffer, &mut arena[range], &write);
            }
        }
    }

    fn range(&self, device: usize, buffer: BufferId) -> std::ops::Range<usize> {
        let buffer = self.plan.programs[self.plan.device_program[device].index()].buffer(buffer);
        buffer.offset as usize..(buffer.offset + buffer.bytes()) as usize
    }

    /// Memory per device: what was planned, and how far up anything was really written (arenas begin poisoned).
    pub fn memory(&self) -> Vec<MemoryUse> {
        let of = |(device, code): (usize, &crate::resolve::Code)| {
            let program = &self.plan.programs[self.plan.device_program[device].index()];
            // SAFETY: no step is running, so nobody writes to the arena.
            let bytes = unsafe { code.arena.bytes() };
            let used = bytes.iter().rposition(|&b| b != POISON).map_or(0, |at| at as u64 + 1);
            let workspace = code.workspace.len() as u64;
            MemoryUse { planned: program.arena_bytes, used, workspace }
        };
        self.shared.machine.codes.iter().enumerate().map(of).collect()
    }

    /// The steps so far in the Trace Event Format (Perfetto, chrome://tracing). Empty unless [`Options::trace`] is set.
    pub fn trace_json(&self) -> String {
        let spans: Vec<_> = self
            .shared
            .spans
            .iter()
            .map(|s| s.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .collect();
        trace::json(&self.plan, &spans)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.abort.store(true, Ordering::Release);
        self.shared.quit.store(true, Ordering::Release);
        self.shared.wake_all();
        self.shared.pools.iter().for_each(Pool::quit);
        let step = self.steps();
        // A worker that never came back from a kernel keeps its memory (shared) and is left behind.
        let has_ended = |device: usize| {
            let status = self.shared.status.get(device);
            status.is_some_and(|s| s.ended.load(Ordering::Acquire) >= step)
        };
        for (device, thread) in self.part_threads.drain(..) {
            if has_ended(device) {
                // Where loading failed half way, the pool does not know it yet.
                thread.thread().unpark();
                let _ = thread.join();
            }
        }
        for (device, thread) in self.threads.drain(..).enumerate() {
            if has_ended(device) {
                thread.thread().unpark();
                // Workers catch panics; nothing is lost with the result.
                let _ = thread.join();
            }
        }
    }
}
