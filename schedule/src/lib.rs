//! Pipeline schedules as data.
//!
//! A schedule is a [`Table`]: for every rank the list of its [`Slot`]s, a slot being one [`Action`] or several that may
//! overlap. Generators ([`generate()`]) write the published schedules down; the `order` text ([`text::order`]) and torch's
//! CSV ([`torch_csv`]) let a user write their own. Whatever the origin, [`Table::check`] proves that every stage runs every
//! microbatch once, where it lives, and that no rank waits for ever; [`Table::replay`] predicts times and memory, and
//! [`table::render`] draws.
//!
//! The crate knows nothing of the IR. It also holds the two other little languages that select and drive rather than
//! compute, tag filters ([`text::filter`]) and pass pipelines ([`text::pipeline`]), because they share the error type.
//!
//! ```
//! use piper_schedule::{Config, Costs, generate};
//!
//! let table = generate("1f1b", &Config::new(4, 1, 8))?;
//! table.check()?;
//! let replay = table.replay(&Costs::new(1, 1, 1))?;
//! assert_eq!(replay.idle(0), 9, "(P-1)(F+B)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod action;
mod check;
pub mod generate;
pub mod lower;
pub mod overlap;
mod placement;
mod replay;
mod suggest;
pub mod table;
pub mod text;
pub mod torch_csv;

pub use action::{Action, Kind, Slot};
pub use check::{Deadlock, Position, Problem, Problems, Stuck};
pub use generate::{Config, NewSchedule, Rejected, Schedules, generate};
pub use placement::Placement;
pub use replay::{Costs, Replay, Span};
pub use suggest::closest;
pub use table::Table;
pub use text::TextError;
