//! A schedule that a plugin gives: it trains to the numbers of one device, and is simulated.

use std::path::Path;
use std::process::Command;

use piper_plan::Plan;
use piper_sim::Machine;

const MODEL: &str = include_str!("../../../examples/mlp.pir");
const MACHINE: &str = include_str!("../../../examples/h800.toml");

/// The library is where this test is: cargo builds dependencies there.
fn plugin() -> String {
    let test = std::env::current_exe().expect("this test has a path");
    let file = format!("{}gathers{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = test.parent().expect("a folder").join(file);
    format!("--load-plugin={}", library.display())
}

fn run(folder: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_piper-run"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_schedule_by_name_trains_and_is_simulated() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a writable folder");
    };
    write("published.pir", MODEL);
    write("train.pir", &MODEL.replace("\"1f1b\"", "\"one-by-one\""));
    write("data.txt", &"A schedule of one's own. ".repeat(40));
    let plugin = plugin();
    let train =
        ["train.pir", "--data", "data.txt", "--steps", "1", "--compare-single", "--fixed-tree"];
    let (is_ok, said) = run(folder.path(), &train);
    assert!(!is_ok && said.contains("unknown schedule 'one-by-one'"), "{said}");
    let with_plugin = [&[&*plugin], &train[..]].concat();
    let (is_ok, said) = run(folder.path(), &with_plugin);
    assert!(is_ok && said.contains("bit"), "compared bit for bit: {said}");

    let makespan = |model: &str| {
        let args = [&*plugin, model, "--compile-only", "-o", "a.pplan"];
        let (is_ok, said) = run(folder.path(), &args);
        assert!(is_ok, "{said}");
        // The plan needs no plugin any more.
        let plan = Plan::read(folder.path().join("a.pplan")).expect("it verifies");
        let machine = Machine::parse(MACHINE).expect("the example");
        piper_sim::simulate(&plan, &machine).expect("it can be played").makespan
    };
    let (mine, published) = (makespan("train.pir"), makespan("published.pir"));
    assert!(mine > published, "nothing overlaps: {mine} s and {published} s");
}
