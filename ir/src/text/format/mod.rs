//! Declarative formats, ``"$x `,` $w (`,` $bias^)? attr-dict `:` type($x)"``: compiled once, interpreted for reading and
//! writing.
//!
//! The language is read and checked by `piper-ir-format`, which the declaring macro uses too; here it meets definitions.
//! [`parse`] reads by a format, [`print`] writes by it, [`directive`] is what a dialect's own directives work with, and
//! [`form`] shows the whole form where a text departs from it.

mod directive;
mod form;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use directive::{
    DirectiveDef, DirectiveReader, DirectiveWriter, ParseDirective, PrintDirective,
};
pub(super) use parse::Reading;
pub use piper_ir_format::FormatError;
use piper_ir_format::{Count, Declaration, Declared, DeclaredAttr, Element};

use crate::{Arity, AttrConstraint, InferTypes, OPERAND_SEGMENTS, OpDef, RESULT_SEGMENTS, Trait};

/// A compiled format.
#[derive(Debug)]
pub struct Format {
    elements: Vec<Element>,
    slots: Vec<Slot>,
    has_prop_dict: bool,
}

/// What the format does with a declared attribute.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    /// An element writes it, or nothing does: it is left out of the dictionary.
    is_written: bool,
    /// A `:` may follow, so that a number has no type of its own.
    before_colon: bool,
}

impl Format {
    /// Compiles a format.
    ///
    /// # Panics
    /// If the text is not a format for this definition: it is part of the program.
    pub fn compile(text: &str, def: &OpDef) -> Self {
        Self::try_compile(text, def).unwrap_or_else(|error| {
            panic!("format of '{}', byte {}: {error}\n  {text}", def.name, error.at)
        })
    }

    /// Compiles a format that is data.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn try_compile(text: &str, def: &OpDef) -> Result<Self, FormatError> {
        let elements = piper_ir_format::read(text, &declaration(def))?;
        let mut format = Self {
            elements: Vec::new(),
            slots: vec![Slot::default(); def.attrs.len()],
            has_prop_dict: false,
        };
        for (slot, attr) in format.slots.iter_mut().zip(&def.attrs) {
            slot.is_written = matches!(&*attr.name, OPERAND_SEGMENTS | RESULT_SEGMENTS);
        }
        format.note(&elements, false);
        format.elements = elements;
        Ok(format)
    }

    /// Notes which attributes are written and what follows them; `tail` says whether a `:` may follow the list.
    fn note(&mut self, elements: &[Element], tail: bool) {
        for (i, element) in elements.iter().enumerate() {
            let tail = || may_begin_with_colon(&elements[i + 1..], tail);
            match element {
                Element::Attr { slot, .. } | Element::SymbolName(slot) => {
                    let before_colon = tail();
                    self.slots[*slot].is_written = true;
                    self.slots[*slot].before_colon |= before_colon;
                }
                Element::Group { then, otherwise, .. } => {
                    let tail = tail();
                    self.note(then, tail);
                    self.note(otherwise, tail);
                }
                Element::Oilist(clauses) => {
                    let tail = tail();
                    clauses.iter().for_each(|clause| self.note(clause, tail));
                }
                Element::Custom { arguments, .. } => {
                    for argument in arguments.iter().filter(|argument| !argument.is_ref) {
                        if let piper_ir_format::Part::Attr(slot) = argument.part {
                            self.slots[slot].is_written = true;
                        }
                    }
                }
                Element::PropDict => self.has_prop_dict = true,
                _ => {}
            }
        }
    }
}

fn may_begin_with_colon(elements: &[Element], tail: bool) -> bool {
    for element in elements {
        match element {
            Element::Literal(text) => return text == ":",
            Element::ResultTypes => return true,
            Element::Group { then, otherwise, .. } => {
                if [then, otherwise].iter().any(|list| may_begin_with_colon(list, false)) {
                    return true;
                }
            }
            Element::Space(_)
            | Element::AttrDict
            | Element::AttrDictWithKeyword
            | Element::PropDict
            | Element::Oilist(_) => {}
            // What may be absent lets the next one follow.
            Element::Operand(_)
            | Element::Attr { .. }
            | Element::Region(_)
            | Element::Successor(_) => {}
            _ => return false,
        }
    }
    tail
}

/// The names that a format for this definition may use.
fn declaration(def: &OpDef) -> Declaration {
    let count = |arity| match arity {
        Arity::One => Count::One,
        Arity::Optional => Count::Optional,
        Arity::Variadic => Count::Many,
    };
    let values = |list: &[crate::ValueDef]| {
        list.iter().map(|value| Declared::new(&*value.name, count(value.arity))).collect()
    };
    Declaration {
        operands: values(&def.operands),
        results: values(&def.results),
        attrs: def
            .attrs
            .iter()
            .map(|attr| DeclaredAttr {
                name: attr.name.to_string(),
                may_be_absent: !attr.required,
                is_unit: matches!(attr.constraint, AttrConstraint::Unit),
            })
            .collect(),
        regions: def.regions.iter().map(|r| Declared::new(&*r.name, count(r.arity))).collect(),
        successors: def
            .successors
            .iter()
            .map(|s| Declared::new(&*s.name, count(s.arity)))
            .collect(),
        directives: def.directives.iter().map(|directive| directive.name.to_owned()).collect(),
        infers_results: def.has(Trait::SameOperandsAndResultType)
            || def.interface::<InferTypes>().is_some(),
    }
}

/// Deals `total` items out to groups: one each to single ones, what is left to the first group of unknown length. The
/// length of each group, and whether all items found a place.
fn deal(
    total: usize,
    arities: impl Iterator<Item = Arity> + Clone,
) -> (impl Iterator<Item = usize>, bool) {
    let single = arities.clone().filter(|arity| *arity == Arity::One).count();
    let spare = total.saturating_sub(single);
    let loose = arities.clone().find(|arity| *arity != Arity::One);
    let fits = total >= single
        && match loose {
            None => spare == 0,
            Some(Arity::Optional) => spare <= 1 || arities.clone().any(|a| a == Arity::Variadic),
            Some(_) => true,
        };
    let (mut left, mut have) = (spare, total);
    let sizes = arities.map(move |arity| {
        let take = match arity {
            Arity::One => 1,
            Arity::Optional => left.min(1),
            Arity::Variadic => left,
        };
        if arity != Arity::One {
            left -= take;
        }
        let take = take.min(have);
        have -= take;
        take
    });
    (sizes, fits)
}
