//! How a launch is divided among the threads of a device.
//!
//! A kernel's results do not depend on the number of parts, to the bit: a part computes whole elements of them in the order of one
//! thread, and sums over everything are made of sums over pieces whose size the shape fixes, added up in order by the kernel's end.
//! Products are cut along the longer side of the result, as each part packs all of the other operand; gradients that sum over rows are
//! cut by columns; attention by heads; everything else by rows or elements.

use crate::kernel::{Access, Body, Dtype, Gemm, Kernel, Map};

/// Elements that a part takes together of what has no rows: whole vectors, and no cache line of two parts.
pub(crate) const ELEMENTS: u64 = 1024;
/// Columns that a part takes together: whole tiles, and no cache line of two parts.
pub(crate) const COLUMNS: u64 = 64;
/// Rows of a product that a part takes together: a multiple of every tile's.
pub(crate) const TILE_ROWS: u64 = 24;
/// Elements whose squares are summed by themselves, before these sums are summed.
pub(crate) const SQUARES: u64 = 8192;

/// Nanoseconds of work below which another part costs more than it gains: handing it over takes one or two thousand.
const WORTH_NS: u64 = 5000;

/// How the launches of a kernel are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Into how many parts at most; 1 for a kernel that stays whole.
    pub parts: u64,
    /// Bytes of workspace that all parts share.
    pub shared_bytes: u64,
    /// Bytes of workspace that each part has for itself, after those that are shared.
    pub part_bytes: u64,
    /// Whether something is left to do after all parts.
    pub has_end: bool,
}

impl Split {
    /// Bytes of workspace of a launch in `parts` parts.
    pub fn workspace_bytes(&self, parts: u64) -> u64 {
        self.shared_bytes + parts * self.part_bytes
    }
}

/// What a product is cut along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Rows,
    Columns,
}

impl Gemm {
    /// Each part packs the operand of the side that is not cut, so the longer side is.
    pub(crate) fn cut(&self) -> Cut {
        if self.batch * self.m >= self.n { Cut::Rows } else { Cut::Columns }
    }

    /// Pieces of one product of the batch.
    pub(crate) fn pieces(&self) -> u64 {
        match self.cut() {
            Cut::Rows => self.m.div_ceil(TILE_ROWS),
            Cut::Columns => self.n.div_ceil(COLUMNS),
        }
    }
}

impl Map {
    /// Rows and columns as the code walks them: without broadcasting there is one row of all elements.
    pub(crate) fn walked(&self) -> (u64, u64) {
        let is_broadcast =
            self.operands.iter().any(|o| matches!(o.access, Access::Row | Access::Column));
        if is_broadcast { (self.rows, self.cols) } else { (1, self.rows * self.cols) }
    }
}

impl Kernel {
    /// Bytes of scratch memory a launch in one part needs, the same for every target. The base should be 64-byte aligned for
    /// speed; contents before and after do not matter.
    pub fn workspace_bytes(&self) -> u64 {
        self.split().workspace_bytes(1)
    }

    /// How launches are divided; the same for every target.
    pub fn split(&self) -> Split {
        let partial = self.partial_sums_bytes();
        // Parts add up different columns of one array of sums.
        let (mut shared_bytes, mut part_bytes) = match self.body {
            Body::NormDw(_) | Body::EmbeddingDw(_) | Body::SumRows { .. } => {
                (self.scratch_bytes(), 0)
            }
            _ => (partial, self.scratch_bytes()),
        };
        let parts = self.pieces().min(self.nanoseconds() / WORTH_NS).clamp(1, 1 << 15);
        // Slices of workspace begin on cache lines.
        let aligned = |bytes: u64| bytes.next_multiple_of(64);
        if parts > 1 {
            (shared_bytes, part_bytes) = (aligned(shared_bytes), aligned(part_bytes));
        }
        Split { parts, shared_bytes, part_bytes, has_end: partial > 0 }
    }

    /// Independent pieces of the work.
    fn pieces(&self) -> u64 {
        match &self.body {
            Body::Gemm(g) => {
                let products = if g.cut() == Cut::Rows { g.batch } else { 1 };
                products * g.pieces()
            }
            Body::Map(m) => match m.walked() {
                (1, elems) => elems.div_ceil(ELEMENTS),
                (rows, _) => rows,
            },
            Body::Norm(n) | Body::NormDx { norm: n, .. } => n.rows,
            Body::NormDw(n) => n.cols.div_ceil(COLUMNS),
            &Body::Rotary { batch, seq, .. } => batch * seq,
            Body::Embedding(e) => e.rows,
            Body::EmbeddingDw(e) => e.dim.div_ceil(COLUMNS),
            &Body::SumRows { cols, .. } => cols.div_ceil(COLUMNS),
            &Body::SwapBlocks { b, .. } => b,
            &Body::Cast { elems, .. } => elems.div_ceil(ELEMENTS),
            &Body::SumSquares { elems } => elems.div_ceil(SQUARES),
            Body::Attention { shape, .. } => shape.batch * shape.heads,
            Body::AttentionDx(shape) => shape.batch * shape.kv_heads,
            Body::CrossEntropy(c) | Body::CrossEntropyDx(c) => c.rows,
            Body::ClipScale { .. } => 1,
        }
    }

    /// Bytes of the sums over pieces that the kernel's end adds up.
    fn partial_sums_bytes(&self) -> u64 {
        match &self.body {
            &Body::SumSquares { elems } if elems > SQUARES => {
                elems.div_ceil(SQUARES) * Dtype::F64.bytes()
            }
            Body::CrossEntropy(c) => c.rows * Dtype::F64.bytes(),
            _ => 0,
        }
    }

    /// About how long one thread takes: a guess for a core that is neither slow nor fast.
    fn nanoseconds(&self) -> u64 {
        let flops_per_ns = match &self.body {
            Body::Gemm(_) => 64,
            Body::Attention { .. } | Body::AttentionDx(_) => 32,
            _ => 16,
        };
        self.flops() / flops_per_ns + self.bytes_moved() / 8
    }
}
