//! Communicators: who the ranks are, and what went wrong among them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use piper_standin_interface::driver;

use crate::abi::{Code, Failure, Handle, Result, UniqueId, refuse};
use crate::bootstrap::{MOST_RANKS, meet, new_id};
use crate::config::{Config, RawConfig};
use crate::failure::{calls, put};
use crate::group;
use crate::inbox::{self, Absent, Message, Purpose, Route};
use crate::network::{self, Process, own, unique};
use crate::settings::settings;

/// One rank's view of a communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub(crate) rank: u32,
    pub(crate) count: u32,
    /// The device on which its work runs.
    pub(crate) device: i32,
    pub(crate) config: Config,
    /// The number that all ranks know it by, and where they are; known once all have come.
    meeting: OnceLock<(u128, Vec<Process>)>,
    is_aborted: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// Operations that have begun, and splits.
    begun: AtomicU64,
    splits: AtomicU64,
}

static COMMUNICATORS: Mutex<BTreeMap<Handle, Arc<Communicator>>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Takes a communicator in.
pub(crate) fn insert(communicator: Arc<Communicator>) -> Handle {
    let handle = 0x514e_0000_0000_0000 | (NEXT.fetch_add(1, Ordering::Relaxed) as Handle) << 4;
    let mut known = COMMUNICATORS.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(handle, communicator);
    handle
}

/// The communicator of a handle.
pub(crate) fn communicator(handle: Handle) -> Result<Arc<Communicator>> {
    let known = COMMUNICATORS.lock().unwrap_or_else(PoisonError::into_inner);
    match known.get(&handle) {
        Some(found) => Ok(found.clone()),
        None => refuse(format!("there is no communicator {handle:#x}")),
    }
}

fn remove(handle: Handle) -> Result<Arc<Communicator>> {
    let communicator = communicator(handle)?;
    COMMUNICATORS.lock().unwrap_or_else(PoisonError::into_inner).remove(&handle);
    Ok(communicator)
}

impl Communicator {
    /// A rank that has not met the others.
    pub(crate) fn new(rank: u32, count: u32, device: i32, config: Config) -> Arc<Self> {
        Arc::new(Self {
            rank,
            count,
            device,
            config,
            meeting: OnceLock::new(),
            is_aborted: AtomicBool::new(false),
            failure: Mutex::default(),
            begun: AtomicU64::new(0),
            splits: AtomicU64::new(0),
        })
    }

    /// Notes who the others are.
    pub(crate) fn set_meeting(&self, number: u128, places: Vec<Process>) {
        let _ = self.meeting.set((number, places));
    }

    pub(crate) fn meeting(&self) -> Result<&(u128, Vec<Process>)> {
        match self.meeting.get() {
            Some(meeting) => Ok(meeting),
            None => Err(Failure::new(
                Code::INVALID_USAGE,
                "the communicator is not ready: its group has not ended",
            )),
        }
    }

    /// The number of the next operation.
    pub(crate) fn next_operation(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of the next split.
    pub(crate) fn next_split(&self) -> u64 {
        self.splits.fetch_add(1, Ordering::Relaxed)
    }

    /// How messages name it.
    pub(crate) fn name(&self) -> String {
        let number = self.meeting.get().map_or(0, |(number, _)| number >> 112);
        format!("rank {} of {} (communicator {number:04x})", self.rank, self.count)
    }

    /// What went wrong first.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what went wrong, and says it.
    pub(crate) fn fail(&self, failure: Failure) {
        eprintln!("standin: nccl: {}", failure.message);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Acquire)
    }

    /// Sends a message to rank `to`.
    pub(crate) fn send(&self, to: u32, purpose: Purpose, message: Message) -> Result {
        let (number, places) = self.meeting()?;
        let route = Route { communicator: *number, to, from: self.rank, purpose };
        network::send(places[to as usize], route, message).map_err(|error| {
            Failure::new(Code::REMOTE_ERROR, format!("rank {to} cannot be reached: {error}"))
        })
    }

    /// Takes the next message from rank `from`.
    pub(crate) fn take(&self, from: u32, purpose: Purpose) -> std::result::Result<Message, Absent> {
        let Ok((number, places)) = self.meeting() else { return Err(Absent::Aborted) };
        let route = Route { communicator: *number, to: self.rank, from, purpose };
        let deadline = Instant::now() + settings().timeout;
        inbox::take(route, places[from as usize].token, deadline, || self.is_aborted())
    }
}

fn check_rank(rank: i32, count: i32) -> Result<(u32, u32)> {
    if !(1..=MOST_RANKS as i32).contains(&count) {
        return refuse(format!("{count} ranks: expected 1 to {MOST_RANKS}"));
    }
    if !(0..count).contains(&rank) {
        return refuse(format!("rank {rank} of {count}"));
    }
    Ok((rank as u32, count as u32))
}

/// Refuses what is made in a context while none is current.
fn needs_context(what: &str) -> Result {
    match driver::current_context()? {
        0 => Err(Failure::new(Code::CUDA_ERROR, format!("{what} needs a current context"))),
        _ => Ok(()),
    }
}

/// Makes a communicator: now, or at the end of the group.
fn init(to: *mut Handle, count: i32, id: UniqueId, rank: i32, config: Config) -> Result {
    let (rank, count) = check_rank(rank, count)?;
    needs_context("a communicator")?;
    let made = Communicator::new(rank, count, driver::current_device()?, config);
    let handle = insert(made.clone());
    // SAFETY: the caller's place for the result.
    unsafe { put(to, handle)? };
    let join = move || {
        let (number, places) = meet(&id, rank, count)?;
        made.set_meeting(number, places);
        Ok(())
    };
    if config.is_patient {
        let made = communicator(handle)?;
        std::thread::spawn(move || {
            if let Err(failure) = join() {
                made.fail(failure);
            }
        });
        return Err(Failure::new(Code::IN_PROGRESS, "joining"));
    }
    group::meet_later(Box::new(move || {
        join().inspect_err(|_| {
            let _ = remove(handle);
        })
    }))
}

calls! {
    /// The version of the interface: 2.30.0 unless `PIPER_STANDIN_NCCL` says another.
    fn ncclGetVersion(to: *mut i32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, settings().version) }
    }

    /// An id that ranks of other processes of this machine can use.
    fn ncclGetUniqueId(to: *mut UniqueId) {
        let id = new_id()?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, id) }
    }

    /// Joins a communicator on the current device.
    fn ncclCommInitRank(to: *mut Handle, count: i32, id: UniqueId, rank: i32) {
        init(to, count, id, rank, Config::default())
    }

    /// Joins a communicator. If the configuration says that it does not block, it is in progress when this returns.
    fn ncclCommInitRankConfig(
        to: *mut Handle,
        count: i32,
        id: UniqueId,
        rank: i32,
        config: *const RawConfig,
    ) {
        // SAFETY: the caller's structure.
        init(to, count, id, rank, unsafe { Config::of(config)? })
    }

    /// Communicators of one process: rank `i` on device `devices[i]`, or on device `i`.
    fn ncclCommInitAll(to: *mut Handle, count: i32, devices: *const i32) {
        let (_, count) = check_rank(0, count)?;
        let number = u128::from(unique()) << 64 | u128::from(unique());
        let places = vec![own()?; count as usize];
        for rank in 0..count {
            let device = match devices.is_null() {
                true => rank as i32,
                // SAFETY: the caller gives a device for each rank.
                false => unsafe { devices.add(rank as usize).read() },
            };
            driver::retain(device)?;
            let made = Communicator::new(rank, count, device, Config::default());
            made.set_meeting(number, places.clone());
            // SAFETY: the caller has a place for each rank.
            unsafe { put(to.add(rank as usize), insert(made))? };
        }
        Ok(())
    }

    /// Forgets a communicator; what is on streams goes on.
    fn ncclCommDestroy(handle: Handle) {
        remove(handle).map(|_| ())
    }

    /// There is nothing to finish that streams do not finish.
    fn ncclCommFinalize(handle: Handle) {
        communicator(handle).map(|_| ())
    }

    /// Forgets a communicator, and has its operations give up.
    fn ncclCommAbort(handle: Handle) {
        let communicator = remove(handle)?;
        communicator.is_aborted.store(true, Ordering::Release);
        inbox::wake();
        Ok(())
    }

    /// How many ranks there are.
    fn ncclCommCount(handle: Handle, to: *mut i32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, communicator(handle)?.count as i32) }
    }

    /// Which of them this is.
    fn ncclCommUserRank(handle: Handle, to: *mut i32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, communicator(handle)?.rank as i32) }
    }

    /// On which device.
    fn ncclCommCuDevice(handle: Handle, to: *mut i32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, communicator(handle)?.device) }
    }

    /// What went wrong on a stream, or that joining is in progress.
    fn ncclCommGetAsyncError(handle: Handle, to: *mut u32) {
        let communicator = communicator(handle)?;
        let code = match communicator.failure() {
            Some(failure) => failure.code.0,
            None if communicator.meeting().is_err() => Code::IN_PROGRESS.0,
            None => 0,
        };
        // SAFETY: the caller's place for the result.
        unsafe { put(to, code) }
    }

    /// The limits of thread blocks that a communicator was given, zero for none: not of NCCL, for tests of those who
    /// set them.
    fn piperStandinCommLimits(handle: Handle, least: *mut u32, most: *mut u32) {
        let config = communicator(handle)?.config;
        // SAFETY: the caller's places for the results.
        unsafe {
            put(least, config.least.unwrap_or(0))?;
            put(most, config.most.unwrap_or(0))
        }
    }

    /// Registration makes transfers faster; here it changes nothing.
    fn ncclCommRegister(handle: Handle, _buffer: u64, _bytes: usize, to: *mut usize) {
        communicator(handle)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, 1) }
    }

    /// As above.
    fn ncclCommDeregister(handle: Handle, _registration: usize) {
        communicator(handle).map(|_| ())
    }

    /// Memory of the current device.
    fn ncclMemAlloc(to: *mut u64, bytes: usize) {
        needs_context("memory")?;
        let address = driver::alloc(bytes)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, address) }
    }

    /// Frees it.
    fn ncclMemFree(address: u64) {
        driver::release(address)?;
        Ok(())
    }
}
