//! FileCheck on generated files: it never panics, and agrees with LLVM's where that is installed.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use piper_lit::filecheck::{self, Options, Source};
use proptest::prelude::*;
use proptest::sample::select;

/// Pieces of patterns; small alphabets, so that directives match often enough to get past the first.
const PIECES: &[&str] = &[
    "a",
    "b",
    "ab",
    " ",
    "c d",
    "{{a|ab}}",
    "{{[ab]+}}",
    "{{.*}}",
    "{{^}}",
    "{{$}}",
    "{{b?}}",
    "{{[^a]}}",
    "[[X:[a-c]+]]",
    "[[X]]",
    "[[Y:.]]",
    "[[Y]]",
    "[[#N:]]",
    "[[#N]]",
    "[[#N+1]]",
    "[[@LINE]]",
    "1",
    "2",
    "(",
    "*",
    "{{(a|b)*c}}",
];
const SUFFIXES: &[&str] = &[
    "", "", "", "-NEXT", "-NEXT", "-SAME", "-NOT", "-NOT", "-DAG", "-DAG", "-LABEL", "-EMPTY",
    "-COUNT-2",
];
const WORDS: &[&str] =
    &["a", "b", "c", "ab", "abc", "1", "2", "3", " ", "  ", "c d", "\n", "\n", "\n", "(", "*"];

fn check_file() -> impl Strategy<Value = String> {
    let directive = (select(SUFFIXES), prop::collection::vec(select(PIECES), 1..4));
    prop::collection::vec(directive, 1..6).prop_map(|directives| {
        let mut text = String::new();
        for (suffix, pieces) in directives {
            let body = if suffix == "-EMPTY" { String::new() } else { pieces.concat() };
            text.push_str(&format!("CHECK{suffix}: {body}\n"));
        }
        text
    })
}

fn input() -> impl Strategy<Value = String> {
    prop::collection::vec(select(WORDS), 0..24).prop_map(|words| words.concat())
}

fn holds_for_llvm(program: &str, check: &Path, input: &str) -> bool {
    let mut child = Command::new(program)
        .arg(check)
        .env_remove("FILECHECK_OPTS")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("FileCheck starts");
    // FileCheck may end over a bad check file before it reads anything.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait().expect("FileCheck ends").success()
}

#[test]
fn verdicts_on_generated_files_are_those_of_llvm() {
    let Some(program) = ["FileCheck-22", "FileCheck"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
    }) else {
        eprintln!("SKIPPED: no FileCheck-22 or FileCheck on PATH, generated files not compared");
        return;
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("generated-{}.txt", std::process::id()));
    let mut config = ProptestConfig::with_cases(300);
    config.failure_persistence = None;
    let result = proptest::test_runner::TestRunner::new(config).run(
        &(check_file(), input()),
        |(check, input)| {
            std::fs::write(&path, &check).expect("the check file is written");
            let ours = filecheck::run(
                &[path.to_string_lossy().into_owned()],
                input.as_bytes(),
                Path::new("."),
            );
            let report = String::from_utf8_lossy(&ours.stderr).into_owned();
            prop_assert_eq!(
                ours.code == 0,
                holds_for_llvm(program, &path, &input),
                "ours says: {}",
                report
            );
            Ok(())
        },
    );
    let _ = std::fs::remove_file(&path);
    if let Err(error) = result {
        panic!("{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_a_verdict(check in "(CHECK(-NEXT|-DAG|-NOT)?: ?[a-c{}\\[\\]#:@%|*()\\\\é+-]{0,12}\n){1,4}", input in "[a-cé\\[{\n ]{0,30}") {
        let options = Options { allow_empty: true, ..Options::default() };
        let verdict = filecheck::check(
            Source { name: "check", text: &check },
            Source { name: "input", text: &input },
            &options,
        );
        if let Err(report) = verdict {
            prop_assert!(report.contains("error"), "a failure says what is wrong: {}", report);
        }
    }

    #[test]
    fn a_text_matches_itself_line_by_line(lines in prop::collection::vec("[a-z(*+.%\\\\|^$)=]{1,10}", 1..8)) {
        let mut check = String::new();
        for (index, line) in lines.iter().enumerate() {
            check.push_str(&format!("CHECK{}: {line}\n", if index == 0 { "" } else { "-NEXT" }));
        }
        let input = lines.iter().map(|l| format!("{l}\n")).collect::<String>();
        let options = Options { match_full_lines: true, ..Options::default() };
        let verdict = |text: &str| {
            filecheck::check(Source { name: "check", text: &check }, Source { name: "input", text }, &options)
        };
        prop_assert_eq!(verdict(&input), Ok(()));
        prop_assert!(verdict(&input.replacen(lines[lines.len() - 1].as_str(), "#", usize::MAX)).is_err());
    }
}
