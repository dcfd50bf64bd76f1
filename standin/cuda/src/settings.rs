//! What the environment says, read once.

use std::sync::OnceLock;

use piper_standin_interface::version;

use crate::chip::{CHIPS, Chip};

/// The settings of a process.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `PIPER_STANDIN_DEVICES`.
    pub(crate) devices: usize,
    /// `PIPER_STANDIN_CHIP`.
    pub(crate) chip: &'static Chip,
    /// `PIPER_STANDIN_DRIVER`: the version of the driver interface, 1000 times the first number plus 10 times the second.
    pub(crate) version: i32,
    /// `PIPER_STANDIN_MEMORY`: bytes of a device.
    pub(crate) memory: u64,
    /// `PIPER_STANDIN_SEED`: chooses among what may run; without it, what was submitted first.
    pub(crate) seed: Option<u64>,
    /// `PIPER_STANDIN_DROP_WAIT`: which wait of a stream for an event is left out, from zero.
    pub(crate) drop_wait: Option<u64>,
    /// `PIPER_STANDIN_LOG`: calls that fail.
    pub(crate) log: bool,
    /// `PIPER_STANDIN_LOG` = 2: also all work as it is done.
    pub(crate) log_work: bool,
    /// `PIPER_STANDIN_CHECKS`.
    pub(crate) checks: Checks,
}

/// What is checked besides bounds, alignment and barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checks {
    /// Races of threads within a kernel.
    pub(crate) races: bool,
    /// Registers and memory that are read before they are written.
    pub(crate) uninitialised: bool,
    /// Work of two streams on the same bytes that nothing orders.
    pub(crate) streams: bool,
}

/// Devices of which the memory has an address range of its own.
pub(crate) const MOST_DEVICES: usize = 64;

/// The settings; a value that makes no sense ends the process with a line that says so.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        read(|name| std::env::var(name).ok()).unwrap_or_else(|message| {
            eprintln!("standin: {message}");
            std::process::exit(1)
        })
    })
}

fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
    let number = |name: &str, most: u64| match variable(name) {
        None => Ok(None),
        Some(text) => match text.trim().parse::<u64>() {
            Ok(n) if n <= most => Ok(Some(n)),
            _ => Err(format!("{name} = '{text}': expected a number, at most {most}")),
        },
    };
    let chip = match variable("PIPER_STANDIN_CHIP") {
        None => &CHIPS[0],
        Some(name) => {
            CHIPS.iter().find(|chip| chip.names.contains(&name.trim())).ok_or_else(|| {
                format!("PIPER_STANDIN_CHIP = '{name}': expected sm_80, sm_90a or sm_100a")
            })?
        }
    };
    let memory = match variable("PIPER_STANDIN_MEMORY") {
        None => 8 << 30,
        Some(text) => bytes(text.trim()).ok_or_else(|| {
            format!("PIPER_STANDIN_MEMORY = '{text}': expected bytes, such as 512M or 2G")
        })?,
    };
    let version = match variable("PIPER_STANDIN_DRIVER") {
        None => 13_000,
        Some(text) => match version(&text) {
            Some([major, minor]) => (major * 1000 + minor * 10) as i32,
            None => {
                return Err(format!(
                    "PIPER_STANDIN_DRIVER = '{text}': expected a version of CUDA, such as 12.4"
                ));
            }
        },
    };
    Ok(Settings {
        version,
        devices: number("PIPER_STANDIN_DEVICES", MOST_DEVICES as u64)?.unwrap_or(1) as usize,
        chip,
        memory,
        seed: number("PIPER_STANDIN_SEED", u64::MAX)?,
        drop_wait: number("PIPER_STANDIN_DROP_WAIT", u64::MAX)?,
        log: variable("PIPER_STANDIN_LOG").is_some_and(|v| v != "0"),
        log_work: variable("PIPER_STANDIN_LOG").is_some_and(|v| v == "2"),
        checks: checks(variable("PIPER_STANDIN_CHECKS").as_deref())?,
    })
}

fn checks(text: Option<&str>) -> Result<Checks, String> {
    let mut checks = Checks { races: false, uninitialised: false, streams: false };
    for word in text.unwrap_or("all").split(',') {
        match word.trim() {
            "all" => checks = Checks { races: true, uninitialised: true, streams: true },
            "races" => checks.races = true,
            "uninitialised" => checks.uninitialised = true,
            "streams" => checks.streams = true,
            "none" | "" => {}
            other => {
                return Err(format!(
                    "PIPER_STANDIN_CHECKS has '{other}': expected all, none, or a list of races, uninitialised and \
                     streams"
                ));
            }
        }
    }
    Ok(checks)
}

/// `4096`, `64K`, `512M`, `2G`.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 10),
        (at, 'M' | 'm') => (&text[..at], 20),
        (at, 'G' | 'g') => (&text[..at], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_shl(shift).filter(|n| *n > 0 && *n <= 1 << 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Settings, String> {
        read(|asked| (asked == name).then(|| value.to_string()))
    }

    #[test]
    fn without_variables_there_is_one_device_with_all_checks() {
        let settings = read(|_| None).expect("defaults");
        assert_eq!((settings.devices, settings.chip.names[0]), (1, "sm_80"));
        assert_eq!((settings.memory, settings.seed), (8 << 30, None));
        assert_eq!(settings.checks, Checks { races: true, uninitialised: true, streams: true });
    }

    #[test]
    fn values_are_read() {
        assert_eq!(with("PIPER_STANDIN_MEMORY", "512M").map(|s| s.memory), Ok(512 << 20));
        assert_eq!(with("PIPER_STANDIN_CHIP", "sm_90").map(|s| s.chip.names[0]), Ok("sm_90a"));
        assert_eq!(with("PIPER_STANDIN_DRIVER", "11.4").map(|s| s.version), Ok(11_040));
        let checks = with("PIPER_STANDIN_CHECKS", "races, streams").map(|s| s.checks);
        assert_eq!(checks, Ok(Checks { races: true, uninitialised: false, streams: true }));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let said = |name: &str, value: &str| with(name, value).err().unwrap_or_default();
        assert_eq!(
            said("PIPER_STANDIN_DEVICES", "many"),
            "PIPER_STANDIN_DEVICES = 'many': expected a number, at most 64"
        );
        assert_eq!(
            said("PIPER_STANDIN_CHIP", "sm_75"),
            "PIPER_STANDIN_CHIP = 'sm_75': expected sm_80, sm_90a or sm_100a"
        );
        for value in ["", "0", "x", "9999999999999G", "\u{fc}"] {
            assert!(said("PIPER_STANDIN_MEMORY", value).contains("expected bytes"), "{value}");
        }
        for value in ["", "12", "0.1", "12.x"] {
            assert!(said("PIPER_STANDIN_DRIVER", value).contains("such as 12.4"), "{value}");
        }
        assert!(said("PIPER_STANDIN_CHECKS", "bounds").contains("expected all, none"));
    }
}
