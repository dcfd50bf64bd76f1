//! `cse` and `canonicalize` on half a million `arith` operations and more, beside `mlir-opt-22` on the same file in the same run
//! (skipped where it is not installed). Both on one thread, the least of several runs, parsing and printing left out.
//!
//! `cargo bench -p piper-passes --bench rewriting [-- <operations>]`

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use piper_ir::rewrite::{PatternSet, SimplifyOptions, simplify};
use piper_ir::text::parse_module;
use piper_ir::{Context, Module, Reporter, SourceFile};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 5;

/// A generator of numbers (xorshift), the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

fn function(body: String, last: usize) -> String {
    format!("func.func @f(%a: i32, %b: i32) -> i32 {{\n{body}  func.return %v{last} : i32\n}}\n")
}

/// Every second operation was computed before, if perhaps with its operands exchanged.
fn repeated(count: usize) -> String {
    let (mut body, mut dice) = (String::new(), Dice(42));
    let mut last = ("addi", "%a".to_owned(), "%b".to_owned());
    for i in 0..count {
        if i % 2 == 0 {
            let mut pick = || match i {
                0..64 => ["%a", "%b"][dice.roll(2)].to_owned(),
                _ => format!("%v{}", i - 1 - dice.roll(63)),
            };
            last = (["addi", "muli", "xori", "subi"][i / 2 % 4], pick(), pick());
        }
        writeln!(body, "  %v{i} = arith.{} {}, {} : i32", last.0, last.1, last.2).expect("text");
    }
    function(body, count - 1)
}

/// Identities, chains of constants, constants met again, and operations with nothing to gain.
fn foldable(count: usize) -> String {
    let mut body =
        String::from("  %one = arith.constant 1 : i32\n  %v0 = arith.xori %a, %b : i32\n");
    for i in 1..count {
        let before = i - 1;
        match i % 5 {
            0 => writeln!(
                body,
                "  %k{i} = arith.constant {} : i32\n  %v{i} = arith.addi %k{i}, %v{before} : i32",
                i % 97
            ),
            1 => writeln!(body, "  %v{i} = arith.addi %v{before}, %one : i32"),
            2 => writeln!(body, "  %v{i} = arith.muli %v{before}, %one : i32"),
            3 => writeln!(body, "  %v{i} = arith.xori %v{before}, %v{} : i32", i.saturating_sub(3)),
            _ => writeln!(body, "  %v{i} = arith.muli %v{before}, %a : i32"),
        }
        .expect("text");
    }
    function(body, count - 1)
}

fn parsed(ctx: &Arc<Context>, text: &str) -> Module {
    let mut reporter = Reporter::new(ctx);
    parse_module(ctx, &SourceFile::new("bench.pir", text), &mut reporter)
        .expect("the text is right")
}

/// Seconds of a pass in `mlir-opt`, as it says itself.
fn mlir_seconds(file: &std::path::Path, flag: &str, name: &str) -> Option<f64> {
    let done = Command::new("mlir-opt-22")
        .args([
            "--mlir-disable-threading",
            "--mlir-timing",
            "--verify-each=false",
            flag,
            "-o",
            "/dev/null",
        ])
        .arg(file)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let line = text.lines().find(|line| line.trim_end().ends_with(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn main() {
    let count = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(500_000);
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let patterns = PatternSet::canonicalization(&ctx).freeze(&ctx);
    println!(
        "{:<14} {:>10} {:>12} {:>12} {:>8}",
        "pass", "operations", "ns/op", "mlir-opt", "ratio"
    );
    for (pass, name, text) in
        [("cse", "CSE", repeated(count)), ("canonicalize", "Canonicalizer", foldable(count))]
    {
        let original = parsed(&ctx, &text);
        let ops = original.walk(original.root()).count();
        let file =
            std::env::temp_dir().join(format!("piper-bench-{pass}-{}.mlir", std::process::id()));
        std::fs::write(&file, &text).expect("a temporary file");
        let (mut ours, mut theirs): (f64, Option<f64>) = (f64::INFINITY, None);
        for _ in 0..RUNS {
            let mut module = original.clone();
            let root = module.root();
            let start = Instant::now();
            match pass {
                "cse" => {
                    piper_passes::cse::run(&mut module, root);
                }
                _ => {
                    simplify(&mut module, root, &patterns, SimplifyOptions::default());
                }
            }
            ours = ours.min(start.elapsed().as_secs_f64());
            if let Some(seconds) = mlir_seconds(&file, &format!("--{pass}"), name) {
                theirs = Some(theirs.map_or(seconds, |least| least.min(seconds)));
            }
        }
        std::fs::remove_file(&file).expect("the temporary file is there");
        let each = |seconds: f64| seconds * 1e9 / ops as f64;
        let (peer, ratio) = match theirs {
            Some(seconds) => (format!("{:.0}", each(seconds)), format!("{:.1}x", seconds / ours)),
            None => ("absent".to_owned(), String::new()),
        };
        println!("{pass:<14} {ops:>10} {:>12.0} {peer:>12} {ratio:>8}", each(ours));
    }
}
