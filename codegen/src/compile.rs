//! The road from kernel descriptions to the bytes of a shared object.

use crate::error::CodegenError;
use crate::kernel::Kernel;
use crate::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much the code is optimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OptLevel {
    /// Not at all; for finding faults.
    None,
    /// `O3`.
    #[default]
    Full,
}

/// Where LLVM runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// In a child process, so that an abort inside LLVM is an error here. The program must call
    /// [`crate::child_main`] first in `main`.
    #[default]
    Child,
    /// In this process. An abort inside LLVM ends it.
    InProcess,
}

/// What code is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Form {
    /// The optimised LLVM IR, as text.
    LlvmIr,
    /// Assembly, as text.
    Assembly,
    /// A relocatable object file.
    #[default]
    Object,
    /// PTX, as text, for the target of a [`crate::ptx::Chip`]. [`crate::ptx::PtxKernel`] says how it is launched.
    Ptx,
}

/// One code-generation job, as sent to the child and kept as a reproducer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) kernels: Vec<(String, Kernel)>,
    pub(crate) target: Target,
    pub(crate) opt: OptLevel,
    #[serde(default)]
    pub(crate) form: Form,
}

impl Request {
    pub(crate) fn code(&self) -> Result<Vec<u8>, CodegenError> {
        #[cfg(feature = "llvm")]
        {
            use crate::llvm::{assembly_text, ir_text, object_code};
            let Self { kernels, target, opt, form } = self;
            match form {
                Form::LlvmIr => ir_text(kernels, target, *opt).map(String::into_bytes),
                Form::Assembly => assembly_text(kernels, target, *opt).map(String::into_bytes),
                Form::Ptx => crate::ptx::ptx_text(kernels, target).map(String::into_bytes),
                Form::Object => object_code(kernels, target, *opt),
            }
        }
        #[cfg(not(feature = "llvm"))]
        Err(CodegenError::WithoutLlvm)
    }
}

/// Compiles `kernels` to a shared object and returns its bytes. Each symbol is emitted once, in symbol order, so the
/// result depends on the set of kernels only.
///
/// # Errors
/// An invalid kernel, a symbol that is malformed or names two different kernels, a failure of LLVM (with a reproducer
/// file if its process died), or a missing or failing linker. Without the `llvm` feature always
/// [`CodegenError::WithoutLlvm`], after the kernels have been checked.
pub fn compile(
    kernels: &[(String, Kernel)],
    target: &Target,
    opt: OptLevel,
    isolation: Isolation,
) -> Result<Vec<u8>, CodegenError> {
    crate::link::shared_object(&emit(kernels, target, opt, isolation, Form::Object)?)
}

/// The code of `kernels` in the form that is asked for. Each symbol is emitted once, in symbol order.
///
/// # Errors
/// As [`compile`], but for the linker.
pub fn emit(
    kernels: &[(String, Kernel)],
    target: &Target,
    opt: OptLevel,
    isolation: Isolation,
    form: Form,
) -> Result<Vec<u8>, CodegenError> {
    let request = Request { kernels: merged(kernels)?, target: target.clone(), opt, form };
    if !cfg!(feature = "llvm") {
        return Err(CodegenError::WithoutLlvm);
    }
    match isolation {
        Isolation::Child => crate::child::code(&request),
        Isolation::InProcess => request.code(),
    }
}

/// Checks all kernels and keeps one of each symbol.
fn merged(kernels: &[(String, Kernel)]) -> Result<Vec<(String, Kernel)>, CodegenError> {
    let mut unique: BTreeMap<&str, &Kernel> = BTreeMap::new();
    for (symbol, kernel) in kernels {
        let legal = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
        if symbol.is_empty()
            || symbol.starts_with(|c: char| c.is_ascii_digit())
            || !symbol.chars().all(legal)
        {
            return Err(CodegenError::BadSymbol { symbol: symbol.clone() });
        }
        kernel
            .validate()
            .map_err(|reason| CodegenError::InvalidKernel { symbol: symbol.clone(), reason })?;
        if unique.insert(symbol, kernel).is_some_and(|earlier| earlier != kernel) {
            return Err(CodegenError::SymbolClash { symbol: symbol.clone() });
        }
    }
    Ok(unique.into_iter().map(|(symbol, kernel)| (symbol.to_owned(), kernel.clone())).collect())
}
