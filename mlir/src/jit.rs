//! MLIR itself: checks what [`text`](crate::text) writes, and makes machine code of it by MLIR's own passes.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;

use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::ir::operation::OperationLike;
use melior::pass::PassManager;
use melior::utility::{
    parse_pass_pipeline, register_all_dialects, register_all_llvm_translations, register_all_passes,
};
use melior::{Context, ExecutionEngine};
use piper_codegen::Kernel;
use piper_codegen::reference::Slice;

use crate::text;

/// From structured operations to LLVM's dialect. Functions take bare pointers, as every shape is known.
const LOWERING: &str = "builtin.module(convert-linalg-to-loops,lower-affine,convert-scf-to-cf,expand-strided-metadata,\
    convert-math-to-llvm,convert-math-to-libm,arith-expand{include-bf16=true},convert-arith-to-llvm,convert-index-to-llvm,\
    finalize-memref-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=true},convert-cf-to-llvm,\
    reconcile-unrealized-casts)";

/// What the engine calls a function of ours by: it looks for the wrappers that MLIR makes for C.
const PREFIX: &str = "_mlir_ciface_";

/// What MLIR said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MlirError {
    /// The text does not verify: a fault of this crate.
    #[error("MLIR rejects the kernels:\n{0}")]
    Rejected(String),
    /// A pass failed.
    #[error("MLIR cannot lower the kernels:\n{0}")]
    Lowering(String),
    /// A launch that fits no kernel.
    #[error("{0}")]
    Launch(String),
}

/// A context in which every dialect of MLIR's is there, and what was said in it.
fn context() -> (Context, Rc<RefCell<String>>) {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    register_all_llvm_translations(&context);
    let said = Rc::new(RefCell::new(String::new()));
    let sink = Rc::clone(&said);
    context.attach_diagnostic_handler(move |diagnostic| {
        let line = format!("{}: {diagnostic}\n", diagnostic.location());
        sink.borrow_mut().push_str(&line);
        true
    });
    (context, said)
}

fn parsed<'c>(
    context: &'c Context,
    said: &RefCell<String>,
    text: &str,
) -> Result<Module<'c>, MlirError> {
    let module = Module::parse(context, text).filter(|module| module.as_operation().verify());
    module.ok_or_else(|| MlirError::Rejected(said.borrow().clone()))
}

/// Whether MLIR accepts a module, such as what [`text`] writes.
///
/// # Errors
/// [`MlirError::Rejected`] with MLIR's diagnostics.
pub fn verify(text: &str) -> Result<(), MlirError> {
    let (context, said) = context();
    parsed(&context, &said, text).map(drop)
}

/// Kernels compiled by MLIR, in this process.
pub struct Jit {
    engine: ExecutionEngine,
    kernels: Vec<(String, Kernel)>,
}

impl Jit {
    /// Compiles kernels, each under its name.
    ///
    /// # Errors
    /// [`MlirError::Rejected`] and [`MlirError::Lowering`], with MLIR's diagnostics.
    pub fn new(kernels: &[(String, Kernel)]) -> Result<Self, MlirError> {
        register_all_passes();
        let (context, said) = context();
        let named: Vec<(String, Kernel)> = kernels
            .iter()
            .map(|(symbol, kernel)| (format!("{PREFIX}{symbol}"), kernel.clone()))
            .collect();
        let mut module = parsed(&context, &said, &text(&named))?;
        let failed = |_| MlirError::Lowering(said.borrow().clone());
        let passes = PassManager::new(&context);
        parse_pass_pipeline(passes.as_operation_pass_manager(), LOWERING).map_err(failed)?;
        passes.run(&mut module).map_err(failed)?;
        let engine = ExecutionEngine::new(&module, 2, &[], false, false);
        Ok(Self { engine, kernels: kernels.to_vec() })
    }

    /// Launches a kernel.
    ///
    /// # Errors
    /// [`MlirError::Launch`] for an unknown symbol, or buffers or scalars that are not the kernel's.
    pub fn run(
        &self,
        symbol: &str,
        buffers: &mut [Slice<'_>],
        scalars: &[f64],
    ) -> Result<(), MlirError> {
        let (_, kernel) = self
            .kernels
            .iter()
            .find(|(name, _)| name == symbol)
            .ok_or_else(|| MlirError::Launch(format!("there is no kernel {symbol}")))?;
        let wanted = kernel.parameters();
        let fits = wanted.len() == buffers.len()
            && kernel.scalars() as usize == scalars.len()
            && wanted.iter().zip(buffers.iter()).all(|(parameter, buffer)| {
                parameter.dtype == buffer.dtype() && parameter.elems == buffer.len() as u64
            });
        if !fits {
            let message = format!("{symbol} takes {wanted:?} and {} scalars", kernel.scalars());
            return Err(MlirError::Launch(message));
        }
        let mut pointers: Vec<*mut ()> = buffers
            .iter_mut()
            .map(|buffer| match buffer {
                Slice::F32(values) => values.as_mut_ptr().cast(),
                Slice::F64(values) => values.as_mut_ptr().cast(),
                Slice::I32(values) => values.as_mut_ptr().cast(),
                Slice::Bf16(values) => values.as_mut_ptr().cast(),
            })
            .collect();
        let mut scalars = scalars.to_vec();
        let mut arguments: Vec<*mut ()> = pointers
            .iter_mut()
            .map(|pointer| std::ptr::from_mut(pointer).cast())
            .chain(scalars.iter_mut().map(|scalar| std::ptr::from_mut(scalar).cast()))
            .collect();
        // SAFETY: the function takes a pointer for each buffer, of the element type and extent checked above, then an f64 for each
        // scalar; each argument points to its value, and all outlive the call.
        let done = unsafe { self.engine.invoke_packed(symbol, &mut arguments) };
        done.map_err(|_| MlirError::Launch(format!("MLIR cannot launch {symbol}")))
    }
}
