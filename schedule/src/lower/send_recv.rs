//! Send and receive: every tensor that crosses ranks gets its two transfers, in one order that all ranks agree on.
//!
//! Ranks take turns, upwards and again from the first. In its turn a rank emits the action at its head if that action's
//! input is there: received, or produced on the same rank. Then a send of what it produced goes to the end of its own row
//! and the matching receive to the end of the receiver's row. Since both sides of a transfer are written at one moment, any
//! two ranks see their transfers in the same order, and the rows cannot deadlock even where every send waits for its
//! receive. Receives stand early; [`super::defer_recv`] moves them to where they are needed. An idle cell uses up a turn.

use std::collections::HashSet;

use super::{Op, Program, Transfer};
use crate::action::{Action, Kind};

/// The head of a row that can never run: its input is produced by nobody, or only after it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} never gets the input of {op}")]
pub struct NeverReady {
    /// The rank.
    pub rank: u32,
    /// The operation at its head.
    pub op: Op,
}

/// The program with transfers; it must have none yet.
///
/// # Errors
/// The first rank that waits for ever.
pub fn send_recv(program: &Program) -> Result<Program, NeverReady> {
    let mut heads: Vec<_> = program.ranks.iter().map(|row| row.iter().peekable()).collect();
    let mut rows: Vec<Vec<Op>> = vec![Vec::new(); program.ranks.len()];
    let mut done = Done::new(program);
    while let Some(first) = heads.iter_mut().position(|head| head.peek().is_some()) {
        let mut progress = false;
        for (rank, head) in heads.iter_mut().enumerate() {
            let Some(op) = head.next_if(|op| done.is_ready(rank, op)) else { continue };
            progress = true;
            if *op == Op::Idle {
                continue;
            }
            rows[rank].push(op.clone());
            for action in op.actions() {
                done.computed.insert((rank, *action));
                let Some((send, receiver)) = program.crossing(*action) else { continue };
                let Some(recv) = send.counterpart() else { continue };
                rows[rank].push(Op::Transfer(send));
                rows[receiver as usize].push(Op::Transfer(recv));
                done.received.insert((receiver as usize, recv));
            }
        }
        if !progress {
            let op = heads[first].peek().map_or(Op::Idle, |op| (*op).clone());
            return Err(NeverReady { rank: u32::try_from(first).unwrap_or(u32::MAX), op });
        }
    }
    Ok(Program { ranks: rows, ..program.clone() })
}

/// What each rank has, for deciding whether an operation may run.
pub(super) struct Done {
    pub(super) computed: HashSet<(usize, Action)>,
    pub(super) received: HashSet<(usize, Transfer)>,
    stages: u32,
}

impl Done {
    pub(super) fn new(program: &Program) -> Done {
        Done { computed: HashSet::new(), received: HashSet::new(), stages: program.stages }
    }

    /// Whether the inputs from other stages of all actions of `op` are on `rank`. What a backward and a weight gradient
    /// keep from earlier on the same rank is not asked for: the row's own order brings it.
    pub(super) fn is_ready(&self, rank: usize, op: &Op) -> bool {
        op.actions().iter().all(|action| {
            let Some(recv) = Transfer::recv_before(*action, self.stages) else { return true };
            let Some(stage) = recv.peer_stage() else { return true };
            let here = |kind| self.computed.contains(&(rank, Action { stage, kind, ..*action }));
            let local = match action.kind {
                Kind::F => here(Kind::F),
                _ => here(Kind::B) || here(Kind::I),
            };
            local || self.received.contains(&(rank, recv))
        })
    }
}
