//! Green contexts: a share of a device's multiprocessors. Shares are counted and refused as the driver does; the
//! interpreter takes no more and no less time in one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Code, DeviceOrdinal, Handle, Result};
use crate::call::{calls, put};
use crate::context::{Context, context};
use crate::device::device;
use crate::stream::{Stream, stream};

/// `CUdevResource`: a kind, room for the driver's own use, and for multiprocessors their count, the least share and the
/// step.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Resource {
    kind: u32,
    /// The device and the first multiprocessor, for those that were made here.
    device: u32,
    internal: [u8; 88],
    count: u32,
    least: u32,
    step: u32,
    rest: [u8; 36],
}

const _: () = assert!(size_of::<Resource>() == 144);

/// `CU_DEV_RESOURCE_TYPE_SM`.
const MULTIPROCESSORS: u32 = 1;

/// What descriptors stand for: device and multiprocessors.
static DESCRIPTORS: Mutex<BTreeMap<Handle, (u32, u32)>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// `CU_GREEN_CTX_DEFAULT_STREAM`: the only way to make one.
const DEFAULT_STREAM: u32 = 1;

impl Resource {
    fn of(device: u32, count: u32) -> Result<Self> {
        let step = self::device(device as i32)?.chip.partition;
        let kind = if count == 0 { 0 } else { MULTIPROCESSORS };
        Ok(Self { kind, device, internal: [0; 88], count, least: step, step, rest: [0; 36] })
    }
}

calls! {
    /// The multiprocessors of a device.
    fn cuDeviceGetDevResource(ordinal: DeviceOrdinal, to: *mut Resource, kind: u32) {
        let device = device(ordinal)?;
        if kind != MULTIPROCESSORS {
            return Err(Code::INVALID_RESOURCE_TYPE);
        }
        let all = Resource::of(device.ordinal as u32, device.chip.multiprocessors)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, all) }
    }

    /// Makes groups of at least `least` multiprocessors each, in steps of the chip, and gives what remains.
    fn cuDevSmResourceSplitByCount(
        to: *mut Resource,
        groups: *mut u32,
        from: *const Resource,
        rest: *mut Resource,
        _flags: u32,
        least: u32,
    ) {
        if groups.is_null() || from.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller's structures.
        let (whole, wanted) = unsafe { (from.read_unaligned(), groups.read_unaligned()) };
        if whole.kind != MULTIPROCESSORS {
            return Err(Code::INVALID_RESOURCE_TYPE);
        }
        let step = whole.step.max(1);
        let each = least.max(whole.least).next_multiple_of(step);
        let possible = whole.count / each;
        if possible == 0 {
            return Err(Code::INVALID_RESOURCE_CONFIGURATION);
        }
        if to.is_null() {
            // SAFETY: the caller's place for the number.
            return unsafe { put(groups, possible) };
        }
        let made = wanted.min(possible);
        for number in 0..made {
            // SAFETY: the caller has room for as many groups as it asks for.
            unsafe { put(to.add(number as usize), Resource::of(whole.device, each)?)? };
        }
        // SAFETY: the caller's places for the results.
        unsafe {
            put(groups, made)?;
            if !rest.is_null() {
                put(rest, Resource::of(whole.device, whole.count - made * each)?)?;
            }
        }
        Ok(())
    }

    /// A descriptor of some resources of one device.
    fn cuDevResourceGenerateDesc(to: *mut Handle, resources: *const Resource, count: u32) {
        if resources.is_null() || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let mut total = 0;
        let mut device = None;
        for number in 0..count as usize {
            // SAFETY: the caller gives `count` resources.
            let resource = unsafe { resources.add(number).read_unaligned() };
            if resource.kind != MULTIPROCESSORS {
                return Err(Code::INVALID_RESOURCE_TYPE);
            }
            if *device.get_or_insert(resource.device) != resource.device {
                return Err(Code::INVALID_RESOURCE_CONFIGURATION);
            }
            total += resource.count;
        }
        let handle = 0x5154_0900_0000_0000 | NEXT.fetch_add(1, Ordering::Relaxed) << 4;
        let device = device.unwrap_or_default();
        DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner).insert(handle, (device, total));
        // SAFETY: the caller's place for the result.
        unsafe { put(to, handle) }
    }

    /// A context on a share. Its handle is also that of the context.
    fn cuGreenCtxCreate(to: *mut Handle, descriptor: Handle, ordinal: DeviceOrdinal, flags: u32) {
        let device = device(ordinal)?;
        if flags != DEFAULT_STREAM {
            return Err(Code::INVALID_VALUE);
        }
        let known = DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, count) = *known.get(&descriptor).ok_or(Code::INVALID_HANDLE)?;
        drop(known);
        if of as usize != device.ordinal || count > device.chip.multiprocessors {
            return Err(Code::INVALID_RESOURCE_CONFIGURATION);
        }
        let made = Context::create(Arc::clone(device), Some(count));
        // SAFETY: the caller's place for the result.
        unsafe { put(to, made.handle) }
    }

    /// Ends it.
    fn cuGreenCtxDestroy(handle: Handle) {
        crate::context::destroy(&*green(handle)?)
    }

    /// The context.
    fn cuCtxFromGreenCtx(to: *mut Handle, handle: Handle) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, green(handle)?.handle) }
    }

    /// Its multiprocessors.
    fn cuGreenCtxGetDevResource(handle: Handle, to: *mut Resource, kind: u32) {
        // SAFETY: the same arguments.
        match unsafe { cuCtxGetDevResource(handle, to, kind) } {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// The multiprocessors of any context.
    fn cuCtxGetDevResource(handle: Handle, to: *mut Resource, kind: u32) {
        let context = context(handle)?;
        if kind != MULTIPROCESSORS {
            return Err(Code::INVALID_RESOURCE_TYPE);
        }
        let count = context.multiprocessors.unwrap_or(context.device.chip.multiprocessors);
        // SAFETY: the caller's place for the result.
        unsafe { put(to, Resource::of(context.device.ordinal as u32, count)?) }
    }

    /// A stream on a share.
    fn cuGreenCtxStreamCreate(to: *mut Handle, handle: Handle, flags: u32, priority: i32) {
        let context = green(handle)?;
        context.device.check()?;
        let stream = Stream::create_with(&context, flags, priority.clamp(-5, 0))?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, stream.handle) }
    }

    /// The share of a stream, zero if it has none.
    fn cuStreamGetGreenCtx(handle: Handle, to: *mut Handle) {
        let context = context(stream(handle)?.context)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, if context.multiprocessors.is_some() { context.handle } else { 0 }) }
    }
}

/// The green context of a handle.
fn green(handle: Handle) -> Result<Arc<Context>> {
    context(handle).ok().filter(|c| c.multiprocessors.is_some()).ok_or(Code::INVALID_CONTEXT)
}
