//! Programs that JAX printed (`test/stablehlo`): read in both forms, equal in both, printed as they were, and taken by
//! `mlir-opt` where it is installed.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Module, Op, Region, Reporter, SourceFile, Value, verify};

fn context() -> Arc<Context> {
    let mut ctx = Context::new(piper_dialects::all());
    ctx.allow_unregistered = true;
    Arc::new(ctx)
}

fn read(ctx: &Arc<Context>, name: &str, text: &str) -> Module {
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &SourceFile::new(name, text), &mut reporter);
    if let Some(module) = &module {
        verify::verify(module, &mut reporter);
    }
    let faults: Vec<String> = reporter.take().into_iter().map(|d| d.message).collect();
    assert!(faults.is_empty(), "{name}: {faults:#?}\n{text}");
    module.expect("read without an error")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/stablehlo")
}

/// Names and texts of the files.
fn files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder())
        .expect("the folder of JAX's programs")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "mlir"))
        .map(|path| {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("readable"))
        })
        .collect();
    files.sort();
    files
}

fn pretty(module: &Module) -> String {
    print_module(module, PrintOptions::default())
}

fn generic(module: &Module) -> String {
    print_module(module, PrintOptions { generic: true, ..Default::default() })
}

#[test]
fn what_jax_prints_is_a_fixed_point() {
    let ctx = context();
    let files = files();
    assert!(files.len() >= 9, "JAX's programs are there");
    for (name, text) in &files {
        let module = read(&ctx, name, text);
        for options in
            [PrintOptions::default(), PrintOptions { generic: true, ..Default::default() }]
        {
            let once = print_module(&module, options);
            let twice = print_module(&read(&ctx, name, &once), options);
            for (a, b) in once.lines().zip(twice.lines()) {
                assert_eq!(a, b, "{name}");
            }
            assert_eq!(once.len(), twice.len(), "{name}");
        }
    }
}

/// A line without the numbers of values, which MLIR gives out again after a nested region, without the type of 64-bit integers
/// in dictionaries, which Piper leaves out, and without blanks at its end.
fn nameless(line: &str) -> String {
    let line = line.replace(" : i64,", ",").replace(" : i64}", "}");
    let mut out = String::new();
    let mut rest = line.trim_end();
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..=at]);
        rest = rest[at + 1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    }
    out + rest
}

/// Pretty text comes back as JAX wrote it, but for `return` and `call`, which are written with their dialect.
#[test]
fn the_pretty_form_is_that_of_jax() {
    let ctx = context();
    for (name, text) in files().iter().filter(|(name, _)| !name.contains(".generic.")) {
        let printed = pretty(&read(&ctx, name, text));
        for (ours, theirs) in printed.lines().zip(text.lines()) {
            let theirs =
                theirs.replace("    return", "    func.return").replace(" call @", " func.call @");
            assert_eq!(nameless(ours), nameless(&theirs), "{name}");
        }
        assert_eq!(printed.lines().count(), text.lines().count(), "{name}");
    }
}

/// Compares two modules of one context operation by operation; names of values and places do not count.
struct Same<'m> {
    a: &'m Module,
    b: &'m Module,
    values: HashMap<Value, Value>,
}

impl Same<'_> {
    fn op(&mut self, a: Op, b: Op) -> Result<(), String> {
        let at =
            |what: &str| format!("{what} of {} and {}", self.a.name_text(a), self.b.name_text(b));
        if self.a.name(a) != self.b.name(b) {
            return Err(at("names"));
        }
        if attributes(self.a, a) != attributes(self.b, b) {
            return Err(at("attributes"));
        }
        let types =
            |module: &Module, op: Op| module.results(op).map(|v| module.ty(v)).collect::<Vec<_>>();
        if types(self.a, a) != types(self.b, b) {
            return Err(at("result types"));
        }
        let operands: Vec<Option<Value>> =
            self.a.operands(a).map(|v| self.values.get(&v).copied()).collect();
        if !operands.iter().copied().eq(self.b.operands(b).map(Some)) {
            return Err(at("operands"));
        }
        if self.a.regions(a).len() != self.b.regions(b).len() {
            return Err(at("regions"));
        }
        self.values.extend(self.a.results(a).zip(self.b.results(b)));
        let pairs: Vec<(Region, Region)> =
            self.a.regions(a).iter().copied().zip(self.b.regions(b).iter().copied()).collect();
        for (left, right) in pairs {
            self.region(left, right)?;
        }
        Ok(())
    }

    fn region(&mut self, a: Region, b: Region) -> Result<(), String> {
        let (left, right): (Vec<_>, Vec<_>) =
            (self.a.blocks(a).collect(), self.b.blocks(b).collect());
        if left.len() != right.len() {
            return Err("numbers of blocks".into());
        }
        for (x, y) in left.into_iter().zip(right) {
            let args = |module: &Module, block| {
                module.args(block).iter().map(|v| module.ty(*v)).collect::<Vec<_>>()
            };
            if args(self.a, x) != args(self.b, y) {
                return Err("block arguments".into());
            }
            self.values.extend(self.a.args(x).iter().copied().zip(self.b.args(y).iter().copied()));
            let (ops, others): (Vec<Op>, Vec<Op>) =
                (self.a.ops(x).collect(), self.b.ops(y).collect());
            if ops.len() != others.len() {
                return Err(format!("{} and {} operations", ops.len(), others.len()));
            }
            for (left, right) in ops.into_iter().zip(others) {
                self.op(left, right)?;
            }
        }
        Ok(())
    }
}

/// Sorted, without the empty dictionaries that only the generic form has.
fn attributes(module: &Module, op: Op) -> Vec<(String, piper_ir::Attr)> {
    let ctx = module.ctx();
    let mut all: Vec<_> = module
        .all_attrs(op)
        .into_iter()
        .filter(|(_, attr)| {
            let is_empty = |a: &piper_ir::Attr| a.as_dict(ctx).is_some_and(<[_]>::is_empty);
            !attr.as_array(ctx).is_some_and(|items| !items.is_empty() && items.iter().all(is_empty))
        })
        .map(|(name, attr)| (name.text(ctx).to_owned(), attr))
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn assert_same(name: &str, a: &Module, b: &Module) {
    let mut same = Same { a, b, values: HashMap::new() };
    if let Err(what) = same.op(a.root(), b.root()) {
        panic!("{name}: {what} differ");
    }
}

#[test]
fn both_forms_of_a_program_are_one_module() {
    let ctx = context();
    let files = files();
    let mut compared = 0;
    for (name, text) in &files {
        let Some(stem) = name.strip_suffix(".mlir").filter(|stem| !stem.contains(".generic"))
        else {
            continue;
        };
        let module = read(&ctx, name, text);
        for other in [format!("{stem}.generic.mlir"), format!("{stem}.generic.debug.mlir")] {
            if let Some((other, text)) = files.iter().find(|(name, _)| *name == other) {
                assert_same(other, &module, &read(&ctx, other, text));
                compared += 1;
            }
        }
        // And each form of ours is the other's equal.
        assert_same(name, &module, &read(&ctx, name, &generic(&module)));
        assert_same(name, &module, &read(&ctx, name, &pretty(&module)));
    }
    assert!(compared >= 5, "{compared}");
}

fn mlir_opt(text: &str) -> Option<String> {
    let mut child = Command::new("mlir-opt-22")
        .args(["--allow-unregistered-dialect", "--mlir-print-op-generic"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("piped");
    let owned = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(owned.as_bytes()));
    let done = child.wait_with_output().expect("it ends");
    let _ = writer.join();
    assert!(done.status.success(), "{}\n{text}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8(done.stdout).expect("text"))
}

#[test]
fn mlir_takes_the_generic_form_and_gives_it_back() {
    let ctx = context();
    for (name, text) in &files() {
        let module = read(&ctx, name, text);
        let Some(back) = mlir_opt(&generic(&module)) else {
            eprintln!("skipped: mlir-opt-22 is not installed");
            return;
        };
        assert_same(name, &module, &read(&ctx, name, &back));
    }
}
