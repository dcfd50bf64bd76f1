//! Lowering of kernels to LLVM: one function a kernel, one module a request, one object file.
//!
//! ABI of every kernel function: `void symbol(ptr buffers, ptr scalars, ptr workspace)` with `buffers` an array of
//! pointers in parameter order, `scalars` an array of f64 (may be null if there are none), and `workspace` scratch
//! memory of [`Kernel::workspace_bytes`] (may be null if that is zero). Distinct parameters must not overlap, except
//! that operands of a map with full access may be one buffer, so an elementwise result may replace its input.
//! Buffers need the alignment of their element type; 64 bytes is faster.

mod attention;
pub(crate) mod emit;
mod gemm;
mod loss;
pub(crate) mod map;
mod math;
mod math_wide;
pub(crate) mod norm;
pub(crate) mod rows;

use crate::compile::OptLevel;
use crate::error::CodegenError;
use crate::kernel::{Body, Dtype, Kernel, Parameter};
use crate::target::Target;
use emit::{Emitter, P};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::module::Linkage;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine,
    TargetTriple,
};

/// What one kernel function is given.
pub(crate) struct Launch<'e, 'c> {
    e: &'e Emitter<'c>,
    buffers: Vec<P<'c>>,
    scalars: P<'c>,
    workspace: P<'c>,
}

/// Compiles kernels to a relocatable object file, in this process.
///
/// Kernels must have been validated. LLVM may abort the process on an error of its back end; see
/// [`crate::compile`] for the road that survives that.
///
/// # Errors
/// [`CodegenError::Target`] if LLVM does not know the target, [`CodegenError::Llvm`] if it rejects the module.
pub fn object_code(
    kernels: &[(String, Kernel)],
    target: &Target,
    opt: OptLevel,
) -> Result<Vec<u8>, CodegenError> {
    let context = Context::create();
    let machine = target_machine(target, opt)?;
    let module = lowered(&context, kernels, target, opt, &machine)?;
    let object = machine
        .write_to_memory_buffer(&module, FileType::Object)
        .map_err(llvm_error("emitting code"))?;
    Ok(object.as_slice().to_vec())
}

/// The optimised LLVM IR of `kernels` as text, for people.
///
/// # Errors
/// As [`object_code`].
pub fn ir_text(
    kernels: &[(String, Kernel)],
    target: &Target,
    opt: OptLevel,
) -> Result<String, CodegenError> {
    let context = Context::create();
    let machine = target_machine(target, opt)?;
    Ok(lowered(&context, kernels, target, opt, &machine)?.print_to_string().to_string())
}

/// The assembly of `kernels`, for people.
///
/// # Errors
/// As [`object_code`].
pub fn assembly_text(
    kernels: &[(String, Kernel)],
    target: &Target,
    opt: OptLevel,
) -> Result<String, CodegenError> {
    let context = Context::create();
    let machine = target_machine(target, opt)?;
    let module = lowered(&context, kernels, target, opt, &machine)?;
    let text = machine
        .write_to_memory_buffer(&module, FileType::Assembly)
        .map_err(llvm_error("emitting code"))?;
    Ok(String::from_utf8_lossy(text.as_slice()).trim_end_matches('\0').to_owned())
}

fn lowered<'c>(
    context: &'c Context,
    kernels: &[(String, Kernel)],
    target: &Target,
    opt: OptLevel,
    machine: &TargetMachine,
) -> Result<inkwell::module::Module<'c>, CodegenError> {
    let e = Emitter::new(context, target);
    e.module.set_triple(&machine.get_triple());
    e.module.set_data_layout(&machine.get_target_data().get_data_layout());
    for (symbol, kernel) in kernels {
        function(&e, symbol, kernel);
    }
    e.module.verify().map_err(llvm_error("verifying the module"))?;
    let passes = match opt {
        OptLevel::None => "default<O0>",
        OptLevel::Full => "default<O3>",
    };
    let options = PassBuilderOptions::create();
    // Loops that matter are already written with vectors and register tiles; vectorising or unrolling the rest was
    // measured to double compile time and gain nothing.
    options.set_loop_vectorization(false);
    options.set_loop_slp_vectorization(false);
    options.set_loop_unrolling(false);
    e.module.run_passes(passes, machine, options).map_err(llvm_error("optimising"))?;
    Ok(e.module)
}

fn llvm_error(step: &'static str) -> impl Fn(inkwell::support::LLVMString) -> CodegenError {
    move |message| CodegenError::Llvm { step, reason: message.to_string() }
}

fn target_machine(target: &Target, opt: OptLevel) -> Result<TargetMachine, CodegenError> {
    let config = InitializationConfig { disassembler: false, ..InitializationConfig::default() };
    #[cfg(target_arch = "x86_64")]
    LlvmTarget::initialize_x86(&config);
    #[cfg(target_arch = "aarch64")]
    LlvmTarget::initialize_aarch64(&config);
    let triple = target
        .triple
        .as_deref()
        .map_or_else(TargetMachine::get_default_triple, TargetTriple::create);
    let refused = |reason: String| CodegenError::Target {
        target: format!("{}, cpu {}", triple.as_str().to_string_lossy(), target.cpu),
        reason,
    };
    let level = match opt {
        OptLevel::None => OptimizationLevel::None,
        OptLevel::Full => OptimizationLevel::Aggressive,
    };
    LlvmTarget::from_triple(&triple)
        .map_err(|m| refused(m.to_string()))?
        .create_target_machine(
            &triple,
            &target.cpu,
            &target.features,
            level,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| refused("LLVM has no target machine for it".into()))
}

fn function(e: &Emitter<'_>, symbol: &str, kernel: &Kernel) {
    let parameters = kernel.parameters();
    let ptr = e.ptr_type();
    e.set_dtype(kernel.dtype);
    e.define(symbol, Linkage::External, &[ptr, ptr, ptr], |args| {
        let (table, pointer) = (args[0].into_pointer_value(), ptr.into_pointer_type());
        let buffer = |(i, parameter): (usize, &Parameter)| {
            let place = e.at_typed(table, e.n(i as u64), pointer);
            e.pointer(e.load_typed(pointer, place, 8), parameter.dtype)
        };
        let buffers = parameters.iter().enumerate().map(buffer).collect();
        let (scalars, workspace) = (e.pointer(args[1], Dtype::F64), e.pointer(args[2], e.dtype()));
        body(&Launch { e, buffers, scalars, workspace }, &kernel.body);
    });
}

fn body(k: &Launch<'_, '_>, body: &Body) {
    match body {
        Body::Gemm(g) => map::gemm(k, g),
        Body::Map(m) => map::map(k, m),
        Body::Norm(n) => norm::forward(k, n),
        Body::NormDx(n) => norm::input_gradient(k, n),
        Body::NormDw(n) => norm::weight_gradient(k, n),
        Body::Attention { shape, lse } => attention::forward(k, shape, *lse),
        Body::AttentionDx(shape) => attention::gradient(k, shape),
        &Body::Rotary { batch, seq, heads, head_dim, base, inverse } => {
            rows::rotary(
                k,
                &rows::Rotary { batch, seq, heads, head_dim, base: base.get(), inverse },
            );
        }
        Body::CrossEntropy(c) => loss::forward(k, c),
        Body::CrossEntropyDx(c) => loss::gradient(k, c),
        Body::Embedding(s) => rows::embedding(k, s),
        Body::EmbeddingDw(s) => rows::embedding_gradient(k, s),
        &Body::SumRows { rows, cols } => rows::sum_rows(k, rows, cols),
        &Body::SwapBlocks { a, b, block } => rows::swap_blocks(k, a, b, block),
        &Body::Cast { elems, to } => rows::cast(k, elems, to),
        &Body::SumSquares { elems } => rows::sum_squares(k, elems),
        Body::ClipScale { max_norm } => rows::clip_scale(k, max_norm.get()),
    }
}
