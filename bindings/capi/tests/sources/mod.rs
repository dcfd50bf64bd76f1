//! The exported functions, read from the sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Item, ItemFn};

/// The crate's folder.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file's text; empty if there is none.
pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The exported functions of the sources in a folder, by name.
pub(crate) fn exported(folder: &Path) -> BTreeMap<String, ItemFn> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let file = syn::parse_file(&read(&path)).expect("a source that parses");
        for item in file.items {
            if let Item::Fn(function) = item
                && function
                    .attrs
                    .iter()
                    .any(|a| a.to_token_stream().to_string().contains("no_mangle"))
            {
                found.insert(function.sig.ident.to_string(), function);
            }
        }
    }
    found
}
