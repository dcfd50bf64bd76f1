//! How a kernel is launched: in which steps, on how many blocks of how many threads, with what scratch memory. All of it
//! follows from the kernel's shape and the chip, so that it can be asked for where LLVM is absent.

use super::chip::Chip;
use crate::kernel::{Attention, Body, Dtype, Gemm, Kernel, Map, Mode, Norm, NormKind, Parameter};
use serde::{Deserialize, Serialize};

/// Threads of a block, except for kernels that say otherwise.
pub(super) const BLOCK: u64 = 256;
/// Columns and rows that a block of [`BLOCK`] threads adds up side by side.
pub(super) const SUM_COLUMNS: u64 = 32;
/// Rows of a tile of attention that stay with a block, and the threads of each.
pub(super) const OWN_ROWS: u64 = 16;
/// Threads that share one row of a tile of attention.
pub(super) const ROW_THREADS: u64 = 8;

/// One entry of a kernel's PTX, and how it is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Name of the entry.
    pub entry: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x.
    pub block: u32,
    /// Shared memory, in bytes, to ask for at launch; what the entry declares by itself comes on top. Kernels on tensor
    /// cores ask for up to 90 KiB: above 48 KiB a driver wants the function's attribute for the most dynamic shared memory
    /// set first.
    pub dynamic_shared_bytes: u32,
    /// Number of the step, counting those that have nothing to do.
    #[serde(default)]
    pub step: usize,
    /// The blocks that the work is cut for, where each block of the grid takes the work of several, one after the other.
    #[serde(default)]
    pub work: Option<[u32; 3]>,
}

/// A kernel as it is launched on a GPU: its stages one after the other on one stream, each with the same arguments, which
/// are a pointer for each of `params`, an f64 for each scalar, and a pointer to `workspace_bytes` of scratch memory if
/// that is not zero. Pointers are aligned to 16 bytes. A kernel without elements has no stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtxKernel {
    /// The kernel's symbol.
    pub symbol: String,
    /// What is launched, in order.
    pub stages: Vec<Stage>,
    /// Buffers, in order.
    pub params: Vec<Parameter>,
    /// Run-time scalars, f64 each, after the buffers.
    pub scalars: u32,
    /// Bytes of scratch memory; its contents need not be kept between launches of the kernel.
    pub workspace_bytes: u64,
}

/// Tile of a matrix product: the part of the result that a block computes, and the step along the contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    /// Two groups of four warps multiply it from shared memory.
    pub(super) is_of_warpgroups: bool,
}

impl Tile {
    /// Large tiles read less; small ones keep more multiprocessors busy. Products of bf16 run on tensor cores.
    pub(super) fn of(g: &Gemm, dtype: Dtype, chip: Chip) -> Self {
        let rows_of_large = 128;
        let cols_of_large = if dtype == Dtype::Bf16 { 128 } else { 64 };
        let blocks = g.m.div_ceil(rows_of_large) * g.n.div_ceil(cols_of_large) * g.batch;
        let is_large = blocks >= u64::from(chip.limits().multiprocessors);
        let tile = |m, n, k| Self { m, n, k, is_of_warpgroups: false };
        match (dtype, is_large) {
            (Dtype::Bf16, true) if chip == Chip::Sm90aWarpgroups => {
                Self { is_of_warpgroups: true, ..tile(128, 128, 64) }
            }
            (Dtype::Bf16, true) => tile(128, 128, 32),
            (Dtype::Bf16, false) => tile(64, 64, 32),
            // Two registers a number: a deeper panel would not leave enough of them.
            (Dtype::F64, _) => tile(64, 64, 8),
            (_, false) => tile(64, 64, 16),
            (_, true) => tile(128, 64, 16),
        }
    }
}

/// Elements from one row of a panel of tensor cores to the next: 16 bytes more than its width, which is a multiple of 16
/// elements, so that the same piece of eight neighbouring rows lies in different banks.
pub(super) fn stride(width: u64) -> u64 {
    width + 8
}

/// Elements from one core of eight runs of eight to the next beside it: 16 bytes more than a core, so that the same run of
/// neighbouring cores lies in different banks.
pub(super) const CORE: u64 = 72;

/// Widest asynchronous copy that runs of `elems` elements of bf16 allow, in elements: 16, 8 or 4 bytes. One element means
/// that they are copied one by one.
pub(super) fn copy_lanes(elems: u64) -> u64 {
    [8, 4, 2].into_iter().find(|&lanes| elems.is_multiple_of(lanes)).unwrap_or(1)
}

/// Elements from one row of complete sums in shared memory to the next.
pub(super) fn staged_width(tile: Tile) -> u64 {
    tile.n + 4
}

/// Panels of a product on tensor cores that are in shared memory at a time, in slots of one of each operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) slots: u64,
    /// Elements of the left panel of a slot, and of both.
    pub(super) left_elems: u64,
    pub(super) slot_elems: u64,
}

impl Pipeline {
    pub(super) fn of(g: &Gemm, tile: Tile) -> Self {
        let panel = |extent: u64, is_along: bool| match is_along {
            _ if tile.is_of_warpgroups => extent / 8 * (tile.k / 8) * CORE,
            true => extent * stride(tile.k),
            false => tile.k * stride(extent),
        };
        let left_elems = panel(tile.m, !g.transpose_a);
        let slot_elems = left_elems + panel(tile.n, g.transpose_b);
        // As many as leave room for a second block.
        let slots = if tile.m > 64 && !tile.is_of_warpgroups { 4 } else { 3 };
        Self { slots, left_elems, slot_elems }
    }

    /// Bytes of shared memory: the slots, or the sums in f32, which follow them in the same place.
    pub(super) fn bytes(self, tile: Tile) -> u64 {
        (2 * self.slots * self.slot_elems).max(4 * tile.m * staged_width(tile))
    }
}

/// Attention on tensor cores: rows that stay with a block, 16 for each group of warps, and rows of the other side that pass by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorAttention {
    pub(super) own: u64,
    pub(super) others: u64,
    /// Width of a head, rounded up to the depth of a multiplication by each warp of a group.
    pub(super) width: u64,
    /// Warps of a group. Each finds the scores of its part of the other side and keeps the sums of its part of the width; so
    /// scores pass between them through shared memory.
    pub(super) parts: u64,
}

impl TensorAttention {
    /// `None` where attention does not run on tensor cores: for other element types than bf16, and for heads so wide that
    /// registers do not hold the sums.
    pub(super) fn of(shape: &Attention, dtype: Dtype, is_gradient: bool) -> Option<Self> {
        let is_narrow = shape.head_dim <= 64;
        // Gradients have sums of their own for keys and for values: of a wide head they fill the registers of two warps.
        let parts = if is_gradient && !is_narrow { 2 } else { 1 };
        let width = shape.head_dim.next_multiple_of(16 * parts);
        // As many as registers hold scores of, beside sums as wide as a head.
        let others = if is_narrow && !is_gradient { 64 } else { 32 };
        (dtype == Dtype::Bf16 && width <= 128).then_some(Self { own: 64, others, width, parts })
    }

    /// Threads of a block.
    pub(super) fn block(self) -> u64 {
        32 * self.own / 16 * self.parts
    }

    /// Elements of a panel of own rows, of the other side, and of scores between them.
    pub(super) fn elems(self) -> [u64; 3] {
        let panel = |rows: u64, width: u64| rows * stride(width);
        [panel(self.own, self.width), panel(self.others, self.width), panel(self.own, self.others)]
    }

    /// Bytes of shared memory: `owns` panels of own rows, two slots of two of the other side, and panels of `weights` kinds
    /// of scores if warps share them.
    pub(super) fn bytes(self, owns: u64, weights: u64) -> u64 {
        let [own, other, scores] = self.elems();
        let shared = if self.parts > 1 { weights * scores } else { 0 };
        2 * (owns * own + 4 * other + shared)
    }
}

/// Who works on one row: a warp, with several rows a block, or a whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Team {
    pub(super) threads: u64,
    pub(super) per_block: u64,
}

impl Team {
    pub(super) fn of(cols: u64) -> Self {
        match cols {
            0..=1024 => Self { threads: 32, per_block: 4 },
            _ => Self { threads: BLOCK, per_block: 1 },
        }
    }

    pub(super) fn block(self) -> u64 {
        self.threads * self.per_block
    }
}

/// Bytes of the widest access, to which buffers are aligned.
pub(super) const ACCESS_BYTES: u64 = 16;

/// Elements of the widest access.
pub(super) fn widest(dtype: Dtype) -> u64 {
    ACCESS_BYTES / dtype.bytes()
}

/// Widest access that rows of `elems` elements, one after the other, allow: 16 bytes, or a half of that, and so on.
pub(super) fn lanes(elems: u64, dtype: Dtype) -> u64 {
    let mut lanes = widest(dtype);
    while !elems.is_multiple_of(lanes) {
        lanes /= 2;
    }
    lanes
}

/// Elements that a thread of a map handles at a time. Where nothing is broadcast all elements are one run, what is left over
/// at its end is handled one by one; else a run is a row.
pub(super) fn map_lanes(m: &Map, dtype: Dtype) -> u64 {
    match m.walked() {
        (1, _) => widest(dtype),
        (_, cols) => lanes(cols, dtype),
    }
}

/// Elements that a conversion handles at a time: 16 bytes of the narrower type.
pub(super) fn cast_lanes(from: Dtype, to: Dtype) -> u64 {
    widest(from).max(widest(to))
}

/// Blocks that a walk over `pieces` pieces gets, one thread a piece, at most some rounds of the whole chip.
pub(super) fn walkers(pieces: u64, chip: Chip) -> u64 {
    pieces.div_ceil(BLOCK).min(8 * u64::from(chip.limits().multiprocessors))
}

/// Parts that `rows` are split into where they are added up.
pub(super) fn parts(rows: u64) -> u64 {
    rows.div_ceil(128).clamp(1, 64)
}

/// Partial sums of a sum of squares, one a block.
pub(super) fn square_parts(elems: u64, dtype: Dtype, chip: Chip) -> u64 {
    walkers(elems.div_ceil(widest(dtype)), chip).max(1)
}

/// Rows of the other side of a tile of attention, as many as static shared memory holds beside the block's own.
pub(super) fn other_rows(shape: &Attention, computed: Dtype, is_gradient: bool) -> u64 {
    let fits = |rows: u64| {
        let width = shape.head_dim.next_multiple_of(ROW_THREADS) + 1;
        let scores = OWN_ROWS * (rows + 1);
        let elems = match is_gradient {
            false => OWN_ROWS * width + 2 * rows * width + scores,
            true => 2 * (OWN_ROWS + rows) * width + 2 * scores,
        };
        elems * computed.bytes() <= 48 << 10
    };
    [32, 16, 8].into_iter().find(|&rows| fits(rows)).unwrap_or(0)
}

/// Weights of a norm, and so results of their gradient.
pub(super) fn results(kind: NormKind) -> u64 {
    if kind == NormKind::Layer { 2 } else { 1 }
}

/// Bytes of the statistics of the rows of a norm, which lie first in workspace.
pub(super) fn statistics_bytes(n: &Norm, computed: Dtype) -> u64 {
    (2 * n.rows * computed.bytes()).next_multiple_of(16)
}

/// Rows of attention that stay with a block, and its threads.
fn own_rows(shape: &Attention, dtype: Dtype, is_gradient: bool) -> (u64, u64) {
    match TensorAttention::of(shape, dtype, is_gradient) {
        Some(tensor) => (tensor.own, tensor.block()),
        None => (OWN_ROWS, OWN_ROWS * ROW_THREADS),
    }
}

/// Bytes of shared memory to ask for when a step is launched: what kernels on tensor cores have, which may be more than a
/// block has without asking.
fn dynamic_shared(kernel: &Kernel, step: usize, chip: Chip) -> u64 {
    match &kernel.body {
        Body::Gemm(g) if kernel.dtype == Dtype::Bf16 => {
            let tile = Tile::of(g, kernel.dtype, chip);
            Pipeline::of(g, tile).bytes(tile)
        }
        Body::Attention { shape, .. } => {
            TensorAttention::of(shape, kernel.dtype, false).map_or(0, |t| t.bytes(1, 0))
        }
        // Queries need gradients of scores, keys and values also the probabilities.
        Body::AttentionDx(shape) if step > 0 => {
            TensorAttention::of(shape, kernel.dtype, true).map_or(0, |t| t.bytes(2, step as u64))
        }
        _ => 0,
    }
}

/// Grid and block of each stage, and bytes of workspace.
fn shape(kernel: &Kernel, chip: Chip) -> (Vec<([u64; 3], u64)>, u64) {
    let computed = kernel.dtype.computed();
    let walk = |elems: u64, lanes: u64| ([walkers(elems.div_ceil(lanes), chip), 1, 1], BLOCK);
    let rows_of = |rows: u64, cols: u64| {
        let team = Team::of(cols);
        ([rows.div_ceil(team.per_block), 1, 1], team.block())
    };
    let one = ([1, 1, 1], BLOCK);
    let sum = |rows: u64, cols: u64, results: u64| {
        let parts = parts(rows);
        let stages = [([cols.div_ceil(SUM_COLUMNS), parts, 1], BLOCK), walk(cols, 1)];
        (stages, parts * results * cols * computed.bytes())
    };
    match &kernel.body {
        Body::Map(m) => {
            let elems = m.rows * m.cols;
            (vec![walk(elems, map_lanes(m, kernel.dtype))], 0)
        }
        Body::Gemm(g) => {
            let tile = Tile::of(g, kernel.dtype, chip);
            let grid = [g.batch * g.m.div_ceil(tile.m), g.n.div_ceil(tile.n), 1];
            (vec![(grid, BLOCK)], 0)
        }
        Body::Norm(n) | Body::NormDx { norm: n, .. } => (vec![rows_of(n.rows, n.cols)], 0),
        Body::NormDw(n) => {
            let (stages, bytes) = sum(n.rows, n.cols, results(n.kind));
            let statistics = statistics_bytes(n, computed);
            let mut all = vec![rows_of(n.rows, n.cols)];
            all.extend(stages);
            (all, statistics + bytes)
        }
        Body::SumRows { rows, cols } => {
            let (stages, bytes) = sum(*rows, *cols, 1);
            (stages.to_vec(), bytes)
        }
        Body::Attention { shape: s, .. } => {
            let (own, block) = own_rows(s, kernel.dtype, false);
            (vec![([s.seq.div_ceil(own) * s.batch * s.heads, 1, 1], block)], 0)
        }
        Body::AttentionDx(s) => {
            let (own, block) = own_rows(s, kernel.dtype, true);
            let tiles = s.seq.div_ceil(own) * s.batch;
            let queries = s.batch * s.heads * s.seq;
            let stages = vec![
                rows_of(queries, s.head_dim),
                ([tiles * s.heads, 1, 1], block),
                ([tiles * s.kv_heads, 1, 1], block),
            ];
            (stages, queries * computed.bytes())
        }
        &Body::Rotary { batch, seq, heads, head_dim, .. } => {
            let half = head_dim / 2;
            (vec![walk(batch * seq * heads * half, lanes(half, kernel.dtype))], 0)
        }
        Body::CrossEntropy(c) => (vec![rows_of(c.rows, c.vocab), one], 8 * c.rows.max(1)),
        Body::CrossEntropyDx(c) => (vec![rows_of(c.rows, c.vocab)], 0),
        Body::Embedding(s) => (vec![rows_of(s.rows, s.dim)], 0),
        Body::EmbeddingDw(s) => (vec![([s.vocab.div_ceil(4), 1, 1], 128)], 0),
        &Body::SwapBlocks { a, b, block } => {
            (vec![walk(a * b * block, lanes(block, kernel.dtype))], 0)
        }
        &Body::Cast { elems, to } => (vec![walk(elems, cast_lanes(kernel.dtype, to))], 0),
        Body::SumSquares { elems } => {
            let parts = square_parts(*elems, kernel.dtype, chip);
            (vec![([parts, 1, 1], BLOCK), one], 8 * parts)
        }
        Body::ClipScale { .. } => (vec![([1, 1, 1], 32)], 0),
    }
}

impl PtxKernel {
    /// How `kernel`, which must have been validated, is launched on `chip` under the name `symbol`.
    ///
    /// # Errors
    /// A sentence saying why it cannot run on a GPU: a head so wide that shared memory holds no tile of it, or a grid
    /// beyond what can be launched.
    pub fn of(symbol: &str, kernel: &Kernel, chip: Chip) -> Result<Self, String> {
        if let Body::Attention { shape, .. } | Body::AttentionDx(shape) = &kernel.body {
            let is_gradient = matches!(kernel.body, Body::AttentionDx(_));
            let is_tensor = TensorAttention::of(shape, kernel.dtype, is_gradient).is_some();
            if !is_tensor && other_rows(shape, kernel.dtype.computed(), is_gradient) == 0 {
                return Err(format!(
                    "attention heads of width {} leave no room for a tile in 48 KiB of shared memory",
                    shape.head_dim
                ));
            }
        }
        let (shapes, workspace_bytes) = shape(kernel, chip);
        let name = entry_name(symbol);
        let is_single = shapes.len() == 1;
        let mut stages = vec![];
        for (index, (grid, block)) in shapes.into_iter().enumerate() {
            if grid.contains(&0) {
                continue;
            }
            let limits = [0x7fff_ffff, 0xffff, 0xffff];
            if let Some(axis) = (0..3).find(|&axis| grid[axis] > limits[axis]) {
                return Err(format!(
                    "{} blocks in {} are more than the {} that can be launched",
                    grid[axis],
                    ["x", "y", "z"][axis],
                    limits[axis]
                ));
            }
            let blocks = grid.iter().product::<u64>();
            let most = kernel.most_blocks.map(|most| u64::from(most.get()));
            let (grid, work) = match most {
                Some(most) if blocks > most => ([most, 1, 1], Some(grid.map(|n| n as u32))),
                _ => (grid, None),
            };
            stages.push(Stage {
                work,
                entry: if is_single { name.clone() } else { format!("{name}${index}") },
                grid: grid.map(|n| n as u32),
                block: block as u32,
                dynamic_shared_bytes: dynamic_shared(kernel, index, chip) as u32,
                step: index,
            });
        }
        Ok(Self {
            symbol: symbol.into(),
            stages,
            params: kernel.parameters(),
            scalars: kernel.scalars(),
            workspace_bytes,
        })
    }

    /// Bytes that a launch moves at the least: what is read and what is written, once each.
    pub fn least_bytes(&self) -> u64 {
        let bytes = |p: &Parameter| {
            let times = if p.mode == Mode::ReadWrite { 2 } else { 1 };
            times * p.elems * p.dtype.bytes()
        };
        self.params.iter().map(bytes).sum()
    }
}

/// PTX names have no dots.
fn entry_name(symbol: &str) -> String {
    symbol.replace('.', "_$_")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::catalog;

    #[test]
    fn grids_cover_what_is_computed() {
        let launched = PtxKernel::of("f", &catalog::add(Dtype::F32, 1000), Chip::Sm80).unwrap();
        assert_eq!(launched.stages.len(), 1);
        assert_eq!((launched.stages[0].grid, launched.stages[0].block), ([1, 1, 1], 256));
        assert_eq!((launched.params.len(), launched.workspace_bytes), (3, 0));
        assert_eq!(launched.least_bytes(), 12_000);
        let none = PtxKernel::of("f", &catalog::add(Dtype::F32, 0), Chip::Sm80).unwrap();
        assert!(none.stages.is_empty());
    }

    #[test]
    fn sums_have_a_step_for_parts_and_one_for_the_total() {
        let body = Body::SumRows { rows: 1024, cols: 33 };
        let kernel = Kernel::new(Dtype::Bf16, body);
        let launched = PtxKernel::of("a.b", &kernel, Chip::Sm90a).unwrap();
        let entries: Vec<_> = launched.stages.iter().map(|s| (&s.entry[..], s.grid)).collect();
        assert_eq!(entries, [("a_$_b$0", [2, 8, 1]), ("a_$_b$1", [1, 1, 1])]);
        assert_eq!(launched.workspace_bytes, 8 * 33 * 4);
    }

    #[test]
    fn a_kernel_may_bound_the_blocks_of_its_launches() {
        let kernel = catalog::add(Dtype::F32, 100_000);
        let on = |blocks: u32| {
            let kernel = Kernel { most_blocks: NonZeroU32::new(blocks), ..kernel.clone() };
            PtxKernel::of("f", &kernel, Chip::Sm80).unwrap()
        };
        let (whole, bounded, few) = (on(0), on(3), on(98));
        assert_eq!((whole.stages[0].grid, whole.stages[0].work), ([98, 1, 1], None));
        assert_eq!((bounded.stages[0].grid, bounded.stages[0].work), ([3, 1, 1], Some([98, 1, 1])));
        assert_eq!((few.stages[0].grid, few.stages[0].work), ([98, 1, 1], None));
    }

    #[test]
    fn heads_too_wide_for_shared_memory_are_refused() {
        let shape = Attention { batch: 1, seq: 64, heads: 1, kv_heads: 1, head_dim: 4096 };
        let kernel = Kernel::new(Dtype::F32, Body::AttentionDx(shape));
        let why = PtxKernel::of("f", &kernel, Chip::Sm80).unwrap_err();
        assert!(why.contains("width 4096"), "{why}");
    }
}
