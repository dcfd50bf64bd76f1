//! Directives that an operation brings itself: `custom<Name>($x, type($x), ref($axis))` in its format.
//!
//! A directive is a reader and a writer. Both are handed the parts that stand in its parentheses, by position; a part in
//! `ref(...)` may be looked at but belongs to another element. Counterpart: MLIR's `parseName` and `printName` functions.

use piper_ir_format::{Argument, Part, Values};

use super::parse::Reading;
use super::print::{region_group, successor_group};
use crate::text::{OperandName, ParseResult, Parser, Printer};
use crate::{Attr, Block, Module, Op, OpDef, Region, Type, Value};

/// Reads what a directive stands for.
pub type ParseDirective =
    for<'r, 'p> fn(&mut Parser<'p>, &mut DirectiveReader<'r, 'p>) -> ParseResult<()>;

/// Writes what a directive stands for. What it writes begins with the blank that separates it from what stands before.
pub type PrintDirective = fn(&mut Printer<'_>, &DirectiveWriter<'_>);

/// A directive of an operation.
#[derive(Clone, Debug)]
pub struct DirectiveDef {
    /// The name in `custom<Name>(...)`.
    pub name: &'static str,
    /// Reads it.
    pub parse: ParseDirective,
    /// Writes it.
    pub print: PrintDirective,
}

/// Where a directive puts what it has read. Parts are addressed by their position in the parentheses.
#[derive(Debug)]
pub struct DirectiveReader<'r, 'p> {
    pub(super) def: &'r OpDef,
    pub(super) arguments: &'r [Argument],
    pub(super) reading: &'r mut Reading<'p>,
}

impl<'p> DirectiveReader<'_, 'p> {
    fn part(&self, argument: usize) -> Part {
        self.arguments[argument].part
    }

    /// Sets an operand, or the operands of a group.
    ///
    /// # Panics
    /// If the argument is not an operand.
    pub fn operands(&mut self, argument: usize, names: &[OperandName<'p>]) {
        let Part::Operand(group) = self.part(argument) else {
            panic!("argument {argument} of the directive is not an operand")
        };
        self.reading.add_operands(group, names);
    }

    /// Sets the types of an argument `type(...)`.
    ///
    /// # Panics
    /// If the argument is not types.
    pub fn types(&mut self, argument: usize, types: &[Type]) {
        let Part::Type(values) = self.part(argument) else {
            panic!("argument {argument} of the directive is not a type(...)")
        };
        self.reading.add_types(values, types);
    }

    /// The types of an argument `ref(type(...))` that were read before.
    pub fn known_types(&self, argument: usize) -> &[Type] {
        match self.part(argument) {
            Part::Type(values) => self.reading.types_of(values),
            _ => &[],
        }
    }

    /// Sets an attribute.
    ///
    /// # Panics
    /// If the argument is not an attribute.
    pub fn attr(&mut self, p: &mut Parser<'p>, argument: usize, value: Attr) {
        let Part::Attr(slot) = self.part(argument) else {
            panic!("argument {argument} of the directive is not an attribute")
        };
        let name = p.ctx().name(&self.def.attrs[slot].name);
        p.state().attrs.push((name, value));
    }

    /// An attribute that was read before.
    pub fn known_attr(&self, p: &mut Parser<'p>, argument: usize) -> Option<Attr> {
        let Part::Attr(slot) = self.part(argument) else { return None };
        let name = p.ctx().name(&self.def.attrs[slot].name);
        p.state().attrs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Sets a region, or one more of a group.
    pub fn region(&mut self, argument: usize, region: Region) {
        if let Part::Region(group) = self.part(argument) {
            self.reading.regions.push((group, region));
        }
    }

    /// Sets a successor, or one more of a group.
    pub fn successor(&mut self, argument: usize, block: Block) {
        if let Part::Successor(group) = self.part(argument) {
            self.reading.successors.push((group, block));
        }
    }
}

/// What a directive writes. Parts are addressed by their position in the parentheses.
#[derive(Debug)]
pub struct DirectiveWriter<'r> {
    /// The operation.
    pub op: Op,
    pub(super) arguments: &'r [Argument],
}

impl DirectiveWriter<'_> {
    /// The values of an operand.
    pub fn values(&self, module: &Module, argument: usize) -> Vec<Value> {
        match self.arguments[argument].part {
            Part::Operand(group) => module.operand_group(self.op, group).collect(),
            Part::Type(values) => values_of(module, self.op, values),
            _ => Vec::new(),
        }
    }

    /// The types of an operand, or of an argument `type(...)`.
    pub fn types(&self, module: &Module, argument: usize) -> Vec<Type> {
        self.values(module, argument).into_iter().map(|value| module.ty(value)).collect()
    }

    /// An attribute.
    pub fn attr(&self, module: &Module, argument: usize) -> Option<Attr> {
        match self.arguments[argument].part {
            Part::Attr(slot) => module.slot(self.op, slot),
            _ => None,
        }
    }

    /// The regions of an argument.
    pub fn regions<'m>(&self, module: &'m Module, argument: usize) -> &'m [Region] {
        match self.arguments[argument].part {
            Part::Region(group) => region_group(module, self.op, group),
            _ => &[],
        }
    }

    /// The successors of an argument.
    pub fn successors<'m>(&self, module: &'m Module, argument: usize) -> &'m [Block] {
        match self.arguments[argument].part {
            Part::Successor(group) => successor_group(module, self.op, group),
            _ => &[],
        }
    }

    /// Whether any part that belongs to the directive is there.
    pub(super) fn is_present(&self, module: &Module) -> bool {
        self.arguments.iter().enumerate().any(|(i, argument)| {
            !argument.is_ref
                && match argument.part {
                    Part::Operand(_) | Part::Type(_) => !self.values(module, i).is_empty(),
                    Part::Attr(_) => self.attr(module, i).is_some(),
                    Part::Region(_) => !self.regions(module, i).is_empty(),
                    Part::Successor(_) => !self.successors(module, i).is_empty(),
                    Part::AttrDict => false,
                }
        })
    }
}

pub(super) fn values_of(module: &Module, op: Op, values: Values) -> Vec<Value> {
    let mut all = Vec::new();
    each_value(module, op, values, &mut |value| all.push(value));
    all
}

/// Calls `take` with each value that `values` stands for.
pub(super) fn each_value(module: &Module, op: Op, values: Values, take: &mut dyn FnMut(Value)) {
    match values {
        Values::Operand(i) => module.operand_group(op, i).for_each(take),
        Values::Result(i) => module.result_group(op, i).for_each(take),
        Values::Operands => module.operands(op).for_each(take),
        Values::Results => module.results(op).for_each(take),
    }
}
