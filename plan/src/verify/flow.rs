//! Dataflow fingerprints: that every instruction still reads the values it was compiled to read.
//!
//! Race freedom does not tell whether a program computes what was meant: two launches that read the right buffer at the
//! wrong time race with nothing. So a compiler may *seal* a plan while each value still has memory of its own, and after
//! memory planning (and again at load) the programs are executed symbolically and compared with the seal. This catches a
//! value overwritten by a reuse of its bytes, a repeated accumulation, a lost instruction, an edited file.
//!
//! The fingerprint of an instruction covers what it does, not where: kernel, scalars, communicator, peer, position on the
//! channel, rows, and the fingerprints of the values it reads, byte range by byte range. Offsets in the arena, streams and
//! events do not enter, so a program may be laid out anew without a new seal.

use super::access::{self, Access};
use super::memory::Segments;
use super::{Fault, FaultKind, MAX_FAULTS, Party, for_each_program};
use crate::init::{fnv1a64, mix};
use crate::mesh::{Affine, AxisId};
use crate::schema::*;
use crate::source::SourceId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The dataflow of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Fingerprint and source of each instruction other than record and wait, in any order.
    pub values: Vec<(u64, SourceId)>,
    /// Fingerprint of the persistent buffers' contents at the end of a step.
    pub state: u64,
}

/// Records the dataflow of every program in [`Misc::flows`]. The plan's structure must be valid.
pub fn seal(plan: &mut Plan) {
    plan.misc.flows = for_each_program(plan, |id| flow_of(plan, id).0);
}

/// Compares a sealed plan with its seal; nothing to say of a plan without one.
pub(super) fn check(plan: &Plan) -> Vec<Fault> {
    let mut faults = Vec::new();
    if plan.misc.flows.is_empty() {
        return faults;
    }
    if plan.misc.flows.len() != plan.programs.len() {
        return vec![Fault::new(FaultKind::Flow, "the seal is for another number of programs")];
    }
    let found = for_each_program(plan, |id| (id, flow_of(plan, id)));
    for ((program, sealed), (id, (found, instrs))) in
        plan.programs.iter().zip(&plan.misc.flows).zip(found)
    {
        if found == *sealed {
            continue;
        }
        let mut expected: FxHashMap<u64, Vec<SourceId>> = FxHashMap::default();
        // Of equal ones the first is found first, so that the last is missing.
        sealed
            .values
            .iter()
            .rev()
            .for_each(|&(value, source)| expected.entry(value).or_default().push(source));
        for (&(value, _), &instr) in found.values.iter().zip(&instrs) {
            if expected.get_mut(&value).is_none_or(|left| left.pop().is_none()) {
                let message = format!(
                    "@{} has an instruction that was not compiled, or one that reads another value than it was compiled to read",
                    program.name
                );
                faults.push(Fault::new(FaultKind::Flow, message).at(plan, id, instr, "here"));
                break; // everything that depends on it differs as well
            }
        }
        if let Some(&source) = expected.values().flatten().min() {
            let message = format!(
                "@{} lacks an instruction that it was compiled with, or has it with other operands",
                program.name
            );
            let mut fault = Fault::new(FaultKind::Flow, message);
            fault.parties.push(Party {
                role: "compiled from".to_owned(),
                program: Some(id),
                instr: None,
                source,
                device: None,
            });
            faults.push(fault);
        }
        if found.values.len() == sealed.values.len()
            && found.state != sealed.state
            && faults.is_empty()
        {
            let message = format!(
                "@{} leaves other state behind than it was compiled to leave",
                program.name
            );
            faults.push(Fault::new(FaultKind::Flow, message));
        }
        if faults.len() >= MAX_FAULTS {
            break;
        }
    }
    faults
}

/// What a segment holds: which value, and from which byte of it on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Content {
    value: u64,
    from: u64,
}

/// The flow, and beside each of its values the instruction.
fn flow_of(plan: &Plan, id: ProgramId) -> (Flow, Vec<usize>) {
    let program = &plan.programs[id.index()];
    let segments = Segments::of(program);
    let mut contents = vec![Content { value: 0, from: 0 }; segments.count()];
    let persistent: Vec<BufferId> = (0..program.buffers.len() as u32)
        .map(BufferId)
        .filter(|&b| program.buffer(b).persistent)
        .collect();
    for &buffer in persistent.iter().rev() {
        write(
            program,
            &segments,
            &mut contents,
            buffer,
            fnv1a64(program.buffer(buffer).name.as_bytes()),
        );
    }
    let mut flow = Flow { values: Vec::with_capacity(program.instrs.len()), state: 0 };
    let (mut instrs, mut accesses) = (Vec::with_capacity(program.instrs.len()), Vec::new());
    let mut positions: FxHashMap<u64, u64> = FxHashMap::default();
    for (i, instr) in program.instrs.iter().enumerate() {
        if matches!(instr.kind, Kind::Record { .. } | Kind::Wait { .. }) {
            continue;
        }
        accesses.clear();
        access::of(&instr.kind, &plan.kernels, &mut accesses);
        let mut print = identity(plan, &instr.kind, &mut positions);
        for Access { buffer, .. } in accesses.iter().filter(|a| a.reads()) {
            print = read(program, &segments, &contents, *buffer, print);
        }
        for (operand, Access { buffer, .. }) in
            accesses.iter().enumerate().filter(|(_, a)| a.writes())
        {
            write(program, &segments, &mut contents, *buffer, fold(print, operand as u64));
        }
        flow.values.push((print, instr.source));
        instrs.push(i);
    }
    flow.state = persistent.iter().fold(0, |print, &b| {
        let name = fold(print, fnv1a64(program.buffer(b).name.as_bytes()));
        read(program, &segments, &contents, b, name)
    });
    (flow, instrs)
}

fn fold(print: u64, with: u64) -> u64 {
    mix(print.rotate_left(17) ^ with.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn write(
    program: &Program,
    segments: &Segments,
    contents: &mut [Content],
    buffer: BufferId,
    value: u64,
) {
    let start = program.buffer(buffer).offset;
    for at in segments.span(buffer) {
        contents[at] = Content { value, from: segments.cuts[at] - start };
    }
}

/// Folds the contents of a buffer, in maximal runs of one value, so that it does not matter how the arena is cut.
fn read(
    program: &Program,
    segments: &Segments,
    contents: &[Content],
    buffer: BufferId,
    mut print: u64,
) -> u64 {
    let span = segments.span(buffer);
    let start = program.buffer(buffer).offset;
    let mut run = contents[span.start];
    let mut run_start = start;
    for (&here, &next) in segments.cuts[span.clone()].iter().zip(&contents[span.clone()]).skip(1) {
        if next.value != run.value || next.from != run.from + (here - run_start) {
            print = fold(fold(fold(print, run.value), run.from), here - start);
            (run, run_start) = (next, here);
        }
    }
    let end = segments.cuts[span.end];
    fold(fold(fold(print, run.value), run.from), end - start)
}

/// What an instruction does, apart from its operands' contents and places.
fn identity(plan: &Plan, kind: &Kind, positions: &mut FxHashMap<u64, u64>) -> u64 {
    let mut nth = |channel: u64| {
        let count = positions.entry(channel).or_default();
        *count += 1;
        fold(channel, *count)
    };
    let mut p2p = |p: &P2p, receives: u64| {
        let tag = p.tag.map_or(0, |t| u64::from(t) + 1);
        fold(nth(fold(coords(&p.peer.set, u64::from(p.comm.0)), receives)), tag)
    };
    match kind {
        Kind::Launch { kernel, scalars, .. } => {
            let symbol = fnv1a64(plan.kernels[kernel.index()].symbol.as_bytes());
            scalars.iter().fold(fold(1, symbol), |print, s| fold(print, u64::from(s.0)))
        }
        Kind::Send(p) => fold(2, p2p(p, 0)),
        Kind::Recv(p) => fold(3, p2p(p, 1)),
        Kind::Group(transfers) => transfers.iter().fold(4, |print, t| match t {
            Transfer::Send(p) => fold(print, p2p(p, 0)),
            Transfer::Recv(p) => fold(print, p2p(p, 1)),
        }),
        Kind::AllReduce { comm, .. } => fold(5, nth(fold(5, u64::from(comm.0)))),
        Kind::ReduceScatter { comm, .. } => fold(6, nth(fold(5, u64::from(comm.0)))),
        Kind::AllGather { comm, .. } => fold(7, nth(fold(5, u64::from(comm.0)))),
        Kind::AllToAll { comm, src_runs, dst_runs, .. } => {
            fold(fold(fold(13, nth(fold(5, u64::from(comm.0)))), *src_runs), *dst_runs)
        }
        Kind::Copy { .. } => 8,
        Kind::Fill { value, .. } => fold(9, value.to_bits()),
        Kind::LoadInput { input, rows, .. } => {
            fold(fold(affine(&rows.first, 10), rows.rows), u64::from(input.0))
        }
        Kind::StoreOutput { output, part, .. } => fold(affine(part, 11), u64::from(output.0)),
        Kind::Record { .. } | Kind::Wait { .. } => 12,
    }
}

fn coords(set: &[(AxisId, u32)], print: u64) -> u64 {
    set.iter().fold(print, |print, &(axis, c)| fold(fold(print, u64::from(axis.0)), u64::from(c)))
}

fn affine(affine: &Affine, print: u64) -> u64 {
    let start = fold(print, affine.base);
    affine
        .strides
        .iter()
        .fold(start, |print, &(axis, stride)| fold(fold(print, u64::from(axis.0)), stride))
}
