//! What the compiler says, as Python values, and the exception that carries them.

use piper::ir::diag::Position;
use piper::ir::{Context, Severity, SourceFile, Sources};
use piper::{Failure, Message};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

/// A further fact of a diagnostic, at a place of its own.
#[pyclass(name = "Note", module = "piper", frozen, get_all)]
pub(crate) struct PyNote {
    message: String,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

#[pymethods]
impl PyNote {
    fn __repr__(&self) -> String {
        format!("<Note {:?}>", self.message)
    }
}

/// What the compiler says of a program: an error, a warning or a remark, with its place.
#[pyclass(name = "Diagnostic", module = "piper", frozen, get_all)]
pub(crate) struct PyDiagnostic {
    /// `"error"`, `"warning"`, `"remark"` or `"note"`.
    severity: String,
    message: String,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    notes: Vec<Py<PyNote>>,
    hint: Option<String>,
    /// All of it with the source lines, as the tools print it.
    rendered: String,
}

#[pymethods]
impl PyDiagnostic {
    #[new]
    #[pyo3(signature = (severity, message, *, hint=None, place=None, source=None))]
    fn new(
        severity: &str,
        message: String,
        hint: Option<String>,
        place: Option<(String, u32, u32)>,
        source: Option<String>,
    ) -> PyResult<Self> {
        let known = [Severity::Error, Severity::Warning, Severity::Remark, Severity::Note];
        let Some(found) = known.into_iter().find(|known| known.text() == severity) else {
            let known = known.map(Severity::text).join(", ");
            let text = format!("severity is one of {known}, not '{severity}'");
            return Err(pyo3::exceptions::PyValueError::new_err(text));
        };
        let (ctx, mut sources) = (Context::new([]), Sources::default());
        let loc = match place {
            Some((file, line, column)) => {
                let loc = ctx.file_loc(&file, line, column);
                sources.add(SourceFile::new(file, source.unwrap_or_default()));
                loc
            }
            None => ctx.unknown_loc(),
        };
        let mut diagnostic = piper::ir::Diagnostic::new(found, loc, message);
        diagnostic.hint = hint;
        let said = Message::of(&ctx, &sources, &diagnostic);
        let (file, line, column) = parts(said.place.as_ref());
        Ok(Self {
            severity: severity.to_owned(),
            message: said.text,
            file,
            line,
            column,
            notes: Vec::new(),
            hint: said.hint,
            rendered: said.rendered,
        })
    }

    fn __str__(&self) -> &str {
        self.rendered.trim_end()
    }

    fn __repr__(&self) -> String {
        let place = match (&self.file, self.line, self.column) {
            (Some(file), Some(line), Some(column)) => format!(" at {file}:{line}:{column}"),
            _ => String::new(),
        };
        format!("<Diagnostic {}{place}: {:?}>", self.severity, self.message)
    }
}

impl PyDiagnostic {
    /// A message as an object.
    pub(crate) fn of(py: Python<'_>, message: &Message) -> PyResult<Py<Self>> {
        let note = |note: &piper::MessageNote| {
            let (file, line, column) = parts(note.place.as_ref());
            Py::new(py, PyNote { message: note.text.clone(), file, line, column })
        };
        let (file, line, column) = parts(message.place.as_ref());
        let diagnostic = Self {
            severity: message.severity.text().to_owned(),
            message: message.text.clone(),
            file,
            line,
            column,
            notes: message.notes.iter().map(note).collect::<PyResult<_>>()?,
            hint: message.hint.clone(),
            rendered: message.rendered.clone(),
        };
        Py::new(py, diagnostic)
    }

    /// Messages as a list.
    pub(crate) fn list<'py>(py: Python<'py>, messages: &[Message]) -> PyResult<Bound<'py, PyList>> {
        let all: Vec<Py<Self>> =
            messages.iter().map(|message| Self::of(py, message)).collect::<PyResult<_>>()?;
        PyList::new(py, all)
    }
}

fn parts(place: Option<&Position>) -> (Option<String>, Option<u32>, Option<u32>) {
    (place.map(|p| p.file.clone()), place.map(|p| p.line), place.map(|p| p.column))
}

/// The exception of a failure: `piper.PiperError`, with all that was said as `.diagnostics`.
pub(crate) fn failed(py: Python<'_>, failure: &Failure) -> PyErr {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let raise = || -> PyResult<PyErr> {
        let class = CLASS.get_or_try_init(py, || {
            py.import("piper._errors")?.getattr("PiperError").map(Bound::unbind)
        })?;
        let diagnostics = PyDiagnostic::list(py, failure.messages())?;
        Ok(PyErr::from_value(class.bind(py).call1((diagnostics,))?))
    };
    raise().unwrap_or_else(|error| error)
}

/// The exception of an error about no line of a source.
pub(crate) fn wrong(py: Python<'_>, message: impl Into<String>) -> PyErr {
    failed(py, &Failure::new(message))
}
