//! What programs want: compile, simulate, run.

mod compiler;
mod plan;
mod training;

pub use compiler::*;
pub use plan::*;
pub use training::*;

use piper::{Failure, Message};

use crate::fault::{Fault, PIPER_FAILED, PIPER_OK, PiperStatus, caught};
use crate::report::{PiperError, Told, fail};

/// Set in handles that live; anything else is not one, or was destroyed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
struct Tag(u64);

impl Tag {
    const COMPILER: Self = Self(u64::from_le_bytes(*b"PiperCmp"));
    const PLAN: Self = Self(u64::from_le_bytes(*b"PiperPln"));
    const TRAINING: Self = Self(u64::from_le_bytes(*b"PiperTrn"));
    const DEAD: Self = Self(0);
}

fn told(message: &Message) -> Told {
    Told {
        severity: message.severity,
        text: message.text.clone(),
        place: message.place.clone(),
        hint: message.hint.clone(),
        notes: message.notes.iter().map(|n| (n.place.clone(), n.text.clone())).collect(),
        rendered: message.rendered.clone(),
    }
}

/// Why a function has no result: its input is wrong, or its use.
enum Problem {
    Failure(Failure),
    Fault(Fault),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Does the work of a function; what is wrong goes to `error`.
fn done(
    function: &str,
    error: *mut *mut PiperError,
    work: impl FnOnce() -> Result<(), Problem>,
) -> PiperStatus {
    let mut failure = None;
    let outcome = caught(|| match work() {
        Ok(()) => Ok(()),
        Err(Problem::Fault(fault)) => Err(fault),
        Err(Problem::Failure(why)) => {
            failure = Some(why);
            Ok(())
        }
    });
    match (outcome, failure) {
        (Ok(()), None) => PIPER_OK,
        (Ok(()), Some(why)) => {
            fail(error, PiperError::new(PIPER_FAILED, why.messages().iter().map(told).collect()))
        }
        (Err(fault), _) => fail(error, PiperError::of_fault(function, &fault)),
    }
}
