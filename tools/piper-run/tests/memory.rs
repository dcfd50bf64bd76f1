//! Memory is what the formulas of the literature say, what `print-memory` says, and what the runtime allocates: byte for byte.
//!
//! Psi is the number of parameters, N the number of replicas. Adam keeps two moments. In f32 a parameter costs 16 bytes without
//! sharding; mixed with bf16 and gradients in f32, 18 (Megatron-LM counts the same: 6 + 12/N from stage 1 on). Flat buckets are padded to a
//! multiple of N; where a formula speaks of shards the padded number is meant.

use piper::Compiler;
use piper_codegen::Isolation;
use piper_dialects::dag::Dist;
use piper_ir::{Module, Op};
use piper_passes::print_memory::{Memory, Role, memory};
use piper_run::args::Level;
use piper_run::compile::{Options, compile};
use piper_run::data::Corpus;
use piper_run::models::{ADAMW, Gpt, STRATEGIES, Strategy, ZERO_STRATEGIES};
use piper_run::run::{EngineOptions, open};
use piper_run::train::Training;
use piper_runtime::StopFlag;

const MODEL: Gpt = Gpt {
    layers: 4,
    stages: 4,
    width: 6,
    heads: 1,
    length: 6,
    vocabulary: 128,
    batch: 16,
    is_f64: false,
    is_tied: false,
};

/// The planned module of a plan.
fn planned(text: &str) -> Module {
    let compiler = Compiler::new();
    let mut program = compiler.parse("memory.pir", text).expect("parses");
    let pipeline = "import-tags,inline-calls,expand-directives,tag,precision,autodiff,repeat-casts,build-dag,split-backward,split,place,\
                    order,replicate,hoist-casts,update,verify-dag,lower-to-device,kernelize,memory-plan,verify-device";
    if let Err(failure) = compiler.run(&mut program, pipeline) {
        panic!("{failure}");
    }
    program.module
}

fn programs(module: &Module) -> Vec<Op> {
    let plans = module.top_level().into_iter().filter(|op| module.name_text(*op) == "device.plan");
    let inner = plans.filter_map(|plan| module.only_block(plan)).flat_map(|b| module.ops(b));
    inner.filter(|op| module.name_text(*op) == "device.program").collect()
}

/// Elements of all values that operations of a name have as results.
fn elements(module: &Module, wanted: impl Fn(Op) -> bool) -> u64 {
    let ctx = module.ctx();
    let graph = module.top_level().into_iter().find(|op| module.name_text(*op) == "dag.graph");
    let block = module.only_block(graph.expect("a graph")).expect("a block");
    let sizes = module
        .ops(block)
        .filter(|op| wanted(*op))
        .filter_map(|op| Dist::of(ctx, module.ty(module.result(op, 0)))?.tensor.num_elements(ctx));
    sizes.sum()
}

/// The memory of the only program, parameters (Psi), and elements of the flat buckets. One stage, so that a microbatch's backward
/// follows its forward and the gradients of all parameters are there at once.
fn of(directives: &str) -> (Memory, u64, u64) {
    of_stages(1, directives)
}

fn of_stages(stages: usize, directives: &str) -> (Memory, u64, u64) {
    let strategy = Strategy { name: "", stages, mesh: r#""pp" = 1, "dp" = 4"#, directives: "" };
    let directives: &'static str = Box::leak(directives.to_owned().into_boxed_str());
    let text = MODEL.text(&Strategy { directives, ..strategy }, ADAMW);
    let module = planned(&text);
    let parameters = elements(&module, |op| module.name_text(op) == "dag.parameter");
    let padded = elements(&module, |op| {
        let init = module.attr_by(op, "init");
        module.name_text(op) == "dag.state"
            && init.is_some_and(|i| i.as_dict(module.ctx()).is_some())
    });
    let all = programs(&module);
    let [program] = all[..] else { panic!("one class of devices") };
    (memory(&module, program).expect("planned"), parameters, padded)
}

fn check(name: &str, memory: &Memory, wanted: &[(Role, u64)]) {
    for (role, bytes) in wanted {
        assert_eq!(memory.of(*role).most, *bytes, "{name}: {}", role.text());
    }
    let sum: u64 = Role::ALL.iter().map(|role| memory.of(*role).at_peak).sum();
    assert_eq!(sum + memory.gaps(), memory.arena, "{name}: the columns add up");
}

const N: u64 = 4;

#[test]
fn sixteen_bytes_a_parameter_in_f32_and_what_sharding_leaves_of_them() {
    use Role::{Gradients, OptimizerState, Parameters};
    let zero = |options: &str| {
        of(&format!(
            "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 2\n  strategy.zero over \"dp\" stage = {options}"
        ))
    };
    let (found, psi, _) = zero("0");
    check(
        "stage 0: 16 Psi",
        &found,
        &[(Parameters, 4 * psi), (Gradients, 4 * psi), (OptimizerState, 8 * psi)],
    );
    let (found, psi, flat) = zero("1 bucket = \"4KiB\"");
    check(
        "stage 1: 8 Psi + 12 Psi/N, the shard that is updated being a copy",
        &found,
        &[(Parameters, 4 * psi), (Gradients, 4 * flat), (OptimizerState, 12 * flat / N)],
    );
    let (found, psi, flat) = zero("2 bucket = \"4KiB\"");
    check(
        "stage 2: 4 Psi + 16 Psi/N",
        &found,
        &[(Parameters, 4 * psi), (Gradients, 4 * flat / N), (OptimizerState, 12 * flat / N)],
    );
    let (found, psi, flat) = zero("2 bucket = \"4KiB\" reduce = \"last\"");
    check(
        "stage 2 at the last microbatch: as stage 1",
        &found,
        &[(Parameters, 4 * psi), (Gradients, 4 * flat), (OptimizerState, 12 * flat / N)],
    );
    let (found, _, flat) = zero("3 bucket = \"4KiB\"");
    check(
        "stage 3: 16 Psi/N and what is gathered",
        &found,
        &[(Parameters, 4 * flat / N), (Gradients, 4 * flat / N), (OptimizerState, 8 * flat / N)],
    );
    assert!(flat > psi && flat < psi + 32 * N, "padding is below N elements a bucket");
    let whole = zero("3 bucket = \"4KiB\" gather = \"keep\"").0;
    assert_eq!(whole.of(Role::Gathered).most, 4 * flat, "all are kept");
    // Four stages a device, each gathered for itself.
    let schedule = "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"interleaved1f1b\" microbatches = 2";
    let zero = format!(
        "{schedule}\n  strategy.zero over \"dp\" stage = 3 group = \"segment\" gather = \"microbatch\""
    );
    let (found, _, flat) = of_stages(4, &zero);
    assert!(found.of(Role::Gathered).most < 2 * flat, "one stage is gathered at a time");
}

#[test]
fn mixed_precision_is_eighteen_bytes_with_gradients_in_f32() {
    use Role::{Gathered, Gradients, OptimizerState, Parameters};
    let zero = |options: &str| {
        of(&format!(
            "strategy.precision compute = bf16\n  strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 2\n  strategy.zero over \"dp\" stage = {options}"
        ))
    };
    let (found, psi, _) = zero("0");
    check(
        "stage 0: 18 Psi",
        &found,
        &[
            (Parameters, 4 * psi),
            (Gathered, 2 * psi),
            (Gradients, 4 * psi),
            (OptimizerState, 8 * psi),
        ],
    );
    for (options, gradients) in [("1", 1), ("2", N)] {
        let (found, _, flat) = zero(&format!("{options} bucket = \"4KiB\""));
        check(
            "stages 1 and 2: 12 Psi/N of master and moments, and gradients",
            &found,
            &[
                (Parameters, 4 * flat / N),
                (Gradients, 4 * flat / gradients),
                (OptimizerState, 8 * flat / N),
            ],
        );
        // The compute copies are 2 Psi; the cast shard of the bucket being gathered comes on top.
        let gathered = found.of(Gathered).most;
        assert!((2 * flat..=2 * flat + 2 * 4096).contains(&gathered), "{gathered} for {flat}");
    }
    let (found, _, flat) = zero("3 bucket = \"4KiB\"");
    check(
        "stage 3: 16 Psi/N, shards in bf16, and what is gathered",
        &found,
        &[(Parameters, 4 * flat / N), (Gradients, 4 * flat / N), (OptimizerState, 8 * flat / N)],
    );
    let gathered = found.of(Gathered).most;
    assert!((2 * flat / N..=2 * flat / N + 4 * 4096).contains(&gathered), "{gathered} for {flat}");
}

/// The interleaved schedule of four ranks with four stages each and 16 microbatches, three stages live: the gathers of every rank that
/// torch's lowering makes.
#[test]
fn three_live_stages_are_gathered_as_often_as_torch_does() {
    let model = Gpt { layers: 16, stages: 16, batch: 32, width: 4, heads: 1, ..MODEL };
    let strategy = Strategy {
        name: "",
        stages: 16,
        mesh: r#""pp" = 4, "dp" = 2"#,
        directives: "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"interleaved1f1b\" microbatches = 16\n  strategy.zero over \"dp\" stage = 3 group = \"segment\" gather = 3",
    };
    let module = planned(&model.text(&strategy, ADAMW));
    let counts: Vec<usize> = programs(&module)
        .into_iter()
        .map(|program| {
            let block = module.only_block(program).expect("a block");
            module.ops(block).filter(|op| module.name_text(*op) == "device.all_gather").count()
        })
        .collect();
    assert_eq!(counts, [15, 15, 13, 13]);
}

#[test]
fn the_runtime_allocates_what_is_planned_and_printed() {
    for strategy in STRATEGIES.iter().chain(&ZERO_STRATEGIES) {
        if !strategy.name.contains("dp") {
            continue;
        }
        let text = Gpt { layers: strategy.stages.max(4), ..MODEL }.text(strategy, ADAMW);
        let module = planned(&text);
        let printed: Vec<Memory> =
            programs(&module).into_iter().filter_map(|op| memory(&module, op)).collect();
        let mut compiled = compile(strategy.name, &text, Options::default()).expect("compiles");
        let corpus = Corpus::of("text", text.clone().into_bytes(), 7).expect("a corpus");
        let options = EngineOptions {
            level: Level::Kernel,
            compiler: Isolation::InProcess.into(),
            ..EngineOptions::default()
        };
        let training = Training {
            corpus: &corpus,
            steps: 1,
            learning_rate: compiled.learning_rate.clone(),
            stop: StopFlag::new(),
        };
        let mut engine = open(&mut compiled, &options).expect("loads");
        training.run(&mut *engine, None, |_| ()).expect("runs");
        for (device, used) in engine.memory() {
            let wanted = printed.iter().find(|memory| memory.arena == used.planned);
            assert!(wanted.is_some(), "{}: nobody planned the arena of {device}", strategy.name);
            // Buffers are aligned to 64 bytes, the last one too.
            assert!(
                used.used <= used.planned && used.planned - used.used < 64,
                "{}",
                strategy.name
            );
        }
    }
}
