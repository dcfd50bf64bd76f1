//! Times the training step of a byte-level GPT on one device in machine code, for `cargo xtask bench step`.
//!
//! `step WIDTH LAYERS HEADS LENGTH BATCH STEPS THREADS` prints one line: the least and the median milliseconds of a step (the first
//! apart), the highest resident mebibytes of this process, the loss of the last step, and mebibytes planned for the device.

use std::time::{Duration, Instant};

use piper_run::Failure;
use piper_run::args::Level;
use piper_run::compile::{Options, compile};
use piper_run::data::Corpus;
use piper_run::models::Gpt;
use piper_run::run::{EngineOptions, open};
use piper_run::train::Training;
use piper_runtime::StopFlag;

fn main() {
    piper_codegen::child_main();
    if let Err(failure) = run() {
        eprintln!("{failure}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Failure> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let [width, layers, heads, length, batch, steps, threads_per_device] = numbers[..] else {
        return Err(Failure::new("usage: step WIDTH LAYERS HEADS LENGTH BATCH STEPS THREADS"));
    };
    let text = Gpt::text_to_measure(width, layers, heads, length, batch);
    let mut compiled = compile("step.pir", &text, Options::default())?;
    let bytes: Vec<u8> =
        (0..1 << 16).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let corpus = Corpus::of("numbers", bytes, 7)?;
    let engine = EngineOptions {
        level: Level::Native,
        timeout: Duration::from_secs(600),
        threads_per_device,
        ..EngineOptions::default()
    };
    let learning_rate = compiled.learning_rate.clone();
    let mut opened = open(&mut compiled, &engine)?;
    let training =
        Training { corpus: &corpus, steps: steps as u64 + 1, learning_rate, stop: StopFlag::new() };
    let mut last = Instant::now();
    let (mut times, mut loss) = (Vec::new(), f64::NAN);
    training.run(&mut *opened, None, |value| {
        times.push(last.elapsed().as_secs_f64() * 1e3);
        last = Instant::now();
        loss = value;
    })?;
    let mut times = times.split_off(1);
    times.sort_by(f64::total_cmp);
    let memory = opened.memory();
    let bytes = memory.iter().map(|(_, m)| m.planned + m.workspace).max().unwrap_or(0);
    let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    let least = times.first().copied().unwrap_or(f64::NAN);
    let planned = bytes as f64 / f64::from(1 << 20);
    println!("{least:.1} {median:.1} {:.0} {loss:.4} {planned:.0}", resident());
    Ok(())
}

/// The highest resident size so far in mebibytes; no number where the system does not say it.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok());
    kibibytes.map_or(f64::NAN, |kibibytes: f64| kibibytes / 1024.0)
}
