//! The factor rule of an operation that has a [`Signature`]: its letters are the factors.
//!
//! A divided dimension divides every value that has its letter; a result without it is a sum over the parts. See
//! [`piper_ir::interfaces::shardable`].

use std::borrow::Cow;

use piper_ir::interfaces::FactorRule;
use piper_ir::interfaces::shardable::{Combine, Dim, Factor, FactorKind, LinearIn};
use piper_ir::{Module, Op};

use super::signature::{Labelled, Linearity, Signature, labelled};

/// The factor rule that a [`Signature`] stands for.
pub fn factors(module: &Module, op: Op) -> FactorRule {
    let Some(signature) = module.def(op).and_then(|def| def.interface::<Signature>()) else {
        return FactorRule::empty(module.num_operands(op), module.num_results(op));
    };
    let (operands, results) = (labelled(module, op, false), labelled(module, op, true));
    let mut factors: Vec<Factor> = Vec::new();
    let mut dims = |item: &Labelled| -> Vec<Dim> {
        let shape = module.ty(item.value).as_tensor(module.ctx()).map_or(&[][..], |(s, _)| s);
        let number = |(dim, &size): (usize, &i64)| {
            let name = item.letter(shape.len(), dim);
            let known = factors.iter().position(|factor| factor.name == name);
            let number = known.unwrap_or_else(|| {
                factors.push(Factor { kind: kind(signature, &name), name, size });
                factors.len() - 1
            });
            Dim::One(number as u16)
        };
        shape.iter().enumerate().map(number).collect()
    };
    let operand_dims: Vec<Vec<Dim>> = operands.iter().map(&mut dims).collect();
    let result_dims: Vec<Vec<Dim>> = results.iter().map(dims).collect();
    for (number, factor) in factors.iter_mut().enumerate() {
        let everywhere = result_dims.iter().all(|dims| dims.contains(&Dim::One(number as u16)));
        if factor.kind == FactorKind::PassThrough && !everywhere {
            factor.kind = FactorKind::Reduction(Combine::Sum);
        }
    }
    let numbers = |names: &[&str]| {
        let named = |(i, item): (usize, &Labelled)| names.contains(&&*item.name).then_some(i);
        operands.iter().enumerate().filter_map(named).collect()
    };
    FactorRule {
        linear: match signature.linearity {
            Linearity::Jointly => LinearIn::Jointly,
            Linearity::Each(names) => LinearIn::Each(numbers(names)),
        },
        added: numbers(signature.added),
        factors,
        operands: operand_dims,
        results: result_dims,
    }
}

fn kind(signature: &Signature, name: &str) -> FactorKind {
    match signature.whole.iter().find(|(whole, _)| *whole == name) {
        Some((_, why)) => FactorKind::Whole(Cow::Borrowed(why)),
        None => FactorKind::PassThrough,
    }
}
