//! Machine code from a shared object in the plan, written by the system's C compiler (the one Rust links with).

use piper_plan::*;
use piper_runtime::*;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const SOURCE: &str = r#"
const unsigned long axpy$split[4] = {3, 64, 64, 1};
void axpy$part(char *const *bufs, const double *scalars, char *workspace, unsigned long part, unsigned long parts) {
    const float *x = (const float *)bufs[0];
    float *t = (float *)workspace, *own = (float *)(workspace + 64 + 64 * part);
    for (unsigned long i = 5 * part / parts; i < 5 * (part + 1) / parts; i++) {
        own[i] = (float)scalars[0] * x[i];
        t[i] = own[i];
    }
}
void axpy$end(char *const *bufs, const double *scalars, char *workspace) {
    for (int i = 0; i < 5; i++) ((float *)bufs[1])[i] += ((float *)workspace)[i] + 1000.0f;
}
void axpy(char *const *bufs, const double *scalars, char *workspace) {
    const float *x = (const float *)bufs[0];
    float *y = (float *)bufs[1], *t = (float *)workspace;
    for (int i = 0; i < 5; i++) t[i] = (float)scalars[0] * x[i];
    for (int i = 0; i < 5; i++) y[i] += t[i];
}
"#;

fn shared_object() -> Vec<u8> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let unique = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(format!("piper-native-test-{}-{}.so", unique.0, unique.1));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-x", "c", "-", "-o"]).arg(&path).stdin(Stdio::piped());
    let mut child = cc.spawn().expect("cc, which rustc links with");
    child.stdin.take().expect("piped").write_all(SOURCE.as_bytes()).expect("cc reads");
    assert!(child.wait().expect("cc ends").success());
    let bytes = std::fs::read(&path).expect("cc wrote the object");
    std::fs::remove_file(path).expect("removable");
    bytes
}

fn plan() -> Plan {
    let buffer = |name: &str, offset| Buffer {
        name: name.into(),
        offset,
        elems: 5,
        dtype: DType::F32,
        persistent: true,
    };
    let launch = Kind::Launch {
        kernel: KernelId(0),
        args: vec![BufferId(0), BufferId(1)],
        scalars: vec![ScalarId(0)],
    };
    let param = |mode| Param { mode, dtype: DType::F32, elems: 5 };
    let state = |name: &str, b: u32, init| State {
        name: name.into(),
        shape: vec![5],
        dtype: DType::F32,
        init,
        homes: vec![Home {
            program: ProgramId(0),
            buffer: BufferId(b),
            shard: None,
            pieces: vec![Piece::whole(5, 0)],
        }],
    };
    Plan {
        programs: vec![Program {
            name: "p".into(),
            arena_bytes: 128,
            workspace_bytes: 20,
            buffers: vec![buffer("x", 0), buffer("y", 64)],
            streams: vec!["main".into()],
            instrs: vec![Instr::new(0, SourceId::UNKNOWN, launch)],
            ..Program::default()
        }],
        device_program: vec![ProgramId(0)],
        kernels: vec![KernelDecl {
            symbol: "axpy".into(),
            params: vec![param(Mode::Read), param(Mode::ReadWrite)],
            scalars: 1,
            workspace_bytes: 20,
            cost: None,
        }],
        scalars: vec![Scalar { name: "step".into(), source: ScalarSource::Step }],
        states: States {
            tensors: vec![state("x", 0, Init::Constant(2.0)), state("y", 1, Init::Ones)],
        },
        code: Code::SharedObject(shared_object()),
        ..Plan::default()
    }
}

#[test]
fn code_travels_in_the_file_and_runs() {
    let plan = Plan::from_bytes(&plan().to_bytes()).unwrap();
    let library = NativeLibrary::of_plan(&plan).unwrap();
    let mut session =
        Session::load(plan, &library, Options::default()).unwrap_or_else(|e| panic!("{e}"));
    drop(library); // the session keeps the code
    let data = |_: u64, _: &Input, _: SliceMut<'_>| Ok(());
    session.step(&data).unwrap();
    session.step(&data).unwrap();
    assert_eq!(session.state("y").unwrap().to_f64(), [7.0; 5]); // 1 + 1*2 + 2*2
}

/// The divided form adds a thousand, so that it shows which one ran.
#[test]
fn with_several_threads_a_kernel_runs_in_parts_and_ends() {
    for (threads, streams, added) in
        [(1, &["other"][..], 0.0), (2, &[], 1000.0), (5, &[], 1000.0), (4, &["main"], 0.0)]
    {
        let library = NativeLibrary::of_plan(&plan()).unwrap();
        // A partition of one worker keeps its stream to one thread.
        let partition = Partition {
            name: "p".into(),
            method: Method::Workers,
            size: 1,
            total: 4,
            arch: "cpu".into(),
            streams: streams.iter().map(|s| (*s).into()).collect(),
            ..Partition::default()
        };
        let partitions = if streams == ["main"] { vec![partition] } else { vec![] };
        let plan = Plan { partitions, ..plan() };
        let options = Options { threads_per_device: threads, ..Options::default() };
        let mut session = Session::load(plan, &library, options).unwrap_or_else(|e| panic!("{e}"));
        let data = |_: u64, _: &Input, _: SliceMut<'_>| Ok(());
        for _ in 0..3 {
            session.step(&data).unwrap();
        }
        let expected = 1.0 + 2.0 * (1.0 + 2.0 + 3.0) + 3.0 * added;
        assert_eq!(session.state("y").unwrap().to_f64(), [expected; 5], "{threads} threads");
        let workspace = if added == 0.0 { 20 } else { 64 + 64 * threads.min(3) as u64 };
        assert_eq!(session.memory()[0].workspace, workspace);
    }
}

#[test]
fn a_missing_symbol_is_named() {
    let mut plan = plan();
    plan.kernels[0].symbol = "gemm".into();
    let library = NativeLibrary::of_plan(&plan).unwrap();
    let Err(error) = Session::load(plan, &library, Options::default()) else { panic!("loaded") };
    assert_eq!(error.to_string(), "kernel gemm: the plan's code has no symbol gemm");
}

#[test]
fn code_for_instructions_that_this_processor_lacks_is_refused() {
    let mut plan = plan();
    plan.misc.notes.push(("vectors".into(), "avx4096".into()));
    let Err(error) = NativeLibrary::of_plan(&plan) else { panic!("loaded") };
    assert!(error.to_string().contains("needs avx4096, which this processor lacks"), "{error}");
    plan.misc.notes[0].1 = "portable".into();
    assert!(NativeLibrary::of_plan(&plan).is_ok());
}
