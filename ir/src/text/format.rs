//! MLIR's declarative assembly format: `"$x `,` $w (`,` $bias^)? attr-dict `:` type($x)"`, compiled once and interpreted for
//! reading and writing. See <https://mlir.llvm.org/docs/DefiningDialects/Operations/#declarative-assembly-format>.
//!
//! Supported: literals, `$operand`, `$attribute`, `$region`, `attr-dict`, `attr-dict-with-keyword`, `type($value)`, `type(operands)`, `type(results)`, `operands`,
//! `functional-type(operands, results)`, `result-types` (operand types only where they are not known yet), and optional groups `( ... )?` anchored by `^`.

use super::lexer::TokenKind;
use super::parser::{ParseResult, Parser};
use super::printer::Printer;
use super::ssa_names::OperandName;
use crate::dialect_macro::{OPERAND_SEGMENTS, RESULT_SEGMENTS};
use crate::{Arity, AttrConstraint, AttrData, Op, OpDef, Trait, Type};

/// A compiled format.
#[derive(Debug)]
pub struct Format {
    pub(super) elements: Vec<Element>,
    /// Attributes written by an element, so left out of the dictionary.
    pub(super) written: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Operand(usize),
    Result(usize),
    Operands,
    Results,
}

#[derive(Debug)]
pub(super) enum Element {
    Literal(String),
    Operand(usize),
    Operands,
    Attr(usize),
    /// A symbol definition (`sym_name`), written `@name`.
    SymbolName(usize),
    Region(usize),
    AttrDict,
    /// `attributes {...}`, where a bare dictionary would be taken for a region.
    AttrDictWithKeyword,
    Type(Side),
    FunctionalType,
    /// `-> results` where all operands are defined above, else `: (operands) -> results`.
    ResultTypes,
    Optional {
        elements: Vec<Element>,
        anchor: usize,
    },
}

/// What reading collects before operands can be resolved.
struct Reading<'p> {
    operands: Vec<Vec<OperandName<'p>>>,
    operand_types: Vec<Option<Vec<Type>>>,
    result_types: Vec<Option<Vec<Type>>>,
    all_operands: Option<Vec<OperandName<'p>>>,
    all_operand_types: Option<Vec<Type>>,
    all_result_types: Option<Vec<Type>>,
}

impl Format {
    /// Compiles a format. Panics if it is not one for this definition: it is part of the program.
    pub fn compile(text: &str, def: &OpDef) -> Self {
        let mut compiler = Compiler {
            text,
            at: 0,
            def,
            written: vec![OPERAND_SEGMENTS.into(), RESULT_SEGMENTS.into()],
        };
        let elements = compiler.elements(false).0;
        Self { elements, written: compiler.written }
    }

    pub(super) fn parse(&self, p: &mut Parser<'_>, def: &OpDef) -> ParseResult<()> {
        let start = p.token().start;
        let mut reading = Reading {
            operands: vec![Vec::new(); def.operands.len()],
            operand_types: vec![None; def.operands.len()],
            result_types: vec![None; def.results.len()],
            all_operands: None,
            all_operand_types: None,
            all_result_types: None,
        };
        for element in &self.elements {
            let errors = p.reporter.error_count();
            let parsed = element.parse(p, def, &mut reading);
            let is_outline = !matches!(element, Element::Region(_) | Element::Type(_));
            if parsed.is_err() && is_outline && p.reporter.error_count() > errors {
                self.suggest_form(p, def);
            }
            parsed?;
        }
        reading.resolve(p, def, start)
    }

    pub(super) fn print(&self, p: &mut Printer<'_>, op: Op) {
        for element in &self.elements {
            element.print(p, op, &self.written);
        }
    }
}

impl Element {
    fn parse<'p>(
        &self,
        p: &mut Parser<'p>,
        def: &OpDef,
        reading: &mut Reading<'p>,
    ) -> ParseResult<()> {
        match self {
            Element::Literal(text) => literal(p, text),
            Element::Operand(i) => {
                reading.operands[*i] = match def.operands[*i].arity {
                    Arity::One => vec![p.parse_operand()?],
                    Arity::Optional if p.at_operand() => vec![p.parse_operand()?],
                    Arity::Optional => Vec::new(),
                    Arity::Variadic => p.parse_operands()?,
                };
                Ok(())
            }
            Element::Operands => {
                reading.all_operands = Some(p.parse_operands()?);
                Ok(())
            }
            Element::Attr(slot) => {
                let attr = parse_attr_of(p, &def.attrs[*slot].constraint)?;
                let name = p.ctx().name(&def.attrs[*slot].name);
                p.state().attrs.push((name, attr));
                Ok(())
            }
            Element::SymbolName(slot) => {
                let symbol = p.parse_symbol_name()?;
                let attr = p.ctx().str_attr(symbol.text(p.ctx()));
                let name = p.ctx().name(&def.attrs[*slot].name);
                p.state().attrs.push((name, attr));
                Ok(())
            }
            Element::Region(_) => {
                let isolated = p.state_has(Trait::IsolatedFromAbove);
                let region = p.parse_body(isolated, &[])?;
                p.state().regions.push(region);
                Ok(())
            }
            Element::AttrDictWithKeyword => {
                if p.eat_keyword("attributes") {
                    Element::AttrDict.parse(p, def, reading)
                } else {
                    Ok(())
                }
            }
            Element::AttrDict => {
                let start = p.token().start;
                for (name, attr) in p.parse_optional_attr_dict()? {
                    if p.state().attrs.iter().any(|(n, _)| *n == name) {
                        let text = name.text(p.ctx());
                        return Err(p.error_at(start, format!("attribute '{text}' is given twice")));
                    }
                    p.state().attrs.push((name, attr));
                }
                Ok(())
            }
            Element::Type(side) => {
                let one = |side: &Side| match side {
                    Side::Operand(i) => def.operands[*i].arity != Arity::Variadic,
                    Side::Result(i) => def.results[*i].arity != Arity::Variadic,
                    _ => false,
                };
                let mut types = Vec::new();
                if one(side) {
                    types.push(p.parse_type()?);
                } else if let Some(first) = p.parse_optional_type()? {
                    types.push(first);
                    while p.eat(TokenKind::Comma) {
                        types.push(p.parse_type()?);
                    }
                }
                match side {
                    Side::Operand(i) => reading.operand_types[*i] = Some(types),
                    Side::Result(i) => reading.result_types[*i] = Some(types),
                    Side::Operands => reading.all_operand_types = Some(types),
                    Side::Results => reading.all_result_types = Some(types),
                }
                Ok(())
            }
            Element::ResultTypes => {
                if p.eat(TokenKind::Colon) {
                    let inputs = if p.at(TokenKind::LParen) {
                        p.parse_type_list()?
                    } else {
                        vec![p.parse_type()?]
                    };
                    reading.all_operand_types = Some(inputs);
                }
                p.expect(TokenKind::Arrow, "'->' and the result types")?;
                reading.all_result_types = Some(p.parse_function_results()?);
                Ok(())
            }
            Element::FunctionalType => {
                reading.all_operand_types = Some(p.parse_type_list()?);
                p.expect(TokenKind::Arrow, "'->' and the result types")?;
                reading.all_result_types = Some(p.parse_function_results()?);
                Ok(())
            }
            Element::Optional { elements, .. } => {
                if elements[0].is_next(p, def) {
                    for element in elements {
                        element.parse(p, def, reading)?;
                    }
                    // A unit attribute that anchors a group is present when the group is.
                    if let Element::Optional { anchor, .. } = self
                        && let Element::Attr(slot) = elements[*anchor]
                        && matches!(def.attrs[slot].constraint, AttrConstraint::Unit)
                    {
                        let name = p.ctx().name(&def.attrs[slot].name);
                        let unit = p.ctx().unit();
                        if !p.state().attrs.iter().any(|(n, _)| *n == name) {
                            p.state().attrs.push((name, unit));
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether the next token begins this element: decides about an optional group.
    fn is_next(&self, p: &Parser<'_>, def: &OpDef) -> bool {
        match self {
            Element::Literal(text) => p.text(p.token()) == text,
            Element::Operand(_) | Element::Operands => p.at_operand(),
            Element::SymbolName(_) => p.at(TokenKind::At),
            Element::Region(_) | Element::AttrDict => p.at(TokenKind::LBrace),
            Element::Attr(slot) => match def.attrs[*slot].constraint {
                AttrConstraint::Symbol => p.at(TokenKind::At),
                AttrConstraint::Str => p.at(TokenKind::String),
                AttrConstraint::Int => p.at(TokenKind::Integer) || p.at(TokenKind::Minus),
                AttrConstraint::Array => p.at(TokenKind::LSquare),
                AttrConstraint::Dict => p.at(TokenKind::LBrace),
                _ => false,
            },
            _ => false,
        }
    }

    fn print(&self, p: &mut Printer<'_>, op: Op, written: &[String]) {
        let module = p.module();
        match self {
            Element::Literal(text) => print_literal(p, text),
            Element::Operand(i) => {
                let mut values = module.operand_group(op, *i).peekable();
                if values.peek().is_some() {
                    print_space(p);
                    p.values(values);
                }
            }
            Element::Operands => {
                if module.num_operands(op) > 0 {
                    print_space(p);
                    p.values(module.operands(op));
                }
            }
            Element::Attr(slot) => {
                if let (Some(attr), Some(def)) = (module.slot(op, *slot), module.def(op)) {
                    p.text(" ");
                    print_attr_of(p, &def.attrs[*slot].constraint, attr);
                }
            }
            Element::SymbolName(_) => {
                p.text(" ");
                p.symbol_name(op);
            }
            Element::Region(i) => {
                p.text(" ");
                p.region(module.regions(op)[*i], true);
            }
            Element::AttrDictWithKeyword => {
                let other = |(name, _): &(crate::Name, crate::Attr)| {
                    !written.iter().any(|w| w == name.text(p.ctx()))
                };
                if module.all_attrs(op).iter().any(other) {
                    p.text(" attributes");
                    Element::AttrDict.print(p, op, written);
                }
            }
            Element::AttrDict => {
                let elided: Vec<&str> = written.iter().map(String::as_str).collect();
                p.attr_dict(op, &elided);
            }
            Element::Type(side) => {
                let types: Vec<Type> = match side {
                    Side::Operand(i) => {
                        module.operand_group(op, *i).map(|v| module.ty(v)).collect()
                    }
                    Side::Result(i) => module.result_group(op, *i).map(|v| module.ty(v)).collect(),
                    Side::Operands => module.operands(op).map(|v| module.ty(v)).collect(),
                    Side::Results => module.results(op).map(|v| module.ty(v)).collect(),
                };
                if !types.is_empty() {
                    p.text(" ");
                    p.types(&types);
                }
            }
            Element::ResultTypes => {
                if module.operands(op).all(|value| p.is_defined_above(value)) {
                    let types: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
                    p.text(" -> ");
                    p.result_types(&types);
                } else {
                    p.text(" : ");
                    p.op_type(op);
                }
            }
            Element::FunctionalType => {
                p.text(" ");
                p.op_type(op);
            }
            Element::Optional { elements, anchor } => {
                let present = match &elements[*anchor] {
                    Element::Operand(i) => module.operand_group(op, *i).next().is_some(),
                    Element::Attr(slot) => module.slot(op, *slot).is_some(),
                    Element::Type(Side::Result(i)) => module.result_group(op, *i).next().is_some(),
                    Element::Region(i) => {
                        module.regions(op).get(*i).is_some_and(|r| module.first_block(*r).is_some())
                    }
                    _ => true,
                };
                if present {
                    for (i, element) in elements.iter().enumerate() {
                        let is_unit_anchor = i == *anchor
                            && matches!(element, Element::Attr(slot) if module.slot(op, *slot) == Some(p.ctx().unit()));
                        if !is_unit_anchor {
                            element.print(p, op, written);
                        }
                    }
                }
            }
        }
    }
}

impl<'p> Reading<'p> {
    /// Gives every operand its type and the operation its operands and results.
    fn resolve(mut self, p: &mut Parser<'p>, def: &OpDef, start: u32) -> ParseResult<()> {
        // A single list of operands or types is dealt out to the declared groups.
        if let Some(all) = self.all_operands.take() {
            self.operands = deal(&all, &def.operands.iter().map(|d| d.arity).collect::<Vec<_>>());
            if self.operands.iter().map(Vec::len).sum::<usize>() != all.len() {
                return Err(p.error_at(
                    start,
                    format!("'{}' does not take {} operand(s)", def.name, all.len()),
                ));
            }
        }
        let flat: Vec<OperandName<'p>> = self.operands.iter().flatten().copied().collect();
        let types: Vec<Type> = match self.all_operand_types.take() {
            Some(types) => types,
            None => {
                let mut types = Vec::new();
                for (i, group) in self.operands.iter().enumerate() {
                    match &self.operand_types[i] {
                        Some(given) => types.extend(given),
                        // No type is written: it is that of the value, which must be defined before.
                        None => {
                            for &operand in group {
                                let value = p.lookup(operand)?;
                                types.push(p.module().ty(value));
                            }
                        }
                    }
                }
                types
            }
        };
        let operands = p.resolve_all(&flat, &types, start)?;
        p.state().operands.extend(operands);
        let mut result_sizes = vec![0; def.results.len()];
        if let Some(all) = self.all_result_types.take() {
            let dealt = deal(&all, &def.results.iter().map(|d| d.arity).collect::<Vec<_>>());
            result_sizes = dealt.iter().map(|g| g.len() as i64).collect();
            p.state().result_types.extend(all);
        } else {
            for (i, size) in result_sizes.iter_mut().enumerate() {
                let types = match self.result_types[i].take() {
                    Some(types) => types,
                    None if def.has(Trait::SameOperandsAndResultType) && !types.is_empty() => {
                        vec![types[0]]
                    }
                    None => Vec::new(),
                };
                *size = types.len() as i64;
                p.state().result_types.extend(types);
            }
        }
        for (defs, sizes, name) in [
            (
                &def.operands,
                self.operands.iter().map(|g| g.len() as i64).collect(),
                OPERAND_SEGMENTS,
            ),
            (&def.results, result_sizes, RESULT_SEGMENTS),
        ] {
            let sizes: Vec<i64> = sizes;
            if defs.iter().filter(|d| d.arity != Arity::One).count() > 1 {
                let (name, attr) = (p.ctx().name(name), p.ctx().i32_array_attr(&sizes));
                p.state().attrs.push((name, attr));
            }
        }
        Ok(())
    }
}

/// Deals items out to groups: one each to single ones, what is left to the first group of unknown length.
fn deal<T: Copy>(items: &[T], arities: &[Arity]) -> Vec<Vec<T>> {
    let single = arities.iter().filter(|a| **a == Arity::One).count();
    let mut spare = items.len().saturating_sub(single);
    let mut items = items.iter().copied();
    arities
        .iter()
        .map(|arity| {
            let take = match arity {
                Arity::One => 1,
                Arity::Optional => spare.min(1),
                Arity::Variadic => spare,
            };
            if *arity != Arity::One {
                spare -= take;
            }
            items.by_ref().take(take).collect()
        })
        .collect()
}

/// Reads an attribute in the form its constraint allows: strings and numbers as such, dictionaries in braces, units by presence.
fn parse_attr_of(p: &mut Parser<'_>, constraint: &AttrConstraint) -> ParseResult<crate::Attr> {
    match constraint {
        AttrConstraint::Unit => Ok(p.ctx().unit()),
        // An enumerated string is written as a word.
        AttrConstraint::Enum(cases) => {
            let start = p.token().start;
            let word = p.parse_keyword(&constraint.describe())?;
            if !cases.contains(&word) {
                let hint = crate::diag::did_you_mean(word, cases.iter().copied())
                    .map(|c| format!("did you mean '{c}'?"));
                p.report_at(start, format!("expected {}, found '{word}'", constraint.describe()))
                    .hint = hint;
                return Err(super::Failed);
            }
            Ok(p.ctx().str_attr(word))
        }
        // What follows may begin with a ':' of its own.
        AttrConstraint::Number | AttrConstraint::Int | AttrConstraint::Float => {
            p.parse_plain_number()
        }
        AttrConstraint::Symbol if p.at(TokenKind::BareId) => {
            let word = p.text(p.token());
            let failed = p.expected("a symbol name (@name)");
            if let Some(error) = p.reporter.last_mut() {
                error.hint(format!("did you mean @{word}?"));
            }
            Err(failed)
        }
        _ => p.parse_attribute(),
    }
}

fn print_attr_of(p: &mut Printer<'_>, constraint: &AttrConstraint, attr: crate::Attr) {
    match (constraint, attr.data(p.ctx())) {
        (AttrConstraint::Enum(_), AttrData::Str(text)) => p.text(text),
        _ => p.attr(attr),
    }
}

fn literal(p: &mut Parser<'_>, text: &str) -> ParseResult<()> {
    if p.text(p.token()) == text {
        p.advance();
        return Ok(());
    }
    Err(p.expected(&format!("'{text}'")))
}

/// A space between two elements; none after an opening bracket.
fn print_space(p: &mut Printer<'_>) {
    if !p.out.ends_with(['(', '<', '[']) {
        p.text(" ");
    }
}

fn print_literal(p: &mut Printer<'_>, text: &str) {
    if !matches!(text, "," | ")" | ">" | "]" | "(") {
        print_space(p);
    }
    p.text(text);
}

struct Compiler<'a> {
    text: &'a str,
    at: usize,
    def: &'a OpDef,
    written: Vec<String>,
}

impl Compiler<'_> {
    fn fail(&self, what: &str) -> ! {
        panic!("format of '{}' at byte {}: {what}\n  {}", self.def.name, self.at, self.text)
    }

    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let len = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(rest.len());
        self.at += len;
        rest[..len].to_owned()
    }

    fn eat(&mut self, text: &str) -> bool {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
        let found = self.text[self.at..].starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The elements up to the end or `)`, and the position of the anchor among them.
    fn elements(&mut self, nested: bool) -> (Vec<Element>, Option<usize>) {
        let (mut elements, mut anchor) = (Vec::new(), None);
        loop {
            if self.eat(")") {
                if !nested {
                    self.fail("unbalanced ')'");
                }
                return (elements, anchor);
            }
            if self.at == self.text.len() {
                if nested {
                    self.fail("'(' is not closed");
                }
                return (elements, anchor);
            }
            let element = self.element();
            elements.push(element);
            if self.eat("^") {
                anchor = Some(elements.len() - 1);
            }
        }
    }

    fn element(&mut self) -> Element {
        if self.eat("`") {
            let rest = &self.text[self.at..];
            let end = rest.find('`').unwrap_or_else(|| self.fail("'`' is not closed"));
            self.at += end + 1;
            return Element::Literal(rest[..end].to_owned());
        }
        if self.eat("$") {
            let name = self.word();
            return self.variable(&name);
        }
        if self.eat("(") {
            let (elements, anchor) = self.elements(true);
            if !self.eat("?") {
                self.fail("a group is followed by '?'");
            }
            let anchor = anchor.unwrap_or_else(|| self.fail("an optional group has an anchor '^'"));
            return Element::Optional { elements, anchor };
        }
        match self.word().as_str() {
            "attr-dict" => Element::AttrDict,
            "attr-dict-with-keyword" => Element::AttrDictWithKeyword,
            "operands" => Element::Operands,
            "type" => {
                if !self.eat("(") {
                    self.fail("type(...)");
                }
                let side = if self.eat("$") {
                    let name = self.word();
                    match (
                        self.def.operands.iter().position(|d| d.name == name),
                        self.def.results.iter().position(|d| d.name == name),
                    ) {
                        (Some(i), _) => Side::Operand(i),
                        (_, Some(i)) => Side::Result(i),
                        _ => self.fail(&format!("no operand or result '{name}'")),
                    }
                } else {
                    match self.word().as_str() {
                        "operands" => Side::Operands,
                        "results" => Side::Results,
                        other => self.fail(&format!("type({other})")),
                    }
                };
                if !self.eat(")") {
                    self.fail("type(...) is not closed");
                }
                Element::Type(side)
            }
            "result-types" => Element::ResultTypes,
            "functional-type" => {
                if !(self.eat("(")
                    && self.eat("operands")
                    && self.eat(",")
                    && self.eat("results")
                    && self.eat(")"))
                {
                    self.fail("functional-type(operands, results)");
                }
                Element::FunctionalType
            }
            other => self.fail(&format!("unknown directive '{other}'")),
        }
    }

    fn variable(&mut self, name: &str) -> Element {
        if let Some(i) = self.def.operands.iter().position(|d| d.name == name) {
            return Element::Operand(i);
        }
        if let Some(slot) = self.def.attr_slot(name) {
            self.written.push(name.to_owned());
            return if name == "sym_name" {
                Element::SymbolName(slot)
            } else {
                Element::Attr(slot)
            };
        }
        if let Some(i) = self.def.regions.iter().position(|d| d.name == name) {
            return Element::Region(i);
        }
        self.fail(&format!("'{name}' is not declared"))
    }
}
