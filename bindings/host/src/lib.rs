//! Other people's passes: what a tool needs to run them without being at their mercy.
//!
//! - [`exec`]: programs in any language that read a module on standard input and write one on standard output.

pub mod exec;
