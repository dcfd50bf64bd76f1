//! `--list-passes` and `--show-dialects`.

use std::fmt::Write;

use piper_ir::Dialect;
use piper_ir::pass::PassRegistry;

/// Names start here, what they mean begins after the longest.
const INDENT: usize = 2;
const WIDTH: usize = 100;

/// The passes with what they do, what they build on and their options.
pub(crate) fn passes(registry: &PassRegistry) -> String {
    let mut out = String::new();
    if registry.iter().next().is_none() {
        out.push_str("no passes are registered\n");
        return out;
    }
    let names = registry.iter().map(|info| info.name.len() + INDENT);
    let options = registry.iter().flat_map(|info| &info.options).map(|o| o.name.len() + INDENT + 4);
    let column = names.chain(options).max().unwrap_or(0) + 2;
    for info in registry.iter() {
        entry(&mut out, INDENT, &info.name, column, &info.summary);
        if info.origin.is_foreign() {
            entry(&mut out, 0, "", column, &format!("from {}", info.origin));
        }
        if let Some(anchor) = info.anchor.as_ref().filter(|anchor| *anchor != "builtin.module") {
            entry(&mut out, 0, "", column, &format!("runs on {anchor}"));
        }
        if !info.requires.is_empty() {
            entry(&mut out, 0, "", column, &format!("after {}", info.requires.join(", ")));
        }
        for option in &info.options {
            let text = match &option.default {
                Some(default) => format!("{} (default: {default})", option.summary),
                None => option.summary.to_string(),
            };
            entry(&mut out, INDENT + 2, &format!("{}=", option.name), column, &text);
        }
    }
    out
}

/// The dialects with what they are for and their operations.
pub(crate) fn dialects<'a>(dialects: impl IntoIterator<Item = &'a Dialect>) -> String {
    let mut out = String::new();
    for (i, dialect) in dialects.into_iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "{}: {}", dialect.name, one_line(&dialect.doc));
        let column = dialect.ops.iter().map(|op| op.name.len()).max().unwrap_or(0) + INDENT + 2;
        for op in &dialect.ops {
            entry(&mut out, INDENT, &op.name, column, &one_line(&op.summary));
        }
        for ty in &dialect.types {
            let _ = writeln!(out, "{:INDENT$}!{}", "", ty.name);
        }
        for attr in &dialect.attrs {
            let _ = writeln!(out, "{:INDENT$}#{}", "", attr.name);
        }
    }
    out
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name and its text, wrapped at words into the column beside it.
fn entry(out: &mut String, indent: usize, name: &str, column: usize, text: &str) {
    let mut line = format!("{:indent$}{name}", "");
    let mut fresh = true;
    for word in text.split_whitespace() {
        if !fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line.clear();
            fresh = true;
        }
        if fresh {
            line = format!("{line:<column$}{word}");
        } else {
            let _ = write!(line, " {word}");
        }
        fresh = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}
