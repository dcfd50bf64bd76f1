//! The projection lemma: a verdict over device classes is the verdict over all devices, one by one.
//!
//! Programs are random: a global order of transfers, groups and collectives over a small mesh is projected to the classes,
//! and then disturbed a little, so that about half of them are wrong in some way.

mod full;

use full::{Verdict, play};
use piper_plan::verify::Options;
use piper_plan::*;
use proptest::prelude::*;

/// A random mesh, who runs what, and a random order of communication.
#[derive(Clone, Debug)]
struct Recipe {
    sizes: Vec<u32>,
    /// Axes that tell programs apart.
    own: Vec<bool>,
    /// Axes over which there is a communicator, by bit mask.
    comms: Vec<u8>,
    events: Vec<(u8, u8, u8, u8)>,
    /// What is disturbed: program, instruction, how.
    faults: Vec<(u8, u8, u8)>,
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let mesh = prop::collection::vec((1u32..4, prop::bool::weighted(0.7)), 1..4);
    let events = prop::collection::vec(any::<(u8, u8, u8, u8)>(), 3..20);
    let faults = prop_oneof![
        Just(Vec::new()).boxed(),
        prop::collection::vec(any::<(u8, u8, u8)>(), 1..4).boxed()
    ];
    let comms = prop::collection::vec(1u8..8, 1..4);
    (mesh, comms, events, faults).prop_map(|(mesh, comms, events, faults)| {
        let (sizes, own) = mesh.into_iter().unzip();
        Recipe { sizes, own, comms, events, faults }
    })
}

/// All coordinates on some axes.
fn slices(sizes: &[u32], axes: &[usize]) -> Vec<Coords> {
    axes.iter().fold(vec![Vec::new()], |all: Vec<Coords>, &axis| {
        let along = |c: Coords| {
            (0..sizes[axis]).map(move |at| [c.clone(), vec![(AxisId(axis as u32), at)]].concat())
        };
        all.into_iter().flat_map(along).collect()
    })
}

fn build(recipe: &Recipe) -> Plan {
    let sizes = &recipe.sizes;
    let own: Vec<usize> = (0..sizes.len()).filter(|&a| recipe.own[a]).collect();
    let classes = slices(sizes, &own);
    let buffer = |name: &str, offset, elems| Buffer {
        name: name.into(),
        offset,
        elems,
        dtype: DType::F32,
        persistent: true,
    };
    let mut programs: Vec<Program> = (0..classes.len())
        .map(|at| Program {
            name: format!("p{at}"),
            coord: classes[at].clone(),
            arena_bytes: 24,
            buffers: vec![
                buffer("a", 0, 1),
                buffer("b", 4, 1),
                buffer("c", 8, 2),
                buffer("d", 16, 2),
            ],
            streams: vec!["s".into(), "t".into()],
            ..Program::default()
        })
        .collect();
    let mut comms = vec![Comm { name: "p2p".into(), members: vec![] }];
    for (at, mask) in recipe.comms.iter().enumerate() {
        let axes: Vec<usize> = (0..sizes.len()).filter(|a| mask >> a & 1 == 1).collect();
        let mut members = slices(sizes, &axes);
        // Some leave devices out, as long as whole classes are in or out.
        if axes.iter().all(|a| recipe.own[*a]) && mask & 4 == 4 && members.len() > 2 {
            members.remove(at % members.len());
        }
        comms.push(Comm { name: format!("c{at}"), members });
    }
    let p2p = |buf: u8, set: &Coords, tag: usize| P2p {
        buf: BufferId(u32::from(buf % 4)),
        peer: Peer { set: set.clone() },
        comm: CommId(0),
        // Without tags an exchange of two transfers of equal size is an exchange of devices' orders only.
        tag: (buf < 64).then_some(tag as u32),
    };
    for (n, &(kind, a, b, c)) in recipe.events.iter().enumerate() {
        let (from, to) = (usize::from(a) % classes.len(), usize::from(b) % classes.len());
        let mut emit = |at: usize, kind: Kind| {
            programs[at].instrs.push(Instr::new(u16::from(c % 2), SourceId::UNKNOWN, kind));
        };
        match kind % 4 {
            0 | 1 if from != to => {
                emit(from, Kind::Send(p2p(c, &classes[to], n)));
                emit(to, Kind::Recv(p2p(c, &classes[from], n)));
            }
            2 if from != to => {
                let both = |peer: &Coords| {
                    Kind::Group(vec![
                        Transfer::Send(p2p(c, peer, n)),
                        Transfer::Recv(p2p(c ^ 1, peer, n)),
                    ])
                };
                emit(from, both(&classes[to]));
                emit(to, both(&classes[from]));
            }
            _ => {
                let comm = 1 + usize::from(a) % (comms.len() - 1);
                // Whoever belongs to it takes part, once per group: classes that differ along its axes do so together.
                for (at, class) in classes.iter().enumerate() {
                    let fits = |m: &Coords| {
                        m.iter().all(|x| class.iter().all(|y| x.0 != y.0 || x.1 == y.1))
                    };
                    if comms[comm].members.iter().any(fits) {
                        let (src, comm) = (BufferId(u32::from(b % 4)), CommId(comm as u32));
                        emit(at, Kind::AllReduce { src, dst: src, comm });
                    }
                }
            }
        }
    }
    for &(program, instr, how) in &recipe.faults {
        let count = programs.len();
        let instrs = &mut programs[usize::from(program) % count].instrs;
        if instrs.is_empty() {
            continue;
        }
        let at = usize::from(instr) % instrs.len();
        match how % 8 {
            0 => drop(instrs.remove(at)),
            1 => instrs.insert(at, instrs[at].clone()),
            _ => {
                let gap = if how % 4 == 2 { 1 } else { 1 + usize::from(how) / 4 };
                let other = (at + gap) % instrs.len();
                instrs.swap(at, other);
            }
        }
    }
    let axes: Vec<Axis> = (0..sizes.len())
        .map(|a| Axis { name: ["x", "y", "z"][a].into(), size: sizes[a] })
        .collect();
    let mesh = Mesh::new(&axes);
    let class_of = |device: usize| {
        let coord = mesh.coord(device);
        let fits = |c: &Coords| c.iter().all(|&(axis, at)| coord[axis.index()] == at);
        ProgramId(classes.iter().position(fits).expect("classes cover the mesh") as u32)
    };
    let device_program = (0..mesh.devices()).map(class_of).collect();
    Plan { mesh: axes, programs, device_program, comms, ..Plan::default() }
}

/// The verifier's verdict; `None` if it has other complaints.
fn verdict(plan: &Plan, sends: Sends) -> Option<Verdict> {
    let faults = verify::verify_with(plan, &Options { sends, ..Options::default() });
    let is = |kinds: &[FaultKind]| faults.iter().any(|f| kinds.contains(&f.kind));
    if is(&[FaultKind::Structure, FaultKind::Comm, FaultKind::Shape]) {
        return None;
    }
    Some(if is(&[FaultKind::Pairing, FaultKind::Collective]) {
        Verdict::Mismatch
    } else if is(&[FaultKind::Deadlock]) {
        Verdict::Hangs
    } else {
        Verdict::Ends
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn classes_and_all_devices_agree(recipe in recipes()) {
        let plan = build(&recipe);
        for (sends, wait) in [(Sends::Rendezvous, true), (Sends::Buffered, false)] {
            if let Some(found) = verdict(&plan, sends) {
                prop_assert_eq!(found, play(&plan, wait), "{:?}\n{}", sends, print::plan(&plan));
            }
        }
    }
}

/// The property says something only if all verdicts occur, often.
#[test]
fn recipes_give_every_verdict() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut counts, mut refused, mut told_apart) = ([0; 3], 0, 0);
    for _ in 0..1000 {
        let recipe = recipes().new_tree(&mut runner).expect("no filter").current();
        let plan = build(&recipe);
        match verdict(&plan, Sends::Rendezvous) {
            Some(verdict) => counts[verdict as usize] += 1,
            None => refused += 1,
        }
        told_apart += usize::from(
            verdict(&plan, Sends::Rendezvous) == Some(Verdict::Hangs)
                && verdict(&plan, Sends::Buffered) == Some(Verdict::Ends),
        );
    }
    println!(
        "ends, mismatch, hangs: {counts:?}; refused: {refused}; ends with buffered sends only: {told_apart}"
    );
    assert!(counts.iter().all(|n| *n >= 30) && told_apart >= 10 && refused < 500);
}
