//! Executes plans on NVIDIA GPUs.
//!
//! Nothing of CUDA is needed to build this: `libcuda.so.1`, `libnccl.so.2` and `libcublasLt` are loaded when a plan is, and what is missing
//! is an error that says so. A plan brings its kernels as PTX with their launches ([`piper_plan::Ptx`]); every device runs its
//! program's one list of instructions, on the streams that it names, in one arena.
//!
//! ```text
//! plan ──verify──> driver.rs nccl.rs   libraries, their versions and symbols
//!                  groups.rs           communicators that the plan needs
//!                  rendezvous.rs       which of the processes this is, and what they tell each other
//!                  device.rs           context, streams, arena, kernels of one GPU     ┐
//!                  resolve.rs          its instructions with every address filled in    │ one thread a device
//!                  products.rs         its products by cuBLASLt, if that is asked for
//!                  worker.rs graph.rs  issues them, once a step; or replays a graph     ┘
//!                  recorder.rs         when each instruction ran, for traces
//!                  session.rs          steps, outputs, what went wrong and where
//!                  remarks.rs          what is said of how the plan is run
//!                  state.rs            parameters and optimizer state between steps
//! ```
//!
//! This crate knows [`piper_plan`] and [`piper_runtime`]'s data types, and nothing of what a plan was made from.
#![deny(unsafe_op_in_unsafe_fn)]

mod contributions;
mod cublaslt;
mod device;
mod driver;
mod error;
mod graph;
mod groups;
mod inputs;
mod library;
mod memory;
mod nccl;
mod partition;
mod products;
mod recorder;
mod remarks;
mod rendezvous;
mod resolve;
mod session;
mod state;
mod target;
mod worker;

pub use cublaslt::cublaslt_version;
pub use error::{CudaError, NotFound};
pub use nccl::nccl_version;
pub use products::{Gemm, ProductCounts};
pub use rendezvous::World;
pub use session::{Options, Session};
pub use target::{DeviceInfo, devices};
