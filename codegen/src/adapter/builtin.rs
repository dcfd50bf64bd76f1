//! The kernels that Piper itself brings: accumulation and what optimizers are made of.

use piper_dialects::device::{self, BuiltinKernel};
use piper_ir::Module;

use super::elements;
use crate::catalog::{self, AdamW};
use crate::kernel::{Access, Body, Dtype, Kernel, Map, Mode, Operand};
use crate::scalar::{Real, ScalarOp, ScalarProgram};

/// The description of a built-in kernel for the sizes and constants of its declaration.
pub(super) fn kernel(module: &Module, view: device::Kernel) -> Result<Kernel, String> {
    let ctx = module.ctx();
    let name = view.kernel(module).as_str(ctx).unwrap_or("");
    let kernel = BuiltinKernel::from_name(name).ok_or("it is no built-in kernel")?;
    let signature = view.signature(module).as_type(ctx).and_then(|t| t.as_function(ctx));
    let (inputs, results) = signature.ok_or("it has no signature")?;
    let hyper = view.hyper(module);
    let number = |name: &str| hyper.get(ctx, name).and_then(|a| a.as_number(ctx));
    let is_clipped = hyper.get(ctx, "clipped").is_some();
    let first = inputs.first().ok_or("it has no operand");
    match kernel {
        BuiltinKernel::Accumulate => {
            let (elems, dtype) = elements(module, *first?)?;
            Ok(accumulate(dtype, elems))
        }
        BuiltinKernel::Sgd => {
            let (elems, dtype) = elements(module, *first?)?;
            let momentum = number("momentum").filter(|m| *m != 0.0);
            let made = catalog::sgd(dtype, elems, number("weight_decay").unwrap_or(0.0), momentum);
            // Catalogue: p, g, [m], scale. Declaration: g, [scale], p, [m].
            let (gradient, parameter) = (0, 1 + u32::from(is_clipped));
            let scale = is_clipped.then_some(1);
            let order = match momentum {
                Some(_) => vec![Some(parameter), Some(gradient), Some(parameter + 1), scale],
                None => vec![Some(parameter), Some(gradient), scale],
            };
            Ok(rearranged(made, &order))
        }
        BuiltinKernel::AdamW => {
            let (elems, dtype) = elements(module, *first?)?;
            let constants = AdamW {
                beta1: number("beta1").unwrap_or(0.9),
                beta2: number("beta2").unwrap_or(0.999),
                eps: number("eps").unwrap_or(1e-8),
                weight_decay: number("weight_decay").unwrap_or(0.0),
            };
            // Catalogue: p, g, m, v, scale. Declaration: g, [scale], p, m, v.
            let parameter = 1 + u32::from(is_clipped);
            let scale = is_clipped.then_some(1);
            let order = [Some(parameter), Some(0), Some(parameter + 1), Some(parameter + 2), scale];
            Ok(rearranged(catalog::adamw(dtype, elems, constants), &order))
        }
        BuiltinKernel::SumSquares => match inputs {
            [one] => {
                let (elems, dtype) = elements(module, *one)?;
                Ok(Kernel::new(dtype, Body::SumSquares { elems }))
            }
            _ => {
                Err("squares are summed tensor by tensor; run kernelize before memory-plan".into())
            }
        },
        BuiltinKernel::ClipScale => {
            let scale = results.first().ok_or("it has no result")?;
            let (_, dtype) = elements(module, *scale)?;
            let max_norm = Real::new(number("max_norm").unwrap_or(f64::INFINITY));
            Ok(Kernel::new(dtype, Body::ClipScale { max_norm }))
        }
        BuiltinKernel::Cast => {
            let (elems, dtype) = elements(module, *first?)?;
            let (_, to) = elements(module, *results.first().ok_or("it has no result")?)?;
            Ok(Kernel::new(dtype, Body::Cast { elems, to }))
        }
        BuiltinKernel::Sum => {
            let (elems, dtype) = elements(module, *first?)?;
            Ok(sum(dtype, elems, inputs.len() as u32))
        }
    }
}

const READ: Operand = Operand { access: Access::Full, mode: Mode::Read };

fn elementwise(
    dtype: Dtype,
    elems: u64,
    operands: Vec<Operand>,
    body: ScalarProgram,
    store: u32,
) -> Kernel {
    let uniforms = ScalarProgram::default();
    let stores = vec![store];
    Kernel::new(
        dtype,
        Body::Map(Map { rows: 1, cols: elems, operands, scalars: 0, uniforms, body, stores }),
    )
}

/// `from, !into`: `into += from`.
fn accumulate(dtype: Dtype, elems: u64) -> Kernel {
    let mut body = ScalarProgram::default();
    let (from, into) = (body.push(ScalarOp::Input(0)), body.push(ScalarOp::Input(1)));
    let sum = body.push(ScalarOp::Add(into, from));
    body.results = vec![sum];
    let update = Operand { access: Access::Full, mode: Mode::ReadWrite };
    elementwise(dtype, elems, vec![READ, update], body, 1)
}

/// `a, b, .., !sum`: added pair by pair over a balanced tree, as the interpreters add.
fn sum(dtype: Dtype, elems: u64, count: u32) -> Kernel {
    let mut body = ScalarProgram::default();
    let mut level: Vec<u32> = (0..count).map(|i| body.push(ScalarOp::Input(i))).collect();
    while level.len() > 1 {
        let add = |pair: &[u32]| match *pair {
            [a, b] => body.push(ScalarOp::Add(a, b)),
            _ => pair[0],
        };
        level = level.chunks(2).map(add).collect();
    }
    body.results = level;
    let write = Operand { access: Access::Full, mode: Mode::Write };
    let operands = [vec![READ; count as usize], vec![write]].concat();
    elementwise(dtype, elems, operands, body, count)
}

/// A map whose operand `i` becomes operand `order[i]`; one that is left out reads as the constant 1.
fn rearranged(kernel: Kernel, order: &[Option<u32>]) -> Kernel {
    let Body::Map(mut map) = kernel.body else { return kernel };
    let mut places: Vec<(u32, Operand)> = order
        .iter()
        .zip(&map.operands)
        .filter_map(|(to, operand)| Some(((*to)?, *operand)))
        .collect();
    places.sort_unstable_by_key(|(to, _)| *to);
    map.operands = places.into_iter().map(|(_, operand)| operand).collect();
    for op in &mut map.body.ops {
        if let ScalarOp::Input(i) = op {
            *op = match order[*i as usize] {
                Some(to) => ScalarOp::Input(to),
                None => ScalarOp::Const(Real::new(1.0)),
            };
        }
    }
    for store in &mut map.stores {
        *store = order[*store as usize].unwrap_or(*store);
    }
    Kernel::new(kernel.dtype, Body::Map(map))
}
