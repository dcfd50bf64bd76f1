//! The outcome as a table for people.

use std::fmt::Write;

use piper_plan::Plan;

use crate::{Machine, Outcome};

/// A heading with the step as a whole, then a line a rank; memory in bytes.
pub fn render(plan: &Plan, machine: &Machine, outcome: &Outcome) -> String {
    let mut out = String::new();
    let axes: Vec<String> = plan.mesh.iter().map(|a| format!("{}={}", a.name, a.size)).collect();
    let _ = writeln!(
        out,
        "plan @{} on [{}]: {} devices, simulated as {}, on \"{}\"",
        plan.name,
        axes.join(", "),
        outcome.devices,
        outcome.ranks.len(),
        machine.name
    );
    let _ = writeln!(
        out,
        "step {}, critical path {}; busy {}, exposed communication {}, bubble {}",
        time(outcome.makespan),
        time(outcome.critical_path),
        percent(outcome.busy()),
        percent(outcome.exposed()),
        percent(outcome.bubble())
    );
    let devices = outcome.devices.max(1) as f64;
    if outcome.makespan > 0.0 {
        let tokens = plan.misc.tokens_per_step as f64 / outcome.makespan;
        let flops: f64 = outcome.ranks.iter().map(|r| r.flops * r.replicas as f64).sum();
        if tokens > 0.0 {
            let _ = writeln!(out, "{tokens:.1} tokens/s, {:.1} a device", tokens / devices);
        }
        if flops > 0.0 {
            let _ =
                writeln!(out, "{:.3} TFLOP/s a device", flops / devices / outcome.makespan / 1e12);
        }
    }
    out.push('\n');
    let mut rows = vec![
        ["rank", "devices", "busy", "exposed", "bubble", "peak alive", "arena", "workspace"]
            .map(str::to_owned),
    ];
    for rank in &outcome.ranks {
        let program = &plan.programs[rank.program.index()];
        rows.push([
            format!("@{} {}", program.name, plan.mesh().render(rank.device)),
            rank.replicas.to_string(),
            time(rank.busy),
            time(rank.exposed),
            time(rank.idle),
            rank.memory.peak.to_string(),
            rank.memory.arena.to_string(),
            rank.memory.workspace.to_string(),
        ]);
    }
    out += &aligned(&rows);
    out.push('\n');
    let mut rows = vec![["stream", "busy", "waiting"].map(str::to_owned)];
    for rank in &outcome.ranks {
        let program = &plan.programs[rank.program.index()];
        for stream in rank.streams.iter().filter(|s| s.busy > 0.0) {
            let name = format!("@{} {}", program.name, stream.name);
            rows.push([name, time(stream.busy), time(stream.waiting)]);
        }
    }
    out += &aligned(&rows);
    let warnings = too_large(plan, machine, outcome);
    if !warnings.is_empty() {
        out.push('\n');
    }
    for warning in warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    out
}

/// Ranks that need more memory than a device has.
pub fn too_large(plan: &Plan, machine: &Machine, outcome: &Outcome) -> Vec<String> {
    let Some(memory) = machine.device.memory else { return Vec::new() };
    let ranks = outcome.ranks.iter().filter_map(|rank| {
        let needs = rank.memory.arena + rank.memory.workspace;
        let name = &plan.programs[rank.program.index()].name;
        (needs as f64 > memory)
            .then(|| format!("@{name} needs {needs} bytes, a device has {memory:.0}"))
    });
    ranks.collect()
}

/// Seconds in the unit that suits them.
pub fn time(seconds: f64) -> String {
    match seconds {
        0.0 => "0".to_owned(),
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.3} us", s * 1e6),
    }
}

/// A part of the whole.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// Rows with the first column left and the others right.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |at: usize| rows.iter().map(|r| r[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let width = widths[at];
            if at == 0 {
                let _ = write!(line, "{cell:<width$}");
            } else {
                let _ = write!(line, "  {cell:>width$}");
            }
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}
