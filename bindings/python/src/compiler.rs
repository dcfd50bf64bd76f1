//! What is known, dialects and passes, and those that Python adds.

use std::sync::{Arc, Mutex, PoisonError};

use piper::Pass;
use piper::ir::pass::Origin;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::module::PyModule;
use crate::pass;

/// A compiler, and what Python raised inside it.
pub(crate) struct Known {
    pub(crate) compiler: Arc<piper::Compiler>,
    /// An interrupt (what is no `Exception`) that a pass in Python raised: it ends the run and goes on.
    pub(crate) raised: Option<PyErr>,
}

impl Known {
    pub(crate) fn new() -> Arc<Mutex<Self>> {
        let compiler = Arc::new(piper::Compiler::new());
        Arc::new(Mutex::new(Self { compiler, raised: None }))
    }

    /// The compiler of modules that name none: Piper's dialects and passes. Nothing can be added to it, so that it is not a state.
    pub(crate) fn shared() -> Arc<Mutex<Self>> {
        static SHARED: PyOnceLock<Arc<Mutex<Known>>> = PyOnceLock::new();
        Python::attach(|py| SHARED.get_or_init(py, Self::new).clone())
    }
}

/// Dialects and passes. `Module.parse` uses Piper's own unless it is given another compiler.
#[pyclass(name = "Compiler", module = "piper", frozen)]
pub(crate) struct PyCompiler {
    pub(crate) known: Arc<Mutex<Known>>,
}

impl PyCompiler {
    /// Changes the compiler. It is locked only meanwhile: to make a Python object, an exception too, may run finalizers, and these
    /// may use the compiler.
    fn change<R>(&self, change: impl FnOnce(&mut piper::Compiler) -> R) -> R {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut known.compiler))
    }
}

#[pymethods]
impl PyCompiler {
    #[new]
    fn new() -> Self {
        Self { known: Known::new() }
    }

    /// Reads a text. `name` is what messages call it.
    #[pyo3(signature = (text, name="<string>"))]
    fn parse(&self, py: Python<'_>, text: &str, name: &str) -> PyResult<PyModule> {
        let compiler = self.known.lock().unwrap_or_else(PoisonError::into_inner).compiler.clone();
        let program = py.detach(|| compiler.parse(name, text));
        let program = program.map_err(|failure| crate::diagnostic::failed(py, &failure))?;
        Ok(PyModule::new(program, self.known.clone()))
    }

    /// An empty module, to be built.
    #[pyo3(signature = (name="<module>"))]
    fn module(&self, name: &str) -> PyModule {
        let compiler = self.known.lock().unwrap_or_else(PoisonError::into_inner).compiler.clone();
        PyModule::new(compiler.program(name), self.known.clone())
    }

    /// The names of all passes with what each does.
    #[getter]
    fn passes(&self) -> Vec<(String, String)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let all = known.compiler.passes().iter();
        all.map(|pass| (pass.name.to_string(), pass.summary.to_string())).collect()
    }

    /// Adds a pass: `function` gets a `PassContext`. A name that is taken or is none is an error. A name that begins with `print-` says that
    /// the pass changes nothing.
    #[pyo3(signature = (name, function, *, summary=""))]
    fn register_pass(&self, name: &str, function: Py<PyAny>, summary: &str) -> PyResult<()> {
        let (known, called) = (self.known.clone(), name.to_owned());
        let run = move |cx: &mut piper::ir::pass::PassContext<'_, '_>| {
            pass::run(&called, &function, &known, cx)
        };
        let mut info = Pass::from_fn(name.to_owned(), summary.to_owned(), run);
        info.origin = Origin::Host("Python".into());
        let added = self.change(|compiler| compiler.register_pass(info).map(|_| ()));
        added.map_err(|why| PyValueError::new_err(why.to_string()))
    }

    /// Adds the dialects that a text of `irdl` operations defines, for modules made from now on. `name` is what messages call the
    /// text. Nothing is added if anything is wrong with it.
    #[pyo3(signature = (text, name="<dialect>"))]
    fn register_dialect_text(&self, py: Python<'_>, text: &str, name: &str) -> PyResult<()> {
        let added = self.change(|compiler| compiler.register_dialect_text(name, text).map(|_| ()));
        added.map_err(|failure| crate::diagnostic::failed(py, &failure))
    }
}
