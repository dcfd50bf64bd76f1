//! Passes that crash, fail, break the IR or explain themselves: what the tool says, and the files it leaves.

use std::path::Path;
use std::sync::Arc;

use piper_ir::pass::{PassContext, PassInfo, PassRegistry, PassResult, RemarkKind};
use piper_opt::Output;

fn registry() -> PassRegistry {
    let mut registry = PassRegistry::default();
    let is_bad = |cx: &PassContext<'_, '_>| cx.module.attr_by(cx.op, "x.bad").is_some();
    let info = |name, run: fn(&mut PassContext<'_, '_>) -> PassResult| {
        PassInfo::from_fn(name, "for a test", run).anchored(None)
    };
    registry.register([
        info("mark", |cx| {
            let yes = cx.ctx().unit();
            cx.module.set_attr_by(cx.op, "x.marked", yes);
            cx.remark_if(RemarkKind::Passed, cx.op, |module| {
                format!("marked {}", module.symbol_name(module.root()).unwrap_or("the root"))
            });
            cx.remark_if(RemarkKind::Missed, cx.op, |_| "not twice".to_owned());
            Ok(())
        }),
        info("mute", |_| Err(piper_ir::pass::PassFailed)),
    ]);
    let boom = move |cx: &mut PassContext<'_, '_>| -> PassResult {
        assert!(!is_bad(cx), "it is bad");
        Ok(())
    };
    let build: piper_ir::pass::BuildPass = {
        let made = PassInfo::with_options("boom", "for a test", Vec::new(), move |_| Ok(boom));
        made.build
    };
    let mut info = PassInfo::from_fn("boom", "for a test", |_| Ok(())).anchored(None);
    info.build = Arc::clone(&build);
    registry.register([info]);
    registry
}

fn run(folder: &Path, args: &[&str], stdin: &str) -> Output {
    let args: Vec<String> =
        ["--allow-unregistered-dialect"].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
    piper_opt::main_with(registry(), piper_dialects::all(), &args, &mut stdin.as_bytes(), folder)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const INPUT: &str = "module {\n  func.func @f() attributes {x.bad} {\n    func.return\n  }\n}\n";

/// The one file that a run left in a folder.
fn only_file(folder: &Path) -> (String, String) {
    let names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let [name] = &names[..] else { panic!("one file, not {names:?}") };
    (name.clone(), std::fs::read_to_string(folder.join(name)).expect("text"))
}

#[test]
fn a_crash_leaves_a_file_that_crashes_again() {
    for threading in ["--mlir-disable-threading", "--verify-each"] {
        let folder = tempfile::tempdir().expect("a folder");
        let pipeline = "--pass-pipeline=builtin.module(func.func(mark,boom,mark))";
        let done = run(folder.path(), &[pipeline, threading], INPUT);
        let said = stderr(&done);
        assert_eq!((done.code, done.stdout.len()), (1, 0));
        assert!(said.contains("internal error in pass 'boom': it is bad"), "{said}");
        let (name, text) = only_file(folder.path());
        assert!(name.starts_with("piper-crash-") && said.contains(&name), "{name}: {said}");
        assert!(text.starts_with(INPUT.trim_end()), "the input as it was: {text}");
        assert!(text.contains("pipeline: \"builtin.module(func.func(mark,boom,mark))\""), "{text}");
        assert!(text.contains("arguments: \"--allow-unregistered-dialect\""), "{text}");
        let again = run(folder.path(), &["--run-reproducer", &name], "");
        assert!(again.panic.is_some_and(|panic| panic.contains("it is bad")));
    }
}

#[test]
fn a_local_reproducer_has_the_ir_before_the_pass() {
    for (pass, flag) in [("boom", true), ("mute", false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let pipeline = format!("--pass-pipeline=builtin.module(func.func(mark,{pass}))");
        let args = [
            &*pipeline,
            "--mlir-pass-pipeline-crash-reproducer=r.pir",
            "--mlir-pass-pipeline-local-reproducer",
        ];
        let done = run(folder.path(), &args, INPUT);
        assert_eq!((done.code, done.panic.is_some()), (1, flag), "{}", stderr(&done));
        let (name, text) = only_file(folder.path());
        assert_eq!(name, "r.pir");
        assert!(text.contains("x.marked"), "{text}");
        let only = format!("pipeline: \"builtin.module(func.func({pass}))\"");
        assert!(text.contains(&only), "{text}");
        let again = run(folder.path(), &["--run-reproducer", "r.pir"], "");
        assert_eq!((again.code, again.panic.is_some()), (1, flag), "{}", stderr(&again));
    }
}

#[test]
fn a_pass_that_fails_silently_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = run(folder.path(), &["--mute"], "module {}");
    assert!(stderr(&done).contains("a pass failed and did not say why"));
    assert_eq!(done.code, 1);
    let dumped = run(folder.path(), &["--mute", "--mlir-print-ir-after-failure"], "module {}");
    assert!(
        stderr(&dumped).contains("// -----// IR Dump After mute Failed //----- //\nmodule {\n}")
    );
}

#[test]
fn remarks_come_if_they_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |args: &[&str]| stderr(&run(folder.path(), args, "module @m {}"));
    assert_eq!(said(&["--mark"]), "");
    let all = said(&["--mark", "--remarks-filter=ma.k"]);
    assert!(all.contains("remark: [Passed] mark: marked m"), "{all}");
    assert!(all.contains("remark: [Missed] mark: not twice"), "{all}");
    let missed = said(&["--mark", "--remarks-filter-missed=.*"]);
    assert!(!missed.contains("[Passed]") && missed.contains("[Missed]"), "{missed}");
    assert_eq!(said(&["--mark", "--remarks-filter=other"]), "");
}
