//! `--backend cuda` as users meet it: training on GPUs, for which the stand-in driver and NCCL stand here, and what is said where
//! something is missing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use piper_run::models::{ADAMW, Gpt, Strategy};

#[path = "cuda/products.rs"]
mod products;

const MODEL: Gpt = Gpt {
    layers: 2,
    stages: 2,
    width: 32,
    heads: 2,
    length: 16,
    vocabulary: 128,
    batch: 8,
    is_f64: false,
    is_tied: false,
};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        let text = "What hangs on a cluster hangs here, is detected, and is told. ".repeat(20);
        std::fs::write(folder.data(), text).expect("written");
        folder
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data.txt")
    }

    /// The model in so many stages under directives.
    fn model(&self, stages: usize, mesh: &'static str, directives: &'static str) -> PathBuf {
        let name = "train";
        let strategy = Strategy { name, stages, mesh, directives };
        let path = self.0.path().join("train.pir");
        std::fs::write(&path, MODEL.text(&strategy, ADAMW)).expect("written");
        path
    }

    fn one_device(&self) -> PathBuf {
        self.model(1, r#""pp" = 1"#, "")
    }

    fn pipeline(&self) -> PathBuf {
        self.model(2, r#""pp" = 2"#, PIPELINE)
    }
}

const PIPELINE: &str =
    r#"strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4"#;

/// The same, with two multiprocessors for kernels.
const PIPELINE_IN_GRIDS: &str = "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.sm_partition arch = \"sm_90\" comm = 130 streams = [\"comm\"] ctas = 2 method = \"grid\"";

/// Does something different here depends on a driver that is really there.
fn has_driver() -> bool {
    Path::new("/proc/driver/nvidia/version").exists()
}

fn on_standins(devices: usize) -> Command {
    let mut command =
        piper_standin::command(env!("CARGO_BIN_EXE_piper-run")).expect("the stand-ins are built");
    command.env("PIPER_STANDIN_DEVICES", devices.to_string()).env("PIPER_STANDIN_CHIP", "sm_90a");
    command.stdin(Stdio::null());
    command
}

fn arguments<'c>(command: &'c mut Command, folder: &Folder, model: &Path) -> &'c mut Command {
    command.arg(model).args(["--backend", "cuda", "--steps", "3", "--data"]).arg(folder.data())
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What a run that has to fail says: something, with exit status 1.
fn refused(output: &Output) -> String {
    let (out, err) = text(output);
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(err.starts_with("error: ") || err.contains("\nerror: "), "{err}");
    assert!(!err.contains("panicked"), "{err}");
    err
}

/// A run beside one device of a processor, which has to come to the same numbers.
fn trains(devices: usize, folder: &Folder, model: &Path, more: &[&str], seed: Option<u64>) {
    let mut command = on_standins(devices);
    arguments(&mut command, folder, model).arg("--compare-single").args(more);
    if let Some(seed) = seed {
        command.env("PIPER_STANDIN_SEED", seed.to_string());
    }
    let output = command.output().expect("the program starts");
    let (out, err) = text(&output);
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("verdict     the same numbers"), "{out}{err}");
    assert!(out.contains("differences from one device over 3 steps"), "{out}");
    // Memory is what the plan says.
    let rows: Vec<Vec<u64>> = out
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| line.split_whitespace().rev().take(3).map(|n| n.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), devices, "{out}");
    for row in rows {
        let [_, used, planned] = row[..] else { panic!("{out}") };
        assert!(used <= planned && 2 * used > planned, "{out}");
    }
}

#[test]
fn one_gpu_trains_as_a_processor_does() {
    let folder = Folder::new();
    trains(1, &folder, &folder.one_device(), &[], None);
}

#[test]
fn steps_replayed_as_graphs_are_the_same_steps() {
    let folder = Folder::new();
    trains(1, &folder, &folder.one_device(), &["--graphs"], None);
}

#[test]
fn without_cublaslt_or_with_an_old_one_a_line_says_so() {
    let folder = Folder::new();
    let model = folder.one_device();
    let said = |variable: &str, value: &str| {
        let mut command = on_standins(1);
        command.env(variable, value);
        arguments(&mut command, &folder, &model).args(["--gemm", "cublaslt"]);
        refused(&command.output().unwrap())
    };
    let none = said("PIPER_CUBLASLT_LIBRARY", "/none/libcublasLt.so.12");
    assert!(none.contains("--gemm cublaslt: cuBLASLt cannot be loaded (/none/"), "{none}");
    assert!(none.contains("leave --gemm out") && none.lines().count() == 1, "{none}");
    let old = said("PIPER_STANDIN_CUBLASLT", "11.11.3");
    let wanted = "error: cuBLASLt 11.11.3 is too old: install that of CUDA 12.0 or later, or leave --gemm out\n";
    assert_eq!(old, wanted);
    let other = said("PIPER_CUBLASLT_LIBRARY", "libnccl.so.2");
    assert!(other.contains("cuBLASLt is too old: it lacks cublasLtGetVersion"), "{other}");
}

#[test]
fn a_pipeline_trains_whatever_the_order_of_its_streams() {
    let folder = Folder::new();
    for seed in [None, Some(1), Some(2)] {
        trains(2, &folder, &folder.pipeline(), &[], seed);
    }
}

#[test]
fn replicas_with_sharded_state_train() {
    let folder = Folder::new();
    let zero = "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 1";
    let model = folder.model(1, r#""dp" = 2"#, zero);
    trains(2, &folder, &model, &[], Some(3));
}

#[test]
fn mixed_precision_trains() {
    let folder = Folder::new();
    let directives = "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 1\nstrategy.precision compute = bf16 master = f32 reduce = f32";
    trains(2, &folder, &folder.model(1, r#""dp" = 2"#, directives), &[], None);
}

#[test]
fn launches_in_a_partition_of_grids_keep_to_it_with_the_same_numbers() {
    let folder = Folder::new();
    let model = folder.model(2, r#""pp" = 2"#, PIPELINE_IN_GRIDS);
    for more in [&[][..], &["--gemm", "cublaslt"]] {
        trains(2, &folder, &model, more, Some(5));
    }
    let output = arguments(&mut on_standins(2), &folder, &model).output().unwrap();
    let (out, err) = text(&output);
    assert!(output.status.success(), "{out}{err}");
    let wanted =
        "partition compute: its communicators keep to whatever NCCL takes, its kernels to 2 blocks";
    assert!(err.contains(wanted), "{err}");
}

#[test]
fn parameters_of_odd_sizes_train_in_buckets() {
    let folder = Folder::new();
    let model = Gpt { vocabulary: 131, width: 30, heads: 3, stages: 1, ..MODEL };
    let zero = "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 3";
    let strategy = Strategy { name: "train", stages: 1, mesh: r#""dp" = 2"#, directives: zero };
    let path = folder.0.path().join("train.pir");
    std::fs::write(&path, model.text(&strategy, ADAMW)).expect("written");
    trains(2, &folder, &path, &[], Some(2));
}

#[test]
fn dualpipe_trains() {
    let folder = Folder::new();
    let dualpipe = r#"strategy.dualpipe over "pp" stages = "PP" microbatches = 4"#;
    let model = folder.model(2, r#""pp" = 2"#, dualpipe);
    trains(2, &folder, &model, &[], Some(4));
}

#[test]
fn dualpipe_with_replicas_and_sharded_state_trains_on_four() {
    let folder = Folder::new();
    let directives = "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4\nstrategy.zero over \"dp\" stage = 1";
    let model = folder.model(2, r#""pp" = 2, "dp" = 2"#, directives);
    trains(4, &folder, &model, &[], None);
}

/// What two processes of a launcher say, which train together; flags of each are added.
fn two_processes(folder: &Folder, model: &Path, more: &[&[&str]; 2]) -> (String, String) {
    let (first, second) = two_outputs(folder, model, more);
    for output in [&first, &second] {
        assert!(output.status.success(), "{:?}", text(output));
    }
    (text(&first).0, text(&second).0)
}

/// How two processes of a launcher end.
fn two_outputs(folder: &Folder, model: &Path, more: &[&[&str]; 2]) -> (Output, Output) {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = |rank: usize| {
        let mut command = on_standins(2);
        arguments(&mut command, folder, model).args(more[rank]);
        let variables = [("RANK", rank.to_string()), ("LOCAL_RANK", rank.to_string())];
        command.envs(variables).env("WORLD_SIZE", "2").env("MASTER_PORT", port.to_string());
        command.env("MASTER_ADDR", "127.0.0.1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let second = start(1);
    let first = start(0).wait_with_output().expect("it ends");
    (first, second.wait_with_output().expect("it ends"))
}

#[test]
fn processes_that_a_launcher_starts_train_together() {
    let folder = Folder::new();
    let beside = &["--compare-single"][..];
    let (first, second) = two_processes(&folder, &folder.pipeline(), &[beside, beside]);
    assert!(first.contains("verdict     the same numbers"), "{first}");
    assert!(second.is_empty(), "{second}");
}

#[test]
fn a_trace_of_one_process_alone_is_refused_at_the_start() {
    let folder = Folder::new();
    let file = folder.0.path().join("trace.json");
    let flags = ["--trace", file.to_str().unwrap()];
    let (first, second) = two_outputs(&folder, &folder.pipeline(), &[&flags, &[]]);
    let wanted =
        "rank 0 records a trace, rank 1 does not: give --trace to all processes or to none";
    for output in [&first, &second] {
        assert!(refused(output).contains(wanted), "{:?}", text(output));
        assert!(!text(output).0.contains("loss"), "{:?}", text(output));
    }
    assert!(!file.exists());
}

#[test]
fn a_compiled_plan_runs_where_its_chip_is() {
    let folder = Folder::new();
    let (model, plan) = (folder.one_device(), folder.0.path().join("train.pplan"));
    let mut compile = Command::new(env!("CARGO_BIN_EXE_piper-run"));
    compile.arg(&model).args(["--compile-only", "--target", "sm_90a", "-o"]).arg(&plan);
    let (out, err) = text(&compile.output().expect("the program starts"));
    assert!(out.contains("code for sm_90a"), "{out}{err}");
    let output = arguments(&mut on_standins(1), &folder, &plan).output().unwrap();
    let (out, err) = text(&output);
    assert!(output.status.success() && out.contains("3 steps in"), "{out}{err}");

    // A form of code for one architecture.
    let mut same = on_standins(1);
    same.args(["--target", "sm_90a+wgmma"]);
    let (out, err) = text(&arguments(&mut same, &folder, &plan).output().unwrap());
    assert!(out.contains("3 steps in"), "{out}{err}");
    for (target, wanted) in [
        ("sm_80", "is compiled for sm_90a, not sm_80"),
        ("sm_35", "there is no PTX for target 'sm_35'"),
    ] {
        let mut wrong = on_standins(1);
        wrong.args(["--target", target]);
        let said = refused(&arguments(&mut wrong, &folder, &plan).output().unwrap());
        assert!(said.contains(wanted), "{said}");
    }

    let mut other = on_standins(1);
    other.env("PIPER_STANDIN_CHIP", "sm_80");
    let said = refused(&arguments(&mut other, &folder, &plan).output().unwrap());
    assert!(said.contains("compute capability 8.0) cannot run code for sm_90a"), "{said}");
    assert!(said.contains("--target sm_80"), "{said}");

    let mut threads = Command::new(env!("CARGO_BIN_EXE_piper-run"));
    threads.arg(&plan).arg("--data").arg(folder.data());
    let said = refused(&threads.output().unwrap());
    assert!(said.contains("runs on GPUs") && said.contains("--backend cuda"), "{said}");
}

#[test]
fn a_machine_without_a_driver_is_told_so() {
    if has_driver() {
        return;
    }
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
    command.env_remove("LD_LIBRARY_PATH");
    let output = arguments(&mut command, &folder, &folder.one_device()).output().unwrap();
    let said = refused(&output);
    assert!(said.contains("there is no NVIDIA driver on this machine"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_a_machine_lacks_is_told_before_anything_runs() {
    let folder = Folder::new();
    let (one, two) = (folder.one_device(), folder.0.path().join("two.pir"));
    std::fs::copy(&one, folder.0.path().join("one.pir")).unwrap();
    std::fs::copy(folder.pipeline(), &two).unwrap();
    let one = folder.0.path().join("one.pir");
    let said = |command: &mut Command, model: &Path| {
        refused(&arguments(command, &folder, model).output().unwrap())
    };
    let none = said(&mut on_standins(0), &one);
    assert!(none.contains("there is no CUDA device"), "{none}");
    let few = said(&mut on_standins(1), &two);
    assert!(few.contains("there is 1 CUDA device (") && few.contains("the plan needs 2"), "{few}");
    let small = said(on_standins(1).env("PIPER_STANDIN_MEMORY", "64K"), &one);
    assert!(small.contains("bytes on device 0 (arena), of which"), "{small}");
    let alone = said(on_standins(2).env("PIPER_NCCL_LIBRARY", "/none/libnccl.so.2"), &two);
    assert!(
        alone.contains("NCCL cannot be loaded") && alone.contains("/none/libnccl.so.2"),
        "{alone}"
    );
    let chip = said(on_standins(1).args(["--target", "sm_35"]), &one);
    assert!(chip.contains("no PTX for target 'sm_35'") && chip.contains("sm_90a"), "{chip}");
    let rank = said(on_standins(1).env("RANK", "x").env("WORLD_SIZE", "2"), &one);
    assert!(rank.contains("RANK is 'x'"), "{rank}");
    let share = said(on_standins(3).env("RANK", "0").env("WORLD_SIZE", "3"), &two);
    assert!(share.contains("has 2 devices, which 3 processes cannot share"), "{share}");
    let file = folder.0.path().join("none.json");
    let trace = said(on_standins(1).arg("--graphs").arg("--trace").arg(&file), &one);
    assert!(trace.contains("--trace times operations one by one"), "{trace}");
    assert!(!file.exists());
}

/// The instructions of a trace that take time, by device and number, with their names; times are in order and within the run.
fn traced(file: &Path) -> BTreeMap<(u64, u64, u64), String> {
    let text = std::fs::read_to_string(file).expect("the trace");
    let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut found = BTreeMap::new();
    let mut ends: BTreeMap<(u64, u64), f64> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().expect("events") {
        if event["ph"] != "X" {
            continue;
        }
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        let (device, stream) = (number(&event["pid"]), number(&event["tid"]));
        let (from, lasted) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
        assert!(lasted >= 0.0, "{event}");
        let end = ends.entry((device, stream)).or_default();
        // Times of the driver are of half a microsecond.
        assert!(from + 1.0 >= *end, "{event} begins before {end}");
        *end = from + lasted;
        assert!(event["args"]["source"].as_str().unwrap().contains("train.pir:"), "{event}");
        let (kind, name) = (event["cat"].as_str().unwrap(), event["name"].as_str().unwrap());
        if kind != "wait" {
            let key = (device, number(&event["args"]["step"]), number(&event["args"]["instr"]));
            found.insert(key, name.to_owned());
        }
    }
    found
}

#[test]
fn a_trace_has_what_that_of_threads_has() {
    let folder = Folder::new();
    let model = folder.pipeline();
    let [gpus, threads, both] =
        ["gpus", "threads", "both"].map(|name| folder.0.path().join(name).with_extension("json"));
    let mut command = on_standins(2);
    let output =
        arguments(&mut command, &folder, &model).arg("--trace").arg(&gpus).output().unwrap();
    let (out, err) = text(&output);
    assert!(output.status.success() && out.contains("trace written to"), "{out}{err}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
    command.arg(&model).args(["--steps", "3", "--trace"]).arg(&threads);
    let output = command.arg("--data").arg(folder.data()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output).1);
    let (gpus, threads) = (traced(&gpus), traced(&threads));
    assert!(threads.len() > 100 && gpus == threads, "{gpus:?}\n{threads:?}");
    // Of two processes one writes what both have recorded.
    let flags = ["--trace", both.to_str().unwrap()];
    let (first, _) = two_processes(&folder, &model, &[&flags, &flags]);
    assert!(first.contains("trace written to"), "{first}");
    assert_eq!(traced(&both), threads);
}

/// A folder in which a library has the driver's name that lacks the driver's functions.
fn another_library_as_driver() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = piper_standin::folder().expect("the stand-ins are built").join("libnccl.so.2");
    let library = std::fs::canonicalize(library).expect("the stand-in");
    for name in ["libcuda.so.1", "libcuda.so"] {
        std::os::unix::fs::symlink(&library, folder.path().join(name)).expect("linked");
    }
    folder
}

/// A line on standard error, nothing else, and exit status 1.
fn refused_in_a_line(command: &mut Command, folder: &Folder, model: &Path) -> String {
    let said = refused(&arguments(command, folder, model).output().unwrap());
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn a_driver_that_is_too_old_or_lacks_a_function_is_told_in_a_line() {
    let folder = Folder::new();
    let model = folder.one_device();
    let old =
        refused_in_a_line(on_standins(1).env("PIPER_STANDIN_DRIVER", "11.4"), &folder, &model);
    assert_eq!(
        old,
        "error: the NVIDIA driver for CUDA 11.4 is too old: update it to one for CUDA 12.0 or later\n"
    );
    // PTX for a chip may need a later one.
    let chip = &mut on_standins(1);
    chip.env("PIPER_STANDIN_DRIVER", "12.4").env("PIPER_STANDIN_CHIP", "sm_100a");
    let newer = refused_in_a_line(chip, &folder, &model);
    assert!(
        newer.contains("is for CUDA 12.4, but PTX") && newer.contains("update the driver"),
        "{newer}"
    );
    let other = another_library_as_driver();
    let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
    command.env("LD_LIBRARY_PATH", other.path()).stdin(Stdio::null());
    let lacks = refused_in_a_line(&mut command, &folder, &model);
    assert_eq!(
        lacks,
        "error: the NVIDIA driver is too old: it lacks cuInit; update it to one for CUDA 12.0 or later\n"
    );
}

#[test]
fn without_a_device_or_the_nccl_it_needs_a_line_says_so() {
    let folder = Folder::new();
    let model = folder.one_device();
    let none = refused_in_a_line(&mut on_standins(0), &folder, &model);
    assert!(none.starts_with("error: there is no CUDA device: "), "{none}");
    let model = folder.pipeline();
    let mut command = on_standins(2);
    command.env("PIPER_NCCL_LIBRARY", "/none/libnccl.so.2");
    let missing = refused_in_a_line(&mut command, &folder, &model);
    assert!(
        missing.contains("the plan communicates, and NCCL cannot be loaded (/none/"),
        "{missing}"
    );
    let mut command = on_standins(2);
    command.env("PIPER_STANDIN_NCCL", "2.16.2");
    let old = refused_in_a_line(&mut command, &folder, &model);
    assert_eq!(old, "error: NCCL 2.16.2 is too old: install 2.18 or later\n");
}

/// What a step says whose collectives go wrong.
fn fault(kind: &str) -> String {
    let folder = Folder::new();
    let zero = "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 1";
    let model = folder.model(1, r#""dp" = 2"#, zero);
    let mut command = on_standins(2);
    command.env("PIPER_STANDIN_NCCL_FAULT", kind).args(["--devices-timeout", "3"]);
    let said = refused(&arguments(&mut command, &folder, &model).output().unwrap());
    // What the stand-in itself says is not of the program.
    let lines = said.lines().filter(|line| !line.starts_with("standin: "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_asynchronous_error_of_nccl_names_operation_and_line() {
    let said = fault("error:1:1");
    assert!(
        said.starts_with("error: step 1 failed on {dp=1}: NCCL 2.30.0: another rank failed"),
        "{said}"
    );
    assert!(said.contains("the error that PIPER_STANDIN_NCCL_FAULT asks for"), "{said}");
    assert!(said.contains("@all #") && said.contains(" all_reduce "), "{said}");
    assert!(said.contains("train.pir:"), "{said}");
}

#[test]
fn a_collective_that_does_not_end_is_given_up_with_operation_and_line() {
    let said = fault("stall:0:1");
    assert!(said.starts_with("error: no progress in step 1 for 3s"), "{said}");
    assert!(said.contains("{dp=0} ") && said.contains("{dp=1} "), "{said}");
    assert!(said.contains("@all #") && said.contains(" all_reduce "), "{said}");
    assert!(said.contains("train.pir:"), "{said}");
}

#[test]
fn flags_of_gpus_need_the_back_end() {
    let folder = Folder::new();
    let model = folder.one_device();
    for flags in
        [&["--graphs"][..], &["--check-launches"], &["--target", "sm_80"], &["--gemm", "cublaslt"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
        command.arg(&model).arg("--data").arg(folder.data()).args(flags);
        let said = refused(&command.output().unwrap());
        assert!(said.contains(flags[0]) && said.contains("is for --backend cuda"), "{said}");
    }
}

#[test]
fn flags_of_steps_are_refused_where_none_is_taken() {
    let folder = Folder::new();
    let (model, trace) = (folder.one_device(), folder.0.path().join("trace.json"));
    let flags = [
        &["--gemm", "cublaslt"][..],
        &["--graphs"],
        &["--check-launches"],
        &["--trace", trace.to_str().unwrap()],
        &["--compare-single"],
    ];
    for (flags, gpu) in flags.iter().flat_map(|f| [(f, &[][..]), (f, &["--backend", "cuda"])]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
        command.arg(&model).arg("--compile-only").args(gpu).args(*flags);
        let said = refused(&command.output().unwrap());
        let wanted = format!("error: {} is for steps, and --compile-only takes none\n", flags[0]);
        assert!(said.starts_with(&wanted), "{said}");
    }
    assert!(!trace.exists());
}

#[test]
fn flags_of_processors_are_refused_for_gpus() {
    let folder = Folder::new();
    let model = folder.one_device();
    for flags in [["--vectors", "all"], ["--threads-per-device", "2"]] {
        for gpu in [&["--backend", "cuda"][..], &["--compile-only", "--target", "sm_80"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
            command.arg(&model).arg("--data").arg(folder.data()).args(gpu).args(flags);
            let said = refused(&command.output().unwrap());
            let wanted = format!("{} is for code of processors, not of GPUs", flags[0]);
            assert!(said.contains(&wanted), "{said}");
        }
    }
}

/// Two processes that train a pipeline for a long time, the second told so many steps; a closure does something to it once
/// the first has taken a step. What the first says in the end.
fn left_alone(steps: &str, then: impl Fn(u32)) -> String {
    let folder = Folder::new();
    let model = folder.pipeline();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = |rank: usize, steps: &str| {
        let mut command = on_standins(2);
        command.arg(&model).args(["--backend", "cuda", "--log-every", "1", "--steps", steps]);
        command.args(["--devices-timeout", "4", "--data"]).arg(folder.data());
        command.env("RANK", rank.to_string()).env("LOCAL_RANK", rank.to_string());
        command.env("WORLD_SIZE", "2").env("MASTER_PORT", port.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let mut second = start(1, steps);
    let mut first = start(0, "100000");
    let mut lines = BufReader::new(first.stdout.take().expect("a pipe")).lines();
    while !lines.next().expect("a step is taken").expect("text").starts_with("step     1") {}
    then(second.id());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let output = first.wait_with_output().expect("it ends");
    // It may have ended by itself.
    let _ = second.kill();
    second.wait().expect("it ends");
    let said = refused(&output);
    assert!(!rest.iter().any(|line| line.contains("100000")), "{rest:?}");
    said
}

#[test]
fn a_process_that_ends_is_missed() {
    let said = left_alone("1", |_| ());
    assert!(said.contains("the process of rank 1 has ended"), "{said}");
    assert!(said.contains("train.pir:"), "{said}");
}

#[test]
fn a_process_that_stands_still_is_named_with_the_line() {
    let said = left_alone("100000", |second| {
        let stop = Command::new("kill").args(["-STOP", &second.to_string()]).status();
        assert!(stop.expect("kill starts").success());
    });
    assert!(
        said.contains("no progress in step") && said.contains("{pp=0} waits for {pp=1}"),
        "{said}"
    );
    assert!(said.contains("train.pir:"), "{said}");
}

#[test]
fn the_check_of_a_gpu_without_a_driver_says_so() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
    command.env_remove("LD_LIBRARY_PATH").args(["gpu-check", "--small"]);
    if !has_driver() {
        let said = refused(&command.output().unwrap());
        assert!(said.contains("there is no NVIDIA driver on this machine"), "{said}");
        assert!(!said.contains("--backend") && said.lines().count() == 1, "{said}");
    }
    let none = refused(&on_standins(0).args(["gpu-check", "--small"]).output().unwrap());
    assert!(
        none.starts_with("error: there is no CUDA device") && !none.contains("--backend"),
        "{none}"
    );
}

#[test]
fn the_check_of_a_gpu_passes() {
    let mut command = on_standins(1);
    let output = command.args(["gpu-check", "--small"]).output().expect("the program starts");
    let (out, err) = text(&output);
    assert!(output.status.success(), "{out}{err}");
    for part in [
        "training as on a processor",
        "memory as planned",
        "graph replay",
        "product 64 bf16",
        "cuBLASLt 12.8.4",
        "attention 32",
        "small launches",
        "SMs",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(out.contains("verdict: all 3 checks passed"), "{out}");
}
