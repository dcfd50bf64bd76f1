//! What a run tells while it runs, kept even if a pass panics.

use std::fmt::Write;
use std::path::PathBuf;

use piper_ir::pass::{Failure, Instrumentation, IrDump, PassRecord, Step};
use piper_ir::{Module, Op};
use rustc_hash::FxHashMap;

/// What a run tells, kept even if a pass panics.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// IR that was asked to be printed.
    pub(crate) printed: String,
    /// The same, if it is to go to files: paths below a folder, and texts.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// Whether IR goes to files.
    pub(crate) to_files: bool,
    /// For each pass that was asked for and needed others first: its name and theirs.
    pub(crate) implied: Vec<(String, Vec<String>)>,
    /// What ran, in the syntax of pipelines, without the anchor.
    pub(crate) pipelines: Vec<String>,
    /// The anchor of what ran.
    pub(crate) anchor: String,
    /// The pass that failed or panicked.
    pub(crate) failure: Option<Failure>,
    /// Times and counts, in order.
    pub(crate) records: Vec<PassRecord>,
    /// Whether to keep the IR before each pass.
    pub(crate) keeps_steps: bool,
    /// The IR before the latest pass, and that pass as a pipeline.
    pub(crate) step: Option<(Module, String)>,
    /// How many passes were printed for each operation.
    pub(crate) counts: FxHashMap<Op, u32>,
}

impl Trace {
    /// The pipeline that ran, in full.
    pub(crate) fn pipeline(&self) -> String {
        format!("{}({})", self.anchor, self.pipelines.join(","))
    }
}

impl Instrumentation for Trace {
    fn needs_order(&self) -> bool {
        self.keeps_steps
    }

    fn before_pass(&mut self, step: Step<'_>, module: &Module, op: Op) {
        if self.keeps_steps {
            let mut text = step.text();
            let mut at = Some(op);
            while let Some(op) = at {
                text = format!("{}({text})", module.name_text(op));
                at = module.parent_op(op);
            }
            self.step = Some((module.clone(), text));
        }
    }

    fn pass_panicked(&mut self, failure: &Failure) {
        self.failure = Some(failure.clone());
    }

    fn print(&mut self, dump: &IrDump<'_>) {
        let text = format!("// -----// {} //----- //\n{}", dump.title, dump.text);
        if self.to_files {
            let path = self.path(dump);
            self.files.push((path, text));
        } else {
            let _ = writeln!(self.printed, "{text}");
        }
    }
}

impl Trace {
    /// `builtin_module_outer/func_func_f/1_0_cse.mlir`: a folder for each operation around, and numbers that order what is
    /// in them: how many passes were printed for the operations around, and for this one.
    fn path(&mut self, dump: &IrDump<'_>) -> PathBuf {
        let next = self.counts.get(&dump.op).map_or(0, |count| count + 1);
        self.counts.insert(dump.op, next);
        let (mut folders, mut numbers) = (Vec::new(), Vec::new());
        let mut at = Some(dump.op);
        while let Some(op) = at {
            numbers.push(self.counts.get(&op).copied().unwrap_or(0).to_string());
            let symbol = dump.module.symbol_name(op).unwrap_or("no-symbol-name");
            let name = dump.module.name_text(op).replace('.', "_");
            // A symbol may be any text; it must stay one folder below its parent.
            let plain = |c: char| if c.is_alphanumeric() || "_-$".contains(c) { c } else { '_' };
            folders.push(format!("{name}_{}", symbol.chars().map(plain).collect::<String>()));
            at = dump.module.parent_op(op);
        }
        numbers.reverse();
        let file = format!("{}_{}.mlir", numbers.join("_"), dump.pass);
        folders.iter().rev().collect::<PathBuf>().join(file)
    }
}
