//! The state manifest: every logical element is stored somewhere, and homes fit their buffers.

use super::{Fault, FaultKind, MAX_FAULTS};
use crate::mesh::CommId;
use crate::schema::{DType, OutputKind, Plan};
use crate::state::{Home, Run};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn check(plan: &Plan) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut names = FxHashSet::default();
    let mut parts = Parts::default();
    for state in &plan.states.tensors {
        if !names.insert(state.name.as_str()) {
            faults.push(Fault::new(
                FaultKind::State,
                format!("two state tensors are called {}", state.name),
            ));
        }
        let named = format!("state {}", state.name);
        faults.extend(
            tensor(plan, &mut parts, &named, &state.shape, state.dtype, &state.homes, true).err(),
        );
    }
    for output in &plan.outputs {
        if let OutputKind::Tensor { shape, dtype, homes } = &output.kind {
            faults.extend(
                tensor(
                    plan,
                    &mut parts,
                    &format!("output {}", output.name),
                    shape,
                    *dtype,
                    homes,
                    false,
                )
                .err(),
            );
        }
    }
    faults.truncate(MAX_FAULTS);
    faults
}

fn tensor(
    plan: &Plan,
    parts: &mut Parts,
    name: &str,
    shape: &[u64],
    dtype: DType,
    homes: &[Home],
    persistent: bool,
) -> Result<(), Fault> {
    let fault = |message: String| Fault::new(FaultKind::State, format!("{name}: {message}"));
    let elems = shape
        .iter()
        .try_fold(1u64, |n, &d| n.checked_mul(d))
        .ok_or_else(|| fault("its size overflows".to_owned()))?;
    let mut held: Vec<(u64, u64)> = Vec::new();
    for home in homes {
        let program = plan
            .programs
            .get(home.program.index())
            .ok_or_else(|| fault(format!("no program {}", home.program.0)))?;
        let buffer = program
            .buffers
            .get(home.buffer.index())
            .ok_or_else(|| fault(format!("no buffer {} in @{}", home.buffer.0, program.name)))?;
        let place = format!("buffer {} of @{}", buffer.name, program.name);
        if buffer.dtype != dtype {
            return Err(fault(format!(
                "is {}, but {place} is {}",
                dtype.name(),
                buffer.dtype.name()
            )));
        }
        if persistent && !buffer.persistent {
            return Err(fault(format!("{place} does not persist between steps")));
        }
        if home.shard.is_some_and(|s| s.comm.index() >= plan.comms.len()) {
            return Err(fault(format!(
                "{place} is a shard over a communicator that does not exist"
            )));
        }
        if home
            .pieces
            .iter()
            .any(|p| p.start.strides.iter().any(|(axis, _)| axis.index() >= plan.mesh.len()))
        {
            return Err(fault(format!("{place} depends on an axis that does not exist")));
        }
        let runs = distinct_runs(plan, parts, home, buffer.elems)
            .map_err(|why| fault(format!("{place}: {why}")))?;
        for run in runs {
            let end = run.tensor.checked_add(run.len);
            if end.is_none_or(|end| end > elems)
                || run.buffer.saturating_add(run.len) > buffer.elems
            {
                return Err(fault(format!(
                    "{place} claims elements {} to {} of {elems}",
                    run.tensor,
                    run.tensor.saturating_add(run.len)
                )));
            }
            held.push((run.tensor, run.tensor + run.len));
        }
    }
    held.sort_unstable();
    let covered =
        held.iter().fold(0, |end, &(from, to)| if from > end { end } else { to.max(end) });
    if covered < elems {
        return Err(fault(format!("element {covered} of {elems} is stored nowhere")));
    }
    Ok(())
}

/// The runs of a home over all devices of its program, replicas merged.
fn distinct_runs(
    plan: &Plan,
    parts: &mut Parts,
    home: &Home,
    elems: u64,
) -> Result<Vec<Run>, String> {
    const MAX: u64 = 1 << 40;
    if home
        .pieces
        .iter()
        .any(|p| p.bucket > MAX || p.len > MAX || p.count > MAX || p.step > MAX || elems > MAX)
    {
        return Err("a piece is larger than 2^40 elements".to_owned());
    }
    let mesh = plan.mesh();
    let mut seen: FxHashSet<(u64, Vec<u64>)> = FxHashSet::default();
    let mut runs = Vec::new();
    for device in (0..mesh.devices()).filter(|&d| plan.device_program[d] == home.program) {
        let coord = mesh.coord(device);
        let part = part_of(plan, parts, home, device).ok_or_else(|| {
            format!("device {} is not in the shard's communicator", mesh.render(device))
        })?;
        let starts = home.pieces.iter().map(|p| p.start.at(&coord)).collect();
        if seen.insert((part, starts)) {
            runs.extend(home.runs(&coord, part, elems));
        }
    }
    Ok(runs)
}

/// For each communicator used to shard, every device's position in it; a bucket's tensors all ask for the same.
type Parts = FxHashMap<CommId, Vec<Option<u64>>>;

fn part_of(plan: &Plan, parts: &mut Parts, home: &Home, device: usize) -> Option<u64> {
    let Some(shard) = home.shard else { return Some(0) };
    let of_all = || (0..plan.devices()).map(|d| home.part_of(plan, d)).collect();
    parts.entry(shard.comm).or_insert_with(of_all)[device]
}
