//! Whether a lowered program is complete and every rank comes to its end.
//!
//! Computation is judged as in a compute-only table. A program with transfers must have, for every tensor that crosses
//! ranks, one send where it is produced and one receive where it is consumed, and nothing else; a program with gathered
//! parameters must hold a stage's while it computes it. Then the program is played: under [`Transport::Rendezvous`] the
//! transfers of a rank run one after another and each waits for its other side, as point-to-point operations of NCCL do on
//! one stream; members of a batch start together and end together. Under [`Transport::Buffered`] sends never wait, as with
//! MPI's buffered mode.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::play::Play;
use super::{Op, Program, Transfer};
use crate::action::{Action, Kind};
use crate::check::{Position, Problem};

/// When a send is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// When the receiver has received: neither side leaves before the other has come.
    #[default]
    Rendezvous,
    /// At once.
    Buffered,
}

/// One rank of a [`Circle`]: where it stands, and what that waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The operation the rank cannot leave.
    pub at: Position,
    /// The action or transfer in it that is not ready.
    pub what: String,
    /// What it waits for.
    pub waits_for: String,
    /// Where that stands.
    pub found_at: Position,
}

/// Ranks that wait for one another in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle(pub Vec<Waiting>);

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the program deadlocks:")?;
        for Waiting { at, what, waits_for, found_at } in &self.0 {
            write!(f, "\n  {at}: {what} waits for {waits_for}, ")?;
            if at.rank == found_at.rank {
                write!(f, "which the same rank runs only later, at slot {}", found_at.slot)?;
            } else {
                write!(f, "which stands at {found_at}")?;
            }
        }
        Ok(())
    }
}

/// One thing wrong with a lowered program. Positions count all operations of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The computation is wrong.
    Compute(Problem),
    /// The operation names a stage or microbatch that is not computed.
    OutOfRange {
        /// Where it stands.
        at: Position,
        /// The operation.
        op: String,
        /// Stages of the program.
        stages: u32,
        /// Microbatches of the program.
        microbatches: u32,
    },
    /// The transfer or parameter operation stands on a rank that does not run its stage.
    NotAtHome {
        /// Where it stands.
        at: Position,
        /// The operation.
        op: String,
        /// The rank where it belongs.
        home: Option<u32>,
    },
    /// The transfer has no other side: the model ends there, or both stages are on this rank.
    Needless {
        /// Where it stands.
        at: Position,
        /// The transfer.
        transfer: Transfer,
    },
    /// The operation stands in the program twice.
    Repeated {
        /// The operation.
        op: String,
        /// Where it stands first.
        first: Position,
        /// Where it stands again.
        again: Position,
    },
    /// The transfer does not stand in the program.
    Missing {
        /// The transfer.
        transfer: Transfer,
        /// The rank that should run it.
        rank: u32,
        /// The action that needs it, or whose result it carries.
        action: Action,
        /// Where that action stands.
        at: Position,
    },
    /// The stage is computed while its parameters are not gathered.
    NotGathered {
        /// Where it is computed.
        at: Position,
        /// The action.
        action: Action,
    },
    /// Parameters are gathered while they are held, or dropped while they are not.
    Gathered {
        /// Where.
        at: Position,
        /// The operation.
        op: Op,
    },
    /// Gradients are reduced before the last of them is there.
    EarlyReduce {
        /// Where.
        at: Position,
        /// The stage.
        stage: u32,
        /// A contribution that comes later.
        later: Action,
        /// Where that one stands.
        found_at: Position,
    },
    /// Two transfers between the same two ranks are in one order where they are sent and in another where they are
    /// received, so that each receives what the other was meant to.
    Crossed {
        /// Where the send stands.
        at: Position,
        /// The send.
        send: Transfer,
        /// Where the receive stands that is paired with it.
        paired_at: Position,
        /// The receive that is paired with it.
        paired: Transfer,
    },
    /// Complete, but ranks wait for one another.
    Deadlock(Circle),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Compute(problem) => problem.fmt(f),
            Fault::OutOfRange { at, op, stages, microbatches } => write!(
                f,
                "{at}: {op} does not exist: there are {stages} stages and {microbatches} microbatches, counted from 0"
            ),
            Fault::NotAtHome { at, op, home: Some(home) } => {
                write!(f, "{at}: {op} does not belong here: its stage lives on rank {home}")
            }
            Fault::NotAtHome { at, op, home: None } => {
                write!(f, "{at}: {op} does not belong here: its stage lives on no rank")
            }
            Fault::Needless { at, transfer } => {
                write!(f, "{at}: {transfer} has no other side: ")?;
                f.write_str("the model ends here, or the neighbouring stage is on the same rank")
            }
            Fault::Repeated { op, first, again } => {
                write!(f, "{again}: {op} runs a second time; it is already at {first}")
            }
            Fault::Missing { transfer, rank, action, at } => {
                write!(f, "{at}: {action} calls for {transfer} on rank {rank}, which is missing")
            }
            Fault::NotGathered { at, action } => {
                write!(f, "{at}: {action} runs while stage {} is not unsharded", action.stage)
            }
            Fault::Gathered { at, op: Op::Unshard(stage) } => {
                write!(f, "{at}: {stage}UNSHARD, but stage {stage} is already unsharded")
            }
            Fault::Gathered { at, op } => write!(f, "{at}: {op}, but the stage is not unsharded"),
            Fault::EarlyReduce { at, stage, later, found_at } => write!(
                f,
                "{at}: {stage}REDUCE_GRAD comes before {later}, which contributes at {found_at}"
            ),
            Fault::Crossed { at, send, paired_at, paired } => write!(
                f,
                "{at}: {send} is paired with {paired} at {paired_at}, since transfers between two ranks pair in order"
            ),
            Fault::Deadlock(circle) => circle.fmt(f),
        }
    }
}

impl Program {
    /// Proves the program complete and free of deadlock under `transport`.
    ///
    /// # Errors
    /// All completeness faults; or, when there is none, the circle of ranks that wait for one another, or the first
    /// crossed pair.
    pub fn check(&self, transport: Transport) -> Result<(), Vec<Fault>> {
        let slots: Vec<Vec<u32>> = self
            .ranks
            .iter()
            .map(|row| {
                let computes = |(_, op): &(u32, &Op)| matches!(op, Op::Compute(_));
                (0u32..).zip(row).filter(computes).map(|(at, _)| at).collect()
            })
            .collect();
        let moved = |at: Position| Position {
            slot: slots
                .get(at.rank as usize)
                .and_then(|row| row.get(at.slot as usize))
                .copied()
                .unwrap_or(at.slot),
            ..at
        };
        let computed = self.table().completeness().into_iter();
        let mut faults: Vec<Fault> = computed.map(|p| Fault::Compute(p.moved(&moved))).collect();
        if faults.is_empty() {
            faults.extend(self.transfer_faults());
            faults.extend(self.parameter_faults());
        }
        if faults.is_empty() && self.has_transfers() {
            faults.extend(Play::of(self, transport).run().err().map(Fault::Deadlock));
        }
        if faults.is_empty() {
            faults.extend(match self.table().check() {
                Err(problems) => {
                    problems.0.into_iter().map(|p| Fault::Compute(p.moved(&moved))).collect()
                }
                // Buffered messages are told apart by tags.
                Ok(()) if transport == Transport::Buffered => Vec::new(),
                Ok(()) => self.crossed(),
            });
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Whether anything is sent or received.
    pub fn has_transfers(&self) -> bool {
        self.ranks.iter().flatten().any(|op| !op.transfers().is_empty())
    }

    /// Every operation with where it stands.
    pub fn positions(&self) -> impl Iterator<Item = (Position, &Op)> {
        (0u32..).zip(&self.ranks).flat_map(|(rank, row)| {
            (0u32..).zip(row).map(move |(slot, op)| (Position { rank, slot }, op))
        })
    }

    fn transfer_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !self.has_transfers() {
            return faults;
        }
        let mut seen: HashMap<Transfer, Position> = HashMap::new();
        let transfers =
            self.positions().flat_map(|(at, op)| op.transfers().iter().map(move |t| (at, *t)));
        for (at, transfer) in transfers {
            let home = self.placement.home(transfer.stage, transfer.mb);
            if transfer.stage >= self.stages || transfer.mb >= self.microbatches {
                let (stages, microbatches) = (self.stages, self.microbatches);
                let op = transfer.to_string();
                faults.push(Fault::OutOfRange { at, op, stages, microbatches });
            } else if home != Some(at.rank) {
                faults.push(Fault::NotAtHome { at, op: transfer.to_string(), home });
            } else if self.peer(transfer).is_none_or(|peer| peer == at.rank) {
                faults.push(Fault::Needless { at, transfer });
            } else if let Some(first) = seen.insert(transfer, at) {
                seen.insert(transfer, first);
                faults.push(Fault::Repeated { op: transfer.to_string(), first, again: at });
            }
        }
        for (at, action) in self
            .positions()
            .flat_map(|(at, op)| op.actions().iter().map(move |action| (at, *action)))
        {
            let sends = Transfer::send_after(action, self.stages);
            let receives = Transfer::recv_before(action, self.stages);
            for transfer in sends.into_iter().chain(receives) {
                let crosses = self.peer(transfer).is_some_and(|peer| peer != at.rank);
                if crosses && !seen.contains_key(&transfer) {
                    faults.push(Fault::Missing { transfer, rank: at.rank, action, at });
                }
            }
        }
        faults
    }

    fn parameter_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let gathers = self.ranks.iter().flatten().any(|op| matches!(op, Op::Unshard(_)));
        for (rank, row) in (0u32..).zip(&self.ranks) {
            let mut held: HashSet<u32> = HashSet::new();
            let mut reduced: BTreeMap<u32, Position> = BTreeMap::new();
            let here = self.placement.stages_on(rank);
            for (slot, op) in (0u32..).zip(row) {
                let at = Position { rank, slot };
                match op {
                    Op::Unshard(stage) | Op::Reshard(stage) | Op::ReduceGrad(stage)
                        if !here.contains(stage) =>
                    {
                        let home = self.placement.home(*stage, 0);
                        faults.push(Fault::NotAtHome { at, op: op.to_string(), home });
                    }
                    Op::Unshard(stage) if held.insert(*stage) => {}
                    Op::Reshard(stage) if held.remove(stage) => {}
                    Op::Unshard(_) | Op::Reshard(_) => {
                        faults.push(Fault::Gathered { at, op: op.clone() });
                    }
                    Op::ReduceGrad(stage) => {
                        if let Some(first) = reduced.insert(*stage, at) {
                            faults.push(Fault::Repeated { op: op.to_string(), first, again: at });
                        }
                    }
                    _ => {}
                }
                for action in op.actions() {
                    if gathers && !held.contains(&action.stage) {
                        faults.push(Fault::NotGathered { at, action: *action });
                    }
                    let contributes = matches!(action.kind, Kind::B | Kind::W);
                    match reduced.get(&action.stage) {
                        Some(reduce) if contributes => faults.push(Fault::EarlyReduce {
                            at: *reduce,
                            stage: action.stage,
                            later: *action,
                            found_at: at,
                        }),
                        _ => {}
                    }
                }
            }
        }
        faults
    }

    /// The first transfers of each pair of ranks that are sent in one order and received in another.
    fn crossed(&self) -> Vec<Fault> {
        let mut sends: BTreeMap<(u32, u32), Vec<(Position, Transfer)>> = BTreeMap::new();
        let mut receives = sends.clone();
        for (at, op) in self.positions() {
            for transfer in op.transfers() {
                let Some(peer) = self.peer(*transfer) else { continue };
                if transfer.leg.is_send() {
                    sends.entry((at.rank, peer)).or_default().push((at, *transfer));
                } else {
                    receives.entry((peer, at.rank)).or_default().push((at, *transfer));
                }
            }
        }
        let crossed = |(ranks, sent): (&(u32, u32), &Vec<(Position, Transfer)>)| {
            let received = receives.get(ranks)?;
            let pair = sent.iter().zip(received);
            let wrong = |((_, send), (_, recv)): &(&(_, Transfer), &(_, Transfer))| {
                send.counterpart() != Some(*recv)
            };
            let ((at, send), (paired_at, paired)) = pair.clone().find(wrong)?;
            Some(Fault::Crossed { at: *at, send: *send, paired_at: *paired_at, paired: *paired })
        };
        sends.iter().filter_map(crossed).collect()
    }
}
