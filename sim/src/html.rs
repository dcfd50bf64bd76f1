//! The outcome as one page with the timeline drawn: a row a stream, memory below each rank; wheel zooms, dragging pans, hovering
//! shows what it is, with its line in the source. The page needs nothing from elsewhere.

use piper_plan::{Kind, Plan};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::{Machine, Outcome, cost, trace};

const PAGE: &str = include_str!("page.html");

/// Most points of a memory curve that are drawn; more are thinned to the highest of their neighbourhood.
const CURVE: usize = 4000;

/// Strings by number, each once.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    ids: FxHashMap<String, usize>,
}

impl Names {
    fn id(&mut self, text: &str) -> usize {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        self.list.push(text.to_owned());
        self.ids.insert(text.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// The page.
pub fn render(plan: &Plan, machine: &Machine, outcome: &Outcome) -> String {
    let mut names = Names::default();
    let mut sources = Names::default();
    let mut ranks = Vec::new();
    for rank in &outcome.ranks {
        let program = &plan.programs[rank.program.index()];
        let mut lanes: Vec<Vec<Value>> = vec![Vec::new(); program.streams.len()];
        for (instr, span) in program.instrs.iter().zip(&rank.spans) {
            if span.end <= span.start {
                continue;
            }
            let what = match &instr.kind {
                Kind::Launch { kernel, .. } => plan.kernels[kernel.index()].symbol.as_str(),
                kind => kind.mnemonic(),
            };
            let is_talk = cost::transferred(program, &instr.kind) > 0;
            let position = plan.sources.position(instr.source);
            let source = format!("{position}\n{}", plan.sources.text(instr.source));
            // Nanoseconds are enough for a drawing and short to write.
            let ns = |seconds: f64| (seconds * 1e9).round();
            lanes[usize::from(instr.stream)].extend([
                json!(ns(span.start)),
                json!(ns(span.end - span.start)),
                json!(names.id(trace::name(plan, instr))),
                json!(names.id(what)),
                json!(sources.id(&source)),
                json!(if is_talk { cost::transferred(program, &instr.kind) as i64 } else { -1 }),
            ]);
        }
        let streams = program.streams.iter().zip(lanes).filter(|(_, spans)| !spans.is_empty());
        let streams: Vec<Value> =
            streams.map(|(name, spans)| json!({"name": name, "spans": spans})).collect();
        let curve = thinned(&rank.memory.curve);
        let curve: Vec<Value> =
            curve.iter().flat_map(|(t, b)| [json!((t * 1e9).round()), json!(b)]).collect();
        ranks.push(json!({
            "name": format!("@{} {}", program.name, plan.mesh().render(rank.device)),
            "replicas": rank.replicas,
            "busy": rank.busy, "exposed": rank.exposed, "idle": rank.idle,
            "arena": rank.memory.arena, "peak": rank.memory.peak,
            "streams": streams, "memory": curve,
        }));
    }
    let data = json!({
        "plan": plan.name, "machine": machine.name, "makespan": outcome.makespan * 1e9,
        "names": names.list, "sources": sources.list, "ranks": ranks,
    });
    // Inside a script element nothing may look like its end.
    let data = data.to_string().replace("</", "<\\/").replace("<!--", "<\\!--");
    PAGE.replacen("/*DATA*/null", &data, 1)
}

/// At most [`CURVE`] points: of each run of neighbours the highest.
fn thinned(curve: &[(f64, u64)]) -> Vec<(f64, u64)> {
    let run = curve.len().div_ceil(CURVE).max(1);
    let highest = |points: &[(f64, u64)]| {
        let high = points.iter().map(|p| p.1).max().unwrap_or(0);
        points.first().map(|first| (first.0, high))
    };
    curve.chunks(run).filter_map(highest).collect()
}
