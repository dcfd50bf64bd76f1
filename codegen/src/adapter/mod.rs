//! From the IR's kernels to descriptions that code generation understands, and into plans.
//!
//! [`kernel`] reads a `kernel.func` (what `kernelize` makes of chunk bodies) or a `device.kernel` (what Piper itself brings)
//! as a [`Kernel`]; [`compile_plan`] compiles everything a plan launches into one shared object. Nothing here changes what is
//! computed: the tests compare every kernel with the reference interpreter of the operations in its body.

mod aligned;
mod builtin;
mod fused;
mod into_plan;
mod partitions;
mod ptx_plan;
mod scalar_body;

pub use into_plan::{CodeReport, compile_plan, plan_kernels};
pub use ptx_plan::{compile_ptx_plan, launches, ptx_declaration, ptx_kernels};

use piper_dialects::{device, kernel as kernels};
use piper_ir::{FloatKind, Module, Op, Type, TypeData};

use crate::error::CodegenError;
use crate::kernel::{Dtype, Kernel};

/// The description of a `kernel.func` or `device.kernel`. Its parameters stand in the order of the operation's: arguments
/// (what is read, then what is updated), then results.
///
/// # Errors
/// [`CodegenError::Unsupported`] if the operation is no kernel, or one whose body is not of the form that its kind has.
pub fn kernel(module: &Module, op: Op) -> Result<Kernel, CodegenError> {
    let symbol = || module.symbol_name(op).unwrap_or_default().to_owned();
    let made = if let Some(view) = kernels::Func::cast(module, op) {
        fused::kernel(module, view)
    } else if let Some(view) = device::Kernel::cast(module, op) {
        builtin::kernel(module, view)
    } else {
        let name = module.name_text(op);
        Err(format!("it is a '{name}', not a kernel; run kernelize before the plan is made"))
    };
    let made = made.map_err(|reason| CodegenError::Unsupported { symbol: symbol(), reason })?;
    made.validate().map_err(|reason| CodegenError::InvalidKernel { symbol: symbol(), reason })?;
    Ok(made)
}

/// What an element type is to code generation.
fn dtype(module: &Module, element: Type) -> Result<Dtype, String> {
    let ctx = module.ctx();
    if element.as_float(ctx) == Some(FloatKind::BF16) {
        return Ok(Dtype::Bf16);
    }
    [(ctx.f32(), Dtype::F32), (ctx.f64(), Dtype::F64), (ctx.i32(), Dtype::I32)]
        .into_iter()
        .find(|(ty, _)| *ty == element)
        .map(|(_, dtype)| dtype)
        .ok_or_else(|| format!("elements of type {} are not supported", element.display(ctx)))
}

/// Elements, and their type, of a tensor or a flat buffer.
fn elements(module: &Module, ty: Type) -> Result<(u64, Dtype), String> {
    let ctx = module.ctx();
    let parts = match ty.data(ctx) {
        TypeData::MemRef { shape, element, .. } => {
            let lengths = shape.iter().map(|n| u64::try_from(*n).ok());
            lengths.product::<Option<u64>>().zip(Some(*element))
        }
        _ => ty.num_elements(ctx).zip(ty.as_tensor(ctx).map(|t| t.1)),
    };
    let (count, element) =
        parts.ok_or_else(|| format!("{} has no static size", ty.display(ctx)))?;
    Ok((count, dtype(module, element)?))
}
