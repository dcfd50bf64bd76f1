//! A pass as it is registered: what is known of it before one is made.

use std::sync::Arc;

use super::{OptionDef, Pass, PassContext, PassOptions, PassResult};
use crate::Module;

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
    /// Those of its options that take several values, separated by commas or given again.
    pub lists: &'static [&'static str],
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
            lists: &[],
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

    /// Sets which options are lists. See [`PassOptions::list`].
    pub fn lists(mut self, lists: &'static [&'static str]) -> Self {
        self.lists = lists;
        self
    }

    /// Whether the pass may run on operations of this name.
    pub fn runs_on(&self, op: &str) -> bool {
        self.anchor.is_none_or(|anchor| anchor == op)
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
