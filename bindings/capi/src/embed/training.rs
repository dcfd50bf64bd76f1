//! A loaded plan that takes steps.

use std::collections::BTreeMap;
use std::time::Duration;

use piper::plan::DType;
use piper::runtime::{OutputValue, StepReport};
use piper::{Failure, TensorValue, Training};

use super::plan::{
    PIPER_BF16, PIPER_F32, PIPER_F64, PIPER_I32, PiperPlan, PiperTensor, dtype_number, plan,
};
use super::{Problem, Tag, done};
use crate::fault::{Fault, PIPER_OUT_OF_RANGE, PiperStatus, caught};
use crate::report::PiperError;
use crate::text::{PiperStr, PiperString, Sized0, list, sized, store};

/// How to run. Set `size` to `sizeof(PiperRunOptions)` and the rest to zero, then what is wanted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperRunOptions {
    /// `sizeof(PiperRunOptions)`
    pub size: usize,
    /// Seed of the initial values.
    pub seed: u64,
    /// A step fails after so many milliseconds without any device starting a new instruction; 0 for 60 000.
    pub timeout_ms: u64,
    /// Threads of each device; 0 for 1.
    pub threads: u32,
    /// Record every instruction for `piper_training_trace`.
    pub trace: bool,
}

// SAFETY: it begins with its size; numbers and truth values may be zero.
unsafe impl Sized0 for PiperRunOptions {}

/// Devices with their memory and threads, all in this process. Threads of its own stop when it is destroyed.
#[derive(Debug)]
pub struct PiperTraining {
    tag: Tag,
    training: Training,
    states: Vec<String>,
    /// The last step's outputs, each as an array.
    outputs: Vec<(String, TensorValue)>,
    /// What was read of the state, until the next step.
    read: BTreeMap<String, TensorValue>,
}

fn training_of<'a>(training: *const PiperTraining) -> Result<&'a PiperTraining, Fault> {
    // SAFETY: the header's contract: null, or a training of this library that was not destroyed.
    let found = unsafe { training.as_ref() }.filter(|training| training.tag == Tag::TRAINING);
    found.ok_or_else(|| Fault::null("the training"))
}

fn training_mut<'a>(training: *mut PiperTraining) -> Result<&'a mut PiperTraining, Fault> {
    // SAFETY: the header's contract: as in `training_of`, and nobody else uses it now.
    let found = unsafe { training.as_mut() }.filter(|training| training.tag == Tag::TRAINING);
    found.ok_or_else(|| Fault::null("the training"))
}

/// Loads a plan on virtual devices, threads of this process, at its initial state. `options` and `error` may be null. Threads:
/// reader of the plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_create(
    given: *const PiperPlan,
    options: *const PiperRunOptions,
    out: *mut *mut PiperTraining,
    error: *mut *mut PiperError,
) -> PiperStatus {
    store(out, std::ptr::null_mut());
    done("piper_training_create", error, || {
        let plan = plan(given)?;
        let mut wanted = piper::runtime::Options::default();
        if !options.is_null() {
            let options = sized(options, "the options")?;
            (wanted.seed, wanted.trace) = (options.seed, options.trace);
            wanted.threads_per_device = options.threads.max(1) as usize;
            if options.timeout_ms != 0 {
                wanted.timeout = Duration::from_millis(options.timeout_ms);
            }
        }
        let training = plan.executable.train(wanted)?;
        let states = training.states();
        let (outputs, read) = (Vec::new(), BTreeMap::new());
        let made = PiperTraining { tag: Tag::TRAINING, training, states, outputs, read };
        if !out.is_null() {
            store(out, Box::into_raw(Box::new(made)));
        }
        Ok(())
    })
}

/// Ends a training; null is none. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_destroy(training: *mut PiperTraining) {
    if training_of(training).is_ok() {
        // SAFETY: the header's contract: made by this library, as a box, and not used any more.
        let mut owned = unsafe { Box::from_raw(training) };
        owned.tag = Tag::DEAD;
    }
}

/// Takes a step on the global batch: an array for every input of the plan, with its name, shape and type. `error` may be null.
/// Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_step(
    training: *mut PiperTraining,
    inputs: *const PiperTensor,
    num_inputs: usize,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_training_step", error, || {
        let found = training_mut(training)?;
        let mut given = BTreeMap::new();
        for input in list(inputs, num_inputs) {
            let name = input.name.get("an input's name")?.to_owned();
            let value = value_of(input)?;
            if given.insert(name.clone(), value).is_some() {
                return Err(Failure::new(format!("input '{name}' is given twice")).into());
            }
        }
        let report: StepReport = found.training.step(&given)?;
        found.read.clear();
        found.outputs =
            report.outputs.into_iter().map(|(name, value)| (name, array(value))).collect();
        Ok(())
    })
}

fn array(value: OutputValue) -> TensorValue {
    match value {
        OutputValue::Tensor(tensor) => tensor,
        OutputValue::Number(number) => {
            let bytes = number.to_ne_bytes().to_vec();
            TensorValue { shape: Vec::new(), dtype: DType::F64, bytes }
        }
    }
}

fn value_of(tensor: &PiperTensor) -> Result<TensorValue, Problem> {
    let dtype = match tensor.dtype {
        PIPER_F32 => DType::F32,
        PIPER_F64 => DType::F64,
        PIPER_I32 => DType::I32,
        PIPER_BF16 => DType::Bf16,
        other => {
            let text = format!("{other} is no type of elements");
            return Err(Fault::new(PIPER_OUT_OF_RANGE, text).into());
        }
    };
    let shape = list(tensor.shape, tensor.rank).to_vec();
    let bytes = list(tensor.data.cast::<u8>(), tensor.size).to_vec();
    Ok(TensorValue { shape, dtype, bytes })
}

fn view(name: &str, value: &TensorValue) -> PiperTensor {
    PiperTensor {
        name: PiperStr::of(name),
        shape: value.shape.as_ptr(),
        rank: value.shape.len(),
        dtype: dtype_number(value.dtype),
        data: value.bytes.as_ptr().cast(),
        size: value.bytes.len(),
    }
}

/// Steps taken. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_steps(training: *const PiperTraining) -> u64 {
    training_of(training).map_or(0, |found| found.training.steps())
}

/// How many outputs the last step had. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_num_outputs(training: *const PiperTraining) -> usize {
    training_of(training).map_or(0, |found| found.outputs.len())
}

/// An output of the last step: an array, or a number as an array of rank 0 of `PIPER_F64`; nothing if there are not so many. Lives
/// until the next step. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_output(
    training: *const PiperTraining,
    index: usize,
) -> PiperTensor {
    let found = training_of(training).ok().and_then(|found| found.outputs.get(index));
    found.map_or(PiperTensor::NONE, |(name, value)| view(name, value))
}

/// Whether the last step had a number of this name, as `loss`, and which. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_number(
    training: *const PiperTraining,
    name: PiperStr,
    out: *mut f64,
) -> bool {
    let found = caught(|| {
        let (found, name) = (training_of(training)?, name.get("the name")?);
        let mut outputs = found.outputs.iter().filter(|(known, _)| known == name);
        let number = outputs.find(|(_, value)| value.shape.is_empty());
        Ok(number.map(|(_, value)| value.to_f64()[0]))
    });
    crate::attrs::stored(out, found.unwrap_or_default())
}

/// How many parameters and parts of the optimizer's state there are. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_num_states(training: *const PiperTraining) -> usize {
    training_of(training).map_or(0, |found| found.states.len())
}

/// The name of a parameter or a part of the optimizer's state, as `w` and `w.m`; null data if there are not so many. Lives as long
/// as the training. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_state_name(
    training: *const PiperTraining,
    index: usize,
) -> PiperStr {
    let found = training_of(training).ok().and_then(|found| found.states.get(index));
    PiperStr::of_some(found.map(String::as_str))
}

/// A parameter or a part of the optimizer's state, gathered from where its shards are. Lives until it is asked for again or set,
/// or the next step. `error` may be null. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_state(
    training: *mut PiperTraining,
    name: PiperStr,
    out: *mut PiperTensor,
    error: *mut *mut PiperError,
) -> PiperStatus {
    store(out, PiperTensor::NONE);
    done("piper_training_state", error, || {
        let (found, name) = (training_mut(training)?, name.get("the name")?);
        let value = found.training.state(name)?;
        found.read.insert(name.to_owned(), value);
        if let Some((name, value)) = found.read.get_key_value(name) {
            store(out, view(name, value));
        }
        Ok(())
    })
}

/// Sets a parameter or a part of the optimizer's state, wherever its shards are. `error` may be null. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_set_state(
    training: *mut PiperTraining,
    tensor: *const PiperTensor,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_training_set_state", error, || {
        let found = training_mut(training)?;
        let [tensor] = list(tensor, 1) else {
            return Err(Fault::null("the array").into());
        };
        let name = tensor.name.get("the name")?;
        let value = value_of(tensor)?;
        let size = value.shape.iter().try_fold(value.dtype.size(), |size, e| size.checked_mul(*e));
        if size != Some(value.bytes.len() as u64) {
            let (bytes, shape) = (value.bytes.len(), &value.shape);
            let text = format!("the array '{name}' has {bytes} bytes, which are not {shape:?}");
            return Err(Fault::new(PIPER_OUT_OF_RANGE, text).into());
        }
        found.training.set_state(name, &value)?;
        found.read.remove(name);
        Ok(())
    })
}

/// Bytes of a device's memory: as planned, and as used so far. Each pointer may be null. Whether there is such a device. Threads:
/// reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_memory(
    training: *const PiperTraining,
    device: usize,
    planned: *mut u64,
    used: *mut u64,
) -> bool {
    let memory = training_of(training).map(|found| found.training.memory()).unwrap_or_default();
    let Some(of_device) = memory.get(device) else { return false };
    store(planned, of_device.planned);
    store(used, of_device.used);
    true
}

/// The steps so far as a trace for Perfetto, to be freed by the caller; the training was made with `trace`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_training_trace(
    training: *const PiperTraining,
    out: *mut PiperString,
) -> PiperStatus {
    done("piper_training_trace", std::ptr::null_mut(), || {
        let found = training_of(training)?;
        if out.is_null() {
            return Err(Fault::null("where the text goes").into());
        }
        store(out, PiperString::own(found.training.trace_json()));
        Ok(())
    })
}
