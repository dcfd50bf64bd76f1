//! Kernels in LLVM modules of their own, so that code is generated on several threads.
//!
//! Which kernels share a module follows from the kernels alone, never from the number of threads: the same kernels give the same
//! bytes everywhere. Functions that kernels share (packing, register tiles) are emitted once a module, so products stay
//! together, and so does attention, as far as that leaves work to share out.

use crate::compile::{Form, Isolation, OptLevel};
use crate::error::CodegenError;
use crate::kernel::{Body, Dtype, Kernel};
use crate::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One code-generation job, as sent to the child and kept as a reproducer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Module {
    pub(crate) kernels: Vec<(String, Kernel)>,
    pub(crate) target: Target,
    pub(crate) opt: OptLevel,
    #[serde(default)]
    pub(crate) form: Form,
}

impl Module {
    fn code(&self) -> Result<Vec<u8>, CodegenError> {
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

/// What kernels have functions in common, and how many share a module. Generating the common functions of products takes as long
/// as ten products do, and attention twice that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Products,
    Attention,
    Others,
}

impl Family {
    fn of(kernel: &Kernel) -> Self {
        match kernel.body {
            Body::Gemm(_) => Self::Products,
            Body::Attention { .. } | Body::AttentionDx(_) => Self::Attention,
            _ => Self::Others,
        }
    }

    fn most(self) -> usize {
        match self {
            Self::Products => 16,
            Self::Attention => 4,
            Self::Others => 32,
        }
    }
}

/// The kernels of each module, in an order that follows from theirs.
pub(crate) fn split(kernels: Vec<(String, Kernel)>) -> Vec<Vec<(String, Kernel)>> {
    let mut alike: BTreeMap<(Family, &str), Vec<(String, Kernel)>> = BTreeMap::new();
    for (symbol, kernel) in kernels {
        let family = Family::of(&kernel);
        // What is computed in one type shares functions.
        let computed = if kernel.dtype.computed() == Dtype::F64 { "f64" } else { "f32" };
        alike.entry((family, computed)).or_default().push((symbol, kernel));
    }
    let parts = alike.iter().flat_map(|((family, _), kernels)| {
        let modules = kernels.len().div_ceil(family.most());
        kernels.chunks(kernels.len().div_ceil(modules)).map(<[_]>::to_vec)
    });
    parts.collect()
}

/// The code of each module.
pub(crate) fn generated(
    modules: &[Module],
    isolation: &Isolation,
    threads: usize,
) -> Result<Vec<Vec<u8>>, CodegenError> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores() } else { threads };
    match isolation {
        Isolation::Child => crate::child::generated(modules, threads, &[]),
        Isolation::Program { command } => crate::child::generated(modules, threads, command),
        Isolation::InProcess => code(modules, threads),
    }
}

/// The code of each module, generated in this process on up to `threads` threads: each has its own context of LLVM, which share
/// nothing.
///
/// # Errors
/// That of the first module that fails, by position.
pub(crate) fn code(modules: &[Module], threads: usize) -> Result<Vec<Vec<u8>>, CodegenError> {
    let next = AtomicUsize::new(0);
    let done: Vec<_> = modules.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(module) = modules.get(at) else { return };
            *done[at].lock().expect("nobody panics with it held") = Some(module.code());
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(modules.len()) {
            scope.spawn(work);
        }
        work();
    });
    let taken = done.into_iter().map(|slot| slot.into_inner().expect("as above"));
    taken.map(|code| code.expect("every module was taken")).collect()
}
