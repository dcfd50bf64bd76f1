//! `ncclConfig_t`: of what it can say, whether joining blocks and the limits of thread blocks are kept.

use crate::abi::{Result, refuse};

/// `NCCL_CONFIG_UNDEF_INT`.
const UNDEFINED: i32 = i32::MIN;
/// The most blocks that NCCL uses for a communicator.
const MOST: i32 = 64;

/// The beginning of the structure, which all versions share.
#[repr(C)]
pub(crate) struct RawConfig {
    size: usize,
    magic: u32,
    version: u32,
    blocking: i32,
    cluster: i32,
    least: i32,
    most: i32,
}

/// How a communicator is joined, and how many thread blocks its kernels may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// Joining returns at once; `ncclCommGetAsyncError` says when it is done.
    pub(crate) is_patient: bool,
    pub(crate) least: Option<u32>,
    pub(crate) most: Option<u32>,
}

/// The number that tells a structure that was initialised.
const MAGIC: u32 = 0xcafe_beef;

impl Config {
    /// Reads what the program gives.
    ///
    /// # Safety
    /// `raw` is null or an initialised structure.
    pub(crate) unsafe fn of(raw: *const RawConfig) -> Result<Self> {
        if raw.is_null() {
            return Ok(Self::default());
        }
        // SAFETY: the caller's promise.
        let raw = unsafe { &*raw };
        if raw.magic != MAGIC || raw.size < size_of::<RawConfig>() {
            return refuse("the configuration was not initialised with NCCL_CONFIG_INITIALIZER");
        }
        let limit = |value: i32, name: &str| match value {
            UNDEFINED => Ok(None),
            1..=MOST => Ok(Some(value as u32)),
            _ => refuse(format!("{name} = {value}: expected 1 to {MOST}")),
        };
        let is_patient = match raw.blocking {
            UNDEFINED | 1 => false,
            0 => true,
            other => return refuse(format!("blocking = {other}: expected 0 or 1")),
        };
        let config = Self {
            is_patient,
            least: limit(raw.least, "minCTAs")?,
            most: limit(raw.most, "maxCTAs")?,
        };
        if config.least.zip(config.most).is_some_and(|(least, most)| least > most) {
            return refuse(format!("minCTAs = {} is more than maxCTAs = {}", raw.least, raw.most));
        }
        Ok(config)
    }
}
