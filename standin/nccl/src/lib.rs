//! A stand-in for `libnccl.so.2`: collectives between the devices of the stand-in `libcuda.so.1`, in one process or in
//! several of one machine.
//!
//! What NCCL promises is kept, and what it does not promise is not given: an operation takes its place in a stream and
//! blocks its device until all others have come; operations of a communicator meet in order, without names; a send waits
//! for its receive. What would hang with NCCL hangs here, until a time-out says who waited for whom.
//!
//! ```text
//! calls of the program        collective.rs communicator.rs group.rs
//!   └─ launch ──> a stream of the stand-in driver (standin/interface) ──> operation.rs: what one rank does
//!                                                                   └─ inbox.rs ── network.rs: messages by pair of ranks
//! ```
#![allow(unsafe_code, non_snake_case)]
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod bootstrap;
mod collective;
mod communicator;
mod config;
mod element;
mod failure;
mod group;
mod inbox;
mod network;
mod operation;
mod settings;
mod split;
