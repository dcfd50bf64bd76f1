//! Kernels of every kind, at edge sizes and at sizes people train with.

use piper_codegen::catalog::{self, AdamW};
use piper_codegen::kernel::{
    Access, Attention, Body, CrossEntropy, Dtype, Embedding, Epilogue, Gemm, Kernel, Norm, NormKind,
};
use piper_codegen::scalar::{ScalarOp, ScalarProgram};

/// Element types of buffers.
pub(crate) const DTYPES: [Dtype; 3] = [Dtype::F32, Dtype::F64, Dtype::Bf16];

pub(crate) fn gemm(m: u64, n: u64, k: u64, transpose_a: bool, transpose_b: bool) -> Gemm {
    Gemm {
        m,
        n,
        k,
        transpose_a,
        transpose_b,
        batch: 1,
        bias: false,
        accumulate: false,
        epilogue: None,
    }
}

/// Bias, then the sum of GELU and a residual; the sum before it as a second result.
fn epilogue() -> Epilogue {
    let mut body = ScalarProgram::default();
    let x = body.push(ScalarOp::Input(0));
    let residual = body.push(ScalarOp::Input(1));
    let y = catalog::push_gelu(&mut body, x);
    let y = body.push(ScalarOp::Add(y, residual));
    body.results = vec![y, x];
    Epilogue { operands: vec![Access::Full], scalars: 0, body }
}

/// Every kind of kernel around one size, over element type `dtype`.
pub(crate) fn around(dtype: Dtype, size: u64) -> Vec<Kernel> {
    let constants = AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 };
    let (layer, rms) = (NormKind::Layer, NormKind::Rms);
    let norm = |kind| Norm { kind, rows: 5, cols: size, eps: 1e-5.into() };
    let loss = CrossEntropy { rows: 5, vocab: size, denominator: 5, lse: true };
    let table = Embedding { rows: size, vocab: 11, dim: 7 };
    let heads =
        |batch, seq, heads, kv_heads, head_dim| Attention { batch, seq, heads, kv_heads, head_dim };
    let mut kernels = vec![
        catalog::add(dtype, size),
        catalog::copy(dtype, size),
        catalog::fill(dtype, size, 0.5),
        catalog::gelu(dtype, size),
        catalog::gelu_dx(dtype, size),
        catalog::silu(dtype, size),
        catalog::sgd(dtype, size, 0.01, Some(0.9)),
        catalog::adamw(dtype, size, constants),
    ];
    let mut bodies = vec![
        Body::Norm(norm(layer)),
        Body::Norm(norm(rms)),
        Body::NormDx { norm: norm(layer), adds: false },
        Body::NormDx { norm: norm(layer), adds: true },
        Body::NormDx { norm: norm(rms), adds: false },
        Body::NormDx { norm: norm(rms), adds: true },
        Body::NormDw(norm(layer)),
        Body::NormDw(norm(rms)),
        Body::NormDw(Norm { rows: size, cols: 5, ..norm(layer) }),
        Body::CrossEntropy(loss),
        Body::CrossEntropyDx(loss),
        Body::CrossEntropyDx(CrossEntropy { lse: false, ..loss }),
        Body::Embedding(table),
        Body::EmbeddingDw(table),
        Body::SumRows { rows: size, cols: 9 },
        Body::SumRows { rows: 3, cols: size },
        Body::SwapBlocks { a: 3, b: size, block: 4 },
        Body::SwapBlocks { a: size, b: 2, block: 3 },
        Body::Cast { elems: size, to: if dtype == Dtype::F32 { Dtype::Bf16 } else { Dtype::F32 } },
        Body::SumSquares { elems: size },
        Body::ClipScale { max_norm: 1.0.into() },
    ];
    bodies.extend([false, true].map(|inverse| Body::Rotary {
        batch: 2,
        seq: size,
        heads: 3,
        head_dim: 6,
        base: 10000.0.into(),
        inverse,
    }));
    let mut shapes = vec![heads(1, size, 2, 2, 8), heads(2, size.min(40), 4, 2, 7)];
    if dtype == Dtype::Bf16 {
        // Tensor cores take other tiles for wide heads.
        shapes.push(heads(1, size.min(70), 2, 1, if size.is_multiple_of(3) { 120 } else { 64 }));
    }
    for shape in shapes {
        bodies.push(Body::Attention { shape, lse: true });
        bodies.push(Body::AttentionDx(shape));
    }
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        bodies.push(Body::Gemm(gemm(size, 9, 12, a, b)));
        bodies.push(Body::Gemm(gemm(5, size, size.min(40), a, b)));
        if dtype == Dtype::Bf16 {
            bodies.push(Body::Gemm(gemm(size.next_multiple_of(8), 16, 2 * size, a, b)));
        }
    }
    bodies.push(Body::Gemm(Gemm { batch: 3, accumulate: true, ..gemm(6, 8, size, false, true) }));
    bodies.push(Body::Gemm(Gemm {
        bias: true,
        epilogue: Some(epilogue()),
        ..gemm(size, 12, 8, false, false)
    }));
    kernels.extend(bodies.into_iter().map(|body| Kernel::new(dtype, body)));
    kernels
}

/// Kernels of a step of a GPT of width 768: 8 sequences of 1024 tokens, 12 heads of 64, vocabulary 50304.
pub(crate) fn training(dtype: Dtype) -> Vec<Kernel> {
    let (tokens, width, vocab) = (8192, 768, 50304);
    let shape = Attention { batch: 8, seq: 1024, heads: 12, kv_heads: 12, head_dim: 64 };
    let norm = Norm { kind: NormKind::Layer, rows: tokens, cols: width, eps: 1e-5.into() };
    let loss = CrossEntropy { rows: tokens, vocab, denominator: tokens as i64, lse: true };
    let table = Embedding { rows: tokens, vocab, dim: width };
    let mut bodies = vec![
        Body::Gemm(gemm(tokens, 4 * width, width, false, false)),
        Body::Gemm(gemm(tokens, width, 4 * width, false, true)),
        Body::Gemm(gemm(width, 4 * width, tokens, true, false)),
        Body::Gemm(Gemm {
            bias: true,
            epilogue: Some(epilogue()),
            ..gemm(tokens, width, width, false, false)
        }),
        Body::Norm(norm),
        Body::NormDx { norm, adds: false },
        Body::NormDx { norm, adds: true },
        Body::NormDw(norm),
        Body::Attention { shape, lse: true },
        Body::AttentionDx(shape),
        Body::Attention { shape: Attention { head_dim: 128, ..shape }, lse: false },
        Body::CrossEntropy(loss),
        Body::CrossEntropyDx(loss),
        Body::CrossEntropyDx(CrossEntropy { lse: false, ..loss }),
        Body::Embedding(table),
        Body::EmbeddingDw(table),
        Body::SumRows { rows: tokens, cols: width },
        Body::SumSquares { elems: vocab * width },
        Body::SwapBlocks { a: 1024, b: 12, block: 64 },
        Body::Rotary {
            batch: 8,
            seq: 1024,
            heads: 12,
            head_dim: 64,
            base: 10000.0.into(),
            inverse: false,
        },
    ];
    // The tiles of a gradient of heads this wide do not fit 48 KiB in f64.
    if dtype != Dtype::F64 {
        bodies.push(Body::AttentionDx(Attention { head_dim: 128, kv_heads: 4, ..shape }));
    }
    let constants = AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 };
    let mut kernels =
        vec![catalog::adamw(dtype, vocab * width, constants), catalog::gelu(dtype, tokens * width)];
    kernels.extend(bodies.into_iter().map(|body| Kernel::new(dtype, body)));
    kernels
}

/// The catalogue: every kind of kernel, at edge sizes and at sizes people train with, over all element types.
#[allow(dead_code)] // not by every test
pub(crate) fn all() -> Vec<Kernel> {
    let edges = DTYPES
        .into_iter()
        .flat_map(|d| [1, 7, 33, 257].into_iter().flat_map(move |n| around(d, n)));
    let mut seen = std::collections::HashSet::new();
    // Some kernels have no size.
    let is_new = |kernel: &Kernel| seen.insert(kernel.symbol());
    edges.chain(DTYPES.into_iter().flat_map(training)).filter(is_new).collect()
}
