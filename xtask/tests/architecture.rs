//! The rules of docs/architecture.md that a program can check: who may know whom, where `unsafe` may stand, how long
//! a file may be, and that every dependency has a stated reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which workspace crates a layer may depend on. Tests may use any (`[dev-dependencies]` are not edges).
const LAYERS: &[(&str, &[&str])] = &[
    ("piper-ir", &["piper-ir-format", "piper-ir-macros"]),
    ("piper-ir-format", &[]),
    ("piper-ir-macros", &["piper-ir-format"]),
    ("piper-dialects", &["piper-ir", "piper-schedule"]),
    ("piper-schedule", &[]),
    ("piper-plan", &[]),
    ("piper-models", &[]),
    ("piper-passes", &["piper-ir", "piper-dialects", "piper-schedule", "piper-plan"]),
    ("piper-interp", &["piper-ir", "piper-dialects", "piper-plan"]),
    ("piper-codegen", &["piper-ir", "piper-dialects", "piper-plan"]),
    ("piper-mlir", &["piper-codegen"]),
    ("piper-runtime", &["piper-plan"]),
    ("piper-cuda", &["piper-plan", "piper-runtime"]),
    ("piper-sim", &["piper-plan"]),
    ("piper-ptx", &[]),
    ("piper-standin-interface", &[]),
    ("piper-standin-cuda", &["piper-ptx", "piper-standin-interface"]),
    ("piper-standin-nccl", &["piper-standin-interface"]),
    ("piper-standin-cublaslt", &["piper-standin-interface"]),
    ("piper-standin", &["piper-standin-cublaslt", "piper-standin-cuda", "piper-standin-nccl"]),
];

/// Folders whose crates stand above all layers and may use any of them.
const TOP: &[&str] = &["tools", "xtask", "bindings", "examples"];

/// Crates that bind LLVM and MLIR, and the only crate that may depend on each.
const LLVM_BINDINGS: &[(&str, &str)] = &[
    ("inkwell", "piper-codegen"),
    ("llvm-sys", "piper-codegen"),
    ("melior", "piper-mlir"),
    ("mlir-sys", "piper-mlir"),
];

/// Folders whose sources may contain `unsafe`: shared memory and loaded code, the LLVM interface, and the allocator that
/// the fuzz targets count with.
const MAY_BE_UNSAFE: &[&str] = &[
    "runtime",
    "cuda",
    "codegen",
    "mlir",
    "fuzz",
    "standin",
    "bindings/capi",
    "bindings/plugin",
    "bindings/host",
];

const LONGEST_FILE: usize = 700;

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("the workspace root")
}

struct Package {
    name: String,
    folder: PathBuf,
    /// Name and whether it is a workspace crate, and whether tests alone use it.
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    is_internal: bool,
    is_dev: bool,
}

fn packages() -> Vec<Package> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let text = |value: &Value| value.as_str().expect("a string in cargo metadata").to_string();
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let read = |package: &Value| Package {
        name: text(&package["name"]),
        folder: Path::new(&text(&package["manifest_path"]))
            .parent()
            .expect("a folder")
            .to_path_buf(),
        dependencies: package["dependencies"]
            .as_array()
            .expect("a list of dependencies")
            .iter()
            .map(|d| Dependency {
                name: text(&d["name"]),
                is_internal: d["source"].is_null(),
                is_dev: d["kind"] == "dev",
            })
            .collect(),
    };
    packages.iter().map(read).collect()
}

/// Every Rust source of the workspace, with its path from the root.
fn sources() -> Vec<(PathBuf, String)> {
    fn collect(dir: &Path, root: &Path, into: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(dir).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_build_folder = dir == root && name.starts_with("target");
            if name.starts_with('.') || is_build_folder {
                continue;
            }
            if path.is_dir() {
                collect(&path, root, into);
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(&path).expect("a readable source");
                into.push((
                    path.strip_prefix(root).expect("a path under the root").to_path_buf(),
                    text,
                ));
            }
        }
    }
    let root = root();
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    found.sort();
    found
}

/// `source` with comments and the contents of string and character literals blanked; lines keep their numbers.
fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let newlines =
        |from: usize, to: usize| chars[from..to].iter().filter(|c| **c == '\n').collect::<String>();
    while at < chars.len() {
        let start = at;
        let next = chars.get(at + 1).copied();
        match chars[at] {
            '/' if next == Some('/') => {
                while at < chars.len() && chars[at] != '\n' {
                    at += 1;
                }
            }
            '/' if next == Some('*') => {
                let mut depth = 0;
                loop {
                    match (chars.get(at), chars.get(at + 1)) {
                        (Some('/'), Some('*')) => (depth, at) = (depth + 1, at + 2),
                        (Some('*'), Some('/')) => (depth, at) = (depth - 1, at + 2),
                        (Some(_), _) => at += 1,
                        (None, _) => break,
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            'r' if (start == 0 || !is_word(chars[start - 1]) || chars[start - 1] == 'b')
                && chars[at + 1..].iter().find(|c| **c != '#') == Some(&'"') =>
            {
                let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
                at += hashes + 2;
                while at < chars.len()
                    && !(chars[at] == '"'
                        && chars[at + 1..].iter().take(hashes).filter(|c| **c == '#').count()
                            == hashes)
                {
                    at += 1;
                }
                at = (at + 1 + hashes).min(chars.len());
            }
            '"' => {
                at += 1;
                while at < chars.len() && chars[at] != '"' {
                    at += if chars[at] == '\\' { 2 } else { 1 };
                }
                at = (at + 1).min(chars.len());
            }
            // A character literal; a lifetime has no closing quote after one character.
            '\'' if next == Some('\\') => {
                at += 3;
                while at < chars.len() && chars[at] != '\'' {
                    at += 1;
                }
                at = (at + 1).min(chars.len());
            }
            '\'' if chars.get(at + 2) == Some(&'\'') => at += 3,
            c => {
                out.push(c);
                at += 1;
                continue;
            }
        }
        out.push(' ');
        out.push_str(&newlines(start, at));
    }
    out
}

/// Lines (1-based) on which `word` stands as a word of its own, with `suffix` right after it.
fn lines_with(code: &str, word: &str, suffix: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let holds = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let after = &line[at + word.len()..];
            !line[..at].chars().next_back().is_some_and(is_word)
                && after.starts_with(suffix)
                && (!suffix.is_empty() || !after.chars().next().is_some_and(is_word))
        })
    };
    code.lines().enumerate().filter(|(_, line)| holds(line)).map(|(i, _)| i + 1).collect()
}

fn assert_none(what: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{what}:\n  {}", faults.join("\n  "));
}

#[test]
fn crates_depend_only_downwards() {
    let layers: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let root = root();
    let mut faults = Vec::new();
    for package in packages() {
        let folder = package.folder.strip_prefix(&root).unwrap_or(&package.folder);
        if TOP.iter().any(|top| folder.starts_with(top)) {
            continue;
        }
        let Some(allowed) = layers.get(package.name.as_str()) else {
            faults.push(format!(
                "{} is in no layer: add it to LAYERS and to docs/architecture.md",
                package.name
            ));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|d| d.is_internal && !d.is_dev) {
            if !allowed.contains(&dependency.name.as_str()) {
                faults.push(format!("{} may not depend on {}", package.name, dependency.name));
            }
        }
    }
    assert_none("edges that the architecture forbids", &faults);
}

#[test]
fn the_table_of_layers_is_itself_acyclic() {
    // A crate may only know crates that are listed with fewer edges beneath them, so a cycle never settles.
    let mut settled = BTreeSet::new();
    while settled.len() < LAYERS.len() {
        let before = settled.len();
        for (name, allowed) in LAYERS {
            if allowed.iter().all(|a| settled.contains(a)) {
                settled.insert(*name);
            }
        }
        assert!(settled.len() > before, "the layers have a cycle or name an unknown crate");
    }
}

#[test]
fn bindings_of_llvm_have_one_owner_each() {
    let mut faults = Vec::new();
    for package in packages() {
        for dependency in &package.dependencies {
            let binding = LLVM_BINDINGS.iter().find(|(name, _)| *name == dependency.name);
            if binding.is_some_and(|(_, owner)| *owner != package.name) {
                faults.push(format!("{} depends on {}", package.name, dependency.name));
            }
        }
    }
    assert_none("only piper-codegen may bind LLVM, and piper-mlir MLIR", &faults);
}

#[test]
fn unsafe_code_stays_where_it_is_allowed() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        if MAY_BE_UNSAFE.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        for line in lines_with(&code_only(&text), "unsafe", "") {
            faults.push(format!("{}:{line}", path.display()));
        }
    }
    assert_none("`unsafe` outside of runtime, codegen and fuzz", &faults);
}

#[test]
fn nothing_is_left_to_do_in_code() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let code = code_only(&text);
        for word in ["todo", "unimplemented"] {
            for line in lines_with(&code, word, "!") {
                faults.push(format!("{}:{line}: {word}!", path.display()));
            }
        }
    }
    assert_none("unfinished code", &faults);
}

#[test]
fn files_stay_readable_in_one_sitting() {
    let long: Vec<String> = sources()
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert_none(&format!("files above {LONGEST_FILE} lines; split them by concept"), &long);
}

/// Crate names in the first column of the tables in docs/dependencies.md, with their reasons.
fn stated_reasons() -> BTreeMap<String, String> {
    let path = root().join("docs/dependencies.md");
    let text = fs::read_to_string(&path).expect("docs/dependencies.md");
    let row = |line: &str| {
        let cells: Vec<&str> =
            line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let [name, .., reason] = cells.as_slice() else { return None };
        Some((name.strip_prefix('`')?.strip_suffix('`')?.to_string(), (*reason).to_string()))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn every_dependency_has_a_stated_reason() {
    let reasons = stated_reasons();
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for package in packages() {
        for dependency in package.dependencies.iter().filter(|d| !d.is_internal) {
            used.insert(dependency.name.clone());
            if reasons.get(&dependency.name).is_none_or(|reason| reason.len() < 10) {
                faults.push(format!("{} (used by {}) has no row", dependency.name, package.name));
            }
        }
    }
    assert!(!used.is_empty(), "the workspace has external dependencies, but none was read");
    assert_none("add a row `| `name` | who | why |` to docs/dependencies.md", &faults);
}

#[test]
fn the_scanner_sees_code_and_nothing_else() {
    let source = "// unsafe\nlet a = \"unsafe \\\" unsafe\"; /* unsafe\n/* x */ */ let c = '\"'; unsafe { }\nlet r = r#\"unsafe \" \"#;\nfn f<'a>(x: &'a str) {}\n#![forbid(unsafe_code)]\nlet b = b\"unsafe\"; let q = '\\''; todo!()\n";
    let code = code_only(source);
    assert_eq!(code.lines().count(), source.lines().count());
    assert_eq!(lines_with(&code, "unsafe", ""), [3]);
    assert_eq!(lines_with(&code, "todo", "!"), [7]);
}
