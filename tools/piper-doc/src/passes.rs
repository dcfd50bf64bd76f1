//! The page of passes.

use std::fmt::Write;

use piper_ir::pass::{PassInfo, PassRegistry};

use crate::{GENERATED, table};

/// The page of all passes, by name.
pub(crate) fn page(registry: &PassRegistry) -> String {
    let mut out = format!("{GENERATED}\n# Passes\n\n");
    out.push_str(
        "`piper-opt --pass NAME` runs one pass and, before it, those on whose result it works; `piper-opt --pass-pipeline='builtin.module(a,b{option=1})'` \
         runs exactly what it says. [add-a-pass.md](add-a-pass.md) shows how to write one.\n\n",
    );
    let rows: Vec<Vec<String>> = registry
        .iter()
        .map(|info| vec![format!("[`{0}`](#{0})", info.name), info.summary.to_string()])
        .collect();
    out.push_str(&table(&["pass", "what it does"], &rows));
    registry.iter().for_each(|info| pass(&mut out, info));
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn pass(out: &mut String, info: &PassInfo) {
    let _ = writeln!(out, "## `{}`\n\n{}\n", info.name, info.summary);
    if !info.description.is_empty() {
        let _ = writeln!(out, "{}\n", info.description.trim());
    }
    let options: Vec<Vec<String>> = info
        .options
        .iter()
        .map(|option| {
            let default =
                option.default.as_ref().map_or(String::new(), |value| format!("`{value}`"));
            vec![format!("`{}`", option.name), option.summary.to_string(), default]
        })
        .collect();
    out.push_str(&table(&["option", "what it says", "default"], &options));
    let mut facts = Vec::new();
    if let Some(anchor) = info.anchor.as_ref().filter(|anchor| *anchor != "builtin.module") {
        facts.push(format!("Runs on `{anchor}`."));
    }
    if !info.requires.is_empty() {
        let names: Vec<String> =
            info.requires.iter().map(|name| format!("[`{name}`](#{name})")).collect();
        facts.push(format!("Works on the result of {}.", names.join(", ")));
    }
    if !facts.is_empty() {
        let _ = writeln!(out, "{}\n", facts.join(" "));
    }
}
