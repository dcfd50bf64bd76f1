//! Programs as passes: what they can do, and everything they can do wrong.

use std::sync::Arc;
use std::time::{Duration, Instant};

use piper_ir::pass::{Instrumentation, Origin, PassManager, PassRegistry, RunOptions};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Diagnostic, Reporter, Severity, SourceFile};
use piper_plugin_host::exec;

const INPUT: &str = "module @m {\n  func.func @f() {\n    func.return\n  }\n}\n";

struct Silent;
impl Instrumentation for Silent {}

/// What became of a module.
struct Outcome {
    is_ok: bool,
    text: String,
    said: Vec<Diagnostic>,
    ctx: Arc<Context>,
    /// Who made the pass that failed.
    culprit: Option<Origin>,
}

impl Outcome {
    fn errors(&self) -> String {
        let errors = self.said.iter().filter(|d| d.severity == Severity::Error);
        errors.map(|d| d.message.clone()).collect::<Vec<_>>().join("\n")
    }

    fn remarks(&self) -> Vec<&str> {
        let remarks = self.said.iter().filter(|d| d.severity == Severity::Remark);
        remarks.map(|d| &*d.message).collect()
    }
}

fn run_with(input: &str, options: &[(&str, &str)], print: PrintOptions) -> Result<Outcome, String> {
    run_times(1, input, options, print)
}

fn run_times(
    times: usize,
    input: &str,
    options: &[(&str, &str)],
    print: PrintOptions,
) -> Result<Outcome, String> {
    let mut registry = PassRegistry::default();
    registry.try_register(exec::pass()).expect("a free name");
    let options: Vec<_> =
        options.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect();
    // One after the other.
    let passes: Vec<_> =
        (0..times).map(|_| registry.build(exec::NAME, &options)).collect::<Result<_, _>>()?;
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let source = SourceFile::new("in.pir", input);
    let mut module = parse_module(&ctx, &source, &mut Reporter::new(&ctx)).expect("a module");
    let mut manager = PassManager::new("builtin.module");
    for pass in passes {
        manager.add_registered(pass, registry.get(exec::NAME).expect("known"), options.clone());
    }
    let mut reporter = Reporter::new(&ctx);
    // Whatever is said of verifying, a foreign pass is verified.
    let run = RunOptions { verify_each: false, ..RunOptions::default() };
    let is_ok = manager.run(&mut module, &mut reporter, &run, &mut Silent).is_ok();
    let text = if is_ok { print_module(&module, print) } else { String::new() };
    let said = reporter.take();
    let culprit = manager.failure().map(|failure| failure.origin.clone());
    Ok(Outcome { is_ok, text, said, ctx, culprit })
}

fn run(command: &str) -> Outcome {
    run_with(INPUT, &[("command", command)], PrintOptions::default()).expect("known options")
}

/// A shell's script as a command.
fn sh(script: &str) -> String {
    shlex::try_join(["sh", "-c", script]).expect("no NUL")
}

#[test]
fn a_program_sees_the_module_and_gives_another() {
    let done = run("sed s/@f/@g/");
    assert!(done.is_ok && done.said.is_empty(), "{}", done.errors());
    assert_eq!(done.text, INPUT.replace("@f", "@g"));
}

#[test]
fn locations_survive_and_the_form_can_be_chosen() {
    let print = PrintOptions { locations: true, local_scope: true, ..PrintOptions::default() };
    let done = run_with(INPUT, &[("command", "cat")], print).expect("known options");
    assert!(done.text.contains("func.return loc(\"in.pir\":3:5)"), "{}", done.text);
    let options =
        [("command", &*sh("tee /dev/stderr")), ("form", "generic"), ("locations", "false")];
    let done = run_with(INPUT, &options, PrintOptions::default()).expect("known options");
    assert!(done.remarks().iter().any(|r| r.ends_with("\"func.return\"() : () -> ()")));
}

#[test]
fn options_are_arguments() {
    let script = sh("printf '%s\\n' \"$0\" \"$@\" >&2; cat");
    let options = [("command", &*script), ("options", "max=4,'verbose x'")];
    let done = run_with(INPUT, &options, PrintOptions::default()).expect("known options");
    let ends = |text: &str| done.remarks().iter().any(|remark| remark.ends_with(text));
    assert!(ends(": --max=4") && ends(": --verbose x"), "{:?}", done.remarks());
}

#[test]
fn what_it_says_are_diagnostics() {
    let script = sh(
        r#"echo hello >&2; echo '{"severity":"warning","message":"odd","file":"in.pir","line":2,"column":3}' >&2; cat"#,
    );
    let done = run(&script);
    assert!(done.is_ok);
    assert!(done.remarks()[0].ends_with(": hello"), "{:?}", done.remarks());
    let warning = &done.said[0];
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(warning.loc.file_position(&done.ctx), Some(("in.pir", 2, 3)));
    // An error fails the pass, whatever the status is.
    let done = run(&sh(r#"echo '{"severity":"error","message":"no"}' >&2; cat"#));
    assert!(!done.is_ok && done.errors().ends_with(": no"), "{}", done.errors());
}

#[test]
fn ways_to_end_badly() {
    for (script, message) in [
        ("cat > /dev/null; exit 3", "ended with status 3"),
        ("cat > /dev/null; kill -ABRT $$", "was ended by signal 6"),
        ("kill -SEGV $$", "was ended by signal 11"),
        ("cat > /dev/null", "wrote no module"),
        ("cat > /dev/null; printf '\\377'", "wrote bytes that are no text, in line 1"),
        ("cat > /dev/null; echo 'module {'", "wrote something that is not a module"),
        (
            "cat > /dev/null; echo 'module { \"x\"() : ( }'; echo done",
            "wrote something that is not a module",
        ),
        ("cat; echo 'Hello, world!'", "wrote something that is not a module"),
        ("cat > /dev/null; yes", "wrote more than 64 MiB and was stopped"),
    ] {
        let done = run(&sh(script));
        assert!(!done.is_ok, "{script}");
        let errors = done.errors();
        assert!(
            errors.contains("pass 'exec': program 'sh -c ") && errors.contains(message),
            "{script}: {errors}"
        );
    }
    let done = run(&sh("cat > /dev/null; echo 'Traceback: x' >&2; exit 1"));
    assert_eq!(done.said[0].notes[0].message, "it wrote: Traceback: x");
    let done = run("no-such-program-anywhere --flag");
    let expected = "pass 'exec': program 'no-such-program-anywhere --flag' cannot be started: there is no program 'no-such-program-anywhere'";
    assert_eq!(done.errors(), expected);
}

#[test]
fn a_parse_error_shows_the_line_of_the_output() {
    let done = run(&sh("cat > /dev/null; printf 'module {\\n  func.func @f( {}\\n}\\n'"));
    let error = &done.said[0];
    let (file, line, _) = error.loc.file_position(&done.ctx).expect("a place");
    assert!(file.starts_with("<output of sh -c ") && line == 2, "{file}:{line}");
    assert!(
        error.notes.iter().any(|note| note.message == "line 2 of what it wrote: func.func @f( {}")
    );
}

#[test]
fn what_does_not_verify_is_its_fault() {
    let command = r#"sed 's/func.return/"func.call"() : () -> ()/'"#;
    // Whether there is a `module` in the file or not.
    let functions = [
        "module @m {\n  func.func @f() {\n    func.return\n  }\n}\n",
        "func.func @f() {\n  func.return\n}",
    ];
    for input in functions {
        for locations in ["true", "false"] {
            let options = [("command", command), ("locations", locations)];
            let done = run_with(input, &options, PrintOptions::default()).expect("known options");
            assert!(!done.is_ok, "{input}");
            let expected =
                format!("pass 'exec': program '{command}' wrote a module that does not verify");
            assert_eq!(done.errors().lines().last(), Some(&*expected));
            // The line that is shown is the user's, the note has that of the program.
            let note = &done.said[0].notes.last().expect("a note").message;
            assert!(
                note.starts_with("line 3 of what it wrote: \"func.call\"() : () -> ()"),
                "{note}"
            );
            assert_eq!(done.culprit, Some(Origin::Program(command.into())));
        }
    }
    // Not what has the same number in the user's file, and not where there is no such line.
    let swapped = sh(
        "cat > /dev/null; printf 'module {\\n\\n\\n\"func.call\"() : () -> () loc(\"in.pir\":2:1)\\n}'",
    );
    let done = run(&swapped);
    let note = &done.said[0].notes.last().expect("a note").message;
    assert!(note.starts_with("line 4 of what it wrote: \"func.call\"()"), "{note}");
}

#[test]
fn a_file_without_a_module_goes_through_several() {
    let bare = "func.func @f() {\n  func.return\n}";
    for command in ["cat", "sed s/module/module/", "sh -c 'cat > /dev/null; echo module {}'"] {
        let options = [("command", command)];
        let done = run_times(3, bare, &options, PrintOptions::default()).expect("known options");
        assert!(done.is_ok, "{command}: {}", done.errors());
    }
}

#[test]
fn a_program_that_hangs_is_killed_with_what_it_started() {
    for script in ["sleep 1000 & sleep 1000", "while :; do :; done"] {
        let start = Instant::now();
        let options = [("command", &*sh(script)), ("timeout", "0.3")];
        let done = run_with(INPUT, &options, PrintOptions::default()).expect("known options");
        assert!(
            done.errors().contains("took longer than 0.3 s and was killed"),
            "{}",
            done.errors()
        );
        // What the hint says can be done.
        let hint = done.said[0].hint.as_deref().expect("a hint");
        let given = hint.strip_prefix("if it needs more: ").expect("an argument");
        let words = shlex::split(given).expect("words of a shell");
        assert!(words[0] == "--pass" && words[1].ends_with(" timeout=0.6}"), "{hint}");
        assert!(words[1].starts_with("exec{command=") && words[1].contains(script), "{hint}");
        assert!(start.elapsed() < Duration::from_secs(30), "it did not wait for the sleepers");
    }
}

#[test]
fn a_program_that_leaves_its_group_is_killed() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let script = "import os, time; os.setpgid(0, os.getpgid(os.getppid())); time.sleep(30)";
    let command = shlex::try_join(["python3", "-c", script]).expect("no NUL");
    let start = Instant::now();
    let options = [("command", &*command), ("timeout", "0.9")];
    let done = run_with(INPUT, &options, PrintOptions::default()).expect("known options");
    assert!(done.errors().contains("took longer than 0.9 s"), "{}", done.errors());
    assert!(start.elapsed() < Duration::from_secs(20), "it did not wait for the sleeper");
}

#[test]
fn output_that_comes_after_the_end_is_told() {
    // Whether what came before it is a module or not.
    for script in [
        "(sleep 30; echo 'module {}') & :",
        "(echo 'module {'; sleep 30; echo '}') & :",
        "echo 'func.func @a() { func.return }'; (sleep 30; echo 'func.func @b() { func.return }') &",
        "sleep 30 & cat",
    ] {
        let start = Instant::now();
        let done = run(&sh(script));
        let message =
            "something that it started could still write its output 1 s later, and was stopped";
        assert!(done.errors().ends_with(message), "{script}: {}", done.errors());
        let hint = done.said.last().and_then(|error| error.hint.as_deref()).expect("a hint");
        assert!(hint.starts_with("wait for what writes"), "{script}: {hint}");
        assert!(start.elapsed() < Duration::from_secs(20), "it did not wait for the sleeper");
    }
    // Whoever waits has the whole timeout.
    assert!(run(&sh("(sleep 1.5; echo 'module {}') & wait")).is_ok);
}

#[test]
fn what_holds_its_output_open_is_told() {
    // Out of its process group, so that it does not end with it.
    let start = Instant::now();
    let done = run(&sh("cat; setsid sleep 30 &"));
    let expected = "ended, but something that it started still holds its output open";
    assert!(done.errors().ends_with(expected), "{}", done.errors());
    assert!(start.elapsed() < Duration::from_secs(20), "it did not wait for the sleeper");
    // What has no output of the program's is nobody's business, and what only has its messages does no harm.
    // That costs 1 s, not more.
    for silent in ["> /dev/null 2>&1", "> /dev/null"] {
        let start = Instant::now();
        let done = run(&sh(&format!("echo hello >&2; cat; setsid sleep 30 {silent} &")));
        assert!(done.is_ok, "{}", done.errors());
        assert!(start.elapsed() < Duration::from_millis(1900), "{silent}: {:?}", start.elapsed());
        assert!(done.remarks()[0].ends_with(": hello"), "{:?}", done.remarks());
    }
}

#[test]
fn an_input_need_not_be_read() {
    // More than a pipe holds.
    let function = "  func.func @f() {\n    func.return\n  }\n";
    let functions: String = (0..5000).map(|i| function.replace("@f", &format!("@f{i}"))).collect();
    let input = format!("module {{\n{functions}}}\n");
    let run = |input: &str, script: &str| {
        let options = [("command", &*sh(script))];
        run_with(input, &options, PrintOptions::default()).expect("known options")
    };
    // Whoever is faster.
    for input in [INPUT, &input] {
        for script in
            ["echo 'module {}'", "sleep .1; echo 'module {}'", "exec 0<&-; echo 'module {}'"]
        {
            let done = run(input, script);
            assert!(done.is_ok, "{script}: {}", done.errors());
            assert_eq!(done.text, "module {\n}\n");
        }
        for script in ["true", "sleep .1", "exec 0<&-"] {
            let done = run(input, script);
            assert!(done.errors().ends_with("wrote no module"), "{script}: {}", done.errors());
        }
    }
    // Reading and writing at once does not block.
    assert!(run(&input, "cat").is_ok);
    assert!(run(&input, "tee /dev/stderr").is_ok);
}

#[test]
fn options_are_checked_before_anything_runs() {
    let message = |options: &[(&str, &str)]| {
        run_with(INPUT, options, PrintOptions::default()).err().expect("refused")
    };
    assert!(message(&[]).starts_with("pass 'exec' needs a command"));
    assert!(message(&[("command", "sh -c 'x")]).contains("a quote that is not closed"));
    assert!(message(&[("command", "  ")]).contains("names no program"));
    for bad in ["0", "-1", "NaN", "soon"] {
        assert!(message(&[("command", "cat"), ("timeout", bad)]).contains("'timeout'"), "{bad}");
    }
    for bad in ["1e-12", "1e30"] {
        let said = message(&[("command", "cat"), ("timeout", bad)]);
        assert!(said.contains("takes seconds, from a nanosecond to 10^19, not '"), "{said}");
    }
    for good in ["1e-9", "1e19"] {
        let options = [("command", "cat"), ("timeout", good)];
        assert!(run_with(INPUT, &options, PrintOptions::default()).is_ok(), "{good}");
    }
    assert!(message(&[("command", "cat"), ("form", "binary")]).contains("custom, generic"));
}
