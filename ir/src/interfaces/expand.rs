//! What an operation is in terms of others.
//!
//! Whoever computes (the interpreter, code generation) knows a fixed set of operations. One that it does not know needs
//! nothing but this interface to be trained: it is replaced by operations that are known, before or after differentiation.
//! Counterpart in MLIR: a lowering pattern that every dialect brings to a conversion pass.

use crate::{Builder, Op, Value};

/// Emits operations where the builder stands, just before the operation, and gives one value for each of its results. What
/// it emits may be expanded in turn.
///
/// # Errors
/// Why this one cannot be expanded: a text that follows `'dialect.op': `.
pub type ExpandRule = fn(&mut Builder<'_>, Op) -> Result<Vec<Value>, String>;

/// The interface: how an operation is replaced. Locations and attributes that are not declared (tags among them) are the
/// pass's business: what is emitted gets those of the operation.
#[derive(Clone, Copy, Debug)]
pub struct Expand(pub ExpandRule);
