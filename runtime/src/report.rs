//! What a session tells: results, figures, and errors with their source lines.

use crate::pool::MOST_THREADS;
use crate::tensor::TensorValue;
use piper_plan::{Fault, Kind, Plan, Transfer};
use std::time::Duration;

/// Why a plan cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The verifier rejects it; one rendered fault each.
    #[error("the plan is not safe to run:\n{}", .rendered.join("\n"))]
    Unsafe {
        /// The faults.
        faults: Vec<Fault>,
        /// The faults as text, with source lines.
        rendered: Vec<String>,
    },
    /// A kernel is missing.
    #[error("kernel {symbol}: {why}")]
    Kernel {
        /// Which.
        symbol: String,
        /// Why, according to the library.
        why: String,
    },
    /// A device needs more than can be addressed.
    #[error("@{program} needs {bytes} bytes, more than this machine can address")]
    TooLarge {
        /// The program.
        program: String,
        /// Arena size.
        bytes: u64,
    },
    /// Partitions ask for more workers than a device has here.
    #[error(
        "the partitions take {workers} workers of each device, but it has {threads} here; load the plan with as many threads a device"
    )]
    Workers {
        /// How many are asked for.
        workers: u32,
        /// How many there are.
        threads: usize,
    },
    /// The number of threads of a device is out of range.
    #[error("a device has 1 to {MOST_THREADS} threads, not {threads}")]
    Threads {
        /// How many were asked for.
        threads: usize,
    },
    /// A worker thread could not be started.
    #[error("cannot start a worker: {0}")]
    Thread(#[from] std::io::Error),
}

/// Why a step did not finish.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The stop flag was raised; nothing was begun.
    #[error("stopped before step {step}")]
    Stopped {
        /// The step that did not begin.
        step: u64,
    },
    /// The data source failed; nothing was begun.
    #[error("input {input}: {why}")]
    Data {
        /// Which input.
        input: String,
        /// Why, according to the source.
        why: String,
    },
    /// Devices wait for each other and nobody can go on.
    #[error("deadlock in step {step}: no device can go on\n{report}")]
    Deadlock {
        /// The step.
        step: u64,
        /// Every stuck device with its instruction, peer and source line.
        report: String,
    },
    /// Nothing happened for too long.
    #[error("no progress in step {step} for {timeout:?}\n{report}")]
    Timeout {
        /// The step.
        step: u64,
        /// The limit.
        timeout: Duration,
        /// Every unfinished device with its instruction, peer and source line.
        report: String,
    },
    /// A kernel failed or panicked.
    #[error("step {step} failed on {device}: {message}\n{place}")]
    Device {
        /// The step.
        step: u64,
        /// Coordinates of the device.
        device: String,
        /// What happened.
        message: String,
        /// The instruction and its source line.
        place: String,
    },
    /// An output could not be put together.
    #[error("output {output}: {why}")]
    Output {
        /// Which.
        output: String,
        /// Why.
        why: String,
    },
    /// An earlier step failed; the state is incomplete.
    #[error("an earlier step failed; load the plan again")]
    Poisoned,
}

/// A step's results.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Number of the step, from 1.
    pub step: u64,
    /// Outputs by name, in the plan's order.
    pub outputs: Vec<(String, OutputValue)>,
    /// Time from the first worker's start to the last one's end.
    pub wall: Duration,
    /// One entry per device.
    pub devices: Vec<DeviceStats>,
}

impl StepReport {
    /// The outputs that are tensors, with their names.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &TensorValue)> {
        self.outputs.iter().filter_map(|(name, value)| match value {
            OutputValue::Tensor(tensor) => Some((name.as_str(), tensor)),
            OutputValue::Number(_) => None,
        })
    }

    /// The number called `name`, if there is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.outputs.iter().find(|(n, _)| n == name).and_then(|(_, value)| match value {
            OutputValue::Number(x) => Some(*x),
            OutputValue::Tensor(_) => None,
        })
    }
}

/// The value of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputValue {
    /// A sum of contributions.
    Number(f64),
    /// A logical tensor.
    Tensor(TensorValue),
}

/// A device's part in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Instructions executed.
    pub instructions: u64,
    /// Time from its start to its end.
    pub wall: Duration,
    /// Of which waiting for other devices (waits that ended while still spinning are not counted).
    pub waiting: Duration,
}

/// A device's memory, as planned and as found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes of the arena according to the plan.
    pub planned: u64,
    /// Position of the highest byte that anything was ever written to.
    pub used: u64,
    /// Bytes of kernel workspace beside the arena.
    pub workspace: u64,
}

/// `@pp1 #12 recv f1.mb3` and the source line.
pub fn place(plan: &Plan, device: usize, instr: usize) -> String {
    let program = &plan.programs[plan.device_program[device].index()];
    let found = &program.instrs[instr];
    let name = found.name.as_ref().map(|n| format!(" {n}")).unwrap_or_default();
    let head = format!("  @{} #{instr} {}{name}", program.name, found.kind.mnemonic());
    match plan.sources.get(found.source) {
        Some(_) => format!("{head}\n    {}", plan.sources.render(found.source)),
        None => head,
    }
}

/// Where a device stands that does not go on.
pub fn stuck(plan: &Plan, device: usize, instr: usize) -> String {
    let mesh = plan.mesh();
    let kind = &plan.programs[plan.device_program[device].index()].instrs[instr].kind;
    let peers: Vec<usize> = match kind {
        Kind::Send(p) | Kind::Recv(p) => vec![mesh.replaced(device, &p.peer.set)],
        Kind::Group(transfers) => {
            transfers.iter().map(|t: &Transfer| mesh.replaced(device, &t.p2p().peer.set)).collect()
        }
        Kind::AllReduce { comm, .. }
        | Kind::ReduceScatter { comm, .. }
        | Kind::AllGather { comm, .. }
        | Kind::AllToAll { comm, .. } => mesh
            .group(device, &plan.comms[comm.index()])
            .into_iter()
            .filter(|&m| m != device)
            .collect(),
        _ => Vec::new(),
    };
    let peers: Vec<String> = peers.into_iter().map(|p| mesh.render(p)).collect();
    let doing = match kind {
        Kind::Launch { .. } => "is still in".to_owned(),
        _ if peers.is_empty() => "is in".to_owned(),
        _ => format!("waits for {} in", peers.join(" and ")),
    };
    format!("{} {doing}\n{}", mesh.render(device), place(plan, device, instr))
}
