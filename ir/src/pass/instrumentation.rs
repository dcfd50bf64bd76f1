//! What a tool wants to know of a run while it runs.

use super::manager::Entry;
use super::{Failure, PassResult};
use crate::{Module, Op};

/// What a tool wants to know of a run. Every method does nothing unless overridden. See the example of
/// [`pass`](crate::pass).
pub trait Instrumentation: Send {
    /// Whether the calls must come in the order of the operations. If not, passes may run on several threads, and so may
    /// these calls come: one at a time, those of one anchor in their order.
    fn needs_order(&self) -> bool {
        true
    }

    /// A pipeline is about to run on `op`.
    fn before_pipeline(&mut self, _anchor: &str, _module: &Module, _op: Op) {}
    /// A pipeline ran on `op`.
    fn after_pipeline(&mut self, _anchor: &str, _module: &Module, _op: Op, _result: PassResult) {}
    /// A pass is about to run on `op`.
    fn before_pass(&mut self, _step: Step<'_>, _module: &Module, _op: Op) {}
    /// A pass ran on `op`. What it made is not verified yet.
    fn after_pass(&mut self, _step: Step<'_>, _module: &Module, _op: Op, _result: PassResult) {}
    /// A pass made something that does not verify.
    fn after_verifier_failed(&mut self, _step: Step<'_>, _module: &Module, _op: Op) {}
    /// A pass panicked. The panic goes on once this returns.
    fn pass_panicked(&mut self, _failure: &Failure) {}
    /// An analysis was computed for a pass.
    fn after_analysis(&mut self, _analysis: &'static str, _module: &Module, _op: Op) {}
    /// IR that was asked to be printed.
    fn print(&mut self, _dump: &IrDump<'_>) {}
}

/// A pass of a pipeline that runs.
#[derive(Clone, Copy)]
pub struct Step<'a>(pub(super) &'a Entry);

impl<'a> Step<'a> {
    /// The pass's name.
    pub fn name(self) -> &'a str {
        self.0.pass.name()
    }

    /// The pass with the options it was given, as in pipelines.
    pub fn text(self) -> String {
        let mut out = String::new();
        self.0.write(&mut out);
        out
    }
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

/// IR printed before or after a pass.
#[derive(Debug)]
pub struct IrDump<'a> {
    /// The pass.
    pub pass: &'a str,
    /// `IR Dump Before cse`, `IR Dump After cse Failed`
    pub title: String,
    /// The operation the pass runs on.
    pub op: Op,
    /// Its module.
    pub module: &'a Module,
    /// What is printed: text of one or several operations.
    pub text: String,
}
