//! Piper as a library: a [`Compiler`] reads or builds a [`Program`] (a model and its strategy), turns it into an
//! [`Executable`] (one program per device, with machine code), which is written, simulated, or run in this process as a
//! [`Training`].
//!
//! ```text
//! text ──Compiler::parse──► Program ──compile──► Executable ──train──► Training ──step──► numbers
//!        or typed builders     │ run("passes")      │ write(".pplan"), simulate(machine)
//!                              └── text()
//! ```
//!
//! There is no global state: what a compiler knows (dialects, passes) is a value, and each program has its own context.
//! Nothing is printed and no process is ended; whatever is wrong comes back as [`Message`]s with file, line and column. A panic
//! in a pass, which is a fault of the pass, is caught and comes back as a [`Failure`], too (Rust's panic hook, which prints, is
//! the program's own).
//!
//! ```
//! use piper::{Compiler, Pass};
//!
//! let mut compiler = Compiler::new();
//! compiler.register_pass(Pass::from_fn("print-gathers", "Counts all-gathers", |cx| {
//!     let module = &*cx.module;
//!     let count = module.walk(cx.op).filter(|op| module.name_text(*op) == "dag.all_gather").count();
//!     let loc = module.op_loc(cx.op);
//!     cx.remark(loc, format!("{count} all-gather(s)"));
//!     Ok(())
//! }))?;
//! let mut program = compiler.parse("empty.pir", "module { }")?;
//! let said = compiler.run(&mut program, "print-gathers")?;
//! assert_eq!(said[0].text, "0 all-gather(s)");
//! # Ok::<(), piper::Failure>(())
//! ```
//!
//! The whole interface of the core is there for those who need it: [`ir`], [`dialects`], [`passes`], [`plan`], [`codegen`],
//! [`runtime`], [`schedule`], [`sim`].

#![forbid(unsafe_code)]

mod compiler;
mod executable;
mod interpreted;
mod lowering;
mod message;
mod program;
mod training;

pub use compiler::Compiler;
pub use executable::Executable;
pub use lowering::{CompileOptions, Kernels, Native};
pub use message::{Failure, Message, MessageNote};
pub use program::Program;
pub use training::{Numbers, Training};

pub use piper_codegen as codegen;
pub use piper_dialects as dialects;
pub use piper_ir as ir;
pub use piper_passes as passes;
pub use piper_plan as plan;
pub use piper_runtime as runtime;
pub use piper_schedule as schedule;
pub use piper_sim as sim;

pub use piper_ir::Severity;
pub use piper_ir::pass::PassInfo as Pass;
pub use piper_runtime::{MemoryUse, StepReport, TensorValue};
