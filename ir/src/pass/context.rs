//! What a pass works on and with.

use std::sync::Arc;

use super::analysis::{Analysis, AnalysisCache, Preserved};
use super::{PassFailed, PassResult};
use crate::{Context, Diagnostic, Loc, Module, Op, Reporter};

/// What a pass works on.
#[derive(Debug)]
pub struct PassContext<'a, 'c> {
    /// The module; a pass changes nothing outside its anchor. Of what stands outside, a nested pass can count on the
    /// attributes of the operations around its anchor and of the symbols beside them, and on nothing else: pipelines on
    /// isolated operations run in parallel on modules that hold no more.
    pub module: &'a mut Module,
    /// The anchor. A pass that puts another operation in its place says so here; of one that replaces the whole module, the
    /// new root is taken.
    pub op: Op,
    /// Where faults and remarks go.
    pub reporter: &'a mut Reporter<'c>,
    pub(super) pass: &'a str,
    pub(super) statistics: Vec<(&'static str, u64)>,
    pub(super) analyses: &'a mut AnalysisCache,
    pub(super) preserved: Preserved,
    pub(super) remarks: &'a RemarkFilter,
}

impl<'c> PassContext<'_, 'c> {
    /// The context.
    pub fn ctx(&self) -> &'c Context {
        self.reporter.ctx()
    }

    /// Adds to a statistic of this pass, shown under `--mlir-pass-statistics`.
    pub fn count(&mut self, statistic: &'static str, by: u64) {
        add_statistic(&mut self.statistics, statistic, by);
    }

    /// Fails if an error was reported since `before` errors.
    ///
    /// # Errors
    /// If one was.
    pub fn fail_if_errors_since(&self, before: usize) -> PassResult {
        if self.reporter.error_count() > before { Err(PassFailed) } else { Ok(()) }
    }

    /// The analysis of the anchor, computed now unless an earlier pass on it did and nothing changed since. It speaks of
    /// the anchor as it is at this moment.
    pub fn analysis<A: Analysis>(&mut self) -> Arc<A> {
        self.analyses.get(self.module, self.op)
    }

    /// The analysis of the anchor, if it is known.
    pub fn cached_analysis<A: Analysis>(&self) -> Option<Arc<A>> {
        self.analyses.cached()
    }

    /// Says that this analysis holds after the pass if it held before.
    pub fn preserve<A: Analysis>(&mut self) {
        self.preserved.add::<A>();
    }

    /// Says that the pass changed nothing that any analysis speaks of, as when it found nothing to do.
    pub fn preserve_all(&mut self) {
        self.preserved.all = true;
    }

    /// Adds a remark that is always shown; for what only some want to know, see [`remark_if`](Self::remark_if).
    pub fn remark(&mut self, loc: Loc, message: impl Into<String>) -> &mut Diagnostic {
        self.reporter.remark(loc, message)
    }

    /// Adds a remark on what an optimisation did, if the user asked for remarks of this kind from this pass
    /// (`--remarks-filter=PASS`). The message is made only then.
    pub fn remark_if(&mut self, kind: RemarkKind, op: Op, message: impl FnOnce(&Module) -> String) {
        if self.remarks.wants(kind, self.pass) {
            let text = format!("[{}] {}: {}", kind.text(), self.pass, message(self.module));
            self.reporter.remark(self.module.op_loc(op), text);
        }
    }
}

/// Adds to a counter of a list, which gets it if it is new.
pub(super) fn add_statistic(
    statistics: &mut Vec<(&'static str, u64)>,
    statistic: &'static str,
    by: u64,
) {
    match statistics.iter_mut().find(|(name, _)| *name == statistic) {
        Some((_, total)) => *total += by,
        None => statistics.push((statistic, by)),
    }
}

/// What a remark says of an optimisation. Counterpart: LLVM's optimisation remarks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RemarkKind {
    /// It was done.
    Passed,
    /// It was not done, though it might have been.
    Missed,
    /// It was tried and could not be done.
    Failed,
    /// A fact that explains a decision.
    Analysis,
}

impl RemarkKind {
    /// The word in front of the remark.
    pub fn text(self) -> &'static str {
        match self {
            Self::Passed => "Passed",
            Self::Missed => "Missed",
            Self::Failed => "Failure",
            Self::Analysis => "Analysis",
        }
    }
}

/// Decides on a kind of remark from a pass.
type WantsRemark = dyn Fn(RemarkKind, &str) -> bool + Send + Sync;

/// Which optimisation remarks are wanted; none by default.
#[derive(Clone, Default)]
pub struct RemarkFilter(Option<Arc<WantsRemark>>);

impl RemarkFilter {
    /// Those for which `wants(kind, pass)` holds.
    pub fn new(wants: impl Fn(RemarkKind, &str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(wants)))
    }

    fn wants(&self, kind: RemarkKind, pass: &str) -> bool {
        self.0.as_ref().is_some_and(|wants| wants(kind, pass))
    }
}

impl std::fmt::Debug for RemarkFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "RemarkFilter(some)" } else { "RemarkFilter(none)" })
    }
}
