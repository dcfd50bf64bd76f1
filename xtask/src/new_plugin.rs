//! `cargo xtask new-plugin NAME`: a crate of one's own, outside the workspace, with a pass and a test.
//!
//! The crate depends on `piper-plugin` by its path here, and starts with a copy of this workspace's `Cargo.lock` and
//! profiles: a plugin has to be built as its host is. That it is, is a step of `cargo xtask test`: a test of this crate
//! would build in the workspace that it runs in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::project::Project;

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

/// Makes a plugin outside the workspace, tests and builds it there, and has `piper-opt` load and run it. What cargo builds of
/// other people's crates is shared with the workspace.
///
/// # Errors
/// When something cannot be started or written. What does not work is told.
pub(crate) fn step(project: &Project, features: &[String]) -> Result<bool> {
    const NAME: &str = "new-plugin-check";
    // The profile and features that tests have, so that nothing is compiled twice.
    let mut build = vec!["build", "--workspace", "--bin", "piper-opt"];
    build.extend(features.iter().map(String::as_str));
    let programs = project.built(&build)?;
    let opt = programs.first().context("cargo does not say where piper-opt is")?;
    let target = opt.ancestors().nth(2).context("piper-opt is in no target folder")?;
    let folder = std::env::temp_dir().join(format!("piper-{NAME}-{}", std::process::id()));
    let root = project.folder(".")?;
    let cargo = |task: &str| {
        let mut command = project.cargo(&[task, "--quiet", "--target-dir"]);
        command.arg(target).current_dir(&folder);
        Ok::<bool, anyhow::Error>(command.status()?.success())
    };
    let is_built = create(&root, NAME, Some(folder.clone()))
        .and_then(|_| Ok(cargo("test")? && cargo("build")?));
    // Whatever became of it.
    let is_removed = fs::remove_dir_all(&folder);
    if !is_built? {
        return Ok(false);
    }
    is_removed.context("cannot remove the plugin")?;
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = format!("{prefix}{}{suffix}", NAME.replace('-', "_"));
    let output = Command::new(opt)
        .arg(format!("--load-plugin={}", target.join("debug").join(library).display()))
        .arg(format!("--print-{NAME}"))
        .arg(root.join("examples/mlp.pir"))
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_run = output.status.success() && said.contains(" operation(s)");
    if !is_run {
        println!("      piper-opt did not run its pass:\n{said}");
    }
    Ok(is_run)
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
