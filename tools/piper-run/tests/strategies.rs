//! Every strategy has the numbers of one device: losses, gradients before the optimizer, and parameters.
//!
//! The small model runs here at the level of the graph, in f64. `cargo run --release --example strategies` prints the
//! figures of the model of four layers.

use piper_codegen::Isolation;
use piper_run::Failure;
use piper_run::args::Level;
use piper_run::beside::Beside;
use piper_run::compare::{Comparison, Tier};
use piper_run::data::Corpus;
use piper_run::models::{ADAMW, Gpt, SGD, STRATEGIES, Strategy, ZERO_STRATEGIES};

const SMALL: Gpt = Gpt {
    layers: 8,
    stages: 4,
    width: 8,
    heads: 2,
    length: 6,
    vocabulary: 128,
    batch: 16,
    is_f64: true,
    is_tied: false,
};

const TEXT: &[u8] = b"Nothing composes silently wrong: a lost gradient is an error with a place, not a loss a little off.";

/// A strategy beside one device.
fn compared(
    model: Gpt,
    strategy: &Strategy,
    optimizer: &str,
    level: Level,
    fixed_tree: bool,
) -> Result<Comparison, Failure> {
    let corpus = Corpus::of("text", TEXT.to_vec(), 7)?;
    let isolation = Isolation::InProcess;
    let beside = Beside { corpus: &corpus, steps: 3, level, isolation, fixed_tree };
    Ok(beside.train(strategy.name, &model.text(strategy, optimizer))?.comparison)
}

/// All strategies with both optimizers. What is not as the tier asks is listed.
fn all(strategies: &[Strategy], model: Gpt, level: Level, tier: Tier) {
    let mut wrong = Vec::new();
    for strategy in strategies {
        for optimizer in [SGD, ADAMW] {
            let said = match compared(model, strategy, optimizer, level, tier == Tier::Bitwise) {
                Ok(c) if c.meets(tier) && c.has_gradients => continue,
                Ok(comparison) => comparison.report(tier),
                Err(failure) => failure.to_string(),
            };
            wrong.push(format!("{} with {optimizer}:\n{said}", strategy.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn graphs_have_the_numbers_of_one_device() {
    all(&STRATEGIES, SMALL, Level::Dag, Tier::F64);
}

#[test]
fn interpreted_device_programs_have_the_bits_of_one_device_with_a_fixed_tree() {
    all(&STRATEGIES, Gpt { is_f64: false, ..SMALL }, Level::Kernel, Tier::Bitwise);
}

#[cfg(feature = "llvm")]
#[test]
fn native_device_programs_have_the_bits_of_one_device_with_a_fixed_tree() {
    all(&STRATEGIES, Gpt { is_f64: false, ..SMALL }, Level::Native, Tier::Bitwise);
}

#[test]
fn sharded_graphs_have_the_numbers_of_one_device() {
    all(&ZERO_STRATEGIES, SMALL, Level::Dag, Tier::F64);
}

#[test]
fn sharded_device_programs_have_the_bits_of_one_device_with_a_fixed_tree() {
    all(&ZERO_STRATEGIES, Gpt { is_f64: false, ..SMALL }, Level::Kernel, Tier::Bitwise);
}

#[test]
fn an_embedding_used_in_the_first_and_last_stage_trains_as_on_one_device() {
    let tied = Gpt { is_tied: true, ..SMALL };
    for name in ["1f1b pp2 x dp2 zero 1", "dualpipe pp4"] {
        let strategy = STRATEGIES.iter().find(|s| s.name == name).expect("known");
        let comparison = compared(tied, strategy, ADAMW, Level::Dag, false).expect("runs");
        assert!(comparison.meets(Tier::F64), "{name}\n{}", comparison.report(Tier::F64));
    }
}

/// A bound that every step exceeds: a gradient that is counted twice, or not at all, changes every parameter.
#[test]
fn the_gradient_norm_counts_tied_and_replicated_parameters_once() {
    const CLIPPED: &str = "strategy.optimizer sgd <lr = 0.5, clip = 0.01>";
    let names = [
        "1f1b pp2 x dp2 zero 1",
        "1f1b pp2 x dp2 zero 2, reduced each",
        "1f1b pp2 x dp4 zero 3",
        "1f1b pp4 x dp2 zero 3, gathered each, reduced each",
        "dualpipe pp4 x dp2 zero 1",
        "dualpipe pp2 x dp2 zero 2, reduced each",
        "dualpipe pp4 x dp2 zero 3, gathered each, reduced each",
        "dualpipev pp2 x dp4 zero 3, two live",
    ];
    for name in names {
        let mut all = STRATEGIES.iter().chain(&ZERO_STRATEGIES);
        let strategy = all.find(|s| s.name == name).expect("known");
        for is_tied in [false, true] {
            let model = Gpt { is_tied, layers: 4, ..SMALL };
            let comparison = compared(model, strategy, CLIPPED, Level::Dag, false).expect("runs");
            let report = comparison.report(Tier::F64);
            assert!(comparison.meets(Tier::F64), "{name}, tied: {is_tied}\n{report}");
        }
    }
}

/// Strategies that compute in bf16.
fn mixed() -> [Strategy; 4] {
    let mixed = [
        ("1f1b pp2", r#""pp" = 2, "dp" = 2"#, "", "stage = 0"),
        ("1f1b pp2 zero 1", r#""pp" = 2, "dp" = 2"#, "", "stage = 1 bucket = \"4KiB\""),
        ("1f1b pp2 zero 2", r#""pp" = 2, "dp" = 2"#, "", "stage = 2 reduce = \"each\""),
        (
            "1f1b pp2 zero 3",
            r#""pp" = 2, "dp" = 2"#,
            " master = f32 reduce = f32",
            "stage = 3 group = \"segment\" gather = \"microbatch\" prefetch = 1 reduce = \"each\"",
        ),
    ];
    mixed.map(|(name, mesh, types, zero)| {
        let directives = format!(
            "strategy.precision compute = bf16{types}\nstrategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\n\
             strategy.zero over \"dp\" {zero}"
        );
        let directives: &'static str = Box::leak(directives.into_boxed_str());
        Strategy { name, stages: 2, mesh, directives }
    })
}

/// bf16 rounds every activation, and the same ones under every strategy: with the fixed tree the bits are those of one device.
#[test]
fn mixed_precision_has_the_bits_of_one_device_with_a_fixed_tree() {
    let model = Gpt { is_f64: false, layers: 2, ..SMALL };
    let native = cfg!(feature = "llvm").then_some(Level::Native);
    for strategy in mixed() {
        for level in [Level::Dag, Level::Kernel].into_iter().chain(native) {
            let comparison = compared(model, &strategy, ADAMW, level, true).expect("runs");
            let report = comparison.report(Tier::Bitwise);
            assert!(comparison.meets(Tier::Bitwise), "{} {level:?}\n{report}", strategy.name);
        }
    }
}

/// Machine code rounds to bf16 once a kernel, the interpreter at every operation: it is as near to f32 as the interpreter is.
#[cfg(feature = "llvm")]
#[test]
fn native_mixed_precision_is_as_near_to_f32_as_the_interpreters() {
    use piper_run::compile::{Options, compile};
    use piper_run::run::{EngineOptions, open};
    use piper_run::train::Training;
    use piper_runtime::StopFlag;
    use std::time::Duration;

    let model = Gpt { is_f64: false, layers: 2, ..SMALL };
    let corpus = Corpus::of("text", TEXT.to_vec(), 7).expect("long enough");
    let distance = |strategy: &Strategy, level: Level, optimizer: &str| {
        let text = model.text(strategy, optimizer);
        let wide = text.lines().filter(|line| !line.contains("strategy.precision"));
        let wide = wide.collect::<Vec<_>>().join("\n");
        let compiled =
            |text: &str| compile(strategy.name, text, Options::default()).expect("compiles");
        let (mut ours, mut theirs) = (compiled(&text), compiled(&wide));
        let engine = EngineOptions {
            level,
            gradients: true,
            compiler: Isolation::InProcess.into(),
            timeout: Duration::from_secs(120),
            ..EngineOptions::default()
        };
        let learning_rate = ours.learning_rate.clone();
        let training = Training { corpus: &corpus, steps: 5, learning_rate, stop: StopFlag::new() };
        let mut ours = open(&mut ours, &engine).expect("opens");
        let mut theirs = open(&mut theirs, &engine).expect("opens");
        let trained = training.run(&mut *ours, Some(&mut *theirs), |_| ()).expect("trains");
        trained.comparison.expect("compared")
    };
    for strategy in mixed() {
        for optimizer in [SGD, ADAMW] {
            let native = distance(&strategy, Level::Native, optimizer);
            let interpreted = distance(&strategy, Level::Kernel, optimizer);
            let report = format!(
                "{} {optimizer}\nnative {native:?}\ninterpreted {interpreted:?}",
                strategy.name
            );
            assert!(native.has_gradients && native.loss <= 1e-3, "{report}");
            assert!(native.gradient.0 <= 1.5 * interpreted.gradient.0, "{report}");
        }
    }
}
