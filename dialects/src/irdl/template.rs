//! What an operation expands to, as a text with holes: `"%g = nn.silu $gate : type($gate)"`.
//!
//! `$x` is an operand or result (`%x`; all values of a group, `%x_0, %x_1`, however many there are) or an attribute's text, `type($x)` the types of an
//! operand or result. The lines stand in a function whose arguments are the operands; the results are what the lines define
//! under their names. An instance is that function, read by the parser: there is no second reader of operations.

use std::fmt::Write;

use piper_ir::interfaces::Expand;
use piper_ir::text::parse_module;
use piper_ir::{
    Arity, Builder, Module, Op, OpDef, OpState, Reporter, SourceFile, Type, Value, ValueDef,
};
use rustc_hash::FxHashMap;

/// The interface behind [`EXPAND`]: the lines of an expansion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Template(pub(super) String);

/// The interface of an operation with a [`Template`].
pub(super) const EXPAND: Expand = Expand(|b, op| {
    let template = b.module.def(op).and_then(|def| def.interface::<Template>()).cloned();
    template.map_or_else(|| Ok(Vec::new()), |template| template.build(b, op))
});

/// What stands in a template.
enum Piece<'t> {
    Text(&'t str),
    Name(&'t str),
    Types(&'t str),
}

/// The values of a group as they are written.
#[derive(Clone, Default)]
struct Spelt {
    names: Vec<String>,
    types: Vec<String>,
}

/// The pieces of a template, with the byte at which each begins.
fn pieces(text: &str) -> Vec<(usize, Piece<'_>)> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    while let Some(found) = text[from..].find('$') {
        let dollar = from + found;
        let name = &text[dollar + 1..];
        let len = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        let name = &name[..len];
        let end = dollar + 1 + len;
        let before = &text[from..dollar];
        if let Some(before) = before.strip_suffix("type(")
            && text[end..].starts_with(')')
        {
            pieces.push((from, Piece::Text(before)));
            pieces.push((dollar + 1, Piece::Types(name)));
            from = end + 1;
        } else {
            pieces.push((from, Piece::Text(before)));
            pieces.push((dollar + 1, Piece::Name(name)));
            from = end;
        }
    }
    pieces.push((from, Piece::Text(&text[from..])));
    pieces
}

/// A text without what its strings and comments say; every byte stays where it is.
fn without_words(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['"', '/']) {
        let (before, word) = rest.split_at(at);
        code.push_str(before);
        let len = if let Some(string) = word.strip_prefix('"') {
            let mut is_escaped = false;
            let end = string.find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            end.map_or(word.len(), |end| end + 2)
        } else if word.starts_with("//") {
            word.find('\n').unwrap_or(word.len())
        } else {
            code.push('/');
            rest = &word[1..];
            continue;
        };
        code.extend(std::iter::repeat_n(' ', len));
        rest = &word[len..];
    }
    code + rest
}

/// A value that a line defines.
struct Defined<'t> {
    /// The byte at which its name begins.
    at: usize,
    name: &'t str,
    /// Whether it is written `$name`: for a group, all of its values.
    is_hole: bool,
}

/// The values that a text defines: the names in front of `=` at the start of a line.
fn defined(text: &str) -> Vec<Defined<'_>> {
    let is_name = |c: char| c.is_alphanumeric() || "_.-:".contains(c);
    let code = without_words(text);
    let (mut found, mut start) = (Vec::new(), 0);
    for line in code.split_inclusive('\n') {
        let mut rest = code[start..].trim_start();
        start += line.len();
        let mut list = Vec::new();
        while let Some(after) = rest.strip_prefix(['%', '$']) {
            let at = code.len() - after.len();
            let end = at + after.find(|c| !is_name(c)).unwrap_or(after.len());
            // `%pair:2` defines what is called `pair`.
            let name = text[at..end].split(':').next().unwrap_or_default();
            list.push(Defined { at, name, is_hole: rest.starts_with('$') });
            rest = code[end..].trim_start();
            match rest.strip_prefix(',') {
                Some(further) => rest = further.trim_start(),
                None => break,
            }
        }
        if rest.starts_with('=') {
            found.append(&mut list);
        }
    }
    // A list over several lines was read from each of them.
    found.sort_unstable_by_key(|value| value.at);
    found.dedup_by_key(|value| value.at);
    found
}

/// Whether a name is that of a value or, `xs_0`, of one of a group.
fn names(def: &ValueDef, value: &Defined<'_>) -> bool {
    if def.arity != Arity::Variadic || value.is_hole {
        return value.name == def.name;
    }
    let number = value.name.strip_prefix(&*def.name).and_then(|rest| rest.strip_prefix('_'));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Template {
    /// Whether every name in it is declared, every result defined, and nothing twice.
    ///
    /// # Errors
    /// The byte of a name for which that is not so, and what is wrong with it.
    pub(super) fn check(&self, def: &OpDef) -> Result<(), (usize, String)> {
        let is_value =
            |name: &str| def.operands.iter().chain(&def.results).any(|value| value.name == name);
        for (at, piece) in pieces(&self.0) {
            match piece {
                Piece::Types(name) if !is_value(name) => {
                    return Err((at, format!("there is no operand or result '{name}'")));
                }
                Piece::Name(name) if !is_value(name) && def.attr_slot(name).is_none() => {
                    let message = format!("there is no operand, result or attribute '{name}'");
                    return Err((at, message));
                }
                _ => {}
            }
        }
        let defined = defined(&self.0);
        // `$y` and `%y` are one value, but for a group, which `$ys` is all of and `%ys` none of.
        let is_group = |value: &Defined<'_>| {
            let mut all = def.operands.iter().chain(&def.results);
            value.is_hole && all.any(|d| d.arity == Arity::Variadic && d.name == value.name)
        };
        for (i, value) in defined.iter().enumerate() {
            let Defined { at, name, .. } = *value;
            if def.operands.iter().any(|operand| names(operand, value)) {
                return Err((at, format!("'{name}' is an operand, and is defined again")));
            }
            let mut before = defined[..i].iter();
            if before.any(|other| other.name == name && is_group(other) == is_group(value)) {
                return Err((at, format!("'{name}' is defined twice")));
            }
        }
        // A group may be empty, which only an instance shows.
        let mut single = def.results.iter().filter(|result| result.arity == Arity::One);
        match single.find(|result| defined.iter().all(|value| !names(result, value))) {
            Some(result) => {
                let name = &result.name;
                Err((0, format!("no line defines the result '{name}', as '${name} = ...' would")))
            }
            None => Ok(()),
        }
    }

    /// Builds the operations where `b` stands; the values in place of the results of `op`.
    fn build(&self, b: &mut Builder<'_>, op: Op) -> Result<Vec<Value>, String> {
        let module = &*b.module;
        let (ctx, name) = (module.ctx_arc(), module.name_text(op).to_owned());
        let text = self.instance(module, op)?;
        let source = SourceFile::new(format!("piper.expand of {name}"), text);
        let mut reporter = Reporter::new(&ctx);
        let Some(read) = parse_module(&ctx, &source, &mut reporter) else {
            let found = reporter.diagnostics().first();
            let message = found.map_or("it does not parse", |error| &error.message);
            return Err(format!("{message}; the expansion is\n{}", source.text.trim_end()));
        };
        let operands: Vec<Value> = module.operands(op).collect();
        let block = read.top_level().first().and_then(|function| read.only_block(*function));
        let Some(block) = block else { return Err("the expansion is empty".to_owned()) };
        let mut map: FxHashMap<Value, Value> =
            read.args(block).iter().copied().zip(operands).collect();
        for line in read.ops(block) {
            let inputs = read.operands(line).map(|value| map.get(&value).copied());
            let inputs: Option<Vec<Value>> = inputs.collect();
            let inputs = inputs.ok_or("an operation of the expansion is used before it stands")?;
            if read.next_op(line).is_none() {
                return Ok(inputs);
            }
            if !read.regions(line).is_empty() {
                return Err(format!("'{}' of the expansion has regions", read.name_text(line)));
            }
            let loc = b.module.op_loc(op);
            let types: Vec<Type> = read.results(line).map(|value| read.ty(value)).collect();
            let mut state = OpState::new(read.name(line), loc).operands(inputs).results(types);
            for (key, value) in read.all_attrs(line) {
                state = state.attr(&ctx, key.text(&ctx), value);
            }
            let made = b.insert(state);
            for (old, new) in read.results(line).zip(b.module.results(made).collect::<Vec<_>>()) {
                map.insert(old, new);
            }
        }
        Err("the expansion is empty".to_owned())
    }

    /// The function that the expansion of `op` is.
    fn instance(&self, module: &Module, op: Op) -> Result<String, String> {
        let ctx = module.ctx();
        let def = module.def(op).ok_or("it has no definition")?;
        let mut groups: FxHashMap<&str, Spelt> = FxHashMap::default();
        let mut add = |name, arity, values: Vec<Value>| {
            let names = (0..values.len()).map(|i| match arity {
                Arity::Variadic => format!("%{name}_{i}"),
                _ => format!("%{name}"),
            });
            let types = values.iter().map(|value| module.ty(*value).display(ctx));
            groups.insert(name, Spelt { names: names.collect(), types: types.collect() });
        };
        for (i, operand) in def.operands.iter().enumerate() {
            add(&*operand.name, operand.arity, module.operand_group(op, i).collect());
        }
        for (i, result) in def.results.iter().enumerate() {
            add(&*result.name, result.arity, module.result_group(op, i).collect());
        }
        let args = def.operands.iter().flat_map(|operand| {
            let Spelt { names, types } = &groups[&*operand.name];
            names.iter().zip(types).map(|(name, ty)| format!("{name}: {ty}"))
        });
        let args: Vec<String> = args.collect();
        let all = |part: fn(&Spelt) -> &Vec<String>| {
            let parts = def.results.iter().flat_map(|result| part(&groups[&*result.name]).clone());
            parts.collect::<Vec<String>>().join(", ")
        };
        let (names, types) = (all(|group| &group.names), all(|group| &group.types));
        let mut text =
            format!("func.func private @expansion({}) -> ({types}) {{\n", args.join(", "));
        for (_, piece) in pieces(&self.0) {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Types(name) => text.push_str(&groups[name].types.join(", ")),
                Piece::Name(name) => match groups.get(name) {
                    Some(group) => text.push_str(&group.names.join(", ")),
                    None => {
                        let slot = def.attr_slot(name).ok_or("a name is not declared")?;
                        let default =
                            || def.attrs[slot].default.as_ref().map(|value| value.attr(ctx));
                        let value = module.slot(op, slot).or_else(default);
                        let value = value.ok_or_else(|| {
                            format!("its expansion needs attribute '{name}', which is not there")
                        })?;
                        text.push_str(&value.display(ctx));
                    }
                },
            }
        }
        let _ = write!(
            text,
            "\nfunc.return {names}{}{types}\n}}\n",
            if names.is_empty() { "" } else { " : " }
        );
        Ok(text)
    }
}
