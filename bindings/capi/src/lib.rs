//! Piper's C interface, and what loads plugins that are written against it.
//!
//! The header `include/piper.h` is made from this crate (`cargo xtask header`) and is its documentation for whoever writes C.
//! Three rules hold everywhere:
//!
//! * **No panic and no unwinding across the border.** Every function does its work inside `fault::caught`.
//! * **Handles are numbers with a stamp.** An operation that was erased, that is of another module, or that was seen before a
//!   pipeline ran, is noticed and answered with a status; it never reads another operation. (The core never gives the number of
//!   an erased operation to another.)
//! * **What grows is at the end.** Structures that a caller fills in begin with their size, and so does the table of functions
//!   that a plugin is given ([`PiperApi`]): a plugin built against an older header works with every later library.
//!
//! ```text
//! exported function ──► read / edit (handle.rs): is the pointer, the stamp, the number good? ──► piper_ir
//!                                 └── no: a status, and a text that piper_module_misuse() gives
//! ```
//!
//! The feature `embed` adds what programs want: compile, simulate, run. What loads plugins needs modules alone.

mod api;
mod attrs;
mod blocks;
mod create;
mod edit;
#[cfg(feature = "embed")]
mod embed;
mod fault;
mod handle;
pub mod library;
mod locs;
mod module;
mod ops;
mod pass;
mod pass_info;
pub mod plugin;
mod report;
mod text;
mod types;
mod values;
mod walk;

pub use api::PiperApi;
pub use attrs::*;
pub use blocks::*;
pub use create::*;
pub use edit::*;
#[cfg(feature = "embed")]
pub use embed::*;
pub use fault::*;
pub use handle::*;
pub use locs::*;
pub use module::*;
pub use ops::*;
pub use pass::*;
pub use pass_info::*;
pub use plugin::{
    PIPER_PLUGIN_MAGIC, PiperPlugin, PiperPluginEntry, PiperPluginFill, PiperRegistrar,
    piper_registrar_add_dialects, piper_registrar_add_pass,
};
pub use report::*;
pub use text::*;
pub use types::*;
pub use values::*;
pub use walk::*;

/// The number of this interface. Libraries and plugins of one number work together: within a number functions are only added.
pub const PIPER_ABI_VERSION: u32 = 1;

/// The version of the library, as `0.1.0`. Lives as long as the library. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn piper_version() -> PiperStr {
    PiperStr::of(env!("CARGO_PKG_VERSION"))
}

/// The number of the interface that the library has; the header's is `PIPER_ABI_VERSION`. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn piper_abi_version() -> u32 {
    PIPER_ABI_VERSION
}
