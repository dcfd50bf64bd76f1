//! The parameters of a function with their initial values.

use piper_dialects::{func, nn};
use piper_ir::{Module, Op};
use piper_plan::Init;
use rustc_hash::FxHashSet;

use super::{Error, element_type};
use crate::ops;
use crate::tensor::{ElementType, Tensor};

/// The parameters that `func` uses, in its own operations or in those of the functions it calls, each once, in order of first appearance,
/// with their initial values.
///
/// # Errors
/// When two parameters of one name differ in type or initialiser.
pub fn initial_parameters(module: &Module, func: Op) -> Result<Vec<(String, Tensor)>, Error> {
    let ctx = module.ctx();
    let mut seen = FxHashSet::default();
    let mut declared: Vec<Op> = Vec::new();
    collect(module, func, &mut seen, &mut declared);
    let mut first: Vec<(&str, Op)> = Vec::new();
    let mut tensors = Vec::new();
    for op in declared {
        let parameter = nn::Parameter(op);
        let name = parameter.name_text(module);
        let error = |message: String| Error { loc: module.op_loc(op), message };
        let same = |other: Op| {
            module.ty(nn::Parameter(other).w(module)) == module.ty(parameter.w(module))
                && nn::Parameter(other).init(module) == parameter.init(module)
        };
        if let Some((_, known)) = first.iter().find(|(known, _)| *known == name) {
            if !same(*known) {
                return Err(error(format!(
                    "parameter '{name}' is declared twice, with different types or initialisers"
                )));
            }
            continue;
        }
        first.push((name, op));
        let init = match parameter.initializer(module) {
            Some(nn::Init::Normal { mean, std }) => Init::Normal { mean, std },
            Some(nn::Init::Uniform { lo, hi }) => Init::Uniform { low: lo, high: hi },
            Some(nn::Init::Zeros) => Init::Zeros,
            Some(nn::Init::Ones) => Init::Ones,
            Some(nn::Init::Constant(value)) => Init::Constant(value),
            None => return Err(error(format!("parameter '{name}' has no initialiser"))),
        };
        let Some((shape, element)) = module.ty(parameter.w(module)).as_tensor(ctx) else {
            return Err(error(format!("parameter '{name}' is not a tensor")));
        };
        let shape: Vec<usize> = shape.iter().map(|&d| d.max(0) as usize).collect();
        let tensor = match element_type(module, element) {
            Some(ElementType::F64) => ops::parameter::<f64>(name, &shape, init),
            _ => ops::parameter::<f32>(name, &shape, init),
        };
        tensors.push((name.to_owned(), tensor.map_err(|e| error(e.to_string()))?));
    }
    Ok(tensors)
}

fn collect(module: &Module, func: Op, seen: &mut FxHashSet<Op>, declared: &mut Vec<Op>) {
    if !seen.insert(func) {
        return;
    }
    for op in module.walk(func) {
        match module.name_text(op) {
            nn::Parameter::NAME => declared.push(op),
            func::Call::NAME => {
                let callee = func::Call(op).callee(module).as_symbol(module.ctx());
                if let Some(target) =
                    callee.and_then(|name| module.lookup_nearest(op, name.text(module.ctx())))
                {
                    collect(module, target, seen, declared);
                }
            }
            _ => {}
        }
    }
}
