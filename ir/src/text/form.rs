//! The form of an operation as a person would write it, shown where text departs from it.

use super::format::{Element, Format};
use super::parser::Parser;
use crate::{Arity, AttrConstraint, OpDef};

impl Format {
    /// Adds the form of the whole operation to the last error, unless that already says what to do.
    pub(super) fn suggest_form(&self, p: &mut Parser<'_>, def: &OpDef) {
        if let Some(error) = p.reporter.last_mut().filter(|error| error.hint.is_none()) {
            error.hint(format!("the form is: {}", self.form(def)));
        }
    }

    /// `strategy.split "<tag>" into <parts>`
    fn form(&self, def: &OpDef) -> String {
        let mut out = def.name.to_string();
        self.describe(&self.elements, def, &mut out);
        out
    }

    fn describe(&self, elements: &[Element], def: &OpDef, out: &mut String) {
        for element in elements {
            let text = match element {
                Element::Literal(text) => text.clone(),
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
                Element::Attr(slot) => {
                    let attr = &def.attrs[*slot];
                    match attr.constraint {
                        // Its keyword says it all.
                        AttrConstraint::Unit => continue,
                        AttrConstraint::Str => format!("\"<{}>\"", attr.name),
                        AttrConstraint::Symbol => format!("@<{}>", attr.name),
                        AttrConstraint::Enum(cases) => cases.join("|"),
                        AttrConstraint::Dict => format!("{{<{}>}}", attr.name),
                        _ => format!("<{}>", attr.name),
                    }
                }
                Element::SymbolName(_) => "@<name>".to_owned(),
                Element::Region(_) => "{ ... }".to_owned(),
                Element::AttrDict | Element::AttrDictWithKeyword => {
                    let wanted = def.attrs.iter().filter(|attr| attr.required);
                    let wanted =
                        wanted.filter(|attr| !self.written.iter().any(|w| *w == attr.name));
                    let entries: Vec<String> =
                        wanted.map(|attr| format!("{} = ...", attr.name)).collect();
                    if entries.is_empty() {
                        continue;
                    }
                    format!("{{{}}}", entries.join(", "))
                }
                Element::Type(_) => "<type>".to_owned(),
                Element::FunctionalType => "(<types>) -> <types>".to_owned(),
                Element::ResultTypes => "-> <types>".to_owned(),
                Element::Optional { elements, .. } => {
                    let mut inner = String::new();
                    self.describe(elements, def, &mut inner);
                    format!("[{}]", inner.trim_start())
                }
            };
            let is_tight =
                matches!(&*text, "," | ")" | ">" | "]") || out.ends_with(['(', '<', '[']);
            if !is_tight && !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::text::Format;
    use crate::{AttrConstraint, AttrDef, OpDef};

    #[test]
    fn a_form_names_what_it_takes() {
        let attr = |name: &'static str, constraint, required| AttrDef {
            name: name.into(),
            required,
            constraint,
        };
        let mut def = OpDef::new("s.pipe");
        def.attrs = vec![
            attr("axis", AttrConstraint::Str, true),
            attr("parts", AttrConstraint::Int, true),
            attr("overlap", AttrConstraint::Unit, false),
            attr("eps", AttrConstraint::Float, true),
        ];
        let format = Format::compile(
            "`over` $axis `into` `=` $parts (`overlap` $overlap^)? attr-dict",
            &def,
        );
        assert_eq!(
            format.form(&def),
            "s.pipe over \"<axis>\" into = <parts> [overlap] {eps = ...}"
        );
    }
}
