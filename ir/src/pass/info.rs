//! A pass as it is registered: what is known of it before one is made.

use std::borrow::Cow;
use std::sync::Arc;

use super::{OptionDef, Origin, Pass, PassContext, PassOptions, PassResult};
use crate::Module;

/// A text that is part of the program, or was made at run time.
pub(super) type Text = Cow<'static, str>;

/// Makes a pass from its options.
pub type BuildPass = Arc<dyn Fn(&PassOptions) -> Result<Box<dyn Pass>, String> + Send + Sync>;

/// A pass as registered: its name, documentation, options, and how to make one.
#[derive(Clone)]
pub struct PassInfo {
    /// Its name, as in pipelines.
    pub name: Cow<'static, str>,
    /// One line.
    pub summary: Cow<'static, str>,
    /// Markdown: input, output, failure cases.
    pub description: Cow<'static, str>,
    /// Who made it.
    pub origin: Origin,
    /// The operation it must be anchored on, if it matters.
    pub anchor: Option<Cow<'static, str>>,
    /// Its options.
    pub options: Vec<OptionDef>,
    /// Those of its options that take several values, separated by commas or given again.
    pub lists: Vec<Cow<'static, str>>,
    /// The passes on whose result it works, in any order: what a tool runs first when only this one is asked for.
    pub requires: Vec<Cow<'static, str>>,
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
    pub fn from_fn<F>(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        run: F,
    ) -> Self
    where
        F: Fn(&mut PassContext<'_, '_>) -> PassResult + Send + Sync + 'static,
    {
        let run = Arc::new(run);
        Self::with_options(name, summary, Vec::new(), move |_| {
            let run = Arc::clone(&run);
            Ok(move |cx: &mut PassContext<'_, '_>| run(cx))
        })
    }

    /// A pass on `builtin.module` with options; `make` checks them and returns what runs.
    pub fn with_options<F>(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        options: Vec<OptionDef>,
        make: impl Fn(&PassOptions) -> Result<F, String> + Send + Sync + 'static,
    ) -> Self
    where
        F: Fn(&mut PassContext<'_, '_>) -> PassResult + Send + Sync + 'static,
    {
        let name: Text = name.into();
        let called = name.clone();
        let build: BuildPass = Arc::new(move |options| {
            Ok(Box::new(FnPass {
                name: called.clone(),
                only_reads: called.starts_with("print-"),
                run: make(options)?,
            }))
        });
        Self {
            name,
            summary: summary.into(),
            description: "".into(),
            origin: Origin::Builtin,
            anchor: Some("builtin.module".into()),
            options,
            lists: Vec::new(),
            requires: Vec::new(),
            is_done: None,
            build,
        }
    }

    /// Sets the description.
    pub fn describe(mut self, description: impl Into<Cow<'static, str>>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets who made it.
    pub fn from_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Sets the passes on whose result it works.
    pub fn after<S: Into<Cow<'static, str>> + Clone>(mut self, requires: &[S]) -> Self {
        self.requires = requires.iter().cloned().map(Into::into).collect();
        self
    }

    /// Sets how a module shows that the pass need not run any more.
    pub fn done_when(mut self, is_done: fn(&Module) -> bool) -> Self {
        self.is_done = Some(is_done);
        self
    }

    /// Sets or lifts the anchor.
    pub fn anchored(mut self, anchor: Option<&str>) -> Self {
        self.anchor = anchor.map(|anchor| Cow::Owned(anchor.to_owned()));
        self
    }

    /// Sets which options are lists. See [`PassOptions::list`].
    pub fn lists<S: Into<Cow<'static, str>> + Clone>(mut self, lists: &[S]) -> Self {
        self.lists = lists.iter().cloned().map(Into::into).collect();
        self
    }

    /// Whether the pass may run on operations of this name.
    pub fn runs_on(&self, op: &str) -> bool {
        self.anchor.as_ref().is_none_or(|anchor| anchor == op)
    }
}

/// A pass made of a function.
struct FnPass<F> {
    name: Text,
    only_reads: bool,
    run: F,
}

impl<F: Fn(&mut PassContext<'_, '_>) -> PassResult + Send + Sync> Pass for FnPass<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, cx: &mut PassContext<'_, '_>) -> PassResult {
        (self.run)(cx)
    }

    fn only_reads(&self) -> bool {
        self.only_reads
    }
}
