//! Runs functions of the model level: `func`, `nn`, and `strategy.annotate` regions, which change no values; and kernels,
//! whose meaning is that of the operations in them.
//!
//! ```
//! use piper_interp::{Tensor, func};
//! # use std::sync::Arc;
//! # use piper_ir::{Context, Reporter, SourceFile, text::parse_module};
//! let ctx = Arc::new(Context::new([piper_dialects::func::dialect(), piper_dialects::nn::dialect()]));
//! let text = "func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
//!   %y = nn.add %x, %x : tensor<2xf32>
//!   func.return %y : tensor<2xf32>
//! }";
//! let module = parse_module(&ctx, &SourceFile::new("twice.pir", text), &mut Reporter::new(&ctx)).unwrap();
//! let twice = module.lookup(module.root(), "twice").unwrap();
//! let x = Tensor::new([2], vec![1f32, 3.0]).unwrap();
//! let y = func::run(&module, twice, &[x], &|_| unreachable!("no parameters")).unwrap();
//! assert_eq!(y[0].to_f64(), [2.0, 6.0]);
//! ```

mod evaluate;
mod parameters;

use std::borrow::Cow;

use piper_dialects::{func, kernel, nn};
use piper_ir::verify::SymbolTable;
use piper_ir::{Block, FloatKind, Loc, Module, Op, OpName, Reporter, Type, Value};
use rustc_hash::FxHashMap;

pub use evaluate::{Evaluate, Evaluators};
pub use parameters::initial_parameters;

use crate::tensor::{ElementType, Tensor};

/// Calls nested deeper than this are taken for endless recursion.
const MAX_DEPTH: usize = 200;

/// Where a run stopped, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The operation.
    pub loc: Loc,
    /// What is wrong; it names the operation, the operand and the dimension.
    pub message: String,
}

impl Error {
    /// Reports it as a diagnostic.
    pub fn report(&self, reporter: &mut Reporter<'_>) {
        reporter.error(self.loc, &self.message);
    }
}

/// Runs `func` on `args`. The value of the parameter called `name` is `params(name)`.
///
/// The operations were verified; what remains to fail is data (a token outside its table), an argument or parameter of
/// another type than declared, an operation without semantics at this level.
///
/// # Errors
/// The first operation that cannot be evaluated.
pub fn run(
    module: &Module,
    func: Op,
    args: &[Tensor],
    params: &dyn Fn(&str) -> Tensor,
) -> Result<Vec<Tensor>, Error> {
    Interpreter::new(module).run(func, args, params)
}

/// Runs many functions of a module: the tables are built once.
#[derive(Debug)]
pub struct Interpreter<'m> {
    module: &'m Module,
    evaluators: Evaluators,
    functions: SymbolTable,
    names: Names,
}

/// Names of the operations that are not evaluated but followed.
#[derive(Debug)]
struct Names {
    func: OpName,
    call: OpName,
    kernel: OpName,
    launch: OpName,
    parameter: OpName,
    annotate: OpName,
}

/// The values of one activation of a function.
type Environment<'a> = FxHashMap<Value, Cow<'a, Tensor>>;

impl<'m> Interpreter<'m> {
    /// An interpreter of the functions of `module`.
    pub fn new(module: &'m Module) -> Self {
        let ctx = module.ctx();
        Self {
            module,
            evaluators: Evaluators::new(ctx),
            functions: SymbolTable::new(module, module.root()),
            names: Names {
                func: ctx.op_name(func::Func::NAME),
                call: ctx.op_name(func::Call::NAME),
                kernel: ctx.op_name(kernel::Func::NAME),
                launch: ctx.op_name(kernel::Launch::NAME),
                parameter: ctx.op_name(nn::Parameter::NAME),
                annotate: ctx.op_name("strategy.annotate"),
            },
        }
    }

    /// As [`run`].
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(
        &self,
        func: Op,
        args: &[Tensor],
        params: &dyn Fn(&str) -> Tensor,
    ) -> Result<Vec<Tensor>, Error> {
        let args = args.iter().map(Cow::Borrowed).collect();
        self.function(func, args, params, 0)
    }

    fn error(&self, op: Op, message: impl Into<String>) -> Error {
        Error { loc: self.module.op_loc(op), message: message.into() }
    }

    fn function(
        &self,
        func: Op,
        args: Vec<Cow<'_, Tensor>>,
        params: &dyn Fn(&str) -> Tensor,
        depth: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let module = self.module;
        let name = module.symbol_name(func).unwrap_or_default();
        let block = Some(func)
            .filter(|f| [self.names.func, self.names.kernel].contains(&module.name(*f)))
            .and_then(|f| module.only_block(f))
            .ok_or_else(|| self.error(func, format!("'@{name}' is not a function with a body")))?;
        let declared = module.args(block);
        if declared.len() != args.len() {
            let (takes, given) = (declared.len(), args.len());
            return Err(
                self.error(func, format!("'@{name}' takes {takes} argument(s), not {given}"))
            );
        }
        let mut values = Environment::default();
        for (i, (&arg, tensor)) in declared.iter().zip(args).enumerate() {
            if let Some(fault) = misfit(module, module.ty(arg), &tensor) {
                return Err(self.error(func, format!("argument {i} of '@{name}' {fault}")));
            }
            values.insert(arg, tensor);
        }
        self.block(block, &mut values, params, depth)
    }

    /// Runs a block and returns the operands of its terminator.
    fn block(
        &self,
        block: Block,
        values: &mut Environment<'_>,
        params: &dyn Fn(&str) -> Tensor,
        depth: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let module = self.module;
        let Some(last) = module.last_op(block) else { return Ok(Vec::new()) };
        for op in module.ops(block) {
            if op == last {
                break;
            }
            let results = self.operation(op, values, params, depth)?;
            for (value, tensor) in module.results(op).zip(results) {
                values.insert(value, Cow::Owned(tensor));
            }
        }
        module.operands(last).map(|v| self.value(last, values, v).cloned()).collect()
    }

    fn value<'v>(
        &self,
        user: Op,
        values: &'v Environment<'_>,
        value: Value,
    ) -> Result<&'v Tensor, Error> {
        values.get(&value).map(Cow::as_ref).ok_or_else(|| {
            self.error(
                user,
                format!("'{}' uses a value that was not computed", self.module.name_text(user)),
            )
        })
    }

    fn operation(
        &self,
        op: Op,
        values: &mut Environment<'_>,
        params: &dyn Fn(&str) -> Tensor,
        depth: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let module = self.module;
        let name = module.name(op);
        if name == self.names.parameter {
            let parameter = nn::Parameter(op);
            let tensor = params(parameter.name_text(module));
            return match misfit(module, module.ty(parameter.w(module)), &tensor) {
                None => Ok(vec![tensor]),
                Some(fault) => {
                    let name = parameter.name_text(module);
                    Err(self.error(op, format!("parameter '{name}' {fault}")))
                }
            };
        }
        if name == self.names.annotate
            && let Some(block) = module.only_block(op)
        {
            return self.block(block, values, params, depth);
        }
        let operands = module
            .operands(op)
            .map(|v| self.value(op, values, v))
            .collect::<Result<Vec<&Tensor>, Error>>()?;
        if name == self.names.call || name == self.names.launch {
            let callee = module.attr_by(op, "callee").and_then(|c| c.as_symbol(module.ctx()));
            let target = callee
                .and_then(|name| self.functions.get(name))
                .ok_or_else(|| self.error(op, "the called function does not exist"))?;
            if depth == MAX_DEPTH {
                return Err(self.error(op, format!("calls are nested more than {MAX_DEPTH} deep")));
            }
            let args = operands.into_iter().map(Cow::Borrowed).collect();
            return self.function(target, args, params, depth + 1);
        }
        let evaluate =
            self.evaluators.get(name).ok_or_else(|| match nn::declared_only(module, op) {
                Some(why) => self.error(op, why),
                None => self
                    .error(op, format!("'{}' cannot be run at this level", module.name_text(op))),
            })?;
        // What is stored in bf16 is computed in f32.
        let stored = |value: Value| {
            let ty = module.ty(value).as_tensor(module.ctx());
            ty.is_some_and(|(_, element)| element_type(module, element) == Some(ElementType::Bf16))
        };
        let is_narrow = module.operands(op).chain(module.results(op)).any(stored);
        let results = if is_narrow {
            let wide: Vec<Cow<'_, Tensor>> = operands
                .iter()
                .map(|t| match t.element_type() {
                    ElementType::Bf16 => Cow::Owned(t.cast(ElementType::F32)),
                    _ => Cow::Borrowed(*t),
                })
                .collect();
            let wide: Vec<&Tensor> = wide.iter().map(Cow::as_ref).collect();
            let results = evaluate(module, op, &wide).map_err(|e| self.error(op, e.to_string()))?;
            let narrow = |(value, tensor): (Value, Tensor)| {
                if stored(value) { tensor.cast(ElementType::Bf16) } else { tensor }
            };
            module.results(op).zip(results).map(narrow).collect()
        } else {
            evaluate(module, op, &operands).map_err(|e| self.error(op, e.to_string()))?
        };
        for (value, tensor) in module.results(op).zip(&results) {
            if let Some(fault) = misfit(module, module.ty(value), tensor) {
                let name = module.name_text(op);
                return Err(self.error(op, format!("the result of '{name}' {fault}")));
            }
        }
        Ok(results)
    }
}

/// Why a tensor does not have a type, as it stands after what it is; `None` if it has.
fn misfit(module: &Module, ty: Type, tensor: &Tensor) -> Option<String> {
    let ctx = module.ctx();
    let fits = ty.as_tensor(ctx).is_some_and(|(shape, element)| {
        shape.len() == tensor.shape.len()
            && shape.iter().zip(&tensor.shape).all(|(&a, &b)| usize::try_from(a) == Ok(b))
            && element_type(module, element) == Some(tensor.element_type())
    });
    (!fits).then(|| {
        let (found, shape) = (tensor.element_type(), &tensor.shape);
        format!("has type {}, but the value is {found} {shape:?}", ty.display(ctx))
    })
}

/// What tensors of an IR element type hold.
pub(crate) fn element_type(module: &Module, element: Type) -> Option<ElementType> {
    let ctx = module.ctx();
    if element.as_float(ctx) == Some(FloatKind::BF16) {
        return Some(ElementType::Bf16);
    }
    [(ctx.f32(), ElementType::F32), (ctx.f64(), ElementType::F64), (ctx.i32(), ElementType::I32)]
        .into_iter()
        .find(|(ty, _)| *ty == element)
        .map(|(_, held)| held)
}
