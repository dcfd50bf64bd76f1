//! Running a pipeline: passes on an anchor, nested pipelines on the operations inside it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::analysis::Preserved;
use super::manager::{ANY, Element, Entry};
use super::{
    AnalysisCache, AnalysisRecord, Instrumentation, Origin, PassContext, PassFailed, PassManager,
    PassRecord, PassResult, RunOptions, Step, parallel,
};
use crate::verify::verify_op;
use crate::{Module, Op, Reporter, Trait};

/// Who is told what happens; shared by the threads of a run.
pub(super) type Hooks<'i> = Mutex<&'i mut (dyn Instrumentation + 'i)>;

/// Why a run ends early.
pub(super) enum Stop {
    Failed(Option<Failure>),
    /// A pass panicked, or the verifier on what a foreign one left: with what, and which pass.
    Panicked {
        payload: Box<dyn Any + Send>,
        failure: Failure,
    },
}

/// A run, or one thread's part of it.
pub(super) struct Run<'r, 'c, 'i> {
    pub(super) module: &'r mut Module,
    pub(super) reporter: &'r mut Reporter<'c>,
    pub(super) options: &'r RunOptions,
    pub(super) hooks: &'r Hooks<'i>,
    /// The operations that pipelines now run on, and those that wait: they are renumbered when operations move.
    pub(super) live: Vec<Op>,
    /// Whether pipelines on several operations may run on several threads.
    pub(super) may_split: bool,
}

impl<'i> Run<'_, '_, 'i> {
    /// Runs the elements on operation number `at` of the live ones, and says what they all preserve.
    pub(super) fn elements(
        &mut self,
        elements: &[Element],
        records: &mut [PassRecord],
        at: usize,
        analyses: &mut AnalysisCache,
    ) -> Result<Preserved, Stop> {
        let mut preserved = Preserved::everything();
        let mut i = 0;
        while let Some(element) = elements.get(i) {
            let kept = match element {
                Element::Pass(entry) => {
                    i += 1;
                    self.pass(entry, &mut records[i - 1], at, analyses)?
                }
                Element::Nested(first) => {
                    // Neighbours on the same operations run on each before the next: it is still in the caches then.
                    let more = elements[i..].iter().take_while(|other| {
                        matches!(other, Element::Nested(other) if other.anchor() == first.anchor())
                    });
                    let end = i + more.count();
                    let kept = self.nested(&elements[i..end], &mut records[i..end], at)?;
                    analyses.invalidate(&kept);
                    i = end;
                    kept
                }
            };
            preserved = preserved.and(kept);
        }
        Ok(preserved)
    }

    fn pass(
        &mut self,
        entry: &Entry,
        record: &mut PassRecord,
        at: usize,
        analyses: &mut AnalysisCache,
    ) -> Result<Preserved, Stop> {
        let (pass, op, options) = (&*entry.pass, self.live[at], self.options);
        let is_root = op == self.module.root();
        let (name, printing) = (pass.name(), &options.printing);
        if printing.before(name) {
            self.print("Before", name, "", op);
        }
        let before = printing.compares(name).then(|| printing.text(self.module, op));
        self.hook(|hooks, module| hooks.before_pass(Step(entry), module, op));
        let errors = self.reporter.error_count();
        let start = Instant::now();
        let mut cx = PassContext {
            module: &mut *self.module,
            op,
            reporter: &mut *self.reporter,
            pass: name,
            statistics: std::mem::take(&mut record.statistics),
            analyses: &mut *analyses,
            preserved: Preserved::default(),
            remarks: &options.remarks,
        };
        // The module may be left half changed; the panic goes on, and the module with it.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pass.run(&mut cx).and_then(|()| cx.fail_if_errors_since(errors))
        }));
        let preserved = std::mem::take(&mut cx.preserved);
        record.statistics = std::mem::take(&mut cx.statistics);
        // A pass may put another module in the place of this one: then the root is another, whatever the pass says.
        let op = if is_root { cx.module.root() } else { cx.op };
        self.live[at] = op;
        let result = match outcome {
            Ok(result) => result,
            Err(payload) => {
                return Err(Stop::Panicked {
                    payload,
                    failure: Failure::new(entry, self.module, op),
                });
            }
        };
        let elapsed = start.elapsed();
        record.wall += elapsed;
        record.busy += elapsed;
        record.runs += 1;
        let preserved = if pass.only_reads() { Preserved::everything() } else { preserved };
        for made in analyses.take_computed() {
            self.hook(|hooks, module| hooks.after_analysis(made.name, module, op));
            AnalysisRecord::add(&mut record.analyses, made.name, made.busy, made.runs);
        }
        analyses.invalidate(&preserved);
        self.hook(|hooks, module| hooks.after_pass(Step(entry), module, op, result));
        let changed = match before {
            Some(before) if result.is_ok() => Some(before != printing.text(self.module, op)),
            _ => None,
        };
        if printing.after(name, result.is_err(), changed) {
            let outcome = if result.is_err() { " Failed" } else { "" };
            self.print("After", name, outcome, op);
        }
        if result.is_err() {
            return Err(Stop::Failed(Some(Failure::new(entry, self.module, op))));
        }
        let is_foreign = entry.origin.is_foreign();
        if is_foreign || (options.verify_each && !preserved.all) {
            let start = Instant::now();
            // Built-in passes leave nothing that the verifier cannot look at; others may.
            let verified = if is_foreign {
                catch_unwind(AssertUnwindSafe(|| verify_op(self.module, op, self.reporter)))
            } else {
                Ok(verify_op(self.module, op, self.reporter))
            };
            record.verifying += start.elapsed();
            let failure = |module: &Module| Failure::new(entry, module, op);
            let verified = match verified {
                Ok(verified) => verified,
                Err(payload) => {
                    return Err(Stop::Panicked { payload, failure: failure(self.module) });
                }
            };
            if !verified {
                let loc = self.module.op_loc(op);
                let what = failure(self.module).pass_text();
                self.reporter.remark(loc, format!("the errors above are in what {what} made"));
                self.hook(|hooks, module| hooks.after_verifier_failed(Step(entry), module, op));
                return Err(Stop::Failed(Some(failure(self.module))));
            }
        }
        Ok(preserved)
    }

    /// Runs nested pipelines with one anchor on the operations directly inside a live one.
    fn nested(
        &mut self,
        elements: &[Element],
        records: &mut [PassRecord],
        at: usize,
    ) -> Result<Preserved, Stop> {
        let pipelines: Vec<&PassManager> = nested_pipelines(elements).collect();
        let matching = self.matching(&pipelines, self.live[at])?;
        let mut attributes_changed = false;
        let preserved = self.on_each(elements, records, matching, &mut attributes_changed)?;
        // Whoever uses their symbols, or shares their table, is checked only with what is around them.
        let checked = self.options.verify_each || pipelines.iter().any(|p| p.has_foreign());
        if attributes_changed && checked {
            let op = self.live[at];
            if !verify_op(self.module, op, self.reporter) {
                let anchor = pipelines.first().map_or(ANY, |pipeline| pipeline.anchor());
                let message = format!("the errors above are in what a pipeline on '{anchor}' made");
                self.reporter.remark(self.module.op_loc(op), message);
                return Err(Stop::Failed(None));
            }
        }
        Ok(preserved)
    }

    fn on_each(
        &mut self,
        elements: &[Element],
        records: &mut [PassRecord],
        matching: Vec<Op>,
        attributes_changed: &mut bool,
    ) -> Result<Preserved, Stop> {
        if self.may_split
            && let Some(groups) = parallel::groups(self.module, &matching, self.options)
            && let Some(done) = self.parallel(elements, records, groups, attributes_changed)
        {
            return done;
        }
        let first = self.live.len();
        self.live.extend(matching);
        let mut preserved = Preserved::everything();
        for waiting in first..self.live.len() {
            let before = self.module.attr_words(self.live[waiting]).to_vec();
            preserved = preserved.and(self.anchored(elements, records, waiting)?);
            *attributes_changed |= self.module.attr_words(self.live[waiting]) != before;
        }
        self.live.truncate(first);
        Ok(preserved)
    }

    /// Runs pipelines, one after the other, on one of the operations they are for.
    pub(super) fn anchored(
        &mut self,
        elements: &[Element],
        records: &mut [PassRecord],
        at: usize,
    ) -> Result<Preserved, Stop> {
        let mut analyses = AnalysisCache::default();
        let mut preserved = Preserved::everything();
        for (nested, record) in nested_pipelines(elements).zip(records) {
            self.before_pipeline(nested.anchor(), self.live[at]);
            let start = Instant::now();
            let result = self.elements(&nested.elements, &mut record.children, at, &mut analyses);
            record.wall += start.elapsed();
            record.busy += start.elapsed();
            record.runs += 1;
            let told = if result.is_ok() { Ok(()) } else { Err(PassFailed) };
            self.after_pipeline(nested.anchor(), self.live[at], told);
            preserved = preserved.and(result?);
        }
        Ok(preserved)
    }

    /// The operations directly inside `op` that the pipelines, which have one anchor, run on.
    fn matching(&mut self, pipelines: &[&PassManager], op: Op) -> Result<Vec<Op>, Stop> {
        let Some(anchor) = pipelines.first().map(|pipeline| pipeline.anchor()) else {
            return Ok(Vec::new());
        };
        let module = &*self.module;
        let inner = module.regions(op).iter().flat_map(|r| module.blocks(*r));
        let inner = inner.flat_map(|block| module.ops(block));
        if anchor == ANY {
            let fits = |op: &Op| {
                module.has_trait(*op, Trait::IsolatedFromAbove)
                    && pipelines.iter().all(|pipeline| pipeline.accepts(module.name_text(*op)))
            };
            return Ok(inner.filter(fits).collect());
        }
        let found: Vec<Op> = inner.filter(|inner| module.name_text(*inner) == anchor).collect();
        let has_passes = pipelines
            .iter()
            .any(|pipeline| pipeline.elements.iter().any(|e| matches!(e, Element::Pass(_))));
        // All have one name, so the first speaks for all.
        if let (Some(&first), true) = (found.first(), has_passes)
            && !module.has_trait(first, Trait::IsolatedFromAbove)
        {
            let message = match module.def(first) {
                None => format!("a pass cannot run on the unregistered operation '{anchor}'"),
                Some(_) => format!(
                    "a pass cannot run on '{anchor}', which is not isolated: what it uses from outside could change"
                ),
            };
            self.reporter.error(module.op_loc(first), message);
            return Err(Stop::Failed(None));
        }
        Ok(found)
    }

    fn print(&self, when: &str, pass: &str, outcome: &str, op: Op) {
        if let Some(dump) = self.options.printing.dump(when, pass, outcome, self.module, op) {
            self.hooks().print(&dump);
        }
    }

    fn hooks(&self) -> MutexGuard<'_, &'i mut (dyn Instrumentation + 'i)> {
        // A hook that panicked has its own message; the others may still be told.
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hook(&self, tell: impl FnOnce(&mut dyn Instrumentation, &Module)) {
        tell(&mut **self.hooks(), self.module);
    }

    pub(super) fn before_pipeline(&self, anchor: &str, op: Op) {
        self.hook(|hooks, module| hooks.before_pipeline(anchor, module, op));
    }

    pub(super) fn after_pipeline(&self, anchor: &str, op: Op, result: PassResult) {
        self.hook(|hooks, module| hooks.after_pipeline(anchor, module, op, result));
    }
}

fn nested_pipelines(elements: &[Element]) -> impl Iterator<Item = &PassManager> {
    elements.iter().filter_map(|element| match element {
        Element::Nested(nested) => Some(nested),
        Element::Pass(_) => None,
    })
}

/// Which pass ended a run, and on what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The pass.
    pub pass: String,
    /// The operation in words: `'func.func' @f`.
    pub op: String,
    /// Who made the pass.
    pub origin: Origin,
}

impl Failure {
    fn new(entry: &Entry, module: &Module, op: Op) -> Self {
        let symbol = module.symbol_name(op).map_or(String::new(), |name| format!(" @{name}"));
        Self {
            pass: entry.pass.name().to_owned(),
            op: format!("'{}'{symbol}", module.name_text(op)),
            origin: entry.origin.clone(),
        }
    }

    /// The pass in words: `pass 'cse'`, `pass 'mine' of plugin './libmine.so'`.
    pub fn pass_text(&self) -> String {
        match &self.origin {
            Origin::Builtin => format!("pass '{}'", self.pass),
            origin => format!("pass '{}' of {origin}", self.pass),
        }
    }
}
