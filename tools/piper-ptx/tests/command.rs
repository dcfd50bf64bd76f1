//! The command line, as one uses it.

use std::process::{Command, Output};

fn piper_ptx(args: &[&str]) -> Output {
    let fixtures = format!("{}/../../ptx/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_piper-ptx")).args(args).current_dir(fixtures).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SAXPY: [&str; 8] =
    ["run", "saxpy.sm_80.ptx", "--kernel", "saxpy", "--grid", "3", "--block", "128"];

#[test]
fn saxpy_prints_its_result_and_its_counts() {
    let mut args = SAXPY.to_vec();
    args.extend(["--arg", "f32:2.0", "--arg", "buf:iota:300xf32", "--arg", "buf:zeros:300xf32"]);
    args.extend(["--arg", "i32:300", "--out", "2"]);
    let text = stdout(&piper_ptx(&args));
    assert!(text.contains("argument 2: f32 [0, 2, 4, 6, 8, 10, 12, 14, … (300 in all)]"), "{text}");
    assert!(text.contains("global: 2400 bytes read, 1200 written"), "{text}");
}

#[test]
fn a_buffer_that_is_too_small_is_a_fault_with_its_line() {
    let mut args = SAXPY.to_vec();
    args.extend(["--arg", "f32:2.0", "--arg", "buf:iota:299xf32", "--arg", "buf:zeros:300xf32"]);
    args.extend(["--arg", "i32:300"]);
    let text = stderr(&piper_ptx(&args));
    assert!(
        text.contains("kernel saxpy, line 37") && text.contains("allocation of 1196 bytes"),
        "{text}"
    );
    assert!(text.contains("block (2, 0, 0), thread (43, 0, 0)"), "{text}");
}

#[test]
fn buffers_go_through_npy_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("y.npy");
    let (out, back) = (format!("2={}", path.display()), format!("buf:{}", path.display()));
    for (y, out) in [("zeros:40xf32", out.as_str()), (back.as_str(), "2")] {
        let mut args = SAXPY.to_vec();
        args.extend([
            "--arg",
            "f32:2.0",
            "--arg",
            "iota:40xf32",
            "--arg",
            y,
            "--arg",
            "i32:40",
            "--out",
            out,
        ]);
        let text = stdout(&piper_ptx(&args));
        assert!(out != "2" || text.contains("f32 [0, 4, 8, 12"), "{text}");
    }
}

#[test]
fn check_lists_what_a_text_has() {
    let text = stdout(&piper_ptx(&["check", "reduce.sm_90a.ptx"]));
    assert!(
        text.contains("target sm_90a") && text.contains("variable counter: 4 bytes, Global"),
        "{text}"
    );
    assert!(text.contains("kernel block_sum:") && text.contains("1024 bytes shared"), "{text}");
}

#[test]
fn mistakes_of_the_user_are_one_line() {
    assert!(stderr(&piper_ptx(&["check", "nowhere.ptx"])).contains("nowhere.ptx"));
    assert!(stderr(&piper_ptx(&["check", "saxpy.ll"])).contains("saxpy.ll:1:"));
    assert!(stderr(&piper_ptx(&["run", "saxpy.sm_80.ptx"])).contains("one of: saxpy, scale_vec4"));
}
