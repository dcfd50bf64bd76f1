//! Whether a format writes every declared part once, so that what it prints can be read back.

use crate::{Count, Declaration, Element, FormatError, Part, Values};

/// How often each part is written.
struct Written<'a> {
    declared: &'a Declaration,
    end: usize,
    operands: Vec<u32>,
    attrs: Vec<u32>,
    regions: Vec<u32>,
    successors: Vec<u32>,
    operand_types: Vec<u32>,
    result_types: Vec<u32>,
    attr_dicts: u32,
    has_prop_dict: bool,
}

pub(crate) fn check(
    elements: &[Element],
    declared: &Declaration,
    end: usize,
) -> Result<(), FormatError> {
    let mut written = Written {
        declared,
        end,
        operands: vec![0; declared.operands.len()],
        attrs: vec![0; declared.attrs.len()],
        regions: vec![0; declared.regions.len()],
        successors: vec![0; declared.successors.len()],
        operand_types: vec![0; declared.operands.len()],
        result_types: vec![0; declared.results.len()],
        attr_dicts: 0,
        has_prop_dict: false,
    };
    let is_lone_unit = |element: &Element| match element {
        Element::Attr { slot, .. } if declared.attrs[*slot].is_unit => {
            Some(&declared.attrs[*slot].name)
        }
        _ => None,
    };
    if let Some(name) = elements.iter().find_map(is_lone_unit) {
        return written.error(format!(
            "unit attribute '{name}' has no text of its own: write an optional group, (`{name}` ${name}^)?"
        ));
    }
    written.list(elements)?;
    written.verdict()
}

impl Written<'_> {
    fn error<T>(&self, message: String) -> Result<T, FormatError> {
        Err(FormatError { message, at: self.end })
    }

    fn list(&mut self, elements: &[Element]) -> Result<(), FormatError> {
        for (i, element) in elements.iter().enumerate() {
            self.element(element)?;
            // Two lists that follow each other cannot be told apart.
            if let Element::Operand(group) = element
                && self.declared.operands[*group].count == Count::Many
                && let Some(Element::Operand(next)) = elements.get(i + 1)
            {
                let (name, next) =
                    (&self.declared.operands[*group].name, &self.declared.operands[*next].name);
                return self.error(format!("a literal must stand between '${name}' and '${next}': the list has no end otherwise"));
            }
        }
        Ok(())
    }

    fn element(&mut self, element: &Element) -> Result<(), FormatError> {
        match element {
            Element::Literal(_) | Element::Space(_) => {}
            Element::Operand(i) => self.operands[*i] += 1,
            Element::Operands => self.operands.iter_mut().for_each(|n| *n += 1),
            Element::Attr { slot, .. } | Element::SymbolName(slot) => self.attrs[*slot] += 1,
            Element::Region(i) => self.regions[*i] += 1,
            Element::Regions => self.regions.iter_mut().for_each(|n| *n += 1),
            Element::Successor(i) => self.successors[*i] += 1,
            Element::Successors => self.successors.iter_mut().for_each(|n| *n += 1),
            Element::AttrDict | Element::AttrDictWithKeyword => self.attr_dicts += 1,
            Element::PropDict => self.has_prop_dict = true,
            Element::Type(values) => self.types(*values),
            Element::FunctionalType(inputs, results) => {
                self.types(*inputs);
                self.types(*results);
            }
            // Operand types are written where they are needed.
            Element::ResultTypes => self.types(Values::Results),
            Element::Group { then, otherwise, anchor } => {
                self.group(then, otherwise, *anchor)?;
            }
            Element::Oilist(clauses) => {
                for clause in clauses {
                    self.list(clause)?;
                }
            }
            Element::Custom { arguments, .. } => {
                for argument in arguments.iter().filter(|argument| !argument.is_ref) {
                    match argument.part {
                        Part::Operand(i) => self.operands[i] += 1,
                        Part::Attr(i) => self.attrs[i] += 1,
                        Part::Region(i) => self.regions[i] += 1,
                        Part::Successor(i) => self.successors[i] += 1,
                        Part::Type(values) => self.types(values),
                        Part::AttrDict => self.attr_dicts += 1,
                    }
                }
            }
        }
        Ok(())
    }

    fn types(&mut self, values: Values) {
        match values {
            Values::Operand(i) => self.operand_types[i] += 1,
            Values::Result(i) => self.result_types[i] += 1,
            Values::Operands => self.operand_types.iter_mut().for_each(|n| *n += 1),
            Values::Results => self.result_types.iter_mut().for_each(|n| *n += 1),
        }
    }

    fn group(
        &mut self,
        then: &[Element],
        otherwise: &[Element],
        anchor: usize,
    ) -> Result<(), FormatError> {
        let declared = self.declared;
        let required = match &then[anchor] {
            Element::Operand(i) => {
                let operand = &declared.operands[*i];
                (operand.count == Count::One).then_some(&operand.name)
            }
            Element::Attr { slot, .. } | Element::SymbolName(slot) => {
                let attr = &declared.attrs[*slot];
                (!attr.may_be_absent && !attr.is_unit).then_some(&attr.name)
            }
            Element::Region(i) => {
                let region = &declared.regions[*i];
                // A single region may be empty, as that of a declared function.
                (region.count == Count::One && !otherwise.is_empty()).then_some(&region.name)
            }
            Element::Successor(i) => {
                let successor = &declared.successors[*i];
                (successor.count == Count::One).then_some(&successor.name)
            }
            Element::Literal(text) => {
                return self.error(format!(
                    "`{text}` cannot be an anchor: nothing says whether it is there"
                ));
            }
            Element::Space(_)
            | Element::AttrDict
            | Element::AttrDictWithKeyword
            | Element::PropDict
            | Element::Group { .. } => {
                return self.error("an anchor '^' is an operand, attribute, region, successor, type or custom directive that may be absent".into());
            }
            _ => None,
        };
        if let Some(name) = required {
            return self.error(format!("'${name}' cannot be an anchor: it is always there"));
        }
        let first = then.iter().find(|element| !matches!(element, Element::Space(_)));
        if !first.is_some_and(|element| self.is_recognised(element)) {
            return self.error(
                "an optional group begins with a literal or something a reader can tell is there: an optional operand, attribute, region or successor"
                    .into(),
            );
        }
        // A part may stand in both branches: only one of them is written.
        let before = self.counts();
        self.list(then)?;
        let after_then = self.counts();
        self.restore(before);
        self.list(otherwise)?;
        let after_otherwise = self.counts();
        let most = after_then.into_iter().zip(after_otherwise).map(|(a, b)| a.max(b)).collect();
        self.restore(most);
        Ok(())
    }

    fn is_recognised(&self, element: &Element) -> bool {
        match element {
            Element::Literal(_)
            | Element::Operand(_)
            | Element::Operands
            | Element::Attr { .. }
            | Element::SymbolName(_)
            | Element::Region(_)
            | Element::Successor(_)
            | Element::Successors
            | Element::Custom { .. } => true,
            Element::Type(values) => match values {
                Values::Operand(i) => self.declared.operands[*i].count != Count::One,
                Values::Result(i) => self.declared.results[*i].count != Count::One,
                _ => true,
            },
            _ => false,
        }
    }

    fn counts(&self) -> Vec<u32> {
        let lists = [
            &self.operands,
            &self.attrs,
            &self.regions,
            &self.successors,
            &self.operand_types,
            &self.result_types,
        ];
        lists.into_iter().flatten().copied().collect()
    }

    fn restore(&mut self, counts: Vec<u32>) {
        let mut counts = counts.into_iter();
        let lists = [
            &mut self.operands,
            &mut self.attrs,
            &mut self.regions,
            &mut self.successors,
            &mut self.operand_types,
            &mut self.result_types,
        ];
        for slot in lists.into_iter().flatten() {
            *slot = counts.next().expect("one count a part");
        }
    }

    fn verdict(&self) -> Result<(), FormatError> {
        let declared = self.declared;
        for (what, names, counts) in [
            ("operand", names(&declared.operands), &self.operands),
            ("region", names(&declared.regions), &self.regions),
            ("successor", names(&declared.successors), &self.successors),
        ] {
            for (name, count) in names.zip(counts) {
                match count {
                    0 => {
                        return self.error(format!(
                            "the format leaves out {what} '{name}': write ${name} or {what}s"
                        ));
                    }
                    1 => {}
                    _ => return self.error(format!("{what} '{name}' is written twice")),
                }
            }
        }
        for (attr, count) in declared.attrs.iter().zip(&self.attrs) {
            if *count > 1 {
                return self.error(format!("attribute '{}' is written twice", attr.name));
            }
        }
        if self.attr_dicts != 1 {
            let problem = if self.attr_dicts == 0 { "needs" } else { "has more than" };
            return self.error(format!(
                "the format {problem} one attr-dict (or attr-dict-with-keyword): any operation may have further attributes"
            ));
        }
        for (name, count) in names(&declared.operands).zip(&self.operand_types) {
            if *count > 1 {
                return self.error(format!("the type of operand '{name}' is written twice"));
            }
        }
        for (name, count) in names(&declared.results).zip(&self.result_types) {
            match count {
                0 if !declared.infers_results => {
                    return self.error(format!(
                        "nothing gives the type of result '{name}': write type(${name}), type(results), functional-type(...) or \
                         result-types, or let it be inferred (trait SameOperandsAndResultType, or clause infer)"
                    ));
                }
                0 | 1 => {}
                _ => return self.error(format!("the type of result '{name}' is written twice")),
            }
        }
        Ok(())
    }
}

fn names(list: &[crate::Declared]) -> impl Iterator<Item = &str> {
    list.iter().map(|item| &*item.name)
}
