//! Partitions: a device can be divided so, and what communicates keeps to one part.
//!
//! Nothing here is about progress. Two partitions may wait for each other within a step, and neither is promised to run while the
//! other does; such a plan is safe because the communication check proves it with all streams of a device in turn, in the one
//! order of issue. What that proof takes for granted is that a communicator is one queue, with one part of the device behind it.

use super::{Fault, FaultKind, MAX_FAULTS};
use crate::mesh::CommId;
use crate::partition::{infeasible, most_ctas};
use crate::schema::{Kind, Plan, ProgramId, Transfer};
use rustc_hash::FxHashMap;

pub(super) fn check(plan: &Plan) -> Vec<Fault> {
    if plan.partitions.is_empty() {
        return Vec::new();
    }
    let fault = |message: String| Fault::new(FaultKind::Partition, message);
    let mut faults: Vec<Fault> = infeasible(&plan.partitions)
        .into_iter()
        .map(|found| {
            let hint = found.hint.map_or(String::new(), |hint| format!(" ({hint})"));
            let name = &plan.partitions[found.at].name;
            fault(format!("partition {name}: {}{hint}", found.message))
        })
        .collect();
    let mut of_comm: FxHashMap<CommId, usize> = FxHashMap::default();
    for (at, partition) in plan.partitions.iter().enumerate() {
        let name = &partition.name;
        if let Some((_, most)) = partition.ctas.filter(|ctas| ctas.1 > most_ctas(None)) {
            faults.push(fault(format!("partition {name}: NCCL takes at most 64 CTAs, not {most}")));
        }
        for comm in &partition.comms {
            let Some(known) = plan.comms.get(comm.index()) else {
                faults.push(fault(format!(
                    "partition {name} names communicator {}, of {}",
                    comm.0,
                    plan.comms.len()
                )));
                continue;
            };
            if let Some(other) = of_comm.insert(*comm, at) {
                let other = &plan.partitions[other].name;
                faults.push(fault(format!(
                    "communicator {} is in partitions {other} and {name}",
                    known.name
                )));
            }
        }
    }
    if faults.is_empty() {
        faults = uses(plan, &of_comm);
    }
    faults.truncate(MAX_FAULTS);
    faults
}

/// Every use of a communicator is on a stream of its partition.
fn uses(plan: &Plan, of_comm: &FxHashMap<CommId, usize>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let shown = |partition: Option<usize>| match partition {
        Some(at) => format!("partition {}", plan.partitions[at].name),
        None => "no partition".to_owned(),
    };
    for (number, program) in plan.programs.iter().enumerate() {
        let of_stream: Vec<Option<usize>> =
            program.streams.iter().map(|stream| plan.partition_of(stream)).collect();
        for (at, instr) in program.instrs.iter().enumerate() {
            let here = of_stream[usize::from(instr.stream)];
            let wrong =
                comms(&instr.kind).into_iter().find(|comm| of_comm.get(comm).copied() != here);
            let Some(comm) = wrong else { continue };
            let message = format!(
                "communicator {} is of {}, but is used on stream {} of {}",
                plan.comms[comm.index()].name,
                shown(of_comm.get(&comm).copied()),
                program.streams[usize::from(instr.stream)],
                shown(here)
            );
            let id = ProgramId(number as u32);
            faults.push(Fault::new(FaultKind::Partition, message).at(plan, id, at, "used here"));
            if faults.len() >= MAX_FAULTS {
                return faults;
            }
        }
    }
    faults
}

/// The communicators of an instruction.
fn comms(kind: &Kind) -> Vec<CommId> {
    match kind {
        Kind::Send(p2p) | Kind::Recv(p2p) => vec![p2p.comm],
        Kind::Group(transfers) => transfers.iter().map(Transfer::p2p).map(|p| p.comm).collect(),
        Kind::AllReduce { comm, .. }
        | Kind::ReduceScatter { comm, .. }
        | Kind::AllGather { comm, .. }
        | Kind::AllToAll { comm, .. } => vec![*comm],
        _ => Vec::new(),
    }
}
