//! What it costs that a pass is a program: `cargo bench -p piper-opt --bench exec [-- OPERATIONS]`.
//!
//! `cse` in this process beside the same pass as a program, `piper-opt --pass-pipeline=builtin.module(cse)` behind `exec`. The
//! program has to be started, and the module is printed, read, printed and read again; `cat` as a program shows half of that, and
//! printing, reading and verifying without a program how much of it is text. Wall times in turns, the least of several, with
//! the median beside it; reading the input is not counted, verifying the result is.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use piper_ir::pass::{Instrumentation, PassRegistry, RunOptions, quoted_value};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Module, Reporter, SourceFile, verify};
use piper_passes::{pipeline_text, registry};
use piper_plugin_host::exec;

/// As in the tool.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 4] = [10, 1_000, 10_000, 100_000];
const RUNS: usize = 9;

struct Quiet;

impl Instrumentation for Quiet {}

fn main() {
    // `cargo bench` passes flags of the standard harness.
    let only = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let sizes = only.map_or(SIZES.to_vec(), |size| vec![size]);
    let mut passes = registry::all();
    passes.try_register(exec::pass()).expect("a free name");
    let tool = env!("CARGO_BIN_EXE_piper-opt");
    let program = |words: &[&str]| {
        let command = shlex::try_join(words.iter().copied()).expect("no NUL");
        format!("{}{{command={}}}", exec::NAME, quoted_value(&command))
    };
    let pipelines = [
        ("cse in process", "cse".to_owned()),
        ("cse as a program", program(&[tool, "--pass-pipeline=builtin.module(cse)"])),
        ("cat as a program", program(&["cat"])),
    ];
    for size in sizes {
        let text = module_text(size);
        let mut times = vec![Vec::new(); pipelines.len() + 1];
        for _ in 0..RUNS {
            for ((_, pipeline), times) in pipelines.iter().zip(&mut times) {
                times.push(run(&passes, pipeline, parse(&text)));
            }
            let module = parse(&text);
            let start = Instant::now();
            // As `exec` prints it.
            let print =
                PrintOptions { locations: true, local_scope: true, ..PrintOptions::default() };
            parse(&print_module(&module, print));
            times[pipelines.len()].push(start.elapsed().as_secs_f64());
        }
        println!("\n{size} operations, {} KiB of text", text.len().div_ceil(1024));
        let names = pipelines.iter().map(|(name, _)| *name).chain(["print, read and verify"]);
        for (name, times) in names.zip(&mut times) {
            times.sort_by(f64::total_cmp);
            let (best, median) = (times[0] * 1e3, times[RUNS / 2] * 1e3);
            println!("  {name:<22} {best:10.3} ms (median {median:.3})");
        }
    }
}

/// Seconds that a pipeline takes on a module.
fn run(passes: &PassRegistry, pipeline: &str, mut module: Module) -> f64 {
    let mut manager = pipeline_text::pass_manager(passes, pipeline).expect("a pipeline");
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    let start = Instant::now();
    let options = RunOptions::default();
    let result = manager.run(&mut module, &mut reporter, &options, &mut Quiet);
    let seconds = start.elapsed().as_secs_f64();
    assert!(result.is_ok(), "{:#?}", reporter.diagnostics());
    seconds
}

fn parse(text: &str) -> Module {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("exec.pir", text), &mut reporter);
    let module = module.unwrap_or_else(|| panic!("{:#?}", reporter.diagnostics()));
    assert!(verify::verify(&module, &mut reporter), "{:#?}", reporter.diagnostics());
    module
}

/// A module of about so many operations in functions of a hundred, half of which `cse` removes.
fn module_text(operations: usize) -> String {
    let mut text = "module {\n".to_owned();
    for function in 0..operations.div_ceil(100) {
        let _ = writeln!(text, "  func.func @f{function}(%x: i64, %y: i64) -> i64 {{");
        let (mut last, count) = ("%x".to_owned(), (operations - function * 100).min(100));
        for i in 0..count {
            let _ = writeln!(text, "    %v{i} = arith.addi {last}, %y : i64");
            if i % 2 == 1 {
                last = format!("%v{i}");
            }
        }
        let _ = writeln!(text, "    func.return {last} : i64\n  }}");
    }
    text + "}\n"
}
