//! What a function says when it cannot do its work, and the catching of panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use piper_ir::pass::RegisterError;

/// How a function ended: `PIPER_OK`, or one of the others.
pub type PiperStatus = i32;

/// It did what was asked.
pub const PIPER_OK: PiperStatus = 0;
/// The input is wrong; diagnostics say what and where.
pub const PIPER_FAILED: PiperStatus = 1;
/// A pointer is null, or does not point to what it should.
pub const PIPER_NULL: PiperStatus = 2;
/// A handle is of something erased, of another module, or from before a pipeline ran.
pub const PIPER_STALE: PiperStatus = 3;
/// A number counts past the end.
pub const PIPER_OUT_OF_RANGE: PiperStatus = 4;
/// A text is not UTF-8.
pub const PIPER_BAD_TEXT: PiperStatus = 5;
/// Something stands in the way: a value that is used, a block that has a place already.
pub const PIPER_IN_USE: PiperStatus = 6;
/// A pass that said that it only reads tried to change the module.
pub const PIPER_READ_ONLY: PiperStatus = 7;
/// An argument is of the wrong kind: a structure of an unknown size, a type that is no integer.
pub const PIPER_WRONG_KIND: PiperStatus = 8;
/// A fault of the library, which stopped in the middle: do not use the module any more, and report it.
pub const PIPER_PANICKED: PiperStatus = 9;

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) status: PiperStatus,
    pub(crate) text: String,
}

impl Fault {
    pub(crate) fn new(status: PiperStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// A pass that is not registered.
    pub(crate) fn refused(status: PiperStatus, why: &RegisterError) -> Self {
        let hint = why.hint().map_or(String::new(), |hint| format!(" ({hint})"));
        Self::new(status, format!("{why}{hint}"))
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::new(PIPER_NULL, format!("{what} is null, or is not one"))
    }

    pub(crate) fn stale(what: &str) -> Self {
        Self::new(
            PIPER_STALE,
            format!(
                "the {what} was erased, is of another module, or is from before a pipeline ran"
            ),
        )
    }

    pub(crate) fn range(what: &str, index: usize, count: usize) -> Self {
        Self::new(PIPER_OUT_OF_RANGE, format!("{what} number {index}, but there are {count}"))
    }
}

/// Does the work; a panic is a fault. The library stays usable, the module at hand may not be.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        Err(Fault::new(PIPER_PANICKED, format!("it panicked: {}", panic_text(&*payload))))
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_fault() {
        let fault = caught::<()>(|| panic!("no {}", "way")).expect_err("it panics");
        assert_eq!(fault, Fault::new(PIPER_PANICKED, "it panicked: no way"));
        assert_eq!(caught(|| Ok(3)), Ok(3));
    }
}
