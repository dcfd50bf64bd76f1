//! Data parallelism: the batch divided over a mesh axis.

pub mod retype;
