//! Nested pipelines on several threads.
//!
//! The operations a pipeline runs on are isolated, so none can see what happens in another. They are moved in groups, in
//! their order, to modules of their own ([`Module::split`]), where the pipeline runs as it would on one thread; then they
//! are moved back. What was reported is joined in the order of the operations, up to the first that failed, so that a run
//! says and makes the same with any number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::analysis::Preserved;
use super::manager::{Element, records_of};
use super::run::{Run, Stop};
use super::{PassRecord, RunOptions};
use crate::module::Part;
use crate::{Diagnostic, Module, Op};

/// Operations are copied out and back, which costs about as much as quick passes do: with two cores, cse and canonicalize of a
/// million operations took 0.39 s that way and 0.35 s on one thread.
const WORTH_CORES: usize = 4;

/// Groups a thread: more than one, so that a thread whose groups were quick takes over another's.
const GROUPS_A_THREAD: usize = 2;

/// The operations in groups of about the same size, if running the groups at once is worth it.
pub(super) fn groups(
    module: &Module,
    anchors: &[Op],
    options: &RunOptions,
) -> Option<Vec<Vec<Op>>> {
    let threads = match options.threads {
        0 if rayon::current_num_threads() < WORTH_CORES => 1,
        0 => rayon::current_num_threads(),
        given => given,
    };
    let may_move = |op: &Op| module.num_operands(*op) == 0 && module.num_results(*op) == 0;
    if threads < 2 || anchors.len() < 2 || !anchors.iter().all(may_move) {
        return None;
    }
    let sizes: Vec<usize> = anchors.iter().map(|op| module.walk(*op).count()).collect();
    let total: usize = sizes.iter().sum();
    if total < options.parallel_from.max(1) {
        return None;
    }
    let wanted = (threads * GROUPS_A_THREAD).min(anchors.len());
    let mut groups: Vec<Vec<Op>> = Vec::with_capacity(wanted);
    let mut before = 0;
    for (&op, size) in anchors.iter().zip(sizes) {
        // The group that the middle of the operation falls in.
        let group = (before + size / 2) * wanted / total;
        before += size;
        if groups.is_empty() || group >= groups.len() {
            groups.push(Vec::new());
        }
        groups.last_mut()?.push(op);
    }
    (groups.len() > 1).then_some(groups)
}

/// What became of one group.
struct Done {
    part: Part,
    records: Vec<PassRecord>,
    diagnostics: Vec<Diagnostic>,
    /// `None` if an earlier group was known to have failed.
    outcome: Option<Result<Preserved, Stop>>,
}

impl Run<'_, '_, '_> {
    /// Runs nested pipelines on groups of operations at once. `None` if the operations cannot be moved. Says whether they
    /// have other attributes afterwards.
    pub(super) fn parallel(
        &mut self,
        elements: &[Element],
        records: &mut [PassRecord],
        groups: Vec<Vec<Op>>,
        attributes_changed: &mut bool,
    ) -> Option<Result<Preserved, Stop>> {
        let start = Instant::now();
        let parts = self.module.split(&groups, &mut self.live)?;
        let (options, hooks) = (self.options, self.hooks);
        let blank = self.reporter.fork();
        let first_failed = AtomicUsize::new(usize::MAX);
        let run = |(index, mut part): (usize, Part)| {
            let mut records = records_of(elements);
            let mut reporter = blank.fork();
            if first_failed.load(Ordering::Relaxed) < index {
                return Done { part, records, diagnostics: Vec::new(), outcome: None };
            }
            let mut outcome = Ok(Preserved::everything());
            let anchors = part.anchors().to_vec();
            for anchor in anchors {
                let mut run = Run {
                    module: part.module_mut(),
                    reporter: &mut reporter,
                    options,
                    hooks,
                    live: vec![anchor],
                    may_split: false,
                };
                let result = run.anchored(elements, &mut records, 0);
                outcome = outcome.and_then(|before| Ok(before.and(result?)));
                if outcome.is_err() {
                    first_failed.fetch_min(index, Ordering::Relaxed);
                    break;
                }
            }
            Done { part, records, diagnostics: reporter.take(), outcome: Some(outcome) }
        };
        let run_all = || parts.into_par_iter().enumerate().map(run).collect::<Vec<Done>>();
        let done = match options.threads {
            0 => run_all(),
            threads => match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
                Ok(pool) => pool.install(run_all),
                // The system gives no more threads; the common ones are there.
                Err(_) => run_all(),
            },
        };
        Some(self.join(start, done, records, attributes_changed))
    }

    /// Moves the operations back and joins what was reported, of a run that began at `start`.
    fn join(
        &mut self,
        start: Instant,
        done: Vec<Done>,
        records: &mut [PassRecord],
        attributes_changed: &mut bool,
    ) -> Result<Preserved, Stop> {
        let mut result = Ok(Preserved::everything());
        let mut together: Vec<PassRecord> = Vec::new();
        for Done { part, records: theirs, diagnostics, outcome } in done {
            let absorbed = self.module.absorb(part);
            *attributes_changed |= absorbed.attributes_changed;
            if result.is_err() {
                continue;
            }
            for (mine, theirs) in records.iter_mut().zip(&theirs) {
                mine.add(theirs);
            }
            if together.is_empty() {
                together = theirs;
            } else {
                together.iter_mut().zip(&theirs).for_each(|(sum, one)| sum.add(one));
            }
            for diagnostic in diagnostics {
                self.reporter.report(diagnostic);
            }
            for op in absorbed.strays {
                let (loc, name) = (self.module.op_loc(op), self.module.name_text(op));
                let message = format!(
                    "a nested pass put '{name}' beside the operation it runs on; it may only change what is inside"
                );
                self.reporter.error(loc, message);
                result = Err(Stop::Failed(None));
            }
            // A group that was skipped comes after one that failed.
            if let Some(outcome) = outcome {
                result = result.and_then(|before| Ok(before.and(outcome?)));
            }
        }
        let busy: Duration = together.iter().map(|record| record.busy).sum();
        if !busy.is_zero() {
            let share = start.elapsed().as_secs_f64() / busy.as_secs_f64();
            for (mine, theirs) in records.iter_mut().zip(&together) {
                mine.add_wall_share(theirs, share);
            }
        }
        result
    }
}
