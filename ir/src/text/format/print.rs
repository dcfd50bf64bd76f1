//! Writing an operation by its format.

use piper_ir_format::{Element, Values};

use super::directive::{DirectiveWriter, each_value, values_of};
use super::{Format, deal};
use crate::text::printer::Printer;
use crate::{Attr, AttrConstraint, AttrData, Block, Module, Name, Op, OpDef, Region, Type, Value};

/// What separates elements: a blank but after an opening bracket or where the format asks for none.
struct Spacing {
    /// A blank is due before the next element.
    is_due: bool,
    after_punctuation: bool,
}

impl Format {
    pub(in crate::text) fn print(&self, p: &mut Printer<'_>, op: Op) {
        let Some(def) = p.module().def(op) else { return };
        let mut spacing = Spacing { is_due: true, after_punctuation: false };
        self.write_list(&self.elements, p, op, def, &mut spacing);
    }

    fn write_list(
        &self,
        elements: &[Element],
        p: &mut Printer<'_>,
        op: Op,
        def: &OpDef,
        spacing: &mut Spacing,
    ) {
        for element in elements {
            self.write(element, p, op, def, spacing);
        }
    }

    fn write(
        &self,
        element: &Element,
        p: &mut Printer<'_>,
        op: Op,
        def: &OpDef,
        spacing: &mut Spacing,
    ) {
        let module = p.module();
        match element {
            Element::Literal(text) => spacing.literal(p, text),
            Element::Space(text) => {
                p.text(text);
                spacing.is_due = false;
            }
            Element::Operand(i) => spacing.items(p, op, Values::Operand(*i), |p, v| p.value(v)),
            Element::Operands => spacing.items(p, op, Values::Operands, |p, v| p.value(v)),
            Element::Attr { slot, qualified } => {
                let attr = module.slot(op, *slot).filter(|attr| *attr != p.ctx().unit());
                if let Some(attr) = attr {
                    spacing.blank(p);
                    match qualified {
                        true => p.attr(attr),
                        false => print_attr_of(p, &def.attrs[*slot].constraint, attr),
                    }
                }
            }
            Element::SymbolName(_) => {
                if module.symbol_name(op).is_some() {
                    spacing.blank(p);
                    p.symbol_name(op);
                }
            }
            Element::Region(_) | Element::Regions => {
                let regions = match element {
                    Element::Region(i) => region_group(module, op, *i),
                    _ => module.regions(op),
                };
                if !regions.is_empty() {
                    spacing.blank(p);
                    p.commas(regions, |p, region| p.region(*region, true));
                }
            }
            Element::Successor(_) | Element::Successors => {
                let blocks = match element {
                    Element::Successor(i) => successor_group(module, op, *i),
                    _ => module.successors(op),
                };
                if !blocks.is_empty() {
                    spacing.blank(p);
                    p.commas(blocks, |p, block| p.block_name(*block));
                }
            }
            Element::AttrDict => {
                let entries = self.dictionary(p, op, def, !self.has_prop_dict, true);
                self.print_dictionary(p, &entries, " {", "}");
            }
            Element::AttrDictWithKeyword => {
                let entries = self.dictionary(p, op, def, !self.has_prop_dict, true);
                self.print_dictionary(p, &entries, " attributes {", "}");
            }
            Element::PropDict => {
                let entries = self.dictionary(p, op, def, true, false);
                self.print_dictionary(p, &entries, " <{", "}>");
            }
            Element::Type(values) => spacing.items(p, op, *values, |p, value| {
                let ty = p.module().ty(value);
                p.ty(ty);
            }),
            Element::ResultTypes => {
                if module.operands(op).all(|value| p.is_defined_above(value)) {
                    p.text(" -> ");
                    p.result_types(&types_of(module, op, Values::Results));
                } else {
                    p.text(" : ");
                    p.op_type(op);
                }
            }
            Element::FunctionalType(inputs, results) => {
                spacing.blank(p);
                p.function_type(&types_of(module, op, *inputs), &types_of(module, op, *results));
            }
            Element::Group { then, otherwise, anchor } => {
                match is_present(module, op, def, &then[*anchor]) {
                    true => self.write_list(then, p, op, def, spacing),
                    false => self.write_list(otherwise, p, op, def, spacing),
                }
            }
            Element::Oilist(clauses) => {
                for clause in
                    clauses.iter().filter(|clause| clause_is_present(module, op, def, clause))
                {
                    self.write_list(clause, p, op, def, spacing);
                }
            }
            Element::Custom { directive, arguments } => {
                (def.directives[*directive].print)(p, &DirectiveWriter { op, arguments });
            }
        }
        if !matches!(
            element,
            Element::Literal(_) | Element::Space(_) | Element::Group { .. } | Element::Oilist(_)
        ) {
            (spacing.is_due, spacing.after_punctuation) = (true, false);
        }
    }

    /// What no other element writes, by name.
    fn dictionary(
        &self,
        p: &Printer<'_>,
        op: Op,
        def: &OpDef,
        declared: bool,
        discardable: bool,
    ) -> Vec<(Name, Attr)> {
        let (module, ctx) = (p.module(), p.ctx());
        let mut entries = Vec::new();
        if declared {
            for (i, attr) in
                def.attrs.iter().enumerate().filter(|(i, _)| !self.slots[*i].is_written)
            {
                let value = module.slot(op, i).filter(|value| !is_default(module, def, i, *value));
                entries.extend(value.map(|value| (ctx.name(&attr.name), value)));
            }
        }
        if discardable {
            entries.extend(module.discardable(op));
        }
        if entries.len() > 1 {
            entries.sort_by(|a, b| a.0.text(ctx).cmp(b.0.text(ctx)));
        }
        entries
    }

    fn print_dictionary(
        &self,
        p: &mut Printer<'_>,
        entries: &[(Name, Attr)],
        open: &str,
        close: &str,
    ) {
        if !entries.is_empty() {
            p.text(open);
            p.entries(entries);
            p.text(close);
        }
    }
}

impl Spacing {
    fn blank(&mut self, p: &mut Printer<'_>) {
        if self.is_due {
            p.text(" ");
        }
    }

    /// Writes something for each value, separated by commas.
    fn items(
        &self,
        p: &mut Printer<'_>,
        op: Op,
        values: Values,
        write: fn(&mut Printer<'_>, Value),
    ) {
        let mut is_first = true;
        each_value(p.module(), op, values, &mut |value| {
            match std::mem::replace(&mut is_first, false) {
                true if self.is_due => p.text(" "),
                true => {}
                false => p.text(", "),
            }
            write(p, value);
        });
    }

    /// The rules of MLIR's generated printers.
    fn literal(&mut self, p: &mut Printer<'_>, text: &str) {
        let is_mark =
            text.len() == 1 && !text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let wants_blank = match (is_mark, self.after_punctuation) {
            (false, _) => true,
            (true, true) => !">)}],".contains(text),
            (true, false) => !"<>(){}[],".contains(text),
        };
        if self.is_due && wants_blank {
            p.text(" ");
        }
        p.text(text);
        self.is_due = !(is_mark && "<({[".contains(text));
        self.after_punctuation = is_mark;
    }
}

fn types_of(module: &Module, op: Op, values: Values) -> Vec<Type> {
    values_of(module, op, values).into_iter().map(|value| module.ty(value)).collect()
}

/// Whether the part that an anchor names is there.
fn is_present(module: &Module, op: Op, def: &OpDef, anchor: &Element) -> bool {
    let has_values = |values| {
        let mut has_any = false;
        each_value(module, op, values, &mut |_| has_any = true);
        has_any
    };
    match anchor {
        Element::Operand(i) => has_values(Values::Operand(*i)),
        Element::Operands => has_values(Values::Operands),
        Element::Attr { slot, .. } | Element::SymbolName(slot) => {
            module.slot(op, *slot).is_some_and(|value| !is_default(module, def, *slot, value))
        }
        Element::Type(values) => has_values(*values),
        Element::FunctionalType(inputs, results) => has_values(*inputs) || has_values(*results),
        Element::ResultTypes => has_values(Values::Results),
        // A region that must be there is present if it is not empty, as the body of a function.
        Element::Region(i) => {
            region_group(module, op, *i).iter().any(|region| module.first_block(*region).is_some())
        }
        Element::Regions => !module.regions(op).is_empty(),
        Element::Successor(i) => !successor_group(module, op, *i).is_empty(),
        Element::Successors => !module.successors(op).is_empty(),
        Element::Custom { arguments, .. } => DirectiveWriter { op, arguments }.is_present(module),
        Element::Oilist(clauses) => {
            clauses.iter().any(|clause| clause_is_present(module, op, def, clause))
        }
        _ => true,
    }
}

/// Whether any part of an oilist's clause is there; its literals say nothing.
fn clause_is_present(module: &Module, op: Op, def: &OpDef, clause: &[Element]) -> bool {
    let parts =
        clause.iter().filter(|element| !matches!(element, Element::Literal(_) | Element::Space(_)));
    parts.into_iter().any(|element| is_present(module, op, def, element))
}

fn is_default(module: &Module, def: &OpDef, slot: usize, value: Attr) -> bool {
    def.attrs[slot].default.as_ref().is_some_and(|default| default.attr(module.ctx()) == value)
}

/// The regions that belong to a declared name.
pub(super) fn region_group(module: &Module, op: Op, group: usize) -> &[Region] {
    let Some(def) = module.def(op) else { return &[] };
    let all = module.regions(op);
    part(all, deal(all.len(), def.regions.iter().map(|region| region.arity)).0, group)
}

/// The successors that belong to a declared name.
pub(super) fn successor_group(module: &Module, op: Op, group: usize) -> &[Block] {
    let Some(def) = module.def(op) else { return &[] };
    let all = module.successors(op);
    part(all, deal(all.len(), def.successors.iter().map(|successor| successor.arity)).0, group)
}

fn part<T>(all: &[T], sizes: impl Iterator<Item = usize>, group: usize) -> &[T] {
    let mut at = 0;
    for (i, size) in sizes.enumerate() {
        if i == group {
            return &all[at..at + size];
        }
        at += size;
    }
    &[]
}

fn print_attr_of(p: &mut Printer<'_>, constraint: &AttrConstraint, attr: Attr) {
    let ctx = p.ctx();
    match (constraint, attr.data(ctx)) {
        (AttrConstraint::Enum(_), AttrData::Str(text)) => p.word(text),
        (AttrConstraint::Dialect(full), AttrData::Dialect { name, params })
            if name.text(ctx) == *full =>
        {
            match ctx.attr_def(*name) {
                Some(def) => def.print(p, params),
                None => p.attr(attr),
            }
        }
        _ => p.attr(attr),
    }
}
