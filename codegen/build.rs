//! Gives the code generator an identity: a hash of its own sources. Code in a cache was made by one code generator and is of
//! no use to another, and while one is worked on its version number says nothing.

use std::path::{Path, PathBuf};

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the sources are");
    let mut files = Vec::new();
    collect(&Path::new(&root).join("src"), &mut files);
    files.sort();
    let mut hash = Fnv::new();
    for file in &files {
        let contents = std::fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().into_owned();
        for part in [name.as_bytes(), &contents] {
            hash.eat(&(part.len() as u64).to_le_bytes());
            hash.eat(part);
        }
    }
    println!("cargo::rustc-env=PIPER_CODEGEN_SOURCES={:032x}", hash.0);
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources are readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// FNV-1a of 128 bits: nobody chooses sources to collide, and build scripts are built before any crate.
struct Fnv(u128);

impl Fnv {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn eat(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 =
                (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
