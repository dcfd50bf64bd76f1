//! `cargo xtask new-plugin NAME`: a crate of one's own, outside the workspace, with a pass and a test.
//!
//! The crate depends on `piper-plugin` by its path here, and starts with a copy of this workspace's `Cargo.lock` and
//! profiles: a plugin has to be built as its host is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The template's files, from `templates/`, by the path in the new crate.
const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../templates/plugin/Cargo.toml.in")),
    ("src/lib.rs", include_str!("../templates/plugin/lib.rs.in")),
    (".gitignore", "/target\n"),
];

/// Makes the crate, in `path` or in a folder of its name, and returns where it is.
///
/// # Errors
/// A name that is none, a folder that is not empty, or a file that cannot be written.
pub(crate) fn create(root: &Path, name: &str, path: Option<PathBuf>) -> Result<PathBuf> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    ensure!(
        is_name,
        "'{name}' is no name for a plugin: lower-case letters, digits and '-', a letter first"
    );
    let folder = path.unwrap_or_else(|| PathBuf::from(name));
    let is_free = fs::read_dir(&folder).map_or(true, |mut entries| entries.next().is_none());
    ensure!(is_free, "'{}' is there already, and not empty", folder.display());
    let root = root.canonicalize().context("where the workspace is")?;
    for (file, text) in FILES {
        let to = folder.join(file);
        fs::create_dir_all(to.parent().unwrap_or(&folder))?;
        let text = text.replace("@NAME@", name).replace("@ROOT@", &root.to_string_lossy());
        fs::write(&to, text).with_context(|| format!("cannot write '{}'", to.display()))?;
    }
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .context("cannot copy the workspace's Cargo.lock")?;
    Ok(folder)
}

/// What to do next.
pub(crate) fn next_steps(name: &str, folder: &Path) -> String {
    let library = name.replace('-', "_");
    format!(
        "{0} is a plugin with one pass, print-{name}. In it:\n\n    cargo test\n    cargo build\n    \
         piper-opt --load-plugin=target/debug/lib{library}.so --print-{name} FILE.pir\n\n\
         A piper-opt that is built with --release wants `cargo build --release` here.",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{create, next_steps};

    #[test]
    fn a_crate_has_its_name_and_its_way_here() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = std::env::temp_dir().join(format!("piper-new-plugin-{}", std::process::id()));
        let made = create(&root, "my-count", Some(folder.clone())).expect("a crate");
        let read = |file: &str| std::fs::read_to_string(made.join(file)).expect(file);
        let manifest = read("Cargo.toml");
        assert!(manifest.contains("name = \"my-count\"") && manifest.contains("[workspace]"));
        assert!(manifest.contains("/bindings/plugin\" }") && !manifest.contains('@'), "{manifest}");
        assert!(read("src/lib.rs").contains("\"print-my-count\""));
        assert!(read("Cargo.lock").contains("piper-plugin"));
        assert!(next_steps("my-count", &made).contains("libmy_count.so --print-my-count"));
        let again = create(&root, "my-count", Some(folder.clone())).expect_err("it is not empty");
        assert!(again.to_string().contains("not empty"));
        std::fs::remove_dir_all(folder).expect("it can be removed");
        for bad in ["", "My", "a b", "../x", "1a"] {
            assert!(create(&root, bad, Some(PathBuf::from("/nowhere"))).is_err(), "{bad}");
        }
    }
}
