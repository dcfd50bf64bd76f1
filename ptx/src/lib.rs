//! PTX on a CPU: a parser of the text that LLVM's NVPTX back end writes, and a machine that runs it and checks what it
//! does.
//!
//! Threads run in warps of 32 lanes, in lockstep while they agree and apart while they do not. Memory knows its bounds
//! and who touched it: an access outside of an allocation, a read of what nobody wrote, two threads that race, a barrier
//! that some threads miss, or a copy that is used before it was waited for is a [`Fault`] with the line of PTX, the
//! block and the thread. Results are those of the instructions; approximate ones (`ex2.approx` and so on) are rounded
//! from a double, so they are at least as near as the hardware's.
//!
//! ```
//! use piper_ptx::{Arg, Machine, Module};
//!
//! let text = "
//! .version 7.0
//! .target sm_80
//! .address_size 64
//! .visible .entry twice(.param .u64 x) {
//!   .reg .b32 %r<3>;
//!   .reg .b64 %rd<4>;
//!   ld.param.b64 %rd1, [x];
//!   mov.u32 %r1, %tid.x;
//!   mul.wide.u32 %rd2, %r1, 4;
//!   add.s64 %rd3, %rd1, %rd2;
//!   ld.global.b32 %r2, [%rd3];
//!   add.rn.f32 %r2, %r2, %r2;
//!   st.global.b32 [%rd3], %r2;
//!   ret;
//! }";
//! let kernel = Module::parse(text)?.kernel("twice")?;
//! let mut machine = Machine::new();
//! let x = machine.alloc_f32(&[1.0, 2.0, 3.0]);
//! machine.launch(&kernel, 1, 3, 0, &[Arg::Ptr(x)])?;
//! assert_eq!(machine.read_f32(x, 3)?, [2.0, 4.0, 6.0]);
//!
//! // A fourth thread is one too many.
//! let fault = machine.launch(&kernel, 1, 4, 0, &[Arg::Ptr(x)]).unwrap_err();
//! assert_eq!(fault.kind, piper_ptx::FaultKind::OutOfBounds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod ast;
mod code;
mod error;
mod fault;
mod float;
mod kernel;
mod lex;
mod load;
mod machine;
mod parse;
mod special;
mod stats;

pub use ast::{Space, Type, Variable};
pub use error::{Place, SourceError};
pub use fault::{Fault, FaultKind};
pub use kernel::{Kernel, Module};
pub use machine::{Arg, Checks, DevicePtr, Dim, Machine};
pub use stats::Stats;
