//! Passes: named transformations, and what runs them.
//!
//! A pass works on one operation (its anchor) and what is inside it. [`PassRegistry`] knows passes by name, with options;
//! [`PassManager`] runs a nested pipeline of them, verifying and printing in between as asked. Counterparts: MLIR's
//! `Pass`, `PassRegistry`, `PassManager`.

mod manager;
mod options;

use std::sync::Arc;

pub use manager::{Instrumentation, PassManager, RunOptions, TimingEntry};
pub use options::{OptionDef, PassOptions};

use crate::{Context, Module, Op, Reporter};

/// A pass failed; what is wrong has been reported.
#[derive(Clone, Copy, Debug)]
pub struct PassFailed;

/// The result of a pass.
pub type PassResult = Result<(), PassFailed>;

/// What a pass works on.
#[derive(Debug)]
pub struct PassContext<'a, 'c> {
    /// The module; a pass changes nothing outside its anchor.
    pub module: &'a mut Module,
    /// The anchor.
    pub op: Op,
    /// Where faults and remarks go.
    pub reporter: &'a mut Reporter<'c>,
    pub(crate) statistics: Vec<(&'static str, u64)>,
}

impl<'c> PassContext<'_, 'c> {
    /// The context.
    pub fn ctx(&self) -> &'c Context {
        self.reporter.ctx()
    }

    /// Adds to a statistic of this pass, shown under `--mlir-pass-statistics`.
    pub fn count(&mut self, statistic: &'static str, by: u64) {
        match self.statistics.iter_mut().find(|(name, _)| *name == statistic) {
            Some((_, total)) => *total += by,
            None => self.statistics.push((statistic, by)),
        }
    }

    /// Fails if an error was reported since `before` errors.
    pub fn fail_if_errors_since(&self, before: usize) -> PassResult {
        if self.reporter.error_count() > before { Err(PassFailed) } else { Ok(()) }
    }
}

/// A transformation of an operation. The same pass object may run on many anchors.
pub trait Pass: Send + Sync {
    /// Its name, as in pipelines.
    fn name(&self) -> &str;

    /// Changes the anchor, or reports why it cannot and fails. After a failure the module may be half changed and is not used.
    fn run(&self, cx: &mut PassContext<'_, '_>) -> PassResult;

    /// Whether the module is unchanged whatever it is, so that nothing needs verifying again.
    fn only_reads(&self) -> bool {
        false
    }
}

/// Makes a pass from its options.
pub type BuildPass = Arc<dyn Fn(&PassOptions) -> Result<Box<dyn Pass>, String> + Send + Sync>;

/// A pass as registered: its name, documentation, options, and how to make one.
#[derive(Clone)]
pub struct PassInfo {
    /// Its name, as in pipelines.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Markdown: input, output, failure cases.
    pub description: &'static str,
    /// The operation it must be anchored on, if it matters.
    pub anchor: Option<&'static str>,
    /// Its options.
    pub options: Vec<OptionDef>,
    /// The passes on whose result it works, in any order: what a tool runs first when only this one is asked for.
    pub requires: &'static [&'static str],
    /// Whether a module is already at, or beyond, what this pass makes; `None` if a module does not show it.
    pub is_done: Option<fn(&Module) -> bool>,
    /// Makes it.
    pub build: BuildPass,
}

impl std::fmt::Debug for PassInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PassInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PassInfo {
    /// A pass on `builtin.module` without options, from a function.
    pub fn from_fn(
        name: &'static str,
        summary: &'static str,
        run: fn(&mut PassContext<'_, '_>) -> PassResult,
    ) -> Self {
        Self::with_options(name, summary, Vec::new(), move |_| Ok(run))
    }

    /// A pass on `builtin.module` with options; `make` checks them and returns what runs.
    pub fn with_options<F>(
        name: &'static str,
        summary: &'static str,
        options: Vec<OptionDef>,
        make: impl Fn(&PassOptions) -> Result<F, String> + Send + Sync + 'static,
    ) -> Self
    where
        F: Fn(&mut PassContext<'_, '_>) -> PassResult + Send + Sync + 'static,
    {
        let build: BuildPass = Arc::new(move |options| {
            Ok(Box::new(FnPass {
                name,
                only_reads: name.starts_with("print-"),
                run: make(options)?,
            }))
        });
        Self {
            name,
            summary,
            description: "",
            anchor: Some("builtin.module"),
            options,
            requires: &[],
            is_done: None,
            build,
        }
    }

    /// Sets the description.
    pub fn describe(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Sets the passes on whose result it works.
    pub fn after(mut self, requires: &'static [&'static str]) -> Self {
        self.requires = requires;
        self
    }

    /// Sets how a module shows that the pass need not run any more.
    pub fn done_when(mut self, is_done: fn(&Module) -> bool) -> Self {
        self.is_done = Some(is_done);
        self
    }

    /// Sets or lifts the anchor.
    pub fn anchored(mut self, anchor: Option<&'static str>) -> Self {
        self.anchor = anchor;
        self
    }
}

/// A pass made of a function.
struct FnPass<F> {
    name: &'static str,
    only_reads: bool,
    run: F,
}

impl<F: Fn(&mut PassContext<'_, '_>) -> PassResult + Send + Sync> Pass for FnPass<F> {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, cx: &mut PassContext<'_, '_>) -> PassResult {
        (self.run)(cx)
    }

    fn only_reads(&self) -> bool {
        self.only_reads
    }
}

/// The passes a tool knows, by name.
#[derive(Clone, Debug, Default)]
pub struct PassRegistry {
    passes: Vec<PassInfo>,
}

impl PassRegistry {
    /// Adds passes. A later one replaces an earlier one of the same name.
    pub fn register(&mut self, passes: impl IntoIterator<Item = PassInfo>) {
        for pass in passes {
            self.passes.retain(|known| known.name != pass.name);
            self.passes.push(pass);
        }
        self.passes.sort_by_key(|pass| pass.name);
    }

    /// The pass of this name.
    pub fn get(&self, name: &str) -> Option<&PassInfo> {
        self.passes.iter().find(|pass| pass.name == name)
    }

    /// All passes, by name.
    pub fn iter(&self) -> impl Iterator<Item = &PassInfo> {
        self.passes.iter()
    }

    /// Makes a pass.
    ///
    /// # Errors
    /// An unknown pass or option, or a value an option does not take; the message has a suggestion.
    pub fn build(
        &self,
        name: &str,
        options: &[(String, Option<String>)],
    ) -> Result<Box<dyn Pass>, String> {
        let Some(info) = self.get(name) else {
            let close = crate::diag::did_you_mean(name, self.passes.iter().map(|p| p.name));
            let hint = close
                .map_or("--list-passes shows all".to_owned(), |c| format!("did you mean '{c}'?"));
            return Err(format!("unknown pass '{name}'; {hint}"));
        };
        (info.build)(&PassOptions::read(name, &info.options, options)?)
    }
}
