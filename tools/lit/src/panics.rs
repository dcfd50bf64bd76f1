//! Turns a panic into a value, with its message and place, and keeps it off the terminal.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// `Some` while this thread runs something whose panics are caught.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body`; a panic on this thread becomes its message and place.
pub(crate) fn catch<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let kept = CAUGHT.with_borrow_mut(|slot| {
                slot.as_mut().map(|text| *text = info.to_string()).is_some()
            });
            if !kept {
                previous(info);
            }
        }));
    });
    CAUGHT.set(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    let message = CAUGHT.take().unwrap_or_default();
    result.map_err(|_| message)
}

#[cfg(test)]
mod tests {
    use super::catch;

    #[test]
    fn the_message_and_the_place_are_kept() {
        let caught = catch(|| panic!("no such op")).unwrap_err();
        assert!(caught.contains("no such op") && caught.contains("panics.rs"), "{caught}");
        assert_eq!(catch(|| 7), Ok(7));
    }
}
