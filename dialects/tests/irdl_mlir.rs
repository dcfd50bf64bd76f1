//! Dialects as data mean to `mlir-opt --irdl-file` what they mean here: it reads the same files, and accepts and refuses the
//! same operations. Skipped where it is not installed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use piper_dialects::{all, irdl};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Module, Reporter, SourceFile, verify};

/// Where the dialects of tests and examples are.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn mlir_opt() -> Option<&'static str> {
    let found = ["mlir-opt-22", "mlir-opt"].into_iter().find(|tool| {
        Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        eprintln!("skipped: mlir-opt is not installed");
    }
    found
}

/// What `mlir-opt` prints of a text with these dialects, or its errors.
fn theirs(tool: &str, dialects: &Path, text: &str) -> Result<String, String> {
    let mut child = Command::new(tool)
        .arg(format!("--irdl-file={}", dialects.display()))
        .arg("--mlir-print-op-generic")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = |bytes| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(shown(&output.stdout)),
        false => Err(shown(&output.stderr)),
    }
}

fn context(dialects: &Path) -> Arc<Context> {
    let mut known = all();
    let text = std::fs::read_to_string(dialects).unwrap();
    known.extend(irdl::load(&text, "dialects", &known).unwrap());
    Arc::new(Context::new(known))
}

fn ours(ctx: &Arc<Context>, text: &str) -> Result<Module, String> {
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &SourceFile::new("t.pir", text), &mut reporter);
    if let Some(module) = &module {
        verify::verify(module, &mut reporter);
    }
    let faults: Vec<String> = reporter.take().into_iter().map(|fault| fault.message).collect();
    module.filter(|_| faults.is_empty()).ok_or_else(|| faults.join("\n"))
}

/// The generic form, for `mlir-opt`: operations of dialects as data have no properties there, so that what stands in `<{...}>`
/// has to stand among the other attributes. Those come behind regions, of which none of the operations has any.
fn printed(module: &Module) -> String {
    let text = print_module(module, PrintOptions { generic: true, ..Default::default() });
    let lines = text.lines().map(|line| match line.contains("func.") {
        true => format!("{line}\n"),
        false => format!("{}\n", line.replace("<{", "{").replace("}>", "}")),
    });
    lines.collect()
}

/// Operations in the generic form, by the file of their dialect, with whether they are as it defines them.
const CASES: &[(&str, &[(&str, bool)])] = &[
    (
        "test/lit/irdl/Inputs/cmath.pir",
        &[
            (
                r#"%c = "cmath.mul"(%a, %a) : (!cmath.complex<f32>, !cmath.complex<f32>) -> !cmath.complex<f32>
                   %n = "cmath.norm"(%c) {rounding = #cmath.rounding<"up">} : (!cmath.complex<f32>) -> f32"#,
                true,
            ),
            (
                r#"%c = "cmath.mul"(%a, %b) : (!cmath.complex<f32>, !cmath.complex<f64>) -> !cmath.complex<f32>"#,
                false,
            ),
            (r#"%c = "cmath.mul"(%a) : (!cmath.complex<f32>) -> !cmath.complex<f32>"#, false),
            (
                r#"%n = "cmath.norm"(%a) {rounding = #cmath.rounding<"up">} : (!cmath.complex<f32>) -> f64"#,
                false,
            ),
            (r#"%n = "cmath.norm"(%a) {rounding = "up"} : (!cmath.complex<f32>) -> f32"#, false),
            (
                r#"%n = "cmath.norm"(%a) {rounding = #cmath.rounding<3>} : (!cmath.complex<f32>) -> f32"#,
                false,
            ),
            (
                r#"%s = "cmath.sum"(%a, %b, %a) {operandSegmentSizes = array<i32: 1, 1, 1>}
                     : (!cmath.complex<f32>, !cmath.complex<f64>, !cmath.complex<f32>) -> !cmath.complex<f32>"#,
                false,
            ),
            (
                r#"%s = "cmath.sum"(%a, %a, %a) {operandSegmentSizes = array<i32: 1, 1, 1>}
                     : (!cmath.complex<f32>, !cmath.complex<f32>, !cmath.complex<f32>) -> !cmath.complex<f32>"#,
                true,
            ),
            (r#""cmath.repeat"() {times = 3 : i64} : () -> ()"#, false),
            (r#""cmath.power"() : () -> ()"#, false),
        ],
    ),
    (
        "test/lit/irdl/Inputs/expansions.pir",
        &[
            (r#"%y = "d.twice"(%x) {by = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>"#, true),
            (r#"%y = "d.twice"(%x) {by = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>"#, false),
            (r#"%y = "d.four_times"(%x) : (tensor<4xf32>) -> f32"#, false),
            (
                r#"%y = "d.sum"(%x, %x, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"#,
                true,
            ),
            (r#"%y = "d.sum"() : () -> tensor<4xf32>"#, false),
        ],
    ),
    (
        "examples/first-dialect/mine.pir",
        &[
            (
                r#"%y = "mine.swiglu"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"#,
                true,
            ),
            (
                r#"%y = "mine.swiglu"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<2xf32>"#,
                false,
            ),
            (r#"%y = "mine.swiglu"(%x) : (tensor<4xf32>) -> tensor<4xf32>"#, false),
        ],
    ),
];

#[test]
fn mlir_accepts_and_refuses_the_same() {
    let Some(tool) = mlir_opt() else { return };
    for (file, cases) in CASES {
        let dialects = root().join(file);
        let ctx = context(&dialects);
        for (ops, is_right) in *cases {
            let arguments = match file.contains("cmath") {
                true => "%a: !cmath.complex<f32>, %b: !cmath.complex<f64>",
                false => "%x: tensor<4xf32>",
            };
            let text = format!("func.func @f({arguments}) {{\n{ops}\nfunc.return\n}}\n");
            let (here, there) = (ours(&ctx, &text), theirs(tool, &dialects, &text));
            assert_eq!(here.is_ok(), *is_right, "here, with {file}:\n{text}{:?}", here.err());
            assert_eq!(there.is_ok(), *is_right, "mlir-opt, with {file}:\n{text}{there:?}");
            let (Ok(here), Ok(there)) = (here, there) else { continue };
            let (here, again) = (printed(&here), printed(&ours(&ctx, &there).unwrap()));
            assert_eq!(theirs(tool, &dialects, &here).as_ref(), Ok(&there), "{here}");
            assert_eq!(theirs(tool, &dialects, &again), Ok(there));
        }
    }
}

/// Every file of a dialect that is in the repository, as tests and examples, is one for MLIR too.
#[test]
fn mlir_reads_every_dialect_of_tests_and_examples() {
    let Some(tool) = mlir_opt() else { return };
    let folders = ["test/lit/irdl/Inputs", "examples/first-dialect"].map(|name| root().join(name));
    let mut read = 0;
    for path in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let path = path.unwrap().path();
        let is_dialect =
            std::fs::read_to_string(&path).is_ok_and(|text| text.contains("irdl.dialect @"));
        if is_dialect {
            let outcome = theirs(tool, &path, "module {\n}\n");
            assert!(outcome.is_ok(), "{}: {outcome:?}", path.display());
            read += 1;
        }
    }
    assert!(read >= CASES.len());
}
