//! The module that holds the entries of all stages, and its way through LLVM.

use super::chip::Chip;
use super::device::Device;
use super::launch::{PtxKernel, Stage, TensorAttention, Tile};
use super::{
    attention, attention_gradient, attention_tensor, gemm, gemm_tensor, gemm_warpgroup, map, norm,
    rotary, rows, sums,
};
use crate::error::CodegenError;
use crate::kernel::{Body, Dtype, Kernel, Mode};
use crate::llvm::emit::{Emitter, P, built};
use crate::llvm::rows::Rotary;
use crate::target::Target;
use inkwell::AddressSpace;
use inkwell::OptimizationLevel;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetTriple,
};
use inkwell::types::BasicMetadataTypeEnum;

/// LLVM's number for the calling convention of entries.
const PTX_KERNEL: u32 = 71;
/// Address space of device memory.
const GLOBAL: u16 = 1;

/// The PTX of `kernels`, which must have been validated, made in this process.
///
/// # Errors
/// [`CodegenError::Target`] if `target` is not that of a [`Chip`]: LLVM would end the process over a chip that its PTX
/// version does not know. [`CodegenError::Unsupported`] for a kernel that cannot run on a GPU, [`CodegenError::Llvm`] if
/// LLVM rejects the module.
pub fn ptx_text(kernels: &[(String, Kernel)], target: &Target) -> Result<String, CodegenError> {
    let refused = |reason: String| CodegenError::Target { target: target.cpu.clone(), reason };
    let chip =
        Chip::named(&target.cpu).filter(|chip| chip.target() == *target).ok_or_else(|| {
            let names: Vec<_> = Chip::ALL.iter().map(|chip| chip.name()).collect();
            refused(format!("PTX is made for {}", names.join(", ")))
        })?;
    LlvmTarget::initialize_nvptx(&InitializationConfig {
        disassembler: false,
        ..Default::default()
    });
    let triple = TargetTriple::create(target.triple.as_deref().unwrap_or_default());
    let machine = LlvmTarget::from_triple(&triple)
        .map_err(|m| refused(m.to_string()))?
        .create_target_machine(
            &triple,
            chip.architecture(),
            &target.features,
            OptimizationLevel::Aggressive,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| refused("LLVM has no target machine for it".into()))?;
    let context = Context::create();
    let e = Emitter::new(&context, target);
    e.module.set_triple(&triple);
    e.module.set_data_layout(&machine.get_target_data().get_data_layout());
    for (symbol, kernel) in kernels {
        let launched = super::launch(symbol, kernel, chip)?;
        for stage in &launched.stages {
            entry(&e, kernel, &launched, stage, chip);
        }
    }
    let llvm = |step| {
        move |m: inkwell::support::LLVMString| CodegenError::Llvm { step, reason: m.to_string() }
    };
    e.module.verify().map_err(llvm("verifying the module"))?;
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(false);
    options.set_loop_slp_vectorization(false);
    e.module.run_passes("default<O3>", &machine, options).map_err(llvm("optimising"))?;
    let text = machine
        .write_to_memory_buffer(&e.module, FileType::Assembly)
        .map_err(llvm("emitting PTX"))?;
    Ok(String::from_utf8_lossy(text.as_slice()).trim_end_matches('\0').to_owned())
}

fn entry(e: &Emitter<'_>, kernel: &Kernel, launched: &PtxKernel, stage: &Stage, chip: Chip) {
    let ctx = e.ctx;
    let pointer = ctx.ptr_type(AddressSpace::from(GLOBAL));
    let buffers = launched.params.len();
    let scalars = launched.scalars as usize;
    let mut types = vec![BasicMetadataTypeEnum::from(pointer); buffers];
    types.extend(std::iter::repeat_n(BasicMetadataTypeEnum::from(ctx.f64_type()), scalars));
    if launched.workspace_bytes > 0 {
        types.push(pointer.into());
    }
    let function =
        e.module.add_function(&stage.entry, ctx.void_type().fn_type(&types, false), None);
    function.set_call_conventions(PTX_KERNEL);
    // Without a least number of resident blocks `ptxas` picks one itself, and spills registers to reach it.
    for (name, value) in [("nvvm.maxntid", stage.block), ("nvvm.minctasm", 1)] {
        let attribute = ctx.create_string_attribute(name, &value.to_string());
        function.add_attribute(AttributeLoc::Function, attribute);
    }
    // What is only read may go through the read-only cache, unless the launcher may give an output for it.
    if !matches!(kernel.body, Body::Map(_)) {
        for (i, _) in launched.params.iter().enumerate().filter(|(_, p)| p.mode == Mode::Read) {
            for name in ["noalias", "readonly"] {
                let kind = Attribute::get_named_enum_kind_id(name);
                function.add_attribute(
                    AttributeLoc::Param(i as u32),
                    ctx.create_enum_attribute(kind, 0),
                );
            }
        }
    }
    e.b.position_at_end(ctx.append_basic_block(function, "entry"));
    e.set_dtype(kernel.dtype);
    let args = function.get_params();
    let pointers = launched.params.iter().zip(&args);
    let device = Device {
        e,
        buffers: pointers
            .map(|(p, arg)| P { address: arg.into_pointer_value(), element: p.dtype })
            .collect(),
        scalars: args[buffers..buffers + scalars].to_vec(),
        workspace: args.get(buffers + scalars).copied(),
        stage,
        at: None,
        chip,
    };
    match stage.work {
        None => body(&device, kernel, stage.step),
        Some(work) => several(device, kernel, work),
    }
    built(e.b.build_return(None));
}

/// The work of several blocks, one after the other: that of every block of `work` whose number is this block's, or more by a
/// multiple of the grid's size. Shared memory is used again, so all threads have to be done with it first.
fn several<'c>(device: Device<'_, 'c>, kernel: &Kernel, work: [u32; 3]) {
    let (e, stage) = (device.e, device.stage);
    let [x, y, z] = work.map(u64::from);
    let first = device.block(0);
    e.for_each(first, e.n(x * y * z), u64::from(stage.grid[0]), |block| {
        let rest = e.idiv(block, x);
        let at = Some([e.irem(block, x), e.irem(rest, y), e.idiv(rest, y)]);
        let device = Device { at, ..device };
        body(&device, kernel, stage.step);
        if stage.dynamic_shared_bytes > 0 {
            device.wait(0);
        }
        device.barrier();
    });
}

fn body(k: &Device<'_, '_>, kernel: &Kernel, stage: usize) {
    let dtype = kernel.dtype;
    match &kernel.body {
        Body::Map(m) => map::map(k, m, dtype),
        Body::Gemm(g) if dtype == Dtype::Bf16 => match Tile::of(g, dtype, k.chip) {
            tile if tile.is_of_warpgroups => gemm_warpgroup::gemm(k, g, tile),
            tile => gemm_tensor::gemm(k, g, tile),
        },
        Body::Gemm(g) => gemm::gemm(k, g, dtype),
        Body::Norm(n) => norm::forward(k, n, dtype),
        Body::NormDx { norm: n, adds } => norm::input_gradient(k, n, *adds, dtype),
        Body::NormDw(n) => norm::weight_gradient(k, n, dtype, stage),
        Body::Attention { shape, lse } => match TensorAttention::of(shape, dtype, false) {
            Some(tiles) => attention_tensor::forward(k, shape, tiles, *lse),
            None => attention::forward(k, shape, *lse),
        },
        Body::AttentionDx(shape) => match (stage, TensorAttention::of(shape, dtype, true)) {
            (0, _) => attention_gradient::offsets(k, shape, dtype),
            (1, Some(tiles)) => attention_tensor::queries(k, shape, tiles),
            (_, Some(tiles)) => attention_tensor::keys(k, shape, tiles),
            (1, None) => attention_gradient::queries(k, shape),
            (_, None) => attention_gradient::keys(k, shape),
        },
        &Body::Rotary { batch, seq, heads, head_dim, base, inverse } => {
            let base = base.get();
            rotary::rotary(k, &Rotary { batch, seq, heads, head_dim, base, inverse }, dtype);
        }
        Body::CrossEntropy(c) => rows::loss(k, c, dtype, stage),
        Body::CrossEntropyDx(c) => rows::loss_gradient(k, c, dtype),
        Body::Embedding(s) => rows::embedding(k, s, dtype),
        Body::EmbeddingDw(s) => rows::embedding_gradient(k, s, dtype),
        &Body::SumRows { rows, cols } => sums::rows(k, rows, cols, stage),
        &Body::SwapBlocks { a, b, block } => rows::swap_blocks(k, [a, b, block], dtype),
        &Body::Cast { elems, to } => rows::cast(k, elems, dtype, to),
        &Body::SumSquares { elems } => sums::squares(k, elems, dtype, stage),
        Body::ClipScale { max_norm } => rows::clip_scale(k, max_norm.get()),
    }
}
