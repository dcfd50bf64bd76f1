//! Whole test files through the runner: what passes, what fails and with which report, what is blessed.

use super::*;

fn shout(args: &[String], stdin: &[u8], cwd: &Path) -> Output {
    match args.first().map(String::as_str) {
        Some("--panic") => panic!("shout has no panic option"),
        Some("--fail") => Output::failure(3, "shout: told to fail\n"),
        Some("--both") => Output { stdout: b"out\n".into(), stderr: b"err\n".into(), code: 0 },
        Some("--sleep") => {
            thread::sleep(Duration::from_secs(20));
            Output::default()
        }
        Some(file) => match fs::read_to_string(cwd.join(file)) {
            Ok(text) => {
                let body =
                    text.lines().filter(|l| !l.contains("//")).map(|l| l.to_uppercase() + "\n");
                Output::success(body.collect::<String>())
            }
            Err(e) => Output::failure(1, format!("shout: {e}\n")),
        },
        None => Output::success(stdin.to_ascii_uppercase()),
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("piper-lit-unit-{}-{name}", std::process::id()));
        fs::create_dir_all(dir.join("tests")).expect("a temporary folder");
        Self(fs::canonicalize(dir).expect("the folder exists"))
    }

    fn suite(&self) -> Suite {
        Suite::new(self.0.join("tests"))
            .temp_dir(self.0.join("temp"))
            .tool("shout", shout)
            .blessing(false)
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.0.join("tests/case.pir");
        fs::write(&path, text).expect("a test file");
        path
    }

    fn run(&self, suite: &Suite, text: &str) -> Result<bool, String> {
        let path = self.file(text);
        match run_test(&path, &self.0.join("temp/case"), &Arc::new(suite.settings.clone())) {
            Ok(completion) => Ok(matches!(completion, Completion::Completed)),
            Err(failed) => Err(failed.message().unwrap_or_default().to_string()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn run_lines_that_pass() {
    let folder = Folder::new("pass");
    for script in [
        "// RUN: shout %s | FileCheck %s\nhello\n// CHECK: HELLO",
        "// RUN: echo 'a b' | shout | FileCheck %s \\\n// RUN:   --check-prefix=UP\n// UP: A B",
        "// RUN: not shout --fail 2>&1 | FileCheck %s\n// CHECK: told to fail",
        "// RUN: shout --both 2>&1 | FileCheck %s\n// CHECK: err\n// CHECK-NEXT: out",
        "// RUN: shout --both > %t 2> %t.err && grep out %t && not grep err %t && grep -c err %t.err",
        "// RUN: not shout --fail ; true",
        "// RUN: false || true",
        "// RUN: ! false",
        "// RUN: not --crash shout --panic",
        "// RUN: mkdir -p %t.d/x && echo 1 > %t.d/x/a && cp %t.d/x/a %t.d/b && diff %t.d/b %t.d/x/a",
        "// RUN: mkdir d\n// RUN: cd d\n// RUN: echo hi > f && test -f f && ls | grep -x f\n// RUN: rm f && test ! -e f",
        "// RUN: echo one > %t && echo two >> %t && cat < %t | count 2",
        "// RUN: echo 100%% | grep -F '100%'",
        "# RUN: split-file %s %t\n# RUN: diff %t/a.txt %t/b.txt\n#--- a.txt\nx\n#--- b.txt\nx\n",
        "// RUN: echo %S %T | FileCheck %s -DDIR=%S\n// CHECK: [[DIR]]",
        "// RUN: shout --both &> %t && cat %t | FileCheck %s\n// CHECK: err\n// CHECK: out",
        "// RUN: echo b | diff - %S/case.pir > %t || grep '^-b' %t",
    ] {
        assert_eq!(folder.run(&folder.suite(), script), Ok(true), "{script}");
    }
}

#[test]
fn run_lines_that_fail_say_which_command_and_why() {
    let folder = Folder::new("fail");
    for (script, report) in [
        (
            "// RUN: shout %s | FileCheck %s\nhello\n// CHECK: WORLD",
            "error: CHECK: expected string not found",
        ),
        ("// RUN: shout --fail | cat", "exit status 3"),
        ("// RUN: true\n// RUN: shout --fail", "case.pir:2: RUN line failed"),
        ("// RUN: shout --panic", "the tool panicked: panicked at"),
        ("// RUN: not shout --panic", "shout has no panic option"),
        ("// RUN: shout --panic || true", "the tool panicked"),
        ("// RUN: piper-nope %s", "unknown command 'piper-nope' (the tools of this suite: shout)"),
        ("// RUN: not piper-nope %s", "unknown command 'piper-nope'"),
        ("// RUN: not true", "$ not true"),
        ("// RUN: echo 'a", "a single quote is not closed"),
        ("// RUN: cat < missing", "cannot read 'missing'"),
        ("// RUN: echo a > no/such/dir", "cannot write 'no/such/dir'"),
        ("// RUN: grep", "no pattern given"),
        ("// RUN: rm -z", "option '-z' is not supported"),
        ("// RUN: echo a | count 2", "Expected 2 lines, got 1"),
        ("no run line", "test has no RUN line"),
        ("// RUN: true\n// XFAIL: *", "unexpectedly passed"),
        ("// RUN: true\n// REQUIRES: a &&", "expected a feature name"),
    ] {
        let message = folder.run(&folder.suite(), script).expect_err(script);
        assert!(message.contains(report), "{script}: {message}");
    }
}

#[test]
fn features_skip_and_expected_failures_pass() {
    let folder = Folder::new("features");
    let suite = folder.suite().feature("llvm");
    assert_eq!(
        folder.run(&suite, "// RUN: false\n// REQUIRES: mlir"),
        Ok(false),
        "skipped, not run"
    );
    assert_eq!(folder.run(&suite, "// RUN: false\n// UNSUPPORTED: llvm"), Ok(false));
    assert_eq!(folder.run(&suite, "// RUN: true\n// REQUIRES: llvm"), Ok(true));
    assert_eq!(folder.run(&suite, "// RUN: false\n// XFAIL: llvm"), Ok(true));
    assert!(folder.run(&suite, "// RUN: false\n// XFAIL: mlir").is_err());
}

#[test]
fn a_stuck_test_is_reported() {
    let folder = Folder::new("stuck");
    let suite = folder.suite().patience(Duration::from_millis(50));
    assert!(folder.run(&suite, "// RUN: shout --sleep").unwrap_err().contains("no end after"));
}

#[test]
fn external_programs_need_leave() {
    let folder = Folder::new("external");
    let script = "// RUN: echo a | sort | grep a";
    assert!(folder.run(&folder.suite(), script).unwrap_err().contains("unknown command 'sort'"));
    if cfg!(unix) {
        assert_eq!(folder.run(&folder.suite().external("sort"), script), Ok(true));
    }
}

#[test]
fn blessing_writes_the_block_and_then_checks_it() {
    let folder = Folder::new("bless");
    let marker = "// CHECK lines below are generated: cargo xtask bless";
    let script =
        format!("// RUN: shout %s | FileCheck %s\nhello\nworld\n{marker}\n// CHECK: OLD\n");
    assert!(folder.run(&folder.suite(), &script).is_err());
    assert_eq!(folder.run(&folder.suite().blessing(true), &script), Ok(true));
    let text = fs::read_to_string(folder.0.join("tests/case.pir")).expect("the test file");
    let block = "// CHECK:      HELLO\n// CHECK-NEXT: WORLD\n// CHECK-NOT:  {{[^ ]}}\n";
    assert_eq!(text, format!("// RUN: shout %s | FileCheck %s\nhello\nworld\n{marker}\n{block}"));
    assert_eq!(folder.run(&folder.suite(), &text), Ok(true));
}

#[test]
fn a_failing_tool_is_never_blessed() {
    let folder = Folder::new("bless-fail");
    let script = "// RUN: shout --fail | FileCheck %s\n// CHECK lines below are generated: cargo xtask bless\n// CHECK: OLD\n";
    assert!(folder.run(&folder.suite().blessing(true), script).is_err());
    assert_eq!(fs::read_to_string(folder.0.join("tests/case.pir")).expect("the test file"), script);
}

#[test]
fn trials_are_found_by_suffix_and_named_by_path() {
    let folder = Folder::new("names");
    let tests = folder.0.join("tests");
    fs::create_dir_all(tests.join("dag/Inputs")).expect("folders");
    for name in ["dag/b.pir", "a.txt", "dag/Inputs/x.pir", "notes.md", ".hidden.pir"] {
        fs::write(tests.join(name), "// RUN: true\n").expect("a test file");
    }
    let names: Vec<String> = folder.suite().trials().iter().map(|t| t.name().to_string()).collect();
    assert_eq!(names, ["a.txt", "dag/b.pir"]);
    assert_eq!(
        folder.suite().suffixes(&[".none"]).trials()[0].name(),
        "suite",
        "no test is a failing trial"
    );
    let missing = Suite::new(folder.0.join("nowhere")).trials();
    assert_eq!(missing.len(), 1, "an unreadable folder is a failing trial, not silence");
}

/// The verdicts that lit 22 gave for the same files.
#[test]
fn shell_semantics_are_those_of_lit() {
    let folder = Folder::new("semantics");
    let suite = folder.suite().feature("llvm");
    for (script, passes) in [
        ("// RUN: false ; true", true),
        ("// RUN: true ; false", false),
        ("// RUN: ! false", true),
        ("// RUN: false | cat", false),
        ("// RUN: ! false | true", true),
        ("// RUN: true | false || true", true),
        ("// RUN: true && false || true", true),
        ("// RUN: not false && not not true", true),
        ("// RUN: echo %(line+1) | grep 2", true),
        ("// RUN: echo a \\\n// RUN:  b | grep \"a b\"", true),
        ("// RUN: echo x | not grep y", true),
        ("// RUN: false\n// XFAIL: llvm", true),
        ("// RUN: true\n// XFAIL: *", false),
    ] {
        assert_eq!(folder.run(&suite, script).is_ok(), passes, "{script}");
    }
}
