//! Finds the tests under a folder and makes them trials of libtest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};

use crate::Output;
use crate::bless::{self, Blesser};
use crate::script::{self, Script};
use crate::shell::{Commands, Shell};

/// Stack of a test's thread: that of a tool's main thread, and room for an unoptimised build.
const STACK_BYTES: usize = 32 << 20;

/// A folder of lit tests and what they may use.
#[derive(Clone)]
pub struct Suite {
    root: PathBuf,
    temp: PathBuf,
    suffixes: Vec<String>,
    settings: Settings,
}

#[derive(Clone)]
struct Settings {
    commands: Commands,
    features: BTreeSet<String>,
    substitutions: Vec<(String, String)>,
    patience: Duration,
    blessing: bool,
}

impl Suite {
    /// The tests under `root`: files ending in `.pir`, `.txt` or `.test`, folders called `Inputs` left out.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let root = fs::canonicalize(&root).unwrap_or(root);
        Self {
            root,
            temp: std::env::temp_dir().join(format!("piper-lit-{}", std::process::id())),
            suffixes: [".pir", ".txt", ".test"].map(String::from).into(),
            settings: Settings {
                commands: Commands::default(),
                features: BTreeSet::new(),
                substitutions: Vec::new(),
                patience: Duration::from_secs(300),
                blessing: bless::requested(),
            },
        }
    }

    /// A command that runs in this process: arguments without the name, standard input, current folder.
    /// A panic in it fails the test, also under `not` (but not under `not --crash`).
    #[must_use]
    pub fn tool(
        mut self,
        name: &str,
        run: impl Fn(&[String], &[u8], &Path) -> Output + Send + Sync + 'static,
    ) -> Self {
        self.settings.commands.tools.insert(name.into(), Arc::new(run));
        self
    }

    /// A program found on PATH that tests may start; any other unknown command is an error.
    #[must_use]
    pub fn external(mut self, name: &str) -> Self {
        self.settings.commands.externals.insert(name.into());
        self
    }

    /// A feature for `REQUIRES:`, `UNSUPPORTED:` and `XFAIL:`.
    #[must_use]
    pub fn feature(mut self, name: &str) -> Self {
        self.settings.features.insert(name.into());
        self
    }

    /// Replaces `key` (such as `%examples`) in RUN lines.
    #[must_use]
    pub fn substitution(mut self, key: &str, value: &str) -> Self {
        self.settings.substitutions.push((key.into(), value.into()));
        self
    }

    /// The endings of test files, instead of the default ones.
    #[must_use]
    pub fn suffixes(mut self, suffixes: &[&str]) -> Self {
        self.suffixes = suffixes.iter().map(|s| (*s).to_string()).collect();
        self
    }

    /// The folder under which each test gets its own; emptied before a test and removed when it passes.
    #[must_use]
    pub fn temp_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.temp = dir.into();
        self
    }

    /// How long a test may take before it is reported as stuck (default: 300 s).
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.settings.patience = patience;
        self
    }

    /// Whether to regenerate expected output; by default what `PIPER_BLESS` says.
    #[must_use]
    pub fn blessing(mut self, blessing: bool) -> Self {
        self.settings.blessing = blessing;
        self
    }

    /// One trial a test file, named by its path under the root. A folder that cannot be read, or
    /// holds no test, is a failing trial.
    pub fn trials(&self) -> Vec<Trial> {
        let settings = Arc::new(self.settings.clone());
        let mut files = Vec::new();
        let mut trials = Vec::new();
        if let Err(message) = self.collect(&self.root, &mut files) {
            trials.push(Trial::test("suite", move || Err(Failed::from(message))));
        } else if files.is_empty() {
            let message = format!("no tests found under {}", self.root.display());
            trials.push(Trial::test("suite", move || Err(Failed::from(message))));
        }
        files.sort();
        for file in files {
            let name =
                file.strip_prefix(&self.root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            let temp = self.temp.join(&name);
            let settings = Arc::clone(&settings);
            trials.push(
                Trial::ignorable_test(name, move || run_test(&file, &temp, &settings))
                    .with_kind("lit"),
            );
        }
        trials
    }

    /// Runs the tests with the command line of libtest (filters, `--list`, `--test-threads`, ...).
    pub fn run(&self) -> Conclusion {
        libtest_mimic::run(&Arguments::from_args(), self.trials())
    }

    fn collect(&self, dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
        let unreadable =
            |e: std::io::Error| format!("cannot read the folder {}: {e}", dir.display());
        for entry in fs::read_dir(dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name =
                path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') || name == "Inputs" {
                continue;
            }
            if path.is_dir() {
                self.collect(&path, files)?;
            } else if self.suffixes.iter().any(|s| name.ends_with(s.as_str())) {
                files.push(path);
            }
        }
        Ok(())
    }
}

/// Runs a test on a thread of its own, so that a stuck one is reported and the others go on.
fn run_test(file: &Path, temp: &Path, settings: &Arc<Settings>) -> Result<Completion, Failed> {
    let (sender, receiver) = mpsc::channel();
    let (file_owned, temp_owned, settings_owned) =
        (file.to_path_buf(), temp.to_path_buf(), Arc::clone(settings));
    thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // The receiver is gone when patience ended; there is nobody left to tell.
            let _ = sender.send(verdict(&file_owned, &temp_owned, &settings_owned));
        })
        .map_err(|e| format!("cannot start a thread: {e}"))?;
    match receiver.recv_timeout(settings.patience) {
        Ok(verdict) => verdict.map_err(Failed::from),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(format!(
            "no end after {} s; the test was left running",
            settings.patience.as_secs()
        )
        .into()),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err("the test's thread ended without a verdict".into())
        }
    }
}

fn verdict(file: &Path, temp: &Path, settings: &Settings) -> Result<Completion, String> {
    let text =
        fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    let script = Script::parse(&text)?;
    if let Some(reason) = script.unsupported(&settings.features)? {
        return Ok(Completion::ignored_with(reason));
    }
    if settings.blessing {
        let mut blesser = Blesser::new(file, &text);
        run_script(&script, file, temp, settings, Some(&mut blesser))?;
        blesser.save(&text)?;
    }
    let result = run_script(&script, file, temp, settings, None);
    let result = match (result, script.expected_to_fail(&settings.features)?) {
        (Ok(()), true) => Err("unexpectedly passed (the test says XFAIL)".into()),
        (Err(_), true) => Ok(()),
        (result, false) => result,
    };
    if result.is_ok() && temp.exists() {
        fs::remove_dir_all(temp).map_err(|e| format!("cannot remove {}: {e}", temp.display()))?;
    }
    result.map(|()| Completion::Completed)
}

fn run_script(
    script: &Script,
    file: &Path,
    temp: &Path,
    settings: &Settings,
    mut blesser: Option<&mut Blesser>,
) -> Result<(), String> {
    if temp.exists() {
        fs::remove_dir_all(temp).map_err(|e| format!("cannot empty {}: {e}", temp.display()))?;
    }
    fs::create_dir_all(temp).map_err(|e| format!("cannot create {}: {e}", temp.display()))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut table = settings.substitutions.clone();
    for (key, value) in [
        ("s", file.to_path_buf()),
        ("S", folder.to_path_buf()),
        ("p", folder.to_path_buf()),
        ("t", temp.join(format!("{name}.tmp"))),
        ("T", temp.to_path_buf()),
    ] {
        let value = value.to_string_lossy().into_owned();
        table.push((format!("%{key}"), value.clone()));
        table.push((format!("%{{{key}}}"), value));
    }
    let mut cwd = temp.to_path_buf();
    for run in &script.runs {
        let command = script::substitute(&run.command, run.line, &table)?;
        let mut shell =
            Shell { commands: &settings.commands, cwd, blesser: blesser.as_deref_mut() };
        shell.run_line(&command).map_err(|report| {
            format!("{}:{}: RUN line failed\n$ {command}\n{report}", file.display(), run.line)
        })?;
        cwd = shell.cwd;
    }
    Ok(())
}

#[cfg(test)]
#[path = "suite_tests.rs"]
mod tests;
