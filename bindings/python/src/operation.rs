//! Operations, values and blocks as Python objects: a position in a program, checked when it is used.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use piper::Program;
use piper::ir::text::{PrintOptions, print_op};
use piper::ir::{Block, Module, Op, Value, ValueDefinition};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attribute;
use crate::held::Held;

/// What every handle knows beside its own position.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) held: Arc<Held>,
    pub(crate) generation: u64,
}

impl At {
    pub(crate) fn op(&self, op: Op) -> PyOperation {
        PyOperation { at: self.clone(), op }
    }

    fn value(&self, value: Value, owner: Op) -> PyValue {
        PyValue { at: self.clone(), value, owner }
    }

    fn block(&self, block: Block, owner: Op) -> PyBlock {
        PyBlock { at: self.clone(), block, owner }
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.held, &other.held) && self.generation == other.generation
    }

    fn hash_with(&self, what: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.held) as usize, what).hash(&mut hasher);
        hasher.finish()
    }
}

/// An operation of a module.
#[pyclass(name = "Operation", module = "piper", frozen)]
pub(crate) struct PyOperation {
    pub(crate) at: At,
    pub(crate) op: Op,
}

impl PyOperation {
    fn with<R>(&self, work: impl FnOnce(&mut Program) -> R) -> PyResult<R> {
        self.at.held.with_op(self.op, self.at.generation, work)
    }

    fn read<R>(&self, work: impl FnOnce(&Module) -> R) -> PyResult<R> {
        self.with(|program| work(&program.module))
    }

    fn same_module(&self, other: &At) -> PyResult<()> {
        match self.at.is(other) {
            true => Ok(()),
            false => Err(PyValueError::new_err("this is of another module")),
        }
    }
}

#[pymethods]
impl PyOperation {
    /// Its full name, as `"nn.linear"`.
    #[getter]
    fn name(&self) -> PyResult<String> {
        self.read(|module| module.name_text(self.op).to_owned())
    }

    /// What it is called by others: the name after `@`, if it has one.
    #[getter]
    fn symbol(&self) -> PyResult<Option<String>> {
        self.read(|module| module.symbol_name(self.op).map(str::to_owned))
    }

    /// The values that it takes.
    #[getter]
    fn operands(&self) -> PyResult<Vec<PyValue>> {
        self.read(|module| {
            module
                .operands(self.op)
                .map(|value| self.at.value(value, owner(module, value)))
                .collect()
        })
    }

    /// The values that it makes.
    #[getter]
    fn results(&self) -> PyResult<Vec<PyValue>> {
        self.read(|module| {
            module.results(self.op).map(|value| self.at.value(value, self.op)).collect()
        })
    }

    /// All attributes by name, declared ones first; a copy.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(|module| {
            let ctx = module.ctx();
            let dict = PyDict::new(py);
            for (name, attr) in module.all_attrs(self.op) {
                dict.set_item(name.text(ctx), attribute::to_python(py, ctx, attr)?)?;
            }
            Ok(dict)
        })?
    }

    /// The attribute of this name, or `default`.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.read(|module| {
            let attr = module.attr_by(self.op, name)?;
            Some(attribute::to_python(py, module.ctx(), attr))
        })?;
        found.transpose().map(|found| found.or(default))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, name, None)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn __contains__(&self, name: &str) -> PyResult<bool> {
        self.read(|module| module.attr_by(self.op, name).is_some())
    }

    fn __setitem__(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (ctx, wanted) = self.read(|module| {
            let wanted = module.def(self.op).and_then(|def| {
                let slot = def.attr_slot(name)?;
                Some(def.attrs[slot].constraint.clone())
            });
            (module.ctx_arc(), wanted)
        })?;
        let attr = attribute::from_python(&ctx, value, wanted.as_ref())?;
        self.with(|program| match attr {
            Some(attr) => program.module.set_attr_by(self.op, name, attr),
            None => {
                program.module.remove_attr(self.op, ctx.name(name));
            }
        })
    }

    fn __delitem__(&self, name: &str) -> PyResult<()> {
        let removed = self.with(|program| {
            let key = program.module.ctx().name(name);
            program.module.remove_attr(self.op, key)
        })?;
        removed.map(drop).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// File, line and column, if it comes from a text.
    #[getter]
    fn location(&self) -> PyResult<Option<(String, u32, u32)>> {
        self.read(|module| {
            let (file, line, column) = module.op_loc(self.op).file_position(module.ctx())?;
            Some((file.to_owned(), line, column))
        })
    }

    /// The operation in whose region it stands.
    #[getter]
    fn parent(&self) -> PyResult<Option<Self>> {
        self.read(|module| module.parent_op(self.op).map(|op| self.at.op(op)))
    }

    /// The block in which it stands.
    #[getter]
    fn block(&self) -> PyResult<Option<PyBlock>> {
        self.read(|module| {
            let block = module.parent_block(self.op)?;
            Some(self.at.block(block, module.parent_op(self.op).unwrap_or(self.op)))
        })
    }

    /// The blocks of each region.
    #[getter]
    fn regions(&self) -> PyResult<Vec<Vec<PyBlock>>> {
        self.read(|module| {
            let blocks =
                |region| module.blocks(region).map(|block| self.at.block(block, self.op)).collect();
            module.regions(self.op).iter().map(|region| blocks(*region)).collect()
        })
    }

    /// The operation after it in its block.
    #[getter]
    fn next(&self) -> PyResult<Option<Self>> {
        self.read(|module| module.next_op(self.op).map(|op| self.at.op(op)))
    }

    /// The operation before it in its block.
    #[getter]
    fn previous(&self) -> PyResult<Option<Self>> {
        self.read(|module| module.prev_op(self.op).map(|op| self.at.op(op)))
    }

    /// Itself and everything in its regions, outer before inner.
    fn walk(&self) -> PyResult<Vec<Self>> {
        self.read(|module| module.walk(self.op).map(|op| self.at.op(op)).collect())
    }

    /// Whether any of its results is used.
    #[getter]
    fn is_used(&self) -> PyResult<bool> {
        self.read(|module| module.has_used_result(self.op))
    }

    /// Replaces one of its operands.
    fn set_operand(&self, index: usize, value: &PyValue) -> PyResult<()> {
        self.same_module(&value.at)?;
        self.with(|program| match index < program.module.num_operands(self.op) {
            true => {
                program.module.set_operand(self.op, index, value.value);
                Ok(())
            }
            false => Err(PyValueError::new_err(format!("it has no operand {index}"))),
        })?
    }

    /// Moves it in front of another operation.
    fn move_before(&self, other: &Self) -> PyResult<()> {
        self.same_module(&other.at)?;
        self.with(|program| {
            let module = &mut program.module;
            if module.parent_block(other.op).is_none() {
                return Err(PyValueError::new_err("nothing can stand before the module itself"));
            }
            if module.walk(self.op).any(|inner| inner == other.op) {
                return Err(PyValueError::new_err("an operation cannot stand in itself"));
            }
            module.move_before(self.op, other.op);
            Ok(())
        })?
    }

    /// Lets everybody who uses its results use these values instead.
    fn replace_uses(&self, values: Vec<PyRef<'_, PyValue>>) -> PyResult<()> {
        for value in &values {
            self.same_module(&value.at)?;
        }
        self.with(|program| {
            let module = &mut program.module;
            let results: Vec<Value> = module.results(self.op).collect();
            if results.len() != values.len() {
                let text = format!("it has {} results, not {}", results.len(), values.len());
                return Err(PyValueError::new_err(text));
            }
            for (old, new) in results.into_iter().zip(&values) {
                if module.ty(old) != module.ty(new.value) {
                    let ctx = module.ctx();
                    let text = format!(
                        "a value of type {} cannot stand for one of type {}",
                        module.ty(new.value).display(ctx),
                        module.ty(old).display(ctx)
                    );
                    return Err(PyValueError::new_err(text));
                }
                module.replace_uses(old, new.value);
            }
            Ok(())
        })?
    }

    /// Takes it out of the module, with everything in it. Nothing may use its results any more.
    fn erase(&self) -> PyResult<()> {
        let gone = self.with(|program| {
            let module = &mut program.module;
            if self.op == module.root() {
                return Err(PyValueError::new_err("the module itself cannot be erased"));
            }
            if module.has_used_result(self.op) {
                let text = "its results are used; replace_uses() first";
                return Err(PyValueError::new_err(text));
            }
            let gone: Vec<Op> = module.walk(self.op).collect();
            module.erase(self.op);
            Ok(gone)
        })??;
        self.at.held.note_erased(gone);
        Ok(())
    }

    fn __str__(&self) -> PyResult<String> {
        let text = self.read(|module| print_op(module, self.op, PrintOptions::default()))?;
        Ok(text.trim_end().to_owned())
    }

    fn __repr__(&self) -> String {
        let shown = self.read(|module| {
            let symbol = module.symbol_name(self.op).map(|name| format!(" @{name}"));
            format!("<Operation {}{}>", module.name_text(self.op), symbol.unwrap_or_default())
        });
        shown.unwrap_or_else(|_| "<Operation, stale>".to_owned())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| self.op == other.get().op && self.at.is(&other.get().at))
    }

    fn __hash__(&self) -> u64 {
        self.at.hash_with(self.op)
    }
}

/// The operation that makes a value, or in whose block it is an argument: with it a handle to the value goes stale.
fn owner(module: &Module, value: Value) -> Op {
    match module.definition(value) {
        ValueDefinition::Result { op, .. } => op,
        ValueDefinition::Argument { block, .. } => {
            module.block_op(block).unwrap_or_else(|| module.root())
        }
    }
}

/// A value: a result of an operation or an argument of a block.
#[pyclass(name = "Value", module = "piper", frozen)]
pub(crate) struct PyValue {
    pub(crate) at: At,
    pub(crate) value: Value,
    owner: Op,
}

impl PyValue {
    fn read<R>(&self, work: impl FnOnce(&Module) -> R) -> PyResult<R> {
        self.at.held.with_op(self.owner, self.at.generation, |program| work(&program.module))
    }
}

#[pymethods]
impl PyValue {
    /// Its type as text, `"tensor<4x8xf32>"`.
    #[getter]
    fn r#type(&self) -> PyResult<String> {
        self.read(|module| module.ty(self.value).display(module.ctx()))
    }

    /// Its sizes, if it is a tensor; -1 where one is not known.
    #[getter]
    fn shape(&self) -> PyResult<Option<Vec<i64>>> {
        self.read(|module| {
            attribute::tensor(module.ctx(), module.ty(self.value)).map(|(shape, _)| shape)
        })
    }

    /// The name it was written with, without `%`.
    #[getter]
    fn name(&self) -> PyResult<Option<String>> {
        self.read(|module| {
            module.value_name(self.value).map(|name| name.text(module.ctx()).to_owned())
        })
    }

    /// The operation that makes it; nothing for an argument.
    #[getter]
    fn owner(&self) -> PyResult<Option<PyOperation>> {
        self.read(|module| module.defining_op(self.value).map(|op| self.at.op(op)))
    }

    /// Who uses it, with the number of the operand.
    #[getter]
    fn uses(&self) -> PyResult<Vec<(PyOperation, usize)>> {
        self.read(|module| {
            module.uses(self.value).map(|found| (self.at.op(found.op), found.index)).collect()
        })
    }

    fn __repr__(&self) -> String {
        self.r#type().map_or_else(|_| "<Value, stale>".to_owned(), |ty| format!("<Value {ty}>"))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| self.value == other.get().value && self.at.is(&other.get().at))
    }

    fn __hash__(&self) -> u64 {
        self.at.hash_with(self.value)
    }
}

/// A block of operations.
#[pyclass(name = "Block", module = "piper", frozen)]
pub(crate) struct PyBlock {
    pub(crate) at: At,
    pub(crate) block: Block,
    pub(crate) owner: Op,
}

impl PyBlock {
    fn read<R>(&self, work: impl FnOnce(&Module) -> R) -> PyResult<R> {
        self.at.held.with_op(self.owner, self.at.generation, |program| work(&program.module))
    }
}

#[pymethods]
impl PyBlock {
    /// Its operations, in order.
    #[getter]
    fn operations(&self) -> PyResult<Vec<PyOperation>> {
        self.read(|module| module.ops(self.block).map(|op| self.at.op(op)).collect())
    }

    /// Its arguments.
    #[getter]
    fn arguments(&self) -> PyResult<Vec<PyValue>> {
        self.read(|module| {
            module.args(self.block).iter().map(|arg| self.at.value(*arg, self.owner)).collect()
        })
    }

    /// The operation whose region it is in.
    #[getter]
    fn parent(&self) -> PyOperation {
        self.at.op(self.owner)
    }

    fn __repr__(&self) -> String {
        let count = self.read(|module| module.ops(self.block).count());
        count.map_or_else(|_| "<Block, stale>".to_owned(), |n| format!("<Block of {n} operations>"))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| self.block == other.get().block && self.at.is(&other.get().at))
    }

    fn __hash__(&self) -> u64 {
        self.at.hash_with(self.block)
    }
}
