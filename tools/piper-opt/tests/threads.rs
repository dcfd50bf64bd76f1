//! Real passes on a module that is worth several threads: functions that call each other are checked against the
//! signatures of those that are elsewhere, and nothing differs from a run on one thread.

use std::fmt::Write;
use std::path::Path;

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

fn run(text: &str, args: &[&str]) -> piper_opt::Output {
    let pipeline = "--pass-pipeline=builtin.module(func.func(cse,canonicalize,cse))";
    let args: Vec<String> =
        [pipeline, "--mlir-pass-statistics"].iter().chain(args).map(|a| (*a).to_owned()).collect();
    let (registry, dialects) = (piper_passes::registry::all(), piper_dialects::all());
    piper_opt::main_with(registry, dialects, &args, &mut text.as_bytes(), Path::new("."))
}

#[test]
fn passes_on_many_functions_do_the_same_on_any_number_of_threads() {
    let text = text(300, 100, None);
    let one = run(&text, &["--mlir-disable-threading"]);
    let many = run(&text, &[]);
    assert_eq!(one.code, 0, "{}", String::from_utf8_lossy(&one.stderr));
    assert!(one.stdout == many.stdout, "the output differs");
    assert_eq!(String::from_utf8_lossy(&one.stderr), String::from_utf8_lossy(&many.stderr));
    let kept = String::from_utf8_lossy(&one.stdout);
    assert_eq!(kept.matches("func.call").count(), 299, "calls may have effects");
    assert!(kept.matches("arith.").count() < 300 * 60, "most of the rest is dead");
}

#[test]
fn what_is_wrong_between_functions_is_found_before_any_pass() {
    let text = text(300, 100, Some(200));
    let (one, many) = (run(&text, &["--mlir-disable-threading"]), run(&text, &[]));
    assert_eq!((one.code, many.code), (1, 1));
    assert_eq!(one.stderr, many.stderr);
}
