//! A plan as it is simulated: which devices stand for all, and who meets whom at which instruction.
//!
//! Axes that only multiply identical slices ([`replica_axes`]) are collapsed to coordinate 0: replicas start together, run
//! the same instructions and meet the same partners, so they stay in lockstep and one of them tells all of it. What they
//! share with one another, the port of a node, is counted by weight. Where devices share what is not theirs alone (cores of
//! a host, or a port whose devices do not line up with the axes) nothing is collapsed.

use piper_plan::verify::replica_axes;
use piper_plan::{AxisId, BufferId, CommId, Coords, Kind, P2p, Plan, ProgramId, Transfer};
use rustc_hash::FxHashMap;

use crate::collective::{Collective, duration};
use crate::machine::{Machine, Topology};

/// No meeting.
pub(crate) const NONE: u32 = u32::MAX;

/// A device that stands for `weight` devices.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    pub(crate) device: usize,
    pub(crate) program: ProgramId,
    pub(crate) replicas: usize,
    /// Per fabric the port it uses, among [`Network::ports`].
    pub(crate) ports: Vec<u32>,
    /// Per instruction its first end among [`Rank::ends`], or [`NONE`].
    pub(crate) first_end: Vec<u32>,
    /// Meetings, those of one instruction one after the other.
    pub(crate) ends: Vec<u32>,
}

/// Sides that have to be there at the same time, and what they then take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meeting {
    pub(crate) expected: u32,
    pub(crate) what: Work,
}

/// What a meeting takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Work {
    #[default]
    Nothing,
    /// From the sender's port to the receiver's: latency, and seconds of the ports' bandwidth.
    P2p { from: u32, fabric: u32, latency: f64, busy: f64, bytes: f64 },
    /// An entry of [`Network::durations`].
    Collective { duration: u32, bytes: f64 },
}

/// All meetings of a step.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub(crate) ranks: Vec<Rank>,
    pub(crate) meetings: Vec<Meeting>,
    /// Ranks and instructions by meeting; `starts` says where each meeting's begin.
    pub(crate) attendees: Vec<(u32, u32)>,
    pub(crate) starts: Vec<u32>,
    pub(crate) durations: Vec<crate::collective::Duration>,
    pub(crate) ports: usize,
}

impl Network {
    pub(crate) fn attendees(&self, meeting: u32) -> &[(u32, u32)] {
        let at = meeting as usize;
        &self.attendees[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    pub(crate) fn of(plan: &Plan, topology: &Topology<'_>, may_collapse: bool) -> Network {
        Expansion::new(plan, topology, may_collapse).run()
    }
}

/// Whether every port's devices are whole slices of the mesh: `shared_by` is a run of inner axes times a divisor of the next.
fn lines_up(plan: &Plan, shared_by: usize) -> bool {
    let mut inner = 1;
    for axis in plan.mesh.iter().rev() {
        let size = axis.size as usize;
        if inner >= shared_by {
            break;
        }
        let next = inner * size;
        if next >= shared_by {
            return shared_by.is_multiple_of(inner) && size.is_multiple_of(shared_by / inner);
        }
        inner = next;
    }
    inner >= shared_by || plan.devices() <= shared_by
}

struct Expansion<'a> {
    plan: &'a Plan,
    topology: &'a Topology<'a>,
    collapsed: Vec<bool>,
    network: Network,
    /// Per channel its meetings in order.
    channels: Vec<Vec<u32>>,
    ends: Vec<(u32, u32, u32)>,
}

/// Channel, peer and whether it is sent to.
type Direction<'a> = (usize, &'a [(AxisId, u32)], bool);

/// What is the same for all transfers of a direction.
#[derive(Clone, Copy)]
struct Route {
    channel: u32,
    from: u32,
    fabric: u32,
    latency: f64,
    bandwidth: f64,
}

/// What is the same for all collectives of a group.
struct Group {
    channel: u32,
    ranks: u32,
    dims: Vec<crate::machine::Dim>,
    next: usize,
    known: Vec<(Collective, u64, u32)>,
}

impl<'a> Expansion<'a> {
    fn new(plan: &'a Plan, topology: &'a Topology<'a>, may_collapse: bool) -> Self {
        let machine: &Machine = topology.machine;
        let may_collapse = may_collapse
            && machine.host.is_none()
            && machine.fabrics.iter().all(|f| lines_up(plan, f.shared_by as usize));
        let mut collapsed = replica_axes(plan);
        collapsed.iter_mut().for_each(|c| *c &= may_collapse);
        Expansion {
            plan,
            topology,
            collapsed,
            network: Network::default(),
            channels: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn run(mut self) -> Network {
        let (plan, mesh) = (self.plan, self.plan.mesh());
        let origin: Coords = (0..plan.mesh.len())
            .filter(|&axis| self.collapsed[axis])
            .map(|axis| (AxisId(axis as u32), 0))
            .collect();
        let replicas: usize =
            origin.iter().map(|(axis, _)| plan.mesh[axis.index()].size as usize).product();
        let devices: Vec<usize> =
            (0..mesh.devices()).filter(|&d| mesh.replaced(d, &origin) == d).collect();
        let rank_of: FxHashMap<usize, u32> = devices.iter().copied().zip(0..).collect();
        let represent = |device: usize| rank_of[&mesh.replaced(device, &origin)];
        self.ranks(&devices, replicas);
        let mut pairs: FxHashMap<(usize, u32, u32), u32> = FxHashMap::default();
        let mut leaders: FxHashMap<(usize, u32), u32> = FxHashMap::default();
        for (rank, &device) in devices.iter().enumerate() {
            let rank = rank as u32;
            let program = &plan.programs[plan.device_program[device].index()];
            let mut routes: FxHashMap<Direction<'a>, (Route, usize)> = FxHashMap::default();
            let mut groups: FxHashMap<CommId, Group> = FxHashMap::default();
            self.network.ranks[rank as usize].first_end = vec![NONE; program.instrs.len()];
            for (at, instr) in program.instrs.iter().enumerate() {
                let at = at as u32;
                let mut p2p = |this: &mut Self, p: &'a P2p, sends: bool| {
                    let key = (p.comm.index(), p.peer.set.as_slice(), sends);
                    let (route, next) = routes.entry(key).or_insert_with(|| {
                        let other = represent(mesh.replaced(device, &p.peer.set));
                        let (from, to) = if sends { (rank, other) } else { (other, rank) };
                        let channel = *pairs
                            .entry((p.comm.index(), from, to))
                            .or_insert_with(|| this.channel());
                        let peer = mesh.replaced(device, &p.peer.set);
                        (this.route(rank, device, peer, channel, from), 0)
                    });
                    let bytes = program.buffer(p.buf).bytes() as f64;
                    let Route { channel, from, fabric, latency, bandwidth } = *route;
                    let work = Work::P2p { from, fabric, latency, busy: bytes / bandwidth, bytes };
                    this.arrive(channel, *next, 2, work, rank, at);
                    *next += 1;
                };
                match &instr.kind {
                    Kind::Send(p) => p2p(&mut self, p, true),
                    Kind::Recv(p) => p2p(&mut self, p, false),
                    Kind::Group(transfers) => {
                        for transfer in transfers {
                            let sends = matches!(transfer, Transfer::Send(_));
                            p2p(&mut self, transfer.p2p(), sends);
                        }
                    }
                    kind => {
                        let Some((collective, whole, comm)) = collective(kind) else { continue };
                        let group = groups.entry(comm).or_insert_with(|| {
                            let members = mesh.group(device, &plan.comms[comm.index()]);
                            let mut ranks: Vec<u32> =
                                members.iter().map(|&m| represent(m)).collect();
                            ranks.sort_unstable();
                            ranks.dedup();
                            let channel = *leaders
                                .entry((comm.index(), ranks[0]))
                                .or_insert_with(|| self.channel());
                            let dims = self.topology.dims(&members);
                            Group {
                                channel,
                                ranks: ranks.len() as u32,
                                dims,
                                next: 0,
                                known: Vec::new(),
                            }
                        });
                        let bytes = program.buffer(whole).bytes();
                        let work = self.collective_work(rank, collective, bytes, group);
                        let (channel, ranks, next) = (group.channel, group.ranks, group.next);
                        group.next += 1;
                        self.arrive(channel, next, ranks, work, rank, at);
                    }
                }
            }
        }
        self.sorted()
    }

    /// The ranks with their ports.
    fn ranks(&mut self, devices: &[usize], replicas: usize) {
        let mut ports: FxHashMap<(usize, usize), u32> = FxHashMap::default();
        for &device in devices {
            let mine = self.topology.machine.fabrics.iter().enumerate().map(|(at, fabric)| {
                let port = device / fabric.shared_by.max(1) as usize;
                let next = ports.len() as u32;
                *ports.entry((at, port)).or_insert(next)
            });
            let mine = mine.collect();
            self.network.ranks.push(Rank {
                device,
                program: self.plan.device_program[device],
                replicas,
                ports: mine,
                first_end: Vec::new(),
                ends: Vec::new(),
            });
        }
        self.network.ports = ports.len();
    }

    fn channel(&mut self) -> u32 {
        self.channels.push(Vec::new());
        self.channels.len() as u32 - 1
    }

    /// How many devices behind one port of a fabric this rank stands for.
    fn weight(&self, rank: u32, fabric: usize) -> f64 {
        let shared_by = self.topology.fabric(fabric).shared_by as usize;
        if shared_by <= 1 {
            return 1.0;
        }
        let device = self.network.ranks[rank as usize].device;
        let mesh = self.plan.mesh();
        let first = device / shared_by * shared_by;
        let mine = mesh.coord(device);
        let same = |other: usize| {
            mesh.coord(other)
                .iter()
                .zip(&mine)
                .zip(&self.collapsed)
                .all(|((a, b), collapsed)| *collapsed || a == b)
        };
        (first..(first + shared_by).min(mesh.devices())).filter(|&d| same(d)).count() as f64
    }

    fn route(&self, rank: u32, device: usize, peer: usize, channel: u32, from: u32) -> Route {
        let (fabric, hops) = self.topology.between(device, peer);
        let machine = self.topology.fabric(fabric);
        Route {
            channel,
            from,
            fabric: fabric as u32,
            latency: machine.latency * f64::from(hops),
            bandwidth: machine.bandwidth / self.weight(rank, fabric),
        }
    }

    fn collective_work(
        &mut self,
        rank: u32,
        collective: Collective,
        bytes: u64,
        group: &mut Group,
    ) -> Work {
        let known = group.known.iter().find(|k| (k.0, k.1) == (collective, bytes));
        let at = match known {
            Some(&(_, _, at)) => at,
            None => {
                let weights: Vec<f64> = (0..self.topology.machine.fabrics.len())
                    .map(|fabric| self.weight(rank, fabric))
                    .collect();
                let takes =
                    duration(self.topology, collective, bytes as f64, &group.dims, &weights);
                self.network.durations.push(takes);
                let at = self.network.durations.len() as u32 - 1;
                group.known.push((collective, bytes, at));
                at
            }
        };
        Work::Collective { duration: at, bytes: bytes as f64 }
    }

    /// One side of the `next`-th meeting of a channel.
    fn arrive(&mut self, channel: u32, next: usize, expected: u32, what: Work, rank: u32, at: u32) {
        let meetings = &mut self.channels[channel as usize];
        if meetings.len() <= next {
            meetings.push(self.network.meetings.len() as u32);
            self.network.meetings.push(Meeting { expected, what });
        }
        let meeting = meetings[next];
        let mine = &mut self.network.ranks[rank as usize];
        if mine.first_end[at as usize] == NONE {
            mine.first_end[at as usize] = mine.ends.len() as u32;
        }
        mine.ends.push(meeting);
        self.ends.push((meeting, rank, at));
    }

    /// Sides by meeting.
    fn sorted(mut self) -> Network {
        let mut starts = vec![0u32; self.network.meetings.len() + 1];
        for (meeting, _, _) in &self.ends {
            starts[*meeting as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut fill = starts.clone();
        self.network.attendees = vec![(0, 0); self.ends.len()];
        for (meeting, rank, at) in &self.ends {
            let place = &mut fill[*meeting as usize];
            self.network.attendees[*place as usize] = (*rank, *at);
            *place += 1;
        }
        self.network.starts = starts;
        self.network
    }
}

/// The collective an instruction is, its buffer of full size, and its communicator.
pub(crate) fn collective(kind: &Kind) -> Option<(Collective, BufferId, CommId)> {
    match *kind {
        Kind::AllReduce { src, comm, .. } => Some((Collective::AllReduce, src, comm)),
        Kind::ReduceScatter { src, comm, .. } => Some((Collective::ReduceScatter, src, comm)),
        Kind::AllGather { dst, comm, .. } => Some((Collective::AllGather, dst, comm)),
        Kind::AllToAll { src, comm, .. } => Some((Collective::AllToAll, src, comm)),
        _ => None,
    }
}
