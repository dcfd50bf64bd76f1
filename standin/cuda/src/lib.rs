//! A stand-in for `libcuda.so.1`: the CUDA driver's interface on a machine without a GPU.
//!
//! Programs load it as they load the driver. Kernels come as PTX text and are run by [`piper_ptx`], with its checks;
//! streams, events and graphs are ordered queues that one thread a device works off. What a GPU may do in any order is
//! done in an order that a seed chooses, so a missing wait shows. `docs/standin.md` says what is supported.
//!
//! ```text
//! calls of the program            memory.rs module.rs launch.rs stream.rs event.rs graph.rs green.rs …
//!   └─ work, with what it waits for ──> queue.rs ──> executor.rs: one thread a device ──> device.rs: memory, kernels
//! ```
//!
//! Handles are numbers that are looked up, never pointers that are followed, so a stale one is an error and no crash.
#![allow(unsafe_code, non_snake_case)]
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod call;
mod capture;
mod chip;
mod context;
mod device;
mod error;
mod event;
mod executor;
mod function;
mod graph;
mod green;
mod handles;
mod history;
mod host_memory;
mod launch;
mod memory;
mod module;
mod private;
mod proc_address;
mod queue;
mod settings;
mod stream;
mod unsupported;
