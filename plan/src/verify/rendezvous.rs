//! Deadlock freedom under NCCL's rules.
//!
//! Each device issues its communication in one order, all streams serialised, and a vertex (a send, a receive, a group, a
//! collective) ends only when all its transfers have met their partners; the next one starts after that. A transfer
//! happens once both sides have started it. Partners are fixed by position, so nothing is ever chosen and one execution
//! decides for all. It is run here with a work list, touching each end twice.
//!
//! Where sends are buffered, as in MPI, a send ends when it is started, and only receives and collectives wait. That is
//! as confluent, and lets more programs end; a plan that needs it is told so.

use super::channels::{End, Network, Role};
use super::{Fault, FaultKind, Sends};
use crate::schema::Plan;

/// A rendezvous point: ends that have to be started at the same time.
#[derive(Clone, Copy, Default)]
struct Meeting {
    expected: u32,
    arrived: u32,
}

pub(super) fn check(plan: &Plan, network: &Network, sends: Sends) -> Option<Fault> {
    let mut run = Run::new(network, sends);
    run.execute();
    let cycle = run.cycle()?;
    let mut fault = run.report(plan, &cycle);
    if sends == Sends::Rendezvous {
        let mut other = Run::new(network, Sends::Buffered);
        other.execute();
        if other.cycle().is_none() {
            fault.message += "; only buffered sends would let them go on";
        }
    }
    Some(fault)
}

struct Run<'a> {
    network: &'a Network,
    sends: Sends,
    meetings: Vec<Meeting>,
    /// Meeting of each end.
    meeting_of: Vec<u32>,
    /// Ends by meeting, and where each meeting's begin.
    attendees: Vec<u32>,
    starts: Vec<u32>,
    /// Per rank: the vertex it is in, and how many of its ends have not met yet.
    at: Vec<u32>,
    open: Vec<u32>,
}

impl<'a> Run<'a> {
    fn new(network: &'a Network, sends: Sends) -> Self {
        let ranks = network.devices.len();
        let mut run = Run {
            network,
            sends,
            meetings: Vec::new(),
            meeting_of: vec![0; network.ends.len()],
            attendees: Vec::with_capacity(network.ends.len()),
            starts: Vec::new(),
            at: vec![0; ranks],
            open: vec![0; ranks],
        };
        for channel in &network.channels {
            let count = channel.sides.first().map_or(0, |s| s.1.len());
            for position in 0..count {
                run.starts.push(run.attendees.len() as u32);
                for (_, ends) in &channel.sides {
                    run.meeting_of[ends[position] as usize] = run.meetings.len() as u32;
                    run.attendees.push(ends[position]);
                }
                run.meetings.push(Meeting { expected: channel.sides.len() as u32, arrived: 0 });
            }
        }
        run.starts.push(run.attendees.len() as u32);
        run
    }

    /// Whether a device waits for its end to meet the others.
    fn blocks(&self, end: &End) -> bool {
        self.sends == Sends::Rendezvous || end.role != Role::Send
    }

    fn attendees(&self, meeting: u32) -> &[u32] {
        let meeting = meeting as usize;
        &self.attendees[self.starts[meeting] as usize..self.starts[meeting + 1] as usize]
    }

    fn execute(&mut self) {
        let mut ready: Vec<u32> = (0..self.network.devices.len() as u32).collect();
        while let Some(rank) = ready.pop() {
            let vertex = self.at[rank as usize] as usize;
            let Some(ends) = self.network.vertices[rank as usize].get(vertex).cloned() else {
                continue;
            };
            let blocks = |end: &u32| self.blocks(&self.network.ends[*end as usize]);
            let open = ends.clone().filter(blocks).count() as u32;
            self.open[rank as usize] = open;
            if open == 0 {
                self.at[rank as usize] += 1;
                ready.push(rank);
            }
            for end in ends {
                let meeting = self.meeting_of[end as usize];
                let point = &mut self.meetings[meeting as usize];
                point.arrived += 1;
                if point.arrived < point.expected {
                    continue;
                }
                for at in self.starts[meeting as usize]..self.starts[meeting as usize + 1] {
                    let end = &self.network.ends[self.attendees[at as usize] as usize];
                    if !self.blocks(end) {
                        continue;
                    }
                    let other = end.rank;
                    self.open[other as usize] -= 1;
                    if self.open[other as usize] == 0 {
                        self.at[other as usize] += 1;
                        ready.push(other);
                    }
                }
            }
        }
    }

    /// An end at which `rank` is stuck, and the partner that has not come.
    fn blocked_on(&self, rank: u32) -> Option<(u32, u32)> {
        let ends =
            self.network.vertices[rank as usize].get(self.at[rank as usize] as usize)?.clone();
        ends.into_iter().filter(|e| self.blocks(&self.network.ends[*e as usize])).find_map(|end| {
            let mut others = self.attendees(self.meeting_of[end as usize]).iter();
            let missing = others.find(|&&o| {
                let other = self.network.ends[o as usize];
                other.vertex > self.at[other.rank as usize]
            })?;
            Some((end, *missing))
        })
    }

    /// Pairs (blocked end, missing partner) around a circle of waiting ranks; none if every rank has finished.
    fn cycle(&self) -> Option<Vec<(u32, u32)>> {
        let ranks = self.network.devices.len() as u32;
        let stuck = (0..ranks)
            .find(|&r| (self.at[r as usize] as usize) < self.network.vertices[r as usize].len())?;
        let mut seen = vec![usize::MAX; ranks as usize];
        let (mut path, mut rank) = (Vec::new(), stuck);
        while seen[rank as usize] == usize::MAX {
            seen[rank as usize] = path.len();
            let (end, missing) = self.blocked_on(rank)?;
            path.push((end, missing));
            rank = self.network.ends[missing as usize].rank;
        }
        Some(path.split_off(seen[rank as usize]))
    }

    fn report(&self, plan: &Plan, cycle: &[(u32, u32)]) -> Fault {
        let device = |end: u32| self.network.devices[self.network.ends[end as usize].rank as usize];
        let instr = |end: u32| self.network.ends[end as usize].instr as usize;
        let names: Vec<String> = cycle.iter().map(|c| plan.mesh().render(device(c.0))).collect();
        let message =
            format!("devices wait for each other: {} -> {}", names.join(" -> "), names[0]);
        cycle.iter().fold(Fault::new(FaultKind::Deadlock, message), |fault, &(end, missing)| {
            let role = format!("this {} waits", self.network.ends[end as usize].role.name());
            let partner = format!(
                "for this {}, issued after what blocks its device",
                self.network.ends[missing as usize].role.name()
            );
            fault.on(plan, device(end), instr(end), role).on(
                plan,
                device(missing),
                instr(missing),
                partner,
            )
        })
    }
}
