//! The launch sequence: what each device is told to do, in the order in which it is issued, with nothing left to resolve.
//!
//! Where [`plan`](super::plan) lists a program once for all its devices, this lists every device: peers are device numbers,
//! groups are lists of them, arguments are bytes of the arena. It is what a runtime does, step by step, and what a reader
//! compares with a trace.

use std::fmt::Write;

use crate::schema::*;
use crate::{CommId, RowMap};

/// How a kernel is launched on a target that has grids, such as `grid (3, 1, 1) block (128, 1, 1)`; `None` where there is none.
pub type Geometry<'g> = &'g dyn Fn(KernelId) -> Option<String>;

/// The launch sequence of each of `devices` (numbers, row-major over the mesh).
///
/// ```text
/// device 1 {dp=0, pp=1}: program @pp1, arena 4096 B
///     0 compute  launch @gemm0(%x [0, 64), out %h [64, 128))
///     1 comm     send %h [64, 128) to device 0 over @p2p tag 7
/// ```
///
/// Panics if a device is not of the mesh or the plan is not [verified](crate::verify()).
pub fn launch_sequence(
    plan: &Plan,
    devices: impl IntoIterator<Item = usize>,
    geometry: Geometry<'_>,
) -> String {
    let mut out = String::new();
    for device in devices {
        if !out.is_empty() {
            out.push('\n');
        }
        let program = &plan.programs[plan.device_program[device].index()];
        Sequence { plan, program, device, geometry }.write(&mut out);
    }
    out
}

struct Sequence<'p> {
    plan: &'p Plan,
    program: &'p Program,
    device: usize,
    geometry: Geometry<'p>,
}

impl Sequence<'_> {
    fn write(&self, out: &mut String) {
        let Program { name, arena_bytes, workspace_bytes, streams, .. } = self.program;
        let place = self.plan.mesh().render(self.device);
        let workspace = match workspace_bytes {
            0 => String::new(),
            bytes => format!(", workspace {bytes} B"),
        };
        put(
            out,
            format_args!(
                "device {} {place}: program @{name}, arena {arena_bytes} B{workspace}\n",
                self.device
            ),
        );
        let width = streams.iter().map(String::len).max().unwrap_or(0);
        for (at, instr) in self.program.instrs.iter().enumerate() {
            let stream = &streams[usize::from(instr.stream)];
            put(out, format_args!("{at:>5} {stream:<width$}  {}\n", self.kind(&instr.kind)));
        }
    }

    fn kind(&self, kind: &Kind) -> String {
        let moved = |verb: &str, src: &BufferId, dst: &BufferId, comm: &CommId| {
            format!("{verb} {} -> {} over {}", self.buffer(src), self.buffer(dst), self.group(comm))
        };
        match kind {
            Kind::Launch { kernel, args, scalars } => self.launch(*kernel, args, scalars),
            Kind::Send(p) => self.point_to_point(p, "send", "to"),
            Kind::Recv(p) => self.point_to_point(p, "recv", "from"),
            Kind::Group(transfers) => {
                let transfer = |t: &Transfer| match t {
                    Transfer::Send(p) => self.point_to_point(p, "send", "to"),
                    Transfer::Recv(p) => self.point_to_point(p, "recv", "from"),
                };
                format!("group {{ {} }}", list(transfers.iter().map(transfer), "; "))
            }
            Kind::AllReduce { src, dst, comm } => moved("all_reduce", src, dst, comm),
            Kind::ReduceScatter { src, dst, comm } => moved("reduce_scatter", src, dst, comm),
            Kind::AllGather { src, dst, comm } => moved("all_gather", src, dst, comm),
            Kind::AllToAll { src, dst, comm, src_runs, dst_runs } => {
                let runs = match (src_runs, dst_runs) {
                    (1, 1) => String::new(),
                    _ => format!(" runs {src_runs} -> {dst_runs}"),
                };
                moved("all_to_all", src, dst, comm) + &runs
            }
            Kind::Copy { src, dst } => format!("copy {} -> {}", self.buffer(src), self.buffer(dst)),
            Kind::Fill { dst, value } => format!("fill {} = {value}", self.buffer(dst)),
            Kind::LoadInput { input, rows: RowMap { first, rows }, dst } => {
                let name = &self.plan.inputs[input.index()].name;
                let first = first.at(&self.plan.mesh().coord(self.device));
                let last = first + rows;
                format!("load input \"{name}\" rows [{first}, {last}) -> {}", self.buffer(dst))
            }
            Kind::StoreOutput { output, src, part } => {
                let name = &self.plan.outputs[output.index()].name;
                let part = part.at(&self.plan.mesh().coord(self.device));
                format!("store {} -> output \"{name}\" part {part}", self.buffer(src))
            }
            Kind::Record { event } => format!("record event {}", event.0),
            Kind::Wait { event } => format!("wait event {}", event.0),
        }
    }

    fn launch(&self, kernel: KernelId, args: &[BufferId], scalars: &[crate::ScalarId]) -> String {
        let declared = &self.plan.kernels[kernel.index()];
        let argument = |(arg, param): (&BufferId, &Param)| {
            let mode = match param.mode {
                Mode::Read => "",
                Mode::ReadWrite => "inout ",
                Mode::Write => "out ",
            };
            format!("{mode}{}", self.buffer(arg))
        };
        let buffers = args.iter().zip(&declared.params).map(argument);
        let scalars = scalars.iter().map(|s| format!("${}", self.plan.scalars[s.index()].name));
        let geometry = (self.geometry)(kernel).map(|g| format!(" {g}")).unwrap_or_default();
        format!("launch @{}({}){geometry}", declared.symbol, list(buffers.chain(scalars), ", "))
    }

    fn point_to_point(&self, p: &P2p, verb: &str, word: &str) -> String {
        let peer = self.plan.mesh().replaced(self.device, &p.peer.set);
        let comm = &self.plan.comms[p.comm.index()].name;
        let tag = p.tag.map(|tag| format!(" tag {tag}")).unwrap_or_default();
        format!("{verb} {} {word} device {peer} over @{comm}{tag}", self.buffer(&p.buf))
    }

    /// `@dp [0, 4]`: the devices that take part, in the order of their parts.
    fn group(&self, comm: &CommId) -> String {
        let comm = &self.plan.comms[comm.index()];
        let members = self.plan.mesh().group(self.device, comm);
        format!("@{} [{}]", comm.name, list(members.iter().map(ToString::to_string), ", "))
    }

    /// `%h [64, 128)`: the bytes of the arena.
    fn buffer(&self, id: &BufferId) -> String {
        let buffer = self.program.buffer(*id);
        format!("%{} [{}, {})", buffer.name, buffer.offset, buffer.offset + buffer.bytes())
    }
}

fn list(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a String does not fail");
}
