//! What is declared, for the Python half: operations of a dialect, schedules, and types that follow from operands.

use std::sync::{Arc, PoisonError};

use piper::ir::{Arity, Context, InferTypes, OpDef, Type};
use piper::schedule::generate::{Placed, SCHEDULES};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};

use crate::attribute;
use crate::compiler::Known;
use crate::module::{inferred, parts};

/// A context for questions that are about no module.
fn context(py: Python<'_>) -> Arc<Context> {
    static CONTEXT: PyOnceLock<Arc<Context>> = PyOnceLock::new();
    let make = || {
        let known = Known::shared();
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.compiler.program("questions").module.ctx_arc()
    };
    CONTEXT.get_or_init(py, make).clone()
}

fn arity(arity: Arity) -> &'static str {
    match arity {
        Arity::One => "one",
        Arity::Optional => "optional",
        Arity::Variadic => "variadic",
    }
}

/// The operations of a dialect as dictionaries: name, summary, description, operands, attributes, results, and whether result types
/// follow from the rest.
#[pyfunction]
pub(crate) fn operations<'py>(py: Python<'py>, dialect: &str) -> PyResult<Bound<'py, PyList>> {
    let ctx = context(py);
    let found = ctx.dialects().iter().find(|known| known.name == dialect);
    let Some(found) = found else {
        let names: Vec<_> = ctx.dialects().iter().map(|known| known.name.to_string()).collect();
        let text = format!("no dialect is called '{dialect}'; there are {}", names.join(", "));
        return Err(PyValueError::new_err(text));
    };
    let all: Vec<_> = found.ops.iter().map(|op| operation(py, op)).collect::<PyResult<_>>()?;
    PyList::new(py, all)
}

fn operation<'py>(py: Python<'py>, op: &OpDef) -> PyResult<Bound<'py, PyDict>> {
    let values = |all: &[piper::ir::ValueDef]| -> Vec<(String, &'static str, String)> {
        let one = |v: &piper::ir::ValueDef| {
            (v.name.to_string(), arity(v.arity), v.constraint.describe().into_owned())
        };
        all.iter().map(one).collect()
    };
    let attrs: Vec<(String, bool, String)> = op
        .attrs
        .iter()
        .map(|a| (a.name.to_string(), a.required, a.constraint.describe().into_owned()))
        .collect();
    let dict = PyDict::new(py);
    dict.set_item("name", op.name.as_ref())?;
    dict.set_item("summary", op.summary.as_ref())?;
    dict.set_item("description", op.description.as_ref())?;
    dict.set_item("operands", values(&op.operands))?;
    dict.set_item("attributes", attrs)?;
    dict.set_item("results", values(&op.results))?;
    dict.set_item("infers", op.interface::<InferTypes>().is_some())?;
    Ok(dict)
}

/// The result types of an operation, from the types of its operands and its attributes.
#[pyfunction]
#[pyo3(signature = (name, operands, attributes=None))]
pub(crate) fn infer_types(
    py: Python<'_>,
    name: &str,
    operands: Vec<String>,
    attributes: Option<Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    let ctx = context(py);
    let (attrs, types) = parts(&ctx, name, attributes.as_ref(), Some(&operands))?;
    let types: Vec<Type> = types.unwrap_or_default();
    let op_name = ctx.op_name(name);
    if let Some(def) = op_name.def(&ctx) {
        // What a verifier would say is said here, where the call stands in the program.
        for (operand, ty) in def.operands.iter().zip(&types) {
            if !operand.constraint.accepts(&ctx, *ty) {
                return Err(PyValueError::new_err(format!(
                    "'{name}': operand '{}' must be {}, but is {}",
                    operand.name,
                    operand.constraint.describe(),
                    ty.display(&ctx)
                )));
            }
        }
        for attr in &def.attrs {
            let given = attrs.iter().find(|(key, _)| key.text(&ctx) == attr.name);
            let text = match given {
                None if attr.required => "is missing".to_owned(),
                Some((_, value)) if !attr.constraint.accepts(&ctx, *value) => {
                    format!(
                        "must be {}, but is {}",
                        attr.constraint.describe(),
                        value.display(&ctx)
                    )
                }
                _ => continue,
            };
            return Err(PyValueError::new_err(format!("'{name}': '{}' {text}", attr.name)));
        }
    }
    let found = inferred(&ctx, name, &types, &attrs).map_err(PyValueError::new_err)?;
    Ok(found.iter().map(|ty| ty.display(&ctx)).collect())
}

/// An attribute as it is written in a module, for an operation whose attribute `key` it is.
#[pyfunction]
pub(crate) fn attribute_text(
    py: Python<'_>,
    name: &str,
    key: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<String>> {
    let ctx = context(py);
    let op_name = ctx.op_name(name);
    let wanted = op_name.def(&ctx).and_then(|def| Some(&def.attrs[def.attr_slot(key)?].constraint));
    Ok(attribute::from_python(&ctx, value, wanted)?.map(|attr| attr.display(&ctx)))
}

/// The pipeline schedules: name, summary, and how stages lie on ranks: `"loop"`, `"vee"` or `"bidirectional"`.
#[pyfunction]
pub(crate) fn schedules() -> Vec<(&'static str, &'static str, &'static str)> {
    let placed = |placed| match placed {
        Placed::Loop => "loop",
        Placed::Vee => "vee",
        Placed::Bidirectional => "bidirectional",
    };
    SCHEDULES.iter().map(|s| (s.name, s.summary, placed(s.placed))).collect()
}
