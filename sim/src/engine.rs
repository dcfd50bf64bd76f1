//! The discrete-event simulation.
//!
//! A rank has a lane a stream, each with its instructions in issue order. A lane stands at one instruction:
//!
//! * a kernel, copy or fill asks for the device, which runs one at a time, first come first served (at the same instant: first
//!   issued); with a host, all devices share its cores evenly instead, as threads under a fair scheduler do;
//! * a transfer or collective waits until all sides have arrived (pairs by position), then for the ports of all sides to the
//!   fabrics it uses, keeps these busy for its bytes, and ends for all sides together;
//! * record and wait take no time.
//!
//! Events of one instant are all taken in before anything is granted, and grants go by issue order, so the outcome depends on
//! nothing but the plan and the machine. Every instruction costs a bounded number of heap operations.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use piper_plan::{Kind, Plan};

use crate::cores::Cores;
use crate::machine::Machine;
use crate::network::{NONE, Network, Work};
use crate::{SimError, Span, cost};

/// What a simulation takes into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Devices, ports and cores serve one after the other.
    Real,
    /// Everything starts as soon as its stream and its partners allow.
    Unlimited,
}

/// Spans of all instructions, by rank.
pub(crate) fn run(
    plan: &Plan,
    machine: &Machine,
    network: &Network,
    kernels: &[f64],
    sharing: Sharing,
) -> Result<Vec<Vec<Span>>, SimError> {
    let mut engine = Engine::new(plan, machine, network, kernels, sharing);
    engine.execute();
    engine.finish()
}

/// A time with what happens then, the earliest first and of equal ones the lowest number.
#[derive(Clone, Copy, PartialEq)]
struct At<T> {
    time: f64,
    order: u64,
    what: T,
}

impl<T: PartialEq> Eq for At<T> {}

impl<T: PartialEq> PartialOrd for At<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: PartialEq> Ord for At<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.order.cmp(&self.order))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Event {
    /// A lane's kernel or copy is done.
    Computed(u32),
    /// A meeting is over.
    Met(u32),
}

/// One stream of one rank.
#[derive(Clone, Copy, Default)]
struct Lane {
    rank: u32,
    /// Position in its program's list for this stream.
    at: u32,
    stream: u16,
    /// Ends of the current instruction that have not met.
    open: u32,
}

/// What a rank computes and who waits for it.
#[derive(Default)]
struct Device {
    is_busy: bool,
    queue: BinaryHeap<At<u32>>,
    is_asked: bool,
}

struct Engine<'a> {
    plan: &'a Plan,
    machine: &'a Machine,
    network: &'a Network,
    kernels: &'a [f64],
    sharing: Sharing,
    /// Per program and stream its instructions.
    streams: Vec<Vec<Vec<u32>>>,
    lanes: Vec<Lane>,
    devices: Vec<Device>,
    cores: Option<Cores>,
    /// Per rank and event when it was recorded; NaN = not yet.
    events: Vec<Vec<f64>>,
    waiting: Vec<Vec<(u32, u32)>>,
    arrived: Vec<u32>,
    /// Per meeting the lanes that stand at it.
    lanes_at: Vec<u32>,
    ports_out: Vec<f64>,
    ports_in: Vec<f64>,
    heap: BinaryHeap<At<Event>>,
    order: u64,
    asked: Vec<u32>,
    full: Vec<u32>,
    spans: Vec<Vec<Span>>,
    now: f64,
}

impl<'a> Engine<'a> {
    fn new(
        plan: &'a Plan,
        machine: &'a Machine,
        network: &'a Network,
        kernels: &'a [f64],
        sharing: Sharing,
    ) -> Self {
        let is_serial = machine.device.is_serial;
        let streams = plan.programs.iter().map(|program| {
            if is_serial {
                return vec![(0..program.instrs.len() as u32).collect()];
            }
            let mut streams = vec![Vec::new(); program.streams.len()];
            for (at, instr) in program.instrs.iter().enumerate() {
                streams[usize::from(instr.stream)].push(at as u32);
            }
            streams
        });
        let streams: Vec<Vec<Vec<u32>>> = streams.collect();
        let mut lanes = Vec::new();
        let mut spans = Vec::new();
        let mut events = Vec::new();
        for (rank, entry) in network.ranks.iter().enumerate() {
            let program = &plan.programs[entry.program.index()];
            for stream in 0..streams[entry.program.index()].len() {
                lanes.push(Lane { rank: rank as u32, stream: stream as u16, ..Lane::default() });
            }
            spans.push(vec![Span::default(); program.instrs.len()]);
            events.push(vec![f64::NAN; program.events as usize]);
        }
        let cores = machine.host.filter(|_| sharing == Sharing::Real).map(|h| Cores::new(h.cores));
        Engine {
            plan,
            machine,
            network,
            kernels,
            sharing,
            streams,
            lanes,
            devices: network.ranks.iter().map(|_| Device::default()).collect(),
            cores,
            events,
            waiting: vec![Vec::new(); network.ranks.len()],
            arrived: vec![0; network.meetings.len()],
            lanes_at: vec![NONE; network.attendees.len()],
            ports_out: vec![0.0; network.ports],
            ports_in: vec![0.0; network.ports],
            heap: BinaryHeap::new(),
            order: 0,
            asked: Vec::new(),
            full: Vec::new(),
            spans,
            now: 0.0,
        }
    }

    fn execute(&mut self) {
        for lane in 0..self.lanes.len() as u32 {
            self.advance(lane);
        }
        self.grant();
        loop {
            let next = self.heap.peek().map(|e| e.time);
            let job = self.cores.as_ref().and_then(|c| c.next_end(self.now));
            let now = match (next, job) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => match a.or(b) {
                    Some(time) => time,
                    None => return,
                },
            };
            self.now = now;
            if let Some(cores) = &mut self.cores {
                for (time, event) in cores.ended(now) {
                    let event = if event >> 32 == 0 {
                        Event::Computed(event as u32)
                    } else {
                        Event::Met(event as u32)
                    };
                    self.order += 1;
                    self.heap.push(At { time, order: self.order, what: event });
                }
            }
            while let Some(event) = self.heap.peek().copied().filter(|e| e.time <= now) {
                self.heap.pop();
                match event.what {
                    Event::Computed(lane) => self.computed(lane),
                    Event::Met(meeting) => self.met(meeting),
                }
            }
            self.grant();
        }
    }

    fn at(&mut self, time: f64, what: Event) {
        self.order += 1;
        self.heap.push(At { time, order: self.order, what });
    }

    fn instruction(&self, lane: u32) -> Option<u32> {
        let lane = &self.lanes[lane as usize];
        let program = self.network.ranks[lane.rank as usize].program;
        self.streams[program.index()][usize::from(lane.stream)].get(lane.at as usize).copied()
    }

    /// Moves a lane on until it stands at something that takes time.
    fn advance(&mut self, lane: u32) {
        while let Some(at) = self.instruction(lane) {
            let rank = self.lanes[lane as usize].rank;
            let entry = &self.network.ranks[rank as usize];
            let program = &self.plan.programs[entry.program.index()];
            let now = self.now;
            self.spans[rank as usize][at as usize] = Span { ready: now, start: now, end: now };
            match &program.instrs[at as usize].kind {
                Kind::Record { event } => {
                    self.events[rank as usize][event.index()] = now;
                    let waiting = &mut self.waiting[rank as usize];
                    let (wake, stay): (Vec<_>, Vec<_>) =
                        waiting.drain(..).partition(|(_, e)| *e == event.0);
                    *waiting = stay;
                    self.lanes[lane as usize].at += 1;
                    for (other, _) in wake {
                        self.advance(other);
                    }
                    continue;
                }
                // In issue order the event has been recorded.
                Kind::Wait { .. } if self.machine.device.is_serial => {}
                Kind::Wait { event } => {
                    if self.events[rank as usize][event.index()].is_nan() {
                        self.waiting[rank as usize].push((lane, event.0));
                        return;
                    }
                }
                Kind::StoreOutput { .. } => {}
                _ if entry.first_end[at as usize] != NONE => {
                    self.arrive(lane, rank, at);
                    return;
                }
                _ => {
                    let device = &mut self.devices[rank as usize];
                    device.queue.push(At { time: now, order: u64::from(at), what: lane });
                    if !std::mem::replace(&mut device.is_asked, true) {
                        self.asked.push(rank);
                    }
                    return;
                }
            }
            self.lanes[lane as usize].at += 1;
        }
    }

    fn arrive(&mut self, lane: u32, rank: u32, at: u32) {
        let entry = &self.network.ranks[rank as usize];
        let count = ends_of(&self.plan.programs[entry.program.index()].instrs[at as usize].kind);
        self.lanes[lane as usize].open = count;
        self.spans[rank as usize][at as usize].start = f64::INFINITY;
        let first = entry.first_end[at as usize] as usize;
        for end in first..first + count as usize {
            let meeting = entry.ends[end];
            let from = self.network.starts[meeting as usize] as usize;
            let attendees = self.network.attendees(meeting);
            // One device may be both sides; each of its ends takes a place of its own.
            let place = attendees.iter().enumerate().position(|(place, side)| {
                *side == (rank, at) && self.lanes_at[from + place] == NONE
            });
            if let Some(place) = place {
                self.lanes_at[from + place] = lane;
            }
            self.arrived[meeting as usize] += 1;
            if self.arrived[meeting as usize] == self.network.meetings[meeting as usize].expected {
                self.full.push(meeting);
            }
        }
    }

    /// Starts what can start: meetings whose sides are there, then what devices were asked for.
    fn grant(&mut self) {
        let mut full = std::mem::take(&mut self.full);
        full.sort_unstable();
        for meeting in full.drain(..) {
            self.meet(meeting);
        }
        self.full = full;
        let mut asked = std::mem::take(&mut self.asked);
        for rank in asked.drain(..) {
            self.devices[rank as usize].is_asked = false;
            self.serve(rank);
        }
        self.asked = asked;
    }

    fn serve(&mut self, rank: u32) {
        let is_shared = self.sharing == Sharing::Real;
        while !(is_shared && self.devices[rank as usize].is_busy) {
            let Some(next) = self.devices[rank as usize].queue.pop() else { return };
            self.devices[rank as usize].is_busy = true;
            let (lane, at) = (next.what, next.order as u32);
            let entry = &self.network.ranks[rank as usize];
            let program = &self.plan.programs[entry.program.index()];
            let takes = match &program.instrs[at as usize].kind {
                Kind::Launch { kernel, .. } => self.kernels[kernel.index()],
                kind => cost::copying(program, kind, self.machine),
            };
            self.spans[rank as usize][at as usize].start = self.now;
            match &mut self.cores {
                Some(cores) => cores.start(self.now, takes, 0.0, u64::from(lane)),
                None => self.at(self.now + takes, Event::Computed(lane)),
            }
        }
    }

    fn computed(&mut self, lane: u32) {
        let rank = self.lanes[lane as usize].rank;
        let device = &mut self.devices[rank as usize];
        device.is_busy = false;
        if !device.queue.is_empty() && !std::mem::replace(&mut device.is_asked, true) {
            self.asked.push(rank);
        }
        self.end(lane);
    }

    fn end(&mut self, lane: u32) {
        if let Some(at) = self.instruction(lane) {
            let rank = self.lanes[lane as usize].rank;
            self.spans[rank as usize][at as usize].end = self.now;
        }
        self.lanes[lane as usize].at += 1;
        self.advance(lane);
    }

    /// All sides are there: waits for the ports and takes them.
    fn meet(&mut self, meeting: u32) {
        let network = self.network;
        let attendees = network.attendees(meeting);
        let is_shared = self.sharing == Sharing::Real;
        let mut start = self.now;
        let (takes, work, latency) = match network.meetings[meeting as usize].what {
            Work::Nothing => (0.0, 0.0, 0.0),
            Work::P2p { from, fabric, latency, busy, .. } => {
                let port = |rank: u32| network.ranks[rank as usize].ports[fabric as usize] as usize;
                if is_shared && self.cores.is_none() {
                    for &(rank, _) in attendees {
                        let free =
                            if rank == from { &self.ports_out } else { &self.ports_in }[port(rank)];
                        start = start.max(free);
                    }
                    for &(rank, _) in attendees {
                        let ports =
                            if rank == from { &mut self.ports_out } else { &mut self.ports_in };
                        ports[port(rank)] = start + busy;
                    }
                }
                (latency + busy, busy, latency)
            }
            Work::Collective { duration, .. } => {
                let duration = &network.durations[duration as usize];
                if is_shared && self.cores.is_none() {
                    for &(rank, _) in attendees {
                        for &(fabric, _) in &duration.ports {
                            let port = network.ranks[rank as usize].ports[fabric] as usize;
                            start = start.max(self.ports_out[port]).max(self.ports_in[port]);
                        }
                    }
                    for &(rank, _) in attendees {
                        for &(fabric, busy) in &duration.ports {
                            let port = network.ranks[rank as usize].ports[fabric] as usize;
                            self.ports_out[port] = self.ports_out[port].max(start + busy);
                            self.ports_in[port] = self.ports_in[port].max(start + busy);
                        }
                    }
                }
                let busy: f64 = duration.ports.iter().map(|p| p.1).sum();
                let work = busy.min(duration.total);
                (duration.total, work, duration.total - work)
            }
        };
        for &(rank, at) in attendees {
            // A group begins with its first transfer.
            let span = &mut self.spans[rank as usize][at as usize];
            span.start = span.start.min(start);
        }
        match &mut self.cores {
            // Copying is work of the host's cores; waking up is not.
            Some(cores) => cores.start(self.now, work, latency, u64::from(meeting) | 1 << 32),
            None => self.at(start + takes, Event::Met(meeting)),
        }
    }

    fn met(&mut self, meeting: u32) {
        let from = self.network.starts[meeting as usize] as usize;
        let to = self.network.starts[meeting as usize + 1] as usize;
        for place in from..to {
            let lane = self.lanes_at[place];
            if lane == NONE {
                continue;
            }
            self.lanes[lane as usize].open -= 1;
            if self.lanes[lane as usize].open == 0 {
                self.end(lane);
            }
        }
    }

    fn finish(self) -> Result<Vec<Vec<Span>>, SimError> {
        let lanes = 0..self.lanes.len() as u32;
        let stuck: Vec<(u32, u32)> =
            lanes.filter_map(|lane| Some((lane, self.instruction(lane)?))).collect();
        let Some(&first) = stuck.first() else { return Ok(self.spans) };
        let instr = |(lane, at): (u32, u32)| {
            let entry = &self.network.ranks[self.lanes[lane as usize].rank as usize];
            (entry, &self.plan.programs[entry.program.index()].instrs[at as usize])
        };
        // A stream that waits for another of its device is not where it began.
        let talks = |s: &&(u32, u32)| !matches!(instr(**s).1.kind, Kind::Wait { .. });
        let (entry, instr) = instr(stuck.iter().find(talks).copied().unwrap_or(first));
        Err(SimError::new(format!(
            "{}: device {} waits for ever in this {}",
            self.plan.sources.position(instr.source),
            self.plan.mesh().render(entry.device),
            instr.kind.mnemonic()
        ))
        .hint("the plan is not safe to run; the verifier says which devices wait for each other"))
    }
}

/// How many meetings an instruction takes part in.
fn ends_of(kind: &Kind) -> u32 {
    match kind {
        Kind::Group(transfers) => transfers.len() as u32,
        _ => 1,
    }
}
