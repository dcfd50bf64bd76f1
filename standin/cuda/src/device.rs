//! Devices: memory and a processor each, and the calls that ask about them.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use piper_ptx::{Checks, DevicePtr, Machine};

use crate::abi::{Code, DeviceOrdinal, Handle, Result};
use crate::call::{calls, put};
use crate::chip::Chip;
use crate::executor;
use crate::history::{History, Race};
use crate::queue::{Signal, Touched, lock, wait};
use crate::settings::settings;

/// Addresses of a device's memory begin at its number plus one times this.
const RANGE: u64 = 1 << 40;

/// A device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) ordinal: usize,
    pub(crate) chip: &'static Chip,
    machine: Mutex<Machine>,
    memory: Mutex<Memory>,
    history: Mutex<History>,
}

/// What is allocated.
#[derive(Debug, Default)]
struct Memory {
    used: u64,
    /// Size and context by address.
    allocations: BTreeMap<u64, (u64, Handle)>,
}

static IS_INITIALISED: OnceLock<()> = OnceLock::new();

/// All devices; their threads begin with the first use.
pub(crate) fn devices() -> Result<&'static [Arc<Device>]> {
    static DEVICES: OnceLock<Vec<Arc<Device>>> = OnceLock::new();
    if IS_INITIALISED.get().is_none() {
        return Err(Code::NOT_INITIALIZED);
    }
    Ok(DEVICES.get_or_init(|| {
        let devices: Vec<_> =
            (0..settings().devices).map(|ordinal| Arc::new(Device::new(ordinal))).collect();
        for device in &devices {
            lock().line(device.ordinal);
            executor::start(device.clone());
        }
        devices
    }))
}

/// The device of a number.
pub(crate) fn device(ordinal: DeviceOrdinal) -> Result<&'static Arc<Device>> {
    let ordinal = usize::try_from(ordinal).map_err(|_| Code::INVALID_DEVICE)?;
    devices()?.get(ordinal).ok_or(Code::INVALID_DEVICE)
}

/// The device in whose range of addresses `address` lies, allocated or not.
pub(crate) fn device_of(address: u64) -> Option<&'static Arc<Device>> {
    let ordinal = (address / RANGE).checked_sub(1)?;
    devices().ok()?.get(usize::try_from(ordinal).ok()?)
}

impl Device {
    fn new(ordinal: usize) -> Self {
        let checks = settings().checks;
        let mut machine = Machine::starting_at(DevicePtr((ordinal as u64 + 1) * RANGE));
        machine.checks = Checks {
            // What a kernel touched is known where its races are looked for.
            races: checks.races || checks.streams,
            uninitialised: checks.uninitialised,
            uninitialised_global: checks.uninitialised,
            ..Checks::default()
        };
        Self {
            ordinal,
            chip: settings().chip,
            machine: Mutex::new(machine),
            memory: Mutex::default(),
            history: Mutex::default(),
        }
    }

    /// Memory and processor; waits while a kernel runs.
    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What went wrong here; every later call says it again.
    pub(crate) fn check(&self) -> Result {
        lock().line(self.ordinal).error.map_or(Ok(()), Err)
    }

    /// Waits until everything on it is done.
    pub(crate) fn wait(&self) {
        let pending = lock().pending(self.ordinal);
        wait(&pending);
    }

    /// Allocates for `context`.
    pub(crate) fn alloc(&self, bytes: usize, context: Handle) -> Result<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        {
            let mut memory = self.memory();
            let used = memory.used.saturating_add(bytes as u64);
            if used > settings().memory {
                return Err(Code::OUT_OF_MEMORY);
            }
            memory.used = used;
        }
        let address = self.machine().alloc(bytes).0;
        self.memory().allocations.insert(address, (bytes as u64, context));
        Ok(address)
    }

    /// Frees an allocation.
    pub(crate) fn free(&self, address: u64) -> Result {
        let mut memory = self.memory();
        let (bytes, _) = memory.allocations.remove(&address).ok_or(Code::INVALID_VALUE)?;
        memory.used -= bytes;
        drop(memory);
        self.machine().free(DevicePtr(address)).map_err(|_| Code::INVALID_VALUE)
    }

    /// Frees what belongs to `context`.
    pub(crate) fn free_all_of(&self, context: Handle) {
        let memory = self.memory();
        let of = memory.allocations.iter().filter(|(_, (_, owner))| *owner == context);
        let addresses: Vec<u64> = of.map(|(address, _)| *address).collect();
        drop(memory);
        for address in addresses {
            let _ = self.free(address);
        }
    }

    /// The allocation that holds `address`: start and size.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        let memory = self.memory();
        let (start, (bytes, _)) = memory.allocations.range(..=address).next_back()?;
        (address - start < *bytes).then_some((*start, *bytes))
    }

    /// Forgets who used memory that is gone.
    pub(crate) fn forget(&self, freed: Option<(u64, u64)>) {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((start, bytes)) = freed {
            history.forget(start, bytes);
        }
    }

    /// Takes note of what work used, and gives the first race with other work.
    pub(crate) fn note(&self, done: &Arc<Signal>, touched: &Touched) -> Option<Race> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).note(done, touched)
    }

    /// Free and total bytes.
    pub(crate) fn room(&self) -> (u64, u64) {
        let total = settings().memory;
        (total - self.memory().used, total)
    }
}

/// Copies a text with its closing zero, cut to `bytes`.
///
/// # Safety
/// `to` has `bytes` bytes.
pub(crate) unsafe fn put_text(to: *mut c_char, bytes: usize, text: &str) -> Result {
    if to.is_null() || bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let count = text.len().min(bytes - 1);
    // SAFETY: `count` and the zero fit `bytes`; the text does not overlap memory that the caller gives for a result.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr().cast(), count);
        to.add(count).write(0);
    }
    Ok(())
}

calls! {
    /// Begins.
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if settings().devices == 0 {
            return Err(Code::NO_DEVICE);
        }
        let _ = IS_INITIALISED.set(());
        Ok(())
    }

    /// The version of the interface.
    fn cuDriverGetVersion(version: *mut i32) {
        // SAFETY: the caller's place for the result.
        unsafe { put(version, settings().version) }
    }

    /// How many devices there are.
    fn cuDeviceGetCount(count: *mut i32) {
        let n = devices()?.len() as i32;
        // SAFETY: the caller's place for the result.
        unsafe { put(count, n) }
    }

    /// The handle of a device is its number.
    fn cuDeviceGet(to: *mut DeviceOrdinal, ordinal: i32) {
        device(ordinal)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, ordinal) }
    }

    /// What the device is called.
    fn cuDeviceGetName(name: *mut c_char, bytes: i32, ordinal: DeviceOrdinal) {
        let device = device(ordinal)?;
        // SAFETY: the caller gives `bytes` bytes.
        unsafe { put_text(name, usize::try_from(bytes).unwrap_or(0), device.chip.product) }
    }

    /// Sixteen bytes that no other device of the process has.
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], ordinal: DeviceOrdinal) {
        let device = device(ordinal)?;
        let mut bytes = *b"piper-standin-00";
        bytes[14] = b'0' + (device.ordinal / 10) as u8;
        bytes[15] = b'0' + (device.ordinal % 10) as u8;
        // SAFETY: the caller's place for the result.
        unsafe { put(uuid, bytes) }
    }

    /// As the version after it.
    fn cuDeviceGetUuid(uuid: *mut [u8; 16], ordinal: DeviceOrdinal) {
        // SAFETY: the same arguments.
        match unsafe { cuDeviceGetUuid_v2(uuid, ordinal) } {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// Bytes of memory.
    fn cuDeviceTotalMem_v2(bytes: *mut usize, ordinal: DeviceOrdinal) {
        device(ordinal)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(bytes, settings().memory as usize) }
    }

    /// One of the figures of the chip.
    fn cuDeviceGetAttribute(value: *mut i32, attribute: u32, ordinal: DeviceOrdinal) {
        let device = device(ordinal)?;
        let found = device.chip.attribute(attribute, device.ordinal).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(value, found) }
    }

    /// Major and minor capability.
    fn cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, ordinal: DeviceOrdinal) {
        let (a, b) = device(ordinal)?.chip.capability;
        // SAFETY: the caller's places for the results.
        unsafe {
            put(major, a)?;
            put(minor, b)
        }
    }

    /// Kernels reach only their own device's memory.
    fn cuDeviceCanAccessPeer(can: *mut i32, ordinal: DeviceOrdinal, peer: DeviceOrdinal) {
        device(ordinal)?;
        device(peer)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(can, 0) }
    }

    /// An address on the bus.
    fn cuDeviceGetPCIBusId(text: *mut c_char, bytes: i32, ordinal: DeviceOrdinal) {
        let id = format!("0000:{:02X}:00.0", device(ordinal)?.ordinal + 1);
        // SAFETY: the caller gives `bytes` bytes.
        unsafe { put_text(text, usize::try_from(bytes).unwrap_or(0), &id) }
    }

    /// The pool that stream-ordered allocations come from: there is one a device, and it has no settings.
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, ordinal: DeviceOrdinal) {
        let device = device(ordinal)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(pool, 0x5154_ff00_0000_0000 | (device.ordinal + 1)) }
    }

    /// As the default one.
    fn cuDeviceGetMemPool(pool: *mut Handle, ordinal: DeviceOrdinal) {
        let device = device(ordinal)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(pool, 0x5154_ff00_0000_0000 | (device.ordinal + 1)) }
    }

    /// Pools keep nothing that could be told to go, so settings are taken and have no effect.
    fn cuMemPoolSetAttribute(_pool: Handle, _attribute: u32, _value: *mut c_void) {
        Ok(())
    }

    /// Pools keep nothing.
    fn cuMemPoolTrimTo(_pool: Handle, _keep: usize) {
        Ok(())
    }
}
