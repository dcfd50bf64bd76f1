//! How an operation's results vary when the batch is split into parts.
//!
//! The rule follows from the [`Signature`]: a divided dimension divides every value that has its letter; a result without
//! it is a sum over the parts. No part needs a factor 1/M: means keep the count they had before the split.

use piper_ir::{Module, Op};

use super::signature::{Labelled, Linearity, Signature, labelled};

/// How a value varies over the parts of a split batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Along {
    /// Not at all: every part sees the same value.
    Whole,
    /// Each part holds a piece along this dimension.
    Dim(usize),
    /// Each part holds a summand.
    Sum,
}

/// An operation's answer to how its results vary if its operands vary so: one [`Along`] an operand in, one a result out.
/// The error is a reason that names the operand.
#[derive(Clone, Copy, Debug)]
pub struct Batching(pub Rule);

/// Operands' variation in, results' variation out.
pub type Rule = fn(&Module, Op, &[Along]) -> Result<Vec<Along>, String>;

/// The rule of an operation that has a [`Signature`].
///
/// # Errors
/// When a partial sum is used in a way that is not linear, a dimension is divided that must be whole, or operands disagree
/// on what is divided.
pub fn infer(module: &Module, op: Op, along: &[Along]) -> Result<Vec<Along>, String> {
    let name = module.name_text(op);
    let operands = labelled(module, op, false);
    let results = labelled(module, op, true);
    let signature = module
        .def(op)
        .and_then(|def| def.interface::<Signature>())
        .ok_or_else(|| format!("'{name}' has no shape rule"))?;
    if operands.len() != along.len() {
        return Err(format!("'{name}' has {} operands, not {}", operands.len(), along.len()));
    }
    if along.contains(&Along::Sum) {
        return sums(name, signature, &operands, along).map(|()| vec![Along::Sum; results.len()]);
    }
    let rank = |item: &Labelled| {
        module.ty(item.value).as_tensor(module.ctx()).map_or(0, |(shape, _)| shape.len())
    };
    // The one letter that is divided, and by whom.
    let mut divided: Option<(String, &Labelled)> = None;
    for (item, along) in operands.iter().zip(along) {
        let Along::Dim(dim) = *along else { continue };
        if dim >= rank(item) {
            return Err(format!("operand '{}' of '{name}' has no dimension {dim}", item.name));
        }
        let letter = item.letter(rank(item), dim);
        match &divided {
            Some((known, first)) if *known != letter => {
                return Err(format!(
                    "operand '{}' of '{name}' is split along its dimension {}, but '{}' along {}",
                    item.name,
                    spelt(&letter),
                    first.name,
                    spelt(known)
                ));
            }
            Some(_) => {}
            None => divided = Some((letter, item)),
        }
    }
    let Some((letter, first)) = divided else { return Ok(vec![Along::Whole; results.len()]) };
    if let Some((_, why)) = signature.whole.iter().find(|(whole, _)| *whole == letter) {
        return Err(format!(
            "operand '{}' of '{name}' cannot be split along its dimension {letter}: {why}",
            first.name
        ));
    }
    let place = |item: &Labelled| (0..rank(item)).find(|&d| item.letter(rank(item), d) == letter);
    for (item, along) in operands.iter().zip(along) {
        if *along == Along::Whole && place(item).is_some() {
            return Err(format!(
                "operand '{}' of '{name}' is whole, but '{}' is split along the dimension {} that they share",
                item.name,
                first.name,
                spelt(&letter)
            ));
        }
    }
    let out: Vec<Along> =
        results.iter().map(|item| place(item).map_or(Along::Sum, Along::Dim)).collect();
    if out.contains(&Along::Sum)
        && let Some(item) = operands.iter().find(|o| signature.added.contains(&&*o.name))
    {
        return Err(format!(
            "operand '{}' of '{name}' would be added once a part, as '{}' is split along {letter}, over which '{name}' sums",
            item.name, first.name
        ));
    }
    Ok(out)
}

/// Whether the operation is linear in the operands that are partial sums.
fn sums(
    name: &str,
    signature: &Signature,
    operands: &[Labelled],
    along: &[Along],
) -> Result<(), String> {
    let is_sum = |i: &usize| along[*i] == Along::Sum;
    let (partial, other): (Vec<usize>, Vec<usize>) = (0..operands.len()).partition(is_sum);
    let first = &operands[partial[0]].name;
    match signature.linearity {
        Linearity::Jointly => match other.first() {
            None => Ok(()),
            Some(&i) => Err(format!(
                "operand '{first}' of '{name}' is a partial sum over the batch, but '{}' is not: it would be added once a part",
                operands[i].name
            )),
        },
        Linearity::Each(linear) => {
            if let Some(&second) = partial.get(1) {
                return Err(format!(
                    "operands '{first}' and '{}' of '{name}' are both partial sums over the batch: a product of sums is not the sum of products",
                    operands[second].name
                ));
            }
            if !linear.contains(&&**first) {
                return Err(format!(
                    "operand '{first}' of '{name}' is a partial sum over the batch, and '{name}' is not linear in it"
                ));
            }
            if let Some(&i) = other.iter().find(|&&i| along[i] != Along::Whole) {
                return Err(format!(
                    "operand '{first}' of '{name}' is a partial sum over the batch, but '{}' is split",
                    operands[i].name
                ));
            }
            match operands.iter().find(|o| signature.added.contains(&&*o.name) && o.name != *first)
            {
                Some(item) => Err(format!(
                    "operand '{first}' of '{name}' is a partial sum over the batch, so '{}' would be added once a part",
                    item.name
                )),
                None => Ok(()),
            }
        }
    }
}

/// A leading dimension by its position, a named one by its letter.
fn spelt(letter: &str) -> &str {
    letter.strip_prefix('*').unwrap_or(letter)
}
