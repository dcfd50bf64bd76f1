//! Fused kernels as plain data: what one launch computes, over which buffers.
//!
//! This is the boundary between the IR and code generation. A [`Kernel`] names no IR entity, so it can be hashed to
//! merge identical bodies, sent to the code-generating child process, written to a reproducer file, and evaluated by
//! [`crate::reference`] where LLVM is absent. All tensors are dense and row-major; indices and counts are in elements
//! unless a name says bytes.

use std::num::NonZeroU32;

use crate::scalar::{Real, ScalarProgram};
use serde::{Deserialize, Serialize};

/// Element type of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dtype {
    /// 32-bit IEEE float.
    F32,
    /// 64-bit IEEE float.
    F64,
    /// 32-bit signed integer (tokens and targets).
    I32,
    /// bfloat16, the upper half of an f32: what values are stored in. Kernels widen what they load, compute and add up in
    /// f32, and round what they store to nearest, ties to even; a NaN stays one.
    Bf16,
}

impl Dtype {
    /// Bytes of one element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F64 => 8,
            Self::Bf16 => 2,
        }
    }

    /// The type that a kernel of this element type computes in.
    pub fn computed(self) -> Self {
        if self == Self::Bf16 { Self::F32 } else { self }
    }
}

/// The bfloat16 nearest to `value`, ties to even; a NaN stays one.
pub fn bf16_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// The value of a bfloat16, exactly.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// How a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Only read.
    Read,
    /// Every element is overwritten; earlier contents do not matter.
    Write,
    /// Read and overwritten.
    ReadWrite,
}

impl Mode {
    /// Whether earlier contents are used.
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Whether contents change.
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// How a two-dimensional iteration space `[rows, cols]` indexes an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// `rows * cols` elements, one for each position.
    Full,
    /// `cols` elements: one row, repeated for every row (a bias).
    Row,
    /// `rows` elements: one value for each row.
    Column,
    /// One element for all positions (a clip scale).
    Scalar,
}

impl Access {
    /// Elements of the operand.
    pub fn elems(self, rows: u64, cols: u64) -> u64 {
        match self {
            Self::Full => rows * cols,
            Self::Row => cols,
            Self::Column => rows,
            Self::Scalar => 1,
        }
    }
}

/// One buffer of a [`Map`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operand {
    /// Indexing.
    pub access: Access,
    /// Use; written operands have [`Access::Full`].
    pub mode: Mode,
}

/// A fused elementwise kernel over `[rows, cols]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Map {
    /// Rows of the iteration space.
    pub rows: u64,
    /// Columns of the iteration space.
    pub cols: u64,
    /// Buffers in parameter order; `Input(i)` of the body reads operand `i`.
    pub operands: Vec<Operand>,
    /// Run-time scalars the launch supplies (f64 each).
    pub scalars: u32,
    /// Evaluated once a launch, in f64, over the run-time scalars; `Scalar(i)` of the body is its result `i`.
    pub uniforms: ScalarProgram,
    /// Evaluated for each element in the kernel's type.
    pub body: ScalarProgram,
    /// For each result of the body, the operand it is stored to.
    pub stores: Vec<u32>,
}

/// What follows a matrix product before it is stored, element by element, while the block is in cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Epilogue {
    /// Further operands read; `Input(0)` of the body is the product (bias added), `Input(1 + i)` is operand `i`.
    pub operands: Vec<Access>,
    /// Run-time scalars (f64) read by the body.
    pub scalars: u32,
    /// Result 0 goes to `c`, results 1.. to extra outputs of the same shape.
    pub body: ScalarProgram,
}

/// `c[m,n] = a·b (+ bias[n])`, or `c += a·b`, repeated `batch` times over consecutive operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gemm {
    /// Rows of the product.
    pub m: u64,
    /// Columns of the product.
    pub n: u64,
    /// Length of the contraction.
    pub k: u64,
    /// `a` is stored `[k, m]` rather than `[m, k]`.
    pub transpose_a: bool,
    /// `b` is stored `[n, k]` rather than `[k, n]`.
    pub transpose_b: bool,
    /// Number of independent products.
    pub batch: u64,
    /// Whether a `bias[n]` operand is added to every row.
    pub bias: bool,
    /// Add to `c` instead of overwriting it; excludes `bias` and `epilogue`.
    pub accumulate: bool,
    /// Elementwise continuation.
    pub epilogue: Option<Epilogue>,
}

/// Which normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NormKind {
    /// Mean and biased variance, with `gamma` and `beta`.
    Layer,
    /// Root mean square, with `gamma` only.
    Rms,
}

/// Normalisation over the last dimension of `[rows, cols]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Norm {
    /// Which normalisation.
    pub kind: NormKind,
    /// Rows.
    pub rows: u64,
    /// Normalised dimension.
    pub cols: u64,
    /// Added to the variance or mean square.
    pub eps: Real,
}

/// Causal attention with grouped key/value heads; see [`Body::Attention`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attention {
    /// Sequences.
    pub batch: u64,
    /// Positions a sequence.
    pub seq: u64,
    /// Query heads.
    pub heads: u64,
    /// Key and value heads; divides `heads`.
    pub kv_heads: u64,
    /// Width of one head.
    pub head_dim: u64,
}

/// Rows of logits against targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CrossEntropy {
    /// Rows of logits, one target each.
    pub rows: u64,
    /// Classes.
    pub vocab: u64,
    /// What the sum of row losses is divided by.
    pub denominator: i64,
    /// Whether the log-sum-exp of each row is a result of the loss, and an operand of its gradient.
    pub lse: bool,
}

/// A table looked up by token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Embedding {
    /// Tokens.
    pub rows: u64,
    /// Rows of the table.
    pub vocab: u64,
    /// Width of a table row.
    pub dim: u64,
}

/// What a kernel computes. Parameters are listed in launch order, `!` marks those written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// `a, b, [bias], epilogue operands.., !c, !extra outputs..`.
    Gemm(Gemm),
    /// The operands of the map.
    Map(Map),
    /// `x[rows,cols], gamma[cols], [beta[cols]], !y`.
    Norm(Norm),
    /// `x, gamma, dy, [added if adds], !dx`; statistics recomputed.
    NormDx {
        /// Shape.
        norm: Norm,
        /// Whether an operand of the shape of `dx` is added to it.
        adds: bool,
    },
    /// `x, dy, !dgamma[cols], [!dbeta[cols]]`; rows summed in ascending order.
    NormDw(Norm),
    /// `q[B,S,H*hd], k[B,S,KV*hd], v[B,S,KV*hd], !o[B,S,H*hd], [!lse[B,H,S] if lse]`: scale `1/sqrt(hd)`, query head
    /// `h` uses key/value head `h / (heads / kv_heads)`, `lse` is the log-sum-exp of the scaled visible scores.
    Attention {
        /// Shape.
        shape: Attention,
        /// Whether `lse` is a result.
        lse: bool,
    },
    /// `q, k, v, o, lse, do, !dq, !dk, !dv`.
    AttentionDx(Attention),
    /// `x[B,S,H*hd], !y`: pairs `(i, i + hd/2)` of each head turned by `position * base^(-2i/hd)`.
    Rotary {
        /// Sequences.
        batch: u64,
        /// Positions a sequence.
        seq: u64,
        /// Heads.
        heads: u64,
        /// Width of one head, even.
        head_dim: u64,
        /// Base of the frequencies.
        base: Real,
        /// Turn the other way (the transpose, hence the gradient).
        inverse: bool,
    },
    /// `logits[rows,vocab], targets i32[rows], !loss[1], [!lse[rows] if lse]`: sum of `lse - logit[target]` over rows, accumulated
    /// in f64 in ascending row order, divided by the denominator. A target out of range makes the loss NaN.
    CrossEntropy(CrossEntropy),
    /// `logits, targets, dloss[1], [lse[rows] if lse], !dlogits`: `(exp(logit - lse) - onehot) * dloss / denominator`; an `lse` that
    /// is not given is found first. A target out of range makes its row NaN.
    CrossEntropyDx(CrossEntropy),
    /// `tokens i32[rows], w[vocab,dim], !y[rows,dim]`. A token out of range makes its row NaN.
    Embedding(Embedding),
    /// `tokens i32[rows], dy[rows,dim], !dw[vocab,dim]`: scatter-add in ascending row order onto zeros. A token out of
    /// range is skipped.
    EmbeddingDw(Embedding),
    /// `x[rows,cols], !y[cols]`: sum over rows in ascending order.
    SumRows {
        /// Rows summed.
        rows: u64,
        /// Columns kept.
        cols: u64,
    },
    /// `x[a,b,block], !y[b,a,block]`.
    SwapBlocks {
        /// Major extent of the source.
        a: u64,
        /// Major extent of the target.
        b: u64,
        /// Contiguous elements.
        block: u64,
    },
    /// `x[elems], !y[elems]` of type `to`: each element rounded to nearest; between f64 and bf16 by way of f32.
    Cast {
        /// Elements.
        elems: u64,
        /// Element type of the result.
        to: Dtype,
    },
    /// `x[elems], !total f64[1]`: sum of squares, each square and sum in f64.
    SumSquares {
        /// Elements.
        elems: u64,
    },
    /// `total f64[1], !scale[1]`: `min(1, max_norm / (sqrt(total) + 1e-6))`, in f64, rounded once.
    ClipScale {
        /// Largest global norm let through.
        max_norm: Real,
    },
}

/// One launchable kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kernel {
    /// Element type of all buffers not said to be otherwise: [`Dtype::F32`], [`Dtype::F64`] or [`Dtype::Bf16`].
    pub dtype: Dtype,
    /// What it computes.
    pub body: Body,
    /// Most blocks of each of its launches on a GPU: a persistent grid, whose blocks take the work of several. The results are the same
    /// to the bit. `None` for as many as the work is cut into. It means nothing to processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_blocks: Option<NonZeroU32>,
}

impl Kernel {
    /// A kernel of any number of blocks.
    pub fn new(dtype: Dtype, body: Body) -> Self {
        Self { dtype, body, most_blocks: None }
    }
}

/// One buffer parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parameter {
    /// Use.
    pub mode: Mode,
    /// Elements.
    pub elems: u64,
    /// Element type.
    pub dtype: Dtype,
}
