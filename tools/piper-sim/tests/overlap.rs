//! What `overlap` gains: a small DeepSeek-V3 with experts over two nodes, compiled with and without turns, verified and simulated.

use std::path::Path;

use piper_codegen::Isolation;
use piper_models::{Run, Schedule, find, text};
use piper_run::args::Level;
use piper_run::compile::{Options, compile};
use piper_run::lower::lower;
use piper_sim::{Outcome, simulate};
use piper_sim_cli::read_machine;

/// Fourteen layers on four pipeline ranks, experts over sixteen devices: two nodes of the machine.
fn simulated(overlap: bool) -> Outcome {
    let model = find("deepseek-v3").expect("a model").with_layers(14);
    let run = Run {
        pp: 4,
        ep: 16,
        microbatches: 16,
        schedule: Schedule::DualPipe,
        overlap,
        ..Run::default()
    };
    let source = text(&model, &run).unwrap_or_else(|e| panic!("{e}"));
    let mut compiled =
        compile("v3.pir", &source, Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let (plan, _) = lower(&mut compiled, Level::Kernel, false, Isolation::InProcess)
        .unwrap_or_else(|e| panic!("{e}"));
    let faults = piper_plan::verify(&plan);
    assert!(faults.is_empty(), "{}", faults[0].render(&plan));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/h800.toml");
    let machine = read_machine(&path).unwrap_or_else(|e| panic!("{e}"));
    simulate(&plan, &machine).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn turns_hide_exchanges() {
    let [plain, turns] = [simulated(false), simulated(true)];
    assert_eq!(plain.ranks.len(), turns.ranks.len());
    let sum = |outcome: &Outcome, of: fn(&piper_sim::RankOutcome) -> f64| -> f64 {
        outcome.ranks.iter().map(of).sum()
    };
    println!("makespan {:.3} s, with turns {:.3} s", plain.makespan, turns.makespan);
    assert!(turns.makespan < plain.makespan);
    assert!(sum(&turns, |rank| rank.exposed) < sum(&plain, |rank| rank.exposed));
    // The same is computed, only in another order.
    let [before, after] = [&plain, &turns].map(|outcome| sum(outcome, |rank| rank.flops));
    assert!((before - after).abs() <= 1e-9 * before, "{before} and {after}");
}
