//! The form of an operation as a person would write it: shown where text departs from it, and in the reference.

use piper_ir_format::{Element, Part};

use super::Format;
use crate::text::parser::Parser;
use crate::{Arity, AttrConstraint, OpDef};

impl Format {
    /// Adds the form of the whole operation to the last error, unless that already says what to do.
    pub(super) fn suggest_form(&self, p: &mut Parser<'_>, def: &OpDef) {
        if let Some(error) = p.reporter.last_mut().filter(|error| error.hint.is_none()) {
            error.hint(format!("the form is: {}", self.form(def)));
        }
    }

    /// The form, with what may be absent in square brackets: `strategy.split "<tag>" into <parts>`.
    pub fn form(&self, def: &OpDef) -> String {
        let mut out = def.name.to_string();
        self.describe(&self.elements, def, &mut out);
        out
    }

    fn describe(&self, elements: &[Element], def: &OpDef, out: &mut String) {
        for element in elements {
            let Some(text) = self.text_of(element, def) else { continue };
            let is_tight =
                matches!(&*text, "," | ")" | ">" | "]") || out.ends_with(['(', '<', '[']);
            if !is_tight && !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&text);
        }
    }

    fn text_of(&self, element: &Element, def: &OpDef) -> Option<String> {
        Some(match element {
            Element::Literal(text) => text.clone(),
            Element::Space(_) => return None,
            Element::Operand(i) => {
                let operand = &def.operands[*i];
                match operand.arity {
                    Arity::Variadic => format!("%{}...", operand.name),
                    _ => format!("%{}", operand.name),
                }
            }
            Element::Operands => {
                let names = def.operands.iter().map(|operand| match operand.arity {
                    Arity::One => format!("%{}", operand.name),
                    Arity::Optional => format!("[%{}]", operand.name),
                    Arity::Variadic => format!("%{}...", operand.name),
                });
                names.collect::<Vec<_>>().join(", ")
            }
            Element::Attr { slot, .. } => return attr_form(def, *slot),
            Element::SymbolName(_) => "@<name>".to_owned(),
            Element::Region(i) if def.regions[*i].arity == Arity::Variadic => {
                "{ ... }...".to_owned()
            }
            Element::Region(_) => "{ ... }".to_owned(),
            Element::Regions => "{ ... }...".to_owned(),
            Element::Successor(i) => match def.successors[*i].arity {
                Arity::Variadic => format!("^{}...", def.successors[*i].name),
                _ => format!("^{}", def.successors[*i].name),
            },
            Element::Successors => {
                let names = def.successors.iter().map(|successor| format!("^{}", successor.name));
                names.collect::<Vec<_>>().join(", ")
            }
            Element::AttrDict | Element::AttrDictWithKeyword | Element::PropDict => {
                if self.has_prop_dict && !matches!(element, Element::PropDict) {
                    return None;
                }
                let wanted = def.attrs.iter().zip(&self.slots);
                let wanted = wanted.filter(|(attr, slot)| attr.required && !slot.is_written);
                let entries: Vec<String> =
                    wanted.map(|(attr, _)| format!("{} = ...", attr.name)).collect();
                match (entries.is_empty(), element) {
                    (true, _) => return None,
                    (_, Element::PropDict) => format!("<{{{}}}>", entries.join(", ")),
                    _ => format!("{{{}}}", entries.join(", ")),
                }
            }
            Element::Type(_) => "<type>".to_owned(),
            Element::FunctionalType(..) => "(<types>) -> <types>".to_owned(),
            Element::ResultTypes => "-> <types>".to_owned(),
            Element::Group { then, otherwise, .. } => {
                let (mut inner, mut other) = (String::new(), String::new());
                self.describe(then, def, &mut inner);
                self.describe(otherwise, def, &mut other);
                match other.is_empty() {
                    true => format!("[{}]", inner.trim_start()),
                    false => format!("({} | {})", inner.trim_start(), other.trim_start()),
                }
            }
            Element::Oilist(clauses) => {
                let clauses = clauses.iter().map(|clause| {
                    let mut inner = String::new();
                    self.describe(clause, def, &mut inner);
                    format!("[{}]", inner.trim_start())
                });
                clauses.collect::<Vec<_>>().join(" ")
            }
            Element::Custom { arguments, .. } => {
                let parts = arguments.iter().filter(|argument| !argument.is_ref);
                let parts = parts.filter_map(|argument| match argument.part {
                    Part::Operand(i) => Some(format!("%{}", def.operands[i].name)),
                    Part::Attr(slot) => attr_form(def, slot),
                    Part::Region(_) => Some("{ ... }".to_owned()),
                    Part::Successor(i) => Some(format!("^{}", def.successors[i].name)),
                    Part::Type(_) => Some("<type>".to_owned()),
                    Part::AttrDict => None,
                });
                parts.collect::<Vec<_>>().join(" ")
            }
        })
    }
}

fn attr_form(def: &OpDef, slot: usize) -> Option<String> {
    let attr = &def.attrs[slot];
    Some(match attr.constraint {
        // Its keyword says it all.
        AttrConstraint::Unit => return None,
        AttrConstraint::Str => format!("\"<{}>\"", attr.name),
        AttrConstraint::Symbol => format!("@<{}>", attr.name),
        AttrConstraint::Enum(cases) => cases.join("|"),
        AttrConstraint::Dict => format!("{{<{}>}}", attr.name),
        _ => format!("<{}>", attr.name),
    })
}
