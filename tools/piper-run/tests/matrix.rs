//! The catalogue of strategies: a part of it runs here, all of it in the example `matrix`, which writes the page.

use std::path::Path;

use piper_codegen::Isolation;
use piper_run::args::Level;
use piper_run::catalogue::{Entry, entries};
use piper_run::compile::{Options, compile};
use piper_run::data::Corpus;
use piper_run::lower::lower;
use piper_run::models::{Gpt, SGD};

const SMALL: Gpt = Gpt {
    layers: 8,
    stages: 4,
    width: 8,
    heads: 2,
    length: 6,
    vocabulary: 128,
    batch: 16,
    is_f64: false,
    is_tied: false,
};

const TEXT: &[u8] = b"Nothing composes silently wrong: a lost gradient is an error with a place, not a loss a little off.";

fn compared(wanted: impl Fn(&Entry) -> bool, level: Level) {
    let corpus = Corpus::of("text", TEXT.to_vec(), 7).expect("text");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for entry in entries().into_iter().filter(|entry| wanted(entry)) {
        count += 1;
        // The graph's interpreter is compared in f64.
        let model = Gpt { is_f64: level == Level::Dag, ..SMALL };
        let tier = entry.tier(model.is_f64);
        let said = match entry.compare(&model, SGD, 2, level, Isolation::InProcess, &corpus) {
            Ok(outcome) if outcome.comparison.meets(tier) && outcome.comparison.has_gradients => {
                continue;
            }
            Ok(outcome) => outcome.comparison.report(tier),
            Err(failure) => failure.to_string(),
        };
        wrong.push(format!("{}:\n{said}", entry.name));
    }
    assert!(count > 0 && wrong.is_empty(), "of {count}:\n{}", wrong.join("\n"));
}

#[test]
fn names_are_unique_and_the_page_has_them_all() {
    let all = entries();
    let mut names: Vec<&str> = all.iter().map(|entry| &*entry.name).collect();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/strategy-matrix.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let rows: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .skip(1)
        .collect();
    assert_eq!(rows, names, "write the page anew: cargo run -p piper-run --example matrix");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    assert!(all.len() >= 60, "{} strategies", all.len());
}

#[test]
fn graphs_of_layouts_and_schedules_by_hand_have_the_numbers_of_one_device() {
    compared(
        |e| !e.name.contains("dp") && !e.name.contains("recompute") && e.devices < 8 && is_cut(e),
        Level::Dag,
    );
}

#[test]
fn every_strategy_compiles_to_verified_programs() {
    for entry in entries() {
        let mut compiled = compile(&entry.name, &entry.text(&SMALL, SGD), Options::default())
            .unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        if let Err(why) = lower(&mut compiled, Level::Kernel, false, Isolation::InProcess) {
            panic!("{}: {why}", entry.name);
        }
    }
}

#[test]
fn graphs_with_recomputation_have_the_bits_of_one_device() {
    compared(
        |e| e.name.contains("recompute") && (!e.name.contains("zero") || e.name.contains("zero 1")),
        Level::Dag,
    );
}

#[test]
fn programs_of_some_of_each_kind_have_the_bits_of_one_device() {
    const SOME: &[&str] = &[
        "interleaved1f1b pp4 x dp2 zero 1 recompute",
        "zb-h1 pp4 an empty stage",
        "dualpipe pp4 x dp2 zero 1 recompute",
        "zbv pp4 recompute in both halves",
        "by hand: primitives pp2",
        "by hand: torch CSV pp2",
        "1f1b pp4 recompute of some microbatches",
    ];
    compared(|e| SOME.contains(&&*e.name), Level::Kernel);
}

fn is_cut(entry: &Entry) -> bool {
    entry.name.starts_with("by hand") || !entry.name.ends_with("pp4")
}

/// Planned bytes of all devices.
fn planned(entry: &Entry, model: &Gpt) -> u64 {
    let text = entry.text(model, SGD);
    let mut compiled = compile(&entry.name, &text, Options::default())
        .unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    let (plan, _) = lower(&mut compiled, Level::Kernel, false, Isolation::InProcess)
        .unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    plan.programs.iter().map(|program| program.peak_bytes()).sum()
}

#[test]
fn recomputation_takes_less_memory_under_every_schedule() {
    // Long sequences, so that activations outweigh parameters.
    let model = Gpt { length: 64, ..SMALL };
    let all = entries();
    let mut pairs = 0;
    for entry in &all {
        let Some(plain) = all.iter().find(|e| entry.name == format!("{} recompute", e.name)) else {
            continue;
        };
        if entry.devices > 4 {
            continue;
        }
        pairs += 1;
        let (with, without) = (planned(entry, &model), planned(plain, &model));
        assert!(4 * with < 3 * without, "{}: {with} bytes, {without} without", entry.name);
    }
    assert_eq!(pairs, 10);
}
