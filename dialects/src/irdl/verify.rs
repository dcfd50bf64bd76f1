//! What must hold of definitions beyond their declared parts.

use piper_ir::diag::did_you_mean;
use piper_ir::{Attr, FloatKind, Module, Op, Reporter};
use rustc_hash::FxHashSet;

use super::ops::{
    AttributeOp, Attributes, Base, DialectOp, Operands, OperationOp, Parameters, Parametric,
    RegionOp, Regions, Results, TypeOp,
};
use super::references::{BUILTIN, body, resolve};

/// Letters, digits and underscores, beginning with no digit.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn dialect(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let name = module.symbol_name(op).unwrap_or_default();
    if !is_word(name) {
        let message = format!("a dialect's name is letters, digits and '_', not '{name}'");
        reporter.error(module.op_loc(op), message);
    }
    for inner in body(module, op) {
        let is_known =
            [TypeOp::NAME, AttributeOp::NAME, OperationOp::NAME].contains(&module.name_text(inner));
        if !is_known {
            let message = format!(
                "'{}' stands in an irdl.dialect, which holds irdl.type, irdl.attribute and irdl.operation",
                module.name_text(inner)
            );
            reporter.error(module.op_loc(inner), message);
        }
    }
}

/// A definition has a name that can be written, and stands in a dialect.
fn definition(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (loc, kind) = (module.op_loc(op), module.name_text(op));
    let name = module.symbol_name(op).unwrap_or_default();
    if !name.split('.').all(is_word) {
        reporter
            .error(loc, format!("the name of an {kind} is letters, digits and '_', not '{name}'"));
    }
    if module.parent_op(op).and_then(|parent| DialectOp::cast(module, parent)).is_none() {
        reporter.error(loc, format!("'{kind}' stands in an irdl.dialect"));
    }
}

/// At most one of each of these in a body.
fn at_most_one(module: &Module, op: Op, names: &[&str], reporter: &mut Reporter<'_>) {
    let mut seen: Vec<(&str, Op)> = Vec::new();
    for inner in body(module, op) {
        let name = module.name_text(inner);
        if !names.contains(&name) {
            continue;
        }
        match seen.iter().find(|(known, _)| *known == name) {
            Some((_, first)) => {
                reporter
                    .error(module.op_loc(inner), format!("a second '{name}' in one definition"))
                    .note(module.op_loc(*first), "the first is here");
            }
            None => seen.push((name, inner)),
        }
    }
}

pub(super) fn type_or_attribute(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    definition(module, op, reporter);
    at_most_one(module, op, &[Parameters::NAME], reporter);
}

pub(super) fn operation(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    definition(module, op, reporter);
    const PARTS: [&str; 4] = [Operands::NAME, Results::NAME, Attributes::NAME, Regions::NAME];
    at_most_one(module, op, &PARTS, reporter);
    // Twice in one list is the list's own fault.
    let mut seen: FxHashSet<String> = FxHashSet::default();
    for part in body(module, op) {
        let names: FxHashSet<String> = names(module, part).into_iter().collect();
        for name in names.intersection(&seen) {
            let message = format!("'{name}' is declared twice in one operation");
            reporter.error(module.op_loc(part), message);
        }
        seen.extend(names);
    }
}

/// The names that a part of a definition declares.
pub(super) fn names(module: &Module, part: Op) -> Vec<String> {
    let ctx = module.ctx();
    let slot = match module.name_text(part) {
        Attributes::NAME => "attributeValueNames",
        Parameters::NAME | Operands::NAME | Results::NAME | Regions::NAME => "names",
        _ => return Vec::new(),
    };
    let names = module.attr_by(part, slot).and_then(|attr| attr.as_array(ctx)).unwrap_or_default();
    names.iter().filter_map(|name| name.as_str(ctx)).map(str::to_owned).collect()
}

/// As many names as constraints, different ones, in a definition of the right kind.
fn named(module: &Module, op: Op, parents: &[&str], reporter: &mut Reporter<'_>) {
    let (loc, kind) = (module.op_loc(op), module.name_text(op));
    let (names, count) = (names(module, op), module.num_operands(op));
    if names.len() != count {
        let message = format!("'{kind}' has {} name(s) for {count} constraint(s)", names.len());
        reporter.error(loc, message);
    }
    let mut seen = FxHashSet::default();
    for name in &names {
        let is_name = name.split(['.', '-']).all(is_word);
        if !is_name {
            reporter.error(loc, format!("'{name}' is no name: letters, digits and '_'"));
        }
        if !seen.insert(name) {
            reporter.error(loc, format!("'{name}' is declared twice"));
        }
    }
    let parent = module.parent_op(op).map_or("", |parent| module.name_text(parent));
    if !parents.contains(&parent) {
        reporter.error(loc, format!("'{kind}' stands in an {}", parents.join(" or ")));
    }
}

pub(super) fn parameters(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    named(module, op, &[TypeOp::NAME, AttributeOp::NAME], reporter);
}

pub(super) fn counted(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    named(module, op, &[OperationOp::NAME], reporter);
    let counts = module.attr_by(op, "variadicity");
    let counts = counts.and_then(|attr| super::syntax::variadicities(module.ctx(), attr));
    let (count, wanted) = (counts.map_or(0, |counts| counts.len()), module.num_operands(op));
    if count != wanted {
        let message = format!(
            "'{}' says of {count} name(s) how many values they stand for, and has {wanted}",
            module.name_text(op)
        );
        reporter.error(module.op_loc(op), message);
    }
}

pub(super) fn attributes(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    named(module, op, &[OperationOp::NAME], reporter);
}

pub(super) fn regions(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    named(module, op, &[OperationOp::NAME], reporter);
}

pub(super) fn region(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let size = RegionOp(op).numberOfBlocks(module).and_then(|size| size.as_int(module.ctx()));
    if let Some(size) = size.filter(|size| *size < 1) {
        reporter.error(module.op_loc(op), format!("a region has at least one block, not {size}"));
    }
}

pub(super) fn is(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let expected = super::ops::Is(op).expected(module);
    if super::fixed::Fixed::of(module.ctx(), expected).is_none() {
        let text = expected.display(module.ctx());
        reporter
            .error(module.op_loc(op), format!("irdl.is cannot hold {text} here"))
            .hint("constrain it by irdl.base instead");
    }
}

pub(super) fn base(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (loc, view, ctx) = (module.op_loc(op), Base(op), module.ctx());
    let name = view.base_name(module).and_then(|name| name.as_str(ctx));
    match (view.base_ref(module), name) {
        (Some(reference), None) => reference_error(module, op, reference, reporter),
        (None, Some(name)) => builtin_or_registered(module, op, name, reporter),
        _ => {
            reporter.error(loc, "'irdl.base' has either a reference or a name");
        }
    }
    if let Some(wanted) = module.attr_by(op, super::ELEMENTS) {
        let text = wanted.as_str(ctx).unwrap_or_default();
        if name != Some("!builtin.tensor") || !matches!(text, "float" | "integer") {
            let message =
                format!("{} is \"float\" or \"integer\", of \"!builtin.tensor\"", super::ELEMENTS);
            reporter.error(loc, message);
        }
    }
}

fn builtin_or_registered(module: &Module, op: Op, name: &str, reporter: &mut Reporter<'_>) {
    let (loc, ctx) = (module.op_loc(op), module.ctx());
    let is_known = match name.split_at_checked(1) {
        Some(("!", full)) => {
            let format = full.strip_prefix("builtin.");
            format.is_some_and(|text| FloatKind::from_spelling(text).is_some())
                || ctx.type_def(ctx.name(full)).is_some()
        }
        Some(("#", full)) => ctx.attr_def(ctx.name(full)).is_some(),
        _ => {
            reporter.error(
                loc,
                format!(
                    "\"{name}\" begins with '!' if it is a type, with '#' if it is an attribute"
                ),
            );
            return;
        }
    };
    if is_known || BUILTIN.contains(&name) {
        return;
    }
    let known = ctx.dialects().iter().flat_map(|dialect| {
        let types = dialect.types.iter().map(|def| format!("!{}", def.name));
        types.chain(dialect.attrs.iter().map(|def| format!("#{}", def.name)))
    });
    let known: Vec<String> = BUILTIN.iter().map(|name| (*name).to_owned()).chain(known).collect();
    let close = did_you_mean(name, known.iter().map(String::as_str));
    reporter.error(loc, format!("there is no type or attribute \"{name}\"")).hint =
        close.map(|close| format!("did you mean \"{close}\"?"));
}

fn reference_error(module: &Module, op: Op, reference: Attr, reporter: &mut Reporter<'_>) {
    if let Err((message, hint)) = resolve(module, op, reference) {
        reporter.error(module.op_loc(op), message).hint = hint;
    }
}

pub(super) fn parametric(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let given = module.num_operands(op);
    match resolve(module, op, Parametric(op).base_type(module)) {
        Err((message, hint)) => reporter.error(module.op_loc(op), message).hint = hint,
        Ok(definition) => {
            if let Some(wanted) = definition.parameters.filter(|wanted| *wanted != given) {
                let name = definition.name;
                let message = format!("'{name}' has {wanted} parameter(s), not {given}");
                reporter.error(module.op_loc(op), message);
            }
        }
    }
}

pub(super) fn not_empty(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    if module.num_operands(op) == 0 {
        let name = module.name_text(op);
        reporter.error(module.op_loc(op), format!("'{name}' needs at least one constraint"));
    }
}
