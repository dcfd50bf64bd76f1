//! From a compute-only table to what each rank launches.
//!
//! A [`Table`] becomes a [`Program`], and the passes of this folder, one a file, add to it: whole backwards where both
//! halves stand together ([`merge_bw()`]), gathers and drops of parameters ([`unshard()`]), gradient reductions
//! ([`reduce_grad()`]), transfers ([`send_recv()`]), and receives moved to their first use ([`defer_recv()`]). They write
//! what torch's pipeline runtime writes for the same table, so its CSV can be exchanged in both directions; Piper's own
//! planner derives communication from the model's graph and does not pass through here. [`Program::check`] proves a lowered
//! program, wherever it comes from, complete and free of deadlock.
//!
//! ```
//! use piper_schedule::lower::{Lowering, lower};
//! use piper_schedule::{Config, generate, torch_csv};
//!
//! let table = generate("gpipe", &Config::new(2, 1, 1))?;
//! let program = lower(&table, &Lowering { active_stages: None, ..Lowering::default() })?;
//! assert_eq!(
//!     torch_csv::write_program(&program),
//!     "0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod defer_recv;
mod merge_bw;
mod op;
mod play;
mod reduce_grad;
mod send_recv;
mod steps;
mod unshard;

pub use check::{Circle, Fault, Transport, Waiting};
pub use defer_recv::defer_recv;
pub use merge_bw::merge_bw;
pub use op::{Leg, Op, Transfer};
pub use reduce_grad::reduce_grad;
pub use send_recv::{NeverReady, send_recv};
pub use steps::step_count;
pub use unshard::unshard;

use std::collections::BTreeMap;

use crate::action::{Action, Kind, Slot};
use crate::placement::Placement;
use crate::table::Table;

/// A lowered schedule of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// `ranks[r]` lists what rank `r` runs, in order.
    pub ranks: Vec<Vec<Op>>,
    /// Stages of the model.
    pub stages: u32,
    /// Microbatches of the step.
    pub microbatches: u32,
    /// Home ranks of the stages.
    pub placement: Placement,
}

impl Program {
    /// The table as a program, before any pass.
    pub fn of(table: &Table) -> Program {
        let row = |slots: &Vec<Slot>| slots.iter().cloned().map(Op::from).collect();
        Program {
            ranks: table.ranks.iter().map(row).collect(),
            stages: table.stages,
            microbatches: table.microbatches,
            placement: table.placement.clone(),
        }
    }

    /// The program that consists of these rows: stages and microbatches are those that are computed, and a stage's home is
    /// where its actions stand.
    pub fn from_rows(ranks: Vec<Vec<Op>>) -> Program {
        let table = Table::from_rows(ranks.iter().map(|row| compute_slots(row)).collect());
        let Table { stages, microbatches, placement, .. } = table;
        Program { ranks, stages, microbatches, placement }
    }

    /// The compute-only table of the program.
    pub fn table(&self) -> Table {
        Table {
            ranks: self.ranks.iter().map(|row| compute_slots(row)).collect(),
            stages: self.stages,
            microbatches: self.microbatches,
            placement: self.placement.clone(),
        }
    }

    /// The rank on the other side of a transfer.
    pub fn peer(&self, transfer: Transfer) -> Option<u32> {
        self.placement.home(transfer.peer_stage()?, transfer.mb)
    }

    /// The send that `action` calls for, and its receiver, where what it produces is consumed on another rank.
    pub fn crossing(&self, action: Action) -> Option<(Transfer, u32)> {
        let send = Transfer::send_after(action, self.stages)?;
        let receiver = self.peer(send)?;
        let here = self.placement.home(action.stage, action.mb)?;
        (receiver != here).then_some((send, receiver))
    }

    /// The program with `pass` applied to every row.
    pub fn map_rows(&self, pass: impl Fn(&[Op]) -> Vec<Op>) -> Program {
        Program { ranks: self.ranks.iter().map(|row| pass(row)).collect(), ..self.clone() }
    }
}

fn compute_slots(row: &[Op]) -> Vec<Slot> {
    let slot = |op: &Op| match op {
        Op::Compute(slot) => Some(slot.clone()),
        _ => None,
    };
    row.iter().filter_map(slot).collect()
}

/// Which passes [`lower`] runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lowering {
    /// Run [`merge_bw()`].
    pub merge: bool,
    /// Run [`unshard()`] with so many stages active at a time.
    pub active_stages: Option<u32>,
    /// Run [`reduce_grad()`].
    pub reduce: bool,
    /// Run [`defer_recv()`].
    pub defer: bool,
}

impl Default for Lowering {
    /// As torch: no merging, three active stages, reductions, early receives.
    fn default() -> Lowering {
        Lowering { merge: false, active_stages: Some(3), reduce: true, defer: false }
    }
}

/// Runs the passes in torch's order: merge, unshard, reduce, send and receive, defer.
///
/// # Errors
/// A table that deadlocks: the rank that waits for ever.
pub fn lower(table: &Table, lowering: &Lowering) -> Result<Program, NeverReady> {
    let mut program = Program::of(table);
    if lowering.merge {
        program = program.map_rows(merge_bw);
    }
    if let Some(active) = lowering.active_stages {
        program = program.map_rows(|row| unshard(row, active));
    }
    if lowering.reduce {
        let rows = program.ranks.iter().map(|row| {
            let contributions = contributions(row);
            reduce_grad(row, |stage| contributions.get(&stage).copied().unwrap_or(0))
        });
        program = Program { ranks: rows.collect(), ..program };
    }
    program = send_recv(&program)?;
    Ok(if lowering.defer { defer_recv(&program) } else { program })
}

/// How many gradients each stage contributes on the rank of this row: all microbatches, or those of its direction.
fn contributions(row: &[Op]) -> BTreeMap<u32, u32> {
    let mut count = BTreeMap::new();
    let last = |action: &&Action| matches!(action.kind, Kind::W | Kind::B);
    for action in row.iter().flat_map(Op::actions).filter(last) {
        *count.entry(action.stage).or_default() += 1;
    }
    count
}
