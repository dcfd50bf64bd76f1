//! How a gradient goes back through an operation.
//!
//! The backward rule of an operation is part of its definition: reverse-mode differentiation asks for it and names no
//! operation. A rule gets the cotangent of the operation's first result and gives each operand that wants one its own,
//! through [`Backward`], which is what the pass is to a rule.

use crate::{Context, Module, Op, Value};

/// What a backward rule works with: the module, and where its operations and cotangents go.
pub trait Backward {
    /// The module.
    fn module(&self) -> &Module;

    /// The module, for what [`emit`](Self::emit) cannot say.
    fn module_mut(&mut self) -> &mut Module;

    /// Whether a value's cotangent is needed.
    fn wants(&self, value: Value) -> bool;

    /// Adds an operation of the backward program. Its results have the types of the values in `like`; of the forward
    /// operation `of` it takes the attributes in `keep`.
    fn emit(&mut self, name: &str, operands: &[Value], like: &[Value], of: Op, keep: &[&str])
    -> Op;

    /// Contributes to the cotangent of an operand of the forward operation whose rule runs.
    fn give(&mut self, value: Value, cotangent: Value);
}

/// As [`Backward::emit`], for an operation with one result, which is returned.
pub fn emit_value(
    backward: &mut dyn Backward,
    name: &str,
    operands: &[Value],
    like: Value,
    of: Op,
    keep: &[&str],
) -> Value {
    let op = backward.emit(name, operands, &[like], of, keep);
    backward.module().result(op, 0)
}

/// Emits the backward of a forward operation, given the cotangent of its first result.
pub type BackwardRule = fn(&mut dyn Backward, Op, Value);

/// The interface: what differentiation does at an operation. One without it is not differentiable.
#[derive(Clone, Copy, Debug)]
pub enum Differentiable {
    /// The gradient goes on by this rule.
    Rule(BackwardRule),
    /// The gradient ends here: results count as constants.
    Stops,
}

/// The interface of an operation whose result is trained: it stands for a tensor with a name, the same tensor wherever the
/// name occurs.
#[derive(Clone, Copy, Debug)]
pub struct Trainable {
    /// The tensor's name.
    pub name: for<'m> fn(&'m Module, Op) -> &'m str,
}

/// How differentiation treats an operation, if it knows.
pub fn differentiable(module: &Module, op: Op) -> Option<Differentiable> {
    module.def(op)?.interface::<Differentiable>().copied()
}

/// The name of the tensor that an operation stands for, if it is trained.
pub fn trained_name(module: &Module, op: Op) -> Option<&str> {
    let trainable = module.def(op)?.interface::<Trainable>()?;
    Some((trainable.name)(module, op))
}

/// The names of the registered operations with a backward rule, in the order of registration: for messages.
pub fn differentiable_names(ctx: &Context) -> Vec<&str> {
    let defs = ctx.dialects().iter().flat_map(|dialect| &dialect.ops);
    let with_rule = defs.filter(|def| matches!(def.interface(), Some(Differentiable::Rule(_))));
    with_rule.map(|def| &*def.name).collect()
}
