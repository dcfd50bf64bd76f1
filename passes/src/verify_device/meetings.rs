//! That who meets on a channel comes from the same node of the graph.
//!
//! Ends meet by position, and sizes tell little: two gradients of equal shape, reduced in one order by one class and in the
//! other by another, add up to nothing that was meant. A plan's verifier compares the tags of transfers; here each tag is
//! one transfer of the graph, and the n-th collective of all classes that share a group is one collective of the graph.

use piper_ir::{Module, Op, Reporter};
use piper_plan::{AxisId, CommId, Coords, Kind, P2p, Plan, Transfer};
use rustc_hash::FxHashMap;

use super::correspondence::origin_of;
use crate::emit_plan::Emitted;

/// Where something comes from: the node's position in the graph, and the instruction.
type Place = (usize, Op);

/// Checks all programs against each other.
pub(super) fn check(module: &Module, nodes: &[Op], emitted: &Emitted, reporter: &mut Reporter<'_>) {
    let plan = &emitted.plan;
    let mut tags: FxHashMap<u32, Place> = FxHashMap::default();
    // By communicator, then by program.
    let mut collectives: FxHashMap<CommId, Vec<Vec<Place>>> = FxHashMap::default();
    for (number, program) in plan.programs.iter().enumerate() {
        for (instr, op) in program.instrs.iter().zip(&emitted.instructions[number]) {
            let mut transfer = |p: &P2p| {
                // Parts of a group have no origin of their own.
                let Some(origin) = origin_of(module, *op) else { return };
                let Some(tag) = p.tag else {
                    let message = "a transfer that was made from a graph has a tag, by which its two sides are known";
                    reporter.error(module.op_loc(*op), message);
                    return;
                };
                let first = *tags.entry(tag).or_insert((origin, *op));
                if first.0 != origin {
                    let message = format!(
                        "tag {tag} stands for {} here and for {} there",
                        describe(module, nodes, origin),
                        describe(module, nodes, first.0)
                    );
                    reporter
                        .error(module.op_loc(*op), message)
                        .note(module.op_loc(first.1), "there");
                }
            };
            match &instr.kind {
                Kind::Send(p) | Kind::Recv(p) => transfer(p),
                Kind::Group(all) => all.iter().map(Transfer::p2p).for_each(&mut transfer),
                Kind::AllReduce { comm, .. }
                | Kind::ReduceScatter { comm, .. }
                | Kind::AllGather { comm, .. }
                | Kind::AllToAll { comm, .. } => {
                    let lists = collectives
                        .entry(*comm)
                        .or_insert_with(|| vec![Vec::new(); plan.programs.len()]);
                    let origin = origin_of(module, *op);
                    lists[number].extend(origin.map(|origin| (origin, *op)));
                }
                _ => {}
            }
        }
    }
    for (comm, lists) in collectives {
        for (at, mine) in lists.iter().enumerate() {
            let other = (0..at).find(|&q| !lists[q].is_empty() && share(plan, comm, at, q));
            let pairs = other.into_iter().flat_map(|q| lists[q].iter().zip(mine));
            for (n, (theirs, ours)) in pairs.enumerate().filter(|(_, (a, b))| a.0 != b.0).take(1) {
                let message = format!(
                    "number {n} (from 0) on '@{}' is {} on one member and {} on another",
                    plan.comms[comm.index()].name,
                    describe(module, nodes, ours.0),
                    describe(module, nodes, theirs.0)
                );
                reporter
                    .error(module.op_loc(ours.1), message)
                    .note(module.op_loc(theirs.1), "the other member is here");
            }
        }
    }
}

/// Whether some group of a communicator has devices of both programs.
fn share(plan: &Plan, comm: CommId, p: usize, q: usize) -> bool {
    let members = &plan.comms[comm.index()].members;
    let is_axis = |axis: AxisId| members.first().is_some_and(|m| m.iter().any(|a| a.0 == axis));
    let (a, b): (&Coords, &Coords) = (&plan.programs[p].coord, &plan.programs[q].coord);
    a.iter().all(|(axis, at)| {
        is_axis(*axis) || b.iter().all(|(other, there)| other != axis || there == at)
    })
}

fn describe(module: &Module, nodes: &[Op], origin: usize) -> String {
    let name = nodes.get(origin).map_or("?", |node| module.name_text(*node));
    format!("the '{name}' that is operation {origin} of the graph")
}
