//! Communication with all relative coordinates resolved: who meets whom, on which channel, in which order.
//!
//! Replicas are not expanded. An axis along which all devices run the same program, along which no peer is ever named, and
//! which every communicator either ignores or takes whole, only multiplies identical slices: positions pair in one slice
//! exactly as in all of them. And because rendezvous without wildcards is confluent (either every execution finishes or
//! none does), the slices may as well run in lockstep, so one slice hangs exactly if the full mesh hangs. Such axes are
//! collapsed to coordinate 0, and the cost does not grow with replicas.

use super::classes::Class;
use crate::mesh::{Axis, AxisId, Comm, Coords, Mesh};
use crate::schema::{BufferId, Kind, P2p, Plan, Transfer};
use rustc_hash::FxHashMap;

/// What one participant of a channel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Send,
    Recv,
    AllReduce,
    ReduceScatter,
    AllGather,
    /// With the runs of a part on both sides, which all members have to agree in.
    AllToAll(u64, u64),
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Send => "send",
            Role::Recv => "receive",
            Role::AllReduce => "all_reduce",
            Role::ReduceScatter => "reduce_scatter",
            Role::AllGather => "all_gather",
            Role::AllToAll(..) => "all_to_all",
        }
    }
}

/// One transfer or collective as seen by one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Index into [`Network::devices`].
    pub(super) rank: u32,
    /// Position in the device's instructions.
    pub(super) instr: u32,
    /// Position among the rank's vertices (communicating instructions).
    pub(super) vertex: u32,
    pub(super) role: Role,
    /// The buffer whose size and type have to agree: what is sent or received, or the collective's source.
    pub(super) buffer: BufferId,
    pub(super) tag: Option<u32>,
}

/// Ends that meet by position, per participant in issue order.
pub(super) struct Channel {
    pub(super) comm: usize,
    /// For point-to-point sender and receiver, for collectives every member: rank and its ends.
    pub(super) sides: Vec<(u32, Vec<u32>)>,
    pub(super) is_p2p: bool,
}

/// Channel, peer and whether it is sent to.
type Direction<'a> = (usize, &'a [(AxisId, u32)], bool);

/// The whole mesh's communication, replicas collapsed.
pub(super) struct Network {
    /// The devices that stand for all, by rank.
    pub(super) devices: Vec<usize>,
    pub(super) channels: Vec<Channel>,
    pub(super) ends: Vec<End>,
    /// Per rank and vertex the range of its ends; vertices of a rank are consecutive.
    pub(super) vertices: Vec<Vec<std::ops::Range<u32>>>,
}

impl Network {
    pub(super) fn of<'a>(plan: &'a Plan, classes: &[Class]) -> Network {
        let mesh = plan.mesh();
        let collapsed = collapsible_axes(plan, classes);
        let origin: Coords = collapsed
            .iter()
            .enumerate()
            .filter(|(_, c)| **c)
            .map(|(at, _)| (AxisId(at as u32), 0))
            .collect();
        // Members of each communicator that differ only along collapsed axes are one.
        let is_origin = |m: &&Coords| m.iter().all(|(a, c)| !collapsed[a.index()] || *c == 0);
        let members: Vec<Vec<&Coords>> =
            plan.comms.iter().map(|comm| comm.members.iter().filter(is_origin).collect()).collect();
        let devices = representatives(&mesh, &plan.mesh, &collapsed);
        let rank_of: FxHashMap<usize, u32> =
            devices.iter().enumerate().map(|(rank, &d)| (d, rank as u32)).collect();
        let mut network = Network {
            channels: Vec::new(),
            ends: Vec::new(),
            vertices: vec![Vec::new(); devices.len()],
            devices,
        };
        let mut book = Book { ids: FxHashMap::default() };
        for rank in 0..network.devices.len() {
            let device = network.devices[rank];
            let program = &plan.programs[plan.device_program[device].index()];
            let represent = |d: usize| rank_of[&mesh.replaced(d, &origin)];
            // What a peer or communicator means is the same for every instruction of the device.
            let mut peers: FxHashMap<Direction, u32> = FxHashMap::default();
            let mut groups: FxHashMap<usize, (u32, usize)> = FxHashMap::default();
            for (i, instr) in program.instrs.iter().enumerate() {
                let first = network.ends.len() as u32;
                let vertex = network.vertices[rank].len() as u32;
                let end = |role, buffer, tag| End {
                    rank: rank as u32,
                    instr: i as u32,
                    vertex,
                    role,
                    buffer,
                    tag,
                };
                let mut p2p = |network: &mut Network, p: &'a P2p, sends: bool| {
                    let P2p { buf, peer, comm, tag } = p;
                    let channel = *peers
                        .entry((comm.index(), peer.set.as_slice(), sends))
                        .or_insert_with(|| {
                            let other = represent(mesh.replaced(device, &peer.set));
                            let (from, to) =
                                if sends { (rank as u32, other) } else { (other, rank as u32) };
                            book.p2p(&mut network.channels, comm.index(), from, to)
                        });
                    let role = if sends { Role::Send } else { Role::Recv };
                    network.push(channel, usize::from(!sends), end(role, *buf, *tag));
                };
                match &instr.kind {
                    Kind::Send(p) => p2p(&mut network, p, true),
                    Kind::Recv(p) => p2p(&mut network, p, false),
                    Kind::Group(transfers) => {
                        for transfer in transfers {
                            p2p(
                                &mut network,
                                transfer.p2p(),
                                matches!(transfer, Transfer::Send(_)),
                            );
                        }
                    }
                    Kind::AllReduce { src, comm, .. }
                    | Kind::ReduceScatter { src, comm, .. }
                    | Kind::AllGather { src, comm, .. }
                    | Kind::AllToAll { src, comm, .. } => {
                        let role = match &instr.kind {
                            Kind::AllReduce { .. } => Role::AllReduce,
                            Kind::ReduceScatter { .. } => Role::ReduceScatter,
                            Kind::AllToAll { src_runs, dst_runs, .. } => {
                                Role::AllToAll(*src_runs, *dst_runs)
                            }
                            _ => Role::AllGather,
                        };
                        let (channel, side) = *groups.entry(comm.index()).or_insert_with(|| {
                            let members = members[comm.index()].iter();
                            let mut ranks: Vec<u32> =
                                members.map(|m| represent(mesh.replaced(device, m))).collect();
                            ranks.sort_unstable();
                            let side = ranks.binary_search(&(rank as u32));
                            let id = book.collective(&mut network.channels, comm.index(), &ranks);
                            (id, side.expect("a device uses only its own groups"))
                        });
                        network.push(channel, side, end(role, *src, None));
                    }
                    _ => {}
                }
                let last = network.ends.len() as u32;
                if last > first {
                    network.vertices[rank].push(first..last);
                }
            }
        }
        network
    }

    fn push(&mut self, channel: u32, side: usize, end: End) {
        self.channels[channel as usize].sides[side].1.push(self.ends.len() as u32);
        self.ends.push(end);
    }
}

/// Channels by what identifies them: communicator, first participant, second (the first again for collectives).
struct Book {
    ids: FxHashMap<(usize, u32, u32), u32>,
}

impl Book {
    fn p2p(&mut self, channels: &mut Vec<Channel>, comm: usize, from: u32, to: u32) -> u32 {
        self.find(channels, comm, &[from, to], (comm, from, to), true)
    }

    fn collective(&mut self, channels: &mut Vec<Channel>, comm: usize, ranks: &[u32]) -> u32 {
        self.find(channels, comm, ranks, (comm, ranks[0], ranks[0]), false)
    }

    fn find(
        &mut self,
        channels: &mut Vec<Channel>,
        comm: usize,
        ranks: &[u32],
        key: (usize, u32, u32),
        is_p2p: bool,
    ) -> u32 {
        *self.ids.entry(key).or_insert_with(|| {
            let sides = ranks.iter().map(|&rank| (rank, Vec::new())).collect();
            channels.push(Channel { comm, sides, is_p2p });
            channels.len() as u32 - 1
        })
    }
}

/// Per axis whether it only multiplies identical slices: all devices along it run the same program, no peer is ever named along
/// it, and every communicator either ignores it or takes it whole. One slice then stands for all. The plan's tables must be valid.
pub fn replica_axes(plan: &Plan) -> Vec<bool> {
    collapsible_axes(plan, &super::classes::of(plan))
}

/// As [`replica_axes`], with the classes.
fn collapsible_axes(plan: &Plan, classes: &[Class]) -> Vec<bool> {
    let mesh = plan.mesh();
    let spans = |axis: usize, size: u32| classes.iter().all(|class| class.spans(axis, size));
    let mut collapsible: Vec<bool> =
        plan.mesh.iter().enumerate().map(|(axis, a)| spans(axis, a.size)).collect();
    for comm in &plan.comms {
        for (axis, ok) in collapsible.iter_mut().enumerate() {
            *ok = *ok && ignores_or_spans(&mesh, comm, AxisId(axis as u32), plan.mesh[axis].size);
        }
    }
    let mut keep =
        |p: &P2p| p.peer.set.iter().for_each(|(axis, _)| collapsible[axis.index()] = false);
    for instr in plan.programs.iter().flat_map(|p| &p.instrs) {
        match &instr.kind {
            Kind::Send(p) | Kind::Recv(p) => keep(p),
            Kind::Group(transfers) => transfers.iter().for_each(|t| keep(t.p2p())),
            _ => {}
        }
    }
    collapsible
}

/// Whether a communicator's member set is unchanged by any move along the axis.
fn ignores_or_spans(mesh: &Mesh, comm: &Comm, axis: AxisId, size: u32) -> bool {
    if comm.members.iter().all(|m| m.iter().all(|(a, _)| *a != axis)) {
        return true;
    }
    let mut others: FxHashMap<Coords, u32> = FxHashMap::default();
    for member in &comm.members {
        let mut rest: Coords = member.iter().copied().filter(|(a, _)| *a != axis).collect();
        rest.sort_unstable();
        *others.entry(rest).or_default() += 1;
    }
    debug_assert!(mesh.contains(&[(axis, size - 1)]));
    others.values().all(|&n| n == size) // members are distinct and all set the axis
}

/// The devices at the origin of every collapsed axis, in order.
fn representatives(mesh: &Mesh, axes: &[Axis], collapsed: &[bool]) -> Vec<usize> {
    let mut devices = vec![0];
    for (axis, gone) in axes.iter().zip(collapsed) {
        let along = if *gone { 1 } else { axis.size as usize };
        let size = axis.size as usize;
        devices = devices.iter().flat_map(|d| (0..along).map(move |c| d * size + c)).collect();
    }
    debug_assert!(devices.last().is_none_or(|d| *d < mesh.devices()));
    devices
}
