//! The thread of one device: it opens the GPU, joins the communicators, and then issues the device's operations once a step.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use cudarc::driver::sys;
use piper_plan::Plan;
use piper_runtime::manifest;
use piper_runtime::trace::Span;

use crate::device::Device;
use crate::driver::{Driver, NOT_READY};
use crate::error::CudaError;
use crate::graph::Replay;
use crate::groups::Groups;
use crate::inputs::HostInput;
use crate::nccl::{Communicator, Nccl};
use crate::products::{ProductCounts, Products};
use crate::recorder::Recorder;
use crate::resolve::{Issue, Launch, Op, Pattern, Slot, resolve};
use crate::session::Options;
use crate::target::DeviceInfo;

/// Polls of a stream before the thread sleeps between them.
const SPINS: u32 = 2_000;
/// How long it sleeps.
const NAP: Duration = Duration::from_micros(50);
/// How often a communicator is asked what has gone wrong.
const ASK: Duration = Duration::from_millis(5);

/// What all threads of a process know.
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) groups: Groups,
    pub(crate) options: Options,
    /// By local device.
    pub(crate) status: Vec<Status>,
    /// Devices give up what they wait for.
    pub(crate) abort: AtomicBool,
    /// What traces start at.
    pub(crate) epoch: Instant,
    /// What was recorded, by local device.
    pub(crate) spans: Vec<Mutex<Vec<Span>>>,
    /// Global inputs of the step.
    pub(crate) inputs: RwLock<Vec<HostInput>>,
}

/// Where a device stands in its step.
#[derive(Default)]
pub(crate) struct Status {
    /// Operations issued.
    pub(crate) issued: AtomicU32,
    /// Operations that communicate and have completed, as far as looked at.
    pub(crate) met: AtomicU32,
    /// The step, while it is replayed as a graph and its operations are out of sight.
    pub(crate) is_graph: AtomicBool,
}

/// What a device is told.
pub(crate) enum Command {
    /// Join the communicators of these names, one for each of the plan's groups.
    Join(Arc<Vec<Vec<u8>>>),
    /// Take a step with these scalars.
    Step(Arc<[f64]>),
    /// Anything between steps.
    Call(Box<dyn FnOnce(&Device) + Send>),
    /// End.
    Quit,
}

/// What a device answers.
pub(crate) enum Reply {
    /// It is there.
    Opened(Result<(), CudaError>),
    /// It can take steps; what it will contribute to outputs, in order.
    Joined(Result<Joined, CudaError>),
    /// The step is over: what was stored.
    Stepped(Result<Vec<Vec<u8>>, Failure>, Times),
}

/// A device that has joined.
#[derive(Default)]
pub(crate) struct Joined {
    pub(crate) slots: Vec<Slot>,
    /// Instruction of each operation.
    pub(crate) instrs: Vec<u32>,
    /// Operations that communicate.
    pub(crate) meetings: Vec<u32>,
    /// Products that cuBLASLt computes, if it was asked for, and bytes of its workspace.
    pub(crate) products: Option<ProductCounts>,
    pub(crate) products_bytes: u64,
}

/// What a step took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// All of it.
    pub(crate) wall: Duration,
    /// Issuing.
    pub(crate) issue: Duration,
}

/// Why a device does not finish its step.
pub(crate) struct Failure {
    /// The operation at which it was noticed, if that is known.
    pub(crate) op: Option<u32>,
    pub(crate) message: String,
    /// Only because others failed.
    pub(crate) is_aborted: bool,
}

impl Failure {
    fn at(op: impl Into<Option<u32>>, message: impl Into<String>) -> Self {
        Self { op: op.into(), message: message.into(), is_aborted: false }
    }
}

/// The thread of local device `at`.
pub(crate) fn work(
    shared: &Shared,
    at: usize,
    number: usize,
    info: &DeviceInfo,
    commands: &Receiver<Command>,
    replies: &Sender<(usize, Reply)>,
) {
    let opened = Driver::open().and_then(|driver| open(shared, driver, number, info));
    let mut worker = match opened {
        Ok(device) => {
            let _ = replies.send((at, Reply::Opened(Ok(()))));
            let (issue, replay, recorder, comms) = (None, None, None, Vec::new());
            Worker { shared, at, replay, recorder, issue, comms, device, steps: 0 }
        }
        Err(error) => {
            let _ = replies.send((at, Reply::Opened(Err(error))));
            return;
        }
    };
    // A session that is gone is no longer interested in answers, and ends the loop by hanging up.
    while let Ok(command) = commands.recv() {
        let reply = match command {
            Command::Quit => break,
            Command::Call(call) => {
                call(&worker.device);
                continue;
            }
            Command::Join(ids) => Reply::Joined(worker.join(&ids)),
            Command::Step(scalars) => {
                let start = Instant::now();
                let (stored, issue) = worker.step(&scalars);
                Reply::Stepped(stored, Times { wall: start.elapsed(), issue })
            }
        };
        let _ = replies.send((at, reply));
    }
}

/// Opens the device and writes its initial state.
fn open(
    shared: &Shared,
    driver: &'static Driver,
    number: usize,
    info: &DeviceInfo,
) -> Result<Device, CudaError> {
    let plan = &shared.plan;
    let device = Device::open(driver, info, plan, number)?;
    let program = &plan.programs[plan.device_program[number].index()];
    for (at, buffer) in program.buffers.iter().enumerate().filter(|(_, b)| b.persistent) {
        let id = piper_plan::BufferId(at as u32);
        let contents = manifest::initial(plan, number, id, shared.options.seed);
        device.arena.write(buffer.offset, &contents)?;
    }
    Ok(device)
}

/// A device with what it issues. Fields are in the order in which they have to go.
pub(crate) struct Worker<'s> {
    shared: &'s Shared,
    at: usize,
    replay: Option<Replay>,
    recorder: Option<Recorder>,
    pub(crate) issue: Option<Issue>,
    /// By the plan's group.
    comms: Vec<Option<Communicator>>,
    pub(crate) device: Device,
    steps: u64,
}

impl Worker<'_> {
    fn status(&self) -> &Status {
        &self.shared.status[self.at]
    }

    fn join(&mut self, ids: &[Vec<u8>]) -> Result<Joined, CudaError> {
        let plan = &self.shared.plan;
        for (group, id) in self.shared.groups.all.iter().zip(ids) {
            let rank = group.members.iter().position(|member| *member == self.device.number);
            let joined = rank.map(|rank| {
                let partition = plan.partitions.iter().find(|p| p.comms.contains(&group.comm));
                let nccl = Nccl::open()?;
                let most = piper_plan::partition::most_ctas(Some(nccl.version_pair()));
                let ctas = partition.and_then(|p| p.ctas).map(|(a, b)| (a.min(most), b.min(most)));
                Communicator::join(nccl, id, rank, group.members.len(), ctas)
            });
            self.comms.push(joined.transpose()?);
        }
        let gemm = self.shared.options.gemm;
        let issue = resolve(plan, &mut self.device, &self.shared.groups, &self.comms, gemm)?;
        let joined = Joined {
            slots: issue.slots.clone(),
            instrs: issue.instrs.clone(),
            meetings: issue.meetings.iter().map(|(op, _)| *op).collect(),
            products: issue.products.as_ref().map(|products| products.counts.clone()),
            products_bytes: issue.products.as_ref().map_or(0, Products::workspace),
        };
        if self.shared.options.trace {
            self.recorder = Some(Recorder::of(&self.device, &issue.ops, &issue.instrs)?);
        }
        self.issue = Some(issue);
        Ok(joined)
    }

    /// One step: what was stored, and how long issuing took.
    fn step(&mut self, scalars: &[f64]) -> (Result<Vec<Vec<u8>>, Failure>, Duration) {
        let start = Instant::now();
        let mut issuing = Duration::ZERO;
        let stored = self.prepare(scalars).and_then(|()| {
            let is_graph = self.shared.options.graphs && self.steps > 0;
            self.status().is_graph.store(is_graph, Ordering::Relaxed);
            if is_graph { self.replay() } else { self.issue_all() }?;
            issuing = start.elapsed();
            self.finish()?;
            self.note_spans()?;
            let issue = self.issue.as_ref().expect("joined");
            Ok(issue.slots.iter().map(|slot| slot.contents(&issue.staging)).collect())
        });
        self.steps += 1;
        if stored.is_err() {
            self.replay = None;
            // Kernels of communication that wait for somebody end by this alone.
            self.comms.drain(..).flatten().for_each(Communicator::abort);
        }
        (stored, issuing)
    }

    /// Puts scalars and inputs where operations take them from.
    fn prepare(&mut self, scalars: &[f64]) -> Result<(), Failure> {
        let status = self.status();
        status.issued.store(0, Ordering::Relaxed);
        status.met.store(0, Ordering::Relaxed);
        let Some(issue) = &mut self.issue else {
            return Err(Failure::at(None, "it has not joined the others"));
        };
        issue.scalars.iter().zip(scalars).for_each(|(to, value)| to.set(*value));
        let inputs = self.shared.inputs.read().unwrap_or_else(PoisonError::into_inner);
        for rows in &issue.rows {
            let from = inputs[rows.input.index()].bytes();
            issue.staging.write(rows.at, &from[rows.first_byte..rows.first_byte + rows.bytes]);
        }
        Ok(())
    }

    fn issue_all(&mut self) -> Result<(), Failure> {
        let mut timed = 0;
        if let Some(recorder) = &mut self.recorder {
            let begun = recorder.begin(&self.device, self.shared.epoch);
            begun.map_err(|message| Failure::at(None, message))?;
        }
        let issue = self.issue.as_ref().expect("joined");
        for (at, op) in issue.ops.iter().enumerate() {
            let at = at as u32;
            self.status().issued.store(at, Ordering::Relaxed);
            let mut mark = |is_after: bool| match &self.recorder {
                Some(recorder) => recorder.around(&self.device, at as usize, &mut timed, is_after),
                None => Ok(()),
            };
            mark(false)
                .and_then(|()| self.put(issue, op))
                .and_then(|()| mark(true))
                .map_err(|message| Failure::at(at, message))?;
            if self.shared.options.check_each {
                self.passed(self.device.streams[stream(op)].raw)
                    .map_err(|failure| Failure { op: Some(at), ..failure })?;
            }
        }
        self.status().issued.store(issue.ops.len() as u32, Ordering::Relaxed);
        Ok(())
    }

    /// Replays the step as a graph, which is captured first if it is not there.
    fn replay(&mut self) -> Result<(), Failure> {
        let fail = |message: String| Failure::at(None, message);
        if self.replay.is_none() {
            self.replay = Some(Replay::capture(self).map_err(fail)?);
        }
        let issue = self.issue.as_ref().expect("joined");
        let replay = self.replay.as_mut().expect("just made");
        replay.launch(&self.device, issue).map_err(fail)?;
        self.status().issued.store(issue.ops.len() as u32, Ordering::Relaxed);
        Ok(())
    }

    /// Puts one operation on its stream.
    pub(crate) fn put(&self, issue: &Issue, op: &Op) -> Result<(), String> {
        let (device, api) = (&self.device, &self.device.driver.api);
        if device.is_divided() {
            let context = device.streams[stream(op)].context;
            device.enter(context).map_err(|error| error.to_string())?;
        }
        let raw = |stream: &usize| device.streams[*stream].raw;
        // SAFETY (all calls below): streams, events, functions and communicators are this device's; addresses are buffers of
        // its arena or of the staging memory with the sizes that the plan says (verified), whose use by other operations the
        // plan's events order (verified).
        let code = match op {
            Op::Launch(launch) => return self.launch(launch),
            Op::Product { product, stream } => {
                let products = issue.products.as_ref().ok_or("cuBLASLt is gone")?;
                return products.put(*product, *stream, device);
            }
            Op::Collective { what, dtype, from, to, comm, stream } => {
                let comm = self.comms[*comm].as_ref().ok_or("the communicator is gone")?;
                let nccl = Nccl::open().map_err(|error| error.to_string())?;
                // SAFETY: see above.
                return unsafe {
                    nccl.collective(*what, *dtype, (*from, *to), comm.raw(), raw(stream))
                };
            }
            Op::Transfers { first, count, stream } => {
                let nccl = Nccl::open().map_err(|error| error.to_string())?;
                let transfers = &issue.transfers[*first..*first + *count];
                // SAFETY: see above.
                return unsafe { nccl.transfers(transfers, raw(stream)) };
            }
            Op::Copy { bytes: 0, .. } | Op::Fill { count: 0, .. } => 0,
            Op::Load { bytes: 0, .. } | Op::Store { bytes: 0, .. } => 0,
            Op::Copy { from, to, bytes, stream } => {
                // SAFETY: see above.
                unsafe { (api.cuMemcpyDtoDAsync_v2)(*to, *from, *bytes, raw(stream)) }
            }
            Op::Fill { to, value, count, stream } => {
                let stream = raw(stream);
                // SAFETY: see above.
                unsafe {
                    match *value {
                        Pattern::D8(value) => (api.cuMemsetD8Async)(*to, value, *count, stream),
                        Pattern::D16(value) => (api.cuMemsetD16Async)(*to, value, *count, stream),
                        Pattern::D32(value) => (api.cuMemsetD32Async)(*to, value, *count, stream),
                    }
                }
            }
            Op::Load { from, to, bytes, stream } => {
                let from = issue.staging.at(*from).cast();
                // SAFETY: see above.
                unsafe { (api.cuMemcpyHtoDAsync_v2)(*to, from, *bytes, raw(stream)) }
            }
            Op::Store { from, to, bytes, stream } => {
                let to = issue.staging.at(*to).cast();
                // SAFETY: see above.
                unsafe { (api.cuMemcpyDtoHAsync_v2)(to, *from, *bytes, raw(stream)) }
            }
            Op::Record { event, stream } => {
                // SAFETY: see above.
                unsafe { (api.cuEventRecord)(issue.events[*event].raw, raw(stream)) }
            }
            Op::Wait { event, stream } => {
                // SAFETY: see above.
                unsafe { (api.cuStreamWaitEvent)(raw(stream), issue.events[*event].raw, 0) }
            }
        };
        self.outcome(code)
    }

    fn launch(&self, launch: &Launch) -> Result<(), String> {
        let Launch { function, grid: [x, y, z], block, shared, stream, arguments, .. } = launch;
        // SAFETY: the plan's launch of the plan's entry, with a pointer to each of its parameters; the driver copies what they
        // point to before it returns, and does not write to the array.
        let code = unsafe {
            (self.device.driver.api.cuLaunchKernel)(
                *function,
                *x,
                *y,
                *z,
                *block,
                1,
                1,
                *shared,
                self.device.streams[*stream].raw,
                arguments.as_ptr().cast_mut(),
                std::ptr::null_mut(),
            )
        };
        self.outcome(code)
    }

    fn outcome(&self, code: u32) -> Result<(), String> {
        if code == 0 { Ok(()) } else { Err(self.device.driver.describe(code)) }
    }

    /// Waits until everything that was issued has completed.
    fn finish(&self) -> Result<(), Failure> {
        let is_graph = self.status().is_graph.load(Ordering::Relaxed);
        for stream in &self.device.streams {
            self.passed(stream.raw)?;
        }
        if !is_graph {
            self.look_at_meetings();
        }
        self.device.enter_primary().map_err(|error| Failure::at(None, error.to_string()))
    }

    /// Keeps what was recorded of the step that is over.
    fn note_spans(&self) -> Result<(), Failure> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        let spans = recorder.spans(&self.device, self.steps + 1);
        let spans = spans.map_err(|error| Failure::at(None, error.to_string()))?;
        self.shared.spans[self.at].lock().unwrap_or_else(PoisonError::into_inner).extend(spans);
        Ok(())
    }

    /// Waits until a stream has passed all that was put on it.
    fn passed(&self, stream: sys::CUstream) -> Result<(), Failure> {
        let mut polls = 0;
        let mut asked = Instant::now();
        loop {
            // SAFETY: a stream of this device.
            match unsafe { (self.device.driver.api.cuStreamQuery)(stream) } {
                0 => return Ok(()),
                NOT_READY => {}
                code => {
                    let mut message = self.device.driver.describe(code);
                    if !self.shared.options.check_each {
                        message +=
                            "; noticed at the end of the step: --check-launches finds the launch";
                    }
                    return Err(Failure::at(self.waiting_in(), message));
                }
            }
            if self.shared.abort.load(Ordering::Acquire) {
                let message = "given up".to_owned();
                return Err(Failure { op: self.waiting_in(), message, is_aborted: true });
            }
            if asked.elapsed() > ASK {
                asked = Instant::now();
                self.look_at_meetings();
                if let Some(fault) = self.comms.iter().flatten().find_map(Communicator::fault) {
                    return Err(Failure::at(self.waiting_in(), fault));
                }
            }
            polls += 1;
            if polls < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Notes which operations that communicate have completed.
    fn look_at_meetings(&self) {
        let Some(issue) = &self.issue else { return };
        let status = self.status();
        if status.is_graph.load(Ordering::Relaxed) {
            return;
        }
        let issued = status.issued.load(Ordering::Relaxed);
        let mut met = status.met.load(Ordering::Relaxed);
        while let Some(&(op, event)) = issue.meetings.get(met as usize) {
            // SAFETY: an event of this device. Until it is recorded in this step it says what it said in the last one, so it is
            // asked only after that.
            let is_over = op + 1 < issued
                && unsafe { (self.device.driver.api.cuEventQuery)(issue.events[event].raw) } == 0;
            if !is_over {
                break;
            }
            met += 1;
        }
        status.met.store(met, Ordering::Relaxed);
    }

    /// The first operation that communicates and has not completed.
    fn waiting_in(&self) -> Option<u32> {
        let met = self.status().met.load(Ordering::Relaxed) as usize;
        let issue = self.issue.as_ref()?;
        issue.meetings.get(met).map(|(op, _)| *op)
    }
}

/// The stream of an operation.
pub(crate) fn stream(op: &Op) -> usize {
    match op {
        Op::Launch(launch) => launch.stream,
        Op::Product { stream, .. }
        | Op::Collective { stream, .. }
        | Op::Transfers { stream, .. }
        | Op::Copy { stream, .. }
        | Op::Fill { stream, .. }
        | Op::Load { stream, .. }
        | Op::Store { stream, .. }
        | Op::Record { stream, .. }
        | Op::Wait { stream, .. } => *stream,
    }
}
