//! What passes ask of operations instead of naming them.
//!
//! An interface is a type; an operation that has it carries a value of the type in its definition
//! ([`OpDef::with_interface`](crate::OpDef::with_interface)), and a pass asks for it by type. So a dialect that nobody here
//! knows is folded, differentiated, split and fused like ours. An operation that gives no answer is taken at its worst: it
//! may do anything, and is left alone.
//!
//! Counterparts in MLIR: `MemoryEffectOpInterface`, `fold`, `BranchOpInterface`, `CallOpInterface`, `CallableOpInterface`.

mod branch;
mod call;
pub mod cost;
pub mod differentiable;
mod effects;
mod expand;
mod fold;
pub mod infer_types;
pub mod shardable;

pub use branch::{Branch, replace_segment};
pub use call::{Call, Callable, MakeBranch, ReturnLike};
pub use cost::{Cost, CostModel};
pub use differentiable::{Backward, Differentiable, Trainable};
pub(crate) use effects::would_be_dead;
pub use effects::{
    Effect, EffectKind, EffectTarget, MemoryEffects, effects, is_effect_free, is_trivially_dead,
    only_reads,
};
pub use expand::{Expand, ExpandRule};
pub(crate) use fold::fold_with;
pub use fold::{
    Canonicalize, ConstantValue, Fold, FoldInput, Folded, FoldedValue, Materialize, constant_of,
    fold,
};
pub use infer_types::{InferInput, InferTypes};
pub use shardable::{Along, FactorRule, Shardable};
