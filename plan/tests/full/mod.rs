//! What happens on every device of a mesh, found by playing it: no classes, no collapsed axes, no work lists.
//!
//! The devices issue their communication in order, all streams serialised. Who meets whom is fixed by position. This
//! shares no code with the verifier, and is as slow as it looks.

#![allow(unreachable_pub)] // a private module of the tests that include it

use piper_plan::*;
use std::collections::BTreeMap;

/// What becomes of a plan's communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is done in the end.
    Ends,
    /// Ends that should meet do not fit, or one of them is lacking.
    Mismatch,
    /// All fit, and some device waits for ever.
    Hangs,
}

/// What one device brings to a meeting: kind (0 send, 1 receive, more for collectives), elements, type, tag.
type Offer = (u8, u64, DType, Option<u32>);

/// Communicator and who is in it: sender and receiver, or all members in order of device.
type Place = (u32, bool, Vec<usize>);

/// One thing a device issues: the meetings that have to take place before it goes on, and what it brings to each.
type Step = Vec<(Place, Offer)>;

fn steps(plan: &Plan, device: usize) -> Vec<Step> {
    let mesh = plan.mesh();
    let program = &plan.programs[plan.device_program[device].index()];
    let offer = |kind: u8, buffer: BufferId, tag: Option<u32>| {
        let buffer = program.buffer(buffer);
        (kind, buffer.elems, buffer.dtype, tag)
    };
    let send = |p: &P2p| {
        let peer = mesh.replaced(device, &p.peer.set);
        ((p.comm.0, true, vec![device, peer]), offer(0, p.buf, p.tag))
    };
    let recv = |p: &P2p| {
        let peer = mesh.replaced(device, &p.peer.set);
        ((p.comm.0, true, vec![peer, device]), offer(1, p.buf, p.tag))
    };
    let all = |kind: u8, src: BufferId, comm: CommId| {
        let mut members = mesh.group(device, &plan.comms[comm.index()]);
        members.sort_unstable();
        vec![((comm.0, false, members), offer(kind, src, None))]
    };
    let step = |instr: &Instr| match &instr.kind {
        Kind::Send(p) => Some(vec![send(p)]),
        Kind::Recv(p) => Some(vec![recv(p)]),
        Kind::Group(all) => Some(
            all.iter()
                .map(|t| match t {
                    Transfer::Send(p) => send(p),
                    Transfer::Recv(p) => recv(p),
                })
                .collect(),
        ),
        Kind::AllReduce { src, comm, .. } => Some(all(2, *src, *comm)),
        Kind::ReduceScatter { src, comm, .. } => Some(all(3, *src, *comm)),
        Kind::AllGather { src, comm, .. } => Some(all(4, *src, *comm)),
        Kind::AllToAll { src, comm, src_runs, dst_runs, .. } => {
            // How it is divided has to agree as well.
            let mut step = all(5, *src, *comm);
            step[0].1.3 = Some((src_runs * 1000 + dst_runs) as u32);
            Some(step)
        }
        _ => None,
    };
    program.instrs.iter().filter_map(step).collect()
}

/// Plays a plan whose structure is valid.
pub fn play(plan: &Plan, sends_wait: bool) -> Verdict {
    let devices: Vec<Vec<Step>> = (0..plan.devices()).map(|d| steps(plan, d)).collect();
    // What each device ever brings to each place, in order.
    let mut offers: BTreeMap<(Place, usize), Vec<Offer>> = BTreeMap::new();
    for (device, steps) in devices.iter().enumerate() {
        for (place, offer) in steps.iter().flatten() {
            offers.entry((place.clone(), device)).or_default().push(*offer);
        }
    }
    for ((place, _), mine) in &offers {
        for &other in &place.2 {
            let Some(theirs) = offers.get(&(place.clone(), other)) else {
                return Verdict::Mismatch;
            };
            let fits = |a: &Offer, b: &Offer| {
                let kinds = if place.1 { a.0 <= 1 && b.0 <= 1 } else { a.0 == b.0 };
                kinds && (a.1, a.2, a.3) == (b.1, b.2, b.3)
            };
            if mine.len() != theirs.len() || !mine.iter().zip(theirs).all(|(a, b)| fits(a, b)) {
                return Verdict::Mismatch;
            }
        }
    }
    // Started meetings: how often each device has come to each place.
    let mut come: BTreeMap<(Place, usize), usize> = BTreeMap::new();
    let mut at = vec![0; devices.len()];
    let mut is_started = vec![false; devices.len()];
    let mut turn: Vec<Vec<usize>> = vec![Vec::new(); devices.len()];
    loop {
        let mut moved = false;
        for device in 0..devices.len() {
            let Some(step) = devices[device].get(at[device]) else { continue };
            if !is_started[device] {
                is_started[device] = true;
                moved = true;
                turn[device].clear();
                for (place, _) in step {
                    let count = come.entry((place.clone(), device)).or_default();
                    *count += 1;
                    turn[device].push(*count);
                }
            }
            let met = |place: &Place, turn: usize| {
                place.2.iter().all(|&d| come.get(&(place.clone(), d)).is_some_and(|c| *c >= turn))
            };
            let is_done = step
                .iter()
                .zip(&turn[device])
                .all(|((place, offer), turn)| (offer.0 == 0 && !sends_wait) || met(place, *turn));
            if is_done {
                at[device] += 1;
                is_started[device] = false;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let is_finished = devices.iter().zip(&at).all(|(steps, at)| steps.len() == *at);
    if is_finished { Verdict::Ends } else { Verdict::Hangs }
}
