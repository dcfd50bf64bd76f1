//! Other people's passes and dialects: what a tool needs to run them without being at their mercy.
//!
//! - [`Extensions`]: libraries against the full interface (`piper-plugin`), of the same build as the tool;
//! - [`exec`]: programs in any language that read a module on standard input and write one on standard output.

pub mod exec;
mod library;
mod memory;

pub use library::{Extensions, LoadError, Loaded};
pub use piper_plugin::Descriptor;
