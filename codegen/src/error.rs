//! What can go wrong between a kernel description and a shared object.

use std::path::PathBuf;

/// Failure of code generation.
#[derive(Debug, thiserror::Error)]
pub enum CodegenError {
    /// A kernel description is not meaningful.
    #[error("kernel `{symbol}` is invalid: {reason}")]
    InvalidKernel {
        /// Its symbol.
        symbol: String,
        /// What is wrong.
        reason: String,
    },
    /// Something that is launched is no kernel this code generator knows.
    #[error("'@{symbol}' cannot become code: {reason}")]
    Unsupported {
        /// Its symbol.
        symbol: String,
        /// Why not, and what to do about it.
        reason: String,
    },
    /// Two different kernels carry one symbol.
    #[error("symbol `{symbol}` names two different kernels; name kernels with `Kernel::symbol`")]
    SymbolClash {
        /// The symbol.
        symbol: String,
    },
    /// A symbol cannot be used as a linker name.
    #[error(
        "symbol `{symbol}` may hold only letters, digits, `_`, `.` and `$`, and not start with a digit"
    )]
    BadSymbol {
        /// The symbol.
        symbol: String,
    },
    /// LLVM refused the target.
    #[error("target `{target}` cannot be compiled for: {reason}")]
    Target {
        /// Triple and CPU.
        target: String,
        /// LLVM's reason.
        reason: String,
    },
    /// LLVM reported an error.
    #[error("LLVM failed while {step}: {reason}")]
    Llvm {
        /// What it was doing.
        step: &'static str,
        /// Its message.
        reason: String,
    },
    /// The code-generating child process died or answered nonsense.
    #[error("the code generator stopped ({status}): {stderr}{}", reproducer_note(.reproducer))]
    Child {
        /// Exit status or signal.
        status: String,
        /// What it said last.
        stderr: String,
        /// The request, replayable with the same hook, if it could be written.
        reproducer: Option<PathBuf>,
    },
    /// No linker on the path.
    #[error("no linker found: looked for {looked_for} on PATH; install gcc, clang or lld")]
    NoLinker {
        /// The programs tried.
        looked_for: String,
    },
    /// The linker failed.
    #[error("`{linker}` failed ({status}): {stderr}")]
    Linker {
        /// The program.
        linker: String,
        /// Exit status.
        status: String,
        /// Its messages.
        stderr: String,
    },
    /// Temporary files or processes could not be used.
    #[error("{action}: {source}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Built without the `llvm` feature.
    #[error(
        "this build has no code generator: install LLVM 22 (`cargo xtask demo` does it on Debian) and rebuild with `--features llvm`, or run the plan by an interpreter (`--level=kernel`)"
    )]
    WithoutLlvm,
}

fn reproducer_note(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(String::new, |p| format!("\nreproducer: {}", p.display()))
}
