//! Lowering of kernels to LLVM: one function a kernel, one module a request, one object file.
//!
//! ABI of every kernel function: `void symbol(ptr buffers, ptr scalars, ptr workspace)` with `buffers` an array of
//! pointers in parameter order, `scalars` an array of f64 (may be null if there are none), and `workspace` scratch
//! memory of [`Kernel::workspace_bytes`] (may be null if that is zero). Distinct parameters must not overlap, except
//! that operands of a map with full access may be one buffer, so an elementwise result may replace its input.
//! Buffers need the alignment of their element type; 64 bytes is faster.
//!
//! A kernel whose launches may be divided ([`Kernel::split`]) is also `void symbol$part(ptr buffers, ptr scalars, ptr workspace,
//! i64 part, i64 parts)`: all parts from 0 on may run at the same time, with one workspace of
//! [`Split::workspace_bytes`](crate::Split::workspace_bytes) of their number. Where something is left to do after all of
//! them, it is `void symbol$end(ptr buffers, ptr scalars, ptr workspace)`. How it may be divided stands in the object, too:
//! `symbol$split` is four i64, the fields of [`Split`](crate::Split). `symbol` is all of it, one after the other.

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
use crate::split::ELEMENTS;
use crate::target::Target;
use emit::{Emitter, I, P, V};
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
    /// Of this part alone.
    workspace: P<'c>,
    /// Of all parts.
    shared: P<'c>,
    /// Which part of how many; `None` for all.
    part: Option<[I<'c>; 2]>,
}

impl<'c> Launch<'_, 'c> {
    /// Which of `pieces` this part takes: from the first up to the second.
    fn share(&self, pieces: u64) -> [I<'c>; 2] {
        let e = self.e;
        let Some([part, parts]) = self.part else { return [e.n(0), e.n(pieces)] };
        let before = |part| e.idivided(e.imul(part, e.n(pieces)), parts);
        [before(part), before(e.iadd(part, e.n(1)))]
    }

    /// Which of `count` rows, columns or elements this part takes, if it takes `together` at a time.
    fn share_of(&self, count: u64, together: u64) -> [I<'c>; 2] {
        let e = self.e;
        self.share(count.div_ceil(together)).map(|at| e.imin(e.imul(at, e.n(together)), e.n(count)))
    }

    /// Runs `body` for each row of this part's.
    fn for_rows(&self, rows: u64, body: impl FnOnce(I<'c>)) {
        let [from, to] = self.share(rows);
        self.e.for_each(from, to, 1, body);
    }

    /// Runs `body` for pieces of this part's elements, as [`Emitter::for_pieces`] does for all.
    fn for_elements(&self, elems: u64, body: impl Fn(I<'c>, u64)) {
        let [from, to] = self.share_of(elems, ELEMENTS);
        self.e.for_pieces_of(from, to, elems, body);
    }
}

/// How the names of a kernel's further functions end.
const PART: &str = "$part";
const END: &str = "$end";
const SPLIT: &str = "$split";

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
        // What O2 and O3 add was measured to take a fifth of the time of code generation and to gain nothing.
        OptLevel::Full => "default<O1>",
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

fn function<'c>(e: &Emitter<'c>, symbol: &str, kernel: &Kernel) {
    let parameters = kernel.parameters();
    let split = kernel.split();
    let (ptr, int) = (e.ptr_type(), e.i64().into());
    e.set_dtype(kernel.dtype);
    let launch = |args: &[V<'c>]| {
        let (table, pointer) = (args[0].into_pointer_value(), ptr.into_pointer_type());
        let buffer = |(i, parameter): (usize, &Parameter)| {
            let place = e.at_typed(table, e.n(i as u64), pointer);
            e.pointer(e.load_typed(pointer, place, 8), parameter.dtype)
        };
        let buffers: Vec<P<'c>> = parameters.iter().enumerate().map(buffer).collect();
        let (scalars, shared) = (e.pointer(args[1], Dtype::F64), e.pointer(args[2], e.dtype()));
        let part = args.get(3..5).map(|part| [part[0].into_int_value(), part[1].into_int_value()]);
        let mut workspace = e.at(shared, e.n(split.shared_bytes / e.dtype().bytes()));
        if let Some([part, _]) = part {
            let slice = split.part_bytes / e.dtype().bytes();
            workspace = e.at(workspace, e.imul(part, e.n(slice)));
        }
        Launch { e, buffers, scalars, workspace, shared, part }
    };
    let run = |launch: &Launch<'_, 'c>| {
        let streamed: Vec<P<'c>> =
            kernel.streamed_results().into_iter().map(|i| launch.buffers[i]).collect();
        e.streaming(&streamed, kernel.streamed_widening(), || body(launch, &kernel.body));
    };
    if split.parts == 1 {
        e.define(symbol, Linkage::External, &[ptr, ptr, ptr], |args| {
            run(&launch(args));
            if split.has_end {
                end(&launch(args), &kernel.body);
            }
        });
        return;
    }
    let part_symbol = format!("{symbol}{PART}");
    let part = e.define(&part_symbol, Linkage::External, &[ptr, ptr, ptr, int, int], |args| {
        run(&launch(args));
    });
    let end = split.has_end.then(|| {
        e.define(&format!("{symbol}{END}"), Linkage::External, &[ptr, ptr, ptr], |args| {
            end(&launch(args), &kernel.body);
        })
    });
    e.define(symbol, Linkage::External, &[ptr, ptr, ptr], |args| {
        e.call(part, &[args, &[e.n(0).into(), e.n(1).into()]].concat());
        if let Some(end) = end {
            e.call(end, args);
        }
    });
    let fields = [split.parts, split.shared_bytes, split.part_bytes, u64::from(split.has_end)];
    let fields = e.i64().const_array(&fields.map(|field| e.n(field)));
    let global = e.module.add_global(fields.get_type(), None, &format!("{symbol}{SPLIT}"));
    global.set_initializer(&fields);
    global.set_constant(true);
}

/// What is left to do after all parts: sums of their sums.
fn end(k: &Launch<'_, '_>, body: &Body) {
    match body {
        &Body::SumSquares { elems } => rows::sum_of_squares(k, elems),
        Body::CrossEntropy(c) => loss::mean(k, c),
        _ => unreachable!("no other kernel has sums over pieces"),
    }
}

fn body(k: &Launch<'_, '_>, body: &Body) {
    match body {
        Body::Gemm(g) => map::gemm(k, g),
        Body::Map(m) => map::map(k, m),
        Body::Norm(n) => norm::forward(k, n),
        Body::NormDx { norm: n, adds } => norm::input_gradient(k, n, *adds),
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
