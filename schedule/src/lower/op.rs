//! The operations of a lowered schedule.
//!
//! A compute-only table says what is computed and in which order. Lowered, a rank's row also says when parameters are
//! gathered and dropped, when gradients are reduced, and which tensors cross to another rank.

use std::fmt;

use crate::action::{Action, Kind, Slot};

/// Which half of a transfer, of which tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leg {
    /// The activation leaves the stage that produced it.
    SendF,
    /// The activation reaches the stage that consumes it.
    RecvF,
    /// The gradient of a stage's input leaves it.
    SendB,
    /// The gradient of a stage's output reaches it.
    RecvB,
}

impl Leg {
    /// All legs, with the words by which tables name them.
    pub const NAMES: [(Leg, &str); 4] = [
        (Leg::SendF, "SEND_F"),
        (Leg::RecvF, "RECV_F"),
        (Leg::SendB, "SEND_B"),
        (Leg::RecvB, "RECV_B"),
    ];

    /// The word by which tables name the leg.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(leg, _)| *leg == self).map_or("", |(_, name)| name)
    }

    /// Whether the tensor leaves this rank.
    pub fn is_send(self) -> bool {
        matches!(self, Leg::SendF | Leg::SendB)
    }
}

/// One side of a transfer: a send carries the stage that produced the tensor, a receive the stage that consumes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Transfer {
    /// Stage on this side.
    pub stage: u32,
    /// Direction and tensor.
    pub leg: Leg,
    /// Microbatch.
    pub mb: u32,
}

impl Transfer {
    /// `stage` `leg` `mb`, in the order in which they are written.
    pub fn new(stage: u32, leg: Leg, mb: u32) -> Transfer {
        Transfer { stage, leg, mb }
    }

    /// The stage on the other side, or none where the model ends there.
    pub fn peer_stage(&self) -> Option<u32> {
        match self.leg {
            Leg::SendF | Leg::RecvB => self.stage.checked_add(1),
            Leg::RecvF | Leg::SendB => self.stage.checked_sub(1),
        }
    }

    /// The other side of the same transfer.
    pub fn counterpart(&self) -> Option<Transfer> {
        let leg = match self.leg {
            Leg::SendF => Leg::RecvF,
            Leg::RecvF => Leg::SendF,
            Leg::SendB => Leg::RecvB,
            Leg::RecvB => Leg::SendB,
        };
        Some(Transfer { stage: self.peer_stage()?, leg, mb: self.mb })
    }

    /// The send of what `action` produces for another stage; `stages` is their number.
    pub fn send_after(action: Action, stages: u32) -> Option<Transfer> {
        let Action { stage, kind, mb } = action;
        match kind {
            Kind::F if stage + 1 < stages => Some(Transfer::new(stage, Leg::SendF, mb)),
            Kind::B | Kind::I if stage > 0 => Some(Transfer::new(stage, Leg::SendB, mb)),
            _ => None,
        }
    }

    /// The receive of what `action` needs from another stage; `stages` is their number.
    pub fn recv_before(action: Action, stages: u32) -> Option<Transfer> {
        let Action { stage, kind, mb } = action;
        match kind {
            Kind::F if stage > 0 => Some(Transfer::new(stage, Leg::RecvF, mb)),
            Kind::B | Kind::I if stage + 1 < stages => Some(Transfer::new(stage, Leg::RecvB, mb)),
            _ => None,
        }
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.stage, self.leg.name(), self.mb)
    }
}

/// One entry of a rank's lowered row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An idle cell of a unit-time table. Most passes drop it; [`super::send_recv`] counts it as a turn.
    Idle,
    /// Computation.
    Compute(Slot),
    /// Gathers the parameters of a stage.
    Unshard(u32),
    /// Drops the gathered parameters of a stage.
    Reshard(u32),
    /// Reduces the gradients of a stage over its data-parallel copies.
    ReduceGrad(u32),
    /// One side of a transfer.
    Transfer(Transfer),
    /// Transfers posted together and waited for together.
    Batch(Vec<Transfer>),
}

impl Op {
    /// The actions computed here; none where nothing is.
    pub fn actions(&self) -> &[Action] {
        match self {
            Op::Compute(slot) => slot.actions(),
            _ => &[],
        }
    }

    /// The transfers started here; none where nothing is sent or received.
    pub fn transfers(&self) -> &[Transfer] {
        match self {
            Op::Transfer(transfer) => std::slice::from_ref(transfer),
            Op::Batch(transfers) => transfers,
            _ => &[],
        }
    }
}

impl From<Slot> for Op {
    fn from(slot: Slot) -> Op {
        Op::Compute(slot)
    }
}

impl fmt::Display for Op {
    /// torch's spelling, which the tables of other projects use; a batch is written `{a;b}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn joined<T: fmt::Display>(parts: &[T]) -> String {
            parts.iter().map(T::to_string).collect::<Vec<_>>().join(";")
        }
        match self {
            Op::Idle => f.write_str("."),
            Op::Compute(Slot::One(action)) => action.fmt(f),
            Op::Compute(Slot::Overlap(actions)) => {
                let mut forward_first = actions.clone();
                forward_first.sort_by_key(|action| action.kind != Kind::F);
                write!(f, "({})OVERLAP_F_B", joined(&forward_first))
            }
            Op::Unshard(stage) => write!(f, "{stage}UNSHARD"),
            Op::Reshard(stage) => write!(f, "{stage}RESHARD"),
            Op::ReduceGrad(stage) => write!(f, "{stage}REDUCE_GRAD"),
            Op::Transfer(transfer) => transfer.fmt(f),
            Op::Batch(transfers) => write!(f, "{{{}}}", joined(transfers)),
        }
    }
}
