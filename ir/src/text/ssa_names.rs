//! Names of values and blocks while reading: scopes, forward references, result packs.

use rustc_hash::{FxHashMap, FxHashSet};

use super::lexer::TokenKind;
use super::parser::{Failed, ParseResult, Parser};
use crate::diag::did_you_mean;
use crate::{Block, OpState, Type, Value};

/// After so many errors no more time is spent on finding what was meant.
const SEARCHED_ERRORS: usize = 16;

/// A use of a value as written, `%name` or `%name#index`, before its type is known.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct OperandName<'p> {
    pub name: &'p str,
    pub index: u32,
    pub offset: u32,
}

/// A defined name: consecutive values.
#[derive(Clone, Copy, Debug)]
struct Definition {
    first: Value,
    count: u32,
    offset: u32,
}

/// A use before definition.
#[derive(Clone, Copy, Debug)]
struct Forward {
    placeholder: Value,
    offset: u32,
}

/// What the names in scope stand for. Most names are numbers that count up, and are found by position.
#[derive(Default, Debug)]
struct Definitions<'p> {
    numbered: Vec<Option<Definition>>,
    named: FxHashMap<&'p str, Definition>,
}

/// The number that a name (`%12`) is, if it is one that is written so when printed.
fn number_of(name: &str) -> Option<usize> {
    let digits = &name.as_bytes()[1..];
    if digits.len() > 9 || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    digits.iter().try_fold(0usize, |number, &digit| match digit {
        b'0'..=b'9' => Some(10 * number + usize::from(digit - b'0')),
        _ => None,
    })
}

impl<'p> Definitions<'p> {
    /// The slot of a number, unless it is so far ahead of the others that a table would be mostly empty.
    fn slot(&mut self, name: &str) -> Option<&mut Option<Definition>> {
        let number = number_of(name)?;
        if number >= self.numbered.len() {
            if number > 2 * self.numbered.len() + 64 {
                return None;
            }
            self.numbered.resize((number + 1).max(2 * self.numbered.len()), None);
        }
        Some(&mut self.numbered[number])
    }

    fn get(&self, name: &str) -> Option<Definition> {
        let numbered = number_of(name).and_then(|number| *self.numbered.get(number)?);
        numbered.or_else(|| self.named.get(name).copied())
    }

    /// Defines a name, or returns what it stands for already.
    fn insert(&mut self, name: &'p str, definition: Definition) -> Result<(), Definition> {
        // A number may have been entered by its text when the table was too short for it.
        if let Some(known) = self.get(name) {
            return Err(known);
        }
        match self.slot(name) {
            Some(slot) => *slot = Some(definition),
            None => {
                self.named.insert(name, definition);
            }
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) {
        let slot = number_of(name).and_then(|number| self.numbered.get_mut(number));
        if slot.and_then(Option::take).is_none() {
            self.named.remove(name);
        }
    }

    fn named(&self) -> impl Iterator<Item = &'p str> + '_ {
        self.named.keys().copied()
    }
}

/// The names visible inside one isolated operation.
#[derive(Default, Debug)]
struct Isolated<'p> {
    /// Where the operation's region begins.
    start: u32,
    defined: Definitions<'p>,
    forward: FxHashMap<(&'p str, u32), Forward>,
    /// Results of operations that failed to parse: their uses are not reported again.
    poisoned: FxHashSet<&'p str>,
    /// Names defined in each open region, innermost last.
    regions: Vec<Vec<&'p str>>,
}

/// Blocks of a region by name.
#[derive(Default, Debug)]
pub(super) struct BlockNames<'p> {
    blocks: FxHashMap<&'p str, (Block, u32, bool)>,
}

#[derive(Debug)]
pub(super) struct Names<'p> {
    isolated: Vec<Isolated<'p>>,
    pub(super) blocks: Vec<BlockNames<'p>>,
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self {
            isolated: vec![Isolated { regions: vec![Vec::new()], ..Default::default() }],
            blocks: Vec::new(),
        }
    }
}

impl<'p> Names<'p> {
    fn top(&mut self) -> &mut Isolated<'p> {
        self.isolated.last_mut().expect("a scope is open")
    }
}

impl<'p> Parser<'p> {
    /// Opens the scope of a region; an isolated one sees no outer names.
    pub(super) fn open_scope(&mut self, isolated: bool) {
        if isolated {
            let start = self.tok.start;
            self.names.isolated.push(Isolated { start, ..Isolated::default() });
        }
        self.names.top().regions.push(Vec::new());
        self.names.blocks.push(BlockNames::default());
    }

    /// Closes the innermost scope. Names still undefined are errors if no outer scope can define them.
    pub(super) fn close_scope(&mut self, isolated: bool) -> ParseResult<()> {
        let blocks = self.names.blocks.pop().expect("a scope is open");
        let mut result = Ok(());
        let mut missing: Vec<_> =
            blocks.blocks.into_iter().filter(|(_, (_, _, defined))| !defined).collect();
        missing.sort_by_key(|(_, (_, offset, _))| *offset);
        for (name, (_, offset, _)) in missing {
            result =
                Err(self.error_at(offset, format!("reference to an undefined block '{name}'")));
        }
        if isolated {
            // With the names still known: they are suggested for those that are not.
            result = self.finish_names().and(result);
        } else {
            let top = self.names.top();
            for name in top.regions.pop().expect("a region is open") {
                top.defined.remove(name);
            }
        }
        result
    }

    /// Reports the undefined names of the innermost isolated scope and drops it.
    pub(super) fn finish_names(&mut self) -> ParseResult<()> {
        let mut scope = self.names.isolated.pop().expect("a scope is open");
        let mut undefined: Vec<_> = std::mem::take(&mut scope.forward)
            .into_iter()
            .filter(|((name, _), _)| !scope.poisoned.contains(name))
            .collect();
        undefined.sort_by_key(|(_, forward)| forward.offset);
        let failed = !undefined.is_empty();
        for ((name, _), forward) in undefined {
            self.report_undeclared(name, forward.offset, &scope);
        }
        if failed { Err(Failed) } else { Ok(()) }
    }

    fn report_undeclared(&mut self, name: &str, offset: u32, scope: &Isolated<'p>) {
        let ended = self.definition_in_text(name, scope.start, offset).map(|at| self.loc_at(at));
        // Compared with all names only for the first errors of a file.
        let is_early = self.reporter.error_count() <= SEARCHED_ERRORS;
        let close = is_early.then(|| did_you_mean(name, scope.defined.named())).flatten();
        let report = self.report_at(offset, format!("use of undeclared SSA value name '{name}'"));
        if let Some(ended) = ended {
            report
                .note(ended, "defined here, in a region that has ended")
                .hint("a value leaves its region only as a result of the operation around it");
        } else {
            report.hint = Some(match close {
                Some(close) => format!("did you mean '{close}'?"),
                None => "define it before it is used".to_owned(),
            });
        }
    }

    /// Where a name that is not in scope was defined between two offsets. Found by reading again, which is done only for
    /// the first errors of a file.
    fn definition_in_text(&self, name: &str, from: u32, to: u32) -> Option<u32> {
        if self.reporter.error_count() > SEARCHED_ERRORS {
            return None;
        }
        let mut lexer = self.lexer.clone();
        lexer.at = from as usize;
        let mut token = lexer.next();
        while token.start < to && token.kind != TokenKind::Eof {
            let next = lexer.next();
            // As a result (`%a =`, `%a, %b =`, `%a:2 =`) or as an argument (`%a: type`); an operand before its type looks
            // like one, but stands behind.
            let defines = matches!(next.kind, TokenKind::Equal | TokenKind::Colon)
                || (token.first_of_line && next.kind == TokenKind::Comma);
            if token.kind == TokenKind::Percent && defines && self.text(token) == name {
                return Some(token.start);
            }
            token = next;
        }
        None
    }

    /// Reads `%name` or `%name#index`.
    pub fn parse_operand(&mut self) -> ParseResult<OperandName<'p>> {
        let token = self.expect(TokenKind::Percent, "an SSA operand (%name)")?;
        let mut index = 0;
        // `%x#1` lexes as `%x` and `#1`; they need not touch.
        if self.at(TokenKind::Hash)
            && self.text(self.token())[1..].bytes().all(|b| b.is_ascii_digit())
        {
            let number = self.advance();
            index = self.text(number)[1..]
                .parse()
                .map_err(|_| self.error_at(number.start, "expected a result number after '#'"))?;
        }
        Ok(OperandName { name: self.text(token), index, offset: token.start })
    }

    /// Whether the next token begins an operand.
    pub fn at_operand(&self) -> bool {
        self.at(TokenKind::Percent)
    }

    /// Reads operands separated by commas; none if the next token begins none.
    pub fn parse_operands(&mut self) -> ParseResult<Vec<OperandName<'p>>> {
        let mut operands = Vec::new();
        if self.at_operand() {
            loop {
                operands.push(self.parse_operand()?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        Ok(operands)
    }

    /// The value of an operand as written, which must have type `ty`. A name not yet defined gets a placeholder.
    pub fn resolve(&mut self, operand: OperandName<'p>, ty: Type) -> ParseResult<Value> {
        let OperandName { name, index, offset } = operand;
        let top = self.names.top();
        if let Some(definition) = top.defined.get(name) {
            if index >= definition.count {
                let message = format!(
                    "'{name}' has {} value(s), so '{name}#{index}' does not exist",
                    definition.count
                );
                let defined = self.loc_at(definition.offset);
                self.report_at(offset, message).note(defined, "defined here");
                return Err(Failed);
            }
            let value = Value(definition.first.0 + index);
            let known = self.module.ty(value);
            if known != ty {
                let (ty, known) = (ty.display(self.ctx), known.display(self.ctx));
                let defined = self.loc_at(definition.offset);
                self.report_at(
                    offset,
                    format!("use of '{name}' expects type {ty}, but it has type {known}"),
                )
                .note(defined, "defined here");
                return Err(Failed);
            }
            return Ok(value);
        }
        if !top.poisoned.is_empty() && top.poisoned.contains(name) {
            return Err(Failed);
        }
        if let Some(forward) = top.forward.get(&(name, index)) {
            let (value, first) = (forward.placeholder, forward.offset);
            if self.module.ty(value) != ty {
                let (ty, known) = (ty.display(self.ctx), self.module.ty(value).display(self.ctx));
                let first = self.loc_at(first);
                self.report_at(
                    offset,
                    format!(
                        "use of '{name}' expects type {ty}, but an earlier use has type {known}"
                    ),
                )
                .note(first, "earlier use here");
                return Err(Failed);
            }
            return Ok(value);
        }
        let state = OpState::new(
            self.ctx.op_name("builtin.unrealized_conversion_cast"),
            self.ctx.unknown_loc(),
        )
        .results([ty]);
        let op = self.module.create(state);
        let placeholder = self.module.result(op, 0);
        self.names.top().forward.insert((name, index), Forward { placeholder, offset });
        Ok(placeholder)
    }

    /// The value a name stands for, if it is already defined: for custom syntax that infers types.
    pub fn lookup(&mut self, operand: OperandName<'p>) -> ParseResult<Value> {
        let OperandName { name, index, offset } = operand;
        let top = self.names.top();
        match top.defined.get(name) {
            Some(d) if index < d.count => Ok(Value(d.first.0 + index)),
            _ if top.poisoned.contains(name) => Err(Failed),
            _ => {
                let scope = std::mem::take(self.names.top());
                self.report_undeclared(name, offset, &scope);
                *self.names.top() = scope;
                Err(Failed)
            }
        }
    }

    /// Binds a name to consecutive values.
    pub(super) fn define(
        &mut self,
        name: &'p str,
        offset: u32,
        first: Value,
        count: u32,
    ) -> ParseResult<()> {
        let definition = Definition { first, count, offset };
        if let Err(previous) = self.names.top().defined.insert(name, definition) {
            let loc = self.loc_at(previous.offset);
            self.report_at(offset, format!("redefinition of SSA value '{name}'"))
                .note(loc, "previously defined here")
                .hint("give one of the two another name");
            return Err(Failed);
        }
        let top = self.names.top();
        if !top.poisoned.is_empty() {
            top.poisoned.remove(name);
        }
        if !top.forward.is_empty() {
            for index in 0..count {
                let Some(forward) = self.names.top().forward.remove(&(name, index)) else {
                    continue;
                };
                let value = Value(first.0 + index);
                let (used, ty) = (self.module.ty(forward.placeholder), self.module.ty(value));
                if used != ty {
                    let message = format!(
                        "'{name}' is defined with type {}, but was used with type {}",
                        ty.display(self.ctx),
                        used.display(self.ctx)
                    );
                    let loc = self.loc_at(forward.offset);
                    self.report_at(offset, message).note(loc, "used here");
                    return Err(Failed);
                }
                self.module.replace_uses(forward.placeholder, value);
            }
        }
        self.names.top().regions.last_mut().expect("a region is open").push(name);
        // Numbers are positions, not names; they are made anew when printing.
        if !name.as_bytes()[1].is_ascii_digit() {
            let plain = self.name_of(&name[1..]);
            for index in 0..count {
                self.module.set_value_name(Value(first.0 + index), plain);
            }
        }
        Ok(())
    }

    /// Marks the names, from `base` on, of an operation that failed to parse.
    pub(super) fn poison(&mut self, base: usize) {
        let Self { names, scratch, .. } = self;
        names.top().poisoned.extend(scratch.results[base..].iter().map(|result| result.name));
    }

    /// The block of a name in the innermost region, created when first mentioned.
    pub(super) fn block_named(&mut self, name: &'p str, offset: u32) -> Block {
        let known = self.names.blocks.last().and_then(|b| b.blocks.get(name)).map(|b| b.0);
        known.unwrap_or_else(|| {
            let block = self.module.create_block();
            if let Some(names) = self.names.blocks.last_mut() {
                names.blocks.insert(name, (block, offset, false));
            }
            block
        })
    }

    /// The block of a label; defining it twice is an error.
    pub(super) fn define_block(&mut self, name: &'p str, offset: u32) -> ParseResult<Block> {
        let block = self.block_named(name, offset);
        let entry = self.names.blocks.last_mut().and_then(|b| b.blocks.get_mut(name));
        match entry {
            Some((_, first, defined)) => {
                if std::mem::replace(defined, true) {
                    let first = *first;
                    let loc = self.loc_at(first);
                    self.report_at(offset, format!("redefinition of block '{name}'"))
                        .note(loc, "previously defined here");
                    return Err(Failed);
                }
                *first = offset;
                Ok(block)
            }
            None => Ok(block),
        }
    }
}
