//! Kernels to machine code.
//!
//! A [`Kernel`] describes one launch as plain data: a matrix product with its epilogue, a fused elementwise map, a
//! norm, attention, a loss, a look-up, an optimizer update. [`compile`] turns a set of them into a shared object
//! through LLVM (feature `llvm`); [`mod@reference`] evaluates them in plain Rust where LLVM is absent, and is what the
//! generated code is tested against. [`catalog`] builds the elementwise kernels of the operation set, [`adapter`] reads
//! kernels from IR and puts the code of all of them into a plan.
//!
//! ```
//! use piper_codegen::{catalog, kernel::Dtype, reference};
//!
//! // y = a + b over two elements.
//! let add = catalog::add(Dtype::F32, 2);
//! let (mut a, mut b, mut y) = ([1.0, 2.0], [0.5, 0.25], [0.0; 2]);
//! let mut buffers = [&mut a, &mut b, &mut y].map(|s| reference::Slice::F32(s));
//! reference::evaluate(&add, &mut buffers, &[])?;
//! assert_eq!(y, [1.5, 2.25]);
//! assert!(add.symbol().starts_with("piper_map_"));
//! # Ok::<(), reference::ReferenceError>(())
//! ```
//!
//! The flow is `Kernel -> modules -> llvm (emit, optimise, object file) -> link -> bytes`; the middle runs in a child process by
//! default, see [`child_main`], on all cores. A [`Compiler`] may keep what it made in a [`Cache`].

pub mod adapter;
#[cfg_attr(not(feature = "llvm"), allow(dead_code))]
mod attention_blocks;
#[cfg_attr(not(feature = "llvm"), allow(dead_code))]
mod blocking;
mod cache;
pub mod catalog;
mod child;
mod compile;
mod error;
pub mod kernel;
mod link;
#[cfg(feature = "llvm")]
pub mod llvm;
mod modules;
mod parameters;
pub mod ptx;
pub mod reference;
pub mod scalar;
mod split;
mod target;

pub use cache::{CACHE_VARIABLE, Cache};
pub use child::{CHILD_VARIABLE, child_main, serve_child};
pub use compile::{Compiler, Form, Isolation, Made, OptLevel, compile};
pub use error::CodegenError;
pub use kernel::Kernel;
pub use link::shared_object;
pub use split::Split;
pub use target::{Target, VectorLevel};
