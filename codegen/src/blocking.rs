//! Block sizes of matrix products, and the workspace that kernels need.
//!
//! A product is cut as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): a block
//! `kc x nc` of `b` is packed once and reused by all rows; it stays in the second-level cache, and `mr` rows of `a` in the
//! first while panels of `nr` columns of `b` pass by. So tiles follow each other along rows of the result, within few pages;
//! down its columns each would touch `mr` others, and looking those up cost a tenth of the time. Rows of an untransposed `a` are
//! broadcast from where they lie, which those pages and caches hold as well; a transposed `a` is packed. Workspace is sized for
//! the largest tile of any vector level, so a plan's memory does not depend on the CPU it is compiled for.

use crate::attention_blocks;
use crate::kernel::{Access, Body, Dtype, Gemm, Kernel, Mode, NormKind, Parameter};

/// Largest contraction length handled at once.
pub(crate) const KC: u64 = 384;
/// Rows of `a` that share one pass over the packed block.
const MC: u64 = 256;
/// Rows whose sums are held apart at once, where they are.
pub(crate) const SUM_ROWS: u64 = 1024;
/// Bytes of one row of the packed block.
const NC_BYTES: u64 = 3072;
const MAX_MR: u64 = 8;
/// Bytes of the vector that kernels are written for.
pub(crate) const VIRTUAL_BYTES: u64 = 64;
/// Bytes of a result from which it is stored past the caches.
const STREAMED_FROM_BYTES: u64 = 32 << 20;
const MAX_NR_BYTES: u64 = 128;

/// Cuts `length` into equal blocks no longer than `limit` and returns the block length, a multiple of `unit`.
fn balanced(length: u64, limit: u64, unit: u64) -> u64 {
    let length = length.max(1);
    length.div_ceil(length.div_ceil(limit)).next_multiple_of(unit)
}

/// Block sizes of one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocking {
    pub(crate) mc: u64,
    pub(crate) nc: u64,
    pub(crate) kc: u64,
    /// `a` is copied to panels, because it is stored transposed or is to be widened.
    pub(crate) packs_a: bool,
    /// Sums of a block of columns are held apart, because the result's own type would round them, or they are added to it at the
    /// end.
    pub(crate) has_sums: bool,
}

impl Blocking {
    /// Blocks for a product of at most `m x n x k`. They depend on the shape and type only, so that the order of
    /// summation over `k` is the same on every CPU.
    fn of(m: u64, n: u64, k: u64, dtype: Dtype) -> Self {
        let computed = dtype.computed();
        let nr = MAX_NR_BYTES / computed.bytes();
        // 24 is a multiple of every tile's rows.
        Self {
            mc: balanced(m, MC, 24),
            nc: balanced(n, NC_BYTES / computed.bytes(), nr),
            kc: balanced(k, KC, 1),
            packs_a: computed != dtype,
            has_sums: computed != dtype,
        }
    }

    /// The blocks of a product that is a kernel of its own.
    pub(crate) fn of_gemm(g: &Gemm, dtype: Dtype) -> Self {
        let blocking = Self::of(g.m, g.n, g.k, dtype);
        Self {
            packs_a: blocking.packs_a || g.transpose_a,
            has_sums: blocking.has_sums || g.accumulate && g.k > KC,
            ..blocking
        }
    }

    /// Elements of workspace before the sums: packed `b`, one register tile, the last rows of `a`, and packed `a`, with room
    /// for a vector that ends beyond it.
    pub(crate) fn packing_elems(&self, packs_a: bool, dtype: Dtype) -> u64 {
        let nr = MAX_NR_BYTES / dtype.computed().bytes();
        let packed_a = if packs_a { self.mc * self.kc + MAX_MR } else { 0 };
        (self.kc * self.nc + MAX_MR * nr + self.kc * MAX_MR + packed_a).next_multiple_of(nr)
    }

    /// Elements of workspace of a product of `m` rows.
    fn workspace_elems(&self, m: u64, dtype: Dtype) -> u64 {
        let sums = if self.has_sums { m.min(SUM_ROWS) * self.nc } else { 0 };
        self.packing_elems(self.packs_a, dtype) + sums
    }
}

impl Kernel {
    /// Bytes of scratch memory that a part of a launch needs, the same for every target.
    pub(crate) fn scratch_bytes(&self) -> u64 {
        let dtype = self.dtype.computed();
        // Results of bf16 are summed in f32 in workspace and rounded once.
        let is_narrow = dtype != self.dtype;
        let elems = match &self.body {
            Body::Gemm(g) => Blocking::of_gemm(g, self.dtype).workspace_elems(g.m, self.dtype),
            Body::Attention { shape, .. } => attention_blocks::Forward::of(shape, self.dtype).total,
            Body::AttentionDx(shape) => attention_blocks::Gradient::of(shape, self.dtype).total,
            // What is added up row by row, where the result's own type would round each sum.
            Body::NormDw(n) if is_narrow => match n.kind {
                NormKind::Layer => 2 * n.cols,
                NormKind::Rms => n.cols,
            },
            Body::EmbeddingDw(e) if is_narrow => e.vocab * e.dim,
            Body::SumRows { cols, .. } if is_narrow => *cols,
            _ => 0,
        };
        elems * dtype.bytes()
    }

    /// Parameters that are stored past the caches where they are aligned: results so large that whoever reads them finds
    /// little of them in a cache, of kernels that do not read them again. What lies in a cache need not be fetched to be
    /// overwritten, so such a kernel moves a third less than with plain stores.
    pub(crate) fn streamed_results(&self) -> Vec<usize> {
        let lanes = self.streamed_widening() * VIRTUAL_BYTES / self.dtype.computed().bytes();
        let is_whole = |row: u64| row.is_multiple_of(lanes);
        let is_streamed = match &self.body {
            Body::Map(m) => {
                let is_flat =
                    m.operands.iter().all(|o| matches!(o.access, Access::Full | Access::Scalar));
                is_flat || is_whole(m.cols)
            }
            Body::Norm(n) | Body::NormDx { norm: n, .. } => is_whole(n.cols),
            Body::CrossEntropyDx(c) => is_whole(c.vocab),
            Body::Embedding(e) => is_whole(e.dim),
            Body::SwapBlocks { block, .. } => is_whole(*block),
            Body::Cast { .. } => true,
            _ => false,
        };
        let parameters = self.parameters();
        let is_large = |p: &Parameter| {
            p.mode == Mode::Write && p.elems * p.dtype.bytes() >= STREAMED_FROM_BYTES
        };
        let large = parameters.iter().enumerate().filter(|(_, p)| is_streamed && is_large(p));
        large.map(|(i, _)| i).collect()
    }

    /// How many times as many lanes as usual are worked on together where results go past the caches: so many that a narrow one
    /// fills a cache line with each store, as half a line costs as much as a whole one. Only elementwise kernels give the same
    /// bits in any number of lanes.
    pub(crate) fn streamed_widening(&self) -> u64 {
        let result = match self.body {
            Body::Map(_) => self.dtype,
            Body::Cast { to, .. } => to,
            _ => return 1,
        };
        (self.dtype.computed().bytes() / result.bytes()).max(1)
    }
}
