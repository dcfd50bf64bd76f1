//! Runs every strategy of the catalogue beside one device and writes `docs/strategy-matrix.md`.
//!
//! `cargo run -p piper-run --features piper-run/llvm --example matrix [-- FILTER]`; with a filter, only entries whose name contains it are
//! run, and nothing is written.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use piper_codegen::Isolation;
use piper_run::args::Level;
use piper_run::beside::Outcome;
use piper_run::catalogue::entries;
use piper_run::data::Corpus;
use piper_run::lower::best_level;
use piper_run::models::{Gpt, SGD};

const STEPS: u64 = 3;
const TEXT: &str = include_str!("../src/catalogue.rs");

const MODEL: Gpt = Gpt {
    layers: 8,
    stages: 4,
    width: 16,
    heads: 2,
    length: 32,
    vocabulary: 128,
    batch: 16,
    is_f64: false,
    is_tied: false,
};

fn main() -> ExitCode {
    piper_codegen::child_main();
    let filter = std::env::args().nth(1);
    let level = best_level();
    let corpus = Corpus::of("catalogue.rs", TEXT.as_bytes().to_vec(), 0).expect("text to train on");
    let mut page = head(level);
    let (mut good, mut count) = (true, 0);
    for entry in entries() {
        if filter.as_ref().is_some_and(|filter| !entry.name.contains(&**filter)) {
            continue;
        }
        let outcome = entry.compare(&MODEL, SGD, STEPS, level, Isolation::Child, &corpus);
        let (is_good, cells) = match &outcome {
            Ok(outcome) => {
                let tier = entry.tier(false);
                (outcome.comparison.meets(tier) && outcome.comparison.has_gradients, cells(outcome))
            }
            Err(failure) => {
                let first = failure.to_string().lines().next().unwrap_or_default().to_owned();
                (false, format!("{first} | | | | |"))
            }
        };
        good &= is_good;
        count += 1;
        let line = format!(
            "| {} | `{}` | {} | {} | {cells}",
            entry.name,
            entry.stages.replace('|', "\\|"),
            entry.mesh.replace('"', ""),
            entry.devices
        );
        println!("{}{line}", if is_good { "" } else { "FAILS " });
        page.push_str(&line);
        page.push('\n');
    }
    println!(
        "{count} strategies, {}",
        if good { "all as one device" } else { "NOT all as one device" }
    );
    if filter.is_none() && good {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/strategy-matrix.md");
        std::fs::write(&path, page).expect("the page can be written");
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn head(level: Level) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "# Strategies beside one device

Written by `cargo run -p piper-run --features piper-run/llvm --example matrix` (level {}); a test compares the rows with the catalogue
(`tools/piper-run/src/catalogue.rs`). Each row trained {STEPS} steps of SGD with a GPT of 8 blocks, width {}, {} tokens and a batch of {},
beside one device with the same division of the batch, gradients added up in a fixed tree. In the stages `E` is the embedding,
`t` a block, `L` the norm, head and loss, `|` the end of a stage. Differences are the largest of all steps: of the loss relative, of a gradient
by norm, of a parameter in learning rates. Memory is the planned arena of the device that needs most (parameters, activations,
gradients, buffers of communication), and of the one device.

| strategy | stages | mesh | devices | loss | gradients | parameters | bits | memory | one device |
|---|---|---|---:|---:|---:|---:|---|---:|---:|
",
        level.text(),
        MODEL.width,
        MODEL.length,
        MODEL.batch
    );
    page
}

/// `| loss | gradients | parameters | bits | memory | one device |`, the first bar apart.
fn cells(outcome: &Outcome) -> String {
    let number = |value: f64| if value == 0.0 { "0".to_owned() } else { format!("{value:.1e}") };
    let c = &outcome.comparison;
    let kib = |bytes: u64| format!("{} KiB", bytes.div_ceil(1024));
    format!(
        "{} | {} | {} | {} | {} | {} |",
        number(c.loss),
        number(c.gradient.0),
        number(c.parameter.0),
        if c.is_bitwise { "equal" } else { "differ" },
        kib(outcome.peak_bytes),
        kib(outcome.reference_bytes)
    )
}
