//! Reading an operation by its format.

use piper_ir_format::{Element, Values};

use super::directive::DirectiveReader;
use super::{Format, deal};
use crate::text::lexer::TokenKind;
use crate::text::parser::{Failed, ParseResult, Parser};
use crate::text::ssa_names::OperandName;
use crate::{
    Arity, Attr, AttrConstraint, Block, InferInput, InferTypes, OPERAND_SEGMENTS, OpDef,
    RESULT_SEGMENTS, Region, Trait, Type,
};

/// A range of a list.
#[derive(Clone, Copy, Default, Debug)]
struct Span {
    start: usize,
    len: usize,
}

/// What reading collects before operands can be resolved. Kept by the parser between operations for its memory.
#[derive(Default, Debug)]
pub(in crate::text) struct Reading<'p> {
    /// All operands, in the order of the text, and the part of each declared one.
    operands: Vec<OperandName<'p>>,
    groups: Vec<Span>,
    all_operands: Option<Span>,
    /// All types, in the order of the text, and whose they are.
    types: Vec<Type>,
    operand_types: Vec<Option<Span>>,
    result_types: Vec<Option<Span>>,
    all_operand_types: Option<Span>,
    all_result_types: Option<Span>,
    /// Regions and successors with the declared name they belong to.
    pub(super) regions: Vec<(usize, Region)>,
    pub(super) successors: Vec<(usize, Block)>,
    /// Operand types in order of declaration, to infer from, and the sizes of groups.
    resolved: Vec<Type>,
    sizes: Vec<i64>,
}

impl Format {
    pub(in crate::text) fn parse(&self, p: &mut Parser<'_>, def: &OpDef) -> ParseResult<()> {
        let start = p.token().start;
        let mut reading = p.readings.pop().unwrap_or_default();
        reading.begin(def);
        let parsed = self.parse_with(p, def, &mut reading, start);
        p.readings.push(reading);
        parsed
    }

    fn parse_with<'p>(
        &self,
        p: &mut Parser<'p>,
        def: &OpDef,
        reading: &mut Reading<'p>,
        start: u32,
    ) -> ParseResult<()> {
        for element in &self.elements {
            let errors = p.reporter.error_count();
            let parsed = self.read(element, p, def, reading, false);
            let is_outline =
                !matches!(element, Element::Region(_) | Element::Regions | Element::Type(_));
            if parsed.is_err() && is_outline && p.reporter.error_count() > errors {
                self.suggest_form(p, def);
            }
            parsed?;
        }
        reading.resolve(p, def, start)
    }

    fn read_list<'p>(
        &self,
        elements: &[Element],
        p: &mut Parser<'p>,
        def: &OpDef,
        reading: &mut Reading<'p>,
    ) -> ParseResult<()> {
        elements.iter().try_for_each(|element| self.read(element, p, def, reading, true))
    }

    /// Reads one element. `is_due` says that it must be there even if the declaration lets it be absent: the group has begun.
    fn read<'p>(
        &self,
        element: &Element,
        p: &mut Parser<'p>,
        def: &OpDef,
        reading: &mut Reading<'p>,
        is_due: bool,
    ) -> ParseResult<()> {
        match element {
            Element::Literal(text) => literal(p, text),
            Element::Space(_) => Ok(()),
            Element::Operand(i) => {
                let from = reading.operands.len();
                match def.operands[*i].arity {
                    Arity::Optional | Arity::Variadic if !p.at_operand() => {}
                    Arity::Variadic => reading.operand_list(p)?,
                    _ => reading.operands.push(p.parse_operand()?),
                }
                reading.groups[*i] = Span { start: from, len: reading.operands.len() - from };
                Ok(())
            }
            Element::Operands => {
                let from = reading.operands.len();
                if p.at_operand() {
                    reading.operand_list(p)?;
                }
                reading.all_operands =
                    Some(Span { start: from, len: reading.operands.len() - from });
                Ok(())
            }
            Element::Attr { slot, qualified } => {
                let attr = &def.attrs[*slot];
                if !is_due && !attr.required && !self.begins(element, p, def) {
                    return Ok(());
                }
                let value = match qualified {
                    true => p.parse_attribute()?,
                    false => attr_of(p, &attr.constraint, self.slots[*slot].before_colon)?,
                };
                let name = p.ctx().name(&attr.name);
                p.state().attrs.push((name, value));
                Ok(())
            }
            Element::SymbolName(slot) => {
                let attr = &def.attrs[*slot];
                if !is_due && !attr.required && !p.at(TokenKind::At) {
                    return Ok(());
                }
                let symbol = p.parse_symbol_name()?;
                let value = p.ctx().str_attr(symbol.text(p.ctx()));
                let name = p.ctx().name(&attr.name);
                p.state().attrs.push((name, value));
                Ok(())
            }
            Element::Region(i) => {
                let arity = def.regions[*i].arity;
                if arity != Arity::One && !p.at(TokenKind::LBrace) {
                    return Ok(());
                }
                reading.region(p, *i)?;
                while arity == Arity::Variadic && p.eat(TokenKind::Comma) {
                    reading.region(p, *i)?;
                }
                Ok(())
            }
            Element::Regions => {
                let mut count = 0;
                while p.at(TokenKind::LBrace) {
                    reading.region(p, count)?;
                    count += 1;
                    if !p.eat(TokenKind::Comma) {
                        break;
                    }
                }
                Ok(())
            }
            Element::Successor(i) => {
                let arity = def.successors[*i].arity;
                if arity != Arity::One && !p.at(TokenKind::Caret) {
                    return Ok(());
                }
                reading.successors.push((*i, p.parse_successor()?));
                while arity == Arity::Variadic && p.eat(TokenKind::Comma) {
                    reading.successors.push((*i, p.parse_successor()?));
                }
                Ok(())
            }
            Element::Successors => {
                let mut count = 0;
                while p.at(TokenKind::Caret) {
                    reading.successors.push((count, p.parse_successor()?));
                    count += 1;
                    if !p.eat(TokenKind::Comma) {
                        break;
                    }
                }
                Ok(())
            }
            Element::AttrDictWithKeyword => match p.eat_keyword("attributes") {
                true => p.parse_optional_attributes(),
                false => Ok(()),
            },
            Element::AttrDict => p.parse_optional_attributes(),
            Element::PropDict => {
                if p.eat(TokenKind::Less) {
                    p.parse_optional_attributes()?;
                    p.expect(TokenKind::Greater, "'>' after the properties")?;
                }
                Ok(())
            }
            Element::Type(values) => {
                let is_one = match values {
                    Values::Operand(i) => def.operands[*i].arity != Arity::Variadic,
                    Values::Result(i) => def.results[*i].arity != Arity::Variadic,
                    _ => false,
                };
                let from = reading.types.len();
                if is_one {
                    let is_optional = match values {
                        Values::Operand(i) => def.operands[*i].arity == Arity::Optional,
                        Values::Result(i) => def.results[*i].arity == Arity::Optional,
                        _ => false,
                    };
                    match is_optional && !is_due {
                        true => reading.types.extend(p.parse_optional_type()?),
                        false => reading.types.push(p.parse_type()?),
                    }
                } else if let Some(first) = p.parse_optional_type()? {
                    reading.types.push(first);
                    while p.eat(TokenKind::Comma) {
                        reading.types.push(p.parse_type()?);
                    }
                }
                reading.note_types(*values, from);
                Ok(())
            }
            Element::ResultTypes => {
                if p.eat(TokenKind::Colon) {
                    let inputs = match p.at(TokenKind::LParen) {
                        true => p.parse_type_list()?,
                        false => vec![p.parse_type()?],
                    };
                    reading.add_types(Values::Operands, &inputs);
                }
                reading.result_list(p, Values::Results)
            }
            Element::FunctionalType(inputs, results) => {
                let types = p.parse_type_list()?;
                reading.add_types(*inputs, &types);
                reading.result_list(p, *results)
            }
            Element::Group { then, otherwise, .. } => {
                let first = then.iter().find(|element| !matches!(element, Element::Space(_)));
                match first.is_some_and(|first| self.begins(first, p, def)) {
                    true => self.read_list(then, p, def, reading),
                    false => self.read_list(otherwise, p, def, reading),
                }
            }
            Element::Oilist(clauses) => self.oilist(clauses, p, def, reading),
            Element::Custom { directive, arguments } => {
                let mut reader = DirectiveReader { def, arguments, reading };
                (def.directives[*directive].parse)(p, &mut reader)
            }
        }
    }

    fn oilist<'p>(
        &self,
        clauses: &[Vec<Element>],
        p: &mut Parser<'p>,
        def: &OpDef,
        reading: &mut Reading<'p>,
    ) -> ParseResult<()> {
        let mut seen = vec![false; clauses.len()];
        while let Some(i) = clauses.iter().position(|clause| self.begins(&clause[0], p, def)) {
            if std::mem::replace(&mut seen[i], true) {
                let word = p.text(p.token());
                return Err(p.error(format!("'{word}' is given twice")));
            }
            self.read_list(&clauses[i], p, def, reading)?;
        }
        Ok(())
    }

    /// Whether the next token begins this element: decides about an optional group.
    fn begins(&self, element: &Element, p: &Parser<'_>, def: &OpDef) -> bool {
        match element {
            Element::Literal(text) => p.text(p.token()) == text,
            Element::Operand(_) | Element::Operands => p.at_operand(),
            Element::SymbolName(_) => p.at(TokenKind::At),
            Element::Region(_) | Element::Regions | Element::AttrDict => p.at(TokenKind::LBrace),
            Element::Successor(_) | Element::Successors => p.at(TokenKind::Caret),
            Element::PropDict => p.at(TokenKind::Less),
            Element::Type(_) => {
                use TokenKind::{Bang, BareId, LParen};
                [Bang, BareId, LParen].into_iter().any(|kind| p.at(kind))
            }
            Element::Custom { .. } => {
                use TokenKind::{Colon, Comma, Eof, Greater, RBrace, RParen, RSquare};
                !p.token().first_of_line
                    && ![Colon, Comma, Eof, Greater, RBrace, RParen, RSquare]
                        .into_iter()
                        .any(|kind| p.at(kind))
            }
            Element::Attr { slot, qualified } => {
                if *qualified {
                    return p.at(TokenKind::Hash);
                }
                match &def.attrs[*slot].constraint {
                    AttrConstraint::Symbol => p.at(TokenKind::At),
                    AttrConstraint::Str => p.at(TokenKind::String),
                    AttrConstraint::Int => p.at(TokenKind::Integer) || p.at(TokenKind::Minus),
                    AttrConstraint::Number | AttrConstraint::Float => {
                        use TokenKind::{Float, Integer, Minus};
                        [Integer, Float, Minus].into_iter().any(|kind| p.at(kind))
                    }
                    AttrConstraint::Bool => p.at_keyword("true") || p.at_keyword("false"),
                    AttrConstraint::Array => p.at(TokenKind::LSquare),
                    AttrConstraint::Dict => p.at(TokenKind::LBrace),
                    AttrConstraint::IntArray => p.at_keyword("array"),
                    AttrConstraint::Enum(cases) => {
                        let text = p.text(p.token());
                        cases.contains(&text.trim_matches('"'))
                    }
                    AttrConstraint::Dialect(_) => p.at(TokenKind::Less) || p.at(TokenKind::Hash),
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

impl<'p> Reading<'p> {
    fn begin(&mut self, def: &OpDef) {
        self.operands.clear();
        self.groups.clear();
        self.groups.resize(def.operands.len(), Span::default());
        self.types.clear();
        self.operand_types.clear();
        self.operand_types.resize(def.operands.len(), None);
        self.result_types.clear();
        self.result_types.resize(def.results.len(), None);
        (self.all_operands, self.all_operand_types, self.all_result_types) = (None, None, None);
        self.regions.clear();
        self.successors.clear();
        self.resolved.clear();
        self.sizes.clear();
    }

    fn operand_list(&mut self, p: &mut Parser<'p>) -> ParseResult<()> {
        loop {
            self.operands.push(p.parse_operand()?);
            if !p.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn region(&mut self, p: &mut Parser<'p>, group: usize) -> ParseResult<()> {
        let isolated = p.state_has(Trait::IsolatedFromAbove);
        let region = p.parse_body(isolated, &[])?;
        self.regions.push((group, region));
        Ok(())
    }

    fn result_list(&mut self, p: &mut Parser<'p>, values: Values) -> ParseResult<()> {
        p.expect(TokenKind::Arrow, "'->' and the result types")?;
        let types = p.parse_function_results()?;
        self.add_types(values, &types);
        Ok(())
    }

    pub(super) fn add_operands(&mut self, group: usize, names: &[OperandName<'p>]) {
        self.groups[group] = Span { start: self.operands.len(), len: names.len() };
        self.operands.extend(names);
    }

    pub(super) fn add_types(&mut self, values: Values, types: &[Type]) {
        let from = self.types.len();
        self.types.extend(types);
        self.note_types(values, from);
    }

    fn note_types(&mut self, values: Values, from: usize) {
        let span = Some(Span { start: from, len: self.types.len() - from });
        match values {
            Values::Operand(i) => self.operand_types[i] = span,
            Values::Result(i) => self.result_types[i] = span,
            Values::Operands => self.all_operand_types = span,
            Values::Results => self.all_result_types = span,
        }
    }

    pub(super) fn types_of(&self, values: Values) -> &[Type] {
        let span = match values {
            Values::Operand(i) => self.operand_types[i],
            Values::Result(i) => self.result_types[i],
            Values::Operands => self.all_operand_types,
            Values::Results => self.all_result_types,
        };
        span.map_or(&[], |span| &self.types[span.start..span.start + span.len])
    }

    /// Gives every operand its type, and the operation its operands, results, regions and successors.
    fn resolve(&mut self, p: &mut Parser<'p>, def: &OpDef, start: u32) -> ParseResult<()> {
        self.resolve_operands(p, def, start)?;
        self.push_sizes(p, &def.operands, OPERAND_SEGMENTS);
        self.resolve_results(p, def, start)?;
        // The text may have them in any order; the operation has them in that of the declaration.
        self.regions.sort_by_key(|(group, _)| *group);
        self.successors.sort_by_key(|(group, _)| *group);
        let state = p.state();
        state.regions.extend(self.regions.iter().map(|(_, region)| *region));
        state.successors.extend(self.successors.iter().map(|(_, block)| *block));
        Ok(())
    }

    fn resolve_operands(&mut self, p: &mut Parser<'p>, def: &OpDef, start: u32) -> ParseResult<()> {
        if let Some(all) = self.all_operands {
            let (sizes, fits) = deal(all.len, def.operands.iter().map(|operand| operand.arity));
            if !fits {
                let (name, count) = (&def.name, all.len);
                return Err(p.error_at(start, format!("'{name}' does not take {count} operand(s)")));
            }
            let mut at = all.start;
            for (group, len) in self.groups.iter_mut().zip(sizes) {
                *group = Span { start: at, len };
                at += len;
            }
        }
        let count: usize = self.groups.iter().map(|group| group.len).sum();
        // What stands for the types that are not written, if the operation has only one.
        let only_type = def
            .has(Trait::SameOperandsAndResultType)
            .then(|| self.types.first().copied())
            .flatten();
        if let Some(all) = self.all_operand_types
            && all.len != count
        {
            return Err(p.error_at(start, format!("{count} operand(s) but {} type(s)", all.len)));
        }
        for i in 0..self.groups.len() {
            let group = self.groups[i];
            let given = match (self.all_operand_types, self.operand_types[i]) {
                (Some(all), _) => Some(all.start + self.resolved.len()),
                (None, Some(given)) if given.len != group.len => {
                    let name = &def.operands[i].name;
                    let (values, types) = (group.len, given.len);
                    return Err(p.error_at(
                        start,
                        format!("operand '{name}': {values} operand(s) but {types} type(s)"),
                    ));
                }
                (None, Some(given)) => Some(given.start),
                (None, None) => None,
            };
            for k in 0..group.len {
                let operand = self.operands[group.start + k];
                let (value, ty) = match given.map(|first| self.types[first + k]).or(only_type) {
                    Some(ty) => (p.resolve(operand, ty)?, ty),
                    // No type is written: it is that of the value, which must be defined before.
                    None => {
                        let value = p.lookup(operand)?;
                        (value, p.module().ty(value))
                    }
                };
                p.state().operands.push(value);
                self.resolved.push(ty);
            }
        }
        self.sizes.extend(self.groups.iter().map(|group| group.len as i64));
        Ok(())
    }

    fn resolve_results(&mut self, p: &mut Parser<'p>, def: &OpDef, start: u32) -> ParseResult<()> {
        if let Some(all) = self.all_result_types {
            let (sizes, fits) = deal(all.len, def.results.iter().map(|result| result.arity));
            // A wrong count is the verifier's to report; sizes are needed only where it fits.
            self.sizes.clear();
            self.sizes.extend(sizes.map(|size| size as i64));
            p.state().result_types.extend(&self.types[all.start..all.start + all.len]);
            if fits {
                self.push_sizes(p, &def.results, RESULT_SEGMENTS);
            }
            return Ok(());
        }
        let is_known = |(given, result): (&Option<Span>, &crate::ValueDef)| {
            given.is_some() || result.arity != Arity::One
        };
        let knows_all = self.result_types.iter().zip(&def.results).all(is_known);
        if !knows_all && let Some(InferTypes(infer)) = def.interface() {
            let ctx = p.ctx();
            let input = InferInput {
                ctx,
                def,
                operands: &self.resolved,
                sizes: &self.sizes,
                attrs: &p.state().attrs,
            };
            match infer(&input) {
                Ok(types) => p.state().result_types.extend(types),
                Err(reason) => return Err(p.error_at(start, format!("'{}': {reason}", def.name))),
            }
            return Ok(());
        }
        let first = self.resolved.first().copied();
        self.sizes.clear();
        for (given, result) in self.result_types.iter().zip(&def.results) {
            let before = p.state().result_types.len();
            match given {
                Some(given) => {
                    p.state()
                        .result_types
                        .extend(&self.types[given.start..given.start + given.len]);
                }
                None if def.has(Trait::SameOperandsAndResultType) && result.arity == Arity::One => {
                    p.state().result_types.extend(first);
                }
                None => {}
            }
            self.sizes.push((p.state().result_types.len() - before) as i64);
        }
        self.push_sizes(p, &def.results, RESULT_SEGMENTS);
        Ok(())
    }

    /// Adds the sizes of groups where they do not follow from the count.
    fn push_sizes(&self, p: &mut Parser<'p>, groups: &[crate::ValueDef], name: &str) {
        if groups.iter().filter(|group| group.arity != Arity::One).count() > 1 {
            let entry = (p.ctx().name(name), p.ctx().i32_array_attr(&self.sizes));
            p.state().attrs.push(entry);
        }
    }
}

/// Reads an attribute in the form its constraint allows: enumerations as words, units by presence, a dialect's attribute
/// without its name.
fn attr_of(
    p: &mut Parser<'_>,
    constraint: &AttrConstraint,
    before_colon: bool,
) -> ParseResult<Attr> {
    match constraint {
        AttrConstraint::Unit => Ok(p.ctx().unit()),
        AttrConstraint::Enum(cases) => {
            let start = p.token().start;
            let word = match p.at(TokenKind::String) {
                true => p.parse_string()?.into(),
                false => std::borrow::Cow::Borrowed(p.parse_keyword(&constraint.describe())?),
            };
            if !cases.contains(&&*word) {
                let hint = crate::diag::did_you_mean(&word, cases.iter().copied())
                    .map(|c| format!("did you mean '{c}'?"));
                p.report_at(start, format!("expected {}, found '{word}'", constraint.describe()))
                    .hint = hint;
                return Err(Failed);
            }
            Ok(p.ctx().str_attr(&word))
        }
        AttrConstraint::Symbol if p.at(TokenKind::BareId) => {
            let word = p.text(p.token());
            let failed = p.expected("a symbol name (@name)");
            if let Some(error) = p.reporter.last_mut() {
                error.hint(format!("did you mean @{word}?"));
            }
            Err(failed)
        }
        AttrConstraint::Dialect(full) if !p.at(TokenKind::Hash) => {
            let ctx = p.ctx();
            let name = ctx.name(full);
            match ctx.attr_def(name) {
                Some(def) => {
                    let params = def.parse(p)?;
                    Ok(ctx.attr(crate::AttrData::Dialect { name, params: params.into() }))
                }
                None => p.parse_attribute(),
            }
        }
        // A string or number whose type cannot stand behind a ':', as that is another element's.
        AttrConstraint::Str if p.at(TokenKind::String) => {
            let text = p.parse_string()?;
            Ok(p.ctx().str_attr(&text))
        }
        _ if before_colon && p.at(TokenKind::String) => {
            let text = p.parse_string()?;
            Ok(p.ctx().str_attr(&text))
        }
        _ if before_colon => match p.token().kind {
            TokenKind::Integer | TokenKind::Float | TokenKind::Minus => p.parse_plain_number(),
            _ => p.parse_attribute(),
        },
        _ => p.parse_attribute(),
    }
}

fn literal(p: &mut Parser<'_>, text: &str) -> ParseResult<()> {
    if p.text(p.token()) == text {
        p.advance();
        return Ok(());
    }
    Err(p.expected(&format!("'{text}'")))
}
