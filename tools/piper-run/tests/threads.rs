//! Threads within a virtual device, and code for several levels of vector instructions: what they change, and what they do not.
#![cfg(feature = "llvm")]

use piper_codegen::{Isolation, Target, VectorLevel};
use piper_run::compile::{Options, compile};
use piper_run::data::Corpus;
use piper_run::engine::Values;
use piper_run::models::{ADAMW, Gpt, STRATEGIES};
use piper_run::run::{EngineOptions, open};
use piper_run::train::Training;
use piper_runtime::StopFlag;

/// Large enough that most kernels are divided.
const MODEL: Gpt = Gpt {
    layers: 2,
    stages: 2,
    width: 64,
    heads: 4,
    length: 48,
    vocabulary: 256,
    batch: 16,
    is_f64: false,
    is_tied: false,
};

struct Trained {
    losses: Vec<f64>,
    parameters: Values,
}

fn train(strategy: &str, options: EngineOptions) -> Trained {
    let strategy = STRATEGIES.iter().find(|s| s.name == strategy).expect("known");
    let text = MODEL.text(strategy, ADAMW);
    let mut compiled = compile(strategy.name, &text, Options::default()).expect("compiles");
    let bytes = "Parts of a launch are parts of one sum. ".repeat(200).into_bytes();
    let corpus = Corpus::of("text", bytes, 7).expect("long enough");
    let learning_rate = compiled.learning_rate.clone();
    let training = Training { corpus: &corpus, steps: 3, learning_rate, stop: StopFlag::new() };
    let options = EngineOptions { compiler: Isolation::InProcess.into(), ..options };
    let mut engine = open(&mut compiled, &options).expect("opens");
    let trained = training.run(&mut *engine, None, |_| ()).expect("trains");
    Trained { losses: trained.losses, parameters: engine.parameters().expect("agree") }
}

#[test]
fn the_number_of_threads_does_not_show_in_the_numbers() {
    for strategy in ["1f1b pp2", "gpipe pp2"] {
        let on = |threads_per_device| {
            train(strategy, EngineOptions { threads_per_device, ..EngineOptions::default() })
        };
        let one = on(1);
        assert!(one.losses[2] < one.losses[0], "{:?}", one.losses);
        for threads in [2, 3, 7] {
            let several = on(threads);
            assert_eq!(several.losses, one.losses, "{strategy}, {threads} threads");
            assert!(several.parameters == one.parameters, "{strategy}, {threads} threads");
        }
    }
}

#[test]
fn a_plan_of_several_levels_runs_the_best_that_is_here() {
    let with = |targets| train("1f1b pp2", EngineOptions { targets, ..EngineOptions::default() });
    let all = Target::of_vectors("all").expect("known");
    let levels = [VectorLevel::Portable, VectorLevel::Neon, VectorLevel::Avx2, VectorLevel::Avx512];
    let here: Vec<Target> = levels
        .into_iter()
        .filter(|level| Target::host_supports(*level))
        .map(Target::generic)
        .collect();
    let runs: Vec<Trained> = here.iter().map(|target| with(vec![target.clone()])).collect();
    let (best, others) = runs.split_last().expect("this machine has a level");
    for other in others {
        for (a, b) in best.losses.iter().zip(&other.losses) {
            assert!((a - b).abs() <= 1e-4 * a.abs(), "{:?} {:?}", best.losses, other.losses);
        }
    }
    let chosen = with(all);
    assert_eq!(chosen.losses, best.losses);
    assert!(chosen.parameters == best.parameters);
}
