//! A panic inside a pass is a fault of Piper's, not of the input: it is reported as such.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// Messages and places of panics, of whichever thread, until they are asked for.
static RECORDED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps panics off the terminal and remembers where they were, for the whole process: for the program, not for tests.
pub(crate) fn record_panics() {
    std::panic::set_hook(Box::new(|info| {
        let mut text = info.to_string();
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
            text = format!("{text}\n{}", std::backtrace::Backtrace::force_capture());
        }
        RECORDED.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }));
}

/// Runs `body`; a panic becomes its message.
pub(crate) fn guarded<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let message = message(&*payload);
        let recorded =
            std::mem::take(&mut *RECORDED.lock().unwrap_or_else(PoisonError::into_inner));
        // Several threads may have panicked; this one's record says what it says.
        let own = recorded.into_iter().find(|text| text.contains(&message));
        own.unwrap_or(message)
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
