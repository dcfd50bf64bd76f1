//! Prints how every strategy compares with one device: 20 steps of SGD and of AdamW of the four-layer model (eight layers
//! where a strategy has eight stages), bitwise with a fixed tree, within the f32 bounds without, and twice over.
//!
//! `cargo run --release -p piper-run --features piper-run/llvm --example strategies`

use std::process::ExitCode;

use piper_codegen::Isolation;
use piper_run::Failure;
use piper_run::args::Level;
use piper_run::beside::{Beside, Outcome};
use piper_run::compare::Tier;
use piper_run::data::Corpus;
use piper_run::lower::best_level;
use piper_run::models::{ADAMW, Gpt, SGD, STRATEGIES, Strategy};

const STEPS: u64 = 20;
const TEXT: &str = include_str!("../src/models.rs");

/// A strategy beside one device.
fn train(
    model: &Gpt,
    strategy: &Strategy,
    optimizer: &str,
    level: Level,
    fixed_tree: bool,
) -> Result<Outcome, Failure> {
    // A stage has at least one block.
    let model = Gpt { layers: model.layers.max(strategy.stages), ..*model };
    let text = model.text(strategy, optimizer);
    let corpus = Corpus::of("models.rs", TEXT.as_bytes().to_vec(), 0)?;
    let isolation = Isolation::Child;
    Beside { corpus: &corpus, steps: STEPS, level, isolation, fixed_tree }
        .train(strategy.name, &text)
}

fn main() -> ExitCode {
    piper_codegen::child_main();
    let model = Gpt {
        layers: 4,
        stages: 4,
        width: 128,
        heads: 4,
        length: 64,
        vocabulary: 256,
        batch: 16,
        is_f64: false,
        is_tied: false,
    };
    let level = best_level();
    println!("{STEPS} steps, level {}", level.text());
    println!(
        "{:<28} {:<6} {:>9} {:>10} {:>10} {:>10}  {:<10} two runs",
        "strategy", "", "last loss", "loss", "gradients", "param./lr", "fixed tree"
    );
    let mut is_good = true;
    for strategy in &STRATEGIES {
        for (name, optimizer) in [("sgd", SGD), ("adamw", ADAMW)] {
            let line = line(&model, strategy, optimizer, level);
            let (good, text) = line.unwrap_or_else(|failure| (false, failure.to_string()));
            is_good &= good;
            println!("{:<28} {name:<6} {text}", strategy.name);
        }
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn line(
    model: &Gpt,
    strategy: &Strategy,
    optimizer: &str,
    level: Level,
) -> Result<(bool, String), Failure> {
    let free = train(model, strategy, optimizer, level, false)?;
    let tree = train(model, strategy, optimizer, level, true)?;
    let again = train(model, strategy, optimizer, level, true)?;
    let (f32, tree_comparison) = (&free.comparison, &tree.comparison);
    let bits = |t: &Outcome| t.losses.iter().map(|l| l.to_bits()).collect::<Vec<_>>();
    let (is_bitwise, is_same) = (tree_comparison.meets(Tier::Bitwise), bits(&tree) == bits(&again));
    let text = format!(
        "{:>9.4} {:>10.1e} {:>10.1e} {:>10.1e}  {:<10} {}{}",
        free.losses.last().copied().unwrap_or(f64::NAN),
        f32.loss,
        f32.gradient.0,
        f32.parameter.0,
        if is_bitwise { "bitwise" } else { "DIFFERS" },
        if is_same { "same bits" } else { "DIFFER" },
        if f32.meets(Tier::F32) { "" } else { "  (outside the f32 bounds)" },
    );
    Ok((is_bitwise && is_same && f32.meets(Tier::F32), text))
}
