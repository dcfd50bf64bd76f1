//! From a program to a flat array of operations of one device, with every address, function, stream and communicator filled
//! in. At run time nothing is looked up: a launch is one call with an array of pointers that was made here.
//!
//! Communication keeps to the order of issue, whichever streams it is on: that is the order in which the verifier has proved
//! that it ends, and CUDA promises no progress of one stream while another waits. Where an instruction that communicates is
//! on another stream than the one before it, a wait stands between them; each is followed by an event of its own, which also
//! tells how far a device has come.

use std::cell::Cell;
use std::ffi::c_void;

use cudarc::driver::sys;
use piper_plan::{
    BufferId, Code, CommId, DType, InputId, Kind, OutputId, P2p, Plan, Program, ScalarId, Transfer,
};
use piper_runtime::write_element;

use crate::cublaslt::CublasLt;
use crate::device::{Device, Event};
use crate::error::CudaError;
use crate::groups::{Groups, Use};
use crate::memory::HostMemory;
use crate::nccl::{self, Collective, Communicator};
use crate::products::{Gemm, Products};

/// An operation with its addresses. Streams are indices of [`Device::streams`].
pub(crate) enum Op {
    Launch(Box<Launch>),
    /// A product of [`Issue::products`].
    Product {
        product: usize,
        stream: usize,
    },
    Collective {
        what: Collective,
        dtype: u32,
        from: u64,
        to: u64,
        comm: usize,
        stream: usize,
    },
    /// Transfers of [`Program::transfers`](Issue::transfers) that start and complete together.
    Transfers {
        first: usize,
        count: usize,
        stream: usize,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: usize,
        stream: usize,
    },
    Fill {
        to: u64,
        value: Pattern,
        count: usize,
        stream: usize,
    },
    /// From the staging memory of the host.
    Load {
        from: usize,
        to: u64,
        bytes: usize,
        stream: usize,
    },
    /// To the staging memory of the host.
    Store {
        from: u64,
        to: usize,
        bytes: usize,
        stream: usize,
    },
    Record {
        event: usize,
        stream: usize,
    },
    Wait {
        event: usize,
        stream: usize,
    },
}

/// A repeated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    D8(u8),
    D16(u16),
    D32(u32),
}

/// One launch.
pub(crate) struct Launch {
    pub(crate) function: sys::CUfunction,
    pub(crate) grid: [u32; 3],
    pub(crate) block: u32,
    pub(crate) shared: u32,
    pub(crate) stream: usize,
    /// Where its arguments lie, one pointer each.
    pub(crate) arguments: Box<[*mut c_void]>,
    /// Some argument is another in every step.
    pub(crate) has_scalars: bool,
}

/// Rows of an input that a device takes.
pub(crate) struct Rows {
    pub(crate) input: InputId,
    pub(crate) first_byte: usize,
    pub(crate) bytes: usize,
    /// Where in the staging memory.
    pub(crate) at: usize,
}

/// A contribution to an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) output: OutputId,
    pub(crate) buffer: BufferId,
    pub(crate) part: u64,
    /// Where in the staging memory.
    at: usize,
    bytes: usize,
}

impl Slot {
    /// What was stored.
    pub(crate) fn contents(&self, staging: &HostMemory) -> Vec<u8> {
        staging.read(self.at, self.bytes)
    }
}

/// Everything that a device issues in a step.
pub(crate) struct Issue {
    pub(crate) ops: Vec<Op>,
    /// Which instruction of the program each operation is for.
    pub(crate) instrs: Vec<u32>,
    /// Operations that communicate, in order, each with the event that follows it.
    pub(crate) meetings: Vec<(u32, usize)>,
    pub(crate) transfers: Vec<nccl::Transfer>,
    /// What cuBLASLt computes, if it was asked for.
    pub(crate) products: Option<Products>,
    pub(crate) events: Vec<Event>,
    pub(crate) rows: Vec<Rows>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) staging: HostMemory,
    /// Values of this step; launches point here.
    pub(crate) scalars: Vec<Cell<f64>>,
    /// Addresses that launches pass; launches point here.
    _addresses: Vec<Cell<u64>>,
}

/// Resolves a device's program. `comms` has the device's communicators by their place in `groups`.
pub(crate) fn resolve(
    plan: &Plan,
    device: &mut Device,
    groups: &Groups,
    comms: &[Option<Communicator>],
    gemm: Gemm,
) -> Result<Issue, CudaError> {
    let products = match gemm {
        Gemm::Own => None,
        Gemm::CublasLt => Some(Products::of(CublasLt::open()?, device, plan)?),
    };
    let functions = device.functions(plan)?;
    let program = &plan.programs[plan.device_program[device.number].index()];
    let mut layout = Layout::default();
    let scalars: Vec<Cell<f64>> = plan.scalars.iter().map(|_| Cell::new(0.0)).collect();
    // Addresses of all launches, one after the other; pointers to them are taken when all are there.
    let mut addresses: Vec<Cell<u64>> = Vec::new();
    for instr in &program.instrs {
        if let Kind::Launch { kernel, args, .. } = &instr.kind {
            let at = |a: &BufferId| Cell::new(device.arena.at(program.buffer(*a).offset));
            addresses.extend(args.iter().map(at));
            if plan.kernels[kernel.index()].workspace_bytes > 0 {
                addresses.push(Cell::new(device.workspace(usize::from(instr.stream))));
            }
        }
    }
    let mut all = Resolver {
        plan,
        program,
        groups,
        comms,
        next_address: addresses.as_ptr(),
        scalars: scalars.as_ptr(),
        functions,
        ops: Vec::new(),
        instrs: Vec::new(),
        meetings: Vec::new(),
        transfers: Vec::new(),
        products: products.as_ref(),
        event_streams: vec![None; program.events as usize],
        device,
    };
    for (at, instr) in program.instrs.iter().enumerate() {
        all.instr(&instr.kind, usize::from(instr.stream), at as u32, &mut layout);
    }
    let Resolver { ops, instrs, meetings, transfers, event_streams, device, .. } = all;
    let events = event_streams.into_iter().map(|stream| {
        // An event that nobody records is waited for by nobody.
        device.event(&device.streams[stream.unwrap_or(0)])
    });
    let events = events.collect::<Result<Vec<_>, _>>()?;
    device.enter_primary()?;
    let mut staging = HostMemory::new(device.driver, layout.bytes)?;
    for (at, bytes) in &layout.constants {
        staging.write(*at, bytes);
    }
    Ok(Issue {
        ops,
        instrs,
        meetings,
        transfers,
        products,
        events,
        rows: layout.rows,
        slots: layout.slots,
        staging,
        scalars,
        _addresses: addresses,
    })
}

/// The staging memory while it is laid out.
#[derive(Default)]
struct Layout {
    bytes: usize,
    rows: Vec<Rows>,
    slots: Vec<Slot>,
    constants: Vec<(usize, Vec<u8>)>,
}

impl Layout {
    fn take(&mut self, bytes: usize) -> usize {
        let at = self.bytes.next_multiple_of(64);
        self.bytes = at + bytes;
        at
    }
}

struct Resolver<'a> {
    plan: &'a Plan,
    program: &'a Program,
    device: &'a mut Device,
    groups: &'a Groups,
    comms: &'a [Option<Communicator>],
    functions: rustc_hash::FxHashMap<(usize, usize), crate::device::Functions>,
    /// The addresses of the launches to come.
    next_address: *const Cell<u64>,
    scalars: *const Cell<f64>,
    ops: Vec<Op>,
    instrs: Vec<u32>,
    meetings: Vec<(u32, usize)>,
    transfers: Vec<nccl::Transfer>,
    products: Option<&'a Products>,
    /// The stream on which each event is recorded.
    event_streams: Vec<Option<usize>>,
}

impl Resolver<'_> {
    fn at(&self, buffer: BufferId) -> u64 {
        self.device.arena.at(self.program.buffer(buffer).offset)
    }

    fn bytes(&self, buffer: BufferId) -> usize {
        self.program.buffer(buffer).bytes() as usize
    }

    fn push(&mut self, instr: u32, op: Op) {
        self.ops.push(op);
        self.instrs.push(instr);
    }

    fn instr(&mut self, kind: &Kind, stream: usize, at: u32, layout: &mut Layout) {
        let coord = self.plan.mesh().coord(self.device.number);
        let op = match kind {
            Kind::Launch { kernel, args, scalars } => {
                return self.launch(kernel.index(), args.len(), scalars, stream, at);
            }
            Kind::Copy { src, dst } => {
                Op::Copy { from: self.at(*src), to: self.at(*dst), bytes: self.bytes(*dst), stream }
            }
            Kind::Fill { dst, value } => self.fill(*dst, *value, stream, layout),
            Kind::LoadInput { input, rows, dst } => {
                let source = &self.plan.inputs[input.index()];
                let row = source.row_elems() * source.dtype.size();
                let bytes = self.bytes(*dst);
                let first_byte = (rows.first.at(&coord) * row) as usize;
                let from = layout.take(bytes);
                layout.rows.push(Rows { input: *input, first_byte, bytes, at: from });
                Op::Load { from, to: self.at(*dst), bytes, stream }
            }
            Kind::StoreOutput { output, src, part } => {
                let bytes = self.bytes(*src);
                let to = layout.take(bytes);
                let part = part.at(&coord);
                layout.slots.push(Slot { output: *output, buffer: *src, part, at: to, bytes });
                Op::Store { from: self.at(*src), to, bytes, stream }
            }
            Kind::Record { event } => {
                self.event_streams[event.index()] = Some(stream);
                Op::Record { event: event.index(), stream }
            }
            Kind::Wait { event } => Op::Wait { event: event.index(), stream },
            Kind::AllReduce { src, dst, comm } => {
                let count = self.program.buffer(*src).elems as usize;
                return self.collective(
                    Collective::AllReduce { count },
                    (*src, *dst),
                    *comm,
                    stream,
                    at,
                );
            }
            Kind::ReduceScatter { src, dst, comm } => {
                let count = self.program.buffer(*dst).elems as usize;
                let what = Collective::ReduceScatter { count };
                return self.collective(what, (*src, *dst), *comm, stream, at);
            }
            Kind::AllGather { src, dst, comm } => {
                let count = self.program.buffer(*src).elems as usize;
                let what = Collective::AllGather { count };
                return self.collective(what, (*src, *dst), *comm, stream, at);
            }
            Kind::AllToAll { src, dst, comm, src_runs, dst_runs } => {
                return self.all_to_all((*src, *dst), *comm, (*src_runs, *dst_runs), stream, at);
            }
            Kind::Send(p) => return self.pairs(&[(true, p)], stream, at),
            Kind::Recv(p) => return self.pairs(&[(false, p)], stream, at),
            Kind::Group(transfers) => {
                let sides: Vec<(bool, &P2p)> =
                    transfers.iter().map(|t| (matches!(t, Transfer::Send(_)), t.p2p())).collect();
                return self.pairs(&sides, stream, at);
            }
        };
        self.push(at, op);
    }

    fn launch(&mut self, kernel: usize, args: usize, scalars: &[ScalarId], stream: usize, at: u32) {
        let has_workspace = self.plan.kernels[kernel].workspace_bytes > 0;
        let mut arguments: Vec<*mut c_void> = Vec::new();
        let mut address = || {
            let argument = self.next_address;
            self.next_address = self.next_address.wrapping_add(1);
            argument.cast::<c_void>().cast_mut()
        };
        arguments.extend((0..args).map(|_| address()));
        let scalar =
            |id: &ScalarId| self.scalars.wrapping_add(id.index()).cast::<c_void>().cast_mut();
        arguments.extend(scalars.iter().map(scalar));
        if has_workspace {
            arguments.push(address());
        }
        if let Some(product) = self.products.and_then(|products| products.find(at)) {
            return self.push(at, Op::Product { product, stream });
        }
        let context = self.device.streams[stream].context as usize;
        let Code::Ptx(ptx) = &self.plan.code else { return };
        let stages = ptx.kernels[kernel].stages.iter();
        let functions = self.functions[&(context, kernel)].clone();
        for (stage, function) in stages.zip(functions) {
            let launch = Launch {
                function,
                grid: stage.grid,
                block: stage.block,
                shared: stage.shared_bytes,
                stream,
                arguments: arguments.clone().into_boxed_slice(),
                has_scalars: !scalars.is_empty(),
            };
            self.push(at, Op::Launch(Box::new(launch)));
        }
    }

    fn fill(&self, dst: BufferId, value: f64, stream: usize, layout: &mut Layout) -> Op {
        let (to, count) = (self.at(dst), self.program.buffer(dst).elems as usize);
        match pattern(value, self.program.buffer(dst).dtype) {
            Ok((value, times)) => Op::Fill { to, value, count: count * times, stream },
            Err(element) => {
                // No pattern of the driver's is as wide.
                let bytes = element.repeat(count);
                let from = layout.take(bytes.len());
                let length = bytes.len();
                layout.constants.push((from, bytes));
                Op::Load { from, to, bytes: length, stream }
            }
        }
    }

    /// An operation that communicates, after those before it, with an event.
    fn meeting(&mut self, op: Op, stream: usize, at: u32) {
        if let Some(&(_, last)) = self.meetings.last()
            && self.event_streams[last] != Some(stream)
        {
            self.push(at, Op::Wait { event: last, stream });
        }
        let event = self.event_streams.len();
        self.event_streams.push(Some(stream));
        self.meetings.push((self.ops.len() as u32, event));
        self.push(at, op);
        self.push(at, Op::Record { event, stream });
    }

    fn comm(&self, comm: CommId, what: Use) -> Option<(usize, &Communicator)> {
        let (group, _) = self.groups.find(self.device.number, comm, what)?;
        Some((group, self.comms[group].as_ref()?))
    }

    fn collective(
        &mut self,
        what: Collective,
        (src, dst): (BufferId, BufferId),
        comm: CommId,
        stream: usize,
        at: u32,
    ) {
        let (from, to) = (self.at(src), self.at(dst));
        match self.comm(comm, Use::Collective) {
            Some((comm, _)) => {
                let dtype = nccl::dtype(self.program.buffer(src).dtype);
                let op = Op::Collective { what, dtype, from, to, comm, stream };
                self.meeting(op, stream, at);
            }
            // Of one device alone.
            None if from != to => {
                self.push(at, Op::Copy { from, to, bytes: self.bytes(dst), stream });
            }
            None => {}
        }
    }

    fn pairs(&mut self, sides: &[(bool, &P2p)], stream: usize, at: u32) {
        let first = self.transfers.len();
        for &(is_send, p) in sides {
            let peer = self.plan.mesh().replaced(self.device.number, &p.peer.set);
            let rank = self.groups.find(peer, p.comm, Use::Pairs).map(|(_, rank)| rank);
            let (Some((_, comm)), Some(rank)) = (self.comm(p.comm, Use::Pairs), rank) else {
                unreachable!("verified: the groups were made of these transfers")
            };
            let (raw, buffer) = (comm.raw(), self.program.buffer(p.buf));
            self.transfers.push(nccl::Transfer {
                is_send,
                address: self.at(p.buf),
                count: buffer.elems as usize,
                dtype: nccl::dtype(buffer.dtype),
                peer: rank as i32,
                comm: raw,
            });
        }
        let op = Op::Transfers { first, count: self.transfers.len() - first, stream };
        self.meeting(op, stream, at);
    }

    fn all_to_all(
        &mut self,
        (src, dst): (BufferId, BufferId),
        comm: CommId,
        runs: (u64, u64),
        stream: usize,
        at: u32,
    ) {
        let (from, to) = (self.at(src), self.at(dst));
        let Some((_, communicator)) = self.comm(comm, Use::Collective) else {
            return self.push(at, Op::Copy { from, to, bytes: self.bytes(dst), stream });
        };
        let raw = communicator.raw();
        let buffer = self.program.buffer(src);
        let members = self.plan.comms[comm.index()].members.len() as u64;
        let (first, size) = (self.transfers.len(), buffer.dtype.size());
        for peer in 0..members {
            for piece in pieces(buffer.elems / members, members, peer, runs) {
                for (is_send, base, offset) in [(true, from, piece.src), (false, to, piece.dst)] {
                    self.transfers.push(nccl::Transfer {
                        is_send,
                        address: base + offset * size,
                        count: piece.elems as usize,
                        dtype: nccl::dtype(buffer.dtype),
                        peer: peer as i32,
                        comm: raw,
                    });
                }
            }
        }
        let op = Op::Transfers { first, count: self.transfers.len() - first, stream };
        self.meeting(op, stream, at);
    }
}

/// A value of a type as a pattern, and how many patterns an element is; or its bytes, if it is none.
fn pattern(value: f64, dtype: DType) -> Result<(Pattern, usize), Vec<u8>> {
    let mut element = vec![0; dtype.size() as usize];
    write_element(value, dtype, &mut element);
    match (&element[..], dtype) {
        (bytes, _) if bytes.iter().all(|byte| *byte == bytes[0]) => {
            Ok((Pattern::D8(bytes[0]), bytes.len()))
        }
        (&[a, b], _) => Ok((Pattern::D16(u16::from_ne_bytes([a, b])), 1)),
        (&[a, b, c, d], _) => Ok((Pattern::D32(u32::from_ne_bytes([a, b, c, d])), 1)),
        _ => Err(element),
    }
}

/// Elements of one member's part that lie together both where they come from and where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    src: u64,
    dst: u64,
    elems: u64,
}

/// The pieces of the part of member `peer` of `members`: part `j` of a buffer of `r` runs is run `j` of each of `r` rows.
fn pieces(part: u64, members: u64, peer: u64, (src_runs, dst_runs): (u64, u64)) -> Vec<Piece> {
    let (src_run, dst_run) = (part / src_runs.max(1), part / dst_runs.max(1));
    let place = |at: u64, run: u64| (at / run * members + peer) * run + at % run;
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < part {
        let elems = (src_run - at % src_run).min(dst_run - at % dst_run);
        pieces.push(Piece { src: place(at, src_run), dst: place(at, dst_run), elems });
        at += elems;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_patterns_as_wide_as_the_driver_has_them() {
        assert_eq!(pattern(0.0, DType::F64), Ok((Pattern::D8(0), 8)));
        assert_eq!(pattern(1.0, DType::F32), Ok((Pattern::D32(0x3F80_0000), 1)));
        assert_eq!(pattern(-1.0, DType::I32), Ok((Pattern::D8(0xFF), 4)));
        assert_eq!(pattern(1.0, DType::Bf16), Ok((Pattern::D16(0x3F80), 1)));
        assert_eq!(pattern(1.0, DType::F64), Err(1f64.to_ne_bytes().to_vec()));
    }

    /// An exchange by pieces is the exchange by parts.
    #[test]
    fn pieces_make_up_every_part_in_order() {
        for (part, members, runs) in
            [(6, 2, (1, 1)), (12, 3, (4, 1)), (12, 2, (2, 3)), (0, 2, (1, 1))]
        {
            let elements = |peer: u64, run_count: u64| -> Vec<u64> {
                let run = part / run_count;
                (0..run_count)
                    .flat_map(|row| (0..run).map(move |k| (row * members + peer) * run + k))
                    .collect()
            };
            for peer in 0..members {
                let found = pieces(part, members, peer, runs);
                let list = |of: fn(&Piece) -> u64| -> Vec<u64> {
                    found.iter().flat_map(|p| of(p)..of(p) + p.elems).collect()
                };
                assert_eq!(list(|p| p.src), elements(peer, runs.0));
                assert_eq!(list(|p| p.dst), elements(peer, runs.1));
            }
        }
    }
}
