//! Device programs with their kernels: printed, saved, simulated, loaded.

use std::path::PathBuf;
use std::sync::Arc;

use piper::codegen::{Cache, Compiler as CodeCompiler, Isolation};
use piper::sim::{Machine, Outcome, json, table, trace};
use piper::{Executable, Failure, Kernels, Native};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::diagnostic::failed;
use crate::training::PyTraining;

/// Whether kernels can become machine code.
#[pyfunction]
pub(crate) fn has_llvm() -> bool {
    cfg!(feature = "llvm")
}

/// What computes kernels. `command` starts a process that generates code; without it code is generated in this one.
pub(crate) fn kernels_called(name: &str, command: Option<Vec<String>>) -> Result<Kernels, Failure> {
    let native = || {
        let isolation = match command {
            Some(command) => Isolation::Program { command },
            None => Isolation::InProcess,
        };
        let compiler = CodeCompiler { isolation, cache: Cache::of_user(), threads: 0 };
        Kernels::Native(Native { compiler, ..Native::default() })
    };
    match name {
        "interpreted" => Ok(Kernels::Interpreted),
        "native" => Ok(native()),
        "default" if has_llvm() => Ok(native()),
        "default" => Ok(Kernels::Interpreted),
        _ => Err(Failure::with_hint(
            format!("kernels are not '{name}'"),
            "they are 'native' (machine code), 'interpreted', or 'default': native where this build has LLVM",
        )),
    }
}

/// Serves one request for code on standard input, and ends the process: what `python -m piper._codegen_child` does.
#[pyfunction]
pub(crate) fn codegen_child(py: Python<'_>) -> i32 {
    py.detach(piper::codegen::serve_child)
}

/// Reads a `.pplan` file.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyExecutable> {
    let read = py.detach(|| Executable::read(&path));
    read.map(PyExecutable::new).map_err(|failure| failed(py, &failure))
}

/// One program for each device, and the kernels that they launch.
#[pyclass(name = "Executable", module = "piper", frozen)]
pub(crate) struct PyExecutable {
    executable: Arc<Executable>,
}

impl PyExecutable {
    pub(crate) fn new(executable: Executable) -> Self {
        Self { executable: Arc::new(executable) }
    }
}

#[pymethods]
impl PyExecutable {
    /// The name of the strategy.
    #[getter]
    fn name(&self) -> &str {
        &self.executable.plan.name
    }

    /// Axes of the mesh with their sizes, major to minor.
    #[getter]
    fn mesh(&self) -> Vec<(String, u64)> {
        let axes = self.executable.plan.mesh.iter();
        axes.map(|axis| (axis.name.clone(), axis.size as u64)).collect()
    }

    /// How many devices it is for.
    #[getter]
    fn num_devices(&self) -> usize {
        self.executable.plan.devices()
    }

    /// The inputs of a step: name, shape of the whole batch, element type.
    #[getter]
    fn inputs(&self) -> Vec<(String, Vec<u64>, &'static str)> {
        let inputs = self.executable.plan.inputs.iter();
        inputs.map(|i| (i.name.clone(), i.shape.clone(), i.dtype.name())).collect()
    }

    /// Parameters and the optimizer's state by name, with shape and element type.
    #[getter]
    fn states(&self) -> Vec<(String, Vec<u64>, &'static str)> {
        let states = self.executable.plan.states.tensors.iter();
        states.map(|s| (s.name.clone(), s.shape.clone(), s.dtype.name())).collect()
    }

    /// How the machine code was made; nothing if there is none, or it was read from a file.
    #[getter]
    fn code_report(&self) -> Option<String> {
        self.executable.code.as_ref().map(ToString::to_string)
    }

    /// The plan as text: its tables, and a program for each class of devices.
    fn text(&self) -> String {
        self.executable.text()
    }

    /// What each device issues, in order.
    fn launch_sequence(&self) -> String {
        self.executable.launch_sequence()
    }

    /// What one device issues, in order, as text.
    fn device_text(&self, device: usize) -> PyResult<String> {
        self.device(device)?;
        let plan = &self.executable.plan;
        Ok(piper::plan::print::launch_sequence(plan, device..device + 1, &|_| None))
    }

    /// What one device issues, in order: dictionaries with the operation, its name, stream, kernel and source line.
    fn device_program<'py>(&self, py: Python<'py>, device: usize) -> PyResult<Bound<'py, PyList>> {
        let program = self.device(device)?;
        let plan = &self.executable.plan;
        let one = |instr: &piper::plan::Instr| -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            let source = plan.sources.get(instr.source);
            let name = instr.name.clone().or_else(|| source.map(|s| s.name.clone()));
            dict.set_item("op", instr.kind.mnemonic())?;
            dict.set_item("name", name)?;
            dict.set_item("stream", &program.streams[usize::from(instr.stream)])?;
            if let piper::plan::Kind::Launch { kernel, .. } = instr.kind {
                dict.set_item("kernel", &plan.kernels[kernel.index()].symbol)?;
            }
            if let Some(source) = source.filter(|source| source.line > 0) {
                let file = &plan.sources.files[source.file as usize];
                dict.set_item("source", format!("{file}:{}:{}", source.line, source.col))?;
            }
            Ok(dict)
        };
        let all: Vec<_> = program.instrs.iter().map(one).collect::<PyResult<_>>()?;
        PyList::new(py, all)
    }

    /// Writes a `.pplan` file. What the interpreter computes is not in it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = py.detach(|| self.executable.write(&path));
        saved.map_err(|failure| failed(py, &failure))
    }

    /// The contents of a `.pplan` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.executable.plan.to_bytes())
    }

    /// Plays the programs on a model of a machine, which is TOML text.
    fn simulate_on(&self, py: Python<'_>, machine: &str) -> PyResult<PySimulation> {
        let machine = Machine::parse(machine);
        let machine =
            machine.map_err(|why| failed(py, &Failure::new(format!("in the machine: {why}"))))?;
        let outcome = py.detach(|| self.executable.simulate(&machine));
        let outcome = outcome.map_err(|failure| failed(py, &failure))?;
        Ok(PySimulation { executable: self.executable.clone(), machine, outcome })
    }

    /// Loads the programs on virtual devices, threads of this process, at the plan's initial state.
    #[pyo3(signature = (*, seed=0, timeout=60.0, threads_per_device=1, trace=false))]
    fn train(
        &self,
        py: Python<'_>,
        seed: u64,
        timeout: f64,
        threads_per_device: usize,
        trace: bool,
    ) -> PyResult<PyTraining> {
        PyTraining::load(py, &self.executable, seed, timeout, threads_per_device, trace)
    }

    fn __repr__(&self) -> String {
        let plan = &self.executable.plan;
        format!("<Executable @{} for {} devices>", plan.name, plan.devices())
    }
}

impl PyExecutable {
    fn device(&self, device: usize) -> PyResult<&piper::plan::Program> {
        let plan = &self.executable.plan;
        match plan.device_program.get(device) {
            Some(id) => Ok(&plan.programs[id.index()]),
            None => {
                let count = plan.devices();
                let text = format!("there is no device {device}; there are {count}, from 0");
                Err(PyIndexError::new_err(text))
            }
        }
    }
}

/// A simulated step.
#[pyclass(name = "Simulation", module = "piper", frozen)]
pub(crate) struct PySimulation {
    executable: Arc<Executable>,
    machine: Machine,
    outcome: Outcome,
}

#[pymethods]
impl PySimulation {
    /// Seconds of the step.
    #[getter]
    fn makespan(&self) -> f64 {
        self.outcome.makespan
    }

    /// Seconds it would take if devices and ports were never busy with something else.
    #[getter]
    fn critical_path(&self) -> f64 {
        self.outcome.critical_path
    }

    /// The part of the step in which devices compute.
    #[getter]
    fn busy(&self) -> f64 {
        self.outcome.busy()
    }

    /// The part of the step in which devices only wait for the wire.
    #[getter]
    fn exposed(&self) -> f64 {
        self.outcome.exposed()
    }

    /// The part of the step in which devices neither compute nor wait for the wire.
    #[getter]
    fn bubble(&self) -> f64 {
        self.outcome.bubble()
    }

    /// The most bytes that are alive on any device.
    #[getter]
    fn peak_memory(&self) -> u64 {
        self.outcome.ranks.iter().map(|rank| rank.memory.peak).max().unwrap_or(0)
    }

    /// The outcome for people.
    fn table(&self) -> String {
        table::render(&self.executable.plan, &self.machine, &self.outcome)
    }

    /// The outcome for programs.
    fn json(&self) -> String {
        json::render(&self.executable.plan, &self.machine, &self.outcome)
    }

    /// The timeline, for Perfetto.
    fn trace_json(&self) -> String {
        trace::render(&self.executable.plan, &self.outcome)
    }

    fn __str__(&self) -> String {
        self.table()
    }
}
