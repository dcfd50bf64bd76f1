//! lit and FileCheck in process: golden tests in the format LLVM projects use, run as libtest trials.
//!
//! A test is a text file that says itself how it is run (`RUN:` lines) and what must come out (`CHECK:` lines). The
//! files also pass under the real `lit` and `FileCheck`; running them in process needs neither, starts no process per
//! test, and turns a panic of a tool into a failure of one test.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use piper_lit::{Output, Suite};
//!
//! fn shout(_args: &[String], stdin: &[u8], _cwd: &Path) -> Output {
//!     Output::success(stdin.to_ascii_uppercase())
//! }
//!
//! // The `main` of a test target with `harness = false`.
//! Suite::new("test/lit").tool("shout", shout).feature("llvm").run().exit();
//! ```
//!
//! With `PIPER_BLESS=1` in the environment, files that carry the marker line
//! `// CHECK lines below are generated: cargo xtask bless` get the block under it written anew; see [`bless`].
#![forbid(unsafe_code)]

pub mod bless;
mod features;
pub mod filecheck;
mod panics;
mod script;
mod shell;
mod suite;

pub use libtest_mimic::{Conclusion, Trial};
pub use suite::Suite;

/// What a tool or builtin leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Bytes written to standard output.
    pub stdout: Vec<u8>,
    /// Bytes written to standard error.
    pub stderr: Vec<u8>,
    /// Exit status; zero means success.
    pub code: i32,
}

impl Output {
    /// Status zero with `stdout`.
    pub fn success(stdout: impl Into<Vec<u8>>) -> Self {
        Self { stdout: stdout.into(), ..Self::default() }
    }

    /// Status `code` with `stderr`.
    pub fn failure(code: i32, stderr: impl Into<Vec<u8>>) -> Self {
        Self { stderr: stderr.into(), code, ..Self::default() }
    }
}
