//! The state manifest: every logical element is stored somewhere, and homes fit their buffers.

use super::classes::Class;
use super::{Fault, FaultKind, MAX_FAULTS};
use crate::mesh::{AxisId, CommId};
use crate::schema::{DType, OutputKind, Plan, ProgramId};
use crate::state::{Home, Run};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

pub(super) fn check(plan: &Plan, classes: &[Class]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut names = FxHashSet::default();
    let mut parts = Parts { plan, classes, known: FxHashMap::default() };
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
    parts: &mut Parts<'_>,
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
            // Runs are cut to the buffer; what lies outside of it is not claimed.
            if end.is_none_or(|end| end > elems) {
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

/// The runs of a home over all devices of its program, replicas merged, and the neighbouring parts of a bucket too.
fn distinct_runs(
    plan: &Plan,
    parts: &mut Parts<'_>,
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
    let ranges = parts.of(home)?;
    let class = &parts.classes[home.program.index()];
    let strides = || home.pieces.iter().flat_map(|p| &p.start.strides);
    let members = home.shard.map(|s| &plan.comms[s.comm.index()].members);
    let shard_axes = || members.into_iter().flatten().take(1).flatten();
    let mut axes: Vec<AxisId> = strides().map(|s| s.0).collect();
    axes.sort_unstable();
    axes.dedup();
    let mut runs = Vec::new();
    if shard_axes().any(|(axis, _)| axes.contains(axis)) {
        // What a device holds of the tensor depends on the same coordinate as its part of the bucket: ask each.
        axes.extend(shard_axes().map(|s| s.0).filter(|a| !axes.contains(a)).collect::<Vec<_>>());
        for coord in class.along(&axes) {
            let part = home.part_of(plan, plan.mesh().device(&coord)).unwrap_or(0);
            runs.extend(home.runs(&coord, part, elems));
        }
        return Ok(runs);
    }
    for coord in class.along(&axes) {
        for range in &ranges {
            let (from, to) = (range.start * elems, range.end.saturating_mul(elems));
            runs.extend(home.runs_within(&coord, from, to));
        }
    }
    Ok(runs)
}

/// Ranges of parts, or why there are none.
type Found = Result<Vec<Range<u64>>, String>;

/// Which parts of a bucket the devices of a program hold; all tensors of a bucket ask for the same.
struct Parts<'a> {
    plan: &'a Plan,
    classes: &'a [Class],
    known: FxHashMap<(CommId, ProgramId), Found>,
}

impl Parts<'_> {
    fn of(&mut self, home: &Home) -> Found {
        let Some(shard) = home.shard else { return Ok(std::iter::once(0..1).collect()) };
        let class = &self.classes[home.program.index()];
        let find = || {
            let comm = &self.plan.comms[shard.comm.index()];
            match class.outsider(comm) {
                Some(outsider) => {
                    let mesh = self.plan.mesh();
                    let name = mesh.render(mesh.device(&outsider));
                    Err(format!("device {name} is not in the shard's communicator"))
                }
                None => Ok(class.positions(comm)),
            }
        };
        self.known.entry((shard.comm, home.program)).or_insert_with(find).clone()
    }
}
