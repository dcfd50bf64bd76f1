//! Listings for people: what a device does, line by line, with names instead of numbers.

mod sequence;

pub use sequence::{Geometry, launch_sequence};

use crate::code::{Code, PtxStage};
use crate::mesh::{Affine, Coords};
use crate::schema::*;
use std::fmt::Write;

/// A listing of the whole plan: tables first, then every program.
pub fn plan(plan: &Plan) -> String {
    let mut out = String::new();
    let axes: Vec<String> = plan.mesh.iter().map(|a| format!("{}={}", a.name, a.size)).collect();
    line(
        &mut out,
        format_args!(
            "plan @{} on [{}], {} devices",
            plan.name,
            axes.join(", "),
            plan.device_program.len()
        ),
    );
    for comm in &plan.comms {
        let members: Vec<String> = comm.members.iter().map(|m| set(plan, m)).collect();
        line(&mut out, format_args!("comm @{} [{}]", comm.name, members.join(", ")));
    }
    for partition in &plan.partitions {
        let crate::Partition { name, method, size, total, arch, streams, .. } = partition;
        let unit = method.unit();
        let ctas = match partition.ctas {
            Some((least, most)) => format!(", {least} to {most} CTAs"),
            None => String::new(),
        };
        let comms = partition.comms.iter().filter_map(|id| plan.comms.get(id.index()));
        let comms: Vec<String> = comms.map(|comm| format!("@{}", comm.name)).collect();
        let (streams, comms) = (streams.join(", "), comms.join(", "));
        line(
            &mut out,
            format_args!(
                "partition @{name} {size} of {total} {unit} of {arch} [{streams}] [{comms}]{ctas}"
            ),
        );
    }
    for input in &plan.inputs {
        line(
            &mut out,
            format_args!("input %{} {:?} {}", input.name, input.shape, input.dtype.name()),
        );
    }
    for output in &plan.outputs {
        let kind = match &output.kind {
            OutputKind::Scalar => "number".to_owned(),
            OutputKind::Tensor { shape, dtype, .. } => format!("{shape:?} {}", dtype.name()),
        };
        line(&mut out, format_args!("output %{} {kind}", output.name));
    }
    for scalar in &plan.scalars {
        line(&mut out, format_args!("scalar %{} = {:?}", scalar.name, scalar.source));
    }
    for state in &plan.states.tensors {
        let homes = state.homes.len();
        line(
            &mut out,
            format_args!(
                "state %{} {:?} {} init {:?} in {homes} homes",
                state.name,
                state.shape,
                state.dtype.name(),
                state.init
            ),
        );
    }
    if let Code::Ptx(ptx) = &plan.code {
        line(&mut out, format_args!("code for {}, {} B of PTX", ptx.chip, ptx.text.len()));
        for (declared, launches) in plan.kernels.iter().zip(&ptx.kernels) {
            let stages = launches.stages.iter().map(|stage| {
                let PtxStage { entry, grid: [x, y, z], block, shared_bytes } = stage;
                let shared = match shared_bytes {
                    0 => String::new(),
                    bytes => format!(" shared {bytes} B"),
                };
                format!("{entry} grid {x}x{y}x{z} block {block}{shared}")
            });
            let stages: Vec<String> = stages.collect();
            let workspace = match declared.workspace_bytes {
                0 => String::new(),
                bytes => format!(", workspace {bytes} B"),
            };
            line(
                &mut out,
                format_args!("kernel @{}: {}{workspace}", declared.symbol, stages.join(", then ")),
            );
        }
    }
    for at in 0..plan.programs.len() {
        out.push('\n');
        out.push_str(&program(plan, ProgramId(at as u32)));
    }
    out
}

/// A listing of one program: buffers, then instructions in issue order with their streams.
pub fn program(plan: &Plan, id: ProgramId) -> String {
    let program = &plan.programs[id.index()];
    let devices = plan.device_program.iter().filter(|p| **p == id).count();
    let mut out = String::new();
    let slice = set(plan, &program.coord);
    line(
        &mut out,
        format_args!(
            "program @{} for {slice}, {devices} devices, arena {} B, workspace {} B",
            program.name, program.arena_bytes, program.workspace_bytes
        ),
    );
    for buffer in &program.buffers {
        let keeps = if buffer.persistent { " persistent" } else { "" };
        let (from, to) = (buffer.offset, buffer.offset + buffer.bytes());
        line(
            &mut out,
            format_args!(
                "  buffer %{}: {} x {} at {from}..{to}{keeps}",
                buffer.name,
                buffer.elems,
                buffer.dtype.name()
            ),
        );
    }
    let width = program.streams.iter().map(String::len).max().unwrap_or(0);
    for (at, instr) in program.instrs.iter().enumerate() {
        let stream = program.streams.get(usize::from(instr.stream)).map_or("?", String::as_str);
        let what = kind(plan, program, &instr.kind);
        let name = instr.name.as_ref().map(|n| format!("  // {n}")).unwrap_or_default();
        line(&mut out, format_args!("  {at:>5} {stream:<width$}  {what}{name}"));
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}

fn kind(plan: &Plan, program: &Program, kind: &Kind) -> String {
    let buf = |id: &BufferId| match program.buffers.get(id.index()) {
        Some(buffer) => format!("%{}", buffer.name),
        None => format!("%<{}>", id.0),
    };
    let comm =
        |id: &crate::CommId| plan.comms.get(id.index()).map_or("?", |c| c.name.as_str()).to_owned();
    let p2p = |p: &P2p, verb: &str, word: &str| {
        let tag = p.tag.map(|t| format!(" tag {t}")).unwrap_or_default();
        format!(
            "{verb} {} {word} {} on @{}{tag}",
            buf(&p.buf),
            set(plan, &p.peer.set),
            comm(&p.comm)
        )
    };
    let transfer = |t: &Transfer| match t {
        Transfer::Send(p) => p2p(p, "send", "to"),
        Transfer::Recv(p) => p2p(p, "recv", "from"),
    };
    match kind {
        Kind::Launch { kernel, args, scalars } => {
            let decl = plan.kernels.get(kernel.index());
            let symbol = decl.map_or("?", |k| k.symbol.as_str());
            let mode = |at: usize| match decl.and_then(|k| k.params.get(at)).map(|p| p.mode) {
                Some(Mode::Write) => "out ",
                Some(Mode::ReadWrite) => "inout ",
                _ => "",
            };
            let mut all: Vec<String> =
                args.iter().enumerate().map(|(at, a)| format!("{}{}", mode(at), buf(a))).collect();
            all.extend(scalars.iter().map(|s| {
                plan.scalars.get(s.index()).map_or("?".to_owned(), |s| format!("${}", s.name))
            }));
            format!("launch @{symbol}({})", all.join(", "))
        }
        Kind::Send(p) => p2p(p, "send", "to"),
        Kind::Recv(p) => p2p(p, "recv", "from"),
        Kind::Group(transfers) => {
            format!("group {{ {} }}", transfers.iter().map(transfer).collect::<Vec<_>>().join("; "))
        }
        Kind::AllReduce { src, dst, comm: c } => {
            format!("all_reduce {} -> {} over @{}", buf(src), buf(dst), comm(c))
        }
        Kind::ReduceScatter { src, dst, comm: c } => {
            format!("reduce_scatter {} -> {} over @{}", buf(src), buf(dst), comm(c))
        }
        Kind::AllGather { src, dst, comm: c } => {
            format!("all_gather {} -> {} over @{}", buf(src), buf(dst), comm(c))
        }
        Kind::AllToAll { src, dst, comm: c, src_runs, dst_runs } => {
            let runs = if *src_runs == 1 && *dst_runs == 1 {
                String::new()
            } else {
                format!(" runs {src_runs} -> {dst_runs}")
            };
            format!("all_to_all {} -> {} over @{}{runs}", buf(src), buf(dst), comm(c))
        }
        Kind::Copy { src, dst } => format!("copy {} -> {}", buf(src), buf(dst)),
        Kind::Fill { dst, value } => format!("fill {} = {value}", buf(dst)),
        Kind::LoadInput { input, rows, dst } => {
            let name = plan.inputs.get(input.index()).map_or("?", |i| i.name.as_str());
            format!("load %{name}[{} +{}] -> {}", affine(plan, &rows.first), rows.rows, buf(dst))
        }
        Kind::StoreOutput { output, src, part } => {
            let name = plan.outputs.get(output.index()).map_or("?", |o| o.name.as_str());
            format!("store {} -> %{name} part {}", buf(src), affine(plan, part))
        }
        Kind::Record { event } => format!("record !{}", event.0),
        Kind::Wait { event } => format!("wait !{}", event.0),
    }
}

fn set(plan: &Plan, coords: &Coords) -> String {
    plan.mesh().render_set(coords)
}

fn affine(plan: &Plan, affine: &Affine) -> String {
    let term = |(axis, stride): &(crate::AxisId, u64)| {
        format!(" + {stride}*{}", plan.mesh.get(axis.index()).map_or("?", |a| a.name.as_str()))
    };
    format!("{}{}", affine.base, affine.strides.iter().map(term).collect::<String>())
}
