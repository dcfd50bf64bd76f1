//! Pages of dialects.

use std::fmt::Write;

use piper_ir::{Arity, AttrDef, AttrDefault, Dialect, OpDef, ParamDef, Syntax, ValueDef};

use crate::{GENERATED, table};

/// The page that lists all dialects.
pub(crate) fn index(dialects: &[Dialect]) -> String {
    let mut out = format!("{GENERATED}\n# Dialects\n\n");
    out.push_str("The reference of every operation, type and attribute. [add-an-op.md](../add-an-op.md) shows how to declare one.\n\n");
    let rows: Vec<Vec<String>> = dialects
        .iter()
        .map(|dialect| {
            let name = &dialect.name;
            vec![
                format!("[`{name}`]({name}.md)"),
                dialect.ops.len().to_string(),
                first_sentence(&dialect.doc).to_owned(),
            ]
        })
        .collect();
    out.push_str(&table(&["dialect", "operations", "what it is"], &rows));
    trim(out)
}

/// The page of one dialect.
pub(crate) fn page(dialect: &Dialect) -> String {
    let mut out =
        format!("{GENERATED}\n# Dialect `{}`\n\n{}\n\n", dialect.name, dialect.doc.trim());
    let mut ops: Vec<&OpDef> = dialect.ops.iter().map(|op| &**op).collect();
    ops.sort_by_key(|op| op.name.clone());
    let rows: Vec<Vec<String>> = ops
        .iter()
        .map(|op| vec![format!("[`{}`](#{})", op.name, anchor(&op.name)), op.summary.to_string()])
        .collect();
    out.push_str(&table(&["operation", "summary"], &rows));
    if !dialect.setting.is_empty() {
        let _ = writeln!(
            out,
            "Unless they are whole files, the examples on this page stand in place of the dots:\n\n```mlir\n{}\n```\n",
            dialect.setting.trim_matches('\n')
        );
    }
    if !ops.is_empty() {
        out.push_str("## Operations\n\n");
        ops.iter().for_each(|op| operation(&mut out, op));
    }
    parameters(&mut out, "Types", "!", &dialect.types);
    parameters(&mut out, "Attributes", "#", &dialect.attrs);
    trim(out)
}

fn operation(out: &mut String, op: &OpDef) {
    let _ = writeln!(out, "### `{}`\n\n{}\n", op.name, op.summary);
    if let Syntax::Declarative(format) = &op.syntax {
        let _ = writeln!(out, "```text\n{}\n```\n", format.form(op));
    }
    if !op.description.is_empty() {
        let _ = writeln!(out, "{}\n", op.description);
    }
    for example in &op.examples {
        let _ = writeln!(out, "```mlir\n{}\n```\n", example.text);
    }
    values(out, "operand", &op.operands);
    let attrs: Vec<Vec<String>> = op.attrs.iter().map(attribute).collect();
    out.push_str(&table(&["attribute", "must be", ""], &attrs));
    values(out, "result", &op.results);
    let regions = op.regions.iter().map(|region| vec![code(&region.name), count(region.arity)]);
    out.push_str(&table(&["region", ""], &regions.collect::<Vec<_>>()));
    let successors = op.successors.iter().map(|block| vec![code(&block.name), count(block.arity)]);
    out.push_str(&table(&["successor", ""], &successors.collect::<Vec<_>>()));
    let traits: Vec<String> = op.traits.iter().map(|it| code(&format!("{it:?}"))).collect();
    let interfaces: Vec<String> = op.interface_names.iter().map(|it| code(it)).collect();
    let facts = [("Traits", traits), ("Interfaces", interfaces)];
    let facts = facts.iter().filter(|(_, names)| !names.is_empty());
    let facts: Vec<String> =
        facts.map(|(title, names)| format!("{title}: {}.", names.join(", "))).collect();
    if !facts.is_empty() {
        let _ = writeln!(out, "{}\n", facts.join(" "));
    }
}

fn values(out: &mut String, what: &str, defs: &[ValueDef]) {
    let rows: Vec<Vec<String>> = defs
        .iter()
        .map(|def| vec![code(&def.name), sentence(&def.constraint.describe()), count(def.arity)])
        .collect();
    out.push_str(&table(&[what, "must be", ""], &rows));
}

fn attribute(attr: &AttrDef) -> Vec<String> {
    let presence = match (&attr.default, attr.required) {
        (Some(AttrDefault::Int(value)), _) => format!("default {value}"),
        (Some(AttrDefault::Float(value)), _) => format!("default {value:?}"),
        (Some(AttrDefault::Bool(value)), _) => format!("default {value}"),
        (Some(AttrDefault::Str(text)), _) => format!("default \"{text}\""),
        (None, true) => String::new(),
        (None, false) => "optional".to_owned(),
    };
    vec![code(&attr.name), sentence(&attr.constraint.describe()), presence]
}

fn count(arity: Arity) -> String {
    match arity {
        Arity::One => "",
        Arity::Optional => "optional",
        Arity::Variadic => "any number",
    }
    .to_owned()
}

fn parameters(out: &mut String, title: &str, sigil: &str, defs: &[ParamDef]) {
    if defs.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n");
    let mut defs: Vec<&ParamDef> = defs.iter().collect();
    defs.sort_by_key(|def| def.name.clone());
    for def in defs {
        let _ = writeln!(out, "### `{sigil}{}`\n\n{}\n", def.name, def.doc.trim());
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Types and attributes named in constraints are code.
fn sentence(text: &str) -> String {
    if text.starts_with(['!', '#']) { code(text) } else { text.to_owned() }
}

fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").or_else(|| text.find(".\n")).map_or(text.len(), |at| at + 1);
    text[..end].trim()
}

/// The anchor that Markdown viewers make of a heading.
fn anchor(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

/// Ends with one line break.
fn trim(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
