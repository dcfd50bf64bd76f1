//! How the dimensions of an operation's operands and results correspond: what may be divided, and what follows from it.
//!
//! The rule is a list of *factors*, after Shardy's sharding rules (<https://openxla.org/shardy/propagation>): every dimension
//! of every operand and result is a product of factors, and dividing a factor divides each dimension that has it. A factor
//! that no result has is *reduced*: each part then holds a summand (or what else combines the parts). A factor may be
//! *whole*, with the reason. A matrix product `y[M, N] = sum over K of x[M, K] w[K, N]` has the factors `M` and `N`, which
//! pass through, and `K`, which is summed.
//!
//! [`propagate`] is the rule for one division, as of a batch into microbatches. No part needs a factor 1/M: means keep the
//! count they had before the split, so that summands add up.

use std::borrow::Cow;

use crate::{Module, Op};

/// What becomes of a factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FactorKind {
    /// Parts of the operands give parts of the results.
    PassThrough,
    /// Not in every result: one without it holds, in each part, what [`Combine`] joins.
    Reduction(Combine),
    /// Cannot be divided, and why: every part needs all of it.
    Whole(Cow<'static, str>),
}

/// How parts of a reduced factor join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// They add up.
    Sum,
    /// By another operation, such as the maximum, with its name as it stands after "by".
    Other(&'static str),
}

/// A factor: a name for messages, its size, and what becomes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factor {
    /// A letter, or `*0` for dimension 0 that has none.
    pub name: Cow<'static, str>,
    /// Number of elements along it.
    pub size: i64,
    /// What becomes of it.
    pub kind: FactorKind,
}

/// The factors of one dimension, as indices into [`FactorRule::factors`], major to minor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dim {
    /// None: a dimension of size 1 that is broadcast.
    Unit,
    /// One.
    One(u16),
    /// Several, as of a reshaped dimension.
    Product(Box<[u16]>),
}

impl Dim {
    /// The factors, major to minor.
    pub fn factors(&self) -> &[u16] {
        match self {
            Self::Unit => &[],
            Self::One(factor) => std::slice::from_ref(factor),
            Self::Product(factors) => factors,
        }
    }

    /// The major factor: along which dividing the dimension gives contiguous parts.
    pub fn major(&self) -> Option<u16> {
        self.factors().first().copied()
    }
}

/// In which operands an operation is linear: what it does with a partial sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinearIn {
    /// In each of these operands (by number) taken alone, the others fixed (a product).
    Each(Vec<usize>),
    /// In all operands together (a sum).
    Jointly,
}

/// How the dimensions of one operation correspond.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FactorRule {
    /// The factors.
    pub factors: Vec<Factor>,
    /// A list of dimensions an operand.
    pub operands: Vec<Vec<Dim>>,
    /// A list of dimensions a result.
    pub results: Vec<Vec<Dim>>,
    /// What the operation does with a partial sum.
    pub linear: LinearIn,
    /// Operands that are added to the result as they are: not once a part, if the result becomes a partial sum.
    pub added: Vec<usize>,
}

impl FactorRule {
    /// A rule without factors, for an operation without operands or with nothing to divide.
    pub fn empty(operands: usize, results: usize) -> Self {
        Self {
            factors: Vec::new(),
            operands: vec![Vec::new(); operands],
            results: vec![Vec::new(); results],
            linear: LinearIn::Each(Vec::new()),
            added: Vec::new(),
        }
    }

    /// Every value has the dimensions of the first, one factor each: an elementwise operation.
    pub fn elementwise(shape: &[i64], operands: usize, results: usize) -> Self {
        let factors = shape.iter().enumerate().map(|(dim, &size)| Factor {
            name: leading_name(dim),
            size,
            kind: FactorKind::PassThrough,
        });
        let dims: Vec<Dim> = (0..shape.len()).map(|dim| Dim::One(dim as u16)).collect();
        Self {
            factors: factors.collect(),
            operands: vec![dims.clone(); operands],
            results: vec![dims; results],
            ..Self::empty(0, 0)
        }
    }

    /// The factor of this number.
    pub fn factor(&self, number: u16) -> &Factor {
        &self.factors[usize::from(number)]
    }

    /// The dimension of a value that a factor is the major part of.
    pub fn dim_of(dims: &[Dim], factor: u16) -> Option<usize> {
        dims.iter().position(|dim| dim.major() == Some(factor))
    }
}

/// The name of a factor that has no letter: `*` and the dimension.
pub fn leading_name(dim: usize) -> Cow<'static, str> {
    const NAMES: [&str; 8] = ["*0", "*1", "*2", "*3", "*4", "*5", "*6", "*7"];
    NAMES.get(dim).map_or_else(|| Cow::Owned(format!("*{dim}")), |name| Cow::Borrowed(*name))
}

/// The interface: an operation's factor rule, a function of its types and attributes.
#[derive(Clone, Copy, Debug)]
pub struct Shardable(pub fn(&Module, Op) -> FactorRule);

/// The factor rule of an operation, if it has one.
pub fn factor_rule(module: &Module, op: Op) -> Option<FactorRule> {
    let shardable = module.def(op)?.interface::<Shardable>()?;
    Some((shardable.0)(module, op))
}

/// How a value varies over the parts of something that is divided, such as a batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Along {
    /// Not at all: every part sees the same value.
    Whole,
    /// Each part holds a piece along this dimension.
    Dim(usize),
    /// Each part holds a summand.
    Sum,
}

/// How an operation's results vary if its operands vary so.
///
/// # Errors
/// A reason that names the operand, when a partial sum is used in a way that is not linear, a dimension is divided that must
/// be whole or does not add up, or operands disagree on what is divided.
pub fn propagate(
    module: &Module,
    op: Op,
    rule: &FactorRule,
    along: &[Along],
) -> Result<Vec<Along>, String> {
    let op_name = module.name_text(op);
    let name = |operand: usize| operand_name(module, op, operand);
    if rule.operands.len() != along.len() {
        return Err(format!(
            "'{op_name}' has {} operands, not {}",
            rule.operands.len(),
            along.len()
        ));
    }
    if along.contains(&Along::Sum) {
        return sums(module, op, rule, along).map(|()| vec![Along::Sum; rule.results.len()]);
    }
    // The one factor that is divided, and by whom.
    let mut divided: Option<(u16, usize)> = None;
    for (operand, along) in along.iter().enumerate() {
        let Along::Dim(dim) = *along else { continue };
        let Some(found) = rule.operands[operand].get(dim) else {
            return Err(format!(
                "operand '{}' of '{op_name}' has no dimension {dim}",
                name(operand)
            ));
        };
        let Some(factor) = found.major() else {
            return Err(format!(
                "operand '{}' of '{op_name}' cannot be split along its dimension {dim}: it is broadcast",
                name(operand)
            ));
        };
        match divided {
            Some((known, first)) if known != factor => {
                return Err(format!(
                    "operand '{}' of '{op_name}' is split along its dimension {}, but '{}' along {}",
                    name(operand),
                    spelt(&rule.factor(factor).name),
                    name(first),
                    spelt(&rule.factor(known).name)
                ));
            }
            Some(_) => {}
            None => divided = Some((factor, operand)),
        }
    }
    let Some((factor, first)) = divided else {
        return Ok(vec![Along::Whole; rule.results.len()]);
    };
    let Factor { name: letter, kind, .. } = rule.factor(factor);
    if let FactorKind::Whole(why) = kind {
        return Err(format!(
            "operand '{}' of '{op_name}' cannot be split along its dimension {letter}: {why}",
            name(first)
        ));
    }
    for (operand, along) in along.iter().enumerate() {
        let shares = rule.operands[operand].iter().any(|dim| dim.factors().contains(&factor));
        if *along == Along::Whole && shares {
            return Err(format!(
                "operand '{}' of '{op_name}' is whole, but '{}' is split along the dimension {} that they share",
                name(operand),
                name(first),
                spelt(letter)
            ));
        }
    }
    let mut out = Vec::with_capacity(rule.results.len());
    for dims in &rule.results {
        let inside = || dims.iter().any(|dim| dim.factors().contains(&factor));
        out.push(match FactorRule::dim_of(dims, factor) {
            Some(dim) => Along::Dim(dim),
            None if inside() => {
                return Err(format!(
                    "operand '{}' of '{op_name}' cannot be split along its dimension {}: its parts are not contiguous in the result",
                    name(first),
                    spelt(letter)
                ));
            }
            None => match kind {
                FactorKind::Reduction(Combine::Other(how)) => {
                    return Err(format!(
                        "operand '{}' of '{op_name}' cannot be split along its dimension {}, which is reduced by {how}: the parts do not add up",
                        name(first),
                        spelt(letter)
                    ));
                }
                _ => Along::Sum,
            },
        });
    }
    if out.contains(&Along::Sum)
        && let Some(&added) = rule.added.first()
    {
        return Err(format!(
            "operand '{}' of '{op_name}' would be added once a part, as '{}' is split along {letter}, over which '{op_name}' sums",
            name(added),
            name(first)
        ));
    }
    Ok(out)
}

/// Whether the operation is linear in the operands that are partial sums.
fn sums(module: &Module, op: Op, rule: &FactorRule, along: &[Along]) -> Result<(), String> {
    let op_name = module.name_text(op);
    let name = |operand: usize| operand_name(module, op, operand);
    let is_sum = |i: &usize| along[*i] == Along::Sum;
    let (partial, other): (Vec<usize>, Vec<usize>) = (0..along.len()).partition(is_sum);
    let first = partial[0];
    let linear = match &rule.linear {
        LinearIn::Jointly => {
            return match other.first() {
                None => Ok(()),
                Some(&i) => Err(format!(
                    "operand '{}' of '{op_name}' is a partial sum over the batch, but '{}' is not: it would be added once a part",
                    name(first),
                    name(i)
                )),
            };
        }
        LinearIn::Each(linear) => linear,
    };
    if let Some(&second) = partial.get(1) {
        return Err(format!(
            "operands '{}' and '{}' of '{op_name}' are both partial sums over the batch: a product of sums is not the sum of products",
            name(first),
            name(second)
        ));
    }
    if !linear.contains(&first) {
        return Err(format!(
            "operand '{}' of '{op_name}' is a partial sum over the batch, and '{op_name}' is not linear in it",
            name(first)
        ));
    }
    if let Some(&i) = other.iter().find(|&&i| along[i] != Along::Whole) {
        return Err(format!(
            "operand '{}' of '{op_name}' is a partial sum over the batch, but '{}' is split",
            name(first),
            name(i)
        ));
    }
    match rule.added.iter().find(|added| **added != first) {
        Some(&added) => Err(format!(
            "operand '{}' of '{op_name}' is a partial sum over the batch, so '{}' would be added once a part",
            name(first),
            name(added)
        )),
        None => Ok(()),
    }
}

/// The declared name of an operand.
fn operand_name(module: &Module, op: Op, operand: usize) -> String {
    let defs = module.def(op).map_or(&[][..], |def| &def.operands);
    let mut before = 0;
    for (group, def) in defs.iter().enumerate() {
        before += module.operand_group(op, group).len();
        if operand < before {
            return def.name.to_string();
        }
    }
    operand.to_string()
}

/// A dimension without a letter by its position, a named one by its letter.
fn spelt(name: &str) -> &str {
    name.strip_prefix('*').unwrap_or(name)
}
