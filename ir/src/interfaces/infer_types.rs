//! Result types that follow from operands and attributes.
//!
//! Asked where text leaves result types out and where a builder is not given them.

use crate::{Attr, Context, Name, OpDef, Type};

/// What is known of an operation that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct InferInput<'a> {
    /// The context.
    pub ctx: &'a Context,
    /// The operation's definition.
    pub def: &'a OpDef,
    /// The types of all operands, in order of declaration.
    pub operands: &'a [Type],
    /// How many operands each declared name stands for.
    pub sizes: &'a [i64],
    /// Its attributes; what is not declared among them.
    pub attrs: &'a [(Name, Attr)],
}

impl<'a> InferInput<'a> {
    /// The types of the operands that the declared name number `group` stands for.
    pub fn group(&self, group: usize) -> &'a [Type] {
        let length = |size: &i64| usize::try_from(*size).unwrap_or(0);
        let start: usize = self.sizes.iter().take(group).map(length).sum();
        let len = self.sizes.get(group).map_or(0, length);
        self.operands.get(start..start + len).unwrap_or_default()
    }

    /// The type of the operand of this name; of the first if it stands for several.
    pub fn operand(&self, name: &str) -> Option<Type> {
        let group = self.def.operands.iter().position(|operand| operand.name == name)?;
        self.group(group).first().copied()
    }

    /// The attribute of this name, or its default.
    pub fn attr(&self, name: &str) -> Option<Attr> {
        let given = self.attrs.iter().find(|(known, _)| known.text(self.ctx) == name);
        let default = || {
            let attr = self.def.attrs.iter().find(|attr| attr.name == name)?;
            Some(attr.default.as_ref()?.attr(self.ctx))
        };
        given.map(|(_, value)| *value).or_else(default)
    }
}

/// Gives the types of all results, or says why there are none: a text that follows `'dialect.op': `.
#[derive(Clone, Copy, Debug)]
pub struct InferTypes(pub fn(&InferInput<'_>) -> Result<Vec<Type>, String>);

/// The type of the first operand: for operations whose one result has it.
///
/// # Errors
/// An operation without operands.
pub fn like_first_operand(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    match input.operands.first() {
        Some(ty) => Ok(vec![*ty]),
        None => Err("there is no operand whose type the result could have".into()),
    }
}
