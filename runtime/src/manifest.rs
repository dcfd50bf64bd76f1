//! What a plan says of the bytes that devices hold, whatever they are held in: state tensors and outputs, put together and
//! taken apart. Backends read and write whole buffers; this says what is in them.

use crate::reduce::tree_sum;
use crate::report::{OutputValue, StepError};
use crate::tensor::{Gather, ReadBackError, TensorValue, write_element};
use piper_plan::{BufferId, Home, OutputId, OutputKind, Plan, State};
use std::borrow::Cow;

/// A contribution to an output, as it was stored.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    /// The output.
    pub output: OutputId,
    /// The device that stored it.
    pub device: usize,
    /// The buffer that it stored.
    pub buffer: BufferId,
    /// The position among the contributions.
    pub part: u64,
    /// The buffer's contents.
    pub bytes: Cow<'a, [u8]>,
}

/// The outputs of a step, in the plan's order.
///
/// # Errors
/// [`StepError::Output`]: replicas that differ, or an element that nobody stored.
pub fn outputs(
    plan: &Plan,
    stored: &[Stored<'_>],
) -> Result<Vec<(String, OutputValue)>, StepError> {
    let mut outputs = Vec::new();
    for (at, output) in plan.outputs.iter().enumerate() {
        let mine = stored.iter().filter(|c| c.output.index() == at);
        let value = match &output.kind {
            OutputKind::Scalar => number(plan, mine.collect()).map(OutputValue::Number),
            OutputKind::Tensor { shape, dtype, homes } => {
                let mut gather = Gather::new(&output.name, shape, *dtype);
                let mut mine = { mine };
                let added = mine.try_for_each(|c| {
                    add_homes(plan, &mut gather, homes, c.device, c.buffer, &c.bytes)
                });
                added
                    .and_then(|()| gather.finish())
                    .map(OutputValue::Tensor)
                    .map_err(|e| e.to_string())
            }
        };
        let value = value.map_err(|why| StepError::Output { output: output.name.clone(), why })?;
        outputs.push((output.name.clone(), value));
    }
    Ok(outputs)
}

/// Sum of contributions in the order of their parts, replicas counted once.
fn number(plan: &Plan, mut contributions: Vec<&Stored<'_>>) -> Result<f64, String> {
    contributions.sort_by_key(|c| (c.part, c.device));
    let mut values: Vec<(u64, usize, f64)> = Vec::new();
    for c in contributions {
        let dtype = plan.programs[plan.device_program[c.device].index()].buffer(c.buffer).dtype;
        let value = TensorValue { shape: vec![], dtype, bytes: c.bytes.to_vec() }.to_f64()[0];
        match values.last() {
            Some(&(part, device, first)) if part == c.part => {
                if first.to_bits() != value.to_bits() {
                    let (one, other) = (plan.mesh().render(device), plan.mesh().render(c.device));
                    return Err(format!(
                        "replicas of part {part} differ: {first:e} on {one}, {value:e} on {other}"
                    ));
                }
            }
            _ => values.push((c.part, c.device, value)),
        }
    }
    Ok(tree_sum(&values.iter().map(|v| v.2).collect::<Vec<f64>>()))
}

fn add_homes(
    plan: &Plan,
    gather: &mut Gather<'_>,
    homes: &[Home],
    device: usize,
    buffer: BufferId,
    contents: &[u8],
) -> Result<(), ReadBackError> {
    let (program, mesh) = (plan.device_program[device], plan.mesh());
    let elems = plan.programs[program.index()].buffer(buffer).elems;
    for home in homes.iter().filter(|h| h.program == program && h.buffer == buffer) {
        let Some(part) = home.part_of(plan, device) else { continue };
        gather.add(device, &home.runs(&mesh.coord(device), part, elems), contents, |d| {
            mesh.render(d)
        })?;
    }
    Ok(())
}

/// The state tensor of a name.
///
/// # Errors
/// [`ReadBackError::Unknown`].
pub fn find<'p>(plan: &'p Plan, name: &str) -> Result<&'p State, ReadBackError> {
    let found = plan.states.tensors.iter().find(|s| s.name == name);
    found.ok_or_else(|| ReadBackError::Unknown(name.to_owned()))
}

/// A state tensor as it is between steps, gathered from its shards; replicas have to agree bitwise. `read` gives the contents of
/// a device's buffer.
///
/// # Errors
/// Any of [`ReadBackError`], and those of `read`.
pub fn gather<'a>(
    plan: &Plan,
    name: &str,
    read: &mut dyn FnMut(usize, BufferId) -> Result<Cow<'a, [u8]>, ReadBackError>,
) -> Result<TensorValue, ReadBackError> {
    let state = find(plan, name)?;
    let mut gather = Gather::new(&state.name, &state.shape, state.dtype);
    for device in 0..plan.devices() {
        let program = plan.device_program[device];
        for (at, home) in state.homes.iter().enumerate().filter(|(_, h)| h.program == program) {
            // A buffer with several homes of this tensor is added once, with all of them.
            if state.homes[..at].iter().any(|h| h.program == program && h.buffer == home.buffer) {
                continue;
            }
            let contents = read(device, home.buffer)?;
            add_homes(plan, &mut gather, &state.homes, device, home.buffer, &contents)?;
        }
    }
    gather.finish()
}

/// Calls `write(index in the tensor, bytes of the element)` for every element of a state that a device holds in one of its
/// buffers, whose contents are `into`.
pub fn spread(
    plan: &Plan,
    state: &State,
    device: usize,
    buffer: BufferId,
    into: &mut [u8],
    write: impl Fn(u64, &mut [u8]),
) {
    let size = state.dtype.size() as usize;
    let (program, elems) = (plan.device_program[device], (into.len() / size) as u64);
    for home in state.homes.iter().filter(|h| h.program == program && h.buffer == buffer) {
        let Some(part) = home.part_of(plan, device) else { continue };
        for run in home.runs(&plan.mesh().coord(device), part, elems) {
            for k in 0..run.len {
                write(run.tensor + k, &mut into[(run.buffer + k) as usize * size..][..size]);
            }
        }
    }
}

/// What a device's persistent buffer holds before the first step: initial values of states, zero elsewhere.
pub fn initial(plan: &Plan, device: usize, buffer: BufferId, seed: u64) -> Vec<u8> {
    let program = plan.device_program[device];
    let mut contents = vec![0; plan.programs[program.index()].buffer(buffer).bytes() as usize];
    let is_here = |h: &Home| h.program == program && h.buffer == buffer;
    for state in plan.states.tensors.iter().filter(|s| s.homes.iter().any(is_here)) {
        let values = state.init.values(&state.name, seed);
        spread(plan, state, device, buffer, &mut contents, |index, to| {
            write_element(values.at(index), state.dtype, to);
        });
    }
    contents
}

/// Checks that a value can replace a state tensor.
///
/// # Errors
/// [`ReadBackError::Mismatch`].
pub fn check_value(state: &State, value: &TensorValue) -> Result<(), ReadBackError> {
    let elems = state.shape.iter().product::<u64>();
    if value.shape == state.shape
        && value.dtype == state.dtype
        && value.bytes.len() as u64 == elems * state.dtype.size()
    {
        return Ok(());
    }
    Err(ReadBackError::Mismatch {
        name: state.name.clone(),
        expected: format!("{:?} {}", state.shape, state.dtype.name()),
        found: format!("{:?} {}, {} bytes", value.shape, value.dtype.name(), value.bytes.len()),
    })
}
