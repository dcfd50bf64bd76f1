//! The pass manager: a pipeline as a value, and how it is run.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Mutex;

use super::run::{Failure, Run, Stop};
use super::{
    AnalysisCache, Instrumentation, IrPrinting, Origin, Pass, PassFailed, PassInfo, PassRecord,
    PassResult, RemarkFilter,
};
use crate::{Module, Reporter};

/// How a pipeline is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Verify after every pass that may have changed something.
    pub verify_each: bool,
    /// The IR to print around passes. While any is, everything runs on one thread.
    pub printing: IrPrinting,
    /// How many threads run pipelines on isolated operations: 1 for none but the caller's, 0 for one a core
    /// where there are four or more.
    pub threads: usize,
    /// Fewer operations than this are not worth several threads.
    pub parallel_from: usize,
    /// The optimisation remarks that are wanted.
    pub remarks: RemarkFilter,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            verify_each: true,
            printing: IrPrinting::default(),
            threads: 0,
            parallel_from: 20_000,
            remarks: RemarkFilter::default(),
        }
    }
}

/// Options of a pass as written: names, with values where they have one.
pub type GivenOptions = Vec<(String, Option<String>)>;

/// A pass in a pipeline.
pub(super) struct Entry {
    pub(super) pass: Box<dyn Pass>,
    /// The operation it must run on, if it matters.
    pub(super) anchor: Option<Cow<'static, str>>,
    pub(super) origin: Origin,
    options: GivenOptions,
}

/// An element of a pipeline.
pub(super) enum Element {
    Pass(Entry),
    Nested(PassManager),
}

/// The anchor of a pipeline for whatever its passes can run on.
pub(super) const ANY: &str = "any";

/// A pipeline for operations of one name, or, with the anchor `any`, for all isolated ones that its passes can run on.
pub struct PassManager {
    anchor: String,
    pub(super) elements: Vec<Element>,
    records: Vec<PassRecord>,
    failure: Option<Failure>,
}

impl std::fmt::Debug for PassManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

impl PassManager {
    /// An empty pipeline for operations named `anchor`, or `any`.
    pub fn new(anchor: impl Into<String>) -> Self {
        Self { anchor: anchor.into(), elements: Vec::new(), records: Vec::new(), failure: None }
    }

    /// The name of the operations it runs on, or `any`.
    pub fn anchor(&self) -> &str {
        &self.anchor
    }

    /// Adds a pass.
    pub fn add(&mut self, pass: Box<dyn Pass>) -> &mut Self {
        self.push(pass, None, Origin::Builtin, Vec::new())
    }

    /// Adds a registered pass that was made with these options, so that the pipeline can be written out again and `any`
    /// knows what the pass runs on.
    pub fn add_registered(
        &mut self,
        pass: Box<dyn Pass>,
        info: &PassInfo,
        options: GivenOptions,
    ) -> &mut Self {
        let origin = info.origin.with_options(&options);
        self.push(pass, info.anchor.clone(), origin, options)
    }

    fn push(
        &mut self,
        pass: Box<dyn Pass>,
        anchor: Option<Cow<'static, str>>,
        origin: Origin,
        options: GivenOptions,
    ) -> &mut Self {
        self.elements.push(Element::Pass(Entry { pass, anchor, origin, options }));
        self
    }

    /// Adds a pipeline that runs on the operations directly inside.
    pub fn nest(&mut self, nested: PassManager) -> &mut Self {
        self.elements.push(Element::Nested(nested));
        self
    }

    /// Whether nothing runs.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// How many passes it has, nested ones included.
    pub fn len(&self) -> usize {
        let count = |element: &Element| match element {
            Element::Pass(_) => 1,
            Element::Nested(nested) => nested.len(),
        };
        self.elements.iter().map(count).sum()
    }

    /// Who made its passes, nested ones included.
    pub fn origins(&self) -> Vec<Origin> {
        let origins = |element: &Element| match element {
            Element::Pass(entry) => vec![entry.origin.clone()],
            Element::Nested(nested) => nested.origins(),
        };
        self.elements.iter().flat_map(origins).collect()
    }

    /// Whether it has a pass that somebody else made.
    pub fn has_foreign(&self) -> bool {
        self.origins().iter().any(Origin::is_foreign)
    }

    /// Whether all its passes can run on operations of this name.
    pub fn accepts(&self, op: &str) -> bool {
        self.elements.iter().all(|element| match element {
            Element::Pass(entry) => entry.anchor.as_ref().is_none_or(|anchor| anchor == op),
            Element::Nested(_) => true,
        })
    }

    /// The pipeline in the syntax it is read in. Passes have the options they were given, not those they default to.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// The pipeline without its anchor.
    pub fn body_text(&self) -> String {
        let mut out = String::new();
        self.write_body(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.anchor);
        out.push('(');
        self.write_body(out);
        out.push(')');
    }

    fn write_body(&self, out: &mut String) {
        for (i, element) in self.elements.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            match element {
                Element::Pass(entry) => entry.write(out),
                Element::Nested(nested) => nested.write(out),
            }
        }
    }

    /// Runs the pipeline on the module's root. Handles of operations other than the root, and of what they hold, are not
    /// valid afterwards if the pipeline has nested ones: operations move when threads share them.
    ///
    /// # Errors
    /// The first pass that fails, or whose output does not verify, ends the run; why is in `reporter`. With several
    /// threads it is still the first in the order of the operations, and nothing is reported of those after it.
    ///
    /// # Panics
    /// If a pass does, once the instrumentation was told.
    pub fn run(
        &mut self,
        module: &mut Module,
        reporter: &mut Reporter<'_>,
        options: &RunOptions,
        instrumentation: &mut dyn Instrumentation,
    ) -> PassResult {
        let root = module.root();
        let name = module.name_text(root);
        if name != self.anchor && self.anchor != ANY {
            let message =
                format!("the pipeline runs on '{}', but the root is '{name}'", self.anchor);
            reporter.error(module.op_loc(root), message);
            return Err(PassFailed);
        }
        self.failure = None;
        let may_split = !options.printing.is_wanted() && !instrumentation.needs_order();
        let hooks = Mutex::new(instrumentation);
        let mut run = Run { module, reporter, options, hooks: &hooks, live: vec![root], may_split };
        let mut records = records_of(&self.elements);
        run.before_pipeline(&self.anchor, root);
        let result = run.elements(&self.elements, &mut records, 0, &mut AnalysisCache::default());
        let root = run.live[0];
        let stopped = match result {
            Ok(_) => Ok(()),
            Err(Stop::Failed(failure)) => {
                self.failure = failure;
                Err(PassFailed)
            }
            Err(Stop::Panicked { payload, failure }) => {
                run.hook(|hooks, _| hooks.pass_panicked(&failure));
                std::panic::resume_unwind(payload)
            }
        };
        run.after_pipeline(&self.anchor, root, stopped);
        if self.records.is_empty() {
            self.records = records;
        } else {
            for (known, new) in self.records.iter_mut().zip(&records) {
                known.add(new);
                known.add_wall(new);
            }
        }
        stopped
    }

    /// The pass that ended the latest run, if one did.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What the runs so far cost and counted, in pipeline order. Nothing of a run in which a pass panicked.
    pub fn records(&self) -> &[PassRecord] {
        &self.records
    }
}

/// Empty records in the shape of a pipeline.
pub(super) fn records_of(elements: &[Element]) -> Vec<PassRecord> {
    let record = |element: &Element| match element {
        Element::Pass(entry) => {
            PassRecord { name: entry.pass.name().to_owned(), ..PassRecord::default() }
        }
        Element::Nested(nested) => PassRecord {
            name: nested.anchor.clone(),
            is_pipeline: true,
            children: records_of(&nested.elements),
            ..PassRecord::default()
        },
    };
    elements.iter().map(record).collect()
}

impl Entry {
    pub(super) fn write(&self, out: &mut String) {
        out.push_str(self.pass.name());
        for (i, (key, value)) in self.options.iter().enumerate() {
            out.push(if i == 0 { '{' } else { ' ' });
            out.push_str(key);
            if let Some(value) = value {
                let _ = write!(out, "={}", quoted_value(value));
            }
        }
        if !self.options.is_empty() {
            out.push('}');
        }
    }
}

/// The value of a pass's option as a pipeline's grammar takes it: as it is if nothing in it ends a value, else in whichever
/// quotes or braces it does not contain.
pub fn quoted_value(value: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !"{}'\"".contains(c);
    // A comma before a '=' is taken for a slip: `{a=1,b=2}`.
    let is_slip = value.contains(',') && value.contains('=');
    if !value.is_empty() && value.chars().all(plain) && !is_slip {
        value.to_owned()
    } else if !value.contains('\'') {
        format!("'{value}'")
    } else if !value.contains('"') {
        format!("\"{value}\"")
    } else {
        format!("{{{value}}}")
    }
}
