//! Piper's passes, one a file, with their analyses.

#![forbid(unsafe_code)]

pub mod pipeline_text;
pub mod registry;

pub mod accumulate;
pub mod apply;
pub mod autodiff;
pub mod batching;
pub mod build_dag;
pub mod canonicalize;
pub mod cse;
pub mod dce;
pub mod emit_plan;
pub mod expand_directives;
pub mod expand_ops;
pub mod hoist_casts;
pub mod import_tags;
pub mod inline;
pub mod inline_calls;
pub mod kernelize;
pub mod lower_to_device;
pub mod memory_plan;
pub mod nodes;
pub mod order;
mod outline;
pub mod overlap;
pub mod place;
pub mod precision;
pub mod print_memory;
pub mod recompute;
pub mod refine_mesh;
pub mod replicate;
pub mod resource;
pub mod road;
pub mod shard;
pub mod split;
pub mod split_backward;
pub mod symbol_dce;
pub mod tag;
pub mod update;
pub mod verify_dag;
pub mod verify_device;
