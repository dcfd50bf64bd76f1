//! Cost of an instruction when kernels do nothing: `cargo bench -p piper-runtime`. Criterion's figure is per instruction.

#![allow(unsafe_code)]
#![allow(missing_docs)] // criterion makes a public function

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use piper_plan::*;
use piper_runtime::*;

unsafe extern "C" fn nothing(_: *const *mut u8, _: *const f64, _: *mut u8) {}

struct Empty;

impl KernelLibrary for Empty {
    fn kernel(&self, _: &KernelDecl) -> Result<Kernel, String> {
        Ok(Kernel::Native { entry: nothing, parts: None, keep: None })
    }
}

const LAUNCHES: usize = 10_000;

/// `devices` devices that each launch; with `transfers`, every tenth instruction is a transfer to a neighbour.
fn plan(devices: u32, transfers: bool) -> Plan {
    let a = BufferId(0);
    let program = |d: u32| {
        let peer = Peer { set: vec![(AxisId(0), d ^ 1)] };
        let instrs = (0..LAUNCHES).map(|i| {
            let p2p = || P2p { buf: a, peer: peer.clone(), comm: CommId(0), tag: None };
            let kind = match i % 10 {
                5 if transfers && d.is_multiple_of(2) => Kind::Send(p2p()),
                5 if transfers => Kind::Recv(p2p()),
                _ => Kind::Launch { kernel: KernelId(0), args: vec![a, a, a], scalars: vec![] },
            };
            Instr::new(0, SourceId::UNKNOWN, kind)
        });
        Program {
            name: format!("p{d}"),
            arena_bytes: 64,
            buffers: vec![Buffer {
                name: "a".into(),
                offset: 0,
                elems: 16,
                dtype: DType::F32,
                persistent: true,
            }],
            streams: vec!["main".into()],
            instrs: instrs.collect(),
            ..Program::default()
        }
    };
    let param = Param { mode: Mode::Read, dtype: DType::F32, elems: 16 };
    Plan {
        mesh: vec![Axis { name: "x".into(), size: devices }],
        programs: (0..devices).map(program).collect(),
        device_program: (0..devices).map(ProgramId).collect(),
        comms: vec![Comm { name: "c".into(), members: vec![] }],
        kernels: vec![KernelDecl {
            symbol: "nothing".into(),
            params: vec![param.clone(), param.clone(), param],
            scalars: 0,
            workspace_bytes: 0,
            cost: None,
        }],
        ..Plan::default()
    }
}

fn overhead(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("instruction");
    for (name, devices, transfers, trace) in [
        ("launch", 1, false, false),
        ("launch traced", 1, false, true),
        ("launch", 8, false, false),
        ("launch and transfer", 2, true, false),
        ("launch and transfer", 8, true, false),
    ] {
        let options = Options { trace, ..Options::default() };
        let mut session =
            Session::load(plan(devices, transfers), &Empty, options).expect("the plan is right");
        group.throughput(Throughput::Elements(LAUNCHES as u64 * u64::from(devices)));
        group.sample_size(20);
        group.bench_function(BenchmarkId::new(name, devices), |b| {
            b.iter(|| {
                session
                    .step(&|_: u64, _: &Input, _: SliceMut<'_>| Ok(()))
                    .expect("nothing can fail")
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    // Short: traces of long runs would fill the memory.
    config = Criterion::default().warm_up_time(std::time::Duration::from_millis(200)).measurement_time(std::time::Duration::from_secs(1));
    targets = overhead
}
criterion_main!(benches);
