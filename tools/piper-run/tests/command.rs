//! The program as users meet it: good runs, and bad input that ends with a clear message, exit status 1 and nothing written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use piper_plan::Plan;
use piper_run::models::{Gpt, SGD, STRATEGIES};

const SMALL: Gpt = Gpt {
    layers: 2,
    stages: 2,
    width: 8,
    heads: 2,
    length: 6,
    vocabulary: 256,
    batch: 16,
    is_f64: false,
    is_tied: false,
};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn file(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, contents).expect("written");
        path
    }

    /// The small model under 1F1B.
    fn model(&self) -> PathBuf {
        let strategy = STRATEGIES.iter().find(|s| s.name == "1f1b pp2").expect("known");
        self.file("train.pir", SMALL.text(strategy, SGD).as_bytes())
    }

    fn data(&self) -> PathBuf {
        self.file(
            "data.txt",
            "What hangs on a cluster hangs here, is detected, and is told. ".repeat(20).as_bytes(),
        )
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn piper_run(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let nowhere = tempfile::tempdir().expect("a temporary folder");
    piper_run_with(nowhere.path(), args)
}

/// With the code cache in a folder.
fn piper_run_with(cache: &Path, args: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_piper-run"));
    command.env(piper_codegen::CACHE_VARIABLE, cache);
    command.args(args.iter().map(|a| a.as_ref())).stdin(Stdio::null());
    command.output().expect("the program starts")
}

/// What a run that has to fail says.
fn refused(args: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let output = piper_run(args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("error: ") && !text.contains("panicked"), "{text}");
    text
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_run_tells_its_loss_its_memory_and_how_it_compares() {
    let folder = Folder::new();
    let trace = folder.at("trace.json");
    let text = done(&piper_run(&[
        &folder.model(),
        &"--data",
        &folder.data(),
        &"--steps",
        &"3",
        &"--level",
        &"kernel",
        &"--compare-single",
        &"--fixed-tree",
        &"--trace",
        &trace,
    ]));
    for part in [
        "step     1  loss",
        "tokens/s",
        "peak planned",
        "{pp=0}",
        "{pp=1}",
        "bitwise     equal",
        "the same numbers",
    ] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
    let trace = std::fs::read_to_string(trace).expect("a trace");
    assert!(trace.contains("\"traceEvents\"") && trace.trim_end().ends_with("]}"));
}

#[test]
fn two_runs_have_the_same_bits_whatever_the_level() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.data());
    let losses = |level: &str| {
        let text = done(&piper_run(&[
            &model,
            &"--data",
            &data,
            &"--steps",
            &"3",
            &"--level",
            &level,
            &"--fixed-tree",
        ]));
        text.lines().find(|l| l.starts_with("loss ")).expect("a summary").to_owned()
    };
    assert_eq!(losses("kernel"), losses("kernel"));
    assert_eq!(losses("kernel"), losses("device"));
    assert_eq!(losses("kernel"), losses("dag"));
}

#[test]
fn data_that_cannot_be_trained_on_is_refused() {
    let folder = Folder::new();
    let model = folder.model();
    let with = |data: &Path| refused(&[&model, &"--data", &data, &"--level", &"dag"]);
    assert!(with(&folder.at("none.txt")).contains("no such file"));
    assert!(with(folder.0.path()).contains("it is a folder"));
    assert!(with(&folder.file("empty.txt", b"")).contains("is empty"));
    assert!(with(&folder.file("short.txt", b"short!")).contains("has 6 bytes, but a sequence"));
    let narrow = Gpt { vocabulary: 128, ..SMALL }.text(&STRATEGIES[0], SGD);
    let narrow = folder.file("narrow.pir", narrow.as_bytes());
    let odd = folder.file("odd.txt", "abcdefghijklmno\né".as_bytes());
    let said = refused(&[&narrow, &"--data", &odd, &"--level", &"dag"]);
    assert!(
        said.contains("0xC3") && said.contains("line 2") && said.contains("values below 128"),
        "{said}"
    );
}

#[test]
fn plans_are_chosen_by_name() {
    let folder = Folder::new();
    let data = folder.data();
    let two = std::fs::read_to_string(folder.model()).expect("text");
    let two = format!("{two}strategy.plan @other for @loss on @cluster {{\n  {SGD}\n}}\n");
    let two = folder.file("two.pir", two.as_bytes());
    let said = refused(&[&two, &"--data", &data]);
    assert!(said.contains("has 2 plans") && said.contains("@train, @other"), "{said}");
    let said = refused(&[&two, &"--data", &data, &"--plan", &"third"]);
    assert!(said.contains("no plan @third"), "{said}");
    done(&piper_run(&[
        &two, &"--data", &data, &"--plan", &"other", &"--steps", &"1", &"--level", &"dag",
    ]));
    let none = folder.file("none.pir", b"module {\n}\n");
    assert!(refused(&[&none, &"--data", &data]).contains("no strategy.plan"));
}

#[test]
fn mistakes_in_the_text_are_shown_with_their_lines() {
    let folder = Folder::new();
    let data = folder.data();
    let text = std::fs::read_to_string(folder.model()).expect("text");
    for (from, to, says) in [
        ("\"1f1b\"", "\"1f2b\"", "1f2b"),
        ("microbatches = 8", "microbatches = 5", "do not divide the batch of 16"),
        ("over \"pp\"", "over \"qq\"", "qq"),
        ("stages = \"PP\"", "stages = \"QQ\"", "QQ"),
        ("sgd <lr = 0.1>", "sgd <lr = 0.1", "error"),
    ] {
        assert!(text.contains(from), "{from}");
        let wrong = folder.file("wrong.pir", text.replace(from, to).as_bytes());
        let said = refused(&[&wrong, &"--data", &data, &"--level", &"dag"]);
        assert!(said.contains(says) && said.contains("wrong.pir:"), "{to}: {said}");
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_anything_runs() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.data());
    let nowhere = folder.at("no/such/folder/x");
    let said = refused(&[&model, &"--data", &data, &"--trace", &nowhere]);
    assert!(
        said.contains("cannot write trace") && said.contains("the folder does not exist"),
        "{said}"
    );
    let said = refused(&[&model, &"--compile-only", &"-o", &folder.0.path()]);
    assert!(said.contains("cannot write plan") && said.contains("it is a folder"), "{said}");
}

/// Foreign, newer and deadlocking plans: `test/lit/piper-run/plans.pir`.
#[test]
fn a_compiled_plan_is_whole_and_half_of_it_is_refused() {
    let folder = Folder::new();
    let data = folder.data();
    let path = folder.at("train.pplan");
    done(&piper_run(&[&folder.model(), &"--compile-only", &"--level", &"kernel", &"-o", &path]));
    let bytes = std::fs::read(&path).expect("a plan");
    let plan = Plan::from_bytes(&bytes).expect("a plan");
    assert!(piper_plan::verify(&plan).is_empty());
    assert_eq!(plan.misc.tokens_per_step, 96);

    let with = |name: &str, bytes: &[u8]| refused(&[&folder.file(name, bytes), &"--data", &data]);
    assert!(with("cut.pplan", &bytes[..bytes.len() / 2]).contains("truncated plan"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_between_steps() {
    use std::io::{BufRead, BufReader, Read};
    let folder = Folder::new();
    let trace = folder.at("trace.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_piper-run"))
        .arg(folder.model())
        .args(["--steps", "1000000", "--level", "kernel", "--log-every", "1", "--data"])
        .arg(folder.data())
        .arg("--trace")
        .arg(&trace)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("step") {
        line.clear();
        assert!(out.read_line(&mut line).expect("text") > 0, "it ended without a step");
    }
    let killed =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(rest.contains("interrupted after step"), "{rest}");
    assert!(std::fs::read_to_string(trace).expect("a trace").trim_end().ends_with("]}"));
}

#[cfg(feature = "llvm")]
#[test]
fn code_comes_from_the_cache_the_second_time() {
    let folder = Folder::new();
    let (model, cache) = (folder.model(), folder.at("cache"));
    let run = |args: &[&dyn AsRef<std::ffi::OsStr>]| {
        let output =
            piper_run_with(&cache, &[&[&model as _, &"--compile-only" as _], args].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let entries = || std::fs::read_dir(&cache).map_or(0, Iterator::count);
    assert!(run(&[&"--no-cache"])[0].contains(" made in "));
    assert_eq!(entries(), 0, "--no-cache keeps nothing");
    assert!(run(&[])[0].contains(" made in "));
    assert_eq!(entries(), 1);
    assert!(run(&[])[0].contains(" from cache in "));
    assert!(run(&[&"--no-cache"])[0].contains(" made in "));
    for entry in std::fs::read_dir(&cache).expect("a folder").flatten() {
        std::fs::write(entry.path(), "damaged").expect("written");
    }
    let [said, remarked] = run(&[]);
    assert!(said.contains(" made in ") && remarked.contains("was damaged"), "{said}{remarked}");
    assert!(run(&[])[0].contains(" from cache in "));
    // A folder that is none: the run goes on.
    std::fs::remove_dir_all(&cache).expect("removable");
    std::fs::write(&cache, "a file").expect("written");
    let [said, remarked] = run(&[]);
    assert!(
        said.contains(" made in ") && remarked.contains("code is not kept"),
        "{said}{remarked}"
    );
    assert_eq!(remarked.lines().count(), 1, "{remarked}");
}

#[test]
fn threads_and_vectors_that_there_are_not_are_named() {
    let folder = Folder::new();
    let model = folder.model();
    for (flag, value, expected) in [
        ("--threads-per-device", "0", "a device has 1 to 1024 threads"),
        ("--threads-per-device", "many", "not a whole number"),
        ("--vectors", "avx9", "'avx9' is no level of"),
        ("--vectors", "host,host", "'host' is no level of"),
    ] {
        let output = piper_run(&[&model, &"--compile-only", &flag, &value]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{flag} {value}: {said}");
    }
}
