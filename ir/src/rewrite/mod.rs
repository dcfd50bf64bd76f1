//! Rewriting: patterns, and a driver that applies them until none fires.
//!
//! A [`Pattern`] looks at one operation and replaces it by something better, through a [`Rewriter`], which remembers what
//! each change may have made worth another look. [`simplify`] drives: it keeps a worklist, erases what is dead as it goes,
//! folds before it matches, keeps one copy of each constant at the head of the isolated operation around it, and tidies the
//! graphs of blocks. Every step costs what it touches: replacing a value its uses, erasing an operation its operands.
//!
//! Counterparts: MLIR's `RewritePattern`, `PatternRewriter`, `applyPatternsGreedily`, `OperationFolder`, `simplifyRegions`.

mod constants;
mod driver;
mod pattern;
mod regions;
mod rewriter;
mod worklist;

pub use driver::{Limits, Outcome, RegionSimplification, SimplifyOptions, Stuck, simplify};
pub use pattern::{FrozenPatterns, Pattern, PatternSet};
pub use regions::{erase_dead_in_region, erase_unreachable_blocks};
pub use rewriter::Rewriter;

#[cfg(test)]
mod tests;
