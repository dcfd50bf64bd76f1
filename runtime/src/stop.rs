//! A request to end between steps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between whoever asks for the end and the session, which honours it before its next step.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that is not raised.
    pub fn new() -> StopFlag {
        StopFlag::default()
    }

    /// Raises the flag when the process is interrupted (SIGINT) for the first time; a second interrupt ends the process.
    pub fn raise_on_interrupt(&self) -> io::Result<()> {
        // Order matters: the second handler runs after the first, so the exit is armed only from the second signal on.
        signal_hook::flag::register_conditional_shutdown(
            signal_hook::consts::SIGINT,
            130,
            Arc::clone(&self.0),
        )?;
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&self.0)).map(drop)
    }

    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
