//! What the environment says, read once.

use std::sync::OnceLock;
use std::time::Duration;

/// The settings of a process.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `PIPER_STANDIN_TIMEOUT`: how long to wait for other ranks.
    pub(crate) timeout: Duration,
    /// `PIPER_STANDIN_LOG`.
    pub(crate) log: bool,
}

/// The settings.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let timeout = match std::env::var("PIPER_STANDIN_TIMEOUT") {
            Err(_) => 60.0,
            Ok(text) => match text.trim().parse::<f64>() {
                Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => seconds,
                _ => {
                    eprintln!("standin: PIPER_STANDIN_TIMEOUT = '{text}': expected seconds");
                    std::process::exit(1);
                }
            },
        };
        Settings {
            timeout: Duration::from_secs_f64(timeout),
            log: std::env::var("PIPER_STANDIN_LOG").is_ok_and(|v| v != "0"),
        }
    })
}
