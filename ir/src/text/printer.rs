//! Writing modules. Output is canonical: reading it back and writing it again gives the same bytes.

use std::borrow::Cow;
use std::fmt::Write;
use std::io;

use super::aliases::Aliases;
use super::labels::{Label, Labels};
use super::print_attrs::{is_bare_identifier, quoted};
use crate::opdef::Syntax;
use crate::{Attr, Block, Context, Module, Name, Op, Region, Trait, Value};

/// Deeper regions are not indented further: the text of ten thousand nested ones would be blanks, 200 MB of them.
const MAX_INDENT: usize = 64;
const BLANKS: &str = match std::str::from_utf8(&[b' '; 2 * MAX_INDENT]) {
    Ok(blanks) => blanks,
    Err(_) => unreachable!(),
};

/// How to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// Every operation in the generic form.
    pub generic: bool,
    /// Locations after operations.
    pub locations: bool,
    /// No aliases: attributes, types and locations stand where they are used.
    pub local_scope: bool,
    /// `{...}` for every region, which cannot be read back.
    pub skip_regions: bool,
    /// No name or number twice, not even in isolated operations.
    pub unique_ids: bool,
    /// Values are called as their named locations say.
    pub location_names: bool,
    /// `dense_resource<__elided__>` for dense elements that are more than this and not all equal. The data is lost.
    pub elide_elements: Option<usize>,
    /// Dense elements that are more than this are written as bytes; 100 unless said otherwise.
    pub hex_elements: Option<usize>,
    /// Resources whose text is longer than this are left out. The data is lost.
    pub elide_resources: Option<usize>,
}

/// Writes text. Dialect syntax gets it positioned after the operation's (or type's, or attribute's) name.
pub struct Printer<'m> {
    pub(super) ctx: &'m Context,
    pub(super) module: Option<&'m Module>,
    pub(super) out: &'m mut String,
    pub(super) options: PrintOptions,
    pub(super) indent: usize,
    pub(super) labels: Labels,
    /// Operations already written, by their distance from the first. Only the custom form asks.
    written: Vec<bool>,
    first_written: usize,
    /// Where finished text goes; without one it is all kept in `out`.
    pub(super) sink: Option<Sink<'m>>,
    /// Distinct attributes in the order they are written, which numbers them.
    pub(super) distinct: Vec<u64>,
    /// What is written under a name; nothing for text that stands alone.
    pub(super) aliases: Option<&'m Aliases>,
    /// Attributes that are being sorted.
    entries: Vec<(Name, Attr)>,
}

/// Takes finished text, piece by piece.
pub(super) struct Sink<'m> {
    pub(super) write: &'m mut dyn FnMut(&str) -> io::Result<()>,
    /// The first error; nothing is written after it.
    pub(super) result: io::Result<()>,
}

/// Text is handed on in pieces of about this many bytes.
const PIECE: usize = 1 << 20;

/// A module as text.
pub fn print_module(module: &Module, options: PrintOptions) -> String {
    print_op(module, module.root(), options)
}

/// An operation as text, with a final newline.
pub fn print_op(module: &Module, op: Op, options: PrintOptions) -> String {
    let mut out = String::new();
    let aliases = aliases(module, op, options);
    let mut printer = Printer::detached(module.ctx(), &mut out, options);
    printer.module = Some(module);
    printer.aliases = aliases.as_ref();
    printer.top_level(op);
    out
}

/// Writes a module as text, in pieces: the same text as [`print_module`], which need not be held whole. Isolated operations
/// of a large module are printed by several threads.
///
/// # Errors
/// The first error of `write`; nothing is written after it.
pub fn write_module(
    module: &Module,
    options: PrintOptions,
    write: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = String::with_capacity(2 * PIECE);
    let aliases = aliases(module, module.root(), options);
    let mut printer = Printer::detached(module.ctx(), &mut out, options);
    printer.module = Some(module);
    printer.sink = Some(Sink { write, result: Ok(()) });
    printer.aliases = aliases.as_ref();
    printer.top_level(module.root());
    printer.flush();
    printer.sink.map_or(Ok(()), |sink| sink.result)
}

/// The aliases of a module's text; none for a part of it, which is written as it stands.
fn aliases(module: &Module, op: Op, options: PrintOptions) -> Option<Aliases> {
    let wanted = options.locations || module.ctx().wants_walk();
    (op == module.root() && wanted && !options.local_scope)
        .then(|| Aliases::of(module, op, options.locations))
}

impl<'m> Printer<'m> {
    /// Writes an operation with what stands before and behind it.
    fn top_level(&mut self, op: Op) {
        let module = self.module();
        self.alias_definitions(false);
        self.name_results(op);
        self.op(op);
        self.text("\n");
        self.alias_definitions(true);
        if let (Some(resources), true) = (module.resources(), op == module.root()) {
            let aliases = self.aliases;
            let used = |key: &str| aliases.is_some_and(|a| a.uses_resource(self.ctx.name(key)));
            let used: Vec<&str> =
                resources.blobs.iter().map(|(key, _)| &**key).filter(|key| used(key)).collect();
            self.file_metadata(resources, |key| used.contains(&key));
        }
    }

    pub(super) fn detached(ctx: &'m Context, out: &'m mut String, options: PrintOptions) -> Self {
        Self {
            ctx,
            module: None,
            out,
            options,
            indent: 0,
            labels: Labels::default(),
            written: Vec::new(),
            first_written: 0,
            sink: None,
            distinct: Vec::new(),
            aliases: None,
            entries: Vec::new(),
        }
    }

    /// Hands on what is written so far.
    pub(super) fn flush(&mut self) {
        if let Some(sink) = &mut self.sink {
            if sink.result.is_ok() {
                sink.result = (sink.write)(self.out);
            }
            self.out.clear();
        }
    }

    /// The module that is printed.
    pub fn module(&self) -> &'m Module {
        self.module.expect("operations are printed from a module")
    }

    /// The context.
    pub fn ctx(&self) -> &'m Context {
        self.ctx
    }

    /// Writes text as it is.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Writes a string literal.
    pub fn string(&mut self, text: &str) {
        if text.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\') {
            self.text("\"");
            self.text(text);
            self.text("\"");
        } else {
            self.text(&quoted(text));
        }
    }

    /// Writes a number.
    pub fn decimal(&mut self, number: impl itoa::Integer) {
        self.out.push_str(itoa::Buffer::new().format(number));
    }

    /// Starts a new line.
    pub fn newline(&mut self) {
        self.out.push('\n');
        self.out.push_str(&BLANKS[..2 * self.indent.min(MAX_INDENT)]);
    }

    /// Runs `write` with lines indented one step further.
    pub fn indented(&mut self, write: impl FnOnce(&mut Self)) {
        self.indent += 1;
        write(self);
        self.indent -= 1;
    }

    /// Writes an operation, its results included.
    pub fn op(&mut self, op: Op) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.op_here(op));
    }

    fn op_here(&mut self, op: Op) {
        let module = self.module();
        if module.num_results(op) > 0 {
            self.result_names(op);
            self.text(" = ");
        }
        match module.def(op).map(|def| (&def.syntax, def)) {
            Some((Syntax::Declarative(format), def)) if !self.options.generic => {
                self.text(custom_name(&def.name));
                format.print(self, op);
            }
            Some((Syntax::Custom { print, .. }, def)) if !self.options.generic => {
                self.text(custom_name(&def.name));
                print(self, op);
            }
            _ => self.generic(op),
        }
        if self.options.locations {
            self.text(" ");
            self.location(module.op_loc(op));
        }
        if !self.options.generic {
            self.mark_written(op);
        }
    }

    fn mark_written(&mut self, op: Op) {
        if self.written.is_empty() {
            self.first_written = op.index();
        }
        if op.index() < self.first_written {
            let missing = self.first_written - op.index();
            self.written.splice(0..0, std::iter::repeat_n(false, missing));
            self.first_written = op.index();
        }
        let at = op.index() - self.first_written;
        if at >= self.written.len() {
            let capacity = self.module().op_capacity() - self.first_written;
            self.written.resize((2 * at + 64).min(capacity), false);
        }
        self.written[at] = true;
    }

    /// Whether the value's definition stands before this point of the text, so that a reader knows its type.
    pub(super) fn is_defined_above(&self, value: Value) -> bool {
        let def = self.module().defining_op(value);
        let written = |op: Op| self.written.get(op.index().wrapping_sub(self.first_written));
        def.is_none_or(|op| written(op).copied().unwrap_or(false))
    }

    fn result_names(&mut self, op: Op) {
        let module = self.module();
        // A pack `%x:2` if the results share a name; separate names otherwise.
        let count = module.num_results(op);
        if count > 1 && self.is_pack(op) {
            self.label(module.result(op, 0));
            self.text(":");
            self.decimal(count);
        } else {
            self.commas(module.results(op), |p, value| p.value(value));
        }
    }

    /// Whether the operation's results go by one name: `%x:2`, `%x#0`, `%x#1`.
    fn is_pack(&self, op: Op) -> bool {
        let module = self.module();
        let count = module.num_results(op);
        count > 1 && !self.labels.has(module.result(op, count - 1))
    }

    fn generic(&mut self, op: Op) {
        let module = self.module();
        self.string(module.name_text(op));
        self.text("(");
        self.commas(module.operands(op), |p, value| p.value(value));
        self.text(")");
        if !module.successors(op).is_empty() {
            self.text("[");
            self.commas(module.successors(op), |p, block| p.block_name(*block));
            self.text("]");
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.extend(module.declared(op).map(|(name, attr)| (self.ctx.name(name), attr)));
        if !entries.is_empty() {
            self.sort(&mut entries);
            self.text(" <{");
            self.entries(&entries);
            self.text("}>");
            entries.clear();
        }
        self.entries = entries;
        let properties = module.properties(op);
        if let Some(properties) = properties {
            self.text(" <");
            self.attr(properties);
            self.text(">");
        }
        if !module.regions(op).is_empty() {
            self.text(" (");
            self.commas(module.regions(op), |p, region| p.region_blocks(*region, true, true));
            self.text(")");
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.extend(module.discardable(op));
        if properties.is_some() {
            entries.retain(|(name, _)| name.text(self.ctx) != crate::module::PROPERTIES);
        }
        if !entries.is_empty() {
            self.sort(&mut entries);
            self.text(" {");
            self.entries(&entries);
            self.text("}");
            entries.clear();
        }
        self.entries = entries;
        self.text(" : ");
        self.op_type(op);
    }

    /// Writes `(operand types) -> result types`.
    pub fn op_type(&mut self, op: Op) {
        let module = self.module();
        self.text("(");
        self.commas(module.operands(op), |p, value| p.ty(module.ty(value)));
        self.text(") -> ");
        let mut results = module.results(op).map(|value| module.ty(value));
        match (results.len(), results.next()) {
            (1, Some(only)) if !matches!(only.data(self.ctx), crate::TypeData::Function { .. }) => {
                self.ty(only);
            }
            _ => {
                self.text("(");
                self.commas(module.results(op), |p, value| p.ty(module.ty(value)));
                self.text(")");
            }
        }
    }

    fn sort(&self, entries: &mut [(Name, Attr)]) {
        if entries.len() < 2 {
            return;
        }
        entries.sort_by(|a, b| a.0.text(self.ctx).cmp(b.0.text(self.ctx)));
    }

    /// Writes the operation's attributes as ` {...}`, without those named in `elided`; nothing if none is left.
    pub fn attr_dict(&mut self, op: Op, elided: &[&str]) {
        let mut entries = self.module().all_attrs(op);
        entries.retain(|(name, _)| !elided.contains(&name.text(self.ctx)));
        if !entries.is_empty() {
            self.sort(&mut entries);
            self.text(" {");
            self.entries(&entries);
            self.text("}");
        }
    }

    /// Writes a region. The entry block's label is written if it has arguments and `entry_args` is set, or if there are other blocks that need it.
    pub fn region(&mut self, region: Region, entry_args: bool) {
        self.region_blocks(region, entry_args, false);
    }

    /// As [`region`](Self::region). An empty entry block, which a reader of the generic form would not make, gets a label if `empty_label` is set.
    fn region_blocks(&mut self, region: Region, entry_args: bool, empty_label: bool) {
        if self.options.skip_regions {
            self.text("{...}");
            return;
        }
        let module = self.module();
        let isolated = !self.options.unique_ids
            && module
                .region_op(region)
                .is_some_and(|op| module.has_trait(op, Trait::IsolatedFromAbove));
        // Where no outer name is visible, numbers start anew. The generic form hides none: there names are free again.
        let outer = (isolated && !self.options.generic).then(|| self.labels.fresh());
        let mark = (isolated && self.options.generic).then(|| self.labels.begin());
        let outer_block = std::mem::take(&mut self.labels.next_block);
        self.name_region(region);
        self.text("{");
        self.indent += 1;
        for (i, block) in module.blocks(region).enumerate() {
            if i > 0
                || (entry_args && !module.args(block).is_empty())
                || (module.first_op(block).is_none()
                    && (empty_label || module.next_block(block).is_some()))
            {
                self.indent -= 1;
                self.newline();
                self.block_label(block);
                self.indent += 1;
            }
            self.block_ops(block);
        }
        self.indent -= 1;
        self.newline();
        self.text("}");
        self.labels.next_block = outer_block;
        if let Some(outer) = outer {
            self.labels.restore(outer);
        }
        if let Some(mark) = mark {
            self.labels.end(mark);
        }
    }

    fn block_ops(&mut self, block: Block) {
        let module = self.module();
        if self.sink.is_some() && module.block_op(block) == Some(module.root()) {
            self.flush();
            if self.print_in_parallel(block) {
                return;
            }
        }
        for op in module.ops(block) {
            if self.out.len() >= PIECE {
                self.flush();
            }
            self.newline();
            self.op(op);
        }
    }

    fn block_label(&mut self, block: Block) {
        self.block_name(block);
        let args = self.module().args(block);
        if !args.is_empty() {
            self.text("(");
            self.commas(args, |p, arg| {
                p.typed_value(*arg);
                p.arg_location(*arg);
            });
            self.text(")");
        }
        self.text(":");
    }

    /// Writes `%name`.
    pub fn value(&mut self, value: Value) {
        if self.labels.has(value) {
            self.label(value);
            let def = self.module().definition(value);
            if matches!(def, crate::ValueDefinition::Result { op, .. } if self.is_pack(op)) {
                self.out.push_str("#0");
            }
            return;
        }
        let module = self.module();
        match module.definition(value) {
            crate::ValueDefinition::Result { op, index }
                if self.labels.has(module.result(op, 0)) =>
            {
                self.label(module.result(op, 0));
                self.out.push('#');
                self.decimal(index);
            }
            // A value of an operation outside what is printed.
            _ => write!(self.out, "%<<{value:?}>>").expect("writing to a string"),
        }
    }

    /// Writes `%label` of a value that has one.
    fn label(&mut self, value: Value) {
        self.out.push('%');
        match self.labels.get(value) {
            Some(Label::Text(text)) => self.out.push_str(text),
            Some(Label::Number(number)) => self.out.push_str(itoa::Buffer::new().format(number)),
            None => {}
        }
    }

    /// Writes `%name: type`.
    pub fn typed_value(&mut self, value: Value) {
        self.value(value);
        self.text(": ");
        let ty = self.module().ty(value);
        self.ty(ty);
    }

    /// Writes values separated by commas.
    pub fn values(&mut self, values: impl IntoIterator<Item = Value>) {
        self.commas(values, |p, value| p.value(value));
    }

    /// Writes `^bb0`.
    pub fn block_name(&mut self, block: Block) {
        let number = self.labels.blocks.get(&block).copied().unwrap_or(u32::MAX);
        self.text("^bb");
        self.decimal(number);
    }

    /// Names the arguments and results of a region's blocks, not of nested regions: these are named when they are reached.
    fn name_region(&mut self, region: Region) {
        let module = self.module();
        for block in module.blocks(region) {
            self.labels.blocks.insert(block, self.labels.next_block);
            self.labels.next_block += 1;
            for (i, &arg) in module.args(block).iter().enumerate() {
                if self.labels.has(arg) {
                    // Named in a header already, but in the scope around this one.
                    self.labels.take(arg);
                } else {
                    self.name_arg(arg, i);
                }
            }
            for op in module.ops(block) {
                self.name_results(op);
            }
        }
    }

    fn name_arg(&mut self, arg: Value, index: usize) {
        if let Some(name) = self.module().arg_loc(arg).and_then(|loc| self.location_name(loc)) {
            return self.labels.name(arg, &name);
        }
        match self.module().value_name(arg) {
            Some(name) => self.labels.name(arg, name.text(self.ctx)),
            None => self.labels.name(arg, &format!("arg{index}")),
        }
    }

    /// Names an operation's results.
    fn name_results(&mut self, op: Op) {
        let module = self.module();
        let Some(first) = module.results(op).next() else { return };
        if self.labels.has(first) {
            return;
        }
        match self.results_naming(op) {
            Naming::Separate => {
                for value in module.results(op) {
                    let hint = module.value_name(value).map_or("", |name| name.text(self.ctx));
                    self.labels.name(value, hint);
                }
            }
            Naming::Together(name) => self.labels.name(first, &name),
            Naming::Number => self.labels.number(first),
        }
    }

    /// How the results of an operation that has some are named: each by its hint if all have different ones, else as one
    /// pack by the first's hint or a number.
    pub(super) fn results_naming(&self, op: Op) -> Naming<'m> {
        let module = self.module();
        if let Some(name) = self.location_name(module.op_loc(op)) {
            return Naming::Together(name.into());
        }
        let mut results = module.results(op);
        let hint = results.next().and_then(|first| module.value_name(first));
        if hint.is_some() && results.len() > 0 {
            let hints: Vec<_> = module.results(op).map(|v| module.value_name(v)).collect();
            let distinct = (1..hints.len()).all(|i| !hints[..i].contains(&hints[i]));
            if distinct && hints.iter().all(Option::is_some) {
                return Naming::Separate;
            }
        }
        match hint.map(|hint| hint.text(self.ctx).into()).or_else(|| self.result_name(op)) {
            Some(name) => Naming::Together(name),
            None => Naming::Number,
        }
    }

    /// The name in a location, as far as value names can have it, if values are to be called so.
    fn location_name(&self, loc: crate::Loc) -> Option<String> {
        if !self.options.location_names {
            return None;
        }
        let crate::LocData::Named { name, .. } = loc.data(self.ctx) else { return None };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._$-".contains(c);
        let name = name.text(self.ctx).chars().map(|c| if is_plain(c) { c } else { '_' });
        Some(name.collect::<String>()).filter(|name| !name.is_empty())
    }

    /// What an operation itself calls its result, as far as value names can have it.
    fn result_name(&self, op: Op) -> Option<Cow<'m, str>> {
        let module = self.module();
        if !module.has_trait(op, Trait::NamesResult) {
            return None;
        }
        let name = module.attr_by(op, "name")?.as_str(self.ctx).filter(|name| !name.is_empty())?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._$-".contains(c);
        Some(match name.chars().all(is_plain) {
            true => name.into(),
            false => name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect(),
        })
    }

    /// Writes `sym_name` as `@name`.
    pub fn symbol_name(&mut self, op: Op) {
        if let Some(text) = self.module().symbol_name(op) {
            self.symbol(self.ctx.name(text));
        }
    }

    /// Writes a dictionary key or another word, quoted if it has to be.
    pub fn word(&mut self, text: &str) {
        if is_bare_identifier(text) { self.text(text) } else { self.string(text) }
    }

    /// Gives the entry block's arguments their names before the region is printed, for syntax that writes them in a header.
    pub fn name_entry_args(&mut self, region: Region) {
        let module = self.module();
        let isolated = !self.options.unique_ids
            && module
                .region_op(region)
                .is_some_and(|op| module.has_trait(op, Trait::IsolatedFromAbove));
        let outer = (isolated && !self.options.generic).then(|| self.labels.fresh());
        if let Some(block) = module.first_block(region) {
            for (i, &arg) in module.args(block).iter().enumerate() {
                self.name_arg(arg, i);
            }
        }
        if let Some(outer) = outer {
            self.labels.restore(outer);
        }
    }
}

impl Printer<'_> {
    /// Gives the arguments of a region's entry block the names of those of another one, for syntax that writes both by one
    /// name. Call it after [`name_entry_args`](Self::name_entry_args) of the first.
    pub fn share_entry_args(&mut self, from: Region, to: Region) {
        let module = self.module();
        let (Some(from), Some(to)) = (module.first_block(from), module.first_block(to)) else {
            return;
        };
        for (&from, &to) in module.args(from).iter().zip(module.args(to)) {
            self.labels.share(from, to);
        }
    }
}

/// How the results of an operation are named.
pub(super) enum Naming<'m> {
    /// Each by the name it was written with.
    Separate,
    /// All by one name.
    Together(Cow<'m, str>),
    /// All by one number.
    Number,
}

/// The module is written without its dialect, as in MLIR.
fn custom_name(name: &str) -> &str {
    if name == "builtin.module" { "module" } else { name }
}
