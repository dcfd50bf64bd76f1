//! The outcome in the Trace Event Format, for Perfetto and chrome://tracing: a process a rank, a track a stream, and a counter of
//! the bytes alive. It looks like the trace that a run writes, so that the two can be laid side by side.

use std::fmt::Write;

use piper_plan::{Instr, Plan};

use crate::{Outcome, cost};

/// The trace as JSON.
pub fn render(plan: &Plan, outcome: &Outcome) -> String {
    let mut events = Vec::new();
    for (pid, rank) in outcome.ranks.iter().enumerate() {
        let program = &plan.programs[rank.program.index()];
        let who = quoted(&format!("@{} {}", program.name, plan.mesh().render(rank.device)));
        events.push(format!(
            r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":{who}}}}}"#
        ));
        for (tid, name) in program.streams.iter().enumerate() {
            let name = quoted(name);
            events.push(format!(
                r#"{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":{name}}}}}"#
            ));
        }
        for (at, (instr, span)) in program.instrs.iter().zip(&rank.spans).enumerate() {
            if span.end <= span.start {
                continue;
            }
            let (name, kind) = (quoted(name(plan, instr)), instr.kind.mnemonic());
            let source = quoted(&plan.sources.position(instr.source));
            let (from, lasted) = (span.start * 1e6, (span.end - span.start) * 1e6);
            let waited = (span.start - span.ready) * 1e6;
            let bytes = cost::transferred(program, &instr.kind);
            let tid = instr.stream;
            events.push(format!(
                r#"{{"ph":"X","name":{name},"cat":"{kind}","pid":{pid},"tid":{tid},"ts":{from:.3},"dur":{lasted:.3},"args":{{"source":{source},"instr":{at},"waited_us":{waited:.3},"bytes":{bytes}}}}}"#
            ));
        }
        for (time, bytes) in &rank.memory.curve {
            let time = time * 1e6;
            events.push(format!(
                r#"{{"ph":"C","name":"memory","pid":{pid},"ts":{time:.3},"args":{{"bytes":{bytes}}}}}"#
            ));
        }
    }
    let mut out = String::from("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (at, event) in events.iter().enumerate() {
        let comma = if at + 1 < events.len() { "," } else { "" };
        let _ = writeln!(out, "{event}{comma}");
    }
    out.push_str("]}\n");
    out
}

/// What a person would call an instruction.
pub(crate) fn name<'p>(plan: &'p Plan, instr: &'p Instr) -> &'p str {
    instr.name.as_deref().unwrap_or_else(|| match plan.sources.get(instr.source) {
        Some(source) => &source.name,
        None => instr.kind.mnemonic(),
    })
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
