//! The outcome as JSON for programs. Times are seconds, memory bytes.

use piper_plan::Plan;
use serde_json::{Value, json};

use crate::{Machine, Outcome};

/// One object: the step, and `ranks` with their streams and memory. Spans are in the trace, not here.
pub fn render(plan: &Plan, machine: &Machine, outcome: &Outcome) -> String {
    let ranks: Vec<Value> = outcome
        .ranks
        .iter()
        .map(|rank| {
            let streams: Vec<Value> = rank
                .streams
                .iter()
                .map(|s| json!({"name": s.name, "busy": s.busy, "waiting": s.waiting}))
                .collect();
            let curve: Vec<Value> = rank.memory.curve.iter().map(|(t, b)| json!([t, b])).collect();
            json!({
                "program": plan.programs[rank.program.index()].name,
                "device": plan.mesh().render(rank.device),
                "replicas": rank.replicas,
                "busy": rank.busy,
                "exposed": rank.exposed,
                "idle": rank.idle,
                "flops": rank.flops,
                "streams": streams,
                "memory": {
                    "peak": rank.memory.peak,
                    "persistent": rank.memory.persistent,
                    "arena": rank.memory.arena,
                    "workspace": rank.memory.workspace,
                    "curve": curve,
                },
            })
        })
        .collect();
    let whole = json!({
        "plan": plan.name,
        "machine": machine.name,
        "devices": outcome.devices,
        "makespan": outcome.makespan,
        "critical_path": outcome.critical_path,
        "tokens_per_step": plan.misc.tokens_per_step,
        "ranks": ranks,
    });
    let mut out = serde_json::to_string_pretty(&whole).unwrap_or_default();
    out.push('\n');
    out
}
