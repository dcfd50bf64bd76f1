//! `piper-run`: trains a model from `.pir` text or a compiled plan, and compares a strategy with one device.
//!
//! ```text
//! text --compile--> graph --DagEngine--> steps          (interpreter of the graph, --level=dag)
//!                     |
//!                     +--lower--> Plan --PlanEngine--> steps   (device programs on threads; kernels native or interpreted)
//!                     |             +--CudaEngine--> steps   (device programs on NVIDIA GPUs; kernels in PTX)
//! ```
//!
//! The tool is a library, so that tests compare strategies without starting processes.

#![forbid(unsafe_code)]

pub mod args;
pub mod beside;
pub mod catalogue;
pub mod cli;
pub mod compare;
pub mod compile;
pub mod cuda;
pub mod data;
pub mod demo;
pub mod engine;
pub mod files;
pub mod gpu_check;
pub mod lower;
pub mod models;
pub mod progress;
pub mod run;
mod say;
pub mod schedule;
pub mod single;
pub mod source;
pub mod train;

pub use piper::Failure;
