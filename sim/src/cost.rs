//! Seconds of everything that a device does alone.

use piper_plan::{DType, KernelDecl, KernelId, Kind, Plan, Program, Transfer};

use crate::SimError;
use crate::machine::Machine;

/// Seconds of a launch of every kernel of a plan, overhead included.
///
/// `seconds` if the cost has them, else the longer of computing and moving (the roofline of Williams, Waterman and
/// Patterson, 2009), at the rates that kernels reach.
pub(crate) fn kernels(plan: &Plan, machine: &Machine) -> Result<Vec<f64>, SimError> {
    let mut out = Vec::with_capacity(plan.kernels.len());
    let mut missing = Vec::new();
    for (at, kernel) in plan.kernels.iter().enumerate() {
        let id = KernelId(at as u32);
        match seconds(kernel, machine) {
            Ok(seconds) => out.push(seconds + machine.device.launch_overhead),
            Err(Fault::Unknown) if launch_of(plan, id).is_none() => out.push(0.0),
            Err(Fault::Unknown) => missing.push((id, kernel)),
            Err(Fault::Wrong(name, value)) => {
                return Err(SimError::new(format!(
                    "{}the cost of kernel @{} has {name} = {value}, but costs are finite and not negative",
                    place(plan, id),
                    kernel.symbol
                ))
                .hint("correct the cost attribute of the function it comes from"));
            }
            Err(Fault::NoRate(dtype)) => {
                return Err(SimError::new(format!(
                    "{}kernel @{} computes in {}, and the machine has no rate for that",
                    place(plan, id),
                    kernel.symbol,
                    dtype.name()
                ))
                .hint(format!("add {} to flops of [device]", dtype.name())));
            }
        }
    }
    if missing.is_empty() {
        return Ok(out);
    }
    let names: Vec<String> =
        missing.iter().take(8).map(|(_, k)| format!("@{}", k.symbol)).collect();
    let more = if missing.len() > names.len() { ", ..." } else { "" };
    Err(SimError::new(format!(
        "{}{} of {} kernels have no cost: {}{more}",
        place(plan, missing[0].0),
        missing.len(),
        plan.kernels.len(),
        names.join(", ")
    ))
    .hint("give the function cost = {flops = 1.0e12, bytes = 3.0e9} or cost = {seconds = 1.2e-3}"))
}

enum Fault {
    Unknown,
    Wrong(&'static str, f64),
    NoRate(DType),
}

fn seconds(kernel: &KernelDecl, machine: &Machine) -> Result<f64, Fault> {
    let cost = kernel.cost.ok_or(Fault::Unknown)?;
    if let Some((name, value)) = cost.fault() {
        return Err(Fault::Wrong(name, value));
    }
    if let Some(seconds) = cost.seconds {
        return Ok(seconds);
    }
    let computing = match cost.flops {
        0.0 => 0.0,
        flops => {
            let dtype = computes_in(kernel);
            flops / machine.device.reached_flops(dtype).ok_or(Fault::NoRate(dtype))?
        }
    };
    Ok(computing.max(cost.bytes / machine.device.reached_bandwidth()))
}

/// The element type of most of a kernel's floating-point elements; of equally many the narrower.
pub(crate) fn computes_in(kernel: &KernelDecl) -> DType {
    let elems = |dtype: DType| -> u64 {
        kernel.params.iter().filter(|p| p.dtype == dtype).map(|p| p.elems).sum()
    };
    let best = |best: DType, next: DType| if elems(next) > elems(best) { next } else { best };
    [DType::F32, DType::F64].into_iter().fold(DType::Bf16, best)
}

/// The file, line and column of a kernel's first launch, with `: ` after it.
fn place(plan: &Plan, kernel: KernelId) -> String {
    let position = launch_of(plan, kernel).map(|source| plan.sources.position(source));
    position
        .filter(|p| !p.starts_with('<') && !p.starts_with(':'))
        .map_or(String::new(), |p| p + ": ")
}

fn launch_of(plan: &Plan, wanted: KernelId) -> Option<piper_plan::SourceId> {
    let mut all = plan.programs.iter().flat_map(|p| &p.instrs);
    let found = all.find(|i| matches!(i.kind, Kind::Launch { kernel, .. } if kernel == wanted));
    found.map(|instr| instr.source)
}

/// Seconds of an instruction that is no launch and no communication: bytes through the device's memory.
pub(crate) fn copying(program: &Program, kind: &Kind, machine: &Machine) -> f64 {
    let bytes = |buffer| program.buffer(buffer).bytes() as f64;
    let moved = match *kind {
        Kind::Copy { src, dst } => bytes(src) + bytes(dst),
        Kind::Fill { dst, .. } | Kind::LoadInput { dst, .. } => bytes(dst),
        _ => return 0.0,
    };
    moved / machine.device.reached_bandwidth() + machine.device.launch_overhead
}

/// Bytes that a communicating instruction sends or receives, for hover texts.
pub(crate) fn transferred(program: &Program, kind: &Kind) -> u64 {
    let bytes = |buffer| program.buffer(buffer).bytes();
    match kind {
        Kind::Send(p) | Kind::Recv(p) => bytes(p.buf),
        Kind::Group(transfers) => transfers.iter().map(|t: &Transfer| bytes(t.p2p().buf)).sum(),
        kind => crate::network::collective(kind).map_or(0, |(_, whole, _)| bytes(whole)),
    }
}
