//! PTX, and how it is launched, into a plan.

use piper_ir::Module;
use piper_plan::{Code, KernelDecl, Plan, Product, Ptx, PtxLaunches, PtxStage};

use super::into_plan::{param, plan_kernels, set_workspace};
use super::{aligned, partitions};
use crate::compile::Compiler;
use crate::error::CodegenError;
use crate::kernel::{Body, Kernel};
use crate::ptx::{Chip, PtxKernel, Stage, compile};

/// The kernels that `plan` declares by their symbols, as `chip` runs them. The plan is changed to what it launches there: in
/// partitions of grids, forms of kernels on so many blocks; and nothing that begins where PTX cannot read it.
///
/// # Errors
/// Those of [`plan_kernels`].
pub fn ptx_kernels(
    module: &Module,
    plan: &mut Plan,
    chip: Chip,
) -> Result<Vec<(String, Kernel)>, CodegenError> {
    let mut kernels = plan_kernels(module, plan)?;
    let is_bounded = partitions::bound(plan, &mut kernels, chip);
    let is_changed = aligned::align(plan) || is_bounded;
    if is_changed && !plan.misc.flows.is_empty() {
        // Launches have other names, and copies stand before and behind them. The seal of what was there has been compared.
        piper_plan::seal(plan);
    }
    Ok(plan.kernels.iter().map(|d| d.symbol.clone()).zip(kernels).collect())
}

/// Compiles all kernels that `plan` declares to PTX for `chip`, which the plan then carries with its launches, the target, and
/// the workspace that kernels and programs need.
///
/// # Errors
/// Those of [`plan_kernels`] and of [`compile`]; without the `llvm` feature [`CodegenError::WithoutLlvm`]. The plan is then
/// unchanged.
pub fn compile_ptx_plan(
    module: &Module,
    plan: &mut Plan,
    chip: Chip,
    compiler: impl Into<Compiler>,
) -> Result<(), CodegenError> {
    let mut changed = plan.clone();
    let named = ptx_kernels(module, &mut changed, chip)?;
    let (text, launched) = compile(&named, chip, compiler)?;
    *plan = changed;
    set_workspace(plan, launched.iter().map(|kernel| kernel.workspace_bytes));
    plan.misc.target = chip.target().triple.unwrap_or_default();
    plan.misc.notes.retain(|(name, _)| name != "vectors");
    let kernels = launched.iter().zip(&named).map(|(l, (_, kernel))| launches(l, kernel)).collect();
    plan.code = Code::Ptx(Ptx { chip: chip.architecture().to_owned(), text, kernels });
    Ok(())
}

/// How a kernel is launched, as a plan says it, and what product it is.
pub fn launches(launched: &PtxKernel, kernel: &Kernel) -> PtxLaunches {
    let stage = |stage: &Stage| PtxStage {
        entry: stage.entry.clone(),
        grid: stage.grid,
        block: stage.block,
        shared_bytes: stage.dynamic_shared_bytes,
    };
    let product = match &kernel.body {
        Body::Gemm(g) => Some(Product {
            m: g.m,
            n: g.n,
            k: g.k,
            batch: g.batch,
            transpose_a: g.transpose_a,
            transpose_b: g.transpose_b,
            bias: g.bias,
            accumulate: g.accumulate,
            epilogue: g.epilogue.is_some(),
        }),
        _ => None,
    };
    PtxLaunches { stages: launched.stages.iter().map(stage).collect(), product }
}

/// A kernel on a GPU as a plan declares it.
pub fn ptx_declaration(kernel: &PtxKernel) -> KernelDecl {
    KernelDecl {
        symbol: kernel.symbol.clone(),
        params: kernel.params.iter().map(param).collect(),
        scalars: kernel.scalars,
        workspace_bytes: kernel.workspace_bytes,
        cost: None,
    }
}
