//! Passes: named transformations, and what runs them.
//!
//! A pass works on one operation (its anchor) and what is inside it. [`PassRegistry`] knows passes by name, with options;
//! [`PassManager`] runs a nested pipeline of them, verifying and printing in between as asked; a pass gets what others
//! computed before it from the cache of [`Analysis`]. Counterparts: MLIR's `Pass`, `PassRegistry`, `PassManager`,
//! `AnalysisManager`.
//!
//! ```
//! use std::sync::Arc;
//! use piper_ir::pass::{Instrumentation, PassInfo, PassManager, PassRegistry, PassResult, RunOptions, Step};
//! use piper_ir::{Context, Module, Op, Reporter};
//!
//! // A pass is a function with a name.
//! let count = PassInfo::from_fn("print-count", "Counts operations", |cx| {
//!     let operations = cx.module.walk(cx.op).count() as u64;
//!     cx.count("operations", operations);
//!     let loc = cx.module.op_loc(cx.op);
//!     cx.remark(loc, format!("{operations} operation(s)"));
//!     Ok(())
//! });
//! let mut registry = PassRegistry::default();
//! registry.register([count]);
//!
//! // An instrumentation sees every pass before and after it runs.
//! #[derive(Default)]
//! struct Log(Vec<String>);
//! impl Instrumentation for Log {
//!     fn before_pass(&mut self, step: Step<'_>, module: &Module, op: Op) {
//!         self.0.push(format!("{} on {}", step.name(), module.name_text(op)));
//!     }
//!     fn after_pass(&mut self, step: Step<'_>, _module: &Module, _op: Op, result: PassResult) {
//!         self.0.push(format!("{} {}", step.name(), if result.is_ok() { "done" } else { "failed" }));
//!     }
//! }
//!
//! let ctx = Arc::new(Context::new([]));
//! let mut module = Module::new(ctx.clone());
//! let mut manager = PassManager::new("builtin.module");
//! manager.add(registry.build("print-count", &[])?);
//! let (mut reporter, mut log) = (Reporter::new(&ctx), Log::default());
//! manager.run(&mut module, &mut reporter, &RunOptions::default(), &mut log).expect("it cannot fail");
//! assert_eq!(log.0, ["print-count on builtin.module", "print-count done"]);
//! assert_eq!(reporter.diagnostics()[0].message, "1 operation(s)");
//! assert_eq!(manager.records()[0].statistics, [("operations", 1)]);
//! # Ok::<(), String>(())
//! ```

mod analysis;
mod context;
#[cfg(test)]
mod foreign_tests;
mod info;
mod instrumentation;
mod manager;
mod options;
mod origin;
mod parallel;
mod printing;
#[cfg(test)]
mod random_tests;
mod record;
mod registry;
mod run;
#[cfg(test)]
mod tests;

pub use analysis::{Analysis, AnalysisCache};
pub use context::{PassContext, RemarkFilter, RemarkKind};
pub use info::{BuildPass, PassInfo};
pub use instrumentation::{Instrumentation, IrDump, Step};
pub use manager::{GivenOptions, PassManager, RunOptions, quoted_value};
pub use options::{OptionDef, PassOptions};
pub use origin::Origin;
pub use printing::IrPrinting;
pub use record::{AnalysisRecord, PassRecord};
pub use registry::{PassRegistry, RegisterError};
pub use run::Failure;

/// A pass failed; what is wrong has been reported.
#[derive(Clone, Copy, Debug)]
pub struct PassFailed;

/// The result of a pass.
pub type PassResult = Result<(), PassFailed>;

/// A transformation of an operation. The same pass object may run on many anchors, and on several threads at once.
pub trait Pass: Send + Sync {
    /// Its name, as in pipelines.
    fn name(&self) -> &str;

    /// Changes the anchor, or reports why it cannot and fails. After a failure the module may be half changed and is not used.
    ///
    /// # Errors
    /// When the anchor cannot be transformed; why has been reported.
    fn run(&self, cx: &mut PassContext<'_, '_>) -> PassResult;

    /// Whether the module is unchanged whatever it is, so that nothing needs verifying or computing again.
    fn only_reads(&self) -> bool {
        false
    }
}
