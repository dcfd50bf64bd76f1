//! Folding: what an operation is worth when some of its operands are known.
//!
//! A fold creates nothing. It looks at the operation and at the constants among its operands, and says: the results are
//! these attributes or these existing values ([`Folded::Results`]), or the operation means the same with other operands or
//! attributes ([`Folded::InPlace`]), or nothing is to be gained. Turning an attribute back into an operation is the dialect's
//! business ([`Materialize`]), so that folding works in passes that know neither.

use crate::rewrite::PatternSet;
use crate::{Attr, Context, Loc, Module, Op, OpState, Trait, Type, Value};

/// What a fold sees.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FoldInput<'m> {
    pub module: &'m Module,
    pub op: Op,
    /// For each operand its value, if it is a constant.
    pub constants: &'m [Option<Attr>],
}

impl<'m> FoldInput<'m> {
    /// The context.
    pub fn ctx(&self) -> &'m Context {
        self.module.ctx()
    }

    /// One operand.
    pub fn operand(&self, index: usize) -> Value {
        self.module.operand(self.op, index)
    }

    /// The constant value of one operand.
    pub fn constant(&self, index: usize) -> Option<Attr> {
        self.constants.get(index).copied().flatten()
    }

    /// The type of the first result.
    pub fn result_type(&self) -> Type {
        self.module.ty(self.module.result(self.op, 0))
    }

    /// The operation that defines an operand, if it has this name.
    pub fn operand_def(&self, index: usize, name: &str) -> Option<Op> {
        let op = self.module.defining_op(self.operand(index))?;
        (self.module.name_text(op) == name).then_some(op)
    }
}

/// A known result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum FoldedValue {
    Constant(Attr),
    Value(Value),
}

/// The outcome of a fold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Folded {
    /// Nothing to be gained.
    No,
    /// The result of an operation with one result.
    Result(FoldedValue),
    /// All results, in order.
    Results(Vec<FoldedValue>),
    /// The operation itself with other operands (`None`: the same) and other declared attributes, by slot.
    InPlace {
        /// The new operand list.
        operands: Option<Vec<Value>>,
        /// Slots to set.
        slots: Vec<(usize, Option<Attr>)>,
    },
}

impl From<Attr> for Folded {
    fn from(attr: Attr) -> Self {
        Folded::Result(FoldedValue::Constant(attr))
    }
}

impl From<Value> for Folded {
    fn from(value: Value) -> Self {
        Folded::Result(FoldedValue::Value(value))
    }
}

impl<T: Into<Folded>> From<Option<T>> for Folded {
    fn from(value: Option<T>) -> Self {
        value.map_or(Folded::No, Into::into)
    }
}

/// An operation's answer: how it folds. A result may not be one of its own results.
#[derive(Clone, Copy, Debug)]
pub struct Fold(pub fn(&FoldInput<'_>) -> Folded);

/// A dialect's way to make a constant of this value and type; `None` if it has none. Operations so made are
/// [`Trait::ConstantLike`], and all constants of such a dialect may be merged when value and type agree.
pub type Materialize = fn(&Context, Attr, Type, Loc) -> Option<OpState>;

/// How a [`Trait::ConstantLike`] operation gives its value, unless its attribute `value` is it.
#[derive(Clone, Copy, Debug)]
pub struct ConstantValue(pub fn(&Module, Op) -> Option<Attr>);

/// An operation's patterns for `canonicalize`.
#[derive(Clone, Copy, Debug)]
pub struct Canonicalize(pub fn(&mut PatternSet));

/// The value of a constant; `None` for anything else.
pub fn constant_of(module: &Module, value: Value) -> Option<Attr> {
    let op = module.defining_op(value)?;
    let def = module.def(op)?;
    if !def.has(Trait::ConstantLike) {
        return None;
    }
    match def.interface::<ConstantValue>() {
        Some(ConstantValue(value)) => value(module, op),
        None => module.attr_by(op, "value"),
    }
}

/// How an operation folds, with what its traits say: the constant operands of a commutative one go last, in their order.
pub fn fold(module: &Module, op: Op) -> Folded {
    let Some(def) = module.def(op) else { return Folded::No };
    let constants: Vec<Option<Attr>> =
        module.operands(op).map(|value| constant_of(module, value)).collect();
    let input = FoldInput { module, op, constants: &constants };
    fold_with(&input, def.interface::<Fold>(), def.has(Trait::Commutative))
}

/// [`fold`] with the definition's answers at hand.
pub(crate) fn fold_with(input: &FoldInput<'_>, fold: Option<&Fold>, commutative: bool) -> Folded {
    let folded = fold.map_or(Folded::No, |Fold(fold)| fold(input));
    if folded != Folded::No || !commutative {
        return folded;
    }
    let out_of_order =
        input.constants.windows(2).any(|pair| pair[0].is_some() && pair[1].is_none());
    if !out_of_order {
        return Folded::No;
    }
    let of = |constant: bool| {
        let operands = input.module.operands(input.op).zip(input.constants);
        operands.filter(move |(_, c)| c.is_some() == constant).map(|(value, _)| value)
    };
    Folded::InPlace { operands: Some(of(false).chain(of(true)).collect()), slots: Vec::new() }
}
