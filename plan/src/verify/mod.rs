//! Checks that make a plan safe to run. The compiler ends with them and the loader begins with them.
//!
//! | check | in | says |
//! |---|---|---|
//! | structure | `structure.rs` | every index, range, alignment, type and size is right |
//! | states | `states.rs` | every state tensor is wholly stored, and only where it may be |
//! | partitions | `partitions.rs` | a device can be divided so, and a communicator runs on one part of it |
//! | communication | `comm.rs` | sends and receives pair by position, groups agree, nothing can hang under NCCL's rules |
//! | memory | `memory.rs` | no race, no read of unwritten bytes, no lost value, peak within the limit |
//! | flow | [`flow`] | every instruction still reads the values it was compiled to read |
//!
//! Later checks rely on earlier ones, so the first one that finds faults is the last one that runs, except that
//! communication and memory are independent and both run.

pub mod access;
mod channels;
mod classes;
mod comm;
pub mod flow;
mod limit;
mod memory;
mod partitions;
mod rendezvous;
mod states;
mod structure;

pub use channels::replica_axes;

use crate::mesh::Mesh;
use crate::schema::{Instr, Plan, ProgramId};
use crate::source::SourceId;

/// Which rule a plan breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An index points outside its table, or a table has the wrong length.
    Structure,
    /// A buffer lies outside the arena, is misaligned, or rows lie outside an input.
    Range,
    /// Element types or counts disagree.
    Shape,
    /// A communicator is malformed, or used by a device that is not in it.
    Comm,
    /// The state manifest is incomplete or wrong.
    State,
    /// A send without its receive, the reverse, or a pair that disagrees on what is transferred.
    Pairing,
    /// Members of a communicator disagree on its n-th collective.
    Collective,
    /// Devices wait for each other in a circle.
    Deadlock,
    /// Two accesses to the same bytes, one a write, without an order between them.
    Race,
    /// A read of bytes that nothing has written.
    Unwritten,
    /// A wait on an event not recorded before, or an event recorded twice.
    Event,
    /// A value that is written and never read.
    DeadWrite,
    /// More memory than the limit.
    Memory,
    /// A device cannot be divided so, or a communicator runs on several parts of it.
    Partition,
    /// An instruction is missing, repeated, or reads another value than it was compiled to read.
    Flow,
}

impl FaultKind {
    /// A word or two for the head of a message.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Structure => "malformed plan",
            FaultKind::Range => "out of range",
            FaultKind::Shape => "shape mismatch",
            FaultKind::Comm => "bad communicator",
            FaultKind::State => "bad state manifest",
            FaultKind::Pairing => "unpaired transfer",
            FaultKind::Collective => "mismatched collective",
            FaultKind::Deadlock => "deadlock",
            FaultKind::Race => "race",
            FaultKind::Unwritten => "read of unwritten memory",
            FaultKind::Event => "bad event",
            FaultKind::DeadWrite => "value never read",
            FaultKind::Memory => "out of memory",
            FaultKind::Partition => "bad partition",
            FaultKind::Flow => "changed dataflow",
        }
    }
}

/// One place involved in a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// What happens here, e.g. `sent here`.
    pub role: String,
    /// The program, if the fault is in one.
    pub program: Option<ProgramId>,
    /// Position in the program's instructions.
    pub instr: Option<usize>,
    /// Where it comes from.
    pub source: SourceId,
    /// A device (row-major number) on which it happens, when it matters which.
    pub device: Option<usize>,
}

/// Something wrong with a plan, with all the places involved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub kind: FaultKind,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The places: both sides of a transfer, both accesses of a race, every device of a cycle.
    pub parties: Vec<Party>,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into(), parties: Vec::new() }
    }

    /// Adds an instruction.
    pub(crate) fn at(
        mut self,
        plan: &Plan,
        program: ProgramId,
        instr: usize,
        role: impl Into<String>,
    ) -> Fault {
        let source = plan.programs[program.index()].instrs[instr].source;
        self.parties.push(Party {
            role: role.into(),
            program: Some(program),
            instr: Some(instr),
            source,
            device: None,
        });
        self
    }

    /// Adds an instruction as executed by a certain device.
    pub(crate) fn on(
        mut self,
        plan: &Plan,
        device: usize,
        instr: usize,
        role: impl Into<String>,
    ) -> Fault {
        self = self.at(plan, plan.device_program[device], instr, role);
        self.parties.last_mut().expect("just pushed").device = Some(device);
        self
    }

    /// The fault and its places with their source lines, several lines long.
    pub fn render(&self, plan: &Plan) -> String {
        let mut text = format!("{}: {}", self.kind.name(), self.message);
        for party in &self.parties {
            text.push_str("\n  ");
            text.push_str(&party.role);
            if let Some(device) = party.device {
                text.push_str(&format!(" on {}", Mesh::new(&plan.mesh).render(device)));
            }
            let program = party.program.and_then(|p| plan.programs.get(p.index()));
            if let (Some(program), Some(at)) = (program, party.instr)
                && let Some(instr) = program.instrs.get(at)
            {
                text.push_str(&format!(" by @{} #{at} {}", program.name, describe(instr)));
            }
            if plan.sources.get(party.source).is_some() {
                text.push_str(&format!("\n    {}", plan.sources.render(party.source)));
            }
        }
        text
    }
}

/// `send f1.mb3`: mnemonic and own name.
fn describe(instr: &Instr) -> String {
    match &instr.name {
        Some(name) => format!("{} {name}", instr.kind.mnemonic()),
        None => instr.kind.mnemonic().to_owned(),
    }
}

/// How a send ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sends {
    /// Together with its receive, as in NCCL: a device goes on when its peer has come.
    #[default]
    Rendezvous,
    /// At once, its buffer being copied, as in MPI with enough memory for messages: only receives and collectives wait.
    Buffered,
}

/// What a plan is checked for, beyond being correct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Most bytes a device may use for arena and workspace together; `None` = any.
    pub peak_bytes: Option<u64>,
    /// How sends end on the machine that is to run it.
    pub sends: Sends,
}

/// Every fault of a plan; empty if it is safe to run. At most [`MAX_FAULTS`] a check.
pub fn verify(plan: &Plan) -> Vec<Fault> {
    verify_with(plan, &Options::default())
}

/// As [`verify`](fn@verify), for a certain machine.
pub fn verify_with(plan: &Plan, options: &Options) -> Vec<Fault> {
    let mut faults = structure::tables(plan);
    faults.extend(crate::code::faults(plan));
    if !faults.is_empty() {
        return faults;
    }
    let classes = classes::of(plan);
    faults = structure::programs(plan, &classes);
    if faults.is_empty() {
        faults = states::check(plan, &classes);
    }
    if faults.is_empty() {
        faults = partitions::check(plan);
    }
    if !faults.is_empty() {
        return faults;
    }
    let (comm, memory) = std::thread::scope(|scope| {
        let memory = scope.spawn(|| memory::check(plan, &classes, options));
        (comm::check(plan, &classes, options.sends), memory.join())
    });
    faults.extend(comm);
    faults.extend(memory.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    if faults.is_empty() {
        faults = flow::check(plan);
    }
    faults
}

/// Results of `work` for every program, in order, computed on all cores: programs are independent.
fn for_each_program<T: Send>(plan: &Plan, work: impl Fn(ProgramId) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = plan.programs.len().div_ceil(cores).max(1);
    let ids: Vec<ProgramId> = (0..plan.programs.len() as u32).map(ProgramId).collect();
    let run = &|ids: &[ProgramId]| -> Vec<T> { ids.iter().map(|&id| work(id)).collect() };
    std::thread::scope(|scope| {
        // The caller takes the first share itself: on one core there is no thread to wait for.
        let (mine, others) = ids.split_at(share.min(ids.len()));
        let threads: Vec<_> =
            others.chunks(share).map(|ids| scope.spawn(move || run(ids))).collect();
        let mut found = run(mine);
        for thread in threads {
            found.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    })
}

/// Faults listed by one check before it gives up: a broken plan breaks everywhere, and the first few say why.
pub const MAX_FAULTS: usize = 20;
