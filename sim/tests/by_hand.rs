//! Plans whose times can be computed by hand, and what holds for all plans.

#[path = "../../plan/tests/pipeline/mod.rs"]
mod pipeline;

use pipeline::Shape;
use piper_plan::*;
use piper_sim::{Failure, Machine, Outcome, simulate, simulate_every_device};
use proptest::prelude::*;

/// No overheads, free transfers along `pp`; `dp` as given.
fn machine(rest: &str) -> Machine {
    let text = format!("[device]\nflops = 1e12\nmemory_bandwidth = 1e30\n{rest}");
    Machine::parse(&text).unwrap_or_else(|e| panic!("{e}"))
}

const FREE: &str = "[axes]\npp = { bandwidth = 1e30 }\ndp = { bandwidth = 1e30 }\n";

/// The kernels `forward, backward, loss, update, first_backward` with these seconds.
fn with_seconds(shape: Shape, seconds: [f64; 5]) -> Plan {
    let mut plan = pipeline::plan(shape);
    for (kernel, seconds) in plan.kernels.iter_mut().zip(seconds) {
        kernel.cost = Some(Cost { seconds: Some(seconds), ..Cost::default() });
    }
    assert!(piper_plan::verify(&plan).is_empty());
    plan
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-12)
}

#[test]
fn a_serial_plan_takes_the_sum() {
    let shape = Shape { pp: 1, dp: 1, microbatches: 3, width: 4, depth: 2 };
    let outcome = simulate(&with_seconds(shape, [1.0, 2.0, 0.5, 0.25, 3.0]), &machine("")).unwrap();
    // Three microbatches of two forwards, a loss, a backward and the first layer's; one update.
    assert!(close(outcome.makespan, 3.0 * (2.0 + 0.5 + 2.0 + 3.0) + 0.25), "{}", outcome.makespan);
    assert!(close(outcome.critical_path, outcome.makespan));
    assert!(close(outcome.ranks[0].busy, outcome.makespan) && outcome.ranks[0].idle < 1e-9);
}

#[test]
fn gpipe_on_two_stages() {
    let shape = Shape { pp: 2, dp: 1, microbatches: 3, width: 4, depth: 1 };
    // One layer a stage: the last stage runs `backward`, the first `first_backward`.
    let plan = with_seconds(shape, [1.0, 2.0, 0.0, 0.0, 2.0]);
    let outcome = simulate(&plan, &machine(FREE)).unwrap();
    // (M + P - 1)(F + B).
    assert!(close(outcome.makespan, 4.0 * 3.0), "{}", outcome.makespan);
    for rank in &outcome.ranks {
        assert!(close(rank.busy, 9.0) && close(rank.idle, 3.0));
    }
}

#[test]
fn a_transfer_costs_latency_and_bytes() {
    let shape = Shape { pp: 2, dp: 1, microbatches: 1, width: 1000, depth: 1 };
    let plan = with_seconds(shape, [1.0, 1.0, 0.0, 0.0, 1.0]);
    let links = "[axes]\npp = { bandwidth = 8000.0, latency = 0.25 }\n";
    let outcome = simulate(&plan, &machine(links)).unwrap();
    // F, 4,000 bytes over, F, B, back, B.
    assert!(close(outcome.makespan, 4.0 + 2.0 * (0.25 + 0.5)), "{}", outcome.makespan);
    let sum: f64 = outcome.ranks.iter().map(|r| r.busy + r.exposed + r.idle).sum();
    assert!(close(sum, 2.0 * outcome.makespan));
    assert!(close(outcome.ranks[0].exposed, 1.5) && close(outcome.ranks[0].idle, 2.0));
}

#[test]
fn kernels_are_bound_by_the_slower_of_computing_and_moving() {
    let shape = Shape { pp: 1, dp: 1, microbatches: 1, width: 4, depth: 1 };
    let mut plan = with_seconds(shape, [0.0; 5]);
    let machine = Machine::parse(
        "[device]\nflops = { f32 = 1e12 }\nefficiency = 0.5\nmemory_bandwidth = 1e9\nmemory_efficiency = 0.8\nlaunch_overhead = 1e-3\n",
    )
    .unwrap();
    let base = simulate(&plan, &machine).unwrap().makespan;
    plan.kernels[0].cost = Some(Cost { flops: 1e12, bytes: 8e8, seconds: None });
    assert!(close(simulate(&plan, &machine).unwrap().makespan - base, 2.0), "computing");
    plan.kernels[0].cost = Some(Cost { flops: 1e12, bytes: 8e9, seconds: None });
    assert!(close(simulate(&plan, &machine).unwrap().makespan - base, 10.0), "moving");
}

#[test]
fn three_devices_on_two_cores_share_them() {
    let shape = Shape { pp: 1, dp: 3, microbatches: 1, width: 4, depth: 1 };
    let plan = with_seconds(shape, [2.0, 0.0, 0.0, 0.0, 0.0]);
    let links = "[host]\ncores = 2\n[axes]\ndp = { bandwidth = 1e30 }\n";
    let outcome = simulate(&plan, &machine(links)).unwrap();
    assert_eq!(outcome.ranks.len(), 3, "replicas contend, so all are simulated");
    assert!(close(outcome.makespan, 3.0), "{}", outcome.makespan);
}

fn error(plan: &Plan, text: &str) -> String {
    match Machine::parse(text) {
        Err(error) => error.to_string(),
        Ok(machine) => simulate(plan, &machine).expect_err("an error").to_string(),
    }
}

#[test]
fn what_is_missing_or_no_number_is_said() {
    let shape = Shape { pp: 2, dp: 2, microbatches: 1, width: 4, depth: 1 };
    let mut plan = with_seconds(shape, [1.0; 5]);
    let device = "[device]\nflops = 1e12\nmemory_bandwidth = 1e12\n";
    let wired = format!("{device}[axes]\npp = {{ bandwidth = 1e9 }}\ndp = {{ bandwidth = 1e9 }}\n");
    let mut said = Vec::new();
    let mut case = |what: &str, plan: &Plan, text: &str| {
        said.push(format!("# {what}\n{}\n", error(plan, text)));
    };
    case("no axis dp", &plan, &format!("{device}[axes]\npp = {{ bandwidth = 1e9 }}\n"));
    case("no network", &plan, device);
    case(
        "links that reach nobody",
        &plan,
        &format!(
            "{device}[axes]\npp = {{ bandwidth = 1e9, links = [] }}\ndp = {{ bandwidth = 1e9 }}\n"
        ),
    );
    case(
        "a link to nowhere",
        &plan,
        &format!(
            "{device}[axes]\npp = {{ bandwidth = 1e9, links = [[0, 7]] }}\ndp = {{ bandwidth = 1e9 }}\n"
        ),
    );
    case(
        "levels that do not fit",
        &plan,
        &format!(
            "{device}[fabrics.a]\nbandwidth = 1e9\n[axes]\npp = \"a\"\ndp = [{{ fabric = \"a\", size = 1 }}, {{ fabric = \"a\", size = 3 }}]\n"
        ),
    );
    case("an unknown fabric", &plan, &format!("{device}[axes]\npp = \"ib\"\n"));
    case("a negative bandwidth", &plan, &format!("{device}[axes]\npp = {{ bandwidth = -1e9 }}\n"));
    case(
        "a negative latency",
        &plan,
        &format!("{device}[axes]\npp = {{ bandwidth = 1e9, latency = -1 }}\n"),
    );
    case(
        "an efficiency above 1",
        &plan,
        "[device]\nflops = 1e12\nefficiency = 1.5\nmemory_bandwidth = 1e12\n",
    );
    case("a misspelt entry", &plan, "[device]\nflop = 1e12\nmemory_bandwidth = 1e12\n");
    case("no rates", &plan, "[device]\nmemory_bandwidth = 1e12\n");
    case("no device", &plan, "name = \"x\"\n");
    case("infinity", &plan, "[device]\nflops = inf\nmemory_bandwidth = 1e12\n");
    case("no TOML", &plan, "[device\nflops = 1\n");
    case("an unknown type", &plan, "[device]\nflops = { fp8 = 1e12 }\nmemory_bandwidth = 1e12\n");
    plan.kernels[1].cost = None;
    plan.kernels[4].cost = None;
    case("costs are missing", &plan, &wired);
    plan.kernels[1].cost = Some(Cost { flops: -1.0, ..Cost::default() });
    plan.kernels[4].cost = plan.kernels[0].cost;
    case("a negative cost", &plan, &wired);
    plan.kernels[1].cost = Some(Cost { flops: f64::NAN, ..Cost::default() });
    case("a cost that is no number", &plan, &wired);
    plan.kernels[1].cost = Some(Cost { flops: 1.0, ..Cost::default() });
    case("no rate for the type", &plan, &wired.replace("flops = 1e12", "flops = { bf16 = 1e12 }"));
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/errors.txt");
    let said = said.join("\n");
    if std::env::var_os("PIPER_BLESS").is_some() {
        std::fs::write(golden, &said).expect("written");
    }
    assert_eq!(said, std::fs::read_to_string(golden).unwrap_or_default());
}

#[test]
fn a_plan_that_hangs_is_said_to() {
    let shape = Shape { pp: 2, dp: 1, microbatches: 1, width: 4, depth: 1 };
    let mut plan = with_seconds(shape, [1.0; 5]);
    plan.programs[1].instrs.retain(|i| !matches!(i.kind, Kind::Send(_)));
    let failure = simulate(&plan, &machine(FREE)).expect_err("hangs");
    assert!(
        matches!(&failure, Failure::Plan(e) if e.message.contains("waits for ever in this recv")),
        "{failure}"
    );
}

/// Shapes with costs and networks.
fn cases() -> impl Strategy<Value = (Shape, [f64; 5], f64, f64, u32)> {
    let shape = (1u32..5, 1u32..5, 1u32..5, 1u64..2000, 1u32..4).prop_map(
        |(pp, dp, microbatches, width, depth)| Shape { pp, dp, microbatches, width, depth },
    );
    let times = proptest::array::uniform5(0.0f64..2.0);
    (shape, times, 1e2f64..1e5, 0.0f64..0.5, 1u32..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_step_is_shorter_than_its_parts((shape, times, bandwidth, latency, shared) in cases()) {
        let plan = with_seconds(shape, times);
        let shared = if (shape.pp * shape.dp) % shared == 0 { shared } else { 1 };
        let machine = machine(&format!(
            "[fabrics.net]\nbandwidth = {bandwidth:?}\nlatency = {latency:?}\nshared_by = {shared}\n[axes]\npp = \"net\"\ndp = \"net\"\n"
        ));
        let outcome: Outcome = simulate(&plan, &machine).unwrap();
        let most = outcome.makespan * (1.0 + 1e-9) + 1e-12;
        prop_assert!(outcome.critical_path <= most);
        for rank in &outcome.ranks {
            prop_assert!(close(rank.busy + rank.exposed + rank.idle, outcome.makespan));
            prop_assert!(rank.memory.peak <= rank.memory.arena);
            for stream in &rank.streams {
                prop_assert!(stream.busy <= most && stream.busy + stream.waiting <= most);
            }
            for span in &rank.spans {
                prop_assert!(span.ready <= span.start + 1e-12 && span.start <= span.end + 1e-12);
            }
        }
        prop_assert_eq!(simulate(&plan, &machine).unwrap(), outcome, "twice the same");
    }

    #[test]
    fn one_slice_tells_of_all((shape, times, bandwidth, latency, shared) in cases()) {
        let plan = with_seconds(shape, times);
        let machine = machine(&format!(
            "[fabrics.net]\nbandwidth = {bandwidth:?}\nlatency = {latency:?}\nshared_by = {shared}\n[axes]\npp = \"net\"\ndp = \"net\"\n"
        ));
        let some = simulate(&plan, &machine).unwrap();
        let all = simulate_every_device(&plan, &machine).unwrap();
        prop_assert_eq!(all.ranks.len(), (shape.pp * shape.dp) as usize);
        // Replicas behind one port take turns when each is simulated, and share it when one stands for them.
        if shared == 1 {
            prop_assert!(close(some.makespan, all.makespan));
        }
    }

    #[test]
    fn a_host_with_a_core_a_device_is_no_host((shape, times, _, _, _) in cases()) {
        let plan = with_seconds(shape, times);
        let devices = shape.pp * shape.dp;
        let free = simulate(&plan, &machine(FREE)).unwrap();
        let host = simulate(&plan, &machine(&format!("[host]\ncores = {devices}\n{FREE}"))).unwrap();
        prop_assert!((free.makespan - host.makespan).abs() <= 1e-6 * free.makespan.max(1e-3));
        let one = simulate(&plan, &machine(&format!("[host]\ncores = 1\n{FREE}"))).unwrap();
        let work: f64 = free.ranks.iter().map(|r| r.busy * r.replicas as f64).sum();
        prop_assert!((one.makespan - work).abs() <= 1e-6 * work.max(1e-3), "one core is always busy");
    }
}
