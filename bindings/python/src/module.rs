//! Modules: parsed or built, printed, checked, run through passes, walked.

use std::sync::{Arc, Mutex, PoisonError};

use piper::ir::{
    Arity, Attr, Builder, InferInput, InferTypes, Name, OPERAND_SEGMENTS, SourceFile, Sources, Type,
};
use piper::passes::road;
use piper::{CompileOptions, Failure, Program, ir};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::attribute;
use crate::compiler::{Known, PyCompiler};
use crate::diagnostic::{PyDiagnostic, failed, wrong};
use crate::executable::{PyExecutable, kernels_called};
use crate::held::Held;
use crate::operation::{At, PyBlock, PyOperation, PyValue};

/// A module of operations at any level, from a model to device programs.
#[pyclass(name = "Module", module = "piper", frozen)]
pub(crate) struct PyModule {
    pub(crate) held: Arc<Held>,
    known: Arc<Mutex<Known>>,
}

impl PyModule {
    pub(crate) fn new(program: Program, known: Arc<Mutex<Known>>) -> Self {
        Self { held: Held::new(program), known }
    }

    pub(crate) fn of(held: Arc<Held>, known: Arc<Mutex<Known>>) -> Self {
        Self { held, known }
    }

    fn compiler(&self) -> Arc<piper::Compiler> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).compiler.clone()
    }

    fn at(&self) -> At {
        At { held: self.held.clone(), generation: self.held.generation() }
    }

    /// Works on the program without Python's lock. If that fails, the program is half changed and of no use.
    fn changed<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&piper::Compiler, &mut Program) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let mut program = self.held.take()?;
        let compiler = self.compiler();
        let (program, outcome) = py.detach(move || {
            let outcome = work(&compiler, &mut program);
            (program, outcome)
        });
        self.held.put(program);
        // An exception that is no Exception (a keyboard interrupt in a pass) goes on as itself.
        let raised = self.known.lock().unwrap_or_else(PoisonError::into_inner).raised.take();
        py.check_signals()?;
        match (outcome, raised) {
            (Err(_), Some(raised)) => Err(raised),
            (outcome, _) => outcome.map_err(|failure| failed(py, &failure)),
        }
    }
}

#[pymethods]
impl PyModule {
    /// Reads a text in MLIR's syntax: Piper's dialects, StableHLO, or what passes made. `name` is what messages call it; `sources` are
    /// the texts, by name, that its locations speak of.
    #[staticmethod]
    #[pyo3(signature = (text, name="<string>", *, compiler=None, sources=Vec::new()))]
    fn parse(
        py: Python<'_>,
        text: &str,
        name: &str,
        compiler: Option<PyRef<'_, PyCompiler>>,
        sources: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let known = compiler.map_or_else(Known::shared, |compiler| compiler.known.clone());
        let this = known.lock().unwrap_or_else(PoisonError::into_inner).compiler.clone();
        let mut texts = Sources::default();
        sources.into_iter().for_each(|(name, text)| texts.add(SourceFile::new(name, text)));
        let program = py.detach(|| this.parse_with_sources(name, text, texts));
        Ok(Self::new(program.map_err(|why| failed(py, &why))?, known))
    }

    /// A module of its own with the same contents.
    fn copy(&self) -> PyResult<Self> {
        let copy = self.held.with(|program| copy_of(program))?;
        Ok(Self::new(copy, self.known.clone()))
    }

    /// What messages call it.
    #[getter]
    fn name(&self) -> PyResult<String> {
        self.held.with(|program| program.name.clone())
    }

    /// The module as text. `generic` is the form that any MLIR tool reads; `locations` adds where operations come from.
    #[pyo3(signature = (*, generic=false, locations=false))]
    fn text(&self, generic: bool, locations: bool) -> PyResult<String> {
        let options = ir::text::PrintOptions { generic, locations, ..Default::default() };
        self.held.with(|program| ir::text::print_module(&program.module, options))
    }

    fn __str__(&self) -> PyResult<String> {
        self.text(false, false)
    }

    fn __repr__(&self) -> String {
        let shown = self.held.with(|program| {
            let ops = program.module.walk(program.module.root()).count() - 1;
            format!("<Module {:?} of {ops} operations>", program.name)
        });
        shown.unwrap_or_else(|_| "<Module, in use>".to_owned())
    }

    /// Checks the module; whatever is wrong is raised.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.held.with(|program| program.verify())?.map_err(|failure| failed(py, &failure))
    }

    /// Runs exactly these passes, as `"canonicalize,cse"`, and gives their remarks and warnings. With `implied` each runs after the
    /// passes that it builds on, as `piper-opt --pass` does. Handles to operations are stale afterwards.
    #[pyo3(signature = (pipeline, *, implied=false))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        pipeline: &str,
        implied: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let said = self.changed(py, |compiler, program| match implied {
            true => compiler.run_with_implied(program, pipeline),
            false => compiler.run(program, pipeline),
        })?;
        PyDiagnostic::list(py, &said)
    }

    /// The names of its strategies.
    #[getter]
    fn plans(&self) -> PyResult<Vec<String>> {
        self.held.with(|program| program.plans())
    }

    /// Brings a strategy to the graph of a whole step, in place. `plan` names the strategy, if there are several.
    #[pyo3(signature = (plan=None, *, fixed_tree=false))]
    fn lower_to_graph(
        &self,
        py: Python<'_>,
        plan: Option<String>,
        fixed_tree: bool,
    ) -> PyResult<()> {
        self.changed(py, |compiler, program| {
            let spec = program.choose_plan(plan.as_deref())?;
            compiler.run(program, road::MODEL)?;
            compiler.run(program, &road::to_graph(&spec, fixed_tree)).map(drop)
        })
    }

    /// Compiles it to device programs with kernels; the module stays as it is.
    #[pyo3(name = "_compile", signature = (plan=None, *, kernels="default", gradients=false, fixed_tree=false, command=None))]
    fn compile(
        &self,
        py: Python<'_>,
        plan: Option<String>,
        kernels: &str,
        gradients: bool,
        fixed_tree: bool,
        command: Option<Vec<String>>,
    ) -> PyResult<PyExecutable> {
        let kernels = kernels_called(kernels, command).map_err(|why| failed(py, &why))?;
        let options = CompileOptions { plan, kernels, gradients, fixed_tree };
        let copy = self.held.with(|program| copy_of(program))?;
        let compiler = self.compiler();
        let outcome = py.detach(|| compiler.compile(copy, &options));
        py.check_signals()?;
        outcome.map(PyExecutable::new).map_err(|failure| failed(py, &failure))
    }

    /// The operation that is the module.
    #[getter]
    fn root(&self) -> PyResult<PyOperation> {
        let at = self.at();
        self.held.with(|program| at.op(program.module.root()))
    }

    /// All operations, outer before inner, beginning with the module itself.
    fn walk(&self) -> PyResult<Vec<PyOperation>> {
        self.root()?.walk_all()
    }

    /// The operation of this name (`@name`) at the top level.
    fn lookup(&self, name: &str) -> PyResult<Option<PyOperation>> {
        let at = self.at();
        self.held.with(|program| {
            let root = program.module.root();
            program.module.lookup(root, name.trim_start_matches('@')).map(|op| at.op(op))
        })
    }

    /// Creates an operation. It stands before or after another one, or at the end of a block. Result types are texts; where none
    /// are given they are inferred, if the operation can.
    #[pyo3(signature = (name, operands=Vec::new(), attributes=None, results=None, *, before=None, after=None, at_end=None))]
    #[allow(clippy::too_many_arguments)]
    fn create(
        &self,
        py: Python<'_>,
        name: &str,
        operands: Vec<PyRef<'_, PyValue>>,
        attributes: Option<Bound<'_, PyDict>>,
        results: Option<Vec<String>>,
        before: Option<PyRef<'_, PyOperation>>,
        after: Option<PyRef<'_, PyOperation>>,
        at_end: Option<PyRef<'_, PyBlock>>,
    ) -> PyResult<PyOperation> {
        let given = [before.is_some(), after.is_some(), at_end.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err(PyValueError::new_err("say where: one of before=, after= and at_end="));
        }
        let at = self.at();
        let ctx = self.held.with(|program| program.module.ctx_arc())?;
        let (attrs, types) = parts(&ctx, name, attributes.as_ref(), results.as_deref())?;
        let anchor = match (&before, &after, &at_end) {
            (Some(op), ..) | (None, Some(op), _) => op.op,
            (None, None, Some(block)) => block.owner,
            (None, None, None) => return Err(PyValueError::new_err("no place is given")),
        };
        let made = self.held.with_op(anchor, at.generation, |program| {
            let module = &mut program.module;
            let operands: Vec<_> = operands.iter().map(|operand| operand.value).collect();
            let types = match types {
                Some(types) => types,
                None => {
                    let given: Vec<Type> = operands.iter().map(|v| module.ty(*v)).collect();
                    inferred(&ctx, name, &given, &attrs)?
                }
            };
            if at_end.is_none() && module.parent_block(anchor).is_none() {
                return Err("nothing can stand beside the module itself".to_owned());
            }
            let mut builder = match (&before, &after, &at_end) {
                (Some(op), ..) => Builder::before(module, op.op),
                (_, Some(op), _) => Builder::after(module, op.op),
                (.., Some(block)) => Builder::at_end(module, block.block),
                _ => unreachable!("checked above"),
            };
            let mut state = builder.state(name).operands(operands).results(types);
            state.attrs = attrs;
            Ok(builder.insert(state))
        })?;
        made.map(|op| at.op(op)).map_err(|why| wrong(py, why))
    }
}

impl PyOperation {
    /// What Python's `walk` gives.
    fn walk_all(&self) -> PyResult<Vec<Self>> {
        let at = self.at.clone();
        self.at.held.with_op(self.op, self.at.generation, |program| {
            program.module.walk(self.op).map(|op| at.op(op)).collect()
        })
    }
}

fn copy_of(program: &Program) -> Program {
    Program {
        module: program.module.clone(),
        sources: program.sources.clone(),
        name: program.name.clone(),
    }
}

type Parts = (Vec<(Name, Attr)>, Option<Vec<Type>>);

/// Attributes and result types of an operation as Python gives them.
pub(crate) fn parts(
    ctx: &Arc<ir::Context>,
    name: &str,
    attributes: Option<&Bound<'_, PyDict>>,
    results: Option<&[String]>,
) -> PyResult<Parts> {
    let op_name = ctx.op_name(name);
    let def = op_name.def(ctx);
    let mut attrs = Vec::new();
    for (key, value) in attributes.into_iter().flatten() {
        let key: String = key.extract()?;
        let slot = def.and_then(|def| def.attr_slot(&key));
        let wanted = slot.and_then(|slot| def.map(|def| &def.attrs[slot].constraint));
        if let Some(attr) = attribute::from_python(ctx, &value, wanted)? {
            attrs.push((ctx.name(&key), attr));
        }
    }
    let ty = |text: &String| {
        let attr = attribute::parsed(ctx, text).ok();
        let ty = attr.and_then(|attr| attr.as_type(ctx));
        ty.ok_or_else(|| PyValueError::new_err(format!("'{text}' is no type")))
    };
    let types = results.map(|texts| texts.iter().map(ty).collect::<PyResult<_>>()).transpose()?;
    Ok((attrs, types))
}

/// Result types that follow from operands and attributes.
///
/// # Errors
/// An operation that is not known, or cannot tell.
pub(crate) fn inferred(
    ctx: &ir::Context,
    name: &str,
    operands: &[Type],
    attrs: &[(Name, Attr)],
) -> Result<Vec<Type>, String> {
    let op_name = ctx.op_name(name);
    let Some(def) = op_name.def(ctx) else {
        return Err(format!("no operation is called '{name}'; give its result types"));
    };
    let infer = match def.interface::<InferTypes>() {
        Some(infer) => infer,
        None if def.results.is_empty() => return Ok(Vec::new()),
        None => return Err(format!("'{name}' cannot tell its result types; give them")),
    };
    // Operands that may be left out are the last ones, so what is there belongs to the first names.
    let mut left = operands.len();
    let sizes: Vec<i64> = def
        .operands
        .iter()
        .map(|operand| {
            let size = match operand.arity {
                Arity::One | Arity::Optional => left.min(1),
                Arity::Variadic => left,
            };
            left -= size;
            size as i64
        })
        .collect();
    if left > 0 || def.attrs.iter().any(|attr| attr.name == OPERAND_SEGMENTS) {
        return Err(format!("'{name}' has {} operands; give its result types", operands.len()));
    }
    let missing = def.operands.iter().zip(&sizes);
    if let Some((operand, _)) = missing.into_iter().find(|(o, n)| o.arity == Arity::One && **n == 0)
    {
        return Err(format!("'{name}' lacks its operand '{}'", operand.name));
    }
    let input = InferInput { ctx, def, operands, sizes: &sizes, attrs };
    (infer.0)(&input).map_err(|why| format!("'{name}': {why}"))
}
