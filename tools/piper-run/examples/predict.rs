//! Predicted against measured, on this machine: plans of a small GPT under many strategies are simulated with the times of their
//! kernels, each measured once, and then run. All virtual devices share the cores, which the simulation models.
//!
//! `cargo run --release -p piper-run --features piper-run/llvm --example predict`; other work on the machine disturbs the
//! measurement more than the prediction, so it wants a quiet machine (or a high priority: `nice -n -20`).

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use piper_codegen::Isolation;
use piper_plan::{Cost, KernelDecl, Plan};
use piper_run::Failure;
use piper_run::args::Level;
use piper_run::compile::{Options, compile};
use piper_run::data::{Corpus, Feed};
use piper_run::engine::{Engine, PlanEngine, StepFault};
use piper_run::lower::lower;
use piper_run::models::{Gpt, SGD, Strategy};
use piper_runtime::KernelLibrary;
use piper_sim::{Machine, simulate};

const TEXT: &str = include_str!("../src/models.rs");

/// Steps that are timed; the median counts.
const STEPS: usize = 25;

/// How many threads' worth of work the cores of this host do at once: cores that share a physical one do less than two. The same
/// work on one thread and on as many as there are cores, the fastest of some turns each.
fn cores() -> f64 {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let (mut values, start) = ([1.0f32; 64], Instant::now());
        for _ in 0..400_000 {
            values.iter_mut().for_each(|v| *v = v.mul_add(0.999, 0.001));
            std::hint::black_box(&mut values);
        }
        start.elapsed().as_secs_f64()
    };
    let fastest = |threads: usize| {
        let turn = || {
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                all.into_iter().map(|t| t.join().unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
            })
        };
        (0..15).map(|_| turn()).fold(f64::INFINITY, f64::min)
    };
    count as f64 * fastest(1) / fastest(count)
}

/// Threads on the cores of this host. A copy between arenas runs at what one core moves; a rendezvous wakes a thread.
fn machine(cores: f64) -> Result<Machine, Failure> {
    let text = format!(
        "name = \"{cores:.2} cores\"\n[device]\nflops = 1e9\nmemory_bandwidth = 1e10\nstreams = \"serial\"\n[host]\ncores = {cores}\n\
         [fabrics.memory]\nbandwidth = 5e9\nlatency = 1e-5\n[axes]\npp = \"memory\"\ndp = \"memory\"\n"
    );
    Machine::parse(&text).map_err(|e| Failure::new(e.to_string()))
}

/// Schedules with the stages a rank needs of them.
const SCHEDULES: [(&str, usize); 8] = [
    ("gpipe", 1),
    ("1f1b", 1),
    ("zb_h1", 1),
    ("interleaved1f1b", 2),
    ("looped_bfs", 2),
    ("zbv", 2),
    ("dualpipe", 1),
    ("dualpipev", 2),
];

/// The strategies: schedules by ranks, replicas and ZeRO stage.
fn strategies() -> Vec<Strategy> {
    let mut all = Vec::new();
    let mut add = |name: String, stages: usize, mesh: String, directives: String| {
        all.push(Strategy {
            name: name.leak(),
            stages,
            mesh: mesh.leak(),
            directives: directives.leak(),
        });
    };
    for dp in [1, 2, 4, 8] {
        for zero in 0..if dp > 1 { 2 } else { 1 } {
            let split = 8 / dp;
            let zero_text = if dp > 1 {
                format!("\nstrategy.zero over \"dp\" stage = {zero}")
            } else {
                String::new()
            };
            let split = if split > 1 {
                format!("strategy.split \"MB\" into {split}")
            } else {
                String::new()
            };
            let directives = format!("{split}{zero_text}").trim().to_owned();
            add(format!("dp{dp} zero {zero}"), 4, format!("\"dp\" = {dp}"), directives);
        }
    }
    for (schedule, chunks) in SCHEDULES {
        for (pp, dp) in [(2, 1), (4, 1), (2, 2), (4, 2)] {
            let zero = usize::from(dp > 1);
            let microbatches = if dp == 2 && pp == 2 { 4 } else { 8 };
            let pipeline = match schedule {
                "dualpipe" => format!(
                    "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = {microbatches}"
                ),
                "dualpipev" => {
                    format!(
                        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = {microbatches} variant = \"v\""
                    )
                }
                name => format!(
                    "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{name}\" microbatches = {microbatches}"
                ),
            };
            let (mesh, zero_text) = match dp {
                1 => (format!("\"pp\" = {pp}"), String::new()),
                _ => (
                    format!("\"pp\" = {pp}, \"dp\" = {dp}"),
                    format!("\nstrategy.zero over \"dp\" stage = {zero}"),
                ),
            };
            let name = format!("{schedule} pp{pp} x dp{dp}");
            add(name, pp * chunks, mesh, format!("{pipeline}{zero_text}"));
        }
    }
    all
}

/// What identifies a kernel across plans: its kind, what it takes, and what it computes.
fn identity(kernel: &KernelDecl) -> String {
    let kind = kernel.symbol.trim_end_matches(|c: char| c.is_ascii_digit());
    let cost = kernel.cost.unwrap_or_default();
    format!("{kind} {:?} {} {} {}", kernel.params, kernel.scalars, cost.flops, cost.bytes)
}

/// Seconds by [`identity`].
type Times = BTreeMap<String, f64>;

fn fault(fault: StepFault) -> Failure {
    match fault {
        StepFault::Failed(failure) => failure,
        StepFault::Stopped => Failure::new("stopped"),
    }
}

/// An engine of a plan, which records its steps or not.
fn engine(
    plan: &Plan,
    feeds: &[Feed],
    library: &dyn KernelLibrary,
    trace: bool,
) -> Result<PlanEngine, Failure> {
    let options = piper_runtime::Options {
        timeout: Duration::from_secs(120),
        trace,
        ..piper_runtime::Options::default()
    };
    PlanEngine::load(plan.clone(), feeds.to_vec(), library, options)
}

/// Which of a kernel's launches counts.
#[derive(Clone, Copy, PartialEq)]
enum Pick {
    /// The first quartile: nothing else runs on this device, only other work of the host.
    Quartile,
    /// The fastest: other devices run on the same cores.
    Fastest,
}

/// Measures the kernels of a plan that are not known yet, in some recorded steps.
fn measure(
    plan: &Plan,
    feeds: &[Feed],
    library: &dyn KernelLibrary,
    corpus: &Corpus,
    pick: Pick,
    times: &mut Times,
) -> Result<(), Failure> {
    if plan.kernels.iter().all(|kernel| times.contains_key(&identity(kernel))) {
        return Ok(());
    }
    let mut engine = engine(plan, feeds, library, true)?;
    for _ in 0..4 {
        engine.step(corpus).map_err(fault)?;
    }
    let text = engine.trace()?.unwrap_or_default();
    let trace: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| Failure::new(e.to_string()))?;
    let mut launches: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().into_iter().flatten() {
        let (Some(device), Some(at), Some(lasted)) =
            (event["pid"].as_u64(), event["args"]["instr"].as_u64(), event["dur"].as_f64())
        else {
            continue;
        };
        let program = &plan.programs[plan.device_program[device as usize].index()];
        if let piper_plan::Kind::Launch { kernel, .. } = program.instrs[at as usize].kind {
            let all = launches.entry(identity(&plan.kernels[kernel.index()])).or_default();
            all.push(lasted * 1e-6);
        }
    }
    for (kernel, mut all) in launches {
        all.sort_by(f64::total_cmp);
        let at = if pick == Pick::Quartile { all.len() / 4 } else { 0 };
        times.entry(kernel).or_insert(all[at]);
    }
    Ok(())
}

/// One plan: predicted and measured seconds a step.
struct Row {
    name: &'static str,
    devices: usize,
    predicted: f64,
    measured: f64,
    least: f64,
    memory_is_exact: bool,
    peak: u64,
    /// Kernels without a measured time, which the simulation takes for free.
    unmeasured: usize,
}

fn row(
    strategy: &Strategy,
    corpus: &Corpus,
    cores: f64,
    times: &mut Times,
) -> Result<Row, Failure> {
    let model = Gpt {
        layers: 4.max(strategy.stages),
        stages: strategy.stages,
        width: 128,
        heads: 4,
        length: 64,
        vocabulary: 256,
        batch: 16,
        is_f64: false,
        is_tied: false,
    };
    let text = model.text(strategy, SGD);
    // The same split on one device has most of the kernels, and runs them undisturbed.
    let mut single = compile(strategy.name, &text, Options { single: true, ..Options::default() })?;
    let (plan, library) = lower(&mut single, Level::Native, false, Isolation::Child)?;
    measure(&plan, &single.feeds, &*library, corpus, Pick::Quartile, times)?;
    let mut compiled = compile(strategy.name, &text, Options::default())?;
    let (mut plan, library) = lower(&mut compiled, Level::Native, false, Isolation::Child)?;
    let feeds = compiled.feeds.clone();
    measure(&plan, &feeds, &*library, corpus, Pick::Fastest, times)?;
    let mut unmeasured = 0;
    for kernel in &mut plan.kernels {
        let measured = times.get(&identity(kernel)).copied();
        unmeasured += usize::from(measured.is_none());
        let seconds = measured.or(Some(0.0));
        kernel.cost = Some(Cost { seconds, ..kernel.cost.unwrap_or_default() });
    }
    let outcome = simulate(&plan, &machine(cores)?).map_err(|e| Failure::new(e.to_string()))?;
    let mut engine = engine(&plan, &feeds, &*library, false)?;
    engine.step(corpus).map_err(fault)?;
    let mut walls = Vec::new();
    for _ in 0..STEPS {
        walls.push(engine.step(corpus).map_err(fault)?.wall.as_secs_f64());
    }
    walls.sort_by(f64::total_cmp);
    // The plan's peak is what its buffers reach, what the runtime allocates, and what a step touches.
    let memory = engine.session().memory();
    let exact = memory.iter().enumerate().all(|(device, used)| {
        let program = &plan.programs[plan.device_program[device].index()];
        used.planned == program.arena_bytes && used.used == program.peak_bytes()
    });
    Ok(Row {
        name: strategy.name,
        devices: plan.devices(),
        predicted: outcome.makespan,
        measured: walls[walls.len() / 2],
        least: walls[0],
        memory_is_exact: exact,
        peak: memory.iter().map(|m| m.used).max().unwrap_or(0),
        unmeasured,
    })
}

/// Ranks of values, equal ones sharing the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |v: f64| values.iter().filter(|w| **w < v).count() as f64;
    let equal = |v: f64| values.iter().filter(|w| **w == v).count() as f64;
    values.iter().map(|&v| below(v) + (equal(v) + 1.0) / 2.0).collect()
}

/// Spearman's rank correlation: Pearson's of the ranks.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let dot: f64 = a.iter().zip(&b).map(|(x, y)| (x - ma) * (y - mb)).sum();
    let norm = |v: &[f64], m: f64| v.iter().map(|x| (x - m) * (x - m)).sum::<f64>();
    dot / (norm(&a, ma) * norm(&b, mb)).sqrt()
}

fn main() -> ExitCode {
    piper_codegen::child_main();
    let corpus = match Corpus::of("models.rs", TEXT.as_bytes().to_vec(), 0) {
        Ok(corpus) => corpus,
        Err(failure) => {
            eprintln!("{failure}");
            return ExitCode::FAILURE;
        }
    };
    let cores = cores();
    println!("the cores of this host do the work of {cores:.2} threads at once");
    let mut times = Times::new();
    let mut rows = Vec::new();
    println!(
        "{:<26} {:>7} {:>12} {:>12} {:>12} {:>8}  {:>10} memory",
        "plan", "devices", "predicted ms", "median ms", "least ms", "error", "peak bytes"
    );
    for strategy in strategies() {
        match row(&strategy, &corpus, cores, &mut times) {
            Ok(row) => {
                println!(
                    "{:<26} {:>7} {:>12.3} {:>12.3} {:>12.3} {:>7.1}%  {:>10} {}",
                    row.name,
                    row.devices,
                    row.predicted * 1e3,
                    row.measured * 1e3,
                    row.least * 1e3,
                    (row.predicted / row.measured - 1.0) * 100.0,
                    row.peak,
                    if row.memory_is_exact { "planned = used" } else { "DIFFERS" }
                );
                rows.push(row);
            }
            Err(failure) => println!(
                "{:<26} {}",
                strategy.name,
                failure.to_string().lines().next().unwrap_or("")
            ),
        }
    }
    let predicted: Vec<f64> = rows.iter().map(|r| r.predicted).collect();
    for (what, measured) in [
        ("median", rows.iter().map(|r| r.measured).collect::<Vec<f64>>()),
        ("least", rows.iter().map(|r| r.least).collect()),
    ] {
        let errors = predicted.iter().zip(&measured).map(|(p, m)| (p / m - 1.0).abs());
        let mean = errors.sum::<f64>() / rows.len().max(1) as f64;
        println!(
            "{} plans, {} kernels measured; against the {what} of {STEPS} steps: mean error {:.1} %, rank correlation {:.3}",
            rows.len(),
            times.len(),
            mean * 100.0,
            spearman(&predicted, &measured)
        );
    }
    // How far the median of a plan's steps lies above the least of them is what other work on the host did.
    let noise =
        rows.iter().map(|r| r.measured / r.least - 1.0).sum::<f64>() / rows.len().max(1) as f64;
    println!(
        "noise of this host: the median step is {:.1} % above the least, on average",
        noise * 100.0
    );
    let unmeasured: usize = rows.iter().map(|r| r.unmeasured).sum();
    println!("kernels without a measured time, taken for free: {unmeasured}");
    let all_exact = rows.iter().all(|r| r.memory_is_exact);
    println!(
        "memory: {}",
        if all_exact {
            "planned = allocated = used, to the byte, on every device"
        } else {
            "DIFFERS"
        }
    );
    if rows.len() >= 30 && all_exact { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
