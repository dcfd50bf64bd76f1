//! What a plan *means*, found without the verifier: it is executed on symbolic numbers in many random interleavings of its
//! streams and devices. A kernel's result is a hash of the kernel and all that it reads. All buffers are f32.

#![allow(unreachable_pub)] // a private module of the tests that include it

use piper_plan::*;
use std::collections::BTreeMap;

/// What an execution leaves behind: persistent buffers by device and name, and stored contributions.
pub type Meaning = (BTreeMap<(usize, String), Vec<u64>>, Vec<(usize, u32, u64, u64)>);

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0) % n as u64) as usize
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn hash(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(1, |h, v| mix(h.rotate_left(9) ^ v))
}

struct Device<'a> {
    program: &'a Program,
    cells: Vec<u64>,
    done: Vec<bool>,
    recorded: Vec<bool>,
}

impl Device<'_> {
    fn range(&self, b: BufferId) -> std::ops::Range<usize> {
        let b = self.program.buffer(b);
        b.offset as usize / 4..(b.offset + b.bytes()) as usize / 4
    }

    /// Streams in order; communication also in issue order over all streams.
    fn is_at(&self, i: usize) -> bool {
        let instr = &self.program.instrs[i];
        let comm = |k: &Kind| matches!(k, Kind::Send(_) | Kind::Recv(_) | Kind::AllReduce { .. });
        let blocks = |(at, other): (usize, &Instr)| {
            !self.done[at]
                && (other.stream == instr.stream || (comm(&other.kind) && comm(&instr.kind)))
        };
        !self.done[i] && !self.program.instrs[..i].iter().enumerate().any(blocks)
    }
}

/// One random execution. `None`: it hangs or transfers do not fit.
pub fn execute(plan: &Plan, random: &mut Random) -> Option<Meaning> {
    let mesh = plan.mesh();
    let mut devices: Vec<Device> =
        plan.device_program.iter().enumerate().map(|(d, p)| start(plan, d, *p)).collect();
    let mut stored = Vec::new();
    loop {
        let mut ready: Vec<(usize, usize)> = Vec::new();
        for (d, device) in devices.iter().enumerate() {
            for i in (0..device.program.instrs.len()).filter(|&i| device.is_at(i)) {
                let waits = matches!(&device.program.instrs[i].kind, Kind::Wait { event } if !device.recorded[event.index()]);
                if !waits && !matches!(device.program.instrs[i].kind, Kind::Recv(_)) {
                    ready.push((d, i));
                }
            }
        }
        // Transfers and reductions need everyone; keep those that can go now.
        ready.retain(|&(d, i)| match &devices[d].program.instrs[i].kind {
            Kind::Send(p) => receiver(plan, &devices, d, p).is_some(),
            Kind::AllReduce { comm, .. } => mesh
                .group(d, &plan.comms[comm.index()])
                .iter()
                .all(|&m| reducer(&devices[m], *comm).is_some()),
            _ => true,
        });
        if ready.is_empty() {
            break;
        }
        let (d, i) = ready[random.below(ready.len())];
        match devices[d].program.instrs[i].kind.clone() {
            Kind::Launch { kernel, args, scalars } => {
                let decl = &plan.kernels[kernel.index()];
                let device = &mut devices[d];
                let read = |m: Mode| m != Mode::Write;
                let inputs = args.iter().zip(&decl.params).filter(|(_, p)| read(p.mode));
                let all = inputs.flat_map(|(&a, _)| device.cells[device.range(a)].iter().copied());
                let value = hash(
                    all.chain([u64::from(kernel.0)]).chain(scalars.iter().map(|s| u64::from(s.0))),
                );
                for (at, (&arg, param)) in args.iter().zip(&decl.params).enumerate() {
                    if param.mode != Mode::Read {
                        for (k, cell) in device.range(arg).enumerate() {
                            device.cells[cell] = hash([value, at as u64, k as u64]);
                        }
                    }
                }
            }
            Kind::Send(p) => {
                let (peer, at, to) = receiver(plan, &devices, d, &p)?;
                let (from, to) = (devices[d].range(p.buf), devices[peer].range(to));
                if from.len() != to.len() {
                    return None;
                }
                let data = devices[d].cells[from].to_vec();
                devices[peer].cells[to].copy_from_slice(&data);
                devices[peer].done[at] = true;
            }
            Kind::AllReduce { comm, .. } => {
                let group = mesh.group(d, &plan.comms[comm.index()]);
                let parts: Vec<_> =
                    group.iter().map(|&m| (m, reducer(&devices[m], comm).unwrap())).collect();
                let data: Vec<Vec<u64>> = parts
                    .iter()
                    .map(|&(m, (_, src, _))| devices[m].cells[devices[m].range(src)].to_vec())
                    .collect();
                if data.iter().any(|part| part.len() != data[0].len()) {
                    return None;
                }
                let sum: Vec<u64> =
                    (0..data[0].len()).map(|k| hash(data.iter().map(|part| part[k]))).collect();
                for (m, (at, _, dst)) in parts {
                    let range = devices[m].range(dst);
                    devices[m].cells[range].copy_from_slice(&sum);
                    devices[m].done[at] = true;
                }
            }
            Kind::Fill { dst, value } => {
                let range = devices[d].range(dst);
                devices[d].cells[range].fill(value.to_bits());
            }
            Kind::LoadInput { rows, dst, .. } => {
                let (range, first) = (devices[d].range(dst), rows.first.at(&mesh.coord(d)));
                for (k, cell) in range.enumerate() {
                    devices[d].cells[cell] = hash([first, k as u64]);
                }
            }
            Kind::StoreOutput { output, src, part } => {
                let value = devices[d].cells[devices[d].range(src).start];
                stored.push((d, output.0, part.at(&mesh.coord(d)), value));
            }
            Kind::Record { event } => devices[d].recorded[event.index()] = true,
            Kind::Wait { .. } => {}
            other => panic!("the generator makes no {}", other.mnemonic()),
        }
        devices[d].done[i] = true;
    }
    if devices.iter().any(|d| d.done.contains(&false)) {
        return None;
    }
    stored.sort_unstable();
    let mut state = BTreeMap::new();
    for (d, device) in devices.iter().enumerate() {
        for (b, buffer) in device.program.buffers.iter().enumerate().filter(|(_, b)| b.persistent) {
            state.insert(
                (d, buffer.name.clone()),
                device.cells[device.range(BufferId(b as u32))].to_vec(),
            );
        }
    }
    Some((state, stored))
}

fn start(plan: &Plan, d: usize, p: ProgramId) -> Device<'_> {
    let program = &plan.programs[p.index()];
    // Memory begins with garbage that differs everywhere.
    let mut cells: Vec<u64> =
        (0..program.arena_bytes / 4).map(|k| hash([99, d as u64, k])).collect();
    for buffer in program.buffers.iter().filter(|b| b.persistent) {
        let (from, to) =
            (buffer.offset as usize / 4, (buffer.offset + buffer.bytes()) as usize / 4);
        cells[from..to]
            .iter_mut()
            .enumerate()
            .for_each(|(k, c)| *c = hash([7, u64::from(p.0), k as u64]));
    }
    Device {
        program,
        cells,
        done: vec![false; program.instrs.len()],
        recorded: vec![false; program.events as usize],
    }
}

/// The receive that is waiting for a send of `d`: peer, instruction, buffer.
fn receiver(
    plan: &Plan,
    devices: &[Device],
    d: usize,
    p: &P2p,
) -> Option<(usize, usize, BufferId)> {
    let mesh = plan.mesh();
    let peer = mesh.replaced(d, &p.peer.set);
    (0..devices[peer].program.instrs.len()).find_map(|i| {
        match &devices[peer].program.instrs[i].kind {
            Kind::Recv(q)
                if q.comm == p.comm
                    && devices[peer].is_at(i)
                    && mesh.replaced(peer, &q.peer.set) == d =>
            {
                Some((peer, i, q.buf))
            }
            _ => None,
        }
    })
}

/// The all-reduce over `comm` that a device has come to: instruction, source, destination.
fn reducer(device: &Device, comm: CommId) -> Option<(usize, BufferId, BufferId)> {
    (0..device.program.instrs.len()).find_map(|i| match device.program.instrs[i].kind {
        Kind::AllReduce { src, dst, comm: c } if c == comm && device.is_at(i) => {
            Some((i, src, dst))
        }
        _ => None,
    })
}
