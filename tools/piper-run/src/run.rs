//! `piper-run FILE`: compile, train, tell.

use std::time::Duration;

use piper::{Executable, Native};
use piper_codegen::adapter::CodeReport;
use piper_codegen::{Cache, Compiler, Isolation, Target};
use piper_plan::{Code, Plan};
use piper_runtime::{MemoryUse, NativeLibrary, StopFlag};

use crate::args::{Backend, Gemm, Level, RunArgs};
use crate::compare::Tier;
use crate::compile::{Compiled, compile, feeds_of_plan};
use crate::cuda::{CudaEngine, CudaOptions};
use crate::data::Corpus;
use crate::engine::{DagEngine, Engine, PlanEngine};
use crate::lower::{best_level, lowered, lowered_to_ptx};
use crate::progress::{Progress, loss_curve};
use crate::say::say;
use crate::source::Source;
use crate::train::{Trained, Training};
use crate::{Failure, compile, cuda, files};

/// How a run ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All steps were taken, and a comparison, if any, came out well.
    Done,
    /// The comparison found other numbers.
    Differs,
    /// The run was interrupted between steps.
    Interrupted,
}

/// How engines are opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// What takes the steps.
    pub level: Level,
    /// Gradients are reported.
    pub gradients: bool,
    /// Makes machine code. A child needs [`piper_codegen::child_main`] at the head of the program.
    pub compiler: Compiler,
    /// What it is made for.
    pub targets: Vec<Target>,
    /// Steps are recorded.
    pub trace: bool,
    /// A step without progress for so long is given up.
    pub timeout: Duration,
    /// Ends the run between steps.
    pub stop: StopFlag,
    /// Threads of each virtual device, for machine code.
    pub threads_per_device: usize,
}

/// The default: the fastest level of this build, no cache, nothing recorded.
impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            level: best_level(),
            gradients: false,
            compiler: Compiler::default(),
            targets: vec![Target::host()],
            trace: false,
            timeout: Duration::from_secs(60),
            stop: StopFlag::new(),
            threads_per_device: 1,
        }
    }
}

/// An engine for a compiled graph.
///
/// # Errors
/// Whatever lowering finds; a level that this build does not have.
pub fn open<'c>(
    compiled: &'c mut Compiled,
    options: &EngineOptions,
) -> Result<Box<dyn Engine + 'c>, Failure> {
    if options.level == Level::Dag {
        return Ok(Box::new(DagEngine::new(compiled)?));
    }
    let EngineOptions { compiler, targets, .. } = options.clone();
    let how = Native { compiler, targets };
    let Executable { plan, library, code } =
        lowered(compiled, options.level, options.gradients, &how)?;
    let feeds = compiled.feeds.clone();
    let mut engine = PlanEngine::load(plan, feeds, &*library, runtime_options(options))?;
    engine.code = code;
    Ok(Box::new(engine))
}

fn runtime_options(options: &EngineOptions) -> piper_runtime::Options {
    piper_runtime::Options {
        timeout: options.timeout,
        trace: options.trace,
        stop: options.stop.clone(),
        threads_per_device: options.threads_per_device,
        ..piper_runtime::Options::default()
    }
}

/// Runs what the arguments say.
///
/// # Errors
/// Anything wrong with the input, the data, an output path, or a step.
pub fn run(args: &RunArgs, stop: &StopFlag) -> Result<Ending, Failure> {
    check_compile_only(args)?;
    for (what, path) in [("plan", &args.output), ("trace", &args.trace)] {
        path.as_ref().map_or(Ok(()), |path| files::check_writable(what, path))?;
    }
    cuda::check(args)?;
    match Source::read(&args.input)? {
        Source::Text { name, text } => run_text(args, stop, &name, &text),
        Source::Plan(plan) => run_plan(args, stop, *plan),
    }
}

/// Flags of steps have no meaning where none is taken.
fn check_compile_only(args: &RunArgs) -> Result<(), Failure> {
    let of_steps = [
        ("--gemm", args.gemm != Gemm::Own),
        ("--graphs", args.graphs),
        ("--check-launches", args.check_launches),
        ("--trace", args.trace.is_some()),
        ("--compare-single", args.compare_single),
    ];
    match of_steps.iter().find(|(_, is_given)| args.compile_only && *is_given) {
        Some((flag, _)) => Err(Failure::with_hint(
            format!("{flag} is for steps, and --compile-only takes none"),
            match *flag {
                // A compiled plan does not have what it needs.
                "--compare-single" => format!("run the .pir file with {flag}"),
                _ => format!("leave {flag} out here, and give it when the plan is run"),
            },
        )),
        None => Ok(()),
    }
}

fn engine_options(args: &RunArgs, level: Level, stop: &StopFlag) -> EngineOptions {
    EngineOptions {
        level,
        gradients: args.compare_single,
        compiler: compiler(args.no_cache),
        targets: args.targets(),
        trace: args.trace.is_some(),
        timeout: Duration::from_secs_f64(args.devices_timeout),
        stop: stop.clone(),
        threads_per_device: args.threads_per_device,
    }
}

/// Makes code in a child, and looks for it where the user keeps it.
pub(crate) fn compiler(no_cache: bool) -> Compiler {
    let cache = if no_cache { Cache::none() } else { Cache::of_user() };
    Compiler { isolation: Isolation::Child, cache, threads: 0 }
}

/// Tells of the code, and what is wrong with the place where it is kept.
pub(crate) fn tell_code(code: Option<&CodeReport>, compiler: &Compiler) {
    if let Some(code) = code {
        say!("{code}");
    }
    if let Some(remark) = compiler.cache.remark() {
        eprintln!("remark: {remark}");
    }
}

fn run_text(args: &RunArgs, stop: &StopFlag, name: &str, text: &str) -> Result<Ending, Failure> {
    let mut ours = compile(name, text, options_of(args))?;
    let declared = ours.declared_call();
    let default = if declared.is_some() { Level::Kernel } else { best_level() };
    let level = args.level.unwrap_or(default);
    let gpus = gpus(args, stop)?;
    // Of several processes one tells.
    let is_quiet = gpus.as_ref().is_some_and(|gpus| gpus.world.rank > 0);
    let runs = match &gpus {
        Some(gpus) => format!("code for {}", gpus.chip.name()),
        None => format!("level {}", level.text()),
    };
    if !is_quiet {
        say!("{}", describe(&ours, &runs));
    }
    if args.compile_only {
        return compile_only(args, &mut ours, level, gpus.as_ref());
    }
    if let Some(failure) = declared {
        return Err(failure);
    }
    let corpus = corpus(args)?;
    corpus.check(&ours.feeds)?;
    let options = engine_options(args, level, stop);
    let mut single = match args.compare_single {
        true => {
            let options = compile::Options { single: true, ..options_of(args) };
            Some(compile(name, text, options)?)
        }
        false => None,
    };
    // NCCL adds in an order of its own, and kernels of a GPU round in other places.
    let tier = match &gpus {
        Some(_) if ours.is_mixed => Tier::Bf16,
        gpus => tier(&ours, args.fixed_tree && gpus.is_none()),
    };
    let training = Training {
        corpus: &corpus,
        steps: args.steps,
        learning_rate: ours.learning_rate.clone(),
        stop: stop.clone(),
    };
    let tokens = ours.tokens_per_step();
    let mut engine: Box<dyn Engine + '_> = match &gpus {
        Some(gpus) => Box::new(cuda::open(&mut ours, gpus, options.gradients, &options.compiler)?),
        None => open(&mut ours, &options)?,
    };
    tell_code(engine.code(), &options.compiler);
    // One device is a processor whatever runs ours.
    let reference_options = EngineOptions { trace: false, ..options };
    let mut reference =
        single.as_mut().map(|single| open(single, &reference_options)).transpose()?;
    let trained = train(args, &training, &mut *engine, reference.as_deref_mut(), tokens, is_quiet)?;
    if is_quiet {
        quiet_trace(args, &*engine)?;
        return Ok(ending(&trained, tier));
    }
    conclude(args, &*engine, &trained, tokens, tier)
}

/// Takes the steps, and shows them unless another process does.
fn train<'r>(
    args: &RunArgs,
    training: &Training<'_>,
    engine: &mut dyn Engine,
    reference: Option<&mut (dyn Engine + 'r)>,
    tokens: u64,
    is_quiet: bool,
) -> Result<Trained, Failure> {
    if is_quiet {
        return training.run(engine, reference, |_| ());
    }
    let mut progress = Progress::new(args.steps, tokens, args.log_every);
    let trained = training.run(engine, reference, |loss| progress.step(loss));
    progress.finish();
    trained
}

/// The GPUs to run on, or to compile for.
fn gpus(args: &RunArgs, stop: &StopFlag) -> Result<Option<CudaOptions>, Failure> {
    let is_wanted =
        args.backend == Backend::Cuda || args.target.as_ref().is_some_and(|t| t != "host");
    is_wanted.then(|| cuda::options(args, stop)).transpose()
}

fn options_of(args: &RunArgs) -> compile::Options<'_> {
    compile::Options {
        plan: args.plan.as_deref(),
        fixed_tree: args.fixed_tree,
        single: false,
        plugins: &args.load_plugin,
        dialects: &args.load_dialect,
    }
}

/// What a comparison is held to: the strictest that can hold.
pub fn tier(compiled: &Compiled, fixed_tree: bool) -> Tier {
    match (fixed_tree, compiled.is_f64) {
        (true, _) => Tier::Bitwise,
        (false, true) => Tier::F64,
        (false, false) => Tier::F32,
    }
}

/// One line about a compiled plan. `runs` is what takes the steps.
pub fn describe(compiled: &Compiled, runs: &str) -> String {
    let s = |n: i64| if n == 1 { "" } else { "s" };
    let (devices, grains) = (compiled.devices as i64, compiled.grains);
    format!(
        "plan @{}: {devices} device{}, batch in {grains} part{}, {} tokens a step, {runs}; compiled in {:.0} ms",
        compiled.name,
        s(devices),
        s(grains),
        compiled.tokens_per_step(),
        compiled.took.as_secs_f64() * 1e3,
    )
}

fn corpus(args: &RunArgs) -> Result<Corpus, Failure> {
    let data = args
        .data
        .as_deref()
        .ok_or_else(|| Failure::with_hint("there is no data to train on", "--data FILE"))?;
    Corpus::read(data, args.seed)
}

fn compile_only(
    args: &RunArgs,
    compiled: &mut Compiled,
    level: Level,
    gpus: Option<&CudaOptions>,
) -> Result<Ending, Failure> {
    if level == Level::Dag {
        if args.output.is_some() {
            return Err(Failure::with_hint(
                "level dag has no device programs to write",
                "use --level native or --level device",
            ));
        }
        return Ok(Ending::Done);
    }
    let how = Native { compiler: compiler(args.no_cache), targets: args.targets() };
    let (plan, code) = match gpus {
        Some(gpus) => (lowered_to_ptx(compiled, gpus.chip, false, &how.compiler)?, None),
        None => {
            let Executable { plan, code, .. } = lowered(compiled, level, false, &how)?;
            (plan, code)
        }
    };
    tell_code(code.as_ref(), &how.compiler);
    if let Some(path) = &args.output {
        files::write("plan", path, &plan.to_bytes())?;
        say!("wrote {}", path.display());
    }
    Ok(Ending::Done)
}

fn run_plan(args: &RunArgs, stop: &StopFlag, plan: Plan) -> Result<Ending, Failure> {
    let shown = args.input.display();
    let of_text = [
        ("--compare-single", args.compare_single),
        ("--fixed-tree", args.fixed_tree),
        ("--plan", args.plan.is_some()),
        ("--load-plugin", !args.load_plugin.is_empty()),
        ("--load-dialect", !args.load_dialect.is_empty()),
    ];
    if let Some((flag, _)) = of_text.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::with_hint(
            format!("'{shown}' is compiled: {flag} needs the .pir it came from"),
            format!("run the .pir file with {flag}"),
        ));
    }
    if let Some(level) = args.level.filter(|level| *level != Level::Native) {
        return Err(Failure::with_hint(
            format!(
                "'{shown}' is compiled: its kernels are machine code, and level {} interprets text",
                level.text()
            ),
            "run the .pir file with this level",
        ));
    }
    let faults = piper_plan::verify(&plan);
    if !faults.is_empty() {
        let lines: Vec<String> = faults.iter().map(|f| f.render(&plan)).collect();
        return Err(Failure::with_hint(
            format!("'{shown}' is not safe to run:\n{}", lines.join("\n")),
            "the file was changed after it was compiled; compile the .pir again",
        ));
    }
    if args.compile_only {
        return Ok(Ending::Done);
    }
    let corpus = corpus(args)?;
    let feeds = feeds_of_plan(&plan)?;
    corpus.check(&feeds)?;
    let tokens = plan.misc.tokens_per_step;
    let training =
        Training { corpus: &corpus, steps: args.steps, learning_rate: None, stop: stop.clone() };
    let (name, devices) = (plan.name.clone(), plan.devices());
    let (mut engine, is_quiet): (Box<dyn Engine>, bool) = match (&plan.code, args.backend) {
        (Code::Ptx(ptx), Backend::Threads) => {
            return Err(Failure::with_hint(
                format!("'{shown}' is compiled for {} and runs on GPUs", ptx.chip),
                "--backend cuda",
            ));
        }
        (_, Backend::Threads) => {
            let library = NativeLibrary::of_plan(&plan)
                .map_err(|error| Failure::new(format!("'{shown}': {error}")))?;
            let options = runtime_options(&engine_options(args, Level::Native, stop));
            say!("plan @{name}: {devices} devices, {tokens} tokens a step, level native");
            (Box::new(PlanEngine::load(plan, feeds, &library, options)?), false)
        }
        (code, Backend::Cuda) => {
            if let (Some(target), Code::Ptx(ptx)) = (&args.target, code)
                && cuda::chip_named(target)?.architecture() != ptx.chip
            {
                return Err(Failure::with_hint(
                    format!("'{shown}' is compiled for {}, not {target}", ptx.chip),
                    "compile the .pir again with this --target",
                ));
            }
            let options = cuda::options(args, stop)?;
            let is_quiet = options.world.rank > 0;
            let engine = CudaEngine::load(plan, feeds, &options)?;
            if !is_quiet {
                say!("plan @{name}: {devices} devices, {tokens} tokens a step, CUDA");
            }
            (Box::new(engine), is_quiet)
        }
    };
    let trained = train(args, &training, &mut *engine, None, tokens, is_quiet)?;
    if is_quiet {
        quiet_trace(args, &*engine)?;
        return Ok(ending(&trained, Tier::F32));
    }
    conclude(args, &*engine, &trained, tokens, Tier::F32)
}

/// Gives what this process has of a trace to the one that writes it.
fn quiet_trace(args: &RunArgs, engine: &dyn Engine) -> Result<(), Failure> {
    if args.trace.is_some() {
        engine.trace()?;
    }
    Ok(())
}

/// Prints the summary and writes the trace.
fn conclude(
    args: &RunArgs,
    engine: &dyn Engine,
    trained: &Trained,
    tokens: u64,
    tier: Tier,
) -> Result<Ending, Failure> {
    say!("{}", summary(trained, tokens, &engine.memory(), tier).trim_end());
    if let Some(path) = &args.trace {
        match engine.trace()? {
            Some(trace) => {
                files::write("trace", path, trace.as_bytes())?;
                say!("trace written to {} (open it at https://ui.perfetto.dev)", path.display());
            }
            None => say!("no trace: level dag has no devices that run at the same time"),
        }
    }
    Ok(ending(trained, tier))
}

/// What a run comes to.
pub fn ending(trained: &Trained, tier: Tier) -> Ending {
    if trained.is_stopped {
        return Ending::Interrupted;
    }
    match &trained.comparison {
        Some(comparison) if !comparison.meets(tier) && comparison.steps > 0 => Ending::Differs,
        _ => Ending::Done,
    }
}

/// Loss, speed, memory and comparison, in lines for people.
pub fn summary(
    trained: &Trained,
    tokens: u64,
    memory: &[(String, MemoryUse)],
    tier: Tier,
) -> String {
    let mut out = String::new();
    let steps = trained.losses.len() as u64;
    if trained.is_stopped {
        out += &format!("interrupted after step {steps}; nothing is half done\n");
    }
    out += &format!("loss {}\n", loss_curve(&trained.losses, 40));
    let seconds = trained.wall.as_secs_f64();
    if steps > 0 && seconds > 0.0 {
        let per_step = seconds / steps as f64 * 1e3;
        out += &format!(
            "{steps} steps in {seconds:.2} s: {per_step:.1} ms a step, {:.0} tokens/s",
            (steps * tokens) as f64 / seconds
        );
        let reference = trained.reference_wall.as_secs_f64();
        if reference > 0.0 {
            out += &format!("; one device {:.1} ms a step", reference / steps as f64 * 1e3);
        }
        out.push('\n');
    }
    if !memory.is_empty() {
        out += &format!(
            "{:<24} {:>14} {:>14} {:>12}\n",
            "device", "peak planned", "peak used", "workspace"
        );
    }
    for (device, memory) in memory {
        out += &format!(
            "{device:<24} {:>14} {:>14} {:>12}\n",
            memory.planned, memory.used, memory.workspace
        );
    }
    if let Some(comparison) = trained.comparison.as_ref().filter(|c| c.steps > 0) {
        out += &comparison.report(tier);
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::engine::{Step, StepFault, Values};

    /// Has taken its steps beside another process, which is gone.
    struct Left;

    impl Engine for Left {
        fn step(&mut self, _: &Corpus) -> Result<Step, StepFault> {
            Err(StepFault::Stopped)
        }

        fn parameters(&self) -> Result<Values, Failure> {
            Ok(Values::default())
        }

        fn trace(&self) -> Result<Option<String>, Failure> {
            Err(Failure::new("the trace is lost: the process of rank 1 has ended"))
        }
    }

    #[test]
    fn a_trace_that_fails_fails_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("trace.json");
        let plain = ["piper-run", "train.pir", "--data", "text.txt"];
        let flags = ["--trace", trace.to_str().expect("UTF-8")];
        let args = RunArgs::parse_from(plain.iter().chain(&flags));
        let trained = Trained::default();
        let wrote = conclude(&args, &Left, &trained, 1, Tier::F32);
        let gave = quiet_trace(&args, &Left);
        for failure in [wrote.err(), gave.err()] {
            assert!(failure.expect("a failure").to_string().contains("rank 1 has ended"));
        }
        assert!(!trace.exists());
        let untraced = RunArgs::parse_from(plain);
        assert!(conclude(&untraced, &Left, &trained, 1, Tier::F32).is_ok());
        assert!(quiet_trace(&untraced, &Left).is_ok());
    }
}
