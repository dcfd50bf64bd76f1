//! Kernels in MLIR's own dialects, and a second road from kernels to machine code.
//!
//! [`text`] writes every [`Kernel`] as a `func.func` of `linalg` operations on `memref`s, with bodies of `arith` and `math`
//! (and `scf` for the one scatter): what any tool of MLIR's can read. It needs no MLIR. With the feature `mlir`, which links
//! MLIR 22, `verify` has MLIR check the text and `Jit` compiles it by MLIR's passes, so that two compilers which share no code
//! but LLVM can be compared.
//!
//! ```
//! use piper_codegen::{catalog, kernel::Dtype};
//!
//! let text = piper_mlir::text(&[("add".to_owned(), catalog::add(Dtype::F32, 4))]);
//! assert!(text.contains("func.func @add(%arg0: memref<1x4xf32>, %arg1: memref<1x4xf32>, %arg2: memref<1x4xf32>)"));
//! assert!(text.contains("arith.addf"));
//! ```
//!
//! A function takes the kernel's buffers in launch order, then its run-time scalars as f64, and has the semantics of
//! [`mod@piper_codegen::reference`]: values of bf16 are widened where they are loaded and rounded where they are stored.
#![forbid(unsafe_op_in_unsafe_fn)]

mod attention;
mod function;
mod gemm;
#[cfg(feature = "mlir")]
mod jit;
mod map;
mod norm;
mod rows;
mod scalar;

#[cfg(feature = "mlir")]
pub use jit::{Jit, MlirError, verify};

use piper_codegen::Kernel;
use piper_codegen::kernel::Body;

use attention::Rotary;
use function::Function;

/// A module with a function for each kernel, named as given, in that order.
pub fn text(kernels: &[(String, Kernel)]) -> String {
    let functions: String =
        kernels.iter().map(|(symbol, kernel)| function(symbol, kernel)).collect();
    format!("module {{\n{functions}}}\n")
}

fn function(symbol: &str, kernel: &Kernel) -> String {
    let dtype = kernel.dtype;
    let f = &mut Function::new(dtype);
    match &kernel.body {
        Body::Gemm(g) => gemm::gemm(f, g, dtype),
        Body::Map(m) => map::map(f, m, dtype),
        Body::Norm(n) => norm::forward(f, n, dtype),
        Body::NormDx { norm: n, adds } => norm::input_gradient(f, n, *adds, dtype),
        Body::NormDw(n) => norm::weight_gradient(f, n, dtype),
        Body::Attention { shape, lse } => attention::forward(f, shape, *lse, dtype),
        Body::AttentionDx(shape) => attention::gradient(f, shape, dtype),
        &Body::Rotary { batch, seq, heads, head_dim, base, inverse } => {
            let base = base.get();
            let r = Rotary { batch, seq, heads, head_dim, base, is_inverse: inverse };
            attention::rotary(f, &r, dtype);
        }
        Body::CrossEntropy(c) => rows::cross_entropy(f, c, dtype),
        Body::CrossEntropyDx(c) => rows::cross_entropy_gradient(f, c, dtype),
        Body::Embedding(e) => rows::embedding(f, e, dtype),
        Body::EmbeddingDw(e) => rows::embedding_gradient(f, e, dtype),
        &Body::SumRows { rows, cols } => rows::sum_rows(f, rows, cols, dtype),
        &Body::SwapBlocks { a, b, block } => map::swap_blocks(f, [a, b, block], dtype),
        &Body::Cast { elems, to } => map::cast(f, elems, dtype, to),
        &Body::SumSquares { elems } => rows::sum_squares(f, elems, dtype),
        Body::ClipScale { max_norm } => rows::clip_scale(f, max_norm.get(), dtype),
    }
    std::mem::replace(f, Function::new(dtype)).finish(symbol)
}
