//! The fixed order in which partial results of grains (microbatch x replica) are added.
//!
//! Neighbours are added pairwise, level by level; the odd one at the end of a level moves up unchanged. The tree depends
//! on the number of grains alone, and every aligned run of `2^k` grains is a subtree: whoever holds such a run adds it up
//! by itself, and combining the runs' sums with the same rule gives the same bits as adding all grains in one place.

use super::elementwise::add;
use crate::error::NumericError;
use crate::real::Real;
use crate::tensor::Tensor;

/// The tree sum of one or more tensors of one shape.
///
/// # Errors
/// When the list is empty, shapes differ, or a tensor does not hold `T`.
pub fn tree_sum<T: Real>(grains: &[&Tensor]) -> Result<Tensor, NumericError> {
    let pairs = |level: &[&Tensor]| -> Result<Vec<Tensor>, NumericError> {
        level
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => add::<T>(a, b),
                rest => Ok(rest[0].clone()),
            })
            .collect()
    };
    let mut level = pairs(grains)?;
    while level.len() > 1 {
        level = pairs(&level.iter().collect::<Vec<_>>())?;
    }
    level
        .pop()
        .ok_or(NumericError::Attribute { op: "tree_sum", reason: "there is nothing to add".into() })
}
