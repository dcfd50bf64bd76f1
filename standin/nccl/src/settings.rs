//! What the environment says, read once.

use std::sync::OnceLock;
use std::time::Duration;

use piper_standin_interface::version;

/// The settings of a process.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `PIPER_STANDIN_TIMEOUT`: how long to wait for other ranks.
    pub(crate) timeout: Duration,
    /// `PIPER_STANDIN_NCCL`: the version of the interface, as NCCL writes it in one number.
    pub(crate) version: i32,
    /// `PIPER_STANDIN_NCCL_FAULT`.
    pub(crate) fault: Option<Fault>,
    /// `PIPER_STANDIN_LOG`.
    pub(crate) log: bool,
}

/// What is to go wrong, for whoever tests what a program says then: an operation of a rank, in every communicator that has so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// An asynchronous error; otherwise the operation just does not end.
    pub(crate) is_error: bool,
    pub(crate) rank: u32,
    /// Which operation of the communicator, from 0.
    pub(crate) operation: u64,
}

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
    let of = |name: &str| variable(name).map(|text| text.trim().to_owned());
    let seconds = match of("PIPER_STANDIN_TIMEOUT") {
        None => 60.0,
        Some(text) => match text.parse::<f64>() {
            Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => seconds,
            _ => return Err(format!("PIPER_STANDIN_TIMEOUT = '{text}': expected seconds")),
        },
    };
    let version = match of("PIPER_STANDIN_NCCL") {
        None => 23_000,
        Some(text) => match version(&text) {
            Some([major, minor, patch]) => (major * 10_000 + minor * 100 + patch) as i32,
            None => {
                return Err(format!(
                    "PIPER_STANDIN_NCCL = '{text}': expected a version, such as 2.18.3"
                ));
            }
        },
    };
    let fault = match of("PIPER_STANDIN_NCCL_FAULT") {
        None => None,
        Some(text) => Some(fault(&text).ok_or_else(|| {
            format!(
                "PIPER_STANDIN_NCCL_FAULT = '{text}': expected error or stall, a rank and the number of an operation, such as error:1:0"
            )
        })?),
    };
    Ok(Settings {
        timeout: Duration::from_secs_f64(seconds),
        version,
        fault,
        log: variable("PIPER_STANDIN_LOG").is_some_and(|v| v != "0"),
    })
}

/// `error:1:0`
fn fault(text: &str) -> Option<Fault> {
    let parts: Vec<&str> = text.split(':').collect();
    let [kind, rank, operation] = parts[..] else { return None };
    let is_error = match kind {
        "error" => true,
        "stall" => false,
        _ => return None,
    };
    Some(Fault { is_error, rank: rank.parse().ok()?, operation: operation.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Settings, String> {
        read(|asked| (asked == name).then(|| value.to_string()))
    }

    #[test]
    fn values_are_read_and_what_makes_no_sense_is_said() {
        let settings = read(|_| None).unwrap();
        assert_eq!((settings.version, settings.fault), (23_000, None));
        assert_eq!(with("PIPER_STANDIN_NCCL", "2.18.3").unwrap().version, 21_803);
        let fault = Fault { is_error: false, rank: 1, operation: 12 };
        assert_eq!(with("PIPER_STANDIN_NCCL_FAULT", "stall:1:12").unwrap().fault, Some(fault));
        for (name, value, wanted) in [
            ("PIPER_STANDIN_TIMEOUT", "0", "expected seconds"),
            ("PIPER_STANDIN_NCCL", "2.18", "such as 2.18.3"),
            ("PIPER_STANDIN_NCCL_FAULT", "error", "such as error:1:0"),
            ("PIPER_STANDIN_NCCL_FAULT", "late:1:0", "such as error:1:0"),
        ] {
            let said = with(name, value).unwrap_err();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
