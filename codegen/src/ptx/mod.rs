//! Kernels for NVIDIA GPUs, as PTX text through LLVM.
//!
//! A kernel becomes one or more entries, [`Stage`]s, which are launched one after the other; [`PtxKernel`] says with which
//! grids and with how much scratch memory. Sums follow the shape and the chip only, never the order in which blocks run:
//! there is no atomic addition, so two runs give the same bits.
//!
//! Products and attention of bf16 run on tensor cores, with sums of f32; those of f32 and f64 are exact in their type.
//!
//! Functions such as `exp` are the polynomials of the CPU kernels; nothing is linked in. Divisions and roots round to
//! nearest.

#[cfg(feature = "llvm")]
mod attention;
#[cfg(feature = "llvm")]
mod attention_gradient;
#[cfg(feature = "llvm")]
mod attention_tensor;
mod chip;
#[cfg(feature = "llvm")]
mod device;
#[cfg(feature = "llvm")]
mod gemm;
#[cfg(feature = "llvm")]
mod gemm_tensor;
#[cfg(feature = "llvm")]
mod gemm_warpgroup;
#[cfg_attr(not(feature = "llvm"), allow(dead_code))]
mod launch;
#[cfg(feature = "llvm")]
mod map;
#[cfg(feature = "llvm")]
mod module;
#[cfg(feature = "llvm")]
mod norm;
#[cfg(feature = "llvm")]
mod rotary;
#[cfg(feature = "llvm")]
mod rows;
#[cfg(feature = "llvm")]
mod sums;
#[cfg(feature = "llvm")]
mod tensor;

pub use chip::{Chip, ChipLimits};
pub use launch::{PtxKernel, Stage};
#[cfg(feature = "llvm")]
pub use module::ptx_text;

use crate::compile::{Compiler, Form, OptLevel};
use crate::error::CodegenError;
use crate::kernel::Kernel;

/// The PTX of `kernels` for `chip`, one text with an entry for each stage, and how each kernel is launched, in the order
/// given.
///
/// # Errors
/// As [`Compiler::emit`]; and [`CodegenError::Unsupported`] for a kernel that cannot run on a GPU.
pub fn compile(
    kernels: &[(String, Kernel)],
    chip: Chip,
    compiler: impl Into<Compiler>,
) -> Result<(String, Vec<PtxKernel>), CodegenError> {
    let text = compiler.into().emit(kernels, &chip.target(), OptLevel::Full, Form::Ptx)?.bytes;
    let launches = kernels
        .iter()
        .map(|(symbol, kernel)| launch(symbol, kernel, chip))
        .collect::<Result<_, _>>()?;
    Ok((String::from_utf8_lossy(&text).into_owned(), launches))
}

fn launch(symbol: &str, kernel: &Kernel, chip: Chip) -> Result<PtxKernel, CodegenError> {
    PtxKernel::of(symbol, kernel, chip)
        .map_err(|reason| CodegenError::Unsupported { symbol: symbol.into(), reason })
}
