//! The back end on the [stand-ins](../../docs/standin.md): every kind of communication beside the threads runtime, and faults with their place.
//!
//! Libraries are found when a process starts, so each test runs this program once more with its other half.

use piper_cuda::{CudaError, Gemm, Options, Session, World};
use piper_plan::*;
use piper_runtime::{KernelLibrary, SliceMut, StepError, StepReport};

/// Tells the other half that it is wanted.
const INNER: &str = "PIPER_CUDA_TEST_INNER";

/// Runs a test of this file with the stand-ins, for so many devices.
fn on_standins(test: &str, devices: usize, seed: Option<u64>) {
    let program = std::env::current_exe().expect("this program");
    let mut command = piper_standin::command(program).expect("the stand-ins are built");
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(INNER, "1");
    command.env("PIPER_STANDIN_DEVICES", devices.to_string()).env("PIPER_STANDIN_CHIP", "sm_80");
    if let Some(seed) = seed {
        command.env("PIPER_STANDIN_SEED", seed.to_string());
    }
    let output = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
}

fn is_inner() -> bool {
    std::env::var_os(INNER).is_some()
}

const X: AxisId = AxisId(0);
const DEVICES: u32 = 4;
/// Elements of a row of the input.
const ROW: u64 = 24;

/// Four devices, each with a program of its own, which differ in their peers.
struct Maker {
    plan: Plan,
    dtype: DType,
}

impl Maker {
    fn new(dtype: DType) -> Self {
        let members = (0..DEVICES).map(|d| vec![(X, d)]).collect();
        let pairs = (0..DEVICES / 2).map(|d| vec![(AxisId(0), d)]).collect();
        let comm = |name: &str, members| Comm { name: name.into(), members };
        let mut plan = Plan {
            mesh: vec![Axis { name: "x".into(), size: DEVICES }],
            comms: vec![comm("all", members), comm("ring", vec![]), comm("low", pairs)],
            inputs: vec![Input { name: "in".into(), shape: vec![u64::from(DEVICES), ROW], dtype }],
            ..Plan::default()
        };
        for d in 0..DEVICES {
            plan.programs.push(Program {
                name: format!("p{d}"),
                coord: vec![(X, d)],
                streams: vec!["main".into(), "comm".into()],
                events: 2,
                ..Program::default()
            });
            plan.device_program.push(ProgramId(d));
        }
        Self { plan, dtype }
    }

    /// A buffer of every program.
    fn buffer(&mut self, name: &str, elems: u64) -> BufferId {
        let dtype = self.dtype;
        for program in &mut self.plan.programs {
            let offset = program.arena_bytes;
            let buffer = Buffer { name: name.into(), offset, elems, dtype, persistent: false };
            program.arena_bytes += buffer.bytes().next_multiple_of(64);
            program.buffers.push(buffer);
        }
        BufferId(self.plan.programs[0].buffers.len() as u32 - 1)
    }

    /// An instruction of every program.
    fn put(&mut self, stream: u16, kind: impl Fn(u32) -> Kind) {
        for (d, program) in self.plan.programs.iter_mut().enumerate() {
            let line = program.instrs.len() as u32 + 1;
            let source =
                self.plan.sources.add("hand.pir", line, 3, format!("op{line}"), "%x = some.op");
            program.instrs.push(Instr::new(stream, source, kind(d as u32)));
        }
    }

    /// Stores a buffer of every device, one after the other.
    fn store(&mut self, buffer: BufferId) {
        let elems = self.plan.programs[0].buffer(buffer).elems;
        let start = Affine { base: 0, strides: vec![(X, elems)] };
        let piece = Piece { start, step: 0, bucket: 0, len: elems, count: 1 };
        let homes = (0..DEVICES).map(|d| Home {
            program: ProgramId(d),
            buffer,
            shard: None,
            pieces: vec![piece.clone()],
        });
        let output = OutputId(self.plan.outputs.len() as u32);
        self.plan.outputs.push(Output {
            name: format!("out{}", output.0),
            kind: OutputKind::Tensor {
                shape: vec![u64::from(DEVICES) * elems],
                dtype: self.dtype,
                homes: homes.collect(),
            },
        });
        self.put(0, |_| Kind::StoreOutput { output, src: buffer, part: Affine::constant(0) });
    }
}

/// Every kind of communication, copies and fills, on two streams.
fn everything(dtype: DType) -> Plan {
    let mut m = Maker::new(dtype);
    let n = u64::from(DEVICES);
    let (src, copy, filled) = (m.buffer("src", ROW), m.buffer("copy", ROW), m.buffer("filled", 5));
    let (sum, part, all) = (m.buffer("sum", ROW), m.buffer("part", ROW / n), m.buffer("all", ROW));
    let (turned, runs) = (m.buffer("turned", ROW), m.buffer("runs", ROW));
    let (next, back) = (m.buffer("next", ROW), m.buffer("back", ROW));
    let comm = CommId(0);
    let rows = RowMap { first: Affine { base: 0, strides: vec![(X, 1)] }, rows: 1 };
    m.put(0, |_| Kind::LoadInput { input: InputId(0), rows: rows.clone(), dst: src });
    m.put(0, |_| Kind::Copy { src, dst: copy });
    m.put(0, |_| Kind::Fill { dst: filled, value: 1.5 });
    m.put(0, |_| Kind::Record { event: EventId(0) });
    m.put(1, |_| Kind::Wait { event: EventId(0) });
    m.put(1, |_| Kind::AllReduce { src, dst: sum, comm });
    m.put(1, |_| Kind::ReduceScatter { src, dst: part, comm });
    m.put(1, |_| Kind::AllGather { src: part, dst: all, comm });
    m.put(1, |_| Kind::AllToAll { src, dst: turned, comm, src_runs: 1, dst_runs: 1 });
    let p2p = |buf, d: u32| P2p {
        buf,
        peer: Peer { set: vec![(X, d % DEVICES)] },
        comm: CommId(1),
        tag: None,
    };
    m.put(0, |d| {
        Kind::Group(vec![
            Transfer::Send(p2p(src, d + 1)),
            Transfer::Recv(p2p(next, d + DEVICES - 1)),
        ])
    });
    m.put(1, |_| Kind::AllToAll { src, dst: runs, comm, src_runs: 3, dst_runs: 2 });
    m.put(1, |d| match d % 2 {
        0 => Kind::Send(p2p(src, d + 1)),
        _ => Kind::Recv(p2p(back, d - 1)),
    });
    m.put(1, |d| match d % 2 {
        0 => Kind::Recv(p2p(back, d + 1)),
        _ => Kind::Send(p2p(src, d - 1)),
    });
    m.put(1, |_| Kind::Record { event: EventId(1) });
    m.put(0, |_| Kind::Wait { event: EventId(1) });
    for buffer in [copy, filled, sum, all, turned, runs, next, back] {
        m.store(buffer);
    }
    m.plan
}

/// Small whole numbers, which every type adds exactly.
fn data(step: u64, _: &Input, into: SliceMut<'_>) -> Result<(), String> {
    let value = |at: usize| ((at as u64 * 7 + step * 3) % 11) as f64 - 5.0;
    match into {
        SliceMut::F32(v) => v.iter_mut().enumerate().for_each(|(at, x)| *x = value(at) as f32),
        SliceMut::F64(v) => v.iter_mut().enumerate().for_each(|(at, x)| *x = value(at)),
        SliceMut::I32(v) => v.iter_mut().enumerate().for_each(|(at, x)| *x = value(at) as i32),
        SliceMut::Bf16(v) => v.iter_mut().enumerate().for_each(|(at, x)| {
            *x = ((value(at) as f32).to_bits() >> 16) as u16;
        }),
    }
    Ok(())
}

/// No kernels.
struct None_;

impl KernelLibrary for None_ {
    fn kernel(&self, decl: &KernelDecl) -> Result<piper_runtime::Kernel, String> {
        Err(format!("there is no {}", decl.symbol))
    }
}

fn on_threads(plan: &Plan, steps: u64) -> Vec<StepReport> {
    let options = piper_runtime::Options::default();
    let mut session = piper_runtime::Session::load(plan.clone(), &None_, options).unwrap();
    (0..steps).map(|_| session.step(&data).unwrap()).collect()
}

fn on_gpus(plan: &Plan, steps: u64, options: Options) -> Vec<StepReport> {
    let ptx = Ptx { chip: "sm_80".into(), ..Ptx::default() };
    let plan = Plan { code: Code::Ptx(ptx), ..plan.clone() };
    let mut session = Session::load(plan, options).unwrap();
    (0..steps).map(|_| session.step(&data).unwrap()).collect()
}

fn same(ours: &[StepReport], theirs: &[StepReport]) {
    for (ours, theirs) in ours.iter().zip(theirs) {
        for ((name, ours), (_, theirs)) in ours.outputs.iter().zip(&theirs.outputs) {
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

#[test]
fn communication_gives_what_it_gives_between_threads() {
    on_standins("inner_communication", 4, None);
    on_standins("inner_communication", 4, Some(5));
}

#[test]
#[ignore = "the other half of a test"]
fn inner_communication() {
    if !is_inner() {
        return;
    }
    for dtype in [DType::F32, DType::F64, DType::Bf16] {
        let plan = everything(dtype);
        let faults = verify(&plan);
        assert!(faults.is_empty(), "{}", faults[0].render(&plan));
        same(&on_gpus(&plan, 2, Options::default()), &on_threads(&plan, 2));
    }
}

#[test]
fn communication_is_replayed_as_a_graph() {
    on_standins("inner_graph", 4, Some(6));
}

#[test]
#[ignore = "the other half of a test"]
fn inner_graph() {
    if !is_inner() {
        return;
    }
    let plan = everything(DType::F32);
    let options = Options { graphs: true, ..Options::default() };
    same(&on_gpus(&plan, 4, options), &on_threads(&plan, 4));
}

/// A plan of one device that launches two kernels, of which the second writes where nothing is.
fn faulty(text: &str, entry: &str) -> Plan {
    let kernel = |symbol: &str| KernelDecl {
        symbol: symbol.into(),
        params: vec![Param { mode: Mode::Write, dtype: DType::F32, elems: 1 }],
        scalars: 0,
        workspace_bytes: 0,
        cost: None,
    };
    let buffer = |name: &str, offset| Buffer {
        name: name.into(),
        offset,
        elems: 1,
        dtype: DType::F32,
        persistent: true,
    };
    let stage = |entry: &str| PtxLaunches {
        stages: vec![PtxStage { entry: entry.into(), grid: [1, 1, 1], block: 1, shared_bytes: 0 }],
        product: None,
    };
    let mut plan = Plan {
        device_program: vec![ProgramId(0)],
        kernels: vec![kernel("good"), kernel("bad")],
        code: Code::Ptx(Ptx {
            chip: "sm_80".into(),
            text: text.into(),
            kernels: vec![stage("good"), stage(entry)],
        }),
        ..Plan::default()
    };
    let mut launch = |at: u32| {
        let source = plan.sources.add("hand.pir", at + 1, 3, format!("op{at}"), "%x = some.op");
        let args = vec![BufferId(at)];
        Instr::new(0, source, Kind::Launch { kernel: KernelId(at), args, scalars: vec![] })
    };
    let instrs = vec![launch(0), launch(1)];
    plan.programs = vec![Program {
        name: "p".into(),
        arena_bytes: 128,
        buffers: vec![buffer("a", 0), buffer("b", 64)],
        streams: vec!["main".into()],
        instrs,
        ..Program::default()
    }];
    plan
}

const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry good(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 1;
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry bad(.param .u64 p) {
  .reg .b64 %rd<4>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  add.s64 %rd3, %rd2, 16777216;
  mov.u32 %r1, 1;
  st.global.u32 [%rd3], %r1;
  ret;
}
";

fn fault_of(options: Options) -> StepError {
    let mut session = Session::load(faulty(PTX, "bad"), options).unwrap();
    let error = session.step(&data).unwrap_err();
    assert!(matches!(session.step(&data), Err(StepError::Poisoned)));
    error
}

#[test]
fn a_launch_that_writes_where_nothing_is_is_named() {
    on_standins("inner_fault", 1, None);
    on_standins("inner_fault_late", 1, None);
}

#[test]
#[ignore = "the other half of a test"]
fn inner_fault() {
    if !is_inner() {
        return;
    }
    let said = fault_of(Options { check_each: true, ..Options::default() }).to_string();
    assert!(said.contains("ILLEGAL_ADDRESS"), "{said}");
    assert!(said.contains("@p #1 launch") && said.contains("hand.pir:2:3"), "{said}");
}

#[test]
#[ignore = "the other half of a test"]
fn inner_fault_late() {
    if !is_inner() {
        return;
    }
    let said = fault_of(Options::default()).to_string();
    assert!(said.contains("ILLEGAL_ADDRESS") && said.contains("--check-launches"), "{said}");
}

#[test]
fn code_that_cannot_be_loaded_is_told_with_what_the_driver_says() {
    on_standins("inner_code", 1, None);
}

#[test]
#[ignore = "the other half of a test"]
fn inner_code() {
    if !is_inner() {
        return;
    }
    let load = |plan: Plan| Session::load(plan, Options::default()).err().unwrap();
    let wrong = load(faulty(&PTX.replace(".reg .b64 %rd<3>;", ".reg .b63 %rd<3>;"), "bad"));
    assert!(matches!(&wrong, CudaError::Ptx { .. }), "{wrong}");
    let wrong = load(faulty(&PTX.replace("st.global.u32", "st.global.u33"), "bad"));
    assert!(matches!(&wrong, CudaError::Ptx { .. }), "{wrong}");
    let missing = load(faulty(PTX, "absent"));
    assert_eq!(missing.to_string(), "the plan's PTX has no entry absent of kernel bad");
    let newer = load(faulty(&PTX.replace(".version 8.0", ".version 9.9"), "bad"));
    assert!(newer.to_string().contains("PTX 9.9 needs 13.9: update the driver"), "{newer}");
    let none = Plan { code: Code::None, ..faulty(PTX, "bad") };
    assert!(load(none).to_string().contains("carries no code, not PTX"));
}

/// A plan of two devices that do nothing.
fn on_two_devices(arena_bytes: u64, buffers: Vec<Buffer>) -> Plan {
    Plan {
        mesh: vec![Axis { name: "x".into(), size: 2 }],
        programs: vec![Program {
            name: "p".into(),
            arena_bytes,
            buffers,
            streams: vec!["main".into()],
            ..Program::default()
        }],
        device_program: vec![ProgramId(0); 2],
        code: Code::Ptx(Ptx { chip: "sm_80".into(), ..Ptx::default() }),
        ..Plan::default()
    }
}

#[test]
fn what_is_said_to_be_a_product_without_parameters_is_not_taken() {
    on_standins("inner_product", 1, None);
}

#[test]
#[ignore = "the other half of a test"]
fn inner_product() {
    if !is_inner() {
        return;
    }
    let mut plan = faulty(PTX, "bad");
    plan.kernels[1].params.clear();
    if let Kind::Launch { args, .. } = &mut plan.programs[0].instrs[1].kind {
        args.clear();
    }
    let Code::Ptx(ptx) = &mut plan.code else { panic!("PTX") };
    // With what follows its sums its parameters are not checked against its sizes.
    ptx.kernels[1].product = Some(Product { epilogue: true, ..Product::default() });
    let options = Options { gemm: Gemm::CublasLt, ..Options::default() };
    let said = Session::load(plan, options).unwrap().remarks().concat();
    assert!(said.contains("computes 0 of 1 matrix products"), "{said}");
    assert!(said.contains("kept 1 for what follows their sums"), "{said}");
}

#[test]
fn a_partition_is_told_of_cublaslt_if_that_computes_there() {
    on_standins("inner_partitions", 1, None);
}

/// Two partitions of grids: in one a product that cuBLASLt takes, in the other one that is kept.
#[test]
#[ignore = "the other half of a test"]
fn inner_partitions() {
    if !is_inner() {
        return;
    }
    let text = format!(
        "{PTX}.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 c) {{ ret; }}\n"
    );
    let mut plan = faulty(&text, "product");
    let partition = |name: &str, size| Partition {
        name: name.into(),
        method: Method::Grid,
        size,
        total: 108,
        arch: "sm_80".into(),
        streams: vec![name.into()],
        ..Partition::default()
    };
    plan.partitions = vec![partition("kept", 6), partition("taken", 2)];
    let operand = |mode| Param { mode, dtype: DType::F32, elems: 1 };
    plan.kernels[1].params = vec![operand(Mode::Read), operand(Mode::Read), operand(Mode::Write)];
    let program = &mut plan.programs[0];
    program.streams = vec!["kept".into(), "taken".into()];
    program.arena_bytes = 256;
    for (name, offset) in [("c", 128), ("d", 192)] {
        program.buffers.push(Buffer { name: name.into(), offset, ..program.buffers[0].clone() });
    }
    program.instrs[1].stream = 1;
    if let Kind::Launch { args, .. } = &mut program.instrs[1].kind {
        *args = vec![BufferId(1), BufferId(2), BufferId(3)];
    }
    let Code::Ptx(ptx) = &mut plan.code else { panic!("PTX") };
    let product = Product { m: 1, n: 1, k: 1, batch: 1, ..Product::default() };
    ptx.kernels[0].product = Some(Product { epilogue: true, ..product });
    ptx.kernels[1].product = Some(product);
    let options = |gemm| Options { gemm, ..Options::default() };
    let said = |gemm| Session::load(plan.clone(), options(gemm)).unwrap().remarks();
    let keep = |name: &str, size: u32| {
        format!(
            "partition {name}: its communicators keep to whatever NCCL takes, its kernels to {size} blocks"
        )
    };
    let own = [keep("kept", 6), keep("taken", 2)];
    assert_eq!(said(Gemm::Own), own);
    let asked = "; cuBLASLt is asked to fill 2 multiprocessors, but chooses its own grids";
    let [kept, taken, counted] = &said(Gemm::CublasLt)[..] else { panic!("three remarks") };
    assert_eq!((kept, taken), (&own[0], &format!("{}{asked}", own[1])));
    assert!(counted.contains("computes 1 of 2 matrix products"), "{counted}");
}

#[test]
fn a_trace_that_another_process_does_not_give_its_part_of_is_lost() {
    on_standins("inner_lost_trace", 2, None);
}

#[test]
#[ignore = "the other half of a test"]
fn inner_lost_trace() {
    if !is_inner() {
        return;
    }
    // A port that was free a moment ago.
    let place = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plan = on_two_devices(0, vec![]);
    let load = |rank| {
        let world = World { rank, size: 2, local_rank: rank, address: place.to_string() };
        let options = Options { world, trace: true, ..Options::default() };
        Session::load(plan.clone(), options).unwrap()
    };
    let said = std::thread::scope(|scope| {
        let other = scope.spawn(|| drop(load(1)));
        let first = load(0);
        other.join().unwrap();
        first.trace_json().unwrap_err().to_string()
    });
    assert!(said.contains("rank 1"), "{said}");
}

#[test]
fn state_is_read_and_replaced() {
    on_standins("inner_state", 2, None);
}

#[test]
#[ignore = "the other half of a test"]
fn inner_state() {
    if !is_inner() {
        return;
    }
    let comm = Comm { name: "x".into(), members: vec![vec![(X, 0)], vec![(X, 1)]] };
    let home = Home {
        program: ProgramId(0),
        buffer: BufferId(0),
        shard: Some(Shard { comm: CommId(0) }),
        pieces: vec![Piece::whole(5, 1)],
    };
    let state = State {
        name: "w".into(),
        shape: vec![5],
        dtype: DType::F32,
        init: Init::Uniform { low: 0.0, high: 1.0 },
        homes: vec![home],
    };
    let buffer =
        Buffer { name: "shard".into(), offset: 0, elems: 3, dtype: DType::F32, persistent: true };
    let mut plan = on_two_devices(64, vec![buffer]);
    plan.comms = vec![comm];
    plan.states.tensors = vec![state];
    let on_threads = Plan { code: Code::None, ..plan.clone() };
    let threads =
        piper_runtime::Session::load(on_threads, &None_, piper_runtime::Options::default())
            .unwrap();
    let mut gpus = Session::load(plan, Options::default()).unwrap();
    let initial = gpus.state("w").unwrap();
    assert_eq!(initial, threads.state("w").unwrap());
    let mut other = initial.clone();
    other.bytes.reverse();
    gpus.set_state("w", &other).unwrap();
    assert_eq!(gpus.state("w").unwrap(), other);
    assert!(gpus.state("v").is_err());
    let memory = gpus.memory().unwrap();
    assert_eq!(memory.len(), 2);
    assert_eq!((memory[0].1.planned, memory[0].1.used), (64, 12));
}
