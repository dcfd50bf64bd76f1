//! A loaded plan that takes steps on arrays, which come and go as bytes: the Python half makes NumPy arrays of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use piper::plan::DType;
use piper::runtime::{Options, OutputValue};
use piper::{Executable, Failure, Numbers, TensorValue, Training};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict};

use crate::diagnostic::failed;

/// A tensor: element type, shape, and row-major elements in the machine's byte order.
type Packed<'py> = (String, Vec<u64>, Bound<'py, PyBytes>);

/// Virtual devices with their memory and threads.
#[pyclass(name = "Training", module = "piper._piper", frozen)]
pub(crate) struct PyTraining {
    /// Taken out for the time of a step.
    training: Mutex<Option<Training>>,
    /// The steps that it has taken, which are asked for during a step too.
    steps: AtomicU64,
}

impl PyTraining {
    pub(crate) fn load(
        py: Python<'_>,
        executable: &Executable,
        seed: u64,
        timeout: f64,
        threads_per_device: usize,
        trace: bool,
    ) -> PyResult<Self> {
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|_| PyValueError::new_err("timeout is a number of seconds, 0 or more"))?;
        let options = Options { timeout, trace, seed, threads_per_device, ..Options::default() };
        let training = py.detach(|| executable.train(options));
        let training = training.map_err(|failure| failed(py, &failure))?;
        let steps = AtomicU64::new(training.steps());
        Ok(Self { training: Mutex::new(Some(training)), steps })
    }

    /// Works on the session without Python's lock.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Training) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let taken = self.training.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut training) = taken else {
            return Err(PyRuntimeError::new_err("another thread is taking a step"));
        };
        let (training, outcome) = py.detach(move || {
            let outcome = work(&mut training);
            (training, outcome)
        });
        self.steps.store(training.steps(), Ordering::Relaxed);
        *self.training.lock().unwrap_or_else(PoisonError::into_inner) = Some(training);
        outcome.map_err(|failure| failed(py, &failure))
    }
}

#[pymethods]
impl PyTraining {
    /// Takes a step. The result has `"step"`, `"seconds"`, and `"outputs"`: numbers and packed tensors by name. An interrupt during
    /// the step is raised after it.
    fn take_step<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut numbers = Numbers::new();
        for (name, value) in inputs.iter() {
            numbers.insert(name.extract()?, unpacked(&value.extract()?)?);
        }
        let report = self.with(py, move |training| training.step(&numbers))?;
        let outputs = PyDict::new(py);
        for (name, value) in &report.outputs {
            let value = match value {
                OutputValue::Number(number) => number.into_bound_py_any(py)?,
                OutputValue::Tensor(tensor) => packed(py, tensor)?,
            };
            outputs.set_item(name, value)?;
        }
        let dict = PyDict::new(py);
        dict.set_item("step", report.step)?;
        dict.set_item("seconds", report.wall.as_secs_f64())?;
        dict.set_item("outputs", outputs)?;
        py.check_signals()?;
        Ok(dict)
    }

    /// Steps taken; one that is under way does not count.
    #[getter]
    fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// The names of parameters and of the optimizer's state.
    #[getter]
    fn states(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |training| Ok(training.states()))
    }

    /// A parameter or a part of the optimizer's state, packed.
    fn packed_state<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = self.with(py, |training| training.state(name))?;
        packed(py, &value)
    }

    /// Element type and shape of a parameter or a part of the optimizer's state.
    fn state_type(&self, py: Python<'_>, name: &str) -> PyResult<Option<(&'static str, Vec<u64>)>> {
        self.with(py, |training| {
            let found = training.plan().states.tensors.iter().find(|state| state.name == name);
            Ok(found.map(|state| (state.dtype.name(), state.shape.clone())))
        })
    }

    /// Sets a parameter or a part of the optimizer's state.
    fn set_packed_state(&self, py: Python<'_>, name: &str, value: Packed<'_>) -> PyResult<()> {
        let value = unpacked(&value)?;
        self.with(py, |training| training.set_state(name, &value))
    }

    /// Bytes of each device: planned, used, and workspace of kernels beside it.
    fn memory(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, u64)>> {
        self.with(py, |training| {
            let all = training.memory();
            Ok(all.iter().map(|m| (m.planned, m.used, m.workspace)).collect())
        })
    }

    /// The steps so far as a Perfetto trace, if the plan was loaded with `trace`.
    fn trace_json(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |training| Ok(training.trace_json()))
    }
}

fn packed<'py>(py: Python<'py>, tensor: &TensorValue) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new(py, &tensor.bytes);
    (tensor.dtype.name(), tensor.shape.clone(), bytes).into_bound_py_any(py)
}

fn unpacked((dtype, shape, bytes): &Packed<'_>) -> PyResult<TensorValue> {
    let known = [DType::F32, DType::F64, DType::I32, DType::Bf16];
    let found = known.into_iter().find(|known| known.name() == dtype);
    let dtype = found.ok_or_else(|| PyValueError::new_err(format!("no type '{dtype}'")))?;
    Ok(TensorValue { shape: shape.clone(), dtype, bytes: bytes.as_bytes().to_vec() })
}
