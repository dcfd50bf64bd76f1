//! How attention is cut into blocks, and where its parts lie in workspace.
//!
//! Sizes depend on the shape only, not on the CPU: so do the order of sums and a plan's memory.

use crate::kernel::{Attention, Dtype};

/// Queries of a block. A multiple of the columns of every register tile.
pub(crate) const QUERIES: u64 = 64;
/// Keys of a block. A multiple of [`QUERIES`], so that blocks of queries end where blocks of keys do.
pub(crate) const KEYS: u64 = 128;
/// Query rows, over all heads that share a key head, whose gradients are summed apart where the result's own type would round
/// each sum. A sequence no longer than this is rounded once.
const APART: u64 = 2048;
/// Rows of the highest register tile, by which a block of rows may be overrun.
const MAX_MR: u64 = 8;
/// Elements of the widest row of a register tile, to which parts are aligned.
const MAX_NR: u64 = 32;

/// Gives out parts of workspace, one after the other.
#[derive(Default)]
struct Parts {
    next: u64,
}

impl Parts {
    fn take(&mut self, elems: u64) -> u64 {
        let start = self.next;
        self.next += elems.next_multiple_of(MAX_NR);
        start
    }

    /// A block of scores, `[keys][queries]`.
    fn scores(&mut self) -> u64 {
        self.take((KEYS + MAX_MR) * QUERIES + MAX_MR)
    }

    /// One number a query.
    fn numbers(&mut self) -> u64 {
        self.take(QUERIES + MAX_MR)
    }
}

/// Length of a row of sums in workspace: whole tiles.
pub(crate) fn padded_width(shape: &Attention) -> u64 {
    shape.head_dim.next_multiple_of(MAX_NR)
}

/// First elements of the parts of workspace of the forward kernel.
pub(crate) struct Forward {
    /// Packed queries.
    pub(crate) queries: u64,
    /// Scores, then weights.
    pub(crate) scores: u64,
    /// Packed values.
    pub(crate) values: u64,
    /// Sums of a block of queries.
    pub(crate) out: u64,
    /// Largest score of each query so far.
    pub(crate) largest: u64,
    /// The same before the block of keys at hand.
    pub(crate) before: u64,
    /// Sum of weights of each query.
    pub(crate) sums: u64,
    /// What earlier sums of each query are multiplied by.
    pub(crate) factors: u64,
    /// Keys in the type computed in, where they are stored in another.
    pub(crate) keys: u64,
    /// Elements in all.
    pub(crate) total: u64,
}

impl Forward {
    /// The parts for `shape`, of elements of `dtype`.
    pub(crate) fn of(shape: &Attention, dtype: Dtype) -> Self {
        let width = padded_width(shape);
        let mut parts = Parts::default();
        Self {
            queries: parts.take(QUERIES * shape.head_dim),
            scores: parts.scores(),
            values: parts.take(KEYS * width),
            out: parts.take((QUERIES + MAX_MR) * width),
            largest: parts.numbers(),
            before: parts.numbers(),
            sums: parts.numbers(),
            factors: parts.numbers(),
            keys: parts.take(if dtype == Dtype::Bf16 { KEYS * shape.head_dim } else { 0 }),
            total: parts.next,
        }
    }
}

/// First elements of the parts of workspace of the gradient kernel.
pub(crate) struct Gradient {
    /// Queries and output gradients, each packed along the head and along rows.
    pub(crate) packed: [u64; 4],
    /// Packed keys.
    pub(crate) keys: u64,
    /// Weights.
    pub(crate) weights: u64,
    /// Gradients of scores.
    pub(crate) scores: u64,
    /// What a block of keys adds to the gradients of a block of queries.
    pub(crate) dq: u64,
    /// Sums of the gradients of a block of keys and values.
    pub(crate) sums: [u64; 2],
    /// Log-sum-exp of each query.
    pub(crate) lse: u64,
    /// Product of output and output gradient of each query.
    pub(crate) dots: u64,
    /// Keys and values in the type computed in, where they are stored in another.
    pub(crate) wide: [u64; 2],
    /// Sums of gradients of a chunk of queries, where the result's own type would round them.
    pub(crate) dq_sums: u64,
    /// Elements in all.
    pub(crate) total: u64,
}

impl Gradient {
    /// The parts for `shape`, of elements of `dtype`.
    pub(crate) fn of(shape: &Attention, dtype: Dtype) -> Self {
        let width = padded_width(shape);
        let mut parts = Parts::default();
        let is_wider = dtype == Dtype::Bf16;
        let if_wider = |elems: u64| if is_wider { elems } else { 0 };
        let group = shape.heads / shape.kv_heads;
        Self {
            packed: [0; 4].map(|_| parts.take(QUERIES * width)),
            keys: parts.take(KEYS * width),
            weights: parts.scores(),
            scores: parts.scores(),
            dq: parts.take((QUERIES + MAX_MR) * width),
            sums: [0; 2].map(|_| parts.take((KEYS + MAX_MR) * width)),
            lse: parts.numbers(),
            dots: parts.numbers(),
            wide: [0; 2].map(|_| parts.take(if_wider(KEYS * shape.head_dim))),
            dq_sums: parts.take(if_wider(group * chunk(shape, dtype) * shape.head_dim)),
            total: parts.next,
        }
    }
}

/// Queries of a sequence whose gradients are summed before those of the next: all, unless they are summed apart.
pub(crate) fn chunk(shape: &Attention, dtype: Dtype) -> u64 {
    if dtype != Dtype::Bf16 {
        return shape.seq.max(1);
    }
    let group = shape.heads / shape.kv_heads;
    (APART / group / KEYS * KEYS).max(KEYS).min(shape.seq.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_does_not_grow_with_the_sequence() {
        for dtype in [Dtype::F32, Dtype::F64, Dtype::Bf16] {
            let total = |seq| {
                let shape = Attention { batch: 1, seq, heads: 4, kv_heads: 2, head_dim: 64 };
                [Forward::of(&shape, dtype).total, Gradient::of(&shape, dtype).total]
            };
            assert_eq!(total(2048), total(1 << 20), "{dtype:?}");
        }
    }
}
