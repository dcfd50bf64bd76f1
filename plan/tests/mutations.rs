//! Change any one instruction of a correct plan: the verifier must object, unless the plan still means the same.
//!
//! What a plan means is decided by [`oracle`], which knows nothing of the verifier. Run with `--nocapture` for the score.

mod oracle;
mod pipeline;

use oracle::{Meaning, Random, execute};
use pipeline::Shape;
use piper_plan::*;

/// Interleavings tried before two plans are held to mean the same.
const RUNS: u64 = 10;

fn means(plan: &Plan, reference: &Meaning) -> bool {
    (0..RUNS).all(|seed| execute(plan, &mut Random(seed)).as_ref() == Some(reference))
}

/// All plans that differ in one instruction, with what was done.
fn mutants(plan: &Plan) -> Vec<(&'static str, String, Plan)> {
    let mut all = Vec::new();
    for p in 0..plan.programs.len() {
        let instrs = &plan.programs[p].instrs;
        for i in 0..instrs.len() {
            let place =
                format!("@{} #{i} {}", plan.programs[p].name, plan.sources.name(instrs[i].source));
            let mut push = |what: &'static str, edit: &dyn Fn(&mut Program)| {
                let mut mutant = plan.clone();
                edit(&mut mutant.programs[p]);
                if mutant.programs[p] != plan.programs[p] {
                    all.push((what, place.clone(), mutant));
                }
            };
            push("drop", &|q| drop(q.instrs.remove(i)));
            push("duplicate", &|q| q.instrs.insert(i, q.instrs[i].clone()));
            for gap in [1, 2, 3, 7] {
                if i + gap < instrs.len() {
                    push("swap", &|q| q.instrs.swap(i, i + gap));
                }
            }
            push("re-stream", &|q| q.instrs[i].stream = 1 - q.instrs[i].stream);
            // Equal-sized buffers only: others are caught by their shape.
            for step in [1, 3] {
                push("retarget", &|q| retarget(q, i, step));
            }
        }
    }
    all
}

/// Replaces the last operand (usually what is written) by another buffer of the same size, a peer by another peer, an
/// event by another event.
fn retarget(program: &mut Program, i: usize, step: usize) {
    let buffers = program.buffers.clone();
    let other = |b: BufferId| {
        let alike = |at: &usize| buffers[*at].elems == buffers[b.index()].elems;
        let found = (1..buffers.len()).map(|k| (b.index() + k * step) % buffers.len()).find(alike);
        BufferId(found.unwrap_or(b.index()) as u32)
    };
    let events = program.events;
    match &mut program.instrs[i].kind {
        Kind::Launch { args, .. } if step == 1 => {
            *args.last_mut().unwrap() = other(*args.last().unwrap())
        }
        Kind::Launch { args, .. } => args[0] = other(args[0]),
        Kind::Send(p) | Kind::Recv(p) if step == 1 => p.buf = other(p.buf),
        Kind::Send(p) | Kind::Recv(p) => p.peer.set[0].1 = (p.peer.set[0].1 + 1) % 3,
        Kind::AllReduce { src, dst, .. } => (*src, *dst) = (other(*src), other(*dst)),
        Kind::Fill { dst, .. } | Kind::LoadInput { dst, .. } => *dst = other(*dst),
        Kind::StoreOutput { src, .. } => *src = other(*src),
        Kind::Record { event } | Kind::Wait { event } => event.0 = (event.0 + step as u32) % events,
        _ => {}
    }
}

#[test]
fn every_change_of_meaning_is_rejected() {
    let (mut changed, mut caught, mut same, mut spurned) = (0, 0, 0, 0);
    let mut missed = Vec::new();
    let mut unsealed_misses = 0;
    for (pp, dp, microbatches, depth) in [(3, 2, 2, 2), (3, 1, 3, 1)] {
        let plan = pipeline::plan(Shape { pp, dp, microbatches, width: 2, depth });
        let reference = execute(&plan, &mut Random(1)).expect("the plan runs");
        assert!(means(&plan, &reference) && verify(&plan).is_empty());
        for (what, place, mutant) in mutants(&plan) {
            let rejected = !verify(&mutant).is_empty();
            if means(&mutant, &reference) {
                same += 1;
                spurned += usize::from(rejected);
                continue;
            }
            changed += 1;
            caught += usize::from(rejected);
            if !rejected {
                missed.push(format!("{what} {place}"));
            }
            let mut unsealed = mutant;
            unsealed.misc.flows.clear();
            unsealed_misses += usize::from(verify(&unsealed).is_empty());
        }
    }
    println!(
        "{caught} of {changed} changes of meaning rejected ({} without the seal)",
        changed - unsealed_misses
    );
    println!("{same} mutants mean the same, {spurned} of them rejected as unsafe or pointless");
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
    assert!(changed > 500, "too few mutants to mean anything: {changed}");
}
