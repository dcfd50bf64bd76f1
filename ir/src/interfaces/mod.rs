//! What passes ask of operations instead of naming them.
//!
//! An interface is a type; an operation that has it carries a value of the type in its definition
//! ([`OpDef::with_interface`](crate::OpDef::with_interface)), and a pass asks for it by type. So a dialect that nobody here
//! knows is folded, differentiated, split and fused like ours.

// To be switched on together with `pub mod rewrite` in lib.rs (they need each other):
// mod branch;
// mod call;
// mod effects;
// mod fold;
pub mod cost;
pub mod differentiable;
pub mod shardable;

// pub use branch::{Branch, replace_segment};
// pub use call::{Call, Callable, ReturnLike};
// pub use effects::{Effect, EffectKind, EffectTarget, MemoryEffects, effects, is_effect_free, is_trivially_dead, only_reads};
// pub use fold::{Canonicalize, ConstantValue, Fold, FoldInput, Folded, FoldedValue, Materialize, constant_of, fold};
// pub(crate) use fold::fold_with;
pub use cost::{Cost, CostModel};
pub use differentiable::{Backward, Differentiable, Trainable};
pub use shardable::{Along, FactorRule, Shardable};
