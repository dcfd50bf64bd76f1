//! A table of FileCheck verdicts, ours against what the table says, and against LLVM's FileCheck where installed.
//!
//! Each line of the table is `(arguments, check file, input, holds)`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use piper_lit::filecheck;

const HOLDS: bool = true;
const FAILS: bool = false;

#[rustfmt::skip]
const TABLE: &[(&str, &str, &str, bool)] = &[
    // Plain matching, order and whitespace.
    ("", "CHECK: a\nCHECK: b\n", "a\nb\n", HOLDS),
    ("", "CHECK: b\nCHECK: a\n", "a\nb\n", FAILS),
    ("", "CHECK: a b\n", "a  \t b\n", HOLDS),
    ("--strict-whitespace", "CHECK: a b\n", "a  b\n", FAILS),
    ("--strict-whitespace", "CHECK:   a b\n", "a b\n", HOLDS),
    ("", "// CHECK: a // CHECK: b\n", "a // CHECK: b\n", HOLDS),
    ("", "// CHECK: a // CHECK: b\n", "a\nb\n", FAILS),
    ("", "XCHECK: zzz\nCHECK: a\n", "a\n", HOLDS),
    ("", "X-CHECK: zzz\nCHECK: a\n", "a\n", HOLDS),
    ("", "// RUN: CHECK: zzz\n// COM: CHECK: zzz\nCHECK: a\n", "a\n", HOLDS),
    ("", "CHECK : a\n", "a\n", FAILS),
    ("", "CHECK:\n", "a\n", FAILS),
    ("", "no directive\n", "a\n", FAILS),
    ("", "CHECK: a   \n", "a", HOLDS),
    ("", "CHECK: a\r\nCHECK: b\r\n", "a\nb\n", HOLDS),
    ("", "CHECK: a\nCHECK-NEXT: b\n", "a\r\nb\r\n", HOLDS),
    ("--ignore-case", "CHECK: Alpha\n", "aLPHA\n", HOLDS),
    // NEXT, SAME, EMPTY.
    ("", "CHECK: a\nCHECK-NEXT: b\n", "a\nb\n", HOLDS),
    ("", "CHECK: a\nCHECK-NEXT: b\n", "a\nx\nb\n", FAILS),
    ("", "CHECK: a\nCHECK-NEXT: b\n", "a b\n", FAILS),
    ("", "CHECK: a\nCHECK-NEXT: b\n", "a b\nb\n", FAILS),
    ("", "CHECK-NEXT: a\n", "a\n", FAILS),
    ("", "CHECK-SAME: a\n", "a\n", FAILS),
    ("", "CHECK-DAG: a\nCHECK-NEXT: b\n", "a\nb\n", FAILS),
    ("", "CHECK: a\nCHECK-SAME: b\n", "a x b\n", HOLDS),
    ("", "CHECK: a\nCHECK-SAME: b\n", "a\nb\n", FAILS),
    ("", "CHECK: a\nCHECK-SAME: {{^}}b\n", "ab\n", HOLDS),
    ("", "CHECK: a\nCHECK-EMPTY:\nCHECK-NEXT: b\n", "a\n\nb\n", HOLDS),
    ("", "CHECK: a\nCHECK-EMPTY:\nCHECK-NEXT: b\n", "a\nb\n", FAILS),
    ("", "CHECK: a\nCHECK-EMPTY:\n", "a\nb\n\n", FAILS),
    ("", "CHECK: a\nCHECK-EMPTY:\n", "a\n", HOLDS),
    ("", "CHECK: a\nCHECK-EMPTY: x\n", "a\n\n", FAILS),
    ("", "CHECK-EMPTY:\n", "\n", FAILS),
    // NOT.
    ("", "CHECK: a\nCHECK-NOT: b\nCHECK: c\n", "a\nc\nb\n", HOLDS),
    ("", "CHECK: a\nCHECK-NOT: b\nCHECK: c\n", "a\nb\nc\n", FAILS),
    ("", "CHECK: a\nCHECK-NOT: b\n", "a\nx\nb\n", FAILS),
    ("", "CHECK-NOT: b\nCHECK: a\n", "a\nb\n", HOLDS),
    ("", "CHECK-NOT: b\n", "a\n", HOLDS),
    ("", "CHECK-NOT: [[X]]\n", "a\n", FAILS),
    ("", "CHECK-NOT: b\nCHECK-NOT: a\n", "xa\n", FAILS),
    ("", "CHECK-NEXT-NOT: a\nCHECK: x\n", "x\n", FAILS),
    ("", "CHECK: a\nCHECK-NOT: {{^}}b\nCHECK: c\n", "ab\nc\n", FAILS),
    // DAG.
    ("", "CHECK-DAG: b\nCHECK-DAG: a\n", "a\nb\n", HOLDS),
    ("", "CHECK-DAG: a\nCHECK-DAG: a\n", "a\n", FAILS),
    ("", "CHECK-DAG: a\nCHECK-DAG: a\n", "a a\n", HOLDS),
    ("", "CHECK-DAG: ab\nCHECK-DAG: bc\n", "abc bc\n", HOLDS),
    ("", "CHECK-DAG: ab\nCHECK-DAG: bc\n", "abc\n", FAILS),
    ("", "CHECK-DAG: a\nCHECK-NOT: x\nCHECK-DAG: b\n", "b\na\nx\n", FAILS),
    ("", "CHECK-DAG: a\nCHECK-NOT: x\nCHECK-DAG: b\n", "a\ny\nb\n", HOLDS),
    ("", "CHECK-DAG: a\nCHECK-NOT: x\nCHECK-DAG: b\n", "a\nx\nb\n", FAILS),
    ("", "CHECK-DAG: a\nCHECK-DAG: b\nCHECK: c\n", "c\nb\na\n", FAILS),
    ("", "CHECK-DAG: [[X:%[0-9]+]] = f\nCHECK-DAG: g [[X]]\n", "%1 = f\ng %1\n", HOLDS),
    // LABEL.
    ("", "CHECK-LABEL: f:\nCHECK: x\nCHECK-LABEL: g:\nCHECK: y\n", "f:\nx\ng:\ny\n", HOLDS),
    ("", "CHECK-LABEL: f:\nCHECK: y\nCHECK-LABEL: g:\nCHECK: y\n", "f:\nx\ng:\ny\n", FAILS),
    ("", "CHECK-LABEL: f:\nCHECK-NOT: y\nCHECK-LABEL: g:\n", "f:\nx\ng:\ny\n", HOLDS),
    ("", "CHECK-LABEL: f[[X:a]]\n", "fa\n", FAILS),
    ("", "CHECK-LABEL: h:\n", "f:\n", FAILS),
    ("", "CHECK-LABEL: [[@LINE]]\n", "1\n", FAILS),
    ("", "CHECK-LABEL: [[#N:]]\n", "1\n", HOLDS),
    ("", "CHECK: a\nCHECK-LABEL: g:\nCHECK-SAME: z\n", "a\ng: z\n", HOLDS),
    ("--enable-var-scope", "CHECK-LABEL: f\nCHECK: [[X:x]] [[$Y:y]]\nCHECK-LABEL: g\nCHECK: [[$Y]]\n", "f\nx y\ng\ny\n", HOLDS),
    ("--enable-var-scope", "CHECK-LABEL: f\nCHECK: [[X:x]]\nCHECK-LABEL: g\nCHECK: [[X]]\n", "f\nx\ng\nx\n", FAILS),
    // COUNT.
    ("", "CHECK-COUNT-2: a\n", "a\na\n", HOLDS),
    ("", "CHECK-COUNT-3: a\n", "a\na\n", FAILS),
    ("", "CHECK-COUNT-2: a\nCHECK-NOT: a\n", "a a a\n", FAILS),
    ("", "CHECK-COUNT-0: a\n", "a\n", FAILS),
    ("", "CHECK-COUNT-x: a\n", "a\n", FAILS),
    ("", "CHECK-COUNT: a\n", "a\n", FAILS),
    // Regular expressions.
    ("", "CHECK: a{{[0-9]+}}b\n", "a42b\n", HOLDS),
    ("", "CHECK: a{{x|y}}b\n", "ayb\n", HOLDS),
    ("", "CHECK: {{a|ab}}c\n", "abc\n", HOLDS),
    ("", "CHECK: {{a|ab|abc}}\nCHECK-SAME: {{^}}d\n", "abcd\n", HOLDS),
    ("", "CHECK: a{{.*}}b\n", "a\nb\n", FAILS),
    ("", "CHECK: a{{[^x]*}}b\n", "a\nb\n", FAILS),
    ("", "CHECK: {{\\d}}\n", "7\n", FAILS),
    ("", "CHECK: {{[\\]}}\n", "\\\n", HOLDS),
    ("", "CHECK: {{[]x]+}}!\n", "]x!\n", HOLDS),
    ("", "CHECK: {{^}}b{{$}}\n", "abc\nb\n", HOLDS),
    ("", "CHECK: {{[[:alpha:]]+}}=\n", "1abc=\n", HOLDS),
    ("", "CHECK: {{x{2,3}}}\n", "xx\n", FAILS),
    ("", "CHECK: {{(x){2,3} }}y\n", "xx y\n", HOLDS),
    ("", "CHECK: {{*}}\n", "*\n", FAILS),
    ("", "CHECK: {{a*?}}\n", "a\n", FAILS),
    ("", "CHECK: {{[a}}\n", "a\n", FAILS),
    ("", "CHECK: {{(a}}\n", "a\n", FAILS),
    ("", "CHECK: {{a\n", "a\n", FAILS),
    ("", "CHECK: a.b*(c)\n", "a.b*(c)\n", HOLDS),
    ("", "CHECK: a.b\n", "axb\n", FAILS),
    ("", "CHECK: {{\\{\\{}}x\n", "{{x\n", HOLDS),
    ("", "CHECK{LITERAL}: {{x}} [[y]]\n", "{{x}} [[y]]\n", HOLDS),
    ("", "CHECK: a\nCHECK-NEXT{LITERAL}: [[y]]\n", "a\n[[y]]\n", HOLDS),
    // String variables.
    ("", "CHECK: [[X:[a-z]+]] =\nCHECK: use [[X]];\n", "ab =\nuse ab;\n", HOLDS),
    ("", "CHECK: [[X:[a-z]+]] =\nCHECK: use [[X]];\n", "ab =\nuse a;\n", FAILS),
    ("", "CHECK: [[X:.*]]!\nCHECK: ([[X]])\n", "a.c!\n(abc)\n", FAILS),
    ("", "CHECK: [[X:[a-z]+]]=[[X]];\n", "ab=cd; cd=cd;\n", HOLDS),
    ("", "CHECK: [[X:[a-z]+]]=[[X]];\n", "ab=cd;\n", FAILS),
    ("", "CHECK: use [[X]]\n", "use x\n", FAILS),
    ("", "CHECK: [[X\n", "[[X\n", FAILS),
    ("", "CHECK: [[1X:a]]\n", "a\n", FAILS),
    ("", "CHECK: [[X:a]]\nCHECK: [[X:b]]\nCHECK: [[X]]\n", "a\nb\nb\n", HOLDS),
    ("-DV=a+b", "CHECK: [[V]]\n", "a+b\n", HOLDS),
    ("-DV=a+b", "CHECK: [[V]]\n", "aab\n", FAILS),
    // Lines and numbers.
    ("", "CHECK: at [[@LINE+1]]\n", "at 2\n", HOLDS),
    ("", "\n\nCHECK: at [[@LINE-2]]\n", "at 1\n", HOLDS),
    ("", "CHECK: at [[#@LINE+1]]\n", "at 2\n", HOLDS),
    ("", "CHECK: at [[# @LINE + 1 ]]:\n", "at 3:\n", FAILS),
    ("", "CHECK: [[@LINE*2]]\n", "2\n", FAILS),
    ("", "CHECK: n=[[#N:]]\nCHECK: m=[[#N+1]];\n", "n=9\nm=10;\n", HOLDS),
    ("", "CHECK: n=[[#N:]]\nCHECK: m=[[#N+1]];\n", "n=9\nm=9;\n", FAILS),
    ("", "CHECK: [[#%x,A:]]\nCHECK: [[#A+1]];\n", "ff\n100;\n", HOLDS),
    ("", "CHECK: [[#%X,A:]] [[#%u,B:]]\nCHECK: [[#%d,B-A]];\n", "A 3\n-7;\n", HOLDS),
    ("", "CHECK: [[#N:]]\nCHECK: [[#mul(N,3)]];\n", "4\n12;\n", HOLDS),
    ("", "CHECK: [[#N:]]\nCHECK: [[#M:N+2]];\nCHECK: [[#M]]!\n", "4\n6;\n6!\n", HOLDS),
    ("", "CHECK: [[#N+1]]\n", "1\n", FAILS),
    ("", "CHECK: [[#N:]] [[#N]]\n", "1 1\n", FAILS),
    ("", "CHECK: v[[#]]w\n", "v77w\n", HOLDS),
    ("-D#N=5", "CHECK: [[#N+1]];\n", "6;\n", HOLDS),
    ("", "CHECK: [[#%.4u,N:]]\nCHECK: [[#%.4u,N+1]];\n", "0009\n0010;\n", HOLDS),
    // Options.
    ("--check-prefix=A", "A: x\nCHECK: zzz\n", "x\n", HOLDS),
    ("--check-prefixes=A,B", "A: x\nB: y\n", "x\ny\n", HOLDS),
    ("--check-prefixes=A,B", "A: x\n", "x\n", FAILS),
    ("--check-prefixes=A,B --allow-unused-prefixes", "A: x\n", "x\n", HOLDS),
    ("--check-prefixes=A,A-B", "A: x\nA-B: y\n", "x\ny\n", HOLDS),
    ("--check-prefix=A", "CHECK: x\n", "x\n", FAILS),
    ("--check-prefix=A:", "A: x\n", "x\n", FAILS),
    ("--implicit-check-not=bad", "CHECK: a\nCHECK: b\n", "a\nb\n", HOLDS),
    ("--implicit-check-not=bad", "CHECK: a\nCHECK: c\n", "a\nbad\nc\n", FAILS),
    ("--implicit-check-not=bad", "CHECK: a\nCHECK: bad\n", "a\nbad\n", HOLDS),
    ("--implicit-check-not=bad", "CHECK: a\n", "a\nbad\n", FAILS),
    ("--implicit-check-not={{b.d}}", "CHECK-DAG: a\n", "a\nbed\n", HOLDS),
    ("--implicit-check-not={{b.d}}", "CHECK-DAG: a\n", "bed\na\n", FAILS),
    ("--implicit-check-not=bad", "nothing\n", "a\n", HOLDS),
    ("--match-full-lines", "CHECK: ab\n", "  ab  \n", HOLDS),
    ("--match-full-lines", "CHECK: ab\n", "abc\n", FAILS),
    ("--match-full-lines --strict-whitespace", "CHECK:ab\n", "ab\n", HOLDS),
    ("--match-full-lines --strict-whitespace", "CHECK: ab\n", "ab\n", FAILS),
    ("--match-full-lines", "CHECK: a\nCHECK-NOT: b\n", "a\nxbx\n", FAILS),
    ("--allow-empty", "CHECK-NOT: a\n", "", HOLDS),
    ("", "CHECK-NOT: a\n", "", FAILS),
    ("--allow-empty", "CHECK: a\n", "", FAILS),
    ("--no-such-option", "CHECK: a\n", "a\n", FAILS),
];

fn arguments(options: &str, check_file: &Path) -> Vec<String> {
    let mut args: Vec<String> = options.split_whitespace().map(String::from).collect();
    args.push(check_file.to_string_lossy().into_owned());
    args
}

fn write_check_file(index: usize, text: &str) -> std::path::PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verdicts");
    std::fs::create_dir_all(&dir).expect("the folder for check files");
    let path = dir.join(format!("{}-{index}.txt", std::process::id()));
    std::fs::write(&path, text).expect("a check file");
    path
}

#[test]
fn verdicts_are_those_of_the_table() {
    let mut wrong = Vec::new();
    for (index, (options, check, input, holds)) in TABLE.iter().enumerate() {
        let path = write_check_file(index, check);
        let output = filecheck::run(&arguments(options, &path), input.as_bytes(), Path::new("."));
        if (output.code == 0) != *holds {
            wrong.push(format!(
                "{options} {check:?} {input:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        assert_eq!(
            output.code != 0,
            !output.stderr.is_empty(),
            "a failure is reported, a success is silent"
        );
        std::fs::remove_file(path).expect("the check file is still there");
    }
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn verdicts_are_those_of_llvm() {
    let Some(real) = ["FileCheck-22", "FileCheck"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
    }) else {
        eprintln!(
            "SKIPPED: no FileCheck-22 or FileCheck on PATH, {} verdicts not compared",
            TABLE.len()
        );
        return;
    };
    let mut wrong = Vec::new();
    for (index, (options, check, input, holds)) in TABLE.iter().enumerate() {
        let path = write_check_file(1000 + index, check);
        let mut child = Command::new(real)
            .args(arguments(options, &path))
            .env_remove("FILECHECK_OPTS")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("FileCheck starts");
        // FileCheck may end over a bad check file before it reads anything.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("FileCheck ends");
        if output.status.success() != *holds {
            wrong.push(format!(
                "{options} {check:?} {input:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        std::fs::remove_file(path).expect("the check file is still there");
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ from {real}:\n{}",
        wrong.len(),
        TABLE.len(),
        wrong.join("\n")
    );
}
