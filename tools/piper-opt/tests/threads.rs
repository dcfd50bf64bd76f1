//! Real passes on a module that is worth several threads: functions that call each other are checked against the
//! signatures of those that are elsewhere, and nothing differs from a run on one thread.

use std::fmt::Write;
use std::sync::Arc;

use piper_ir::pass::{Instrumentation, PassRecord, RunOptions};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Reporter, SourceFile};
use piper_passes::pipeline_text::pass_manager;
use piper_passes::registry;

/// Functions that each do some arithmetic and call the next, twice with the same arguments.
fn text(functions: usize, operations: usize, wrong_call: Option<usize>) -> String {
    let mut text = String::new();
    for f in 0..functions {
        let _ = writeln!(text, "func.func @f{f}(%a: i64, %b: i64) -> i64 {{");
        let mut last = "%a".to_owned();
        for i in 0..operations {
            let op = ["addi", "muli", "xori"][(i + f) % 3];
            let _ = writeln!(text, "  %{i} = arith.{op} {last}, %b : i64");
            last = if i % 7 == 0 { "%a".to_owned() } else { format!("%{i}") };
        }
        if f + 1 < functions {
            let callee = f + 1;
            let ty = if wrong_call == Some(f) { "i32" } else { "i64" };
            let _ = writeln!(text, "  %r = func.call @f{callee}({last}, %b) : (i64, i64) -> {ty}");
        }
        let _ = writeln!(text, "  func.return {last} : i64\n}}");
    }
    text
}

struct Quiet;

impl Instrumentation for Quiet {}

/// The module after the passes, or the messages of what is wrong, and what the passes counted.
fn run(text: &str, threads: usize) -> (Result<String, String>, String) {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let source = SourceFile::new("functions.pir", text);
    let mut reporter = Reporter::new(&ctx);
    let mut module = parse_module(&ctx, &source, &mut reporter).expect("it reads");
    let pipeline = "builtin.module(func.func(cse,canonicalize,cse))";
    let mut passes = pass_manager(&registry::all(), pipeline).expect("a pipeline");
    let options = RunOptions { threads, ..RunOptions::default() };
    let done = verify(&module, &mut reporter)
        && passes.run(&mut module, &mut reporter, &options, &mut Quiet).is_ok();
    let counted = |record: &PassRecord| format!("{}: {:?}", record.name, record.statistics);
    let counted: Vec<String> =
        passes.records().iter().flat_map(|nested| &nested.children).map(counted).collect();
    let messages = format!("{:?}", reporter.diagnostics());
    let printed = print_module(&module, PrintOptions::default());
    (if done { Ok(printed) } else { Err(messages) }, counted.join("\n"))
}

#[test]
fn passes_on_many_functions_do_the_same_on_any_number_of_threads() {
    let text = text(300, 100, None);
    let (one, many) = (run(&text, 1), run(&text, 3));
    assert_eq!(one.1, many.1);
    assert!(one.1.contains("num-cse'd"), "{}", one.1);
    let printed = one.0.expect("nothing is wrong");
    assert!(Ok(&printed) == many.0.as_ref(), "the output differs");
    assert_eq!(printed.matches("func.call").count(), 299, "calls may have effects");
    assert!(printed.matches("arith.").count() < 300 * 60, "most of the rest is dead");
}

#[test]
fn what_is_wrong_between_functions_is_found_before_any_pass() {
    let text = text(300, 100, Some(200));
    let (one, many) = (run(&text, 1), run(&text, 3));
    assert!(one.0.as_ref().is_err_and(|messages| messages.contains("i32")), "{one:?}");
    assert_eq!(one, many);
}
