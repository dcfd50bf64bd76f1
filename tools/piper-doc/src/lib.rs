//! The reference of dialects and passes, written from their definitions: `cargo xtask docs`.
//!
//! A page is a function of the registered definitions alone, so a test can tell when one is out of date
//! (`tests/reference.rs`); the same test parses and verifies every example.

#![forbid(unsafe_code)]

mod dialects;
mod passes;

use std::path::Path;

use anyhow::{Context as _, Result};
use piper_ir::{Context, Dialect};

/// The first lines of every page.
const GENERATED: &str =
    "<!-- Written by `cargo xtask docs` from the definitions. Change those, not this page. -->\n";

/// All dialects the tools know, `builtin` included, by name.
pub fn all_dialects() -> Vec<Dialect> {
    let mut dialects = Context::new(piper_dialects::all()).dialects().to_vec();
    dialects.sort_by_key(|dialect| dialect.name.clone());
    dialects
}

/// Every page: its path below `docs/` and its text.
pub fn pages() -> Vec<(String, String)> {
    let dialects = all_dialects();
    let mut pages = vec![("dialects/README.md".to_owned(), dialects::index(&dialects))];
    pages.extend(dialects.iter().map(|d| (format!("dialects/{}.md", d.name), dialects::page(d))));
    pages.push(("passes.md".to_owned(), passes::page(&piper_passes::registry::all())));
    pages
}

/// Writes the pages that changed below `docs` and returns their paths.
///
/// # Errors
/// A file that cannot be written.
pub fn write(docs: &Path) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for (path, text) in pages() {
        let file = docs.join(&path);
        if std::fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// A table row, with the bars of its cells escaped.
fn row(cells: &[&str]) -> String {
    let cells: Vec<String> =
        cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A table with these column titles, or nothing if there are no rows.
fn table(titles: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = row(titles);
    out.push_str(&format!("|{}\n", "---|".repeat(titles.len())));
    for cells in rows {
        out.push_str(&row(&cells.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    out.push('\n');
    out
}
