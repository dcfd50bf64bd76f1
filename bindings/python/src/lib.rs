//! The extension module `piper._piper`: what of Piper needs Rust, as Python objects. The package around it, `piper`, is Python: the
//! functions of `piper.nn`, tracing, decorators.
//!
//! Objects of Python hold a `Held` program and a position in it. They are checked when they are used: a pass that
//! ran since makes them stale, which is an exception and never a wrong answer. No lock is waited for: whoever runs passes has
//! taken the program out, and others are told so. So Python may run passes in one thread and ask questions in another, and
//! passes written in Python may be called while the interpreter's lock is given up.

#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "extension"), allow(unused))]

#[cfg(feature = "extension")]
mod attribute;
#[cfg(feature = "extension")]
mod compiler;
#[cfg(feature = "extension")]
mod declarations;
#[cfg(feature = "extension")]
mod diagnostic;
#[cfg(feature = "extension")]
mod executable;
#[cfg(feature = "extension")]
mod held;
#[cfg(feature = "extension")]
mod module;
#[cfg(feature = "extension")]
mod operation;
#[cfg(feature = "extension")]
mod pass;
#[cfg(feature = "extension")]
mod training;

/// The compiled half of the package `piper`.
#[cfg(feature = "extension")]
#[pyo3::pymodule]
mod _piper {
    #[pymodule_export]
    use crate::attribute::PyAttribute;
    #[pymodule_export]
    use crate::compiler::PyCompiler;
    #[pymodule_export]
    use crate::declarations::{attribute_text, infer_types, operations, schedules};
    #[pymodule_export]
    use crate::diagnostic::{PyDiagnostic, PyNote};
    #[pymodule_export]
    use crate::executable::{PyExecutable, PySimulation, codegen_child, has_llvm, load};
    #[pymodule_export]
    use crate::module::PyModule;
    #[pymodule_export]
    use crate::operation::{PyBlock, PyOperation, PyValue};
    #[pymodule_export]
    use crate::pass::PyPassContext;
    #[pymodule_export]
    use crate::training::PyTraining;
}
