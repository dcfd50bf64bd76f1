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

/// One code-generation job, as sent to the child and kept as a reproducer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) kernels: Vec<(String, Kernel)>,
    pub(crate) target: Target,
    pub(crate) opt: OptLevel,
}

impl Request {
    pub(crate) fn object_code(&self) -> Result<Vec<u8>, CodegenError> {
        #[cfg(feature = "llvm")]
        return crate::llvm::object_code(&self.kernels, &self.target, self.opt);
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
    let request = Request { kernels: merged(kernels)?, target: target.clone(), opt };
    if !cfg!(feature = "llvm") {
        return Err(CodegenError::WithoutLlvm);
    }
    let object = match isolation {
        Isolation::Child => crate::child::object_code(&request)?,
        Isolation::InProcess => request.object_code()?,
    };
    crate::link::shared_object(&object)
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
