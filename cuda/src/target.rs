//! Which GPUs there are, and whose code they run.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};

use cudarc::driver::sys;
use piper_plan::Ptx;

use crate::driver::{Driver, version_text};
use crate::error::CudaError;

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
const MULTIPROCESSORS: c_int = 16;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`
const MAJOR: c_int = 75;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR`
const MINOR: c_int = 76;

/// A GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number, from 0.
    pub ordinal: usize,
    /// What its maker calls it.
    pub name: String,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// CUDA version of the driver, as `12.4`.
    pub driver: String,
    pub(crate) handle: sys::CUdevice,
}

/// The GPUs of this machine, as far as `CUDA_VISIBLE_DEVICES` shows them.
///
/// # Errors
/// No driver, too old a one, or no device.
pub fn devices() -> Result<Vec<DeviceInfo>, CudaError> {
    let driver = Driver::open()?;
    (0..driver.device_count()?).map(|ordinal| DeviceInfo::of(driver, ordinal)).collect()
}

impl DeviceInfo {
    pub(crate) fn of(driver: &Driver, ordinal: usize) -> Result<Self, CudaError> {
        let doing = || format!("asking what device {ordinal} is");
        let mut handle = 0;
        // SAFETY: the handle is written to a number that lives here; the ordinal is below the count.
        let code = unsafe { (driver.api.cuDeviceGet)(&raw mut handle, ordinal as c_int) };
        driver.check(doing(), code)?;
        let mut name = [0 as c_char; 128];
        // SAFETY: the name is written with its end into an array of the length that is told.
        let code =
            unsafe { (driver.api.cuDeviceGetName)(name.as_mut_ptr(), name.len() as c_int, handle) };
        driver.check(doing(), code)?;
        // SAFETY: the driver ended the string within the array, which was zero before.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let attribute = |attribute: c_int| {
            let mut value = 0;
            // SAFETY: the value is written to a number that lives here.
            let code =
                unsafe { (driver.api.cuDeviceGetAttribute)(&raw mut value, attribute, handle) };
            driver.check(doing(), code).map(|()| value)
        };
        Ok(Self {
            ordinal,
            name,
            capability: (attribute(MAJOR)?, attribute(MINOR)?),
            multiprocessors: attribute(MULTIPROCESSORS)?.unsigned_abs(),
            driver: version_text(driver.version),
            handle,
        })
    }

    /// The chip whose code suits it best, of those that Piper makes code for; `None` if it is older than all.
    pub fn chip(&self) -> Option<&'static str> {
        match self.capability {
            (9, 0) => Some("sm_90a"),
            (10, 0) => Some("sm_100a"),
            (8.., _) => Some("sm_80"),
            _ => None,
        }
    }

    /// Checks that it runs code for a chip.
    pub(crate) fn check_chip(&self, chip: &str) -> Result<(), CudaError> {
        if runs(self.capability, chip) {
            return Ok(());
        }
        let (major, minor) = self.capability;
        Err(CudaError::Chip {
            ordinal: self.ordinal,
            name: self.name.clone(),
            major,
            minor,
            chip: chip.to_owned(),
            suggestion: self.chip().unwrap_or("a chip that Piper has no code for").to_owned(),
        })
    }
}

/// Whether a GPU of a compute capability runs code for a chip: code for `sm_90a` runs on 9.0 alone, code for `sm_80` on 8.0 and
/// everything later. Source: PTX ISA, `.target`.
fn runs(capability: (i32, i32), chip: &str) -> bool {
    let Some(digits) = chip.strip_prefix("sm_") else { return false };
    let number = digits.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let Ok(wanted) = number.parse::<i32>() else { return false };
    let have = capability.0 * 10 + capability.1;
    if number == digits { have >= wanted } else { have == wanted }
}

/// Checks that the driver knows the version of the PTX.
pub(crate) fn check_ptx(driver: &Driver, ptx: &Ptx) -> Result<(), CudaError> {
    let Some((version, need)) = ptx_version(&ptx.text).and_then(|v| Some((v, cuda_of(v)?))) else {
        return Ok(());
    };
    if driver.version >= need {
        return Ok(());
    }
    Err(CudaError::OldDriver {
        have: version_text(driver.version),
        ptx: format!("{}.{}", version.0, version.1),
        need: version_text(need),
    })
}

/// What a text's `.version` says.
fn ptx_version(text: &str) -> Option<(i32, i32)> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(".version"))?;
    let (major, minor) = line.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.trim().parse().ok()?))
}

/// The first CUDA version whose driver knows a version of PTX. Source: PTX ISA, release history.
fn cuda_of((major, minor): (i32, i32)) -> Option<i32> {
    match (major, minor) {
        (..=6, _) => Some(11000),
        (7, minor) => Some(11000 + 10 * minor),
        (8, minor @ 0..=5) => Some(12000 + 10 * minor),
        (8, minor) => Some(12010 + 10 * minor),
        (9, minor) => Some(13000 + 10 * minor),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_for_one_chip_runs_on_it_alone_and_other_code_on_what_came_later() {
        assert!(runs((9, 0), "sm_90a") && !runs((10, 0), "sm_90a") && !runs((8, 0), "sm_90a"));
        assert!(runs((8, 0), "sm_80") && runs((8, 6), "sm_80") && runs((9, 0), "sm_80"));
        assert!(runs((12, 0), "sm_80") && !runs((7, 5), "sm_80"));
        assert!(runs((10, 0), "sm_100a") && !runs((10, 3), "sm_100a"));
        assert!(!runs((9, 0), "gfx942") && !runs((9, 0), "sm_"));
    }

    #[test]
    fn ptx_says_which_driver_it_needs() {
        let text = "//\n// Generated\n//\n\n.version 8.0\n.target sm_80\n";
        assert_eq!(ptx_version(text), Some((8, 0)));
        assert_eq!(ptx_version(".target sm_80"), None);
        let needs = [(7, 8), (8, 0), (8, 5), (8, 6), (8, 8), (9, 0), (9, 1)].map(cuda_of);
        assert_eq!(needs.map(Option::unwrap), [11080, 12000, 12050, 12070, 12090, 13000, 13010]);
    }
}
