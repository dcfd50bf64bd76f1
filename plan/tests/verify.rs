//! The verifier on hand-made faults: each is found, named, and shows both sides.

mod pipeline;

use pipeline::Shape;
use piper_plan::verify::Options;
use piper_plan::*;

const SHAPE: Shape = Shape { pp: 3, dp: 2, microbatches: 3, width: 8, depth: 2 };

fn find(plan: &Plan, program: usize, name: &str) -> usize {
    let at = plan.programs[program].instrs.iter().position(|i| plan.sources.name(i.source) == name);
    at.unwrap_or_else(|| panic!("no instruction {name}"))
}

fn only(plan: &Plan, kind: FaultKind) -> String {
    let faults = verify(plan);
    let text: Vec<String> = faults.iter().map(|f| f.render(plan)).collect();
    assert!(faults.iter().any(|f| f.kind == kind), "no {kind:?} among:\n{}", text.join("\n"));
    faults.iter().find(|f| f.kind == kind).unwrap().render(plan)
}

#[test]
fn generated_pipelines_are_accepted_and_survive_the_file() {
    for (pp, dp, microbatches, depth) in [(1, 1, 1, 1), (2, 1, 2, 1), (2, 4, 3, 2), (5, 3, 7, 3)] {
        let plan = pipeline::plan(Shape { pp, dp, microbatches, width: 4, depth });
        let faults: Vec<String> = verify(&plan).iter().map(|f| f.render(&plan)).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert_eq!(Plan::from_bytes(&plan.to_bytes()).unwrap(), plan);
    }
}

#[test]
fn swapped_equal_shaped_sends_are_named_on_both_sides() {
    let mut plan = pipeline::plan(SHAPE);
    let (a, b) = (find(&plan, 0, "send F mb0"), find(&plan, 0, "send F mb1"));
    plan.programs[0].instrs.swap(a, b);
    let text = only(&plan, FaultKind::Pairing);
    assert!(
        text.contains("sent here on {pp=0, dp=0}")
            && text.contains("received here on {pp=1, dp=0}"),
        "{text}"
    );
    assert!(text.contains("pipeline.pir:") && text.contains("| %y = dag.compute"), "{text}");
}

#[test]
fn a_lost_receive_is_an_unpaired_send() {
    let mut plan = pipeline::plan(SHAPE);
    let at = find(&plan, 1, "recv F mb2");
    plan.programs[1].instrs.remove(at);
    let text = only(&plan, FaultKind::Pairing);
    assert!(
        text.contains("3rd send from {pp=0, dp=0} to {pp=1, dp=0} on p2p is never received"),
        "{text}"
    );
}

#[test]
fn both_sides_receiving_first_is_a_deadlock_with_its_cycle() {
    // Every pair matches by position, but stage 1 wants its first gradient before it sends the last activation.
    let mut plan = pipeline::plan(Shape { pp: 2, ..SHAPE });
    let (send, recv) = (find(&plan, 0, "send F mb2"), find(&plan, 0, "recv B mb0"));
    plan.programs[0].instrs.swap(send, recv);
    let text = only(&plan, FaultKind::Deadlock);
    assert!(text.contains("{pp=0, dp=0} -> {pp=1, dp=0} -> {pp=0, dp=0}"), "{text}");
    assert!(text.contains("this receive waits on {pp=0, dp=0}"), "{text}");
}

#[test]
fn a_group_is_started_as_a_whole() {
    // Two devices that send to each other first deadlock; in groups they do not.
    let plan = |grouped: bool| {
        let buffer = |name: &str, offset, persistent| Buffer {
            name: name.into(),
            offset,
            elems: 1,
            dtype: DType::F32,
            persistent,
        };
        let program = |own: u32| {
            let peer = Peer { set: vec![(AxisId(0), 1 - own)] };
            let p2p =
                |buf| P2p { buf: BufferId(buf), peer: peer.clone(), comm: CommId(0), tag: None };
            let kinds = if grouped {
                vec![Kind::Group(vec![Transfer::Send(p2p(0)), Transfer::Recv(p2p(1))])]
            } else {
                vec![Kind::Send(p2p(0)), Kind::Recv(p2p(1))]
            };
            Program {
                name: format!("p{own}"),
                arena_bytes: 8,
                buffers: vec![buffer("a", 0, true), buffer("b", 4, true)],
                streams: vec!["s".into()],
                instrs: kinds.into_iter().map(|k| Instr::new(0, SourceId::UNKNOWN, k)).collect(),
                ..Program::default()
            }
        };
        Plan {
            mesh: vec![Axis { name: "x".into(), size: 2 }],
            programs: vec![program(0), program(1)],
            device_program: vec![ProgramId(0), ProgramId(1)],
            comms: vec![Comm { name: "c".into(), members: vec![] }],
            ..Plan::default()
        }
    };
    assert!(verify(&plan(true)).is_empty());
    only(&plan(false), FaultKind::Deadlock);
}

#[test]
fn collectives_on_two_communicators_in_different_order_deadlock() {
    let program = |order: [u32; 2]| Program {
        name: "p".into(),
        arena_bytes: 4,
        buffers: vec![Buffer {
            name: "a".into(),
            offset: 0,
            elems: 1,
            dtype: DType::F32,
            persistent: true,
        }],
        streams: vec!["s".into(), "t".into()],
        instrs: order
            .iter()
            .map(|&c| Kind::AllReduce { src: BufferId(0), dst: BufferId(0), comm: CommId(c) })
            .map(|k| Instr::new(0, SourceId::UNKNOWN, k))
            .collect(),
        ..Program::default()
    };
    let members = vec![vec![(AxisId(0), 0)], vec![(AxisId(0), 1)]];
    let plan = Plan {
        mesh: vec![Axis { name: "x".into(), size: 2 }],
        programs: vec![program([0, 1]), program([1, 0])],
        device_program: vec![ProgramId(0), ProgramId(1)],
        comms: vec![
            Comm { name: "a".into(), members: members.clone() },
            Comm { name: "b".into(), members },
        ],
        ..Plan::default()
    };
    only(&plan, FaultKind::Deadlock);
}

#[test]
fn a_lost_wait_is_a_race_between_two_named_instructions() {
    let mut plan = pipeline::plan(SHAPE);
    let at = find(&plan, 1, "recv F mb0");
    assert!(matches!(plan.programs[1].instrs[at + 2].kind, Kind::Wait { .. }));
    plan.programs[1].instrs.remove(at + 2);
    let text = only(&plan, FaultKind::Race);
    assert!(text.contains("recv F mb0") && text.contains("F0 mb0"), "{text}");
    assert!(text.contains("written on stream comm and read on stream compute"), "{text}");
}

#[test]
fn waits_must_follow_their_records() {
    let mut plan = pipeline::plan(SHAPE);
    let at = find(&plan, 1, "record");
    plan.programs[1].instrs.swap(at, at + 1);
    only(&plan, FaultKind::Event);
}

#[test]
fn memory_limits_ranges_and_lost_state_are_faults() {
    let plan = pipeline::plan(SHAPE);
    let limits =
        Options { peak_bytes: Some(plan.programs[0].arena_bytes - 1), ..Options::default() };
    assert!(verify_with(&plan, &limits).iter().any(|f| f.kind == FaultKind::Memory));

    let mut broken = plan.clone();
    broken.programs[0].buffers[0].offset = broken.programs[0].arena_bytes;
    only(&broken, FaultKind::Range);

    let mut broken = plan.clone();
    broken.states.tensors[0].shape = vec![9];
    let text = only(&broken, FaultKind::State);
    assert!(text.contains("element 8 of 9 is stored nowhere"), "{text}");

    let mut broken = plan;
    broken.comms[1].members.pop();
    only(&broken, FaultKind::Comm);
}

#[test]
fn memory_reuse_that_destroys_a_value_is_seen_through_the_seal() {
    // Give two activations the same bytes: no race on one stream, yet the backward reads the wrong one.
    let mut plan = pipeline::plan(Shape { pp: 1, dp: 1, ..SHAPE });
    let offset = |plan: &Plan, name: &str| {
        plan.programs[0].buffers.iter().position(|b| b.name == name).unwrap()
    };
    let (a, b) = (offset(&plan, "a0.1"), offset(&plan, "a1.1"));
    plan.programs[0].buffers[b].offset = plan.programs[0].buffers[a].offset;
    only(&plan, FaultKind::Flow);
    // A move that keeps all values apart is fine.
    let mut plan = pipeline::plan(Shape { pp: 1, dp: 1, ..SHAPE });
    plan.programs[0].buffers[b].offset = plan.programs[0].arena_bytes;
    plan.programs[0].arena_bytes += 64;
    assert!(verify(&plan).is_empty());
}

#[test]
fn the_listing_names_everything() {
    let plan = pipeline::plan(SHAPE);
    let text = print::plan(&plan);
    for part in [
        "program @pp1 for {pp=1}, 2 devices",
        "send %a0.2 to {pp=2} on @p2p tag 0",
        "launch @update(inout %w, %dw, $lr)",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
}
