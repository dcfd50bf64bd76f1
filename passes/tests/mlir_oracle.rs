//! `canonicalize`, `cse`, `symbol-dce` and `inline` give what `mlir-opt` gives, operation for operation and constant for
//! constant, on the golden files of these passes. Skipped, and said so, where `mlir-opt-22` is not installed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use piper_ir::pass::{Instrumentation, PassManager, RunOptions};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Reporter, SourceFile};

/// Functions where the two are meant to differ, with the reason.
const DIFFERENT: &[(&str, &str)] =
    &[("@flags", "MLIR keeps flags on x + (c0 + c1) and (c0 + c1) - x though the sum wraps")];

struct Quiet;

impl Instrumentation for Quiet {}

/// What our pass makes of a text, in the generic form.
fn piper(pass: &str, text: &str) -> String {
    let mut ctx = Context::new(piper_dialects::all());
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter);
    let mut module = module.unwrap_or_else(|| panic!("{:?}\n{text}", reporter.diagnostics()));
    let mut manager = PassManager::new("builtin.module");
    manager.add(piper_passes::registry::all().build(pass, &[]).expect("a pass"));
    let done = manager.run(&mut module, &mut reporter, &RunOptions::default(), &mut Quiet);
    assert!(done.is_ok(), "{:?}", reporter.diagnostics());
    print_module(&module, PrintOptions { generic: true, ..PrintOptions::default() })
}

/// `mlir-opt`'s generic form of a text after passes.
fn mlir(flags: &[&str], text: &str) -> std::io::Result<String> {
    let mut child = Command::new("mlir-opt-22")
        .args(["--allow-unregistered-dialect", "--mlir-print-op-generic"])
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("piped");
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let done = child.wait_with_output()?;
    let _ = writer.join();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The functions of a file as texts of their own; for passes over symbols, all of them as one.
fn cases(pass: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("//")).collect();
    let text = lines.join("\n") + "\n";
    if matches!(pass, "inline" | "symbol-dce") {
        return vec![text];
    }
    let functions = text.split("\nfunc.func ").skip(1);
    functions.map(|function| format!("func.func {function}")).collect()
}

#[test]
fn passes_agree_with_mlir_opt() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/lit/passes");
    let (mut same, mut different) = (0, Vec::new());
    for pass in ["canonicalize", "cse", "symbol-dce", "inline"] {
        let mut files: Vec<_> =
            std::fs::read_dir(root.join(pass)).expect("a folder").flatten().collect();
        files.sort_by_key(|file| file.path());
        for file in files {
            let text = std::fs::read_to_string(file.path()).expect("a file");
            if !text.contains("is compared with mlir-opt") {
                continue;
            }
            for case in cases(pass, &text) {
                if DIFFERENT.iter().any(|(name, _)| case.contains(name)) {
                    continue;
                }
                let theirs = match mlir(&[&format!("--{pass}")], &case) {
                    Ok(theirs) => theirs,
                    Err(error) => return eprintln!("skipped: mlir-opt-22: {error}"),
                };
                let ours = mlir(&[], &piper(pass, &case)).expect("found before");
                match ours == theirs {
                    true => same += 1,
                    false => {
                        different.push(format!("{pass}\n{case}ours:\n{ours}\nmlir-opt:\n{theirs}"))
                    }
                }
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= 20, "only {same} cases were compared");
}
