//! The tests that `docs/errors.md` names exist, and the goldens of refused directives are all named there.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/errors.md")).expect("the page")
}

/// Golden files under a folder, as the page names them.
fn goldens(folder: &str) -> Vec<String> {
    let path = root().join("test/lit").join(folder);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&path).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            all.extend(goldens(&name));
        } else {
            all.push(name);
        }
    }
    all
}

#[test]
fn named_tests_exist() {
    let page = page();
    let named = page
        .split('`')
        .filter(|text| text.contains('/') && [".pir", ".test"].iter().any(|e| text.ends_with(e)));
    let missing: Vec<&str> =
        named.filter(|name| !root().join("test/lit").join(name).is_file()).collect();
    assert!(missing.is_empty(), "docs/errors.md names tests that are not there: {missing:?}");
}

#[test]
fn named_functions_are_tests() {
    let page = page();
    let files = [
        "tools/piper-run/tests/cuda.rs",
        "tools/piper-opt/tests/plugins.rs",
        "tools/piper-opt/tests/stable_plugins.rs",
        "bindings/capi/tests/plugins.rs",
        "bindings/host/src/library.rs",
    ];
    let texts = files.map(|file| std::fs::read_to_string(root().join(file)).expect(file));
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).map(str::trim).collect();
    let tests: Vec<&str> =
        lines.windows(2).filter(|pair| pair[0] == "#[test]").map(|pair| pair[1]).collect();
    let named: Vec<&str> = page.split('`').filter(|text| text.ends_with("()")).collect();
    assert!(named.len() > 10, "{named:?}");
    let missing: Vec<&str> =
        named.into_iter().filter(|name| !tests.contains(&&*format!("fn {name} {{"))).collect();
    assert!(missing.is_empty(), "docs/errors.md names tests that are not there: {missing:?}");
}

#[test]
fn refused_directives_are_named() {
    let page = page();
    let unnamed: Vec<String> =
        ["shard", "zero", "recompute", "overlap", "sm-partition", "declared"]
            .iter()
            .flat_map(|topic| goldens(&format!("passes/{topic}")))
            .filter(|name| {
                let text =
                    std::fs::read_to_string(root().join("test/lit").join(name)).expect("text");
                text.contains(": error: ") && !page.contains(&format!("`{name}`"))
            })
            .collect();
    assert!(unnamed.is_empty(), "no row in docs/errors.md: {unnamed:?}");
}
