//! What must be the same in a plugin and in what loads it, as text: the compiler, what it makes code for, and the sources
//! of the crates whose types go from one to the other.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders, from the workspace's root, of crates whose types cross.
const SOURCES: [&str; 7] = [
    "ir/src",
    "ir/format/src",
    "ir/macros/src",
    "dialects/src",
    "passes/src",
    "schedule/src",
    "bindings/plugin/src",
];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
        let text = fs::read(&file).unwrap_or_default();
        for byte in name.bytes().chain([0]).chain(text).chain([0]) {
            // FNV-1a
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    let rustc = std::process::Command::new(variable("RUSTC")).arg("-vV").output();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let rustc = rustc.unwrap_or_default();
    let line = |key: &str| rustc.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("?");
    set("RUSTC", &format!("{} ({})", line("release: "), line("commit-hash: ")));
    set("TARGET", &format!("{} {}", variable("TARGET"), variable("CARGO_CFG_TARGET_FEATURE")));
    set("PANIC", &variable("CARGO_CFG_PANIC"));
    set("SOURCES", &format!("{hash:016x}"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env=PIPER_PLUGIN_{name}={value}");
}
