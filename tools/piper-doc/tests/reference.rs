//! The reference is what the definitions say, its examples are valid, and the guides quote the tree as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use piper_doc::all_dialects;
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Reporter, SourceFile};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn pages_are_up_to_date() {
    let docs = root().join("docs");
    let stale: Vec<String> = piper_doc::pages()
        .into_iter()
        .filter(|(path, text)| fs::read_to_string(docs.join(path)).ok().as_ref() != Some(text))
        .map(|(path, _)| path)
        .collect();
    assert!(stale.is_empty(), "out of date: {}. Run `cargo xtask docs`.", stale.join(", "));
    let known: Vec<String> = piper_doc::pages().into_iter().map(|(path, _)| path).collect();
    for entry in fs::read_dir(docs.join("dialects")).expect("docs/dialects") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(
            known.contains(&format!("dialects/{name}")),
            "docs/dialects/{name} belongs to no dialect"
        );
    }
}

/// The printed text, or the errors.
fn check(ctx: &Arc<Context>, name: &str, text: &str) -> Result<String, String> {
    let source = SourceFile::new(name, text);
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &source, &mut reporter);
    if let Some(module) = &module {
        piper_ir::verify::verify(module, &mut reporter);
    }
    let errors: Vec<String> = reporter.take().into_iter().map(|error| error.message).collect();
    match module.filter(|_| errors.is_empty()) {
        Some(module) => Ok(print_module(&module, PrintOptions::default())),
        None => Err(errors.join("\n")),
    }
}

#[test]
fn examples_parse_verify_and_round_trip() {
    let mut faults = Vec::new();
    for dialect in all_dialects() {
        for op in &dialect.ops {
            for (i, example) in op.examples.iter().enumerate() {
                let mut ctx = Context::new(piper_dialects::all());
                ctx.allow_unregistered = true;
                let ctx = Arc::new(ctx);
                let name = format!("{}#{i}", op.name);
                let text = example.file(dialect.setting);
                // `builtin.module` is written without its dialect.
                let shown = op.name.strip_prefix("builtin.").unwrap_or(&op.name);
                if !text.contains(shown) {
                    faults.push(format!("{name} does not show the operation"));
                }
                match check(&ctx, &name, &text) {
                    Err(errors) => faults.push(format!("{name}: {errors}\n{text}")),
                    Ok(printed) => match check(&ctx, &name, &printed) {
                        Ok(again) if again == printed => {}
                        Ok(again) => faults.push(format!("{name} changes:\n{printed}{again}")),
                        Err(errors) => faults.push(format!("{name}, printed: {errors}\n{printed}")),
                    },
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} example(s) are wrong:\n{}", faults.len(), faults.join("\n"));
}

/// Dialects that come from elsewhere and are documented there.
const FOREIGN: &[&str] = &["arith", "cf", "chlo", "irdl", "stablehlo"];

#[test]
fn every_operation_is_documented_by_an_example() {
    let mut bare = Vec::new();
    for dialect in all_dialects() {
        assert!(dialect.doc.ends_with('.'), "dialect '{}' has no documentation", dialect.name);
        for op in &dialect.ops {
            assert!(!op.summary.is_empty(), "'{}' has no summary", op.name);
            if op.examples.is_empty() && !FOREIGN.contains(&&*dialect.name) {
                bare.push(op.name.to_string());
            }
        }
    }
    assert!(bare.is_empty(), "{} operation(s) have no example: {}", bare.len(), bare.join(", "));
}

/// Code blocks whose info string is a language and a path: what they show stands in that file, lines and all.
#[test]
fn guides_quote_the_tree() {
    for guide in ["add-an-op.md", "add-a-pass.md"] {
        let text = fs::read_to_string(root().join("docs").join(guide)).expect("a guide");
        let mut quotes = 0;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else {
                continue;
            };
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let Some((_, path)) = info.split_once(' ') else { continue };
            let source = fs::read_to_string(root().join(path))
                .unwrap_or_else(|_| panic!("{guide} quotes {path}, which is not there"));
            // A line of dots stands for what is left out.
            for part in block.split(|line| line.trim() == "...") {
                let part = part.join("\n");
                assert!(
                    source.contains(part.trim_end()),
                    "{guide} quotes what {path} does not say:\n{part}"
                );
            }
            quotes += 1;
        }
        assert!(quotes >= 3, "{guide} quotes {quotes} times");
    }
}
