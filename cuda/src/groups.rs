//! The NCCL communicators that a plan needs.
//!
//! A collective runs on a communicator of exactly its group, whose ranks are the members in order. A channel of transfers
//! between pairs runs on one communicator for each set of devices that it connects, directly or through others: the ranks of
//! a pipeline, say, once for each replica of it. Both kinds are kept apart, as the plan's pairing by position is.
//!
//! All of it follows from the plan, so every process finds the same list in the same order.

use piper_plan::{CommId, Kind, P2p, Plan};
use rustc_hash::FxHashMap;

/// What a communicator carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Collectives.
    Collective,
    /// Transfers between pairs.
    Pairs,
}

/// One communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) comm: CommId,
    pub(crate) what: Use,
    /// Devices by rank.
    pub(crate) members: Vec<usize>,
}

/// All of a plan's communicators.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) all: Vec<Group>,
    /// Where a device's communicator stands in `all`, and its rank there.
    of: FxHashMap<(usize, CommId, Use), (usize, usize)>,
}

impl Groups {
    /// What a verified plan needs. Groups of one device need none for collectives.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut groups = Self::default();
        let mesh = plan.mesh();
        let mut pairs: FxHashMap<CommId, Vec<usize>> = FxHashMap::default();
        let mut collectives = Vec::new();
        for device in 0..plan.devices() {
            let program = &plan.programs[plan.device_program[device].index()];
            for instr in &program.instrs {
                let mut connect = |p: &P2p| {
                    let peer = mesh.replaced(device, &p.peer.set);
                    let parents =
                        pairs.entry(p.comm).or_insert_with(|| vec![usize::MAX; plan.devices()]);
                    union(parents, device, peer);
                };
                match &instr.kind {
                    Kind::Send(p) | Kind::Recv(p) => connect(p),
                    Kind::Group(transfers) => transfers.iter().for_each(|t| connect(t.p2p())),
                    Kind::AllReduce { comm, .. }
                    | Kind::ReduceScatter { comm, .. }
                    | Kind::AllGather { comm, .. }
                    | Kind::AllToAll { comm, .. }
                        if plan.comms[comm.index()].members.len() > 1 =>
                    {
                        collectives.push((*comm, device));
                    }
                    _ => {}
                }
            }
        }
        collectives.sort_unstable();
        collectives.dedup();
        for (comm, device) in collectives {
            if !groups.of.contains_key(&(device, comm, Use::Collective)) {
                let members = mesh.group(device, &plan.comms[comm.index()]);
                groups.add(Group { comm, what: Use::Collective, members });
            }
        }
        let mut channels: Vec<_> = pairs.into_iter().collect();
        channels.sort_unstable_by_key(|(comm, _)| *comm);
        for (comm, mut parents) in channels {
            let mut sets: Vec<Vec<usize>> = vec![Vec::new(); plan.devices()];
            for device in 0..plan.devices() {
                if parents[device] != usize::MAX {
                    let root = find(&mut parents, device);
                    sets[root].push(device);
                }
            }
            for members in sets.into_iter().filter(|members| !members.is_empty()) {
                groups.add(Group { comm, what: Use::Pairs, members });
            }
        }
        groups
    }

    fn add(&mut self, group: Group) {
        for (rank, device) in group.members.iter().enumerate() {
            self.of.insert((*device, group.comm, group.what), (self.all.len(), rank));
        }
        self.all.push(group);
    }

    /// The communicator of a device, as its place in the list and the device's rank.
    pub(crate) fn find(&self, device: usize, comm: CommId, what: Use) -> Option<(usize, usize)> {
        self.of.get(&(device, comm, what)).copied()
    }
}

fn find(parents: &mut [usize], mut device: usize) -> usize {
    while parents[device] != device {
        parents[device] = parents[parents[device]];
        device = parents[device];
    }
    device
}

fn union(parents: &mut [usize], one: usize, other: usize) {
    for device in [one, other] {
        if parents[device] == usize::MAX {
            parents[device] = device;
        }
    }
    let (one, other) = (find(parents, one), find(parents, other));
    parents[one.max(other)] = one.min(other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use piper_plan::{
        Axis, AxisId, BufferId, Comm, Instr, Peer, Program, ProgramId, SourceId, Transfer,
    };

    fn on(axis: u32, size: u32) -> Vec<Vec<(AxisId, u32)>> {
        (0..size).map(|c| vec![(AxisId(axis), c)]).collect()
    }

    /// `dp` = 2, `pp` = 3: the pipeline passes forward over channel 0, gradients are added over `dp`, `pp` is for nobody.
    fn plan() -> Plan {
        let axis = |name: &str, size| Axis { name: name.to_owned(), size };
        let comm = |members| Comm { name: "c".to_owned(), members };
        let p2p = |pp| P2p {
            buf: BufferId(0),
            peer: Peer { set: vec![(AxisId(1), pp)] },
            comm: CommId(0),
            tag: None,
        };
        let add = Kind::AllReduce { src: BufferId(0), dst: BufferId(0), comm: CommId(1) };
        let instr = |kind| Instr::new(0, SourceId(0), kind);
        let program = |at: u32, kinds: Vec<Kind>| Program {
            coord: vec![(AxisId(1), at)],
            instrs: kinds.into_iter().map(instr).collect(),
            ..Program::default()
        };
        Plan {
            mesh: vec![axis("dp", 2), axis("pp", 3)],
            programs: vec![
                program(0, vec![Kind::Send(p2p(1)), add.clone()]),
                program(
                    1,
                    vec![
                        Kind::Group(vec![Transfer::Recv(p2p(0)), Transfer::Send(p2p(2))]),
                        add.clone(),
                    ],
                ),
                program(2, vec![Kind::Recv(p2p(1)), add]),
            ],
            device_program: [0, 1, 2, 0, 1, 2].map(ProgramId).to_vec(),
            comms: vec![comm(vec![]), comm(on(0, 2)), comm(on(1, 3))],
            ..Plan::default()
        }
    }

    #[test]
    fn channels_connect_what_they_pass_between_and_collectives_their_group() {
        let groups = Groups::of(&plan());
        let of = |comm, what, members: &[usize]| Group {
            comm: CommId(comm),
            what,
            members: members.to_vec(),
        };
        let expected = [
            of(1, Use::Collective, &[0, 3]),
            of(1, Use::Collective, &[1, 4]),
            of(1, Use::Collective, &[2, 5]),
            of(0, Use::Pairs, &[0, 1, 2]),
            of(0, Use::Pairs, &[3, 4, 5]),
        ];
        assert_eq!(groups.all, expected);
        assert_eq!(groups.find(5, CommId(0), Use::Pairs), Some((4, 2)));
        assert_eq!(groups.find(4, CommId(1), Use::Collective), Some((1, 1)));
        assert_eq!(groups.find(4, CommId(2), Use::Collective), None);
    }

    #[test]
    fn groups_of_one_device_need_no_communicator() {
        let mut plan = plan();
        plan.comms[1].members.truncate(1);
        assert!(Groups::of(&plan).all.iter().all(|group| group.what == Use::Pairs));
    }
}
