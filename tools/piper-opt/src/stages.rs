//! Which passes run, in which order.

use piper_ir::pass::{PassManager, PassRegistry, PassResult, RunOptions};
use piper_ir::{Module, Reporter};
use piper_passes::pipeline_text::{PassRequest, pass_manager_on, single_pass};
use piper_passes::registry::implied_pipeline;

use crate::trace::Trace;

/// What is to be run.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    /// Exactly this pipeline.
    Pipeline(String),
    /// These passes; with `implied`, each after what it builds on.
    Passes { requests: Vec<PassRequest>, implied: bool },
}

/// Runs the passes; what is wrong is in `reporter`.
pub(crate) fn run(
    job: &Job,
    registry: &PassRegistry,
    module: &mut Module,
    reporter: &mut Reporter<'_>,
    options: &RunOptions,
    trace: &mut Trace,
) -> PassResult {
    let mut go = |manager: Result<PassManager, String>,
                  module: &mut Module,
                  trace: &mut Trace|
     -> PassResult {
        match manager {
            Ok(mut manager) => {
                trace.anchor = manager.anchor().to_owned();
                if !manager.is_empty() {
                    trace.pipelines.push(manager.body_text());
                }
                let result = manager.run(module, reporter, options, trace);
                trace.records.extend_from_slice(manager.records());
                trace.failure = manager.failure().cloned();
                result
            }
            Err(message) => {
                reporter.error(module.op_loc(module.root()), message);
                Err(piper_ir::pass::PassFailed)
            }
        }
    };
    match job {
        Job::Pipeline(text) => {
            let root = module.name_text(module.root()).to_owned();
            let manager = pass_manager_on(registry, text, None, Some(&root));
            go(manager.map_err(|error| error.to_string()), module, trace)
        }
        Job::Passes { requests, implied } => {
            let mut already: Vec<String> = Vec::new();
            for request in requests {
                // Only a module can lack a level.
                let is_module = module.name_text(module.root()) == "builtin.module";
                let before = if *implied && is_module {
                    implied_pipeline(registry, module, &request.name, &already)
                } else {
                    Vec::new()
                };
                if !before.is_empty() {
                    trace.implied.push((request.name.clone(), before.clone()));
                }
                let before =
                    before.into_iter().map(|name| PassRequest { name, options: Vec::new() });
                for request in before.chain([request.clone()]) {
                    let root = module.name_text(module.root()).to_owned();
                    go(single_pass(registry, &request, &root), module, trace)?;
                    already.push(request.name);
                }
            }
            Ok(())
        }
    }
}
