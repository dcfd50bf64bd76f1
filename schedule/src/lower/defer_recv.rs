//! Deferred receives: a receive stands where its tensor is first used.
//!
//! Received early, a tensor takes memory for longer than it need. Moving receives alone would deadlock: two ranks
//! that each send first and receive later wait for one another where a send does not return before its receive. So the two
//! sides of a pair of ranks take opposite turns. On the lower rank a receive that is still put off is emitted before
//! the next send to the same peer; on the higher rank the send goes first. That suffices where receives are posted and
//! waited for later, as torch's runtime does; where every transfer of a rank waits for the one before
//! ([`super::Transport::Rendezvous`]) use the early receives, whose order both sides share.
//!
//! ```text
//! rank 1: 1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1   ->   1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1
//! rank 0: 0RECV_B0 0F0 0SEND_F0 0B0                ->   0F0 0RECV_B0 0SEND_F0 0B0
//! ```

use super::{Op, Program, Transfer};

/// The program with every receive moved back to its first use. It has no batches.
pub fn defer_recv(program: &Program) -> Program {
    let rows = program.ranks.iter().zip(0u32..).map(|(row, rank)| deferred(program, row, rank));
    Program { ranks: rows.collect(), ..program.clone() }
}

fn deferred(program: &Program, row: &[Op], rank: u32) -> Vec<Op> {
    let mut out = Vec::with_capacity(row.len());
    let mut put_off: Vec<Transfer> = Vec::new();
    for op in row {
        match op {
            Op::Transfer(transfer) if !transfer.leg.is_send() => {
                put_off.push(*transfer);
                continue;
            }
            Op::Transfer(send) => {
                let peer = program.peer(*send);
                if peer.is_some_and(|peer| rank < peer) {
                    emit(&mut put_off, &mut out, |recv| program.peer(recv) == peer);
                }
            }
            _ => {
                for action in op.actions() {
                    let needed = Transfer::recv_before(*action, program.stages);
                    emit(&mut put_off, &mut out, |recv| Some(recv) == needed);
                }
            }
        }
        out.push(op.clone());
    }
    out.extend(put_off.into_iter().map(Op::Transfer));
    out
}

/// Moves the receives that `wanted` selects from `put_off` to the end of `out`, in the order in which they were met.
fn emit(put_off: &mut Vec<Transfer>, out: &mut Vec<Op>, wanted: impl Fn(Transfer) -> bool) {
    put_off.retain(|recv| {
        let wanted = wanted(*recv);
        if wanted {
            out.push(Op::Transfer(*recv));
        }
        !wanted
    });
}
