//! What follows from a declaration for its call and for the halves of its gradient: how they may be divided, and what they
//! cost.

use std::borrow::Cow;

use piper_ir::interfaces::shardable::{Combine, Dim, Factor, FactorKind, LinearIn};
use piper_ir::interfaces::{Cost, FactorRule};
use piper_ir::{Module, Op};

use super::ops::opaque::{OpaqueDw, OpaqueDx};
use crate::func::declared::{Declared, Dims, GivenCost};

/// The interface of an operation whose cost somebody states, instead of it following from its types.
#[derive(Clone, Copy, Debug)]
pub struct GivenCostOf(pub fn(&Module, Op) -> GivenCost);

impl GivenCostOf {
    /// What was stated of an operation; `None` for one whose cost follows from its types.
    pub fn of(module: &Module, op: Op) -> Option<GivenCost> {
        let interface = module.def(op)?.interface::<GivenCostOf>()?;
        Some((interface.0)(module, op))
    }
}

/// Why an operation that stands for a declared function cannot be run; `None` for any other.
pub fn declared_only(module: &Module, op: Op) -> Option<String> {
    GivenCostOf::of(module, op)?;
    let callee = module.attr_by(op, "callee")?.as_symbol(module.ctx())?.text(module.ctx());
    Some(format!(
        "'@{callee}' is only declared: it can be planned, verified and simulated, not run"
    ))
}

/// Which operands and results of a declaration those of an operation are: numbers as in [`Declared::value`].
pub(super) struct Part {
    /// Of each operand.
    pub(super) operands: Vec<usize>,
    /// Of each result.
    pub(super) results: Vec<usize>,
    /// Whether it is one of the halves of the gradient.
    is_gradient: bool,
}

impl Part {
    /// Reads an operation that calls `declared`.
    pub(super) fn of(module: &Module, op: Op, declared: &Declared<'_>) -> Self {
        let numbers = |name: &str| -> Vec<usize> {
            let list = module.attr_by(op, name).and_then(|list| list.as_int_array(module.ctx()));
            list.unwrap_or(&[]).iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect()
        };
        let (inputs, outputs) = (declared.inputs.len(), declared.outputs.len());
        if matches!(module.name_text(op), OpaqueDx::NAME | OpaqueDw::NAME) {
            let mut operands = numbers("saved");
            // The cotangent of the first result.
            operands.push(inputs);
            Self { operands, results: numbers("wrt"), is_gradient: true }
        } else {
            let results = (inputs..inputs + outputs).collect();
            Self { operands: (0..inputs).collect(), results, is_gradient: false }
        }
    }
}

/// The factor rule: one factor for the batch, one for what is sharded, and the other dimensions whole.
pub(super) fn factors(module: &Module, op: Op) -> FactorRule {
    let (operands, results) = (module.num_operands(op), module.num_results(op));
    let empty = FactorRule::empty(operands, results);
    let Some(declared) = Declared::called(module, op) else { return empty };
    let part = Part::of(module, op, &declared);
    if (part.operands.len(), part.results.len()) != (operands, results) {
        return empty;
    }
    let mut rule = Rule { declared: &declared, factors: Vec::new(), batch: None, shard: None };
    let values = module.operands(op).chain(module.results(op));
    let numbers = part.operands.iter().chain(&part.results);
    let mut dims: Vec<Vec<Dim>> = values
        .zip(numbers)
        .map(|(value, &number)| {
            let shape =
                module.ty(value).as_tensor(module.ctx()).map_or(&[][..], |(shape, _)| shape);
            let dims = declared.value(number).map_or_else(Dims::default, |(_, dims)| dims);
            shape.iter().enumerate().map(|(dim, &size)| rule.dim(dims, dim, size)).collect()
        })
        .collect();
    let results = dims.split_off(operands);
    let (batch, shard) = (rule.batch, rule.shard);
    let everywhere =
        |factor: u16| results.iter().all(|dims: &Vec<Dim>| dims.contains(&Dim::One(factor)));
    let mut factors = rule.factors;
    if let Some(batch) = batch
        && !everywhere(batch)
    {
        factors[usize::from(batch)].kind = FactorKind::Reduction(Combine::Sum);
    }
    if let Some(shard) = shard
        && !everywhere(shard)
    {
        // The gradient of what every part reads is a sum over the parts; of a result it has to be said.
        let without =
            part.results.iter().zip(&results).filter(|(_, dims)| !dims.contains(&Dim::One(shard)));
        let is_sum = |number: usize| declared.value(number).is_some_and(|(_, dims)| dims.shard_sum);
        let untold = without
            .filter(|_| !part.is_gradient)
            .map(|(number, _)| *number)
            .find(|number| !is_sum(*number));
        factors[usize::from(shard)].kind = match untold {
            None => FactorKind::Reduction(Combine::Sum),
            Some(number) => FactorKind::Whole(Cow::Owned(format!(
                "result {} of '@{}' has neither shard_dim nor shard_sum",
                number - declared.inputs.len(),
                declared.name
            ))),
        };
    }
    let linear = if part.is_gradient { vec![operands - 1] } else { Vec::new() };
    FactorRule {
        factors,
        operands: dims,
        results,
        linear: LinearIn::Each(linear),
        added: Vec::new(),
    }
}

/// The factors found so far.
struct Rule<'d, 'm> {
    declared: &'d Declared<'m>,
    factors: Vec<Factor>,
    batch: Option<u16>,
    shard: Option<u16>,
}

impl Rule<'_, '_> {
    fn dim(&mut self, dims: Dims, dim: usize, size: i64) -> Dim {
        let next = self.factors.len() as u16;
        let known = match Some(dim) {
            at if at == dims.batch => &mut self.batch,
            at if at == dims.shard => &mut self.shard,
            _ => {
                let why = format!(
                    "'@{}' is only declared, and not with this as batch_dim or shard_dim",
                    self.declared.name
                );
                let name = piper_ir::interfaces::shardable::leading_name(dim);
                self.factors.push(Factor { name, size, kind: FactorKind::Whole(Cow::Owned(why)) });
                return Dim::One(next);
            }
        };
        if let Some(known) = *known {
            return Dim::One(known);
        }
        *known = Some(next);
        let name = if self.batch == Some(next) { "batch" } else { "shard" };
        self.factors.push(Factor {
            name: Cow::Borrowed(name),
            size,
            kind: FactorKind::PassThrough,
        });
        Dim::One(next)
    }
}

/// The declared cost, of the share of the declared shapes that the operation works on.
pub(super) fn given(module: &Module, op: Op) -> GivenCost {
    let Some(declared) = Declared::called(module, op) else { return GivenCost::default() };
    let cost = match module.name_text(op) {
        OpaqueDx::NAME => declared.input,
        OpaqueDw::NAME => declared.weight,
        _ => declared.cost,
    };
    cost.share(share(module, op, &declared))
}

/// Which part of the declared batch, times which part of what is sharded.
fn share(module: &Module, op: Op, declared: &Declared<'_>) -> f64 {
    let ctx = module.ctx();
    let part = Part::of(module, op, declared);
    let values = || module.operands(op).chain(module.results(op));
    let ratio = |dim: fn(&Dims) -> Option<usize>| {
        let found =
            values().zip(part.operands.iter().chain(&part.results)).find_map(|(value, &number)| {
                let (ty, dims) = declared.value(number)?;
                let dim = dim(&dims)?;
                let (given, whole) =
                    (module.ty(value).as_tensor(ctx)?.0.get(dim)?, ty.as_tensor(ctx)?.0.get(dim)?);
                (*whole > 0).then(|| *given as f64 / *whole as f64)
            });
        found.unwrap_or(1.0)
    };
    ratio(|dims| dims.batch) * ratio(|dims| dims.shard)
}

/// The declared cost in whole numbers; what was not said counts as nothing, but for bytes: all operands and results move.
pub(super) fn cost(module: &Module, op: Op) -> Cost {
    let given = given(module, op);
    let moved = Cost::moving_all(module, op, given.flops.unwrap_or(0.0) as u64);
    match given.bytes {
        Some(bytes) => Cost { read: bytes as u64, written: 0, ..moved },
        None => moved,
    }
}
