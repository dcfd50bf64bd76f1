//! Step count: how many unit steps a lowered program takes when everything costs one.
//!
//! In each step every rank, upwards, runs its head operation if that is ready, and what it did is visible at once; a rank
//! that could not gets one more try at the end of the step. A send needs its computation, a receive the executed send.
//! This is how torch sizes a schedule, and only serves to compare with it: transports and collectives cost as much as
//! computation here.

use std::collections::HashSet;

use super::send_recv::{Done, NeverReady};
use super::{Leg, Op, Program, Transfer};
use crate::action::{Action, Kind};

/// Steps until every rank has run its row.
///
/// # Errors
/// The first rank that waits for ever.
pub fn step_count(program: &Program) -> Result<u64, NeverReady> {
    let mut at = vec![0; program.ranks.len()];
    let mut done = Done::new(program);
    let mut sent: HashSet<(u32, Transfer)> = HashSet::new();
    let mut steps = 0;
    while let Some(first) = (0..at.len()).find(|rank| at[*rank] < program.ranks[*rank].len()) {
        let mut waiting: Vec<usize> = Vec::new();
        let mut progress = false;
        let mut run = |rank: usize, at: &mut Vec<usize>| {
            let Some(op) = program.ranks[rank].get(at[rank]) else { return true };
            if !is_ready(&done, &sent, rank, op) {
                return false;
            }
            done.computed.extend(op.actions().iter().map(|action| (rank, *action)));
            for transfer in op.transfers() {
                if transfer.leg.is_send() {
                    sent.insert((program.peer(*transfer).unwrap_or(u32::MAX), *transfer));
                } else {
                    done.received.insert((rank, *transfer));
                }
            }
            at[rank] += 1;
            progress = true;
            true
        };
        for rank in 0..at.len() {
            if !run(rank, &mut at) {
                waiting.push(rank);
            }
        }
        waiting.into_iter().for_each(|rank| {
            run(rank, &mut at);
        });
        if !progress {
            let op = program.ranks[first][at[first]].clone();
            return Err(NeverReady { rank: u32::try_from(first).unwrap_or(u32::MAX), op });
        }
        steps += 1;
    }
    Ok(steps)
}

fn is_ready(done: &Done, sent: &HashSet<(u32, Transfer)>, rank: usize, op: &Op) -> bool {
    let transferable = |transfer: &Transfer| {
        let produced = |kind| {
            let Transfer { stage, mb, .. } = *transfer;
            done.computed.contains(&(rank, Action { stage, kind, mb }))
        };
        match transfer.leg {
            Leg::SendF => produced(Kind::F),
            Leg::SendB => produced(Kind::B) || produced(Kind::I),
            Leg::RecvF | Leg::RecvB => transfer.counterpart().is_some_and(|send| {
                u32::try_from(rank).is_ok_and(|rank| sent.contains(&(rank, send)))
            }),
        }
    };
    done.is_ready(rank, op) && op.transfers().iter().all(transferable)
}
