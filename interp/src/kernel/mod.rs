//! What device programs launch, as functions on flat buffers: chunk bodies (before `kernelize`), kernels (after it), and the
//! kernels that Piper itself brings.
//!
//! A [`Library`] is found by symbol and knows nothing of a runtime: whoever runs a plan without machine code wraps its
//! [`Evaluator`]s. They own what they need, may be kept as long as wanted, and run on any thread.
//!
//! ```
//! use piper_interp::{Data, kernel::Library};
//! # use std::sync::Arc;
//! # use piper_ir::{Context, Reporter, SourceFile, text::parse_module};
//! # use piper_dialects::{func, kernel, nn};
//! # let ctx = Arc::new(Context::new([func::dialect(), kernel::dialect(), nn::dialect()]));
//! let text = r#"kernel.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> attributes {kind = "map"} {
//!   %y = nn.add %x, %x : tensor<2xf32>
//!   kernel.return %y : tensor<2xf32>
//! }"#;
//! let module = parse_module(&ctx, &SourceFile::new("twice.pir", text), &mut Reporter::new(&ctx)).unwrap();
//! let library = Library::new(Arc::new(module));
//! let y = library.get("twice").unwrap().run(vec![Data::F32(vec![1.0, 3.0])], &[]).unwrap();
//! assert_eq!(y, [Data::F32(vec![2.0, 6.0])]);
//! ```

mod builtin;

use std::sync::Arc;

use piper_dialects::{device, func, kernel};
use piper_ir::{Module, Op, Type, TypeData};
use rustc_hash::FxHashMap;

use crate::func::{Interpreter, element_type};
use crate::tensor::{Data, ElementType, Tensor};

pub use device::Mode;

/// A buffer that an evaluator takes or gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// How it is used.
    pub mode: Mode,
    /// Number of elements.
    pub elems: usize,
    /// What they are.
    pub element: ElementType,
}

/// Everything in a module that can be launched, by symbol.
#[derive(Clone, Debug)]
pub struct Library {
    module: Arc<Module>,
    by_symbol: FxHashMap<String, Op>,
}

impl Library {
    /// The functions, kernels and built-in kernels of a module.
    pub fn new(module: Arc<Module>) -> Self {
        let launchable = |op: &Op| {
            matches!(
                module.name_text(*op),
                func::Func::NAME | kernel::Func::NAME | device::Kernel::NAME
            )
        };
        let plans =
            module.top_level().into_iter().filter(|op| device::Plan::cast(&module, *op).is_some());
        let inner: Vec<Op> = plans
            .filter_map(|plan| module.only_block(plan))
            .flat_map(|block| module.ops(block))
            .collect();
        let all = module.top_level().into_iter().chain(inner).filter(launchable);
        let by_symbol =
            all.filter_map(|op| Some((module.symbol_name(op)?.to_owned(), op))).collect();
        Self { module, by_symbol }
    }

    /// What computes a symbol; `None` if the module has nothing launchable of this name and a signature of static tensors.
    pub fn get(&self, symbol: &str) -> Option<Evaluator> {
        let op = *self.by_symbol.get(symbol)?;
        let module = &self.module;
        let ctx = module.ctx();
        let (parameters, builtin) = if let Some(view) = device::Kernel::cast(module, op) {
            let rule = builtin::Rule::of(module, view)?;
            let (inputs, results) = view.signature(module).as_type(ctx)?.as_function(ctx)?;
            let modes = rule.modes(inputs.len());
            let types = inputs.iter().chain(results).zip(modes);
            (
                types.map(|(ty, mode)| parameter(module, *ty, mode)).collect::<Option<_>>()?,
                Some(rule),
            )
        } else {
            let (inputs, results) = func::Func(op).signature(module);
            let reads = inputs.iter().map(|ty| parameter(module, *ty, Mode::Read));
            let writes = results.iter().map(|ty| parameter(module, *ty, Mode::Write));
            (reads.chain(writes).collect::<Option<_>>()?, None)
        };
        Some(Evaluator { module: Arc::clone(module), op, parameters, builtin })
    }
}

/// A buffer of a tensor's or a flat memory's type.
fn parameter(module: &Module, ty: Type, mode: Mode) -> Option<Parameter> {
    let ctx = module.ctx();
    let (elems, element) = match ty.data(ctx) {
        TypeData::MemRef { shape, element, .. } => {
            (shape.iter().map(|n| usize::try_from(*n).ok()).product::<Option<usize>>()?, *element)
        }
        _ => (usize::try_from(ty.num_elements(ctx)?).ok()?, ty.as_tensor(ctx)?.1),
    };
    Some(Parameter { mode, elems, element: element_type(module, element)? })
}

/// Computes one launch.
#[derive(Clone, Debug)]
pub struct Evaluator {
    module: Arc<Module>,
    op: Op,
    parameters: Vec<Parameter>,
    builtin: Option<builtin::Rule>,
}

impl Evaluator {
    /// The buffers of a launch: what it reads, then what it updates, then what it writes.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// How many runtime scalars it takes.
    pub fn scalars(&self) -> usize {
        self.builtin.as_ref().map_or(0, builtin::Rule::scalars)
    }

    /// Runs a launch on the contents of the buffers that it reads and updates, in order; returns the new contents of those
    /// that it updates and writes, in order.
    ///
    /// # Errors
    /// Buffers or scalars that do not fit, or what the operation cannot compute (a token outside its table).
    pub fn run(&self, inputs: Vec<Data>, scalars: &[f64]) -> Result<Vec<Data>, String> {
        let wanted: Vec<&Parameter> = self.parameters.iter().filter(|p| p.mode.reads()).collect();
        if wanted.len() != inputs.len() || scalars.len() < self.scalars() {
            let (buffers, numbers) = (wanted.len(), self.scalars());
            let (given, given_numbers) = (inputs.len(), scalars.len());
            return Err(format!(
                "takes {buffers} buffers and {numbers} scalars, not {given} and {given_numbers}"
            ));
        }
        let tensors = inputs.into_iter().zip(&wanted).enumerate().map(|(i, (data, parameter))| {
            let tensor = flat(data);
            let fits =
                tensor.len() == parameter.elems && tensor.element_type() == parameter.element;
            fits.then_some(tensor).ok_or_else(|| {
                format!("buffer {i} must be {} x {}", parameter.elems, parameter.element)
            })
        });
        let tensors = tensors.collect::<Result<Vec<Tensor>, String>>()?;
        let results = match &self.builtin {
            Some(rule) => {
                rule.run(tensors, scalars, &self.parameters).map_err(|e| e.to_string())?
            }
            None => self.function(tensors)?,
        };
        Ok(results.into_iter().map(|tensor| tensor.data).collect())
    }

    fn function(&self, flat: Vec<Tensor>) -> Result<Vec<Tensor>, String> {
        let module = &*self.module;
        let (inputs, _) = func::Func(self.op).signature(module);
        let shaped = flat.into_iter().zip(inputs).map(|(tensor, ty)| {
            let shape = ty.as_tensor(module.ctx()).map_or(&[][..], |(shape, _)| shape);
            tensor
                .reshape(shape.iter().map(|&n| n as usize).collect::<Vec<_>>())
                .map_err(|e| e.to_string())
        });
        let shaped = shaped.collect::<Result<Vec<Tensor>, String>>()?;
        let parameters = Interpreter::new(module).run(self.op, &shaped, &|name| {
            // A chunk's parameters are its arguments; a module that says otherwise gets an empty tensor, which never fits.
            let _ = name;
            Tensor::zeros([0], ElementType::F32)
        });
        parameters.map_err(|e| e.message)
    }
}

/// Values in one dimension.
fn flat(data: Data) -> Tensor {
    let length = match &data {
        Data::F32(values) => values.len(),
        Data::F64(values) => values.len(),
        Data::I32(values) => values.len(),
        Data::Bf16(values) => values.len(),
    };
    Tensor { shape: vec![length], data }
}
