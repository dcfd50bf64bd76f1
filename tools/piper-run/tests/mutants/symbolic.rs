//! What a plan means: it is executed on symbolic numbers, its streams and devices interleaved in a way that is asked for.
//!
//! A kernel's results are hashes of the kernel and all that it reads; sums, copies and transfers work element by element.
//! Two plans that leave equal hashes behind compute the same bits from any data. This shares no code with the verifier.

use std::collections::BTreeMap;

use piper_plan::{
    BufferId, CommId, DType, Instr, Kind, Mode, OutputKind, P2p, Plan, Program, Transfer,
};

/// What a step leaves behind: contents of persistent buffers by device and name, and what is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    state: BTreeMap<(usize, String), u64>,
    outputs: Vec<(u32, u64, u64)>,
}

/// Which of the instructions that could be next is.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// The first stream that can go on, always.
    FirstStream,
    /// The last one.
    LastStream,
    /// Any, by a seed.
    Random(u64),
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn fold(hash: u64, value: u64) -> u64 {
    mix(hash.rotate_left(9) ^ value)
}

fn text(text: &str) -> u64 {
    text.bytes().fold(7, |hash, b| fold(hash, u64::from(b)))
}

/// A device in the middle of a step.
struct Device<'p> {
    program: &'p Program,
    coord: Vec<u32>,
    /// One for every `unit` bytes of the arena.
    cells: Vec<u64>,
    /// Per stream, its instructions and how many are done.
    streams: Vec<(Vec<usize>, usize)>,
    /// Communication in issue order, and how much is done.
    talk: (Vec<usize>, usize),
    /// Transfers of the communication that is going on and not yet done; `None` if none is going on.
    open: Option<Vec<bool>>,
    recorded: Vec<bool>,
}

impl Device<'_> {
    fn range(&self, buffer: BufferId, unit: u64) -> std::ops::Range<usize> {
        let b = self.program.buffer(buffer);
        (b.offset / unit) as usize..((b.offset + b.bytes()) / unit) as usize
    }

    /// The communication that is going on.
    fn going_on(&self) -> Option<&Instr> {
        self.open.as_ref()?;
        Some(&self.program.instrs[self.talk.0[self.talk.1]])
    }

    fn ends(&mut self, at: usize) {
        self.streams[usize::from(self.program.instrs[at].stream)].1 += 1;
    }
}

fn is_communication(kind: &Kind) -> bool {
    !matches!(
        kind,
        Kind::Launch { .. }
            | Kind::Copy { .. }
            | Kind::Fill { .. }
            | Kind::LoadInput { .. }
            | Kind::StoreOutput { .. }
            | Kind::Record { .. }
            | Kind::Wait { .. }
    )
}

/// Sends and receives of a communication, with whether they send.
fn transfers(kind: &Kind) -> Vec<(&P2p, bool)> {
    match kind {
        Kind::Send(p) => vec![(p, true)],
        Kind::Recv(p) => vec![(p, false)],
        Kind::Group(all) => all
            .iter()
            .map(|t| match t {
                Transfer::Send(p) => (p, true),
                Transfer::Recv(p) => (p, false),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn collective(kind: &Kind) -> Option<(BufferId, BufferId, CommId)> {
    match kind {
        Kind::AllReduce { src, dst, comm }
        | Kind::ReduceScatter { src, dst, comm }
        | Kind::AllGather { src, dst, comm }
        | Kind::AllToAll { src, dst, comm, .. } => Some((*src, *dst, *comm)),
        _ => None,
    }
}

/// Executes a plan whose structure is valid. `None`: it hangs, or what meets does not fit.
pub fn execute(plan: &Plan, order: Order) -> Option<Meaning> {
    let buffers = plan.programs.iter().flat_map(|p| &p.buffers);
    let unit = buffers.map(|b| b.dtype.size()).min().unwrap_or(4).min(DType::F32.size());
    let devices = (0..plan.devices()).map(|d| start(plan, d, unit)).collect();
    let mut machine = Machine { plan, unit, devices, outputs: Vec::new() };
    machine.run(order)?;
    Some(machine.meaning())
}

fn start(plan: &Plan, device: usize, unit: u64) -> Device<'_> {
    let id = plan.device_program[device];
    let program = &plan.programs[id.index()];
    // Memory begins with garbage that differs everywhere.
    let garbage = |cell: u64| fold(fold(99, device as u64), cell);
    let mut streams = vec![(Vec::new(), 0); program.streams.len()];
    let mut talk = Vec::new();
    for (at, instr) in program.instrs.iter().enumerate() {
        streams[usize::from(instr.stream)].0.push(at);
        if is_communication(&instr.kind) {
            talk.push(at);
        }
    }
    let mut made = Device {
        program,
        coord: plan.mesh().coord(device),
        cells: (0..program.arena_bytes.div_ceil(unit)).map(garbage).collect(),
        streams,
        talk: (talk, 0),
        open: None,
        recorded: vec![false; program.events as usize],
    };
    // A view of persistent memory is written over by what it is a view of, which is declared before it.
    let kept = program.buffers.iter().enumerate().filter(|(_, b)| b.persistent).rev();
    for (at, buffer) in kept {
        let (range, name) = (made.range(BufferId(at as u32), unit), text(&buffer.name));
        for (k, cell) in range.enumerate() {
            made.cells[cell] = fold(fold(name, u64::from(id.0)), k as u64);
        }
    }
    made
}

struct Machine<'p> {
    plan: &'p Plan,
    unit: u64,
    devices: Vec<Device<'p>>,
    outputs: Vec<(u32, u64, u64)>,
}

impl Machine<'_> {
    fn run(&mut self, order: Order) -> Option<()> {
        let mut random = Random(match order {
            Order::Random(seed) => seed,
            _ => 0,
        });
        let mut lanes: Vec<(usize, usize)> = (0..self.devices.len())
            .flat_map(|d| (0..self.devices[d].streams.len()).map(move |s| (d, s)))
            .collect();
        match order {
            Order::FirstStream => lanes.sort_by_key(|l| l.1),
            Order::LastStream => lanes.sort_by_key(|l| std::cmp::Reverse(l.1)),
            Order::Random(_) => {}
        }
        loop {
            let from = if let Order::Random(_) = order { random.below(lanes.len()) } else { 0 };
            let next = (0..lanes.len()).map(|k| lanes[(from + k) % lanes.len()]);
            let mut moved = false;
            for (device, stream) in next {
                if self.step(device, stream)? {
                    moved = true;
                    break;
                }
            }
            if !moved {
                break;
            }
        }
        let is_done = |s: &(Vec<usize>, usize)| s.0.len() == s.1;
        self.devices.iter().all(|d| d.streams.iter().all(is_done)).then_some(())
    }

    /// Executes the next instruction of a stream; whether it could.
    fn step(&mut self, d: usize, stream: usize) -> Option<bool> {
        let device = &self.devices[d];
        let (list, done) = &device.streams[stream];
        let Some(&at) = list.get(*done) else { return Some(false) };
        let program = device.program;
        let kind = &program.instrs[at].kind;
        if is_communication(kind) {
            if device.open.is_some() || device.talk.0[device.talk.1] != at {
                return Some(false);
            }
            self.arrive(d, kind)?;
            return Some(true);
        }
        if let Kind::Wait { event } = kind
            && !device.recorded[event.index()]
        {
            return Some(false);
        }
        self.compute(d, kind)?;
        self.devices[d].ends(at);
        Some(true)
    }

    fn compute(&mut self, d: usize, kind: &Kind) -> Option<()> {
        let (unit, plan) = (self.unit, self.plan);
        let device = &mut self.devices[d];
        match kind {
            Kind::Launch { kernel, args, scalars } => {
                let decl = &plan.kernels[kernel.index()];
                let mut value = fold(text(&decl.symbol), 1);
                for scalar in scalars {
                    value = fold(value, u64::from(scalar.0));
                }
                for (&arg, param) in args.iter().zip(&decl.params) {
                    if param.mode != Mode::Write {
                        let read = &device.cells[device.range(arg, unit)];
                        value = read.iter().fold(fold(value, 2), |v, cell| fold(v, *cell));
                    }
                }
                for (at, (&arg, param)) in args.iter().zip(&decl.params).enumerate() {
                    if param.mode != Mode::Read {
                        let made = fold(value, at as u64);
                        for (k, cell) in device.range(arg, unit).enumerate() {
                            device.cells[cell] = fold(made, k as u64);
                        }
                    }
                }
            }
            Kind::Copy { src, dst } => {
                let (from, to) = (device.range(*src, unit), device.range(*dst, unit));
                device.cells.copy_within(from, to.start);
            }
            Kind::Fill { dst, value } => {
                let range = device.range(*dst, unit);
                device.cells[range].fill(fold(3, value.to_bits()));
            }
            Kind::LoadInput { input, rows, dst } => {
                let found = &plan.inputs[input.index()];
                let per_row = found.row_elems() * found.dtype.size() / unit;
                let first = rows.first.at(&device.coord) * per_row;
                for (k, cell) in (0u64..).zip(device.range(*dst, unit)) {
                    device.cells[cell] = fold(fold(text(&found.name), first + k), 4);
                }
            }
            Kind::StoreOutput { output, src, part } => {
                let place = match plan.outputs[output.index()].kind {
                    OutputKind::Scalar => part.at(&device.coord),
                    OutputKind::Tensor { .. } => (d as u64) << 32 | u64::from(src.0),
                };
                let stored = &device.cells[device.range(*src, unit)];
                let value = stored.iter().fold(5, |v, cell| fold(v, *cell));
                self.outputs.push((output.0, place, value));
            }
            Kind::Record { event } => device.recorded[event.index()] = true,
            _ => {}
        }
        Some(())
    }

    /// A device comes to its next communication. Whatever can take place does.
    fn arrive(&mut self, d: usize, kind: &Kind) -> Option<()> {
        let mine = transfers(kind);
        self.devices[d].open = Some(vec![true; mine.len().max(1)]);
        if let Some((_, _, comm)) = collective(kind) {
            return self.gather(d, kind, comm);
        }
        let mesh = self.plan.mesh();
        for (at, (p, sends)) in mine.into_iter().enumerate() {
            let peer = mesh.replaced(d, &p.peer.set);
            let Some(other) = self.devices[peer].going_on() else { continue };
            let theirs = transfers(&other.kind);
            let open = self.devices[peer].open.as_ref()?;
            let is_partner = |k: usize, q: &P2p, their_sends: bool| {
                open[k]
                    && their_sends != sends
                    && q.comm == p.comm
                    && mesh.replaced(peer, &q.peer.set) == d
            };
            let mut fitting = theirs.into_iter().enumerate();
            let Some((k, (q, _))) = fitting.find(|(k, (q, s))| is_partner(*k, q, *s)) else {
                continue;
            };
            let (from, to) =
                if sends { ((d, p.buf), (peer, q.buf)) } else { ((peer, q.buf), (d, p.buf)) };
            let data =
                self.devices[from.0].cells[self.devices[from.0].range(from.1, self.unit)].to_vec();
            let into = self.devices[to.0].range(to.1, self.unit);
            if data.len() != into.len() {
                return None;
            }
            self.devices[to.0].cells[into].copy_from_slice(&data);
            self.close(peer, k);
            self.close(d, at);
        }
        Some(())
    }

    /// One transfer of what is going on is done.
    fn close(&mut self, d: usize, transfer: usize) {
        let device = &mut self.devices[d];
        let Some(open) = &mut device.open else { return };
        open[transfer] = false;
        if open.iter().all(|is_open| !is_open) {
            device.open = None;
            let at = device.talk.0[device.talk.1];
            device.talk.1 += 1;
            device.ends(at);
        }
    }

    /// A collective takes place if all members have come to one over this communicator.
    fn gather(&mut self, d: usize, kind: &Kind, comm: CommId) -> Option<()> {
        let group = self.plan.mesh().group(d, &self.plan.comms[comm.index()]);
        let mut ends = Vec::with_capacity(group.len());
        for &member in &group {
            let Some(other) = self.devices[member].going_on() else { return Some(()) };
            match collective(&other.kind) {
                Some((src, dst, theirs)) if theirs == comm => {
                    if other.kind.mnemonic() != kind.mnemonic() {
                        return None;
                    }
                    ends.push((member, src, dst));
                }
                _ => return Some(()),
            }
        }
        let unit = self.unit;
        let read = |&(m, src, _): &(usize, BufferId, BufferId)| {
            self.devices[m].cells[self.devices[m].range(src, unit)].to_vec()
        };
        let parts: Vec<Vec<u64>> = ends.iter().map(read).collect();
        if parts.iter().any(|part| part.len() != parts[0].len()) {
            return None;
        }
        let n = parts.len();
        // A part is every n-th run.
        let part_of = |data: &[u64], k: usize, runs: u64| -> Vec<u64> {
            let run = data.len() / n / runs as usize;
            (0..runs as usize).flat_map(|r| &data[(r * n + k) * run..][..run]).copied().collect()
        };
        if let Kind::AllToAll { src_runs, dst_runs, .. } = kind {
            for (j, (member, _, dst)) in ends.into_iter().enumerate() {
                let into = self.devices[member].range(dst, unit);
                let run = into.len() / n / *dst_runs as usize;
                for (k, data) in parts.iter().enumerate() {
                    let part = part_of(data, j, *src_runs);
                    for r in 0..*dst_runs as usize {
                        let at = into.start + (r * n + k) * run;
                        self.devices[member].cells[at..at + run]
                            .copy_from_slice(&part[r * run..(r + 1) * run]);
                    }
                }
                self.close(member, 0);
            }
            return Some(());
        }
        let all = match kind {
            Kind::AllGather { .. } => parts.concat(),
            _ => (0..parts[0].len())
                .map(|k| parts.iter().fold(6, |sum, part| fold(sum, part[k])))
                .collect(),
        };
        for (k, (member, _, dst)) in ends.into_iter().enumerate() {
            let into = self.devices[member].range(dst, unit);
            let part = match kind {
                Kind::ReduceScatter { .. } => all.get(k * into.len()..(k + 1) * into.len())?,
                _ => &all[..],
            };
            if part.len() != into.len() {
                return None;
            }
            self.devices[member].cells[into].copy_from_slice(part);
            self.close(member, 0);
        }
        Some(())
    }

    fn meaning(mut self) -> Meaning {
        // Replicas store equal parts, which are counted once.
        self.outputs.sort_unstable();
        self.outputs.dedup();
        let mut state = BTreeMap::new();
        for (d, device) in self.devices.iter().enumerate() {
            for (at, buffer) in device.program.buffers.iter().enumerate() {
                if buffer.persistent {
                    let cells = &device.cells[device.range(BufferId(at as u32), self.unit)];
                    let value = cells.iter().fold(8, |v, cell| fold(v, *cell));
                    state.insert((d, buffer.name.clone()), value);
                }
            }
        }
        Meaning { state, outputs: self.outputs }
    }
}
