//! What a plan would take on a cluster, before one is booked.
//!
//! [`simulate`] plays exactly the programs of a [`Plan`] on a [`Machine`]: streams in issue order, events, transfers that pair
//! by position, collectives, ports that are shared. Its [`Outcome`] has the time of every instruction, and per rank how long
//! it computed, waited for data on the wire, and stood idle, with the memory that was alive at every moment.
//!
//! * the machine and its file: [`machine`];
//! * the formulas of collectives: [`collective`];
//! * forms of the outcome: [`table`], [`json`], [`trace`] (Perfetto), [`html`] (a page with the timeline drawn).
//!
//! What is *not* modelled is said in `docs/simulation.md`.
//!
//! ```
//! use piper_plan::{Plan, Program, ProgramId};
//! use piper_sim::{Machine, simulate};
//!
//! let machine = Machine::parse("[device]\nflops = 1e12\nmemory_bandwidth = 1e11\n")?;
//! let (programs, device_program) = (vec![Program::default()], vec![ProgramId(0)]);
//! let outcome = simulate(&Plan { programs, device_program, ..Plan::default() }, &machine)?;
//! assert_eq!(outcome.makespan, 0.0, "nothing to do");
//! assert!(simulate(&Plan::default(), &machine).is_err(), "a device without a program");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod collective;
mod cores;
mod cost;
mod engine;
pub mod html;
pub mod json;
pub mod machine;
mod memory;
mod network;
mod outcome;
pub mod table;
pub mod trace;

use piper_plan::Plan;

pub use machine::{Machine, MachineError, Topology};
pub use memory::Memory;
pub use outcome::{Outcome, RankOutcome, StreamOutcome};

/// When an instruction ran, in seconds since the step began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// When its stream came to it.
    pub ready: f64,
    /// When it began: the device was free, or all sides and their ports were.
    pub start: f64,
    /// When it ended.
    pub end: f64,
}

/// Why a plan cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimError {
    /// What is wrong, with the place in the source it is about, if one is.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl SimError {
    pub(crate) fn new(message: impl Into<String>) -> SimError {
        SimError { message: message.into(), hint: String::new() }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> SimError {
        SimError { hint: hint.into(), ..self }
    }
}

impl std::fmt::Display for SimError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(f, "\n  hint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for SimError {}

/// Why a machine does not fit a plan, or a plan cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The machine file.
    Machine(MachineError),
    /// The plan.
    Plan(SimError),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Machine(error) => error.fmt(f),
            Failure::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Failure {
        Failure::Machine(error)
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Failure {
        Failure::Plan(error)
    }
}

/// Plays one step of a plan on a machine. The plan should be one that `piper_plan::verify` accepts.
///
/// # Errors
/// A machine without an axis that the plan communicates over; a kernel without a cost, or one that is no number; a device without
/// a program; a plan that would hang.
pub fn simulate(plan: &Plan, machine: &Machine) -> Result<Outcome, Failure> {
    play(plan, machine, true)
}

/// As [`simulate`], but every device by itself, replicas too. The outcome is the same for many times the work; tests see to that.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_every_device(plan: &Plan, machine: &Machine) -> Result<Outcome, Failure> {
    play(plan, machine, false)
}

fn play(plan: &Plan, machine: &Machine, may_collapse: bool) -> Result<Outcome, Failure> {
    let has_program = |id: &piper_plan::ProgramId| id.index() < plan.programs.len();
    if plan.device_program.len() != plan.devices() || !plan.device_program.iter().all(has_program) {
        let message = "the plan does not say for each of its devices which program it runs";
        return Err(SimError::new(message)
            .hint("verify the plan first: piper-sim without --no-verify")
            .into());
    }
    let topology = Topology::of(machine, plan)?;
    let kernels = cost::kernels(plan, machine)?;
    let network = network::Network::of(plan, &topology, may_collapse);
    let spans = engine::run(plan, machine, &network, &kernels, engine::Sharing::Real)?;
    let unlimited = engine::run(plan, machine, &network, &kernels, engine::Sharing::Unlimited)?;
    let critical_path = outcome::makespan(&unlimited);
    Ok(Outcome::of(plan, &network, spans, critical_path))
}
