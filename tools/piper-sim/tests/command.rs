//! The command, on a plan whose times can be computed by hand, against golden texts (`PIPER_BLESS=1` writes them anew).
//!
//! Two stages on two nodes, two replicas each, two microbatches. With 1,000 f32 an activation: a kernel of 1e9 operations takes
//! 2 ms + 1 us, a transfer 10 us + 2 x 4,000 B / 1 GB/s = 18 us, as the two replicas of a node share its port.

#[path = "../../../plan/tests/pipeline/mod.rs"]
mod pipeline;

use std::path::{Path, PathBuf};

use pipeline::Shape;
use piper_plan::{Cost, Plan};
use piper_sim_cli::{Args, Format, run};

fn plan() -> Plan {
    let mut plan = pipeline::plan(Shape { pp: 2, dp: 2, microbatches: 2, width: 1000, depth: 1 });
    for kernel in &mut plan.kernels {
        let flops = if kernel.symbol.contains("ward") { 1e9 } else { 0.0 };
        kernel.cost = Some(Cost { flops, bytes: 8000.0, seconds: None });
    }
    plan
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn compare(name: &str, text: &str) {
    if std::env::var_os("PIPER_BLESS").is_some() {
        std::fs::write(golden(name), text).expect("written");
    }
    let wanted = std::fs::read_to_string(golden(name)).unwrap_or_default();
    assert_eq!(text, wanted, "{name}");
}

fn args(plan: &Path, format: Format) -> Args {
    Args {
        plan: plan.to_owned(),
        machine: golden("two-nodes.toml"),
        format,
        trace: None,
        html: None,
        no_verify: false,
    }
}

#[test]
fn outcomes_are_as_computed_by_hand() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.pplan");
    plan().write(&path).expect("written");
    compare("table.txt", &run(&args(&path, Format::Table)).expect("simulated"));
    let json = run(&args(&path, Format::Json)).expect("simulated");
    compare("outcome.json", &json);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    // F F B B on each rank, and transfers between. Beside its kernels the first stage fills and loads (0.5 + 1 us each), the last
    // computes a loss (2 us); all reduce and update.
    let [kernel, load, loss, transfer] = [2.001e-3, 1.5e-6, 2e-6, 18e-6];
    // All-reduce of 4,000 B over two replicas in a node: 2 (1 us + 4,000 / 2 / 4 GB/s).
    let (reduce, update) = (3e-6, 2e-6);
    let second_sent = 2.0 * load + kernel + load + kernel;
    // The last stage has its second input a load later than it could begin with it, and gives the slot of its gradient free when
    // that is sent.
    let last_done = second_sent + transfer + kernel + 2.0 * (loss + kernel) + transfer;
    let by_hand = last_done + transfer + kernel + reduce + update;
    let makespan = value["makespan"].as_f64().expect("a number");
    assert!((makespan / by_hand - 1.0).abs() < 1e-9, "{makespan} {by_hand}");
}

#[test]
fn timelines_are_whole_and_need_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.pplan");
    let mut plan = plan();
    plan.name = "</script><b>".to_owned();
    plan.write(&path).expect("written");
    let mut args = args(&path, Format::Table);
    args.trace = Some(folder.path().join("t.json"));
    args.html = Some(folder.path().join("t.html"));
    run(&args).expect("simulated");
    let read = |path: &Option<PathBuf>| {
        std::fs::read_to_string(path.as_ref().expect("a path")).expect("readable")
    };
    let trace: serde_json::Value = serde_json::from_str(&read(&args.trace)).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let launches = events.iter().filter(|e| e["cat"] == "launch").count();
    assert_eq!(launches, 2 * (2 + 2) + 2 + 2, "two ranks stand for four devices");
    assert!(events.iter().any(|e| e["args"]["source"] == "pipeline.pir:1:1"));
    assert!(events.iter().any(|e| e["ph"] == "C"), "memory");
    let page = read(&args.html);
    assert_eq!(page.matches("</script>").count(), 1, "data cannot end the script");
    assert!(!page.contains("http") && !page.contains("src="), "nothing is loaded");
    assert!(page.contains("send F mb1") && page.contains("pipeline.pir:"), "names and places");
}

#[test]
fn files_that_cannot_be_used_say_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.pplan");
    let error = |args: &Args| {
        run(args).expect_err("an error").replace(&folder.path().display().to_string(), "DIR")
    };
    assert!(error(&args(&path, Format::Table)).starts_with("'DIR/p.pplan': cannot read"));
    let mut broken = plan();
    broken.programs[1].instrs.retain(|i| !matches!(i.kind, piper_plan::Kind::Send(_)));
    broken.write(&path).expect("written");
    assert!(error(&args(&path, Format::Table)).contains("is not safe to run"));
    plan().write(&path).expect("written");
    let mut args = args(&path, Format::Table);
    args.html = Some(folder.path().join("missing/t.html"));
    assert!(error(&args).starts_with("cannot write the page to 'DIR/missing/t.html'"));
    args.machine = folder.path().join("m.toml");
    assert!(error(&args).starts_with("cannot read the machine 'DIR/m.toml'"));
    std::fs::write(&args.machine, "[device]\nflops = 1e12\nmemory_bandwidth = -1\n")
        .expect("written");
    assert_eq!(
        error(&args),
        "DIR/m.toml:3:20: -1 is not above 0\n  hint: this is a rate or a size: it has to be positive"
    );
}
