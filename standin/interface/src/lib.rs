//! What passes between the stand-ins: the stand-in driver as `libnccl.so.2` and `libcublasLt.so.12` call it, and the versions that
//! each may be told to have.
//!
//! The libraries find the driver as programs do, by name, so they share nothing with it but [the types of a few C functions](abi).
#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod abi;
pub mod driver;
mod version;

pub use version::version;
