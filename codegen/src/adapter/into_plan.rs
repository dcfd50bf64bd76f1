//! The code of everything that a plan launches.

use piper_dialects::device;
use piper_ir::{Module, Op};
use piper_plan::{Code, DType, Kind, Param, Plan, Variant};
use rustc_hash::FxHashMap;
use std::time::Duration;

use crate::compile::{Compiler, Made, OptLevel};
use crate::error::CodegenError;
use crate::kernel::{Dtype, Kernel, Mode, Parameter};
use crate::target::Target;

/// The description of every kernel that `plan` declares, in the order of its table, found in the module that the plan was
/// made from.
///
/// # Errors
/// A symbol that the module does not have or that is no kernel, or whose parameters differ from the declaration.
pub fn plan_kernels(module: &Module, plan: &Plan) -> Result<Vec<Kernel>, CodegenError> {
    let symbols = launchable(module, plan);
    let found = plan.kernels.iter().map(|declared| {
        let unsupported =
            |reason| CodegenError::Unsupported { symbol: declared.symbol.clone(), reason };
        let op = symbols.get(declared.symbol.as_str());
        let op = op.ok_or_else(|| {
            unsupported("the module that the plan is to be made of lacks it".into())
        })?;
        let kernel = super::kernel(module, *op)?;
        let parameters: Vec<Param> = kernel.parameters().iter().map(param).collect();
        if parameters != declared.params || kernel.scalars() != declared.scalars {
            let reason = format!(
                "it takes {} and {} scalars, but the plan launches it with {} and {}",
                list(&parameters),
                kernel.scalars(),
                list(&declared.params),
                declared.scalars
            );
            return Err(unsupported(reason));
        }
        Ok(kernel)
    });
    found.collect()
}

/// What is to be told of the code of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeReport {
    /// Kernels that the code defines.
    pub kernels: usize,
    /// Bytes of the code.
    pub bytes: usize,
    /// It had been made before.
    pub is_from_cache: bool,
    /// How long it took to make or to find.
    pub took: Duration,
}

/// `code of 37 kernels (106 KiB) made in 442 ms`, or `... from cache in 1 ms`.
impl std::fmt::Display for CodeReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = if self.is_from_cache { "from cache" } else { "made" };
        let (kib, ms) = (self.bytes.div_ceil(1024), self.took.as_secs_f64() * 1e3);
        write!(f, "code of {} kernels ({kib} KiB) {how} in {ms:.0} ms", self.kernels)
    }
}

/// Compiles all kernels that `plan` declares into a shared object for each target, which the plan then carries, with the machine they
/// are for and the workspace that kernels and programs need.
///
/// # Errors
/// Those of [`plan_kernels`] and of [`Compiler::shared_object`]; without the `llvm` feature [`CodegenError::WithoutLlvm`]. The plan is then
/// unchanged.
pub fn compile_plan(
    module: &Module,
    plan: &mut Plan,
    targets: &[Target],
    opt: OptLevel,
    compiler: &Compiler,
) -> Result<CodeReport, CodegenError> {
    let kernels = plan_kernels(module, plan)?;
    let named: Vec<(String, Kernel)> =
        plan.kernels.iter().map(|d| d.symbol.clone()).zip(kernels.iter().cloned()).collect();
    let mut report =
        CodeReport { kernels: kernels.len(), bytes: 0, is_from_cache: true, took: Duration::ZERO };
    let mut variants = Vec::with_capacity(targets.len());
    for target in targets {
        let Made { bytes, is_from_cache, took } = compiler.shared_object(&named, target, opt)?;
        report.bytes += bytes.len();
        report.is_from_cache &= is_from_cache;
        report.took += took;
        variants.push(Variant { vectors: target.vectors.name().into(), object: bytes });
    }
    set_workspace(plan, kernels.iter().map(Kernel::workspace_bytes));
    let triple = targets.iter().find_map(|target| target.triple.clone());
    plan.misc.target = triple
        .unwrap_or_else(|| format!("{}-unknown-{}", std::env::consts::ARCH, std::env::consts::OS));
    plan.misc.notes.retain(|(name, _)| name != "vectors");
    let names: Vec<&str> = variants.iter().map(|variant| variant.vectors.as_str()).collect();
    plan.misc.notes.push(("vectors".into(), names.join(",")));
    plan.code = match <[Variant; 1]>::try_from(variants) {
        Ok([only]) => Code::SharedObject(only.object),
        Err(variants) => Code::Variants(variants),
    };
    Ok(report)
}

/// Notes the workspace that each kernel needs, and with it what each program needs.
pub(super) fn set_workspace(plan: &mut Plan, bytes: impl Iterator<Item = u64>) {
    for (declared, bytes) in plan.kernels.iter_mut().zip(bytes) {
        declared.workspace_bytes = bytes;
    }
    for program in &mut plan.programs {
        let launched = program.instrs.iter().filter_map(|instr| match instr.kind {
            Kind::Launch { kernel, .. } => plan.kernels.get(kernel.index()),
            _ => None,
        });
        program.workspace_bytes = launched.map(|kernel| kernel.workspace_bytes).max().unwrap_or(0);
    }
}

/// What a plan's launches may name: symbols of the module, and of the `device.plan` that the plan was made from.
fn launchable<'m>(module: &'m Module, plan: &Plan) -> FxHashMap<&'m str, Op> {
    let ctx = module.ctx();
    let top = module.top_level();
    let mut plans: Vec<Op> =
        top.iter().copied().filter(|op| device::Plan::cast(module, *op).is_some()).collect();
    // Its own plan last, so that its kernels win.
    plans.sort_by_key(|op| device::Plan(*op).name(module).as_str(ctx) == Some(&*plan.name));
    let inner = plans
        .into_iter()
        .filter_map(|op| module.only_block(op))
        .flat_map(|block| module.ops(block));
    let all = top.iter().copied().chain(inner);
    all.filter_map(|op| Some((module.symbol_name(op)?, op))).collect()
}

pub(super) fn param(parameter: &Parameter) -> Param {
    let mode = match parameter.mode {
        Mode::Read => piper_plan::Mode::Read,
        Mode::Write => piper_plan::Mode::Write,
        Mode::ReadWrite => piper_plan::Mode::ReadWrite,
    };
    let dtype = match parameter.dtype {
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::I32 => DType::I32,
        Dtype::Bf16 => DType::Bf16,
    };
    Param { mode, dtype, elems: parameter.elems }
}

fn list(params: &[Param]) -> String {
    let texts = params.iter().map(|p| format!("{:?} {}x{}", p.mode, p.elems, p.dtype.name()));
    format!("[{}]", texts.collect::<Vec<_>>().join(", "))
}
