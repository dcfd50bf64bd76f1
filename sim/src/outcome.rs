//! What a simulation found.

use piper_plan::{Kind, Plan, ProgramId};

use crate::network::{NONE, Network, Rank};
use crate::{Memory, Span, memory};

/// One simulated step.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Seconds from the first instruction to the end of the last.
    pub makespan: f64,
    /// Seconds it would take if devices, ports and cores were never busy with something else.
    pub critical_path: f64,
    /// Devices of the mesh.
    pub devices: usize,
    /// The simulated ranks.
    pub ranks: Vec<RankOutcome>,
}

/// One rank. `busy + exposed + idle` is the makespan.
#[derive(Clone, Debug, PartialEq)]
pub struct RankOutcome {
    /// The device that stands for all its replicas.
    pub device: usize,
    /// Their number.
    pub replicas: usize,
    /// What they run.
    pub program: ProgramId,
    /// Seconds with a kernel, copy or fill running.
    pub busy: f64,
    /// Seconds with data on the wire and nothing computed.
    pub exposed: f64,
    /// The rest: the bubble.
    pub idle: f64,
    /// Floating-point operations of the kernels that say how many they have.
    pub flops: f64,
    /// By stream, in the order of the program.
    pub streams: Vec<StreamOutcome>,
    /// Bytes alive.
    pub memory: Memory,
    /// By instruction.
    pub spans: Vec<Span>,
}

/// One stream of a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamOutcome {
    /// Its name.
    pub name: String,
    /// Seconds in which it computes or transfers.
    pub busy: f64,
    /// Seconds in which it stands at an instruction that cannot begin.
    pub waiting: f64,
}

impl Outcome {
    pub(crate) fn of(
        plan: &Plan,
        network: &Network,
        spans: Vec<Vec<Span>>,
        critical_path: f64,
    ) -> Outcome {
        let makespan = makespan(&spans);
        let ranks = network.ranks.iter().zip(spans);
        Outcome {
            makespan,
            critical_path,
            devices: plan.devices(),
            ranks: ranks.map(|(rank, spans)| rank_outcome(plan, rank, spans, makespan)).collect(),
        }
    }

    /// The part of the step in which ranks neither compute nor wait for the wire, on average over all devices.
    pub fn bubble(&self) -> f64 {
        self.mean(|rank| rank.idle)
    }

    /// The part of the step in which ranks wait for the wire, on average over all devices.
    pub fn exposed(&self) -> f64 {
        self.mean(|rank| rank.exposed)
    }

    /// The part of the step in which ranks compute, on average over all devices.
    pub fn busy(&self) -> f64 {
        self.mean(|rank| rank.busy)
    }

    fn mean(&self, of: impl Fn(&RankOutcome) -> f64) -> f64 {
        let devices: usize = self.ranks.iter().map(|r| r.replicas).sum();
        let sum: f64 = self.ranks.iter().map(|r| of(r) * r.replicas as f64).sum();
        if devices == 0 || self.makespan == 0.0 {
            0.0
        } else {
            sum / devices as f64 / self.makespan
        }
    }
}

pub(crate) fn makespan(spans: &[Vec<Span>]) -> f64 {
    spans.iter().flatten().map(|span| span.end).fold(0.0, f64::max)
}

fn rank_outcome(plan: &Plan, rank: &Rank, spans: Vec<Span>, makespan: f64) -> RankOutcome {
    let program = &plan.programs[rank.program.index()];
    let mut streams: Vec<StreamOutcome> = program
        .streams
        .iter()
        .map(|name| StreamOutcome { name: name.clone(), busy: 0.0, waiting: 0.0 })
        .collect();
    let (mut computing, mut talking) = (Vec::new(), Vec::new());
    let mut flops = 0.0;
    for ((instr, span), end) in program.instrs.iter().zip(&spans).zip(&rank.first_end) {
        let stream = &mut streams[usize::from(instr.stream)];
        stream.busy += span.end - span.start;
        stream.waiting += span.start - span.ready;
        if span.end > span.start {
            let list = if *end == NONE { &mut computing } else { &mut talking };
            list.push((span.start, span.end));
        }
        if let Kind::Launch { kernel, .. } = instr.kind {
            flops += plan.kernels[kernel.index()].cost.map_or(0.0, |cost| cost.flops);
        }
    }
    let computing = union(computing);
    let talking = union(talking);
    let length = |list: &[(f64, f64)]| list.iter().map(|(from, to)| to - from).sum::<f64>();
    let busy = length(&computing);
    let exposed = length(&talking) - overlap(&computing, &talking);
    RankOutcome {
        device: rank.device,
        replicas: rank.replicas,
        program: rank.program,
        busy,
        exposed,
        idle: (makespan - busy - exposed).max(0.0),
        flops,
        streams,
        memory: memory::of(plan, program, &spans),
        spans,
    }
}

/// Intervals without overlaps, in order.
fn union(mut list: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out: Vec<(f64, f64)> = Vec::with_capacity(list.len());
    for (from, to) in list {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Length of what two lists of disjoint intervals have in common.
fn overlap(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        sum += (a[i].1.min(b[j].1) - a[i].0.max(b[j].0)).max(0.0);
        if a[i].1 < b[j].1 { i += 1 } else { j += 1 }
    }
    sum
}
