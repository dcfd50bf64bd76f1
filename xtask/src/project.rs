//! What cargo knows of the workspace: its packages, their targets, and who has the feature `llvm`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The workspace this program was built in.
pub(crate) struct Project {
    root: PathBuf,
    packages: Vec<Value>,
}

impl Project {
    /// # Errors
    /// When cargo cannot describe the workspace.
    pub(crate) fn load() -> Result<Self> {
        let mut project = Self {
            root: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".."),
            packages: Vec::new(),
        };
        let output = project
            .cargo(&["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("cannot start cargo; is the Rust toolchain on PATH?")?;
        ensure!(
            output.status.success(),
            "cargo cannot read the workspace:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let mut metadata: Value =
            serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
        if let Value::Array(packages) = metadata["packages"].take() {
            project.packages = packages;
        }
        Ok(project)
    }

    /// Builds a program of the workspace for measuring and returns where it is.
    ///
    /// # Errors
    /// When it does not build, or cargo does not say where it is.
    pub(crate) fn built_program(&self, name: &str) -> Result<PathBuf> {
        let built = self.built(&["build", "--release", "-p", name])?;
        let is_it = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == name);
        built.into_iter().find(is_it).with_context(|| format!("cargo does not say where {name} is"))
    }

    /// The programs that a cargo command builds.
    ///
    /// # Errors
    /// When they do not build.
    pub(crate) fn built(&self, args: &[&str]) -> Result<Vec<PathBuf>> {
        let output = self
            .cargo(args)
            .args(["--message-format", "json-render-diagnostics"])
            .stderr(std::process::Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "cargo {} failed", args.join(" "));
        let messages = String::from_utf8_lossy(&output.stdout);
        let programs = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|message| message["executable"].as_str().map(PathBuf::from));
        Ok(programs.collect())
    }

    /// A folder of the workspace, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        Ok(std::fs::canonicalize(path)?)
    }

    /// A cargo command in the workspace root. It reads nothing from the terminal.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args).current_dir(&self.root).stdin(std::process::Stdio::null());
        command
    }

    /// Options that switch the feature `llvm` on where it exists; no default feature needs LLVM.
    pub(crate) fn features_of(&self, package: Option<&str>, has_llvm: bool) -> Vec<String> {
        options(self.with_llvm(package, has_llvm))
    }

    /// Options for the whole workspace: with the module of the Python package, and with MLIR, if it is there. One choice for all
    /// steps of a run: crates are built once.
    pub(crate) fn all_features(&self, has_llvm: bool, has_mlir: bool) -> Vec<String> {
        let mut features = self.with_llvm(None, has_llvm);
        features.push("piper-python/extension".into());
        if has_llvm && has_mlir {
            features.push("piper-mlir/mlir".into());
        }
        options(features)
    }

    fn with_llvm(&self, package: Option<&str>, has_llvm: bool) -> Vec<String> {
        let packages =
            self.packages.iter().filter(|p| package.is_none_or(|name| p["name"] == name));
        packages
            .filter(|p| has_llvm && !p["features"]["llvm"].is_null())
            .filter_map(|p| Some(format!("{}/llvm", p["name"].as_str()?)))
            .collect()
    }

    /// Package and name of each target of this kind (`test`, `bench`) whose name is wanted.
    pub(crate) fn targets(
        &self,
        kind: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for package in &self.packages {
            for target in package["targets"].as_array().into_iter().flatten() {
                let is_kind =
                    target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind));
                if let (true, Some(package), Some(name)) =
                    (is_kind, package["name"].as_str(), target["name"].as_str())
                    && wanted(name)
                {
                    found.push((package.to_string(), name.to_string()));
                }
            }
        }
        found
    }
}

fn options(features: Vec<String>) -> Vec<String> {
    if features.is_empty() { Vec::new() } else { vec!["--features".into(), features.join(",")] }
}
