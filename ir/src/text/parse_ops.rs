//! Reading operations, regions and blocks.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::lexer::TokenKind;
use super::parse_locs::ArgLoc;
use super::parser::{Failed, ParseResult, Parser, ResultName};
use super::ssa_names::OperandName;
use crate::diag::did_you_mean;
use crate::opdef::Syntax;
use crate::{
    Attr, Block, Context, Loc, Module, Name, Op, OpName, OpState, Region, Reporter, SourceFile,
    Trait, Type, Value,
};

/// Reads a source into a module. What is wrong goes to `reporter`; reading goes on at the next operation after an error,
/// so that all errors are found. The module is returned only if there was none.
pub fn parse_module(
    ctx: &Arc<Context>,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Option<Module> {
    let mut module = parse_body(ctx, source, reporter)?;
    // A file that is one module is that module, not a module in a module.
    if let [only] = module.top_level()[..]
        && module.name_text(only) == "builtin.module"
    {
        module.detach(only);
        module.set_root(only);
    }
    Some(module)
}

/// As [`parse_module`], without a module around what is read: the one operation of the source becomes the root.
pub fn parse_without_module(
    ctx: &Arc<Context>,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Option<Module> {
    let mut module = parse_body(ctx, source, reporter)?;
    let ops = module.top_level();
    let [only] = ops[..] else {
        let loc = ops.get(1).map_or(ctx.file_loc(&source.name, 1, 1), |op| module.op_loc(*op));
        let message = format!("expected one top-level operation, found {}", ops.len());
        reporter.error(loc, message).hint("put a module around them");
        return None;
    };
    module.detach(only);
    module.set_root(only);
    Some(module)
}

/// The operations of a source, in a module made for them.
fn parse_body(
    ctx: &Arc<Context>,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Option<Module> {
    let mut module = Module::new(Arc::clone(ctx));
    // An operation a line, as printed text has it. Room that is not used is not touched.
    module.reserve(source.num_lines());
    let mut parser = Parser::new(ctx, source, module);
    parser.top_level();
    let Parser { module, reporter: mut found, .. } = parser;
    let failed = found.error_count() > 0;
    for diagnostic in found.take() {
        reporter.report(diagnostic);
    }
    (!failed).then_some(module)
}

/// An argument of a region's entry block as written by custom syntax.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct EntryArg<'p> {
    pub name: OperandName<'p>,
    pub ty: Type,
    /// What [`Parser::parse_arg_location`] read behind it.
    pub loc: Option<ArgLoc<'p>>,
}

impl<'p> Parser<'p> {
    fn top_level(&mut self) {
        let body = self.module.body();
        while !self.at(TokenKind::Eof) {
            let before = self.tok.start;
            self.operation_start = before;
            let parsed = match self.tok.kind {
                TokenKind::Hash | TokenKind::Bang => self.alias_definition(),
                TokenKind::MetadataBegin => self.file_metadata(),
                // After an error the brace may belong to a region whose beginning did not read.
                TokenKind::RBrace if self.reporter.error_count() > 0 => Err(Failed),
                TokenKind::RBrace => {
                    self.report_at(before, "expected an operation, found '}'")
                        .hint("no '{' is open here");
                    Err(Failed)
                }
                _ => self.operation(body),
            };
            if parsed.is_err() {
                if self.tok.start == before {
                    self.advance();
                }
                self.synchronise(0);
                while self.at(TokenKind::RBrace) {
                    self.advance();
                    self.synchronise(0);
                }
            }
        }
        // Failure is already reported.
        let _ = self.finish_names();
        self.finish_locations();
    }

    fn alias_definition(&mut self) -> ParseResult<()> {
        let token = self.advance();
        let name = &self.text(token)[1..];
        if name.contains('.') {
            return Err(self.error_at(token.start, "alias names may not contain '.'"));
        }
        self.expect(TokenKind::Equal, "'=' in an alias definition")?;
        // Only what operations use is written out; a definition counts by itself.
        let (start, expanded) = (self.tok.start, std::mem::take(&mut self.expanded_bytes));
        let fresh = if token.kind == TokenKind::Hash {
            let attr = self.parse_attribute()?;
            self.attr_aliases.insert(name, attr).is_none()
        } else {
            let ty = self.parse_type()?;
            self.type_aliases.insert(name, ty).is_none()
        };
        let inside = std::mem::replace(&mut self.expanded_bytes, expanded);
        let bytes = inside.saturating_add(u64::from(self.previous_end - start));
        self.alias_bytes.insert(self.text(token), bytes);
        if fresh {
            Ok(())
        } else {
            Err(self.error_at(token.start, format!("redefinition of alias '{name}'")))
        }
    }

    /// Notes that an alias (its name with the sigil) is used. Aliases of aliases can stand for text that grows
    /// exponentially with the file's; that much is refused.
    pub(super) fn expand_alias(&mut self, alias: &str, at: u32) -> ParseResult<()> {
        let bytes = self.alias_bytes.get(alias).copied().unwrap_or_default();
        self.expanded_bytes = self.expanded_bytes.saturating_add(bytes);
        let most = (16 << 20) + 1000 * self.source.text.len() as u64;
        if self.expanded_bytes <= most {
            return Ok(());
        }
        Err(self.error_at(
            at,
            format!("the aliases up to '{alias}' stand for more than {most} bytes of text"),
        ))
    }

    /// Skips to where the next operation can begin: the first token of a line where `braces` are open, or the brace that
    /// closes them.
    fn synchronise(&mut self, braces: u32) {
        loop {
            match self.tok.kind {
                TokenKind::Eof => return,
                TokenKind::RBrace if self.braces <= braces => return,
                TokenKind::Percent | TokenKind::String | TokenKind::BareId | TokenKind::Caret
                    if self.braces <= braces && self.tok.first_of_line =>
                {
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Reads operations into `block` until `}` or a block label.
    fn operations(&mut self, block: Block, open: u32) -> ParseResult<()> {
        let mut result = Ok(());
        let braces = self.braces;
        loop {
            match self.tok.kind {
                TokenKind::RBrace | TokenKind::Caret => return result,
                // After an error the missing brace may be one that was skipped.
                TokenKind::Eof if result.is_err() => return result,
                TokenKind::Eof => {
                    let opened = self.loc_at(open);
                    self.expected("'}' at the end of a region");
                    if let Some(error) = self.reporter.last_mut() {
                        error.note(opened, "the region begins here").hint("close it with '}'");
                    }
                    return Err(Failed);
                }
                _ => {}
            }
            let before = self.tok.start;
            if self.operation(block).is_err() {
                result = Err(Failed);
                if self.tok.start == before {
                    self.advance();
                }
                self.synchronise(braces);
            }
        }
    }

    fn operation(&mut self, block: Block) -> ParseResult<()> {
        self.operation_start = self.tok.start;
        let base = self.scratch.results.len();
        let result = self.named_operation(block, base);
        if result.is_err() {
            self.poison(base);
        }
        self.scratch.results.truncate(base);
        result
    }

    fn named_operation(&mut self, block: Block, base: usize) -> ParseResult<()> {
        self.result_names()?;
        let end = self.scratch.results.len();
        let op = self.operation_body(base)?;
        self.module.append(block, op);
        let mut first = 0;
        for i in base..end {
            let ResultName { name, count, offset } = self.scratch.results[i];
            let value = self.module.result(op, first);
            self.define(name, offset, value, count)?;
            first += count as usize;
        }
        Ok(())
    }

    fn result_names(&mut self) -> ParseResult<()> {
        if !self.at(TokenKind::Percent) {
            return Ok(());
        }
        loop {
            let token = self.expect(TokenKind::Percent, "a result name (%name)")?;
            let mut count = 1;
            if self.eat(TokenKind::Colon) {
                let at = self.tok.start;
                count = self.parse_integer()?;
                if count < 1 {
                    return Err(
                        self.error_at(at, "expected named operation to have at least 1 result")
                    );
                }
            }
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let name = ResultName { name: self.text(token), count, offset: token.start };
            self.scratch.results.push(name);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::Equal, "'=' after the result names")?;
        Ok(())
    }

    /// The name of the next operation as resolved, whether it is written in quotes, and where it stands.
    fn operation_name(&mut self) -> ParseResult<(OpName, bool, u32)> {
        let token = self.tok;
        let generic = match token.kind {
            TokenKind::String => true,
            TokenKind::BareId => false,
            _ => return Err(self.expected("an operation name")),
        };
        self.advance();
        let text = self.text(token);
        if let Some(name) = self.seen.op_names.get(text) {
            return Ok((name, generic, token.start));
        }
        let name = match generic {
            true => std::borrow::Cow::Owned(super::parser::unescape(text)),
            false => std::borrow::Cow::Borrowed(custom_name(text)),
        };
        let op_name = self.ctx.op_name(&name);
        if op_name.def(self.ctx).is_none() {
            self.check_unregistered(&name, token.start, generic)?;
        }
        self.seen.op_names.insert(text, op_name);
        Ok((op_name, generic, token.start))
    }

    /// Reads an operation whose results are named in the scratch list from `base` on.
    fn operation_body(&mut self, base: usize) -> ParseResult<Op> {
        let (name, generic, start) = self.operation_name()?;
        let outer = self.enter(name, start);
        let parsed = match name.def(self.ctx) {
            Some(def) if !generic => match &def.syntax {
                Syntax::Generic => {
                    let name = &def.name;
                    self.report_at(start, format!("'{name}' has no custom form"))
                        .hint(format!(
                            "write it in the generic form: \"{name}\"(...), as JAX prints it with \
                             get_asm(print_generic_op_form=True) and mlir-opt with --mlir-print-op-generic"
                        ));
                    Err(Failed)
                }
                Syntax::Declarative(format) => format.parse(self, def),
                Syntax::Custom { parse, .. } => parse(self),
            },
            _ => self.generic_body(),
        };
        self.finish_operation(parsed, outer, base, start)
    }

    /// Begins the state of an operation and returns that of the one around it.
    fn enter(&mut self, name: OpName, start: u32) -> OpState {
        let loc = self.loc_at(start);
        let fresh = match self.scratch.states.pop() {
            Some(mut state) => {
                state.reset(name, loc);
                state
            }
            None => OpState::new(name, loc),
        };
        std::mem::replace(&mut self.state, fresh)
    }

    fn check_unregistered(&mut self, name: &str, start: u32, generic: bool) -> ParseResult<()> {
        if name.is_empty() {
            return Err(self.error_at(start, "an operation has a name"));
        }
        let (dialect, op) = name.split_once('.').unwrap_or(("", name));
        let known = self.ctx.dialects().iter().find(|d| d.name == dialect);
        if generic && known.is_none() && self.ctx.allow_unregistered {
            return Ok(());
        }
        let (message, hint) = match known {
            Some(known) => {
                let close = did_you_mean(
                    op,
                    known
                        .ops
                        .iter()
                        .filter_map(|def| def.name.strip_prefix(dialect)?.strip_prefix('.')),
                );
                (
                    format!("dialect '{dialect}' has no operation '{name}'"),
                    close.map(|c| format!("did you mean '{dialect}.{c}'?")),
                )
            }
            None if dialect.is_empty() => {
                let hint = match self.continues_line(start) {
                    true => "the operation before it on this line takes nothing more",
                    false => "operations are written dialect.op",
                };
                (format!("expected an operation, found '{name}'"), Some(hint.into()))
            }
            None if self.ctx.allow_unregistered => {
                let close = did_you_mean(dialect, self.ctx.dialects().iter().map(|d| &*d.name));
                let close = close
                    .map(|c| format!("{c}.{op}"))
                    .filter(|name| self.ctx.op_name(name).def(self.ctx).is_some());
                let hint = close.map_or_else(
                    || "unregistered operations are read in the generic form only: \"dialect.op\"(...)".to_owned(),
                    |c| format!("did you mean '{c}'?"),
                );
                (format!("custom form of unregistered operation '{name}'"), Some(hint))
            }
            None => {
                let close = did_you_mean(dialect, self.ctx.dialects().iter().map(|d| &*d.name));
                let hint = close.map_or_else(
                    || {
                        "pass --allow-unregistered-dialect to accept operations of unknown dialects"
                            .to_owned()
                    },
                    |c| format!("did you mean '{c}.{op}'?"),
                );
                (format!("unknown dialect '{dialect}' of operation '{name}'"), Some(hint))
            }
        };
        self.report_at(start, message).hint = hint;
        Err(Failed)
    }

    /// Whether an operation stands before this on its line. Where results are named, it is those that stand there.
    fn continues_line(&self, start: u32) -> bool {
        let before = self.source.text[..start as usize].trim_end_matches([' ', '\t', '\r']);
        !before.is_empty() && !before.ends_with(['\n', '=', '{'])
    }

    /// Creates the operation that was read and restores the state of the one around it.
    fn finish_operation(
        &mut self,
        parsed: ParseResult<()>,
        outer: OpState,
        base: usize,
        start: u32,
    ) -> ParseResult<Op> {
        let parsed = parsed.and_then(|()| self.trailing_location());
        let state = std::mem::replace(&mut self.state, outer);
        let undefined_loc = self.undefined_loc.take();
        let op = parsed.and_then(|()| {
            self.check_counts(&state, base, start)?;
            Ok(self.module.create_from(&state))
        });
        self.scratch.states.push(state);
        let op = op?;
        self.forward_locs.extend(undefined_loc.map(|(alias, offset)| (op, alias, offset)));
        Ok(op)
    }

    /// Whether what was read is an operation that can be stored, with as many results as are named.
    fn check_counts(&mut self, state: &OpState, base: usize, start: u32) -> ParseResult<()> {
        let results = state.result_types.len();
        let names = &self.scratch.results[base..];
        let named: u64 = names.iter().map(|result| u64::from(result.count)).sum();
        if let Some(first) = names.first()
            && named != results as u64
        {
            let (name, offset) = (state.name.text(self.ctx), first.offset);
            return Err(self.error_at(
                offset,
                format!("'{name}' has {results} result(s), but {named} name(s) are given"),
            ));
        }
        for (count, limit, what) in [
            (state.operands.len(), 65_535, "operands"),
            (results, 65_535, "results"),
            (state.successors.len(), 255, "successors"),
            (state.regions.len(), 255, "regions"),
            (state.attrs.len(), 30_000, "attributes"),
        ] {
            if count > limit {
                let name = state.name.text(self.ctx);
                return Err(self.error_at(
                    start,
                    format!("'{name}' has {count} {what}; at most {limit} are supported"),
                ));
            }
        }
        // A custom form may have written what its dictionary has again.
        match repeated(&state.attrs) {
            Some(key) => Err(self.given_twice(start, key)),
            None => Ok(()),
        }
    }

    fn trailing_location(&mut self) -> ParseResult<()> {
        if self.at_keyword("loc") {
            self.state.loc = match self.parse_optional_forward_location()? {
                Some(loc) => loc,
                None => self.ctx.unknown_loc(),
            };
        }
        Ok(())
    }

    /// `(operands) [successors] <{properties}> ({regions}) {attributes} : (types) -> types`, the name already taken.
    fn generic_body(&mut self) -> ParseResult<()> {
        // Regions stand between the operands and their types, so that other operations are read in between.
        let base = self.scratch.operands.len();
        let parsed = self.generic_parts(base);
        self.scratch.operands.truncate(base);
        parsed
    }

    fn generic_parts(&mut self, base: usize) -> ParseResult<()> {
        self.expect(TokenKind::LParen, "'(' and the operands")?;
        self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
            let operand = p.parse_operand()?;
            p.scratch.operands.push(operand);
            Ok(())
        })?;
        if self.eat(TokenKind::LSquare) {
            self.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
                let block = p.parse_successor()?;
                p.state.successors.push(block);
                Ok(())
            })?;
        }
        if self.at(TokenKind::Less) {
            self.advance();
            self.properties()?;
            self.expect(TokenKind::Greater, "'>' after the properties")?;
        }
        if self.eat(TokenKind::LParen) {
            if self.at(TokenKind::RParen) {
                return Err(self.expected("'{' and a region"));
            }
            self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
                let region = p.parse_region(false, &[])?;
                p.state.regions.push(region);
                Ok(())
            })?;
        }
        self.parse_optional_attributes()?;
        self.expect(TokenKind::Colon, "':' and the operation's type")?;
        let at = self.tok.start;
        let first = self.scratch.types.len();
        let result = self.generic_type(base, at, first);
        self.scratch.types.truncate(first);
        result
    }

    /// What stands in `<...>`: declared attributes, and any attribute for an operation that is not registered.
    fn properties(&mut self) -> ParseResult<()> {
        if self.state.name.def(self.ctx).is_none() {
            let key = self.ctx.name(crate::module::PROPERTIES);
            let attr = self.parse_attribute()?;
            self.state.attrs.push((key, attr));
            return Ok(());
        }
        if !self.at(TokenKind::LBrace) {
            return Err(self.expected("'{' and the properties"));
        }
        let entries = self.parse_attr_dict()?;
        self.state.attrs.extend(entries);
        Ok(())
    }

    /// `(types) -> types`: resolves the operands named in the scratch list from `base` on. The type is not made one of the
    /// context: few are wanted again.
    fn generic_type(&mut self, base: usize, at: u32, first: usize) -> ParseResult<()> {
        if self.at(TokenKind::LParen) {
            self.advance();
            self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
                let ty = p.parse_type()?;
                p.scratch.types.push(ty);
                Ok(())
            })?;
            self.expect(TokenKind::Arrow, "'->' in a function type")?;
            if self.eat(TokenKind::LParen) {
                self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
                    let ty = p.parse_type()?;
                    p.state.result_types.push(ty);
                    Ok(())
                })?;
            } else {
                let ty = self.parse_type()?;
                self.state.result_types.push(ty);
            }
        } else {
            let ty = self.nested(Self::function_type)?;
            let (inputs, results) = ty.as_function(self.ctx).expect("just read as a function type");
            self.scratch.types.extend(inputs);
            self.state.result_types.extend(results);
        }
        let (operands, types) =
            (self.scratch.operands.len() - base, self.scratch.types.len() - first);
        if types != operands {
            return Err(
                self.error_at(at, format!("expected {operands} operand type(s), found {types}"))
            );
        }
        for i in 0..operands {
            let (operand, ty) = (self.scratch.operands[base + i], self.scratch.types[first + i]);
            let value = self.resolve(operand, ty)?;
            self.state.operands.push(value);
        }
        Ok(())
    }

    /// Reads `^name`.
    pub fn parse_successor(&mut self) -> ParseResult<Block> {
        let token = self.expect(TokenKind::Caret, "a block name (^name)")?;
        if self.names.blocks.is_empty() {
            return Err(self.error_at(token.start, "a successor outside any region"));
        }
        let name = self.text(token);
        Ok(self.block_named(name, token.start))
    }

    /// Reads `%name: type`.
    pub fn parse_entry_arg(&mut self) -> ParseResult<EntryArg<'p>> {
        let name = self.parse_operand()?;
        self.expect(TokenKind::Colon, "':' and the argument's type")?;
        Ok(EntryArg { name, ty: self.parse_type()?, loc: None })
    }

    /// Reads `{...}`. With `entry` arguments the entry block has these and no label. An isolated region sees no names from outside.
    pub fn parse_region(&mut self, isolated: bool, entry: &[EntryArg<'p>]) -> ParseResult<Region> {
        // Regions nest as deep as the text says.
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.region_in_scope(isolated, entry))
    }

    /// As [`parse_region`](Self::parse_region), and the region has a block even if it is empty.
    pub fn parse_body(&mut self, isolated: bool, entry: &[EntryArg<'p>]) -> ParseResult<Region> {
        let region = self.parse_region(isolated, entry)?;
        if self.module.first_block(region).is_none() {
            self.module.add_block(region);
        }
        Ok(region)
    }

    fn region_in_scope(&mut self, isolated: bool, entry: &[EntryArg<'p>]) -> ParseResult<Region> {
        let open = self.expect(TokenKind::LBrace, "'{' and a region")?.start;
        self.open_scope(isolated);
        let region = self.module.create_region();
        let result = self.blocks(region, entry, open);
        let closed = self.close_scope(isolated);
        result?;
        closed?;
        Ok(region)
    }

    fn blocks(&mut self, region: Region, entry: &[EntryArg<'p>], open: u32) -> ParseResult<()> {
        let mut result = Ok(());
        if !entry.is_empty() || !matches!(self.tok.kind, TokenKind::Caret | TokenKind::RBrace) {
            let block = self.module.add_block(region);
            for arg in entry {
                let value = self.module.add_arg(block, arg.ty);
                if let Some(loc) = arg.loc {
                    self.locate_arg(value, loc);
                }
                self.define(arg.name.name, arg.name.offset, value, 1)?;
            }
            result = self.operations(block, open);
        }
        while self.at(TokenKind::Caret) {
            let label = self.advance();
            let block = self.define_block(self.text(label), label.start)?;
            self.module.append_block(region, block);
            if self.eat(TokenKind::LParen) {
                self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
                    let arg = p.parse_entry_arg()?;
                    let value = p.module.add_arg(block, arg.ty);
                    if let Some(loc) = p.parse_arg_location()? {
                        p.locate_arg(value, loc);
                    }
                    p.define(arg.name.name, arg.name.offset, value, 1)
                })?;
            }
            self.expect(TokenKind::Colon, "':' after the block label")?;
            result = self.operations(block, open).and(result);
        }
        if result.is_err() && self.at(TokenKind::Eof) {
            return result;
        }
        self.expect(TokenKind::RBrace, "'}' at the end of a region")?;
        result
    }

    /// Resolves operands against types, one each; `offset` is where a mismatch is reported.
    pub fn resolve_all(
        &mut self,
        operands: &[OperandName<'p>],
        types: &[Type],
        offset: u32,
    ) -> ParseResult<Vec<Value>> {
        if operands.len() != types.len() {
            return Err(self.error_at(
                offset,
                format!("{} operand(s) but {} type(s)", operands.len(), types.len()),
            ));
        }
        operands.iter().zip(types).map(|(operand, ty)| self.resolve(*operand, *ty)).collect()
    }

    /// The location an operation read from here on gets.
    pub fn state_loc(&self) -> Loc {
        self.state.loc
    }

    /// Whether the operation being read has a trait.
    pub fn state_has(&self, wanted: Trait) -> bool {
        self.state.name.def(self.ctx).is_some_and(|def| def.has(wanted))
    }
}

/// A name that stands in a list twice.
fn repeated(attrs: &[(Name, Attr)]) -> Option<Name> {
    if attrs.len() <= 16 {
        let is_old = |&i: &usize| attrs[..i].iter().any(|(name, _)| *name == attrs[i].0);
        return (1..attrs.len()).find(is_old).map(|i| attrs[i].0);
    }
    let mut seen = FxHashSet::default();
    attrs.iter().map(|(name, _)| *name).find(|name| !seen.insert(*name))
}

/// MLIR lets these be written without their dialect.
fn custom_name(text: &str) -> &str {
    match text {
        "module" => "builtin.module",
        "return" => "func.return",
        "call" => "func.call",
        _ => text,
    }
}
