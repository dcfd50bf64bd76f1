//! The pass manager.

use std::time::{Duration, Instant};

use super::{Pass, PassContext, PassFailed, PassResult};
use crate::text::{PrintOptions, print_module, print_op};
use crate::verify::verify_op;
use crate::{Module, Op, Reporter};

/// How a pipeline is run.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct RunOptions {
    /// Verify after every pass that may have changed something.
    pub verify_each: bool,
    pub print_before_all: bool,
    pub print_after_all: bool,
    pub print_after_change: bool,
    pub print_before: Vec<String>,
    pub print_after: Vec<String>,
    /// Print the whole module, not only the anchor.
    pub print_module_scope: bool,
    pub print: PrintOptions,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            verify_each: true,
            print_before_all: false,
            print_after_all: false,
            print_after_change: false,
            print_before: Vec::new(),
            print_after: Vec::new(),
            print_module_scope: false,
            print: PrintOptions::default(),
        }
    }
}

/// What a tool wants to know of a run. Every method does nothing unless overridden.
pub trait Instrumentation {
    /// A pass is about to run on `op`.
    fn before_pass(&mut self, _pass: &dyn Pass, _module: &Module, _op: Op) {}
    /// A pass ran on `op`.
    fn after_pass(&mut self, _pass: &dyn Pass, _module: &Module, _op: Op, _result: PassResult) {}
    /// IR that was asked to be printed.
    fn print(&mut self, _text: &str) {}
}

/// The time one pass took, all anchors together.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct TimingEntry {
    pub pass: String,
    pub depth: usize,
    pub time: Duration,
    pub runs: u32,
    pub statistics: Vec<(&'static str, u64)>,
}

/// An element of a pipeline.
enum Element {
    Pass(Box<dyn Pass>, TimingEntry),
    Nested(PassManager),
}

/// A pipeline for operations of one name (or any).
pub struct PassManager {
    anchor: String,
    elements: Vec<Element>,
}

impl std::fmt::Debug for PassManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(", self.anchor)?;
        for (i, element) in self.elements.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match element {
                Element::Pass(pass, _) => write!(f, "{comma}{}", pass.name())?,
                Element::Nested(nested) => write!(f, "{comma}{nested:?}")?,
            }
        }
        f.write_str(")")
    }
}

impl PassManager {
    /// An empty pipeline for operations named `anchor`.
    pub fn new(anchor: impl Into<String>) -> Self {
        Self { anchor: anchor.into(), elements: Vec::new() }
    }

    /// The name of the operations it runs on.
    pub fn anchor(&self) -> &str {
        &self.anchor
    }

    /// Adds a pass.
    pub fn add(&mut self, pass: Box<dyn Pass>) -> &mut Self {
        let timing = TimingEntry {
            pass: pass.name().to_owned(),
            depth: 0,
            time: Duration::ZERO,
            runs: 0,
            statistics: Vec::new(),
        };
        self.elements.push(Element::Pass(pass, timing));
        self
    }

    /// Adds a pipeline that runs on the operations inside.
    pub fn nest(&mut self, nested: PassManager) -> &mut Self {
        self.elements.push(Element::Nested(nested));
        self
    }

    /// Runs the pipeline on the module's root.
    ///
    /// # Errors
    /// The first pass that fails, or whose output does not verify, ends the run; why is in `reporter`.
    pub fn run(
        &mut self,
        module: &mut Module,
        reporter: &mut Reporter<'_>,
        options: &RunOptions,
        instrumentation: &mut dyn Instrumentation,
    ) -> PassResult {
        let root = module.root();
        if module.name_text(root) != self.anchor {
            let message = format!(
                "the pipeline runs on '{}', but the root is '{}'",
                self.anchor,
                module.name_text(root)
            );
            reporter.error(module.op_loc(root), message);
            return Err(PassFailed);
        }
        self.run_on(root, module, reporter, options, instrumentation)
    }

    fn run_on(
        &mut self,
        op: Op,
        module: &mut Module,
        reporter: &mut Reporter<'_>,
        options: &RunOptions,
        instrumentation: &mut dyn Instrumentation,
    ) -> PassResult {
        for element in &mut self.elements {
            match element {
                Element::Pass(pass, timing) => {
                    run_pass(&**pass, timing, op, module, reporter, options, instrumentation)?
                }
                Element::Nested(nested) => {
                    let matching: Vec<Op> = {
                        let inner = module
                            .regions(op)
                            .iter()
                            .flat_map(|r| module.blocks(*r))
                            .flat_map(|b| module.ops(b));
                        inner.filter(|inner| module.name_text(*inner) == nested.anchor).collect()
                    };
                    for inner in matching {
                        nested.run_on(inner, module, reporter, options, instrumentation)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The times of all passes, in pipeline order.
    pub fn timings(&self) -> Vec<TimingEntry> {
        let mut entries = Vec::new();
        self.collect_timings(0, &mut entries);
        entries
    }

    fn collect_timings(&self, depth: usize, entries: &mut Vec<TimingEntry>) {
        for element in &self.elements {
            match element {
                Element::Pass(_, timing) => entries.push(TimingEntry { depth, ..timing.clone() }),
                Element::Nested(nested) => nested.collect_timings(depth + 1, entries),
            }
        }
    }
}

fn run_pass(
    pass: &dyn Pass,
    timing: &mut TimingEntry,
    op: Op,
    module: &mut Module,
    reporter: &mut Reporter<'_>,
    options: &RunOptions,
    instrumentation: &mut dyn Instrumentation,
) -> PassResult {
    let shown = |module: &Module| {
        if options.print_module_scope {
            print_module(module, options.print)
        } else {
            print_op(module, op, options.print)
        }
    };
    let listed = |names: &[String]| names.iter().any(|name| name == pass.name());
    let name = pass.name();
    if options.print_before_all || listed(&options.print_before) {
        instrumentation
            .print(&format!("// -----// IR Dump Before {name} //----- //\n{}\n", shown(module)));
    }
    let before = options.print_after_change.then(|| shown(module));
    instrumentation.before_pass(pass, module, op);
    let errors = reporter.error_count();
    let start = Instant::now();
    let mut cx = PassContext {
        module: &mut *module,
        op,
        reporter: &mut *reporter,
        statistics: std::mem::take(&mut timing.statistics),
    };
    let result = pass.run(&mut cx).and_then(|()| cx.fail_if_errors_since(errors));
    timing.statistics = cx.statistics;
    timing.time += start.elapsed();
    timing.runs += 1;
    instrumentation.after_pass(pass, module, op, result);
    result?;
    let after = options.print_after_all || listed(&options.print_after);
    let changed = before.is_some_and(|before| before != shown(module));
    if after || changed {
        instrumentation
            .print(&format!("// -----// IR Dump After {name} //----- //\n{}\n", shown(module)));
    }
    if options.verify_each && !pass.only_reads() && !verify_op(module, op, reporter) {
        let loc = module.op_loc(op);
        reporter.remark(loc, format!("the errors above are in what pass '{name}' made"));
        return Err(PassFailed);
    }
    Ok(())
}
