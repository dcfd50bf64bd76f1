//! Every class of error that a text can have is a golden under `test/lit`, with its message and its place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// At least so many classes have a golden.
const CLASSES: usize = 250;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of tests").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// A message without what it quotes, so that two mistakes of one kind count once.
fn class(message: &str) -> String {
    let mut out = String::new();
    for (i, part) in message.split(['\'', '"']).enumerate() {
        match i % 2 {
            0 => out.push_str(part),
            // What was expected tells classes apart; what was found instead does not.
            _ if out.ends_with("found ") => out.push('_'),
            _ => out.push_str(if part.len() <= 3 { part } else { "_" }),
        }
    }
    out.split_whitespace()
        .map(|word| if word.bytes().any(|b| b.is_ascii_digit()) { "0" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn error_classes_have_goldens() {
    let mut paths = Vec::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/lit");
    for folder in ["bad-input", "ir"] {
        files(&tests.join(folder), &mut paths);
    }
    let mut classes = BTreeSet::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            // With its place: the line and the column behind it, or the line of an `expected-error`.
            if let Some((_, message)) = line.split_once(": error: ") {
                if lines.peek().is_some_and(|next| next.contains("-->")) {
                    classes.insert(class(message));
                }
            } else if let Some((place, message)) = line.split_once("{{")
                && place.contains("expected-error")
            {
                classes.insert(class(message.trim_end_matches("}}")));
            }
        }
    }
    println!("{} classes of errors have goldens", classes.len());
    assert!(classes.len() >= CLASSES, "{} classes: {classes:#?}", classes.len());
}
