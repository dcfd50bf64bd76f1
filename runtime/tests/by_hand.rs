//! Hand-built plans: every kind of communication with known results, and everything that can go wrong.

use piper_plan::*;
use piper_runtime::*;
use std::time::Duration;

/// A plan over one axis `x`, all devices with the same buffers, written as text-like calls.
struct Hand {
    plan: Plan,
    instrs: Vec<Vec<Instr>>,
}

const X: AxisId = AxisId(0);

impl Hand {
    /// `buffers`: name, elements, persistent. Device `d`'s program is the `d`-th list of kinds.
    fn plan(n: u32, buffers: &[(&str, u64, bool)], programs: Vec<Vec<Kind>>) -> Plan {
        let mut hand = Hand { plan: Plan::default(), instrs: Vec::new() };
        for kinds in programs {
            let mut instrs = Vec::new();
            for kind in kinds {
                let line = instrs.len() as u32 + 1;
                let source = hand.plan.sources.add(
                    "hand.pir",
                    line,
                    3,
                    format!("op{line}"),
                    &format!("%{line} = some.op"),
                );
                instrs.push(Instr::new(0, source, kind));
            }
            hand.instrs.push(instrs);
        }
        hand.finish(n, buffers)
    }

    fn finish(self, n: u32, buffers: &[(&str, u64, bool)]) -> Plan {
        let mut plan = self.plan;
        plan.mesh = vec![Axis { name: "x".into(), size: n }];
        plan.comms =
            vec![Comm { name: "all".into(), members: (0..n).map(|d| vec![(X, d)]).collect() }];
        let (mut list, mut arena_bytes) = (Vec::new(), 0);
        for &(name, elems, persistent) in buffers {
            list.push(Buffer {
                name: name.into(),
                offset: arena_bytes,
                elems,
                dtype: DType::F32,
                persistent,
            });
            arena_bytes += (elems * 4).next_multiple_of(64);
        }
        for (at, instrs) in self.instrs.into_iter().enumerate() {
            plan.programs.push(Program {
                name: format!("p{at}"),
                arena_bytes,
                buffers: list.clone(),
                streams: vec!["main".into()],
                instrs,
                ..Program::default()
            });
        }
        let last = plan.programs.len() as u32 - 1;
        plan.device_program = (0..n).map(|d| ProgramId(d.min(last))).collect();
        plan.inputs = vec![Input {
            name: "in".into(),
            shape: vec![u64::from(n), list[0].elems],
            dtype: DType::F32,
        }];
        plan
    }
}

const A: BufferId = BufferId(0);
const B: BufferId = BufferId(1);

/// Row `x` of the input into `A`.
fn load() -> Kind {
    let first = Affine { base: 0, strides: vec![(X, 1)] };
    Kind::LoadInput { input: InputId(0), rows: RowMap { first, rows: 1 }, dst: A }
}

fn p2p(buf: BufferId, peer: u32) -> P2p {
    P2p { buf, peer: Peer { set: vec![(X, peer)] }, comm: CommId(0), tag: None }
}

/// Makes buffer `b` a tensor output `out{d}` of each device, so that results can be looked at.
fn show(plan: &mut Plan, b: BufferId) {
    for p in 0..plan.programs.len() {
        let buffer = plan.programs[p].buffer(b).clone();
        let home = Home {
            program: ProgramId(p as u32),
            buffer: b,
            shard: None,
            pieces: vec![Piece::whole(buffer.elems, 0)],
        };
        let kind = OutputKind::Tensor {
            shape: vec![buffer.elems],
            dtype: buffer.dtype,
            homes: vec![home],
        };
        plan.outputs.push(Output { name: format!("out{p}"), kind });
        let output = OutputId(plan.outputs.len() as u32 - 1);
        let store = Kind::StoreOutput { output, src: b, part: Affine::constant(0) };
        plan.programs[p].instrs.push(Instr::new(0, SourceId::UNKNOWN, store));
    }
}

/// Element `i` of row `d` in step `s`.
fn value(s: u64, d: usize, i: usize) -> f32 {
    ((s * 31) as f32 + d as f32 * 1.7 + i as f32 * 0.01).sin()
}

fn data(step: u64, input: &Input, into: SliceMut<'_>) -> Result<(), String> {
    let SliceMut::F32(into) = into else { return Err("not f32".into()) };
    let row = input.shape[1] as usize;
    into.iter_mut().enumerate().for_each(|(k, x)| *x = value(step, k / row, k % row));
    Ok(())
}

fn session(plan: Plan) -> Session {
    Session::load(plan, &Closures::new(), Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn floats(report: &StepReport, at: usize) -> Vec<f32> {
    match &report.outputs[at].1 {
        OutputValue::Tensor(t) => t.to_f64().iter().map(|&x| x as f32).collect(),
        OutputValue::Number(x) => panic!("a number: {x}"),
    }
}

#[test]
fn values_go_round_a_ring() {
    // Even devices send first, odd ones receive first: the ring is free of deadlock.
    let n = 6;
    let program = |d: u32| {
        let (next, last) = ((d + 1) % n, (d + n - 1) % n);
        let (send, recv) = (Kind::Send(p2p(A, next)), Kind::Recv(p2p(B, last)));
        if d.is_multiple_of(2) { vec![load(), send, recv] } else { vec![load(), recv, send] }
    };
    let mut plan =
        Hand::plan(n, &[("a", 5, false), ("b", 5, false)], (0..n).map(program).collect());
    show(&mut plan, B);
    let mut session = session(plan);
    for step in 1..=200 {
        let report = session.step(&data).unwrap();
        for d in 0..n as usize {
            let from = (d + n as usize - 1) % n as usize;
            let expected: Vec<f32> = (0..5).map(|i| value(step, from, i)).collect();
            assert_eq!(floats(&report, d), expected, "step {step} device {d}");
        }
    }
}

#[test]
fn a_group_exchanges_both_ways_at_once() {
    let program = |d: u32| {
        vec![
            load(),
            Kind::Group(vec![Transfer::Send(p2p(A, 1 - d)), Transfer::Recv(p2p(B, 1 - d))]),
        ]
    };
    let mut plan = Hand::plan(2, &[("a", 3, false), ("b", 3, false)], vec![program(0), program(1)]);
    show(&mut plan, B);
    let report = session(plan).step(&data).unwrap();
    assert_eq!(floats(&report, 0)[2], value(1, 1, 2));
    assert_eq!(floats(&report, 1)[0], value(1, 0, 0));
}

#[test]
fn collectives_are_right_small_and_shared_and_bitwise_repeatable() {
    for (n, elems) in [(1u32, 8u64), (2, 4), (3, 6), (4, 40_000), (5, 50_000)] {
        let part = elems / u64::from(n);
        let elems = part * u64::from(n);
        // a -> scatter to b -> gather to c; and d = all-reduce of a: c and d have to agree bit by bit.
        let (c, d) = (BufferId(2), BufferId(3));
        let comm = CommId(0);
        let kinds = || {
            vec![
                load(),
                Kind::ReduceScatter { src: A, dst: B, comm },
                Kind::AllGather { src: B, dst: c, comm },
                Kind::AllReduce { src: A, dst: d, comm },
                Kind::AllReduce { src: A, dst: A, comm },
            ]
        };
        let buffers =
            [("a", elems, false), ("b", part, false), ("c", elems, false), ("d", elems, false)];
        let mut plan = Hand::plan(n, &buffers, (0..n).map(|_| kinds()).collect());
        for buffer in [c, d, A] {
            show(&mut plan, buffer);
        }
        let mut session = session(plan);
        for step in 1..=3 {
            let report = session.step(&data).unwrap();
            let first = floats(&report, 0);
            for at in 1..3 * n as usize {
                assert_eq!(floats(&report, at), first, "{n} devices, output {at}");
            }
            for i in [0, elems as usize / 2, elems as usize - 1] {
                let exact: f64 = (0..n as usize).map(|d| f64::from(value(step, d, i))).sum();
                assert!((f64::from(first[i]) - exact).abs() < 1e-5, "{n} devices, element {i}");
            }
        }
    }
}

#[test]
fn all_to_all_moves_a_shard_from_one_dimension_to_another_and_back() {
    // A matrix of r x c, of which device d of n has columns d*c/n.. at first (as r x c/n), then rows d*r/n.. (as r/n x c).
    for (n, r, c) in [(1u64, 2u64, 3u64), (2, 4, 6), (3, 6, 3), (4, 16, 4096)] {
        let elems = r * c / n;
        let (rows, back, comm) = (B, BufferId(2), CommId(0));
        let kinds = || {
            vec![
                load(),
                // Parts are rows of the source, columns of the target, and the other way round.
                Kind::AllToAll { src: A, dst: rows, comm, src_runs: 1, dst_runs: r / n },
                Kind::AllToAll { src: rows, dst: back, comm, src_runs: r / n, dst_runs: 1 },
            ]
        };
        let buffers = [("a", elems, false), ("rows", elems, false), ("back", elems, false)];
        let mut plan = Hand::plan(n as u32, &buffers, (0..n).map(|_| kinds()).collect());
        show(&mut plan, rows);
        show(&mut plan, back);
        let mut session = session(plan);
        for step in 1..=2 {
            let report = session.step(&data).unwrap();
            for d in 0..n as usize {
                let (rows, back) = (floats(&report, d), floats(&report, n as usize + d));
                let columns = (c / n) as usize;
                for (at, got) in rows.iter().enumerate() {
                    let (row, column) = (at / c as usize + d * (r / n) as usize, at % c as usize);
                    let from = column / columns;
                    assert_eq!(*got, value(step, from, row * columns + column % columns));
                }
                for (at, got) in back.iter().enumerate() {
                    assert_eq!(*got, value(step, d, at));
                }
            }
        }
    }
}

fn hangs(plan: Plan, options: Options) -> String {
    assert!(matches!(
        Session::load(plan.clone(), &Closures::new(), Options::default()),
        Err(LoadError::Unsafe { .. })
    ));
    let mut session =
        Session::load(plan, &Closures::new(), Options { allow_hangs: true, ..options })
            .unwrap_or_else(|e| panic!("{e}"));
    let error = session.step(&data).unwrap_err();
    assert!(matches!(error, StepError::Deadlock { .. }), "{error}");
    assert!(matches!(session.step(&data), Err(StepError::Poisoned)));
    error.to_string()
}

#[test]
fn a_deadlock_is_reported_with_both_sides_and_their_lines() {
    let program = |d: u32| vec![load(), Kind::Send(p2p(A, 1 - d)), Kind::Recv(p2p(B, 1 - d))];
    let mut plan = Hand::plan(2, &[("a", 3, false), ("b", 3, false)], vec![program(0), program(1)]);
    show(&mut plan, B);
    let text = hangs(plan, Options::default());
    assert!(
        text.contains("{x=0} waits for {x=1} in\n  @p0 #1 send")
            && text.contains("{x=1} waits for {x=0}"),
        "{text}"
    );
    assert!(text.contains("hand.pir:2:3: op2\n    | %2 = some.op"), "{text}");
}

#[test]
fn a_missing_partner_is_reported_while_others_finish() {
    let mut plan = Hand::plan(
        3,
        &[("a", 3, false), ("b", 3, false)],
        vec![vec![load()], vec![load(), Kind::Recv(p2p(B, 2))], vec![load()]],
    );
    show(&mut plan, A);
    let store = plan.programs[1].instrs[2].clone();
    assert!(matches!(store.kind, Kind::StoreOutput { .. }));
    plan.programs[1].buffers[1].persistent = true;
    let text = hangs(plan, Options::default());
    assert!(text.contains("{x=1} waits for {x=2} in") && !text.contains("{x=0} waits"), "{text}");
}

/// One device that launches `kernel` on a persistent buffer; the other does all-reduces with it.
fn with_kernel() -> Plan {
    let launch = Kind::Launch { kernel: KernelId(0), args: vec![A], scalars: vec![ScalarId(0)] };
    let reduce = Kind::AllReduce { src: A, dst: A, comm: CommId(0) };
    let mut plan =
        Hand::plan(2, &[("a", 3, true)], vec![vec![launch, reduce.clone()], vec![reduce]]);
    let param = Param { mode: Mode::ReadWrite, dtype: DType::F32, elems: 3 };
    plan.kernels = vec![KernelDecl {
        symbol: "k".into(),
        params: vec![param],
        scalars: 1,
        workspace_bytes: 0,
        cost: None,
    }];
    plan.scalars = vec![Scalar { name: "step".into(), source: ScalarSource::Step }];
    let home = |p| Home {
        program: ProgramId(p),
        buffer: A,
        shard: None,
        pieces: vec![Piece::whole(3, 0)],
    };
    plan.states.tensors = vec![State {
        name: "w".into(),
        shape: vec![3],
        dtype: DType::F32,
        init: Init::Ones,
        homes: vec![home(0), home(1)],
    }];
    plan
}

#[test]
fn kernels_get_buffers_and_scalars_and_state_is_read_back() {
    let library = Closures::new().with("k", |args, scalars| {
        let [Arg::Write(SliceMut::F32(a))] = args else { return Err("arguments".into()) };
        a.iter_mut().for_each(|x| *x += scalars[0] as f32);
        Ok(())
    });
    let mut session =
        Session::load(with_kernel(), &library, Options { trace: true, ..Options::default() })
            .unwrap();
    assert_eq!(session.state("w").unwrap().to_f64(), [1.0; 3]);
    session.step(&data).unwrap(); // (1 + 1) + 1
    let report = session.step(&data).unwrap(); // (3 + 2) + 3
    assert_eq!(session.state("w").unwrap().to_f64(), [8.0; 3]);
    assert_eq!((report.devices[0].instructions, report.devices[1].instructions), (2, 1));
    assert_eq!((session.memory()[0].planned, session.memory()[0].used), (64, 12));
    let trace: serde_json::Value = serde_json::from_str(&session.trace_json()).unwrap();
    let spans = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X");
    assert_eq!(spans.clone().count(), 6);
    assert!(spans.clone().any(|e| e["name"] == "op1" && e["args"]["source"] == "hand.pir:1:3"));
    // State can be replaced, and replicas that differ are noticed.
    let mut value = session.state("w").unwrap();
    value.bytes[..4].copy_from_slice(&5f32.to_ne_bytes());
    session.set_state("w", &value).unwrap();
    assert_eq!(session.state("w").unwrap().to_f64(), [5.0, 8.0, 8.0]);
    value.shape = vec![4];
    assert!(matches!(session.set_state("w", &value), Err(ReadBackError::Mismatch { .. })));
    assert!(matches!(session.state("v"), Err(ReadBackError::Unknown(_))));
}

#[test]
fn replicas_that_differ_are_noticed() {
    let mut plan = with_kernel();
    plan.programs[0].instrs.truncate(1); // the kernel changes one replica only
    plan.programs[1].instrs.clear();
    let library = Closures::new().with("k", |args, _| {
        let [Arg::Write(SliceMut::F32(a))] = args else { return Err("arguments".into()) };
        a[1] = 7.0;
        Ok(())
    });
    let mut session = Session::load(plan, &library, Options::default()).unwrap();
    session.step(&data).unwrap();
    let text = session.state("w").unwrap_err().to_string();
    assert!(text.contains("element 1 is 7e0 on {x=0} and 1e0 on {x=1}"), "{text}");
}

#[test]
fn a_failing_or_panicking_kernel_fails_the_step_and_releases_the_others() {
    let fails = Closures::new().with("k", |_, _| Err("token 300 of 256".into()));
    let panics = Closures::new().with("k", |_, _| panic!("out of cheese"));
    for (library, message) in [(fails, "token 300 of 256"), (panics, "panicked: out of cheese")] {
        let mut session = Session::load(with_kernel(), &library, Options::default()).unwrap();
        let error = session.step(&data).unwrap_err();
        assert!(matches!(error, StepError::Device { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(message) && text.contains("{x=0}") && text.contains("hand.pir:1:3: op1"),
            "{text}"
        );
        assert!(matches!(session.step(&data), Err(StepError::Poisoned)));
    }
}

#[test]
fn the_watchdog_names_a_kernel_that_does_not_return() {
    let sleeps = Closures::new().with("k", |_, _| {
        std::thread::sleep(Duration::from_millis(700));
        Ok(())
    });
    let options = Options { timeout: Duration::from_millis(100), ..Options::default() };
    let mut session = Session::load(with_kernel(), &sleeps, options).unwrap();
    let error = session.step(&data).unwrap_err();
    assert!(matches!(error, StepError::Timeout { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("{x=0} is still in\n  @p0 #0 launch")
            && text.contains("{x=1} waits for {x=0} in"),
        "{text}"
    );
}

#[test]
fn bad_data_and_stop_requests_leave_the_session_usable() {
    let mut plan = Hand::plan(1, &[("a", 3, false)], vec![vec![load()]]);
    show(&mut plan, A);
    let options = Options::default();
    let stop = options.stop.clone();
    let mut session = Session::load(plan, &Closures::new(), options).unwrap();
    let bad = |_: u64, _: &Input, _: SliceMut<'_>| Err("the file ends".to_owned());
    assert_eq!(session.step(&bad).unwrap_err().to_string(), "input in: the file ends");
    assert_eq!(session.step(&data).unwrap().step, 1);
    stop.raise();
    assert!(matches!(session.step(&data), Err(StepError::Stopped { step: 2 })));
    assert_eq!(session.steps(), 1);
}

#[test]
fn contributions_add_up_in_the_order_of_their_parts_and_replicas_count_once() {
    for replicated in [false, true] {
        let part = Affine { base: 0, strides: if replicated { vec![] } else { vec![(X, 1)] } };
        let store =
            |part: &Affine| Kind::StoreOutput { output: OutputId(0), src: A, part: part.clone() };
        let mut plan = Hand::plan(
            4,
            &[("a", 1, false)],
            vec![vec![Kind::Fill { dst: A, value: 0.25 }, store(&part)]],
        );
        plan.outputs = vec![Output { name: "loss".into(), kind: OutputKind::Scalar }];
        let report = session(plan).step(&data).unwrap();
        assert_eq!(report.number("loss"), Some(if replicated { 0.25 } else { 1.0 }));
    }
}

#[test]
fn a_shared_object_that_is_none_is_refused() {
    assert!(matches!(NativeLibrary::of_bytes(b"no code"), Err(LibraryError::Load(_))));
    let foreign = Plan {
        misc: Misc { target: "pdp11-dec-unix".into(), ..Misc::default() },
        ..Plan::default()
    };
    assert!(matches!(NativeLibrary::of_plan(&foreign), Err(LibraryError::Target { .. })));
    assert!(matches!(NativeLibrary::of_plan(&Plan::default()), Err(LibraryError::NoCode)));
}

#[test]
fn sharded_buckets_start_from_the_initial_values_and_are_gathered() {
    // Two tensors of 5 and 2 elements in a bucket of 8, half of it on each device; the last element is padding.
    let init = Init::Normal { mean: 0.0, std: 1.0 };
    let mut plan = Hand::plan(2, &[("p", 4, true)], vec![vec![]]);
    let tensor = |name: &str, len: u64, at: u64| State {
        name: name.into(),
        shape: vec![len],
        dtype: DType::F32,
        init,
        homes: vec![Home {
            program: ProgramId(0),
            buffer: A,
            shard: Some(Shard { comm: CommId(0) }),
            pieces: vec![Piece::whole(len, at)],
        }],
    };
    plan.states.tensors = vec![tensor("u", 5, 0), tensor("v", 2, 5)];
    let mut session = session(plan);
    for (name, len) in [("u", 5), ("v", 2)] {
        let expected: Vec<f64> =
            (0..len).map(|i| f64::from(init.values(name, 0).at(i) as f32)).collect();
        assert_eq!(session.state(name).unwrap().to_f64(), expected);
        let mut value = session.state(name).unwrap();
        value.bytes.iter_mut().for_each(|b| *b = 0);
        session.set_state(name, &value).unwrap();
        assert_eq!(session.state(name).unwrap(), value);
    }
}

#[test]
fn partitions_of_workers_that_a_device_does_not_have_are_refused() {
    let partition = |name: &str, method, size, stream: &str| piper_plan::Partition {
        name: name.into(),
        method,
        size,
        total: 132,
        arch: if method == piper_plan::Method::Workers { "cpu" } else { "sm_90" }.into(),
        streams: vec![stream.into()],
        ..piper_plan::Partition::default()
    };
    let library = Closures::new().with("k", |_, _| Ok(()));
    let load_with = |partitions, threads_per_device| {
        let plan = Plan { partitions, ..with_kernel() };
        let options = Options { threads_per_device, ..Options::default() };
        Session::load(plan, &library, options).map(|_| ())
    };
    let load = |partitions| load_with(partitions, 1);
    let workers = piper_plan::Method::Workers;
    let both = vec![partition("a", workers, 1, "x"), partition("b", workers, 1, "y")];
    let two = load(both.clone());
    assert!(matches!(two, Err(LoadError::Workers { workers: 2, threads: 1 })), "{two:?}");
    load_with(both, 2).expect("a device has two threads");
    for threads in [0, MOST_THREADS + 1] {
        let none = load_with(vec![], threads).expect_err("no such number of threads");
        assert_eq!(none.to_string(), format!("a device has 1 to 1024 threads, not {threads}"));
    }
    load(vec![partition("a", workers, 1, "x")]).expect("a device has a thread");
    // Multiprocessors of another machine are no promise of this one.
    load(vec![partition("a", piper_plan::Method::Green, 24, "x")]).expect("runs here too");
}
