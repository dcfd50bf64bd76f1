//! Sums over the members of a group: a fixed tree, so that two runs (and two groupings) give the same bits.
//!
//! The tree over `n` members in order splits at the largest power of two below `n`. Sums of aligned groups of `2^k` members
//! are therefore subtrees, and reducing in two stages over power-of-two groups gives the bits of one stage.

#![allow(unsafe_code)]

use std::ops::Add;

/// Elements handled at a time: small enough for the partial sums to stay in the first-level cache.
const CHUNK: usize = 512;

/// Sum of `values` by the tree. Empty sums are the default (zero).
pub(crate) fn tree_sum<T: Copy + Add<Output = T> + Default>(values: &[T]) -> T {
    match values.len() {
        0 => T::default(),
        1 => values[0],
        n => {
            let split = 1 << (usize::BITS - 1 - (n - 1).leading_zeros());
            tree_sum(&values[..split]) + tree_sum(&values[split..])
        }
    }
}

/// Writes the sum over `sources` of `len` elements each to every one of `targets`.
///
/// # Safety
/// All pointers are aligned and valid for `len` elements, sources for reads and targets for writes; nobody else uses these
/// ranges meanwhile. A target may equal a source, but may not otherwise overlap one.
pub(crate) unsafe fn sum_into<T: Copy + Add<Output = T> + Default>(
    sources: &[*const T],
    targets: &[*mut T],
    len: usize,
) {
    // Partial sums of 2^0, 2^1, ... members, as in binary counting; merging in this order is the tree above.
    let mut stack: Vec<[T; CHUNK]> = Vec::with_capacity(sources.len().ilog2() as usize + 2);
    for start in (0..len).step_by(CHUNK) {
        let count = CHUNK.min(len - start);
        stack.clear();
        for (k, source) in sources.iter().enumerate() {
            let mut leaf = [T::default(); CHUNK];
            // SAFETY: `start + count <= len`, for which the source is valid; the leaf is local.
            unsafe { std::ptr::copy_nonoverlapping(source.add(start), leaf.as_mut_ptr(), count) };
            stack.push(leaf);
            for _ in 0..(k + 1).trailing_zeros() {
                merge(&mut stack, count);
            }
        }
        while stack.len() > 1 {
            merge(&mut stack, count);
        }
        for target in targets {
            // SAFETY: `start + count <= len`, for which the target is valid; the sum is local.
            unsafe { std::ptr::copy_nonoverlapping(stack[0].as_ptr(), target.add(start), count) };
        }
    }
}

fn merge<T: Copy + Add<Output = T>>(stack: &mut Vec<[T; CHUNK]>, count: usize) {
    let right = stack.pop().expect("two partial sums to merge");
    let left = stack.last_mut().expect("two partial sums to merge");
    left[..count].iter_mut().zip(&right[..count]).for_each(|(l, &r)| *l = *l + r);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_tree_for_any_number_of_members() {
        for n in 1..20usize {
            let members: Vec<Vec<f32>> = (0..n)
                .map(|m| (0..700).map(|i| (1.0 + m as f32 * 0.37 + i as f32).sin()).collect())
                .collect();
            let mut out = vec![0f32; 700];
            let sources: Vec<*const f32> = members.iter().map(|m| m.as_ptr()).collect();
            // SAFETY: all vectors have 700 elements and are distinct.
            unsafe { sum_into(&sources, &[out.as_mut_ptr()], 700) };
            for (i, sum) in out.iter().enumerate() {
                let column: Vec<f32> = members.iter().map(|m| m[i]).collect();
                assert_eq!(sum.to_bits(), tree_sum(&column).to_bits(), "{n} members, element {i}");
            }
        }
    }

    #[test]
    fn aligned_powers_of_two_are_subtrees() {
        let values: Vec<f32> = (0..8).map(|i| (0.1 + i as f32).exp()).collect();
        let halves = [tree_sum(&values[..4]), tree_sum(&values[4..])];
        assert_eq!(tree_sum(&values).to_bits(), tree_sum(&halves).to_bits());
    }
}
