//! Piper's passes, one a file, with their analyses.

#![forbid(unsafe_code)]

pub mod pipeline_text;
pub mod registry;

pub mod replicate;
pub mod accumulate;
pub mod batching;
pub mod build_dag;
pub mod nodes;
pub mod order;
pub mod place;
pub mod split;
pub mod split_backward;
