//! `kernelize`: chunk bodies become sequences of kernel launches.
//!
//! ```mlir
//! func.func private @f0(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
//!   %h = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
//!   %a = nn.gelu %h : tensor<4x16xf32>
//!   func.return %a : tensor<4x16xf32>
//! }
//! ```
//! becomes one launch, of a matrix product whose epilogue is the activation:
//! ```mlir
//! kernel.func @gemm0(%x: ..., %w: ..., %b: ...) -> tensor<4x16xf32> attributes {bytes = 960, flops = 2240, kind = "gemm"} {
//!   %h = nn.linear %x, %w, %b : ...
//!   %a = nn.gelu %h : ...
//!   kernel.return %a : tensor<4x16xf32>
//! }
//! func.func private @f0(%x: ..., %w: ..., %b: ...) -> tensor<4x16xf32> {
//!   %a = kernel.launch @gemm0(%x, %w, %b) : (...) -> tensor<4x16xf32>
//!   func.return %a : tensor<4x16xf32>
//! }
//! ```
//!
//! **Input**: functions of `nn` operations: those that graphs call and device programs launch, or, if there is neither, all.
//! **Output**: `kernel.func`s, equal ones once, and launches of them. Launches of functions in device programs become
//! launches of kernels, with buffers for what they pass on ([`expand_launches`]); hence the pass runs before `memory-plan`.
//! **Failures**: a device program that launches a function with something in it that is no kernel.
//!
//! The parts: `tidy` removes what nobody reads, `groups` decides what runs together, `outline` makes kernels of groups,
//! `cost` counts, [`table`] shows.

mod cost;
mod expand_launches;
mod groups;
mod outline;
pub mod table;
mod tidy;

pub use expand_launches::expand_launches;

use piper_dialects::{dag, device, func, kernel};
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Module, Op, Reporter};
use rustc_hash::FxHashSet;

use outline::Kernels;

/// Makes kernels of the chunk bodies of a module and expands what device programs launch; returns how many kernels there
/// are new.
///
/// # Errors
/// A device program that launches something that is no sequence of kernels; it is reported.
pub fn run(module: &mut Module, reporter: &mut Reporter<'_>) -> Result<usize, PassFailed> {
    // What nobody can compute as it stands.
    crate::expand_ops::run(module, true, reporter)?;
    let mut kernels = Kernels::of(module);
    for function in chunk_bodies(module) {
        tidy::tidy(module, function);
        let groups = groups::groups(module, function);
        kernels.launch(module, function, &groups);
    }
    expand_launches(module, reporter)?;
    Ok(kernels.made())
}

/// The functions that graphs call and programs launch, in the order of the module; all if there are no such calls.
fn chunk_bodies(module: &Module) -> Vec<Op> {
    let ctx = module.ctx();
    let mut called = FxHashSet::default();
    let mut is_model = true;
    for op in module.top_level() {
        if dag::Graph::cast(module, op).is_none() && device::Plan::cast(module, op).is_none() {
            continue;
        }
        is_model = false;
        for inner in module.walk(op) {
            if matches!(module.name_text(inner), dag::Compute::NAME | device::Launch::NAME) {
                called.extend(module.attr_by(inner, "callee").and_then(|c| c.as_symbol(ctx)));
            }
        }
    }
    let wanted = |op: &Op| {
        let Some(block) = func::Func::cast(module, *op).and_then(|f| f.block(module)) else {
            return false;
        };
        let name = module.symbol_name(*op).map(|name| ctx.name(name));
        let flat = module.ops(block).all(|inner| module.regions(inner).is_empty());
        flat && (is_model || name.is_some_and(|name| called.contains(&name)))
    };
    module.top_level().into_iter().filter(wanted).collect()
}

/// The passes of this module.
pub fn passes() -> Vec<PassInfo> {
    let run = |cx: &mut PassContext<'_, '_>| -> PassResult {
        let made = run(cx.module, cx.reporter)?;
        cx.count("kernels", made as u64);
        Ok(())
    };
    vec![
        PassInfo::from_fn("kernelize", "Chunk bodies become launches of fused kernels", run).describe(
            "Input: functions of `nn` operations, and device programs that launch them. Output: `kernel.func`s, equal ones \
             once; launches of these with buffers for what they pass on. Elementwise operations are fused, with a matrix \
             product as its epilogue where they follow one; sums also with the gradient of a norm. Runs before `memory-plan`.",
        )
        .after(&["build-dag"])
        .done_when(|module| {
            module.top_level().into_iter().any(|op| kernel::Func::cast(module, op).is_some())
        }),
        PassInfo::from_fn("print-kernels", "A table of the kernels: launches, operations, bytes, intensity", |cx| {
            let text = table::of(cx.module);
            cx.reporter.remark(cx.module.op_loc(cx.op), text);
            Ok(())
        })
        .describe("Input: a module after `kernelize`. Reports the table as a remark and changes nothing.")
        .after(&["kernelize"]),
    ]
}
