//! A loaded plan that takes steps on arrays of the caller.

use std::collections::BTreeMap;

use piper_plan::{Input, Plan};
use piper_runtime::{
    KernelLibrary, MemoryUse, Options, Session, SliceMut, StepReport, TensorValue,
};

use crate::Failure;

/// Arrays by name.
pub type Numbers = BTreeMap<String, TensorValue>;

/// Virtual devices with their memory and threads; ends with the value.
pub struct Training {
    session: Session,
}

impl std::fmt::Debug for Training {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Training").field("steps", &self.session.steps()).finish_non_exhaustive()
    }
}

impl Training {
    /// Verifies a plan, binds its kernels and starts its devices.
    ///
    /// # Errors
    /// A plan that is not safe to run, that lacks a kernel, or that needs more memory than there is.
    pub fn load(
        plan: Plan,
        library: &dyn KernelLibrary,
        options: Options,
    ) -> Result<Self, Failure> {
        let session = Session::load(plan, library, options).map_err(failure)?;
        Ok(Self { session })
    }

    /// The plan that runs.
    pub fn plan(&self) -> &Plan {
        self.session.plan()
    }

    /// The inputs that every step wants, with global shapes.
    pub fn inputs(&self) -> &[Input] {
        &self.plan().inputs
    }

    /// Takes a step on the global batch.
    ///
    /// # Errors
    /// An input that is missing, unknown, or of another shape or type; a device that fails or is stuck.
    pub fn step(&mut self, inputs: &Numbers) -> Result<StepReport, Failure> {
        self.check(inputs)?;
        let fill = |_step: u64, input: &Input, into: SliceMut<'_>| {
            let given = inputs.get(&input.name).ok_or("it is not given")?;
            copy(&given.bytes, into);
            Ok(())
        };
        self.session.step(&fill).map_err(failure)
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.session.steps()
    }

    /// The names of parameters and of the optimizer's state, `w` and `w.m`.
    pub fn states(&self) -> Vec<String> {
        self.session.states().map(str::to_owned).collect()
    }

    /// A parameter or a part of the optimizer's state, gathered from where its shards are.
    ///
    /// # Errors
    /// A name that is unknown; replicas that differ.
    pub fn state(&self, name: &str) -> Result<TensorValue, Failure> {
        self.session.state(name).map_err(failure)
    }

    /// Sets a parameter or a part of the optimizer's state, wherever its shards are.
    ///
    /// # Errors
    /// A name that is unknown; another shape or type.
    pub fn set_state(&mut self, name: &str, value: &TensorValue) -> Result<(), Failure> {
        self.session.set_state(name, value).map_err(failure)
    }

    /// Memory of each device, planned and used.
    pub fn memory(&self) -> Vec<MemoryUse> {
        self.session.memory()
    }

    /// The steps so far as a Perfetto trace, if [`Options::trace`] was set.
    pub fn trace_json(&self) -> String {
        self.session.trace_json()
    }

    fn check(&self, given: &Numbers) -> Result<(), Failure> {
        let inputs = self.inputs();
        let names = || inputs.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(name) = given.keys().find(|name| inputs.iter().all(|i| i.name != **name)) {
            let hint = format!("its inputs: {}", names());
            return Err(Failure::with_hint(format!("the plan has no input '{name}'"), hint));
        }
        for input in inputs {
            let Some(value) = given.get(&input.name) else {
                let hint = format!("a step wants: {}", names());
                return Err(Failure::with_hint(format!("no input '{}'", input.name), hint));
            };
            let elements: u64 = input.shape.iter().product();
            let is_whole = value.bytes.len() as u64 == elements * input.dtype.size();
            if value.shape != input.shape || value.dtype != input.dtype || !is_whole {
                return Err(Failure::new(format!(
                    "input '{}' is {:?} of {}, but {:?} of {} in {} bytes was given",
                    input.name,
                    input.shape,
                    input.dtype.name(),
                    value.shape,
                    value.dtype.name(),
                    value.bytes.len()
                )));
            }
        }
        Ok(())
    }
}

/// Bytes in the machine's order into typed elements, of which there are as many.
fn copy(bytes: &[u8], into: SliceMut<'_>) {
    fn each<const N: usize, T>(bytes: &[u8], into: &mut [T], read: impl Fn([u8; N]) -> T) {
        for (to, from) in into.iter_mut().zip(bytes.as_chunks::<N>().0) {
            *to = read(*from);
        }
    }
    match into {
        SliceMut::F32(into) => each(bytes, into, f32::from_ne_bytes),
        SliceMut::F64(into) => each(bytes, into, f64::from_ne_bytes),
        SliceMut::I32(into) => each(bytes, into, i32::from_ne_bytes),
        SliceMut::Bf16(into) => each(bytes, into, u16::from_ne_bytes),
    }
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}
