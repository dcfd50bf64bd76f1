//! Writing modules. Output is canonical: reading it back and writing it again gives the same bytes.

use std::borrow::Cow;
use std::fmt::Write;

use rustc_hash::{FxHashMap, FxHashSet};

use super::print_attrs::{is_bare_identifier, quoted};
use crate::opdef::Syntax;
use crate::{Attr, Block, Context, Module, Name, Op, Region, Trait, Value};

/// Deeper regions are not indented further: the text of ten thousand nested ones would be blanks, 200 MB of them.
const MAX_INDENT: usize = 64;

/// How to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// Every operation in the generic form.
    pub generic: bool,
    /// Locations after operations.
    pub locations: bool,
}

/// Writes text. Dialect syntax gets it positioned after the operation's (or type's, or attribute's) name.
pub struct Printer<'m> {
    pub(super) ctx: &'m Context,
    module: Option<&'m Module>,
    pub(super) out: &'m mut String,
    options: PrintOptions,
    indent: usize,
    /// The text of each numbered value; one entry a result pack or argument.
    value_names: FxHashMap<Value, Box<str>>,
    /// Operations already written, by index.
    written: Vec<bool>,
    block_names: FxHashMap<Block, u32>,
    /// Names taken in the current isolated scope.
    taken: FxHashSet<Box<str>>,
    next_value: u32,
    next_block: u32,
    /// How often a name hint was already made unique.
    repeats: FxHashMap<Box<str>, u32>,
}

/// A module as text.
pub fn print_module(module: &Module, options: PrintOptions) -> String {
    print_op(module, module.root(), options)
}

/// An operation as text, with a final newline.
pub fn print_op(module: &Module, op: Op, options: PrintOptions) -> String {
    let mut out = String::new();
    let mut printer = Printer::detached(module.ctx(), &mut out, options);
    printer.module = Some(module);
    printer.name_results(op);
    printer.op(op);
    printer.text("\n");
    out
}

impl<'m> Printer<'m> {
    pub(super) fn detached(ctx: &'m Context, out: &'m mut String, options: PrintOptions) -> Self {
        Self {
            ctx,
            module: None,
            out,
            options,
            indent: 0,
            value_names: FxHashMap::default(),
            written: Vec::new(),
            block_names: FxHashMap::default(),
            taken: FxHashSet::default(),
            next_value: 0,
            next_block: 0,
            repeats: FxHashMap::default(),
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
        self.text(&quoted(text));
    }

    /// Starts a new line.
    pub fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent.min(MAX_INDENT) {
            self.out.push_str("  ");
        }
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
        if self.written.is_empty() {
            self.written.resize(module.op_capacity(), false);
        }
        self.written[op.index()] = true;
    }

    /// Whether the value's definition stands before this point of the text, so that a reader knows its type.
    pub(super) fn is_defined_above(&self, value: Value) -> bool {
        let def = self.module().defining_op(value);
        def.is_none_or(|op| self.written.get(op.index()).copied().unwrap_or(false))
    }

    fn result_names(&mut self, op: Op) {
        let module = self.module();
        // A pack `%x:2` if the results share a name; separate names otherwise.
        let count = module.num_results(op);
        let first = module.result(op, 0);
        match self.value_names.get(&first) {
            Some(name) if self.is_pack(op) => {
                write!(self.out, "%{name}:{count}").expect("writing to a string");
            }
            _ => self.commas(module.results(op), |p, value| p.value(value)),
        }
    }

    /// Whether the operation's results go by one name: `%x:2`, `%x#0`, `%x#1`.
    fn is_pack(&self, op: Op) -> bool {
        let last = self.module().results(op).skip(1).last();
        last.is_some_and(|last| !self.value_names.contains_key(&last))
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
        let mut declared: Vec<(Name, Attr)> =
            module.declared(op).map(|(name, attr)| (self.ctx.name(name), attr)).collect();
        if !declared.is_empty() {
            self.sort(&mut declared);
            self.text(" <{");
            self.entries(&declared);
            self.text("}>");
        }
        if !module.regions(op).is_empty() {
            self.text(" (");
            self.commas(module.regions(op), |p, region| p.region_blocks(*region, true, true));
            self.text(")");
        }
        let mut discardable: Vec<(Name, Attr)> = module.discardable(op).collect();
        if !discardable.is_empty() {
            self.sort(&mut discardable);
            self.text(" {");
            self.entries(&discardable);
            self.text("}");
        }
        self.text(" : ");
        self.op_type(op);
    }

    /// Writes `(operand types) -> result types`.
    pub fn op_type(&mut self, op: Op) {
        let module = self.module();
        let inputs: Vec<_> = module.operands(op).map(|v| module.ty(v)).collect();
        let results: Vec<_> = module.results(op).map(|v| module.ty(v)).collect();
        self.function_type(&inputs, &results);
    }

    fn sort(&self, entries: &mut [(Name, Attr)]) {
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
        let module = self.module();
        let isolated = module
            .region_op(region)
            .is_some_and(|op| module.has_trait(op, Trait::IsolatedFromAbove));
        // Numbers start anew in an isolated scope of the custom form, where no outer name is visible.
        let outer = (isolated && !self.options.generic).then(|| {
            (
                std::mem::take(&mut self.taken),
                std::mem::take(&mut self.repeats),
                std::mem::take(&mut self.next_value),
            )
        });
        let outer_block = std::mem::take(&mut self.next_block);
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
            for op in module.ops(block) {
                self.newline();
                self.op(op);
            }
        }
        self.indent -= 1;
        self.newline();
        self.text("}");
        self.next_block = outer_block;
        if let Some((taken, repeats, next)) = outer {
            (self.taken, self.repeats, self.next_value) = (taken, repeats, next);
        }
    }

    fn block_label(&mut self, block: Block) {
        self.block_name(block);
        let args = self.module().args(block);
        if !args.is_empty() {
            self.text("(");
            self.commas(args, |p, arg| p.typed_value(*arg));
            self.text(")");
        }
        self.text(":");
    }

    /// Writes `%name`.
    pub fn value(&mut self, value: Value) {
        if let Some(name) = self.value_names.get(&value) {
            self.out.push('%');
            self.out.push_str(name);
            let def = self.module().definition(value);
            if matches!(def, crate::ValueDefinition::Result { op, .. } if self.is_pack(op)) {
                self.out.push_str("#0");
            }
            return;
        }
        let module = self.module();
        match module.definition(value) {
            crate::ValueDefinition::Result { op, index }
                if self.value_names.contains_key(&module.result(op, 0)) =>
            {
                let name = &self.value_names[&module.result(op, 0)];
                write!(self.out, "%{name}#{index}").expect("writing to a string");
            }
            // A value of an operation outside what is printed.
            _ => write!(self.out, "%<<{value:?}>>").expect("writing to a string"),
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
        let number = self.block_names.get(&block).copied().unwrap_or(u32::MAX);
        write!(self.out, "^bb{number}").expect("writing to a string");
    }

    /// Names the arguments and results of a region's blocks, not of nested regions: these are named when they are reached.
    fn name_region(&mut self, region: Region) {
        let module = self.module();
        for block in module.blocks(region) {
            self.block_names.insert(block, self.next_block);
            self.next_block += 1;
            for (i, &arg) in module.args(block).iter().enumerate() {
                // Named in a header already, but in the scope around this one.
                if let Some(name) = self.value_names.get(&arg) {
                    self.taken.insert(name.clone());
                    continue;
                }
                let hint = module
                    .value_name(arg)
                    .map_or_else(|| format!("arg{i}"), |n| n.text(self.ctx).to_owned());
                let name = self.unique(&hint);
                self.value_names.insert(arg, name);
            }
            for op in module.ops(block) {
                self.name_results(op);
            }
        }
    }

    /// Names an operation's results: each by its hint if all have different ones, else as one pack by the first's hint or a number.
    fn name_results(&mut self, op: Op) {
        let module = self.module();
        let count = module.num_results(op);
        let Some(first) = module.results(op).next() else { return };
        if self.value_names.contains_key(&first) {
            return;
        }
        let hints: Vec<_> = module.results(op).map(|v| module.value_name(v)).collect();
        let separate = count > 1
            && hints.iter().all(Option::is_some)
            && (1..count).all(|i| !hints[..i].contains(&hints[i]));
        if separate {
            for (value, hint) in module.results(op).zip(hints) {
                let hint = hint.map_or("", |name| name.text(self.ctx)).to_owned();
                let name = self.unique(&hint);
                self.value_names.insert(value, name);
            }
            return;
        }
        let hint = hints[0].map(|hint| hint.text(self.ctx).into()).or_else(|| self.result_name(op));
        let name = match hint {
            Some(hint) => self.unique(&hint),
            None => {
                self.next_value += 1;
                (self.next_value - 1).to_string().into()
            }
        };
        self.value_names.insert(first, name);
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

    fn unique(&mut self, hint: &str) -> Box<str> {
        if self.taken.insert(hint.into()) {
            return hint.into();
        }
        loop {
            let count = self.repeats.entry(hint.into()).or_insert(0);
            let candidate: Box<str> = format!("{hint}_{count}").into();
            *count += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
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
        let isolated = module
            .region_op(region)
            .is_some_and(|op| module.has_trait(op, Trait::IsolatedFromAbove));
        let saved = (isolated && !self.options.generic).then(|| std::mem::take(&mut self.taken));
        if let Some(block) = module.first_block(region) {
            for (i, &arg) in module.args(block).iter().enumerate() {
                let hint = module
                    .value_name(arg)
                    .map_or_else(|| format!("arg{i}"), |n| n.text(self.ctx).to_owned());
                let name = self.unique(&hint);
                self.value_names.insert(arg, name);
            }
        }
        if let Some(saved) = saved {
            self.taken = saved;
        }
    }
}

/// The module is written without its dialect, as in MLIR.
fn custom_name(name: &str) -> &str {
    if name == "builtin.module" { "module" } else { name }
}
