//! Compile time and memory of published models at the size of their clusters, from text to verified device programs:
//! `cargo bench -p piper-opt --bench scale [-- FILTER]`.
//!
//! The models are text of declared functions ([`piper_models`]). Every run is a process of its own, on one thread, so that its
//! peak memory is its own. Times are processor time, since machines are shared (elsewhere that of the wall), the least of five. What
//! should not matter is the number of devices; what may grow, close to linearly, is the number of nodes.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use piper_ir::pass::{Instrumentation, PassResult, RunOptions, Step};
use piper_ir::{Context, Module, Op, Reporter, SourceFile, verify};
use piper_models::{Run, Schedule, find, text};
use piper_passes::{pipeline_text, registry};

/// As in the tool.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Names the case that a child process measures.
const CHILD: &str = "PIPER_SCALE_CASE";
/// Processes a case.
const RUNS: usize = 5;

struct Case {
    name: String,
    model: &'static str,
    layers: Option<u64>,
    run: Run,
}

fn v3(devices: u64, ep: u64, microbatches: u64) -> Case {
    let run = Run {
        pp: 16,
        ep,
        dp: devices / 16 / ep,
        schedule: Schedule::DualPipe,
        microbatches,
        ..Run::default()
    };
    Case {
        name: format!("v3 dualpipe, {devices} devices, {microbatches} microbatches"),
        model: "deepseek-v3",
        layers: None,
        run,
    }
}

fn llama(dp: u64, microbatches: u64) -> Case {
    let run = Run {
        pp: 16,
        v: 8,
        tp: 8,
        dp,
        schedule: Schedule::Pipeline("interleaved-1f1b".to_owned()),
        microbatches,
        ..Run::default()
    };
    Case {
        name: format!("llama 405b interleaved, {} devices, {microbatches} microbatches", 128 * dp),
        model: "llama3-405b",
        layers: None,
        run,
    }
}

fn cases() -> Vec<Case> {
    let mut cases = vec![v3(256, 8, 120), v3(2048, 64, 120), v3(16_384, 64, 120)];
    cases.extend([llama(4, 16), llama(128, 16), llama(128, 64)]);
    cases.extend([32, 64, 240].map(|microbatches| v3(2048, 64, microbatches)));
    cases
}

fn main() {
    let cases = cases();
    if let Ok(number) = std::env::var(CHILD) {
        let number: usize = number.parse().expect("a number");
        return measure(&cases[number]);
    }
    // `cargo bench` passes flags of the standard harness.
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let wanted = |case: &Case| filter.as_ref().is_none_or(|f| case.name.contains(f.as_str()));
    let wanted: Vec<(usize, &Case)> =
        cases.iter().enumerate().filter(|(_, case)| wanted(case)).collect();
    let mut best: Vec<Option<(f64, String)>> = vec![None; wanted.len()];
    // In turns, so that what disturbs the machine disturbs all alike.
    for _ in 0..RUNS {
        for ((number, case), best) in wanted.iter().zip(&mut best) {
            match run_case(*number) {
                Ok((seconds, said)) => {
                    if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
                        *best = Some((seconds, said));
                    }
                }
                Err(why) => println!("{}: failed\n{why}", case.name),
            }
        }
    }
    for ((_, case), best) in wanted.iter().zip(best) {
        if let Some((_, said)) = best {
            print!("{}: {said}", case.name);
        }
    }
}

/// Runs a case in a process of its own: its seconds, and what it says.
fn run_case(number: usize) -> Result<(f64, String), String> {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .env(CHILD, number.to_string())
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .expect("a child process");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let (seconds, rest) = said.split_once('\n').expect("a time in the first line");
    Ok((seconds.parse().expect("seconds"), rest.to_owned()))
}

/// Seconds of every pass.
struct Clock {
    since: f64,
    passes: Vec<(String, f64)>,
}

impl Instrumentation for Clock {
    fn before_pass(&mut self, _step: Step<'_>, _module: &Module, _op: Op) {
        self.since = seconds();
    }

    fn after_pass(&mut self, step: Step<'_>, _module: &Module, _op: Op, _result: PassResult) {
        self.passes.push((step.name().to_owned(), seconds() - self.since));
    }
}

/// Processor time of this process's threads so far; since the start of the clock where the system does not say.
fn seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_task = |task: std::fs::DirEntry| {
        let line = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    match tasks.filter_map(of_task).sum::<u64>() {
        0 => start.elapsed().as_secs_f64(),
        nanoseconds => nanoseconds as f64 / 1e9,
    }
}

/// Compiles a case and prints its seconds, then the rest as a person reads it.
fn measure(case: &Case) {
    let model = find(case.model).expect("a model of the crate");
    let model = case.layers.map_or_else(|| model.clone(), |layers| model.with_layers(layers));
    let text = text(&model, &case.run).expect("a layout that fits");
    let before = peak_memory();
    let start = seconds();
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let source = SourceFile::new("scale.pir", &*text);
    let mut reporter = Reporter::new(&ctx);
    let parsed = piper_ir::text::parse_module(&ctx, &source, &mut reporter);
    let mut module = parsed.unwrap_or_else(|| panic!("{:#?}", reporter.diagnostics()));
    assert!(verify::verify(&module, &mut reporter), "{:#?}", reporter.diagnostics());
    let parsed = seconds() - start;
    let mut manager =
        pipeline_text::pass_manager(&registry::all(), &road(&case.run)).expect("a pipeline");
    // What every pass makes is verified once, at the end, by verify-dag and verify-device, as in production.
    let options = RunOptions { verify_each: false, threads: 1, ..RunOptions::default() };
    let mut clock = Clock { since: 0.0, passes: vec![("parse and verify".to_owned(), parsed)] };
    let result = manager.run(&mut module, &mut reporter, &options, &mut clock);
    assert!(result.is_ok(), "{:#?}", reporter.diagnostics().first());
    let total = seconds() - start;
    println!("{total}");
    let (nodes, instructions) = counts(&module);
    println!(
        "{total:.2} s, {} MiB (of these {} before the start), {nodes} nodes, {instructions} instructions, {:.1} us a node",
        peak_memory() >> 20,
        before >> 20,
        total * 1e6 / nodes as f64
    );
    for (pass, seconds) in &clock.passes {
        println!("    {pass:<18} {:8.1} ms", seconds * 1e3);
    }
}

/// Text to verified device programs.
fn road(run: &Run) -> String {
    let shard = if run.tp * run.ep > 1 { "shard," } else { "" };
    let replicate = if run.dp > 1 { "replicate," } else { "" };
    format!(
        "import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,{shard}{replicate}update,\
         verify-dag,lower-to-device,kernelize,memory-plan,verify-device"
    )
}

/// Operations of graphs, and instructions of device programs.
fn counts(module: &Module) -> (usize, usize) {
    let graphs = piper_passes::nodes::graphs(module);
    let nodes = graphs.iter().filter_map(|g| module.only_block(*g)).flat_map(|b| module.ops(b));
    let instructions = piper_passes::emit_plan::device_plans(module)
        .into_iter()
        .flat_map(|plan| module.walk(plan))
        .filter(|op| piper_dialects::device::is_instruction(module, *op));
    (nodes.count(), instructions.count())
}

/// The most memory that this process has had resident, in bytes; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
