//! Executes plans on threads: every virtual device is a persistent worker, with NCCL's semantics between them.
//!
//! Transfers pair by position, meet as rendezvous, and are started by each device in its launch order with all streams
//! serialised; so what would hang on a cluster hangs here, is detected, and is reported with its source line. This crate
//! knows [`piper_plan`] and nothing of what a plan was made from.
//!
//! ```text
//! Plan --load--> verify --> arenas, meetings, flat instruction arrays --step--> worker threads --> StepReport
//!        arena.rs   resolve.rs  meeting.rs                  worker.rs     session.rs
//! ```
//!
//! With several threads a device, kernels that may be divided run in parts (`pool.rs`), with the same results to the bit.
//!
//! Everything that can be looked up is looked up at load: an instruction at run time is a `match`, a few pointers and, for
//! communication, two atomic additions.
#![deny(unsafe_op_in_unsafe_fn)]

mod arena;
mod library;
pub mod manifest;
mod meeting;
mod pool;
mod reduce;
pub mod report;
mod resolve;
mod session;
mod stop;
mod tensor;
pub mod trace;
mod worker;

pub use library::{
    Arg, Closure, Closures, Kernel, KernelLibrary, LibraryError, NativeFn, NativeLibrary,
    NativePartFn, NativeParts, Slice, SliceMut,
};
pub use pool::MOST_THREADS;
pub use report::{DeviceStats, LoadError, MemoryUse, OutputValue, StepError, StepReport};
pub use session::{DataSource, Options, Session};
pub use stop::StopFlag;
pub use tensor::{ReadBackError, TensorValue, write_element};
