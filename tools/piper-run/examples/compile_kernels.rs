//! Times the machine code of a byte-level GPT on one device, for `cargo xtask bench compile-kernels`.
//!
//! `compile_kernels WIDTH LAYERS HEADS LENGTH BATCH TURNS` prints a table: the least and the median milliseconds of code
//! generation and linking on one thread, on one thread a core, and when the code is in the cache; text to device programs beside
//! them.

use std::time::Duration;

use piper::Native;
use piper_codegen::{Cache, Compiler, Isolation};
use piper_run::Failure;
use piper_run::args::Level;
use piper_run::compile::{Options, compile};
use piper_run::lower::lowered;
use piper_run::models::Gpt;

fn main() {
    piper_codegen::child_main();
    if let Err(failure) = run() {
        eprintln!("{failure}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Failure> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let [width, layers, heads, length, batch, turns] = numbers[..] else {
        return Err(Failure::new("usage: compile_kernels WIDTH LAYERS HEADS LENGTH BATCH TURNS"));
    };
    let folder = tempfile::tempdir().map_err(|e| Failure::new(e.to_string()))?;
    let text = Gpt::text_to_measure(width, layers, heads, length, batch);
    let of = |threads, cache| Native {
        compiler: Compiler { isolation: Isolation::Child, cache, threads },
        ..Native::default()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ways = [
        ("1 thread".to_owned(), of(1, Cache::none())),
        (format!("{cores} threads"), of(0, Cache::none())),
        ("from cache".to_owned(), of(0, Cache::at(folder.path()))),
    ];
    let mut times = vec![Vec::new(); ways.len()];
    let (mut passes, mut codes, mut kernels) = (Vec::new(), Vec::new(), 0);
    // The first turn fills the cache.
    for turn in 0..=turns {
        for ((_, how), times) in ways.iter().zip(&mut times) {
            let mut compiled = compile("step.pir", &text, Options::default())?;
            let took = compiled.took;
            let lowered = lowered(&mut compiled, Level::Native, false, how)?;
            let code = lowered.code.ok_or_else(|| Failure::new("no code was made"))?;
            kernels = code.kernels;
            codes.push(lowered.plan.code);
            if turn > 0 {
                passes.push(took);
                times.push(code.took);
            }
        }
    }
    if codes.iter().any(|code| *code != codes[0]) {
        return Err(Failure::new("the code differs with the number of threads or from the cache"));
    }
    println!("{kernels} kernels, the same bytes each time; milliseconds, {turns} turns\n");
    println!("| | least | median |\n|---|---:|---:|");
    let line = |what: &str, times: &mut [Duration]| {
        times.sort();
        let at = |i: usize| times.get(i).map_or(f64::NAN, |t| t.as_secs_f64() * 1e3);
        println!("| {what} | {:.1} | {:.1} |", at(0), at(times.len() / 2));
    };
    line("text to the graph of the step", &mut passes);
    for ((what, _), times) in ways.iter().zip(&mut times) {
        line(&format!("machine code, {what}"), times);
    }
    Ok(())
}
