//! What a plugin of Piper is made with.
//!
//! A plugin is a library (`crate-type = ["cdylib"]`) that says with [`export!`] what it is called and what it adds:
//!
//! ```
//! use piper_plugin::Registrar;
//! use piper_plugin::ir::pass::PassInfo;
//!
//! fn register(registrar: &mut Registrar) {
//!     registrar.pass(PassInfo::from_fn("print-roots", "Says how many operations are outermost", |cx| {
//!         let (count, loc) = (cx.module.top_level().len(), cx.module.op_loc(cx.op));
//!         cx.remark(loc, format!("{count} operations"));
//!         Ok(())
//!     }));
//! }
//!
//! piper_plugin::export! { name: "roots", register: register }
//! # fn main() {}
//! ```
//!
//! `piper-opt --load-plugin=./libroots.so --print-roots` then runs it. Plugin and host share Rust types, which only the same
//! compiler lays out alike: a host refuses a plugin of another build, and says what differs ([`Build`]). docs/plugins.md
//! has the whole story, and the roads without this condition.

mod adopt;
mod connect;
mod descriptor;
mod hooks;
mod registrar;
pub mod test;

pub use adopt::{adopt_dialects, interface_ids};
pub use connect::{HostAllocator, TAKEN, TOO_LATE, connect};
pub use descriptor::{ABI, Build, Descriptor, Head, HostApi, MAGIC, SAME_BUILD, SYMBOL, Text};
pub use piper_dialects as dialects;
pub use piper_ir as ir;
pub use piper_passes as passes;
pub use piper_schedule as schedule;
#[doc(hidden)]
pub use registrar::enter;
pub use registrar::{Contribution, Registrar};

/// Makes a library a plugin: its name, and a function that adds things to a [`Registrar`]. Once a library.
///
/// It also gives the library the host's allocator, so no other may be set.
#[macro_export]
macro_rules! export {
    { name: $name:expr, register: $register:expr $(,)? } => {
        #[global_allocator]
        static PIPER_PLUGIN_ALLOCATOR: $crate::HostAllocator = $crate::HostAllocator;

        /// What Piper reads of this library before it runs any of it.
        #[unsafe(no_mangle)]
        pub static PIPER_PLUGIN: $crate::Descriptor = {
            unsafe extern "C-unwind" fn piper_plugin_register(registrar: *mut ::core::ffi::c_void) {
                // SAFETY: the host gives a registrar, after it compared the builds.
                unsafe { $crate::enter(registrar, $register) }
            }
            $crate::Descriptor::new($name, ::core::env!("CARGO_PKG_VERSION"), piper_plugin_register)
        };
    };
}
