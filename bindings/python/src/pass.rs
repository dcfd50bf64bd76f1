//! Passes written in Python: called with the module, whose program is theirs for the time of the call.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use piper::Program;
use piper::ir::pass::{PassContext, PassFailed, PassResult};
use piper::ir::{Loc, Module, Severity, Sources};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTracebackMethods;

use crate::compiler::Known;
use crate::held::Held;
use crate::module::PyModule;
use crate::operation::{At, PyOperation};

/// What a pass says.
struct Said {
    severity: Severity,
    loc: Loc,
    text: String,
    hint: Option<String>,
}

/// What a pass works on and with: the module, and where its remarks and errors go. It ends with the pass.
#[pyclass(name = "PassContext", module = "piper", frozen)]
pub(crate) struct PyPassContext {
    held: Arc<Held>,
    known: Arc<Mutex<Known>>,
    /// The name of the pass.
    #[pyo3(get)]
    name: String,
    said: Mutex<Vec<Said>>,
}

#[pymethods]
impl PyPassContext {
    /// The module, to be read and changed.
    #[getter]
    fn module(&self) -> PyModule {
        PyModule::of(self.held.clone(), self.known.clone())
    }

    /// All operations, outer before inner.
    fn walk(&self) -> PyResult<Vec<PyOperation>> {
        let at = At { held: self.held.clone(), generation: self.held.generation() };
        self.held.with(|program| {
            program.module.walk(program.module.root()).map(|op| at.op(op)).collect()
        })
    }

    /// Says something about an operation, or about the module.
    #[pyo3(signature = (text, op=None, *, hint=None))]
    fn remark(&self, text: String, op: Option<&PyOperation>, hint: Option<String>) -> PyResult<()> {
        self.say(Severity::Remark, text, op, hint)
    }

    /// Warns of an operation.
    #[pyo3(signature = (text, op=None, *, hint=None))]
    fn warning(
        &self,
        text: String,
        op: Option<&PyOperation>,
        hint: Option<String>,
    ) -> PyResult<()> {
        self.say(Severity::Warning, text, op, hint)
    }

    /// Reports a fault of an operation; the pass has failed, but goes on.
    #[pyo3(signature = (text, op=None, *, hint=None))]
    fn error(&self, text: String, op: Option<&PyOperation>, hint: Option<String>) -> PyResult<()> {
        self.say(Severity::Error, text, op, hint)
    }
}

impl PyPassContext {
    fn say(
        &self,
        severity: Severity,
        text: String,
        op: Option<&PyOperation>,
        hint: Option<String>,
    ) -> PyResult<()> {
        let loc = match op {
            Some(op) => self.held.with_op(op.op, op.at.generation, |p| p.module.op_loc(op.op))?,
            None => self.held.with(|program| program.module.op_loc(program.module.root()))?,
        };
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.push(Said { severity, loc, text, hint });
        Ok(())
    }
}

/// Why a module that a pass kept is of no use.
const ENDED: &str = "this module belonged to a pass, which has ended";

thread_local! {
    /// The passes that this thread is in, outermost first, with the compilers they belong to.
    static RUNNING: RefCell<Vec<(usize, String)>> = const { RefCell::new(Vec::new()) };
}

/// That a pass runs on this thread, for as long as this lives.
struct Running;

/// How many passes may run in each other: each takes stack of this thread, of which Python's own limit knows nothing.
const DEEPEST: usize = 16;

impl Running {
    /// Why the pass may not run here. One that runs here already would begin anew with each run, and its messages would quote each
    /// other.
    fn enter(name: &str, known: &Arc<Mutex<Known>>) -> Result<Self, String> {
        RUNNING.with_borrow_mut(|running| {
            let entry = (Arc::as_ptr(known).addr(), name.to_owned());
            if running.contains(&entry) {
                return Err(format!("pass '{name}' runs itself"));
            }
            if running.len() == DEEPEST {
                return Err(format!("pass '{name}' is run by {DEEPEST} passes, each by the next"));
            }
            running.push(entry);
            Ok(Self)
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(Vec::pop);
    }
}

/// Calls the function of a pass.
pub(crate) fn run(
    name: &str,
    function: &Py<PyAny>,
    known: &Arc<Mutex<Known>>,
    cx: &mut PassContext<'_, '_>,
) -> PassResult {
    let _running = match Running::enter(name, known) {
        Ok(running) => running,
        Err(why) => {
            let root = cx.module.op_loc(cx.module.root());
            cx.reporter.error(root, why).hint("let the function call itself instead");
            return Err(PassFailed);
        }
    };
    let empty = Module::new(cx.module.ctx_arc());
    let module = std::mem::replace(cx.module, empty);
    let program = Program { module, sources: Sources::default(), name: "<pass>".to_owned() };
    let held = Held::new(program);
    let (raised, said) = Python::attach(|py| {
        let context = PyPassContext {
            held: held.clone(),
            known: known.clone(),
            name: name.to_owned(),
            said: Mutex::default(),
        };
        let context = match Bound::new(py, context) {
            Ok(context) => context,
            Err(error) => return (Some(Raised::of(py, error)), Vec::new()),
        };
        let outcome = function.call1(py, (context.clone(),));
        // Before the lock: reading an exception runs Python, which may say something too.
        let raised = outcome.err().map(|error| Raised::of(py, error));
        let mut said = context.get().said.lock().unwrap_or_else(PoisonError::into_inner);
        (raised, std::mem::take(&mut *said))
    });
    let errors = cx.reporter.error_count();
    match held.end(ENDED) {
        Some(program) => *cx.module = program.module,
        None => {
            let root = cx.module.op_loc(cx.module.root());
            let text =
                format!("pass '{name}' left its module to another thread that runs passes on it");
            cx.reporter.error(root, text);
            return Err(PassFailed);
        }
    }
    for Said { severity, loc, text, hint } in said {
        let mut diagnostic = piper::ir::Diagnostic::new(severity, loc, text);
        diagnostic.hint = hint;
        cx.reporter.report(diagnostic);
    }
    if let Some(raised) = raised {
        let root = cx.module.op_loc(cx.module.root());
        let diagnostic = cx.reporter.error(root, format!("pass '{name}' raised {}", raised.text));
        if let Some((file, line, traceback)) = raised.place {
            let place = cx.module.ctx().file_loc(&file, line, 1);
            diagnostic.note(place, traceback);
        }
        if let Some(interrupt) = raised.interrupt {
            known.lock().unwrap_or_else(PoisonError::into_inner).raised = Some(interrupt);
        }
        return Err(PassFailed);
    }
    cx.fail_if_errors_since(errors)
}

/// An exception of a pass, as far as a diagnostic tells it.
struct Raised {
    text: String,
    /// The innermost frame, with the traceback as text.
    place: Option<(String, u32, String)>,
    /// The exception itself, if it asks for the end of the program rather than of the pass.
    interrupt: Option<PyErr>,
}

impl Raised {
    fn of(py: Python<'_>, error: PyErr) -> Self {
        let kind = error.get_type(py).name().map_or_else(|_| "?".into(), |name| name.to_string());
        let value = error.value(py).to_string();
        let text = if value.is_empty() { kind } else { format!("{kind}: {value}") };
        let place = error.traceback(py).and_then(|traceback| {
            let shown = traceback.format().ok()?;
            let mut last = traceback.into_any();
            while let Ok(next) = last.getattr("tb_next")
                && !next.is_none()
            {
                last = next;
            }
            let line = last.getattr("tb_lineno").ok()?.extract().ok()?;
            let code = last.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
            let file = code.getattr("co_filename").ok()?.extract().ok()?;
            Some((file, line, shown.trim_end().to_owned()))
        });
        let is_exception = error.is_instance_of::<PyException>(py);
        Self { text, place, interrupt: (!is_exception).then_some(error) }
    }
}
