//! A configuration a schedule does not exist for.

use std::fmt;

/// Why no table was generated. `Display` prints one sentence, such as
/// `dualpipe needs an even number of microbatches, at least 2*P = 8; got 6`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The schedule that was asked for.
    pub schedule: String,
    /// The constraint and the value that violates it.
    pub reason: String,
    /// What to change, where that is known.
    pub hint: Option<String>,
    known: bool,
}

impl Rejected {
    /// A configuration that does not fit; `reason` continues the sentence that the schedule's name begins.
    pub fn new(schedule: &str, reason: impl Into<String>) -> Rejected {
        Rejected { schedule: schedule.into(), reason: reason.into(), hint: None, known: true }
    }

    pub(crate) fn unknown(schedule: &str) -> Rejected {
        Rejected {
            schedule: schedule.into(),
            reason: "unknown schedule".into(),
            hint: None,
            known: false,
        }
    }

    /// The same with a hint.
    pub fn hint(self, hint: impl Into<String>) -> Rejected {
        Rejected { hint: Some(hint.into()), ..self }
    }

    /// Whether the name itself is not known, as opposed to a configuration that does not fit.
    pub fn is_unknown_name(&self) -> bool {
        !self.known
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.known {
            write!(f, "{} {}", self.schedule, self.reason)
        } else {
            write!(f, "{} '{}'", self.reason, self.schedule)
        }
    }
}

impl std::error::Error for Rejected {}
