//! A plan loaded onto GPUs: steps it, watches over it, and reads its state.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use piper_plan::{Code, Method, Plan};
use piper_runtime::manifest::{self, Stored};
use piper_runtime::{DataSource, DeviceStats, LoadError, StepError, StepReport, StopFlag, report};

use crate::contributions::{pack, unpack};
use crate::cublaslt::CublasLt;
use crate::driver::Driver;
use crate::error::CudaError;
use crate::groups::Groups;
use crate::inputs::HostInput;
use crate::nccl::Nccl;
use crate::products::{Gemm, ProductCounts};
use crate::rendezvous::{Link, Run, World};
use crate::target::{DeviceInfo, check_ptx};
use crate::worker::{Command, Failure, Joined, Reply, Shared, Status, Times, work};

/// How often the session looks after its devices.
const WATCH: Duration = Duration::from_millis(10);
/// How long devices have to notice that a step is given up. Those still in a call then are left behind.
const GRACE: Duration = Duration::from_secs(2);

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// A step fails after this long without any device going on; so does making communicators.
    pub timeout: Duration,
    /// How long processes wait for each other at the start.
    pub rendezvous: Duration,
    /// From the second step on, replay the step as a graph.
    pub graphs: bool,
    /// Wait for every operation before the next is issued, so that a fault is found where it happens. Slow.
    pub check_each: bool,
    /// Record when each instruction runs, for [`Session::trace_json`]. Not with graphs; the same for all processes of a run.
    pub trace: bool,
    /// What computes matrix products.
    pub gemm: Gemm,
    /// Seed of the initial values.
    pub seed: u64,
    /// Ends the run between steps.
    pub stop: StopFlag,
    /// Which of the processes of a run this is. Each runs an equal share of the plan's devices, in order.
    pub world: World,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            timeout: Duration::from_secs(60),
            rendezvous: Duration::from_secs(300),
            graphs: false,
            check_each: false,
            trace: false,
            gemm: Gemm::Own,
            seed: 0,
            stop: StopFlag::new(),
            world: World::default(),
        }
    }
}

/// A device of this process, as the session sees it.
pub(crate) struct Local {
    /// Its number in the mesh.
    pub(crate) number: usize,
    pub(crate) commands: Sender<Command>,
    thread: Option<JoinHandle<()>>,
    pub(crate) joined: Joined,
    times: Times,
}

/// A loaded plan.
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) locals: Vec<Local>,
    replies: Receiver<(usize, Reply)>,
    link: Mutex<Link>,
    steps: u64,
    is_poisoned: bool,
}

/// The plan's share of one process: first device and number of devices.
fn share(plan: &Plan, world: &World) -> Result<(usize, usize), CudaError> {
    let devices = plan.devices();
    if !devices.is_multiple_of(world.size) {
        return Err(CudaError::Rendezvous(format!(
            "the plan has {devices} devices, which {} processes cannot share equally",
            world.size
        )));
    }
    let each = devices / world.size;
    Ok((world.rank * each, each))
}

/// The GPUs for this process's devices.
fn choose(
    found: Vec<DeviceInfo>,
    world: &World,
    each: usize,
) -> Result<Vec<DeviceInfo>, CudaError> {
    let (have, first) = (found.len(), world.local_rank * each);
    // Launchers may show every process its own GPUs only.
    let is_shown_its_own = have == each && std::env::var_os("CUDA_VISIBLE_DEVICES").is_some();
    let first = if is_shown_its_own { 0 } else { first };
    if have >= first + each {
        return Ok(found.into_iter().skip(first).take(each).collect());
    }
    let names: Vec<&str> = found.iter().map(|device| &device.name[..]).collect();
    let s = if have == 1 { "" } else { "s" };
    let need = match world.size {
        1 => format!("the plan needs {each}"),
        _ => format!("rank {} needs {each} from number {first} on", world.rank),
    };
    Err(CudaError::TooFewDevices {
        message: format!(
            "there {} {have} CUDA device{s} ({}), but {need}: use a smaller mesh, or more processes on other machines (torchrun, mpirun)",
            if have == 1 { "is" } else { "are" },
            names.join(", "),
        ),
    })
}

/// What the plan is, for processes to compare.
fn fingerprint(plan: &Plan) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(&plan.to_bytes());
    hasher.finish()
}

impl Session {
    /// Verifies a plan, finds the GPUs that it needs, puts its code and its initial state on them, and connects them.
    ///
    /// # Errors
    /// Whatever stands in the way; see [`CudaError`].
    pub fn load(plan: Plan, options: Options) -> Result<Session, CudaError> {
        if options.graphs && options.trace {
            return Err(CudaError::TraceOfGraph);
        }
        let faults = piper_plan::verify(&plan);
        if !faults.is_empty() {
            let rendered = faults.iter().map(|f| f.render(&plan)).collect();
            return Err(LoadError::Unsafe { faults, rendered }.into());
        }
        let Code::Ptx(ptx) = &plan.code else {
            return Err(CudaError::Code { code: plan.code.name() });
        };
        if let Some(p) = plan.partitions.iter().find(|p| p.method == Method::Workers) {
            let why = "it is of worker threads of a CPU; on a GPU, method = \"green\" or \"grid\"";
            return Err(CudaError::Partition { name: p.name.clone(), why: why.to_owned() });
        }
        let driver = Driver::open()?;
        if options.graphs {
            driver.check_graphs()?;
        }
        if options.gemm == Gemm::CublasLt {
            CublasLt::open()?;
        }
        let (first, each) = share(&plan, &options.world)?;
        let infos = choose(crate::target::devices()?, &options.world, each)?;
        infos.iter().try_for_each(|info| info.check_chip(&ptx.chip))?;
        check_ptx(driver, ptx)?;
        let groups = Groups::of(&plan);
        if !groups.all.is_empty() {
            Nccl::open()?;
        }
        let print = if options.world.size > 1 { fingerprint(&plan) } else { 0 };
        let run = Run { plan: print, is_traced: options.trace };
        let link = Link::connect(&options.world, run, options.rendezvous)?;
        let shared = Arc::new(Shared {
            groups,
            status: infos.iter().map(|_| Status::default()).collect(),
            abort: AtomicBool::new(false),
            epoch: Instant::now(),
            spans: infos.iter().map(|_| Mutex::default()).collect(),
            inputs: RwLock::new(plan.inputs.iter().map(HostInput::of).collect()),
            options,
            plan,
        });
        let (answers, replies) = channel();
        let mut session = Session {
            shared: Arc::clone(&shared),
            locals: Vec::new(),
            replies,
            link: Mutex::new(link),
            steps: 0,
            is_poisoned: false,
        };
        for (at, info) in infos.into_iter().enumerate() {
            let (commands, orders) = channel();
            let (shared, answers) = (Arc::clone(&shared), answers.clone());
            let number = first + at;
            let builder = std::thread::Builder::new().name(format!("device {number}"));
            let thread = builder
                .spawn(move || work(&shared, at, number, &info, &orders, &answers))
                .map_err(LoadError::from)?;
            session.locals.push(Local {
                number,
                commands,
                thread: Some(thread),
                joined: Joined::default(),
                times: Times::default(),
            });
        }
        drop(answers);
        session.open()?;
        session.join()?;
        Ok(session)
    }

    fn open(&mut self) -> Result<(), CudaError> {
        let mut outcome = Ok(());
        for _ in 0..self.locals.len() {
            match self.replies.recv() {
                Ok((_, Reply::Opened(opened))) => outcome = outcome.and(opened),
                Ok(_) | Err(_) => return Err(ended("while it was opened")),
            }
        }
        outcome
    }

    /// Makes the communicators.
    fn join(&mut self) -> Result<(), CudaError> {
        let (timeout, groups) = (self.shared.options.timeout, &self.shared.groups);
        let is_local = |device: usize| self.locals.iter().any(|local| local.number == device);
        // The process of a group's first member names its communicator.
        let mut mine = Vec::new();
        for group in groups.all.iter().filter(|group| is_local(group.members[0])) {
            mine.extend(Nccl::open()?.unique_id()?);
            debug_assert!(mine.len().is_multiple_of(ID_BYTES), "names are of one size");
            let _ = group;
        }
        let all = self.link().all_gather(mine)?;
        let each = self.shared.plan.devices() / self.shared.options.world.size;
        let mut names: Vec<_> = all.iter().map(|ids| ids.chunks_exact(ID_BYTES)).collect();
        let ids: Option<Vec<Vec<u8>>> = groups
            .all
            .iter()
            .map(|group| names[group.members[0] / each].next().map(<[u8]>::to_vec))
            .collect();
        let ids = Arc::new(ids.ok_or_else(|| {
            CudaError::Rendezvous("the processes disagree about the communicators".to_owned())
        })?);
        for local in &self.locals {
            let _ = local.commands.send(Command::Join(Arc::clone(&ids)));
        }
        let start = Instant::now();
        let mut outcome = Ok(());
        let mut missing = self.locals.len();
        while missing > 0 {
            match self.replies.recv_timeout(WATCH) {
                Ok((at, Reply::Joined(joined))) => {
                    missing -= 1;
                    match joined {
                        Ok(joined) => self.locals[at].joined = joined,
                        Err(error) => outcome = outcome.and(Err(error)),
                    }
                }
                Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(ended("while it joined the others"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let lost = self.link().lost();
                    if lost.is_none() && outcome.is_ok() && start.elapsed() <= timeout {
                        continue;
                    }
                    // Threads that wait for those who will not come are left behind.
                    self.leave_behind();
                    outcome?;
                    return Err(CudaError::Communicators(lost.unwrap_or_else(|| {
                        format!("{missing} devices of this process still wait for others after {timeout:?}")
                    })));
                }
            }
        }
        outcome
    }

    pub(crate) fn link(&self) -> std::sync::MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan being run.
    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// Steps completed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How long each device of this process took to issue its last step.
    pub fn issue_times(&self) -> Vec<Duration> {
        self.locals.iter().map(|local| local.times.issue).collect()
    }

    /// Which products of this process's devices go to cuBLASLt, if that is asked for.
    pub fn products(&self) -> Option<ProductCounts> {
        let mut all = ProductCounts::default();
        for local in &self.locals {
            all.add(local.joined.products.as_ref()?);
        }
        Some(all)
    }

    /// Runs one step on all devices. All processes of a run call this together.
    ///
    /// # Errors
    /// After an error other than `Stopped` and `Data` the state is incomplete and the session takes no more steps.
    pub fn step(&mut self, data: &dyn DataSource) -> Result<StepReport, StepError> {
        if self.is_poisoned {
            return Err(StepError::Poisoned);
        }
        let step = self.steps + 1;
        if self.shared.options.stop.is_raised() {
            return Err(StepError::Stopped { step });
        }
        {
            let mut inputs = self.shared.inputs.write().unwrap_or_else(PoisonError::into_inner);
            for (input, host) in self.shared.plan.inputs.iter().zip(inputs.iter_mut()) {
                data.fill(step, input, host.slice())
                    .map_err(|why| StepError::Data { input: input.name.clone(), why })?;
            }
        }
        let scalars = self.shared.plan.scalars.iter().map(|scalar| scalar.source.at(step));
        let scalars: Arc<[f64]> = scalars.collect();
        self.is_poisoned = true; // until the step is known to be whole
        let start = Instant::now();
        for local in &self.locals {
            let _ = local.commands.send(Command::Step(Arc::clone(&scalars)));
        }
        let stored = self.watch(step)?;
        let wall = start.elapsed();
        let all = self.exchange(step, &stored)?;
        let outputs = manifest::outputs(&self.shared.plan, &all)?;
        self.steps = step;
        self.is_poisoned = false;
        let stats = |local: &Local| DeviceStats {
            instructions: local.joined.instrs.len() as u64,
            wall: local.times.wall,
            waiting: Duration::ZERO,
        };
        Ok(StepReport { step, outputs, wall, devices: self.locals.iter().map(stats).collect() })
    }

    /// Waits for the end of the step, looking for failures and standstill. What each local device stored.
    fn watch(&mut self, step: u64) -> Result<Vec<Vec<Vec<u8>>>, StepError> {
        let mut stored: Vec<Option<Vec<Vec<u8>>>> = self.locals.iter().map(|_| None).collect();
        let (mut progress, mut since) = (u64::MAX, Instant::now());
        while stored.iter().any(Option::is_none) {
            match self.replies.recv_timeout(WATCH) {
                Ok((at, Reply::Stepped(Ok(slots), times))) => {
                    self.locals[at].times = times;
                    stored[at] = Some(slots);
                    continue;
                }
                Ok((at, Reply::Stepped(Err(failure), _))) => {
                    let is_over = |other: usize| stored[other].is_some() || other == at;
                    let others = (0..self.locals.len()).filter(|o| !is_over(*o)).count();
                    return Err(self.failed(step, at, failure, others));
                }
                Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.ended(step, "a thread of a device has ended"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let lost = self.link().lost();
            if let Some(lost) = lost {
                return Err(self.ended(step, &lost));
            }
            let status = |s: &Status| {
                u64::from(s.issued.load(Ordering::Relaxed))
                    + u64::from(s.met.load(Ordering::Relaxed))
            };
            let over = stored.iter().flatten().count() as u64;
            let now = self.shared.status.iter().map(status).sum::<u64>() + (over << 40);
            if now != progress {
                (progress, since) = (now, Instant::now());
            } else if since.elapsed() > self.shared.options.timeout {
                let unfinished = (0..self.locals.len()).filter(|at| stored[*at].is_none());
                let lines: Vec<String> = unfinished.map(|at| self.stuck(at)).collect();
                self.give_up(lines.len());
                let timeout = self.shared.options.timeout;
                return Err(StepError::Timeout { step, timeout, report: lines.join("\n") });
            }
        }
        Ok(stored.into_iter().flatten().collect())
    }

    /// Where a device stands that does not go on.
    fn stuck(&self, at: usize) -> String {
        let (local, status) = (&self.locals[at], &self.shared.status[at]);
        let plan = &self.shared.plan;
        if status.is_graph.load(Ordering::Relaxed) {
            let device = plan.mesh().render(local.number);
            return format!("{device} replays the step as a graph; without --graphs it says where");
        }
        let Joined { instrs, meetings, .. } = &local.joined;
        let issued = status.issued.load(Ordering::Relaxed) as usize;
        let met = status.met.load(Ordering::Relaxed) as usize;
        let waits = meetings.get(met).map(|op| *op as usize).filter(|op| *op <= issued);
        let op = waits.unwrap_or(issued).min(instrs.len().saturating_sub(1));
        match instrs.get(op) {
            Some(instr) => report::stuck(plan, local.number, *instr as usize),
            None => plan.mesh().render(local.number),
        }
    }

    /// Tells devices to give up, and waits a little for `unfinished` of them.
    fn give_up(&mut self, mut unfinished: usize) -> Vec<(usize, Failure)> {
        self.shared.abort.store(true, Ordering::Release);
        let mut failures = Vec::new();
        let start = Instant::now();
        while unfinished > 0 && start.elapsed() < GRACE {
            if let Ok((at, Reply::Stepped(outcome, _))) = self.replies.recv_timeout(WATCH) {
                unfinished -= 1;
                failures.extend(outcome.err().map(|failure| (at, failure)));
            }
        }
        if unfinished > 0 {
            self.leave_behind();
        }
        failures
    }

    fn failed(&mut self, step: u64, at: usize, failure: Failure, others: usize) -> StepError {
        let mut first = (at, failure);
        // What NCCL says of a rank that is gone is less than what that rank says.
        for (at, failure) in self.give_up(others) {
            if !failure.is_aborted && failure.message.contains("CUDA_ERROR") {
                first = (at, failure);
            }
        }
        let (at, mut failure) = first;
        if let Some(lost) = self.link().lost() {
            failure.message += &format!("; {lost}");
        }
        let local = &self.locals[at];
        let instr = failure.op.and_then(|op| local.joined.instrs.get(op as usize));
        let plan = &self.shared.plan;
        let place = instr.map(|i| report::place(plan, local.number, *i as usize));
        StepError::Device {
            step,
            device: plan.mesh().render(local.number),
            message: failure.message,
            place: place.unwrap_or_default(),
        }
    }

    fn ended(&mut self, step: u64, message: &str) -> StepError {
        let places: Vec<String> = (0..self.locals.len()).map(|at| self.stuck(at)).collect();
        self.give_up(self.locals.len());
        StepError::Device {
            step,
            device: "another process".to_owned(),
            message: message.to_owned(),
            place: places.join("\n"),
        }
    }

    fn leave_behind(&mut self) {
        self.shared.abort.store(true, Ordering::Release);
        self.locals.iter_mut().for_each(|local| drop(local.thread.take()));
    }

    /// Everything that was stored in the step, by all processes.
    fn exchange(
        &self,
        step: u64,
        stored: &[Vec<Vec<u8>>],
    ) -> Result<Vec<Stored<'static>>, StepError> {
        let mut mine = Vec::new();
        for (local, contents) in self.locals.iter().zip(stored) {
            for (slot, bytes) in local.joined.slots.iter().zip(contents) {
                mine.push(Stored {
                    output: slot.output,
                    device: local.number,
                    buffer: slot.buffer,
                    part: slot.part,
                    bytes: Cow::Owned(bytes.clone()),
                });
            }
        }
        if self.shared.options.world.size == 1 {
            return Ok(mine);
        }
        let failed = |message: String| StepError::Device {
            step,
            device: "another process".to_owned(),
            message,
            place: String::new(),
        };
        let all = self.link().all_gather(pack(&mine)).map_err(|error| failed(error.to_string()))?;
        let unpacked: Option<Vec<_>> = all.iter().map(|bytes| unpack(bytes)).collect();
        let unpacked = unpacked.ok_or_else(|| failed("a message makes no sense".to_owned()))?;
        Ok(unpacked.into_iter().flatten().collect())
    }
}

/// Bytes of a communicator's name.
const ID_BYTES: usize = 128;

fn ended(when: &str) -> CudaError {
    CudaError::Call { doing: format!("a device {when}"), why: "its thread has ended".to_owned() }
}

impl Drop for Session {
    fn drop(&mut self) {
        for local in &self.locals {
            // A thread that has ended needs no order to.
            let _ = local.commands.send(Command::Quit);
        }
        for local in &mut self.locals {
            if let Some(thread) = local.thread.take() {
                // A panic has been printed; nothing else is lost with the result.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(ordinal: usize) -> DeviceInfo {
        DeviceInfo {
            ordinal,
            name: format!("GPU {ordinal}"),
            capability: (9, 0),
            multiprocessors: 132,
            driver: "12.8".to_owned(),
            handle: 0,
        }
    }

    #[test]
    fn a_graph_is_not_traced_whatever_the_machine_has() {
        let options = Options { graphs: true, trace: true, ..Options::default() };
        let refused = Session::load(Plan::default(), options).err().unwrap();
        assert!(matches!(refused, CudaError::TraceOfGraph), "{refused}");
    }

    #[test]
    fn processes_share_devices_and_say_what_they_miss() {
        let world = |rank, size| World { rank, size, local_rank: rank, ..World::default() };
        let plan = Plan {
            mesh: vec![piper_plan::Axis { name: "pp".to_owned(), size: 4 }],
            ..Plan::default()
        };
        assert_eq!(share(&plan, &world(1, 2)).unwrap(), (2, 2));
        let said = share(&plan, &world(0, 3)).unwrap_err().to_string();
        assert!(said.contains("has 4 devices, which 3 processes cannot share"), "{said}");
        let all = || (0..4).map(info).collect::<Vec<_>>();
        let chosen = choose(all(), &world(1, 2), 2).unwrap();
        assert_eq!(chosen.iter().map(|d| d.ordinal).collect::<Vec<_>>(), [2, 3]);
        let said = choose(all(), &world(0, 1), 8).unwrap_err().to_string();
        assert!(
            said.starts_with(
                "there are 4 CUDA devices (GPU 0, GPU 1, GPU 2, GPU 3), but the plan needs 8"
            ),
            "{said}"
        );
        let said = choose(all(), &world(4, 8), 1).unwrap_err().to_string();
        assert!(said.contains("rank 4 needs 1 from number 4 on"), "{said}");
    }
}
