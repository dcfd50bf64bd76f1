//! Plugins in the tool: listed, run in pipelines with options, reproduced; and everything that a bad one can do.
//!
//! The libraries are built with the tests, because they are dependencies of them; what cannot be said in Rust is a few
//! lines of C.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use piper_ir::pass::{PassManager, PassRegistry, RunOptions};
use piper_ir::{Context, Module, Reporter};
use piper_opt::Output;
use piper_plugin_host::Extensions;

/// The folder that cargo puts libraries of dependencies in: where this test is.
fn library(name: &str) -> String {
    let test = std::env::current_exe().expect("this test has a path");
    let folder = test.parent().expect("a folder");
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    folder.join(file).to_string_lossy().into_owned()
}

fn run_in(folder: &Path, args: &[&str], stdin: &str) -> Output {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let registry = piper_passes::registry::all();
    piper_opt::main_with(registry, piper_dialects::all(), &args, &mut stdin.as_bytes(), folder)
}

fn run(args: &[&str], stdin: &str) -> (i32, String, String) {
    let output = run_in(Path::new("."), args, stdin);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.code, text(&output.stdout), text(&output.stderr))
}

/// The program itself, with another allocator than the tests and than plugins by themselves.
fn program(args: &[&str], hostile: &str, stdin: &str) -> (Option<i32>, String, String) {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_piper-opt"))
        .args(args)
        .env("PIPER_HOSTILE", hostile)
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    // It may have ended without reading.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const INPUT: &str = "module {\n  func.func @f(%x: i32) -> i32 {\n    %y = hostile.same %x : i32\n    func.return %y : i32\n  }\n}\n";
const EMPTY: &str = "module {}";

fn load(name: &str) -> String {
    format!("--load-plugin={}", library(name))
}

#[test]
fn its_passes_are_like_ours() {
    let plugin = load("gathers");
    let (_, listed, _) = run(&[&plugin, "--list-passes"], "");
    let entry = listed.split("print-all-gathers").nth(1).expect("it is listed");
    assert!(entry.contains("Count all-gathers"), "{listed}");
    assert!(entry.contains("from plugin '"), "{listed}");
    let (_, help, _) = run(&[&plugin, "--help"], "");
    assert!(help.contains("--print-all-gathers[=<OPTIONS>]"), "{help}");
    let (code, text, said) = run(&[&plugin, "--print-all-gathers"], EMPTY);
    assert_eq!((code, &*text), (0, "module {\n}\n"), "{said}");
    assert!(said.contains("remark: 0 all-gather(s)"), "{said}");
    let pipeline = "--pass-pipeline=builtin.module(cse,print-all-gathers)";
    let (code, _, said) = run(&[&plugin, pipeline, "--mlir-timing"], EMPTY);
    assert!(code == 0 && said.contains("print-all-gathers\n"), "{said}");
    let (_, _, said) = run(&[&plugin, "--print-all-gather"], EMPTY);
    assert!(said.contains("print-all-gathers"), "a slip is answered: {said}");
}

#[test]
fn hoisted_gathers_wait_for_nothing() {
    let input = include_str!("../../../test/lit/passes/zero/gather-prefetch.pir");
    let plugin = load("gathers");
    let zero = "zero{over=dp stage=3 bucket=12B prefetch=1 reduce=last}";
    let run_with = |passes: &str| {
        let pipeline = format!("--pass-pipeline=builtin.module({zero}{passes})");
        run(&[&plugin, &pipeline, "--mlir-pass-statistics"], input)
    };
    let (_, before, _) = run_with("");
    let waiting = |text: &str| {
        let gathers = text.lines().filter(|line| line.contains("dag.all_gather "));
        gathers.filter(|line| line.contains(" after [")).count()
    };
    assert_eq!(waiting(&before), 3);
    let (code, after, said) = run_with(",hoist-all-gathers");
    assert_eq!((code, waiting(&after)), (0, 0), "{said}");
    assert!(said.contains("3 hoisted"), "{said}");
    // The same as a program.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugin");
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let exec = format!(",exec{{command='python3 {}'}}", folder.join("hoist.py").display());
    let (code, outside, said) = run_with(&exec);
    assert_eq!((code, outside), (0, after), "{said}");
    let exec = format!("--pass-exec=python3 {}", folder.join("count.py").display());
    let (_, _, said) = run(&[&exec], EMPTY);
    assert!(said.contains("0 all-gather(s)"), "{said}");
}

#[test]
fn options_dialects_and_interfaces_go_both_ways() {
    let plugin = load("hostile_plugin");
    let (code, text, said) = run(&[&plugin, "--adds=times=2"], EMPTY);
    assert_eq!(code, 0, "{said}");
    assert!(text.contains("hostile.n1 = \"number 1\""), "{text}");
    let (_, _, said) = run(&[&plugin, "--pass", "adds{tims=2}"], EMPTY);
    assert!(said.contains("did you mean 'times'?"), "{said}");
    // The host folds the plugin's operation, and the plugin sees what the host folds.
    let (code, text, said) = run(&[&plugin, "--canonicalize"], INPUT);
    assert!(code == 0 && !text.contains("hostile.same"), "{text}{said}");
    let (_, _, said) = run(&[&plugin, "--folds"], INPUT);
    assert!(said.contains("folds: hostile.same"), "{said}");
    let (code, text, _) = run(&[&plugin, "--verify-roundtrip"], INPUT);
    assert_eq!((code, &*text), (0, INPUT));
}

#[test]
fn memory_goes_both_ways() {
    // In the tests, whose allocator is the system's, and in the program, which has its own.
    let plugin = load("hostile_plugin");
    let input = "module {\n  module {}\n  module {}\n}";
    let (code, text, said) = run(&[&plugin, "--grows", "--adds=times=100"], input);
    assert!(code == 0 && text.contains("hostile.mark199"), "{said}");
    let (code, again, said) = program(&[&plugin, "--grows", "--adds=times=100"], "", input);
    assert_eq!((code, again), (Some(0), text), "{said}");
}

#[test]
fn schedules_are_looked_up_by_name() {
    let model = include_str!("../../../examples/mlp.pir");
    let with = |name: &str| model.replace("\"1f1b\"", &format!("\"{name}\""));
    let expand = "--pass-pipeline=builtin.module(expand-directives)";
    let (gathers, hostile) = (load("gathers"), load("hostile_plugin"));
    let (code, text, said) = run(&[&gathers, &hostile, expand], &with("one-by-one"));
    assert_eq!(code, 0, "{said}");
    assert!(text.contains("0F0 0B0 0F1 0B1 0F2 0B2 0F3 0B3"), "{text}");
    let (code, _, said) = run(&[&gathers, expand], &with("one_by_on"));
    assert!(code == 1 && said.contains("did you mean 'one-by-one'?"), "{said}");
    let (code, _, said) = run(&[&hostile, expand], &with("stuck"));
    assert!(
        code == 1 && said.contains("stuck gives a table that cannot run: the order deadlocks:"),
        "{said}"
    );
    assert!(said.contains("rank 0, slot 0: 0B0 waits for"), "{said}");
    let folder = tempfile::tempdir().expect("a folder");
    let output = run_in(folder.path(), &[&hostile, expand], &with("bursts"));
    assert!(output.panic.is_some_and(|panic| panic.contains("the last rank is too much")));
}

#[test]
fn what_it_breaks_is_found_at_once() {
    let plugin = load("hostile_plugin");
    let (code, _, said) = run(&[&plugin, "--verify-each=false", "--breaks", "--cse"], EMPTY);
    assert_eq!(code, 1);
    assert!(said.contains("the errors above are in what pass 'breaks' of plugin '"), "{said}");
}

#[test]
fn a_panic_is_an_error_with_a_reproducer() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = load("hostile_plugin");
    let output = run_in(
        folder.path(),
        &[&plugin, "--pass-pipeline=builtin.module(cse,panics)"],
        "module { module {} }",
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.code, 1);
    assert!(said.contains("internal error in pass 'panics' of plugin '"), "{said}");
    assert!(said.contains("the 100th word 7") && said.contains("hostile/src/lib.rs:"), "{said}");
    assert!(said.contains("This is a fault of plugin '"), "{said}");
    let file = std::fs::read_dir(folder.path()).expect("a folder").next().expect("a file");
    let file = file.expect("a file").file_name().to_string_lossy().into_owned();
    // The reproducer names the plugin, and does not load it unasked.
    let output = run_in(folder.path(), &["--run-reproducer", &file], "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("the reproducer loads plugin '") && said.contains("--trust-reproducer"),
        "{said}"
    );
    for flag in ["--trust-reproducer", &plugin] {
        let output = run_in(folder.path(), &["--run-reproducer", flag, &file], "");
        assert!(output.panic.is_some_and(|panic| panic.contains("word 7")), "{flag}");
    }
    let (code, _, said) = program(&[&plugin, "--panics"], "", "module { module {} }");
    assert!(code == Some(1) && said.contains("the 100th word 7"), "{code:?} {said}");
}

#[test]
fn a_panic_in_a_hook_names_the_operation() {
    let plugin = load("hostile_plugin");
    let path = library("hostile_plugin");
    let op = |name: &str| format!("module {{\n  %y = \"hostile.{name}\"() : () -> i32\n}}\n");
    // A verifier has somebody to tell: it is an error at its operation, and others go on.
    let (code, _, said) = program(&[&plugin], "", &op("verify"));
    assert_eq!(code, Some(1), "{said}");
    let wanted = format!("error: the verifier of 'hostile.verify' of plugin '{path}' panicked at ");
    assert!(said.contains(&wanted) && said.contains("no hostile.verify"), "{said}");
    assert!(said.contains("--> <stdin>:2:3") || said.contains("--> <stdin>:2:8"), "{said}");
    assert!(said.contains(&format!("help: this is a fault of plugin '{path}'")), "{said}");
    for (hook, input, flags, wanted) in [
        ("the folder of 'hostile.fold'", &*op("fold"), &["--canonicalize"][..], "no []"),
        ("the printer of 'hostile.read'", &*op("read"), &[], "no op1"),
        (
            "the reader of 'hostile.read'",
            "module {\n  %y = hostile.read : i32\n}\n",
            &[],
            "no Colon",
        ),
    ] {
        let args: Vec<&str> = [&*plugin].into_iter().chain(flags.iter().copied()).collect();
        let (code, text, said) = program(&args, "", input);
        assert_eq!((code, &*text), (Some(1), ""), "{hook}: {said}");
        let named = format!("in {hook} of plugin '{path}': panicked at ");
        assert!(said.contains("error: internal error ") && said.contains(&named), "{hook}: {said}");
        assert!(said.contains(wanted), "{hook}: {said}");
        assert!(said.contains(&format!("This is a fault of plugin '{path}'")), "{hook}: {said}");
    }
}

#[test]
fn a_reproducer_finds_its_dialects_from_every_folder() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let write = |folder: &Path, name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a writable folder");
    };
    write(here.path(), "mine.pir", "irdl.dialect @mine {\n  irdl.operation @op {\n  }\n}\n");
    let make = ["--load-dialect=mine.pir", "--pass=cse", "--mlir-generate-reproducer=again.pir"];
    let made = run_in(here.path(), &make, "module {\n  \"mine.op\"() : () -> ()\n}\n");
    assert_eq!(made.code, 0, "{}", String::from_utf8_lossy(&made.stderr));
    let run = |folder: &Path, args: &[&str]| {
        let output = run_in(folder, &[&["--run-reproducer"], args].concat(), "");
        (output.code, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let again = here.path().join("again.pir");
    let again = again.to_str().expect("a path of text");
    for load in [&[][..], &["--load-dialect=mine.pir"]] {
        let (code, said) = run(here.path(), &[load, &["again.pir"]].concat());
        assert_eq!(code, 0, "{said}");
    }
    assert_eq!(run(there.path(), &[again]).0, 0);
    // Sent on, it means the recipient's file of that name.
    let sent = std::fs::read_to_string(again).expect("a reproducer");
    write(there.path(), "mine.pir", "irdl.dialect @mine {\n  irdl.operation @op {\n  }\n}\n");
    std::fs::remove_dir_all(here.path()).expect("it is there");
    write(there.path(), "again.pir", &sent);
    let (code, said) = run(there.path(), &["again.pir"]);
    assert!(code == 1 && said.contains("mine.pir': no such file"), "{said}");
    let (code, said) = run(there.path(), &["--load-dialect=mine.pir", "again.pir"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_reproducer_starts_no_program_unasked() {
    let text = concat!(
        "module {}\n{-# external_resources: { mlir_reproducer: {\n",
        "  pipeline: \"builtin.module(exec{command=cat})\", disable_threading: true, verify_each: true } } #-}\n"
    );
    let (code, _, said) = run(&["--run-reproducer"], text);
    assert!(code == 1 && said.contains("the reproducer starts programs"), "{said}");
    let (code, _, said) = run(&["--run-reproducer", "--trust-reproducer"], text);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_reproducer_writes_no_file_of_its_choice() {
    let folder = tempfile::tempdir().expect("a folder");
    for alien in [
        "-o out.pir",
        "--output=out.pir",
        "--mlir-generate-reproducer=out.pir",
        "--mlir-print-ir-after-all --mlir-print-ir-tree-dir=out.pir",
        "--mlir-pass-pipeline-crash-reproducer=out.pir",
        "--no-implicit-module 'out.pir",
    ] {
        let text = format!(
            "module {{}}\n{{-# external_resources: {{ mlir_reproducer: {{ pipeline: \"builtin.module(cse)\" }}, piper_reproducer: {{ arguments: \"{alien}\" }} }} #-}}\n"
        );
        for trust in [&[][..], &["--trust-reproducer"]] {
            let args = [&["--run-reproducer"], trust].concat();
            let output = run_in(folder.path(), &args, &text);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.code, 1, "{alien}");
            assert!(said.contains("which no reproducer needs"), "{alien}: {said}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{alien}");
    }
}

#[test]
fn a_reproducer_finds_paths_with_blanks() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(library("gathers"), folder.path().join("lib a 'b'.so")).expect("a copy");
    std::fs::write(folder.path().join("my d.pir"), "irdl.dialect @mine { irdl.operation @op { } }")
        .expect("a file");
    let loads = ["--load-plugin", "lib a 'b'.so", "--load-dialect", "my d.pir"];
    let args = [&loads[..], &["--print-all-gathers", "--mlir-generate-reproducer=r.pir"]].concat();
    let output = run_in(folder.path(), &args, "module { \"mine.op\"() : () -> () }");
    assert_eq!(output.code, 0, "{}", String::from_utf8_lossy(&output.stderr));
    // Also where nothing but the file follows.
    for args in [
        &["--run-reproducer", "--trust-reproducer", "r.pir"][..],
        &["--run-reproducer", loads[0], loads[1], "--", "r.pir"],
    ] {
        let output = run_in(folder.path(), args, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.code == 0 && said.contains("0 all-gather(s)"), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("mine.op"));
    }
}

#[test]
fn names_have_one_owner() {
    let plugin = load("hostile_plugin");
    for (hostile, message) in [
        ("twice", "' registers pass 'twin' twice"),
        ("taken", "' registers pass 'cse', which is the name of a pass of Piper itself"),
        ("flag", "' registers pass 'load-plugin', which is the name of a flag of piper-opt"),
        ("after", "' registers pass 'late' to run after 'nosuch', but there is no such pass"),
        (
            "anchor",
            "' registers pass 'nowhere' to run on 'module', which is no name of an operation",
        ),
        ("dialect", "' registers dialect 'func', which is the name of a dialect of Piper itself"),
        (
            "builtin",
            "' registers dialect 'builtin', which is the name of a dialect of Piper itself\n |\nhelp: choose another name",
        ),
        (
            "foreign-op",
            "': dialect 'mine' defines the operation 'nn.linear', which is not of its own\n |\nhelp: its name begins with the dialect's: 'mine.linear'",
        ),
        ("schedule", "' registers a schedule: 1F1B is the name of a schedule already"),
        ("panics", "' panicked while it registered what it has: panicked at "),
    ] {
        let (code, text, said) = program(&[&plugin, "--cse"], hostile, EMPTY);
        assert_eq!((code, &*text), (Some(1), ""), "{said}");
        assert!(said.starts_with("error: ") && said.contains(message), "{said}");
    }
    // The same file under another name is another plugin.
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("libcopy.so");
    std::fs::copy(library("gathers"), &copy).expect("a copy");
    let copy = format!("--load-plugin={}", copy.display());
    let (code, _, said) = run(&[&load("gathers"), &copy], EMPTY);
    assert_eq!(code, 1);
    assert!(said.contains("libcopy.so' registers pass 'print-all-gathers', which is the name of a pass of plugin '"), "{said}");
    // Twice the same is once.
    let (code, _, said) = run(&[&load("gathers"), &load("gathers")], EMPTY);
    assert_eq!(code, 0, "{said}");
}

/// A library of C.
fn compiled(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (from, to) = (folder.join(format!("{name}.c")), folder.join(format!("lib{name}.so")));
    std::fs::write(&from, source).expect("a writable folder");
    let done = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&to).arg(&from).output();
    let done = done.expect("cc is there: Rust links with it");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    to
}

#[test]
fn libraries_that_are_no_plugins_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let head = |magic: &str, kind: u32, abi: u32, size: u32| {
        format!(
            "struct {{ char magic[8]; unsigned kind, abi, size, rest; char more[4096]; }} PIPER_PLUGIN \
             __attribute__((aligned(16))) = {{ \"{magic}\", {kind}, {abi}, {size}, 0, {{0}} }};\n"
        )
    };
    let size = size_of::<piper_plugin_host::Descriptor>() as u32;
    for (name, source, message) in [
        (
            "magic",
            head("ELEPHANT", 1, 1, size),
            "is not the descriptor of a plugin (it begins with ELEPHANT)",
        ),
        (
            "kind",
            head("PIPERPLG", 9, 1, size),
            "is of kind 9, which this version of Piper does not know",
        ),
        (
            "older",
            head("PIPERPLG", 1, 0, size),
            "version 0 of the interface of plugins; this is version 1|help: rebuild the plugin",
        ),
        (
            "newer",
            head("PIPERPLG", 1, 2, size),
            "version 2 of the interface of plugins; this is version 1|help: rebuild Piper, or use an older plugin",
        ),
        (
            "size",
            head("PIPERPLG", 1, 1, size - 8),
            &*format!("a descriptor of {} bytes where {size} are right", size - 8),
        ),
        (
            "bare",
            "int answer(void) { return 42; }\n".to_owned(),
            "is a library, but not a plugin: it exports no 'PIPER_PLUGIN'",
        ),
    ] {
        let path = compiled(folder.path(), name, &source);
        let flag = format!("--load-plugin={}", path.display());
        let (code, text, said) = run(&[&flag, "--cse"], EMPTY);
        assert_eq!((code, &*text), (1, ""), "{name}");
        let is_said = message.split('|').all(|part| said.contains(part));
        assert!(said.starts_with("error: plugin '") && is_said, "{name}: {said}");
    }
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not a library").expect("a writable folder");
    let [pipe, circle] = ["pipe.so", "circle.so"].map(|name| folder.path().join(name));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it starts").success());
    std::os::unix::fs::symlink(&circle, &circle).expect("a link");
    for (path, message) in [
        // Nobody waits for a writer.
        (pipe.as_path(), "it is not a regular file"),
        (circle.as_path(), "it cannot be found: Too many levels of symbolic links"),
        (text.as_path(), "it cannot be opened as a library"),
        (Path::new("no/such/file.so"), "no such file"),
        (folder.path(), "it is a folder"),
    ] {
        let (code, _, said) = run(&[&format!("--load-plugin={}", path.display())], EMPTY);
        assert!(code == 1 && said.contains(message), "{said}");
    }
}

#[test]
fn messages_for_editors_stay_json() {
    for format in [&["--diagnostic-format=json"][..], &["--diagnostic-format", "json"]] {
        let (_, _, said) = run(&[&["--load-plugin=none.so"], format].concat(), EMPTY);
        let object: serde_json::Value = serde_json::from_str(said.trim()).expect("JSON");
        assert_eq!(object["message"], "plugin 'none.so': no such file");
        assert_eq!(object["hint"], "the path is that of the library's file");
        let (_, _, said) = run(&[format, &["--pass=nothing"]].concat(), EMPTY);
        let object: serde_json::Value = serde_json::from_str(said.trim()).expect("JSON");
        assert_eq!(object["message"], "unknown pass 'nothing'");
    }
}

#[test]
fn walk_throughs_show_what_is_built() {
    let sources = [
        include_str!("../../../examples/plugin/src/lib.rs"),
        include_str!("../../../examples/plugin/count.py"),
        include_str!("../../../examples/plugin/hoist.py"),
    ];
    for page in [
        include_str!("../../../docs/first-pass.md"),
        include_str!("../../../docs/first-schedule.md"),
    ] {
        let mut count = 0;
        for block in page.split("\n```").skip(1).step_by(2) {
            let (language, code) = block.split_once('\n').expect("a line after the fence");
            if ["rust", "python"].contains(&language) {
                count += 1;
                // What a page leaves out.
                let is_of =
                    |source: &&str| code.split("    // ...\n").all(|part| source.contains(part));
                assert!(sources.iter().any(is_of), "not in a source:\n{code}");
            }
        }
        assert!(count >= 2);
    }
    let tool = include_str!("../../../examples/my-opt/src/main.rs");
    let page = include_str!("../../../docs/plugins.md");
    let (_, code) = page.split_once("## A tool of your own\n\n```rust\n").expect("a program");
    let (code, _) = code.split_once("```").expect("its end");
    assert!(tool.contains(code), "{code}");
}

#[test]
fn the_first_passes_run_as_their_page_says() {
    const STEP: &str = include_str!("../../../examples/plugin/step.pir");
    let page = include_str!("../../../docs/first-pass.md");
    let plugin = load("gathers");
    let waiting = |text: &str| {
        let gathers = text.lines().filter(|line| line.contains("dag.all_gather "));
        gathers.map(|line| line.contains(" after [")).collect::<Vec<_>>()
    };
    let (_, before, _) = run(&["--pass", "zero"], STEP);
    assert_eq!(waiting(&before), [false, true, true, true]);
    let flags = "--pass zero --print-all-gathers --hoist-all-gathers";
    assert!(page.contains(flags));
    let args: Vec<&str> = [&*plugin].into_iter().chain(flags.split(' ')).collect();
    let (code, after, said) = run(&args, STEP);
    assert!(code == 0 && said.contains("remark: 4 all-gather(s)"), "{said}");
    assert_eq!(waiting(&after), [false; 4]);

    // What it takes is counted: a row has the lines of its blocks.
    let blocks: Vec<&str> = page
        .split("\n```")
        .skip(1)
        .step_by(2)
        .filter_map(|b| b.split_once('\n'))
        .map(|b| b.1)
        .collect();
    let lines = |start: &str| {
        let block = blocks.iter().find(|block| block.contains(start)).expect(start);
        block.lines().filter(|line| !line.trim().is_empty()).count()
    };
    // One pass in `register`, and nothing in the place of the dots.
    let around = lines("use piper_plugin::Registrar") + lines("export!") + lines("fn register") - 2;
    for (row, commands, lines) in [
        ("count, Python", 1, lines("text.count")),
        ("hoist, Python", 1, lines("re.sub")),
        ("count, Rust", 5, around + lines("fn count")),
        ("hoist, Rust", 5, around + lines("fn hoist")),
    ] {
        let row = format!("| {row} | {commands} | {lines} |");
        assert!(page.contains(&row), "the page should have: {row}");
    }

    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugin");
    assert!(page.contains("piper-opt --pass zero --pass-exec='python3 count.py' step.pir"));
    let exec = format!("--pass-exec=python3 {}", folder.join("count.py").display());
    let (_, _, said) = run(&["--pass", "zero", &exec], STEP);
    assert!(said.contains("count.py: 4 all-gather(s)"), "{said}");
}

#[test]
fn a_library_outlives_what_loaded_it() {
    struct Silent;
    impl piper_ir::pass::Instrumentation for Silent {}
    let pass = {
        let mut extensions = Extensions::new(PassRegistry::default(), Vec::new());
        extensions.load(&library("gathers"), Path::new(".")).expect("it loads");
        assert_eq!(extensions.loaded[0].name, "gathers");
        extensions.registry.build("print-all-gathers", &[]).expect("it is there")
    };
    let ctx = Arc::new(Context::new([]));
    let mut module = Module::new(ctx.clone());
    let (mut manager, mut reporter) = (PassManager::new("builtin.module"), Reporter::new(&ctx));
    manager.add(pass);
    let options = RunOptions::default();
    manager.run(&mut module, &mut reporter, &options, &mut Silent).expect("it runs");
    assert_eq!(reporter.diagnostics()[0].message, "0 all-gather(s)");
}
