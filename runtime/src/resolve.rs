//! From a verified plan to flat instruction arrays with every address filled in.

#![allow(unsafe_code)]

use crate::arena::Arena;
use crate::library::{Kernel, KernelLibrary};
use crate::meeting::{Exchange, Meeting, Side};
use crate::report::LoadError;
use piper_plan::{
    BufferId, DType, InputId, Kind, Method, Mode, OutputId, P2p, Plan, ScalarId, Transfer,
};
use rustc_hash::FxHashMap;

/// An instruction with its addresses.
pub(crate) enum Op {
    Launch(Box<Launch>),
    /// Arrives at meetings `ends` of [`Code::ends`], all at once, and waits for all.
    Meet(std::ops::Range<u32>),
    Copy {
        src: *const u8,
        dst: *mut u8,
        bytes: usize,
    },
    Fill {
        dst: *mut u8,
        elems: usize,
        dtype: DType,
        value: f64,
    },
}

/// A kernel with its arguments.
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) bufs: Box<[*mut u8]>,
    pub(crate) params: Box<[(usize, DType, Mode)]>,
    /// Its scalars in [`Code::scalars`].
    pub(crate) scalars: std::ops::Range<usize>,
    pub(crate) workspace: *mut u8,
    /// In how many parts it runs.
    pub(crate) parts: u32,
}

/// What one device runs.
pub(crate) struct Code {
    pub(crate) ops: Vec<Op>,
    /// Which instruction of the program each op is.
    pub(crate) instrs: Vec<u32>,
    /// Meeting, and which of its sides this is.
    pub(crate) ends: Vec<(u32, u32)>,
    /// Which runtime scalar stands at each place of the device's scalar array.
    pub(crate) scalars: Vec<ScalarId>,
    pub(crate) arena: Arena,
    /// Scratch memory; launches point into it.
    pub(crate) workspace: Arena,
}

// SAFETY: the addresses lead into arenas that live as long as the `Machine` that owns all code; each device's thread alone
// executes its code, and meetings order what crosses devices.
unsafe impl Send for Code {}
// SAFETY: as above; shared access only reads the arrays.
unsafe impl Sync for Code {}

/// Where a device leaves a contribution to an output.
pub(crate) struct Contribution {
    pub(crate) output: OutputId,
    pub(crate) device: usize,
    pub(crate) buffer: BufferId,
    pub(crate) part: u64,
    pub(crate) slot: Arena,
}

/// Everything resolved.
pub(crate) struct Machine {
    pub(crate) codes: Vec<Code>,
    pub(crate) meetings: Vec<Meeting>,
    /// Host copies of the global inputs.
    pub(crate) inputs: Vec<Arena>,
    pub(crate) contributions: Vec<Contribution>,
}

/// `threads` are those of each device.
pub(crate) fn resolve(
    plan: &Plan,
    library: &dyn KernelLibrary,
    threads: u32,
) -> Result<Machine, LoadError> {
    let mut kernels = Vec::with_capacity(plan.kernels.len());
    for decl in &plan.kernels {
        let found = library.kernel(decl);
        kernels.push(found.map_err(|why| LoadError::Kernel { symbol: decl.symbol.clone(), why })?);
    }
    let bytes = |i: &piper_plan::Input| i.shape.iter().product::<u64>() * i.dtype.size();
    let inputs: Vec<Arena> = plan.inputs.iter().map(|i| Arena::new(bytes(i) as usize)).collect();
    let mut all = Resolver {
        plan,
        threads,
        kernels,
        inputs: &inputs,
        contributions: Vec::new(),
        channels: FxHashMap::default(),
    };
    let codes: Result<Vec<Code>, LoadError> =
        (0..plan.devices()).map(|device| all.device(device)).collect();
    let mut codes = codes?;
    let (channels, contributions) = (all.channels, all.contributions);
    let meetings = join(channels, &mut codes);
    Ok(Machine { codes, meetings, inputs, contributions })
}

/// An end of a meeting that is still to be made: where its number belongs, its memory, its size in bytes.
struct End {
    slot: usize,
    side: Side,
    exchange: Exchange,
}

/// What ends pair up by: communicator, first and second device (collectives: the first member, twice).
type Channel = (u32, usize, usize);

struct Resolver<'a> {
    plan: &'a Plan,
    threads: u32,
    kernels: Vec<Kernel>,
    inputs: &'a [Arena],
    contributions: Vec<Contribution>,
    /// Per channel and participant (in order) the ends in issue order.
    channels: FxHashMap<Channel, Vec<Vec<End>>>,
}

impl Resolver<'_> {
    fn device(&mut self, device: usize) -> Result<Code, LoadError> {
        let plan = self.plan;
        let program = &plan.programs[plan.device_program[device].index()];
        let too_large =
            || LoadError::TooLarge { program: program.name.clone(), bytes: program.arena_bytes };
        let size =
            |bytes: u64| usize::try_from(bytes).ok().filter(|&b| b < 1 << 46).ok_or_else(too_large);
        // In how many parts each instruction runs, with the workspace that takes.
        let workers: Vec<u32> = program.streams.iter().map(|s| self.workers(s)).collect();
        let divided = |instr: &piper_plan::Instr| match &instr.kind {
            Kind::Launch { kernel, .. } => {
                let workers = workers.get(usize::from(instr.stream)).copied();
                parts(&self.kernels[kernel.index()], workers.unwrap_or(self.threads))
            }
            _ => (1, 0),
        };
        let divided: Vec<(u32, u64)> = program.instrs.iter().map(divided).collect();
        let workspace = divided.iter().map(|d| d.1).fold(program.workspace_bytes, u64::max);
        let (arena, workspace) =
            (Arena::new(size(program.arena_bytes)?), Arena::new(size(workspace)?));
        for buffer in program.buffers.iter().filter(|b| b.persistent) {
            // SAFETY: the range lies in the arena (verified), which nobody else knows yet.
            unsafe { arena.at(buffer.offset as usize).write_bytes(0, buffer.bytes() as usize) };
        }
        let mesh = plan.mesh();
        let coord = mesh.coord(device);
        let mut code = Code {
            ops: Vec::new(),
            instrs: Vec::new(),
            ends: Vec::new(),
            scalars: Vec::new(),
            arena,
            workspace,
        };
        let at = |code: &Code, b: BufferId| code.arena.at(program.buffer(b).offset as usize);
        let bytes = |b: BufferId| program.buffer(b).bytes() as usize;
        for (i, instr) in program.instrs.iter().enumerate() {
            let op = match &instr.kind {
                Kind::Launch { kernel, args, scalars } => {
                    let first = code.scalars.len();
                    code.scalars.extend(scalars);
                    let params = &plan.kernels[kernel.index()].params;
                    Op::Launch(Box::new(Launch {
                        kernel: self.kernels[kernel.index()].clone(),
                        bufs: args.iter().map(|&a| at(&code, a)).collect(),
                        params: params
                            .iter()
                            .map(|p| (p.elems as usize, p.dtype, p.mode))
                            .collect(),
                        scalars: first..code.scalars.len(),
                        workspace: code.workspace.at(0),
                        parts: divided[i].0,
                    }))
                }
                Kind::Copy { src, dst } => {
                    Op::Copy { src: at(&code, *src), dst: at(&code, *dst), bytes: bytes(*dst) }
                }
                Kind::Fill { dst, value } => {
                    let buffer = program.buffer(*dst);
                    Op::Fill {
                        dst: at(&code, *dst),
                        elems: buffer.elems as usize,
                        dtype: buffer.dtype,
                        value: *value,
                    }
                }
                Kind::LoadInput { input, rows, dst } => {
                    let first = rows.first.at(&coord) * self.row_bytes(*input);
                    let src = self.inputs[input.index()].at(first as usize).cast_const();
                    Op::Copy { src, dst: at(&code, *dst), bytes: bytes(*dst) }
                }
                Kind::StoreOutput { output, src, part } => {
                    let slot = Arena::new(bytes(*src));
                    let op = Op::Copy { src: at(&code, *src), dst: slot.at(0), bytes: bytes(*src) };
                    let part = part.at(&coord);
                    self.contributions.push(Contribution {
                        output: *output,
                        device,
                        buffer: *src,
                        part,
                        slot,
                    });
                    op
                }
                // All streams are serialised in issue order, which already is what events ask for.
                Kind::Record { .. } | Kind::Wait { .. } => continue,
                kind => {
                    let first = code.ends.len() as u32;
                    self.meet(device, kind, &mut code);
                    Op::Meet(first..code.ends.len() as u32)
                }
            };
            code.ops.push(op);
            code.instrs.push(i as u32);
        }
        Ok(code)
    }

    /// Threads that launches on a stream may have: those of its partition, else all of the device's.
    fn workers(&self, stream: &str) -> u32 {
        let of_cpu = self.plan.partitions.iter().filter(|p| p.method == Method::Workers);
        let mine = of_cpu.clone().find(|p| p.streams.iter().any(|s| s == stream));
        mine.map_or(self.threads, |p| p.size.min(self.threads)).max(1)
    }

    fn row_bytes(&self, input: InputId) -> u64 {
        let input = &self.plan.inputs[input.index()];
        input.row_elems() * input.dtype.size()
    }

    /// Notes the ends of a communicating instruction.
    fn meet(&mut self, device: usize, kind: &Kind, code: &mut Code) {
        let plan = self.plan;
        let (program, mesh) = (&plan.programs[plan.device_program[device].index()], plan.mesh());
        let mut add = |channel: Channel,
                       sides: usize,
                       side: usize,
                       src: BufferId,
                       dst: BufferId,
                       exchange: Exchange| {
            let at = |b: BufferId| code.arena.at(program.buffer(b).offset as usize);
            let end = End {
                slot: code.ends.len(),
                side: Side { device: device as u32, src: at(src), dst: at(dst) },
                exchange,
            };
            code.ends.push((u32::MAX, side as u32));
            let ends = self
                .channels
                .entry(channel)
                .or_insert_with(|| (0..sides).map(|_| Vec::new()).collect());
            ends[side].push(end);
        };
        let mut p2p = |p: &P2p, sends: bool| {
            let peer = mesh.replaced(device, &p.peer.set);
            let exchange = Exchange::P2p { bytes: program.buffer(p.buf).bytes() as usize };
            let (from, to) = if sends { (device, peer) } else { (peer, device) };
            add((p.comm.0, from, to), 2, usize::from(!sends), p.buf, p.buf, exchange);
        };
        let (src, dst, comm) = match kind {
            Kind::Send(p) => return p2p(p, true),
            Kind::Recv(p) => return p2p(p, false),
            Kind::Group(transfers) => {
                return transfers.iter().for_each(|t| p2p(t.p2p(), matches!(t, Transfer::Send(_))));
            }
            Kind::AllReduce { src, dst, comm }
            | Kind::ReduceScatter { src, dst, comm }
            | Kind::AllGather { src, dst, comm }
            | Kind::AllToAll { src, dst, comm, .. } => (*src, *dst, *comm),
            _ => unreachable!("{} does not communicate", kind.mnemonic()),
        };
        let (source, target) = (program.buffer(src), program.buffer(dst));
        let dtype = source.dtype;
        let exchange = match kind {
            Kind::AllReduce { .. } => Exchange::AllReduce { elems: source.elems as usize, dtype },
            Kind::ReduceScatter { .. } => {
                Exchange::ReduceScatter { elems: target.elems as usize, dtype }
            }
            Kind::AllToAll { src_runs, dst_runs, .. } => Exchange::AllToAll {
                bytes: source.bytes() as usize / plan.comms[comm.index()].members.len(),
                src_runs: *src_runs as usize,
                dst_runs: *dst_runs as usize,
            },
            _ => Exchange::AllGather { bytes: source.bytes() as usize },
        };
        let group = mesh.group(device, &plan.comms[comm.index()]);
        let own = group
            .iter()
            .position(|&m| m == device)
            .expect("verified: a device uses only its own groups");
        add((comm.0, group[0], group[0]), group.len(), own, src, dst, exchange);
    }
}

/// In how many parts a kernel runs on so many threads, and the bytes of workspace that takes beyond what the plan knows of.
fn parts(kernel: &Kernel, threads: u32) -> (u32, u64) {
    match kernel {
        Kernel::Native { parts: Some(parts), .. } if threads > 1 && parts.most > 1 => {
            let count = parts.most.min(threads);
            (count, parts.workspace_bytes(count))
        }
        _ => (1, 0),
    }
}

/// Pairs ends by position. Without verification partners may be missing or of another size: such meetings never happen.
fn join(channels: FxHashMap<Channel, Vec<Vec<End>>>, codes: &mut [Code]) -> Vec<Meeting> {
    let mut meetings = Vec::new();
    for sides in channels.into_values() {
        let expected = sides.len() as u32;
        let longest = sides.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..longest {
            let ends: Vec<&End> = sides.iter().filter_map(|side| side.get(at)).collect();
            let fits =
                ends.len() == sides.len() && ends.iter().all(|e| e.exchange == ends[0].exchange);
            for end in &ends {
                codes[end.side.device as usize].ends[end.slot].0 = meetings.len() as u32;
            }
            let expected = if fits { expected } else { expected + 1 };
            meetings.push(Meeting::new(
                expected,
                ends[0].exchange,
                ends.iter().map(|e| e.side).collect(),
            ));
        }
    }
    meetings
}
