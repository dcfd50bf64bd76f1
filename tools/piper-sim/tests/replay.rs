//! Plans that Piper compiles, simulated where transfers are free, against the replay of their schedule's table.

use piper_codegen::Isolation;
use piper_plan::{Cost, Plan};
use piper_run::args::Level;
use piper_run::compile::{Options, compile};
use piper_run::lower::lower;
use piper_run::models::{Gpt, SGD, Strategy};
use piper_schedule::{Config, Costs, Table, generate};
use piper_sim::{Machine, Outcome, simulate};

const FREE: &str =
    "[device]\nflops = 1e30\nmemory_bandwidth = 1e30\n[axes]\npp = { bandwidth = 1e30 }\n";

/// The plan of a pipeline of `pp` ranks and `stages` stages.
fn plan(directive: &str, pp: u32, stages: usize) -> Plan {
    let mesh = format!("\"pp\" = {pp}");
    let strategy =
        Strategy { name: "s", stages, mesh: mesh.leak(), directives: directive.to_owned().leak() };
    let model = Gpt {
        layers: stages,
        stages,
        width: 8,
        heads: 2,
        length: 4,
        vocabulary: 16,
        batch: 16,
        is_f64: false,
        is_tied: false,
    };
    let mut compiled = compile("replay.pir", &model.text(&strategy, SGD), Options::default())
        .unwrap_or_else(|e| panic!("{e}"));
    let (plan, _) = lower(&mut compiled, Level::Device, false, Isolation::InProcess)
        .unwrap_or_else(|e| panic!("{e}"));
    plan
}

/// Chunks cost what the table says; everything else is free.
fn with_costs(mut plan: Plan, costs: &Costs) -> Plan {
    for kernel in &mut plan.kernels {
        let digit = |prefix: &str| {
            kernel
                .symbol
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let seconds = match () {
            () if digit("f") => costs.f,
            () if digit("b") && kernel.symbol.ends_with(".i") => costs.i,
            () if digit("b") && kernel.symbol.ends_with(".w") => costs.w,
            () if digit("b") => costs.i + costs.w,
            () => 0,
        };
        kernel.cost = Some(Cost { seconds: Some(seconds as f64), ..Cost::default() });
    }
    plan
}

fn simulated(plan: &Plan) -> Outcome {
    let machine = Machine::parse(FREE).expect("a machine");
    simulate(plan, &machine).unwrap_or_else(|e| panic!("{e}"))
}

/// The directive of a schedule.
fn directive(schedule: &str, microbatches: u32) -> String {
    let stages = "over \"pp\" stages = \"PP\"";
    match schedule {
        "dualpipe" => format!("strategy.dualpipe {stages} microbatches = {microbatches}"),
        "dualpipev" => {
            format!("strategy.dualpipe {stages} microbatches = {microbatches} variant = \"v\"")
        }
        _ => format!(
            "strategy.pipeline {stages} schedule = \"{schedule}\" microbatches = {microbatches}"
        ),
    }
}

#[test]
fn plans_take_what_their_tables_take() {
    let mut lines = Vec::new();
    let mut differs = false;
    for (schedule, pp, v, microbatches) in [
        ("gpipe", 2, 1, 4),
        ("gpipe", 4, 1, 8),
        ("1f1b", 2, 1, 4),
        ("1f1b", 4, 1, 8),
        ("interleaved1f1b", 2, 2, 4),
        ("interleaved1f1b", 4, 2, 8),
        ("looped_bfs", 2, 2, 4),
        ("looped_bfs", 4, 2, 8),
        ("zb_h1", 4, 1, 8),
        ("zb_h2", 4, 1, 8),
        ("interleaved_zb", 4, 2, 8),
        ("zbv", 2, 2, 4),
        ("zbv", 4, 2, 8),
    ] {
        let table: Table = generate(schedule, &Config::new(pp, v, microbatches))
            .unwrap_or_else(|e| panic!("{schedule}: {e}"));
        let stages = (pp * v) as usize;
        let compiled = plan(&directive(schedule, microbatches), pp, stages);
        // The order of communication is that of a step whose forwards and half backwards take one unit each. Where they do not, a
        // transfer may stand behind one that comes later, which has to stay a small matter.
        for (costs, most) in [(Costs::new(1, 1, 1), 1.0), (Costs::new(3, 4, 2), 1.02)] {
            let replay = table.replay(&costs).expect("no deadlock");
            let outcome = simulated(&with_costs(compiled.clone(), &costs));
            let part = outcome.makespan / replay.makespan as f64;
            let busy: Vec<f64> = outcome.ranks.iter().map(|r| r.busy).collect();
            let is_right = (1.0..=most).contains(&part)
                && busy == replay.busy.iter().map(|b| *b as f64).collect::<Vec<_>>();
            differs |= !is_right;
            lines.push(format!(
                "{schedule} pp{pp} v{v} mb{microbatches} {costs:?}: replay {} {:?}, simulated {} {busy:?}{}",
                replay.makespan,
                replay.busy,
                outcome.makespan,
                if is_right { "" } else { "  DIFFERS" }
            ));
        }
    }
    assert!(!differs, "{}", lines.join("\n"));
}

/// The pairs of these schedules share a slot in their tables, and are one after the other in a plan: something may come out a little
/// earlier or later.
#[test]
fn plans_of_both_ends_take_about_what_their_tables_take() {
    let mut lines = Vec::new();
    let mut differs = false;
    for (schedule, pp, microbatches) in
        [("dualpipe", 2, 8), ("dualpipe", 4, 8), ("dualpipev", 2, 8), ("dualpipev", 4, 8)]
    {
        let table = generate(schedule, &Config::new(pp, 2, microbatches))
            .unwrap_or_else(|e| panic!("{schedule}: {e}"));
        let costs = Costs::new(1, 1, 1);
        let replay = table.replay(&costs).expect("no deadlock").makespan as f64;
        // DualPipe's ranks hold two stages, but every stage is on two ranks.
        let stages = if schedule == "dualpipe" { pp } else { 2 * pp } as usize;
        let compiled = plan(&directive(schedule, microbatches), pp, stages);
        let makespan = simulated(&with_costs(compiled, &costs)).makespan;
        differs |= !(0.9..=1.1).contains(&(makespan / replay));
        lines.push(format!("{schedule} pp{pp}: replay {replay}, simulated {makespan}"));
    }
    assert!(!differs, "{}", lines.join("\n"));
}
