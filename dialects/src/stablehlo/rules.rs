//! What passes may ask of StableHLO operations: how dimensions correspond
//! ([`Shardable`](piper_ir::interfaces::Shardable)) and what they cost ([`CostModel`](piper_ir::interfaces::CostModel)).

use piper_ir::interfaces::cost::elements;
use piper_ir::interfaces::shardable::{Combine, Dim, Factor, FactorKind, LinearIn, leading_name};
use piper_ir::interfaces::{Cost, FactorRule};
use piper_ir::{Module, Op, Value};

use super::attrs::list;
use super::ops::shape::Constant;
use super::syntax::reduction::applied;

fn shape(module: &Module, value: Value) -> &[i64] {
    module.ty(value).as_tensor(module.ctx()).map_or(&[], |(shape, _)| shape)
}

fn factor(name: impl Into<std::borrow::Cow<'static, str>>, size: i64) -> Factor {
    Factor { name: name.into(), size, kind: FactorKind::PassThrough }
}

/// One factor a dimension of `shape`, named by position.
fn factors(shape: &[i64]) -> Vec<Factor> {
    shape.iter().enumerate().map(|(dim, &size)| factor(leading_name(dim), size)).collect()
}

/// The integers of a list attribute.
fn ints<'m>(module: &'m Module, op: Op, name: &str) -> &'m [i64] {
    module.attr_by(op, name).and_then(|a| a.as_int_array(module.ctx())).unwrap_or(&[])
}

/// Value by value: every dimension passes through; a scalar among tensors has none.
pub(super) fn pointwise(module: &Module, op: Op) -> FactorRule {
    let result = shape(module, module.result(op, 0));
    let mut rule = FactorRule::elementwise(result, module.num_operands(op), module.num_results(op));
    for (dims, value) in rule.operands.iter_mut().zip(module.operands(op)) {
        if shape(module, value).len() != result.len() {
            dims.clear();
        }
    }
    rule
}

/// [`pointwise`], and linear in each operand alone: a product, or a linear function.
pub(super) fn linear_in_each(module: &Module, op: Op) -> FactorRule {
    let linear = LinearIn::Each((0..module.num_operands(op)).collect());
    FactorRule { linear, ..pointwise(module, op) }
}

/// [`pointwise`], and linear in the first operand: a quotient.
pub(super) fn linear_in_first(module: &Module, op: Op) -> FactorRule {
    FactorRule { linear: LinearIn::Each(vec![0]), ..pointwise(module, op) }
}

/// [`pointwise`], and linear in all operands together: a sum.
pub(super) fn linear_jointly(module: &Module, op: Op) -> FactorRule {
    FactorRule { linear: LinearIn::Jointly, ..pointwise(module, op) }
}

/// Nothing to divide: made from nothing.
pub(super) fn nothing(module: &Module, op: Op) -> FactorRule {
    let result = shape(module, module.result(op, 0));
    FactorRule {
        factors: factors(result),
        results: vec![(0..result.len()).map(|dim| Dim::One(dim as u16)).collect()],
        ..FactorRule::empty(0, 0)
    }
}

/// Dimensions of the operand where `broadcast_dimensions` puts them; those of size 1 that are repeated have no factor.
pub(super) fn broadcast_in_dim(module: &Module, op: Op) -> FactorRule {
    let (from, to) = (shape(module, module.operand(op, 0)), shape(module, module.result(op, 0)));
    let dims =
        ints(module, op, "broadcast_dimensions").iter().enumerate().map(|(i, &dim)| {
            match (from.get(i), to.get(dim as usize)) {
                (Some(a), Some(b)) if a == b => Dim::One(dim as u16),
                _ => Dim::Unit,
            }
        });
    FactorRule {
        factors: factors(to),
        operands: vec![dims.collect()],
        results: vec![(0..to.len()).map(|dim| Dim::One(dim as u16)).collect()],
        linear: LinearIn::Each(vec![0]),
        ..FactorRule::empty(0, 0)
    }
}

/// Dimension `i` of the result is dimension `permutation[i]` of the operand.
pub(super) fn transpose(module: &Module, op: Op) -> FactorRule {
    let from = shape(module, module.operand(op, 0));
    let permutation = ints(module, op, "permutation");
    FactorRule {
        factors: factors(from),
        operands: vec![(0..from.len()).map(|dim| Dim::One(dim as u16)).collect()],
        results: vec![permutation.iter().map(|&dim| Dim::One(dim as u16)).collect()],
        linear: LinearIn::Each(vec![0]),
        ..FactorRule::empty(0, 0)
    }
}

/// Runs of dimensions of equal product correspond: `[6, 4] -> [2, 12]` has the factors 2, 3 and 4. Where sizes share no such
/// factors the run is whole.
pub(super) fn reshape(module: &Module, op: Op) -> FactorRule {
    let (from, to) = (shape(module, module.operand(op, 0)), shape(module, module.result(op, 0)));
    let mut rule = FactorRule {
        operands: vec![Vec::new()],
        results: vec![Vec::new()],
        linear: LinearIn::Each(vec![0]),
        ..FactorRule::empty(0, 0)
    };
    let mut sides: [Vec<Vec<u16>>; 2] = [vec![Vec::new(); from.len()], vec![Vec::new(); to.len()]];
    let (mut a, mut b) = (0, 0);
    let (mut left, mut right) = (1, 1);
    loop {
        while left == 1 && a < from.len() {
            left = from[a];
            a += 1;
        }
        while right == 1 && b < to.len() {
            right = to[b];
            b += 1;
        }
        if left <= 1 || right <= 1 {
            break;
        }
        let number = rule.factors.len() as u16;
        let size = left.min(right);
        let whole = left % size != 0 || right % size != 0;
        let name = format!("*{}", a - 1);
        rule.factors.push(Factor {
            name: name.into(),
            size,
            kind: match whole {
                true => FactorKind::Whole("the new shape does not divide there".into()),
                false => FactorKind::PassThrough,
            },
        });
        sides[0][a - 1].push(number);
        sides[1][b - 1].push(number);
        if whole {
            // What follows corresponds in no way that can be divided.
            for (side, from) in [(0, a), (1, b)] {
                for dims in &mut sides[side][from..] {
                    dims.push(number);
                }
            }
            break;
        }
        (left, right) = (left / size, right / size);
    }
    let dim = |factors: Vec<u16>| match factors[..] {
        [] => Dim::Unit,
        [only] => Dim::One(only),
        _ => Dim::Product(factors.into()),
    };
    let [operand, result] = sides;
    rule.operands[0] = operand.into_iter().map(dim).collect();
    rule.results[0] = result.into_iter().map(dim).collect();
    rule
}

/// The dimensions of a product's operands: `(batching, contracting)` of the first and of the second.
pub(super) struct DotDims<'m> {
    /// Of the first operand.
    pub(super) lhs: (&'m [i64], &'m [i64]),
    /// Of the second operand.
    pub(super) rhs: (&'m [i64], &'m [i64]),
}

/// The dimension numbers of `stablehlo.dot_general`, and those that `stablehlo.dot` stands for.
pub(super) fn dot_dims(module: &Module, op: Op) -> DotDims<'_> {
    let ctx = module.ctx();
    match module.attr_by(op, "dot_dimension_numbers") {
        Some(numbers) => DotDims {
            lhs: (
                list(ctx, numbers, "lhs_batching_dimensions"),
                list(ctx, numbers, "lhs_contracting_dimensions"),
            ),
            rhs: (
                list(ctx, numbers, "rhs_batching_dimensions"),
                list(ctx, numbers, "rhs_contracting_dimensions"),
            ),
        },
        None => {
            let last: &[i64] = match shape(module, module.operand(op, 0)).len() {
                1 => &[0],
                _ => &[1],
            };
            DotDims { lhs: (&[], last), rhs: (&[], &[0]) }
        }
    }
}

/// Batching dimensions and what is left of each operand pass through; contracting dimensions are summed.
pub(super) fn dot_general(module: &Module, op: Op) -> FactorRule {
    let dims = dot_dims(module, op);
    let (lhs, rhs) = (shape(module, module.operand(op, 0)), shape(module, module.operand(op, 1)));
    let mut rule = FactorRule { linear: LinearIn::Each(vec![0, 1]), ..FactorRule::empty(2, 1) };
    rule.operands = vec![vec![Dim::Unit; lhs.len()], vec![Dim::Unit; rhs.len()]];
    let add =
        |rule: &mut FactorRule, name: String, size: i64, sum: bool, places: &[(usize, i64)]| {
            let number = rule.factors.len() as u16;
            let kind = match sum {
                true => FactorKind::Reduction(Combine::Sum),
                false => FactorKind::PassThrough,
            };
            rule.factors.push(Factor { name: name.into(), size, kind });
            for &(operand, dim) in places {
                if let Some(slot) = rule.operands[operand].get_mut(dim as usize) {
                    *slot = Dim::One(number);
                }
            }
            if !sum {
                rule.results[0].push(Dim::One(number));
            }
        };
    let size = |dim: i64| lhs.get(dim as usize).copied().unwrap_or(1);
    for (i, (&a, &b)) in dims.lhs.0.iter().zip(dims.rhs.0).enumerate() {
        add(&mut rule, format!("B{i}"), size(a), false, &[(0, a), (1, b)]);
    }
    for (letter, operand, shape, (batching, contracting)) in
        [("M", 0, lhs, dims.lhs), ("N", 1, rhs, dims.rhs)]
    {
        let mut count = 0;
        for (dim, &size) in shape.iter().enumerate() {
            let dim = dim as i64;
            if !batching.contains(&dim) && !contracting.contains(&dim) {
                add(&mut rule, format!("{letter}{count}"), size, false, &[(operand, dim)]);
                count += 1;
            }
        }
    }
    for (i, (&a, &b)) in dims.lhs.1.iter().zip(dims.rhs.1).enumerate() {
        add(&mut rule, format!("K{i}"), size(a), true, &[(0, a), (1, b)]);
    }
    rule
}

/// Reduced dimensions are joined by the region's operation; only a sum leaves partial sums.
pub(super) fn reduce(module: &Module, op: Op) -> FactorRule {
    let inputs = module.num_operands(op) / 2;
    let from = shape(module, module.operand(op, 0));
    let reduced = ints(module, op, "dimensions");
    let how = applied(module, op).map(|inner| module.name_text(inner));
    let combine = match how {
        Some("stablehlo.add") => Combine::Sum,
        Some("stablehlo.maximum") => Combine::Other("the maximum"),
        Some("stablehlo.minimum") => Combine::Other("the minimum"),
        Some("stablehlo.multiply") => Combine::Other("the product"),
        _ => Combine::Other("its region"),
    };
    let mut rule = FactorRule { factors: factors(from), ..FactorRule::empty(0, 0) };
    for &dim in reduced {
        if let Some(factor) = rule.factors.get_mut(dim as usize) {
            factor.kind = FactorKind::Reduction(combine);
        }
    }
    let all: Vec<Dim> = (0..from.len()).map(|dim| Dim::One(dim as u16)).collect();
    let kept: Vec<Dim> = (0..from.len())
        .filter(|dim| !reduced.contains(&(*dim as i64)))
        .map(|dim| Dim::One(dim as u16))
        .collect();
    rule.operands = vec![all; inputs];
    rule.operands.resize(module.num_operands(op), Vec::new());
    rule.results = vec![kept; module.num_results(op)];
    if combine == Combine::Sum {
        rule.linear = LinearIn::Each(vec![0]);
        // Unless it is the neutral element, the initial value would be added once a part.
        if !is_zero(module, module.operand(op, inputs)) {
            rule.added = (inputs..module.num_operands(op)).collect();
        }
    }
    rule
}

/// Whether a value is a constant zero.
fn is_zero(module: &Module, value: Value) -> bool {
    let constant = module.defining_op(value).and_then(|op| Constant::cast(module, op));
    let Some(dense) = constant.and_then(|c| c.value(module).as_dense(module.ctx())) else {
        return false;
    };
    dense.is_splat() && (dense.float(0) == Some(0.0) || dense.int(0) == Some(0))
}

/// No arithmetic: bytes alone.
pub(super) fn no_flops(module: &Module, op: Op) -> Cost {
    Cost::moving_all(module, op, 0)
}

/// One floating-point operation a value of the result.
pub(super) fn one_flop(module: &Module, op: Op) -> Cost {
    Cost::moving_all(module, op, elements(module, module.result(op, 0)))
}

/// A transcendental function a value of the result: ten operations, as everywhere in Piper.
pub(super) fn transcendental(module: &Module, op: Op) -> Cost {
    Cost::moving_all(module, op, 10 * elements(module, module.result(op, 0)))
}

/// A multiply-add for each value of the result and each contracted place.
pub(super) fn dot_general_cost(module: &Module, op: Op) -> Cost {
    let dims = dot_dims(module, op);
    let lhs = shape(module, module.operand(op, 0));
    let sizes = dims
        .lhs
        .1
        .iter()
        .map(|&dim| lhs.get(dim as usize).map_or(1, |&size| u64::try_from(size).unwrap_or(0)));
    let depth: u64 = sizes.product();
    Cost::moving_all(module, op, 2 * depth * elements(module, module.result(op, 0)))
}

/// One application of the region's operations a value of the operand.
pub(super) fn reduce_cost(module: &Module, op: Op) -> Cost {
    let region = module.regions(op).first();
    let block = region.and_then(|region| module.first_block(*region));
    let steps = block.map_or(0, |block| module.ops(block).count().saturating_sub(1)) as u64;
    Cost::moving_all(module, op, steps * elements(module, module.operand(op, 0)))
}

/// Of the operand only what is picked is read.
pub(super) fn gather_cost(module: &Module, op: Op) -> Cost {
    let bytes = |value| piper_ir::interfaces::cost::bytes(module, value);
    let picked = bytes(module.result(op, 0));
    Cost { flops: 0, read: picked + bytes(module.operand(op, 1)), written: picked }
}
