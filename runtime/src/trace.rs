//! Traces for Perfetto and chrome://tracing: one process a device, one track a stream.

use piper_plan::Plan;
use std::fmt::Write;
use std::time::Duration;

/// One executed instruction.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Which of its program.
    pub instr: u32,
    /// In which step, from 1.
    pub step: u64,
    /// When it began, since the session did.
    pub from: Duration,
    /// How long it took.
    pub lasted: Duration,
}

/// The trace as JSON in the Trace Event Format. `spans` has one list per device.
pub fn json(plan: &Plan, spans: &[Vec<Span>]) -> String {
    let mesh = plan.mesh();
    let mut events = Vec::new();
    for (device, spans) in spans.iter().enumerate() {
        let program = &plan.programs[plan.device_program[device].index()];
        let who = quoted(&format!("@{} {}", program.name, mesh.render(device)));
        events.push(format!(
            r#"{{"ph":"M","name":"process_name","pid":{device},"args":{{"name":{who}}}}}"#
        ));
        for (stream, name) in program.streams.iter().enumerate() {
            let name = quoted(name);
            events.push(format!(r#"{{"ph":"M","name":"thread_name","pid":{device},"tid":{stream},"args":{{"name":{name}}}}}"#));
        }
        for span in spans {
            let instr = &program.instrs[span.instr as usize];
            let name =
                instr.name.as_deref().unwrap_or_else(|| match plan.sources.get(instr.source) {
                    Some(source) => &source.name,
                    None => instr.kind.mnemonic(),
                });
            let (name, source) = (quoted(name), quoted(&plan.sources.position(instr.source)));
            let (from, lasted) =
                (span.from.as_nanos() as f64 / 1e3, span.lasted.as_nanos() as f64 / 1e3);
            let (stream, kind, step, at) =
                (instr.stream, instr.kind.mnemonic(), span.step, span.instr);
            events.push(format!(
                r#"{{"ph":"X","name":{name},"cat":"{kind}","pid":{device},"tid":{stream},"ts":{from:.3},"dur":{lasted:.3},"args":{{"source":{source},"step":{step},"instr":{at}}}}}"#
            ));
        }
    }
    let mut out = String::from("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (at, event) in events.iter().enumerate() {
        let comma = if at + 1 < events.len() { "," } else { "" };
        writeln!(out, "{event}{comma}").expect("writing to a String does not fail");
    }
    out.push_str("]}\n");
    out
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
