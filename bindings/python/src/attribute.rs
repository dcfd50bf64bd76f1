//! Attributes as Python values: numbers, strings, lists and dictionaries are what they are in Python; everything else is its text.

use std::sync::Arc;

use piper::ir::diag::Reporter;
use piper::ir::text::parse_module;
use piper::ir::types::TypeData;
use piper::ir::{Attr, AttrConstraint, AttrData, Context, FloatKind, SourceFile};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// An attribute or a type that Python has no value for, as MLIR writes it: `Attribute("#nn.init<zeros>")`,
/// `Attribute("tensor<4xf32>")`.
#[pyclass(name = "Attribute", module = "piper", frozen, eq, hash, get_all)]
#[derive(PartialEq, Eq, Hash, Clone)]
pub(crate) struct PyAttribute {
    /// The text.
    pub(crate) text: String,
}

#[pymethods]
impl PyAttribute {
    #[new]
    fn new(text: String) -> Self {
        Self { text }
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("Attribute({:?})", self.text)
    }
}

/// An attribute as a Python value.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    ctx: &Context,
    attr: Attr,
) -> PyResult<Bound<'py, PyAny>> {
    match attr.data(ctx) {
        AttrData::Unit => true.into_bound_py_any(py),
        AttrData::Int { value, ty } if *ty == ctx.i1() => (*value != 0).into_bound_py_any(py),
        AttrData::Int { value, .. } => value.into_bound_py_any(py),
        AttrData::Float { .. } => match attr.as_float(ctx) {
            Some(number) => number.into_bound_py_any(py),
            None => as_text(py, ctx, attr),
        },
        AttrData::Str(text) => (**text).into_bound_py_any(py),
        AttrData::Array(items) => {
            let items: Vec<_> =
                items.iter().map(|item| to_python(py, ctx, *item)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_bound_py_any(py)
        }
        AttrData::Dict(entries) => {
            let dict = PyDict::new(py);
            for (name, value) in entries {
                dict.set_item(name.text(ctx), to_python(py, ctx, *value)?)?;
            }
            dict.into_bound_py_any(py)
        }
        AttrData::DenseArray { .. } => match (attr.as_int_array(ctx), attr.as_float_array(ctx)) {
            (Some(numbers), _) => PyList::new(py, numbers)?.into_bound_py_any(py),
            (None, Some(numbers)) => PyList::new(py, numbers)?.into_bound_py_any(py),
            (None, None) => as_text(py, ctx, attr),
        },
        _ => as_text(py, ctx, attr),
    }
}

fn as_text<'py>(py: Python<'py>, ctx: &Context, attr: Attr) -> PyResult<Bound<'py, PyAny>> {
    Ok(Bound::new(py, PyAttribute { text: attr.display(ctx) })?.into_any())
}

/// A Python value as an attribute, of the kind that is asked for where there are several; nothing for `None` and for a flag that is
/// not set.
pub(crate) fn from_python(
    ctx: &Arc<Context>,
    value: &Bound<'_, PyAny>,
    wanted: Option<&AttrConstraint>,
) -> PyResult<Option<Attr>> {
    let accepts = |attr: Attr| wanted.is_none_or(|wanted| wanted.accepts(ctx, attr));
    if value.is_none() {
        return Ok(None);
    }
    if value.is_instance_of::<PyBool>() {
        let is_set: bool = value.extract()?;
        let boolean = ctx.bool_attr(is_set);
        return Ok(match (is_set, wanted.is_some() && accepts(boolean)) {
            (_, true) => Some(boolean),
            (true, false) => Some(ctx.unit()),
            (false, false) => None,
        });
    }
    if value.is_instance_of::<PyInt>() {
        let number: i64 = value.extract().map_err(|_| {
            PyValueError::new_err(format!("{value} is no attribute: it does not fit 64 bits"))
        })?;
        let (whole, float) = (ctx.int_attr(number), ctx.float_attr(number as f64));
        return Ok(Some(if !accepts(whole) && accepts(float) { float } else { whole }));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(ctx.float_attr(value.extract()?)));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Some(ctx.str_attr(value.extract()?)));
    }
    if let Ok(attribute) = value.cast::<PyAttribute>() {
        return parsed(ctx, &attribute.get().text).map(Some).map_err(PyValueError::new_err);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: Vec<Bound<'_, PyAny>> = value.try_iter()?.collect::<PyResult<_>>()?;
        let whole: Option<Vec<i64>> = items.iter().map(|item| item.extract().ok()).collect();
        if let (Some(numbers), Some(_)) = (whole, wanted) {
            let array = ctx.int_array_attr(&numbers);
            if accepts(array) {
                return Ok(Some(array));
            }
        }
        let attrs: Vec<Attr> = items
            .iter()
            .map(|item| from_python(ctx, item, None)?.ok_or_else(|| no_attribute(item)))
            .collect::<PyResult<_>>()?;
        return Ok(Some(ctx.array_attr(attrs)));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut entries = Vec::new();
        for (name, value) in dict.iter() {
            if let Some(attr) = from_python(ctx, &value, None)? {
                entries.push((ctx.name(name.extract()?), attr));
            }
        }
        return Ok(Some(ctx.dict_attr(entries)));
    }
    Err(no_attribute(value))
}

fn no_attribute(value: &Bound<'_, PyAny>) -> PyErr {
    let shown = value.repr().map_or_else(|_| "this value".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!(
        "{shown} cannot be an attribute: give a bool, int, float, str, list, dict, or piper.Attribute(text)"
    ))
}

/// An attribute or a type from its text.
pub(crate) fn parsed(ctx: &Arc<Context>, text: &str) -> Result<Attr, String> {
    let source =
        SourceFile::new("attribute", format!("module attributes {{value = {text}\n}} {{}}"));
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &source, &mut reporter);
    let found =
        module.as_ref().filter(|m| m.top_level().is_empty()).and_then(|module| {
            match &module.discardable(module.root()).collect::<Vec<_>>()[..] {
                [(_, attr)] => Some(*attr),
                _ => None,
            }
        });
    found.ok_or_else(|| {
        let why = reporter.diagnostics().first().map(|d| d.message.clone());
        let why = why.unwrap_or_else(|| "it is more than one attribute".to_owned());
        format!("'{text}' is no attribute: {why}")
    })
}

/// The element type of a tensor as Python calls it, `f32`, and its shape; -1 is a size that is not known.
pub(crate) fn tensor(ctx: &Context, ty: piper::ir::Type) -> Option<(Vec<i64>, String)> {
    let (shape, element) = ty.as_tensor(ctx)?;
    let name = match element.data(ctx) {
        TypeData::Float(kind) => FloatKind::spelling(*kind).to_owned(),
        _ => element.display(ctx),
    };
    let size = |size: &i64| if *size == piper::ir::DYNAMIC { -1 } else { *size };
    Some((shape.iter().map(size).collect(), name))
}
