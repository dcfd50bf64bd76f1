//! The road from kernel descriptions to the bytes of a shared object.

use crate::cache::{Cache, Key};
use crate::error::CodegenError;
use crate::kernel::Kernel;
use crate::modules::{Module, generated, split};
use crate::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How much the code is optimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OptLevel {
    /// Not at all; for finding faults.
    None,
    /// As far as it pays: for processors the passes of `O1`, for PTX those of `O3`; then the back end at its best.
    #[default]
    Full,
}

/// Where LLVM runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// In a child process, so that an abort inside LLVM is an error here. The program must call
    /// [`crate::child_main`] first in `main`.
    #[default]
    Child,
    /// In a child process of another program, for where the running one is an interpreter or belongs to somebody else.
    Program {
        /// The program and its arguments. It must do what [`crate::serve_child`] does.
        command: Vec<String>,
    },
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

/// Makes code: where, on how many threads, and where it is kept for the next time. Neither changes the code.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    /// Where LLVM runs.
    pub isolation: Isolation,
    /// Where code of earlier runs is looked for, and kept.
    pub cache: Cache,
    /// Threads that generate code; 0 for one a core.
    pub threads: usize,
}

/// Code, and how it was come by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The code.
    pub bytes: Vec<u8>,
    /// It had been made before.
    pub is_from_cache: bool,
    /// How long it took to make or to find.
    pub took: Duration,
}

/// Without a cache.
impl From<Isolation> for Compiler {
    fn from(isolation: Isolation) -> Self {
        Self { isolation, ..Self::default() }
    }
}

impl Compiler {
    /// Compiles `kernels` to a shared object. Each symbol is emitted once, in symbol order, so the result depends on the set of
    /// kernels only.
    ///
    /// # Errors
    /// An invalid kernel, a symbol that is malformed or names two different kernels, a failure of LLVM (with a reproducer file
    /// if its process died), or a missing or failing linker. Without the `llvm` feature always [`CodegenError::WithoutLlvm`],
    /// after the kernels have been checked.
    pub fn shared_object(
        &self,
        kernels: &[(String, Kernel)],
        target: &Target,
        opt: OptLevel,
    ) -> Result<Made, CodegenError> {
        let kernels = merged(kernels)?;
        self.made("shared object", &(&kernels, target, opt), || {
            let modules: Vec<Module> = split(kernels.clone())
                .into_iter()
                .map(|kernels| Module { kernels, target: target.clone(), opt, form: Form::Object })
                .collect();
            crate::link::shared_object(&generated(&modules, &self.isolation, self.threads)?)
        })
    }

    /// The code of `kernels` in the form that is asked for, as one module. Each symbol is emitted once, in symbol order.
    ///
    /// # Errors
    /// As [`Compiler::shared_object`], but for the linker.
    pub fn emit(
        &self,
        kernels: &[(String, Kernel)],
        target: &Target,
        opt: OptLevel,
        form: Form,
    ) -> Result<Made, CodegenError> {
        let module = Module { kernels: merged(kernels)?, target: target.clone(), opt, form };
        self.made("module", &module, || {
            let mut code = generated(std::slice::from_ref(&module), &self.isolation, 1)?;
            Ok(code.pop().expect("one module, one answer"))
        })
    }

    fn made(
        &self,
        what: &str,
        request: &impl Serialize,
        make: impl FnOnce() -> Result<Vec<u8>, CodegenError>,
    ) -> Result<Made, CodegenError> {
        if !cfg!(feature = "llvm") {
            return Err(CodegenError::WithoutLlvm);
        }
        let start = Instant::now();
        let key = Key::of(what, request);
        let kept = self.cache.get(key);
        let is_from_cache = kept.is_some();
        let bytes = match kept {
            Some(bytes) => bytes,
            None => {
                let bytes = make()?;
                self.cache.put(key, &bytes);
                bytes
            }
        };
        Ok(Made { bytes, is_from_cache, took: start.elapsed() })
    }
}

/// [`Compiler::shared_object`] without a cache: its bytes.
///
/// # Errors
/// As there.
pub fn compile(
    kernels: &[(String, Kernel)],
    target: &Target,
    opt: OptLevel,
    isolation: Isolation,
) -> Result<Vec<u8>, CodegenError> {
    Ok(Compiler::from(isolation).shared_object(kernels, target, opt)?.bytes)
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
