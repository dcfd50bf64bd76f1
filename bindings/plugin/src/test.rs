//! Running a plugin's passes in its own tests, without a host.

use std::sync::Arc;

use piper_ir::pass::{Instrumentation, RunOptions};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Reporter, SourceFile};
use piper_passes::pipeline_text::pass_manager;

use crate::Registrar;

/// What a pipeline left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The module as text; `None` if something failed.
    pub text: Option<String>,
    /// What was said, in order: messages without places.
    pub messages: Vec<String>,
}

struct Silent;
impl Instrumentation for Silent {}

/// Runs a pipeline of Piper's passes and of those that `register` adds on a module.
///
/// # Panics
/// If the pipeline names passes that are not there, or names are taken: a test is wrong then.
pub fn run(register: impl FnOnce(&mut Registrar), pipeline: &str, text: &str) -> Done {
    let mut registrar = Registrar::default();
    register(&mut registrar);
    let added = registrar.finish();
    let (mut registry, mut dialects) = (piper_passes::registry::all(), piper_dialects::all());
    for pass in added.passes {
        registry.try_register(pass).unwrap_or_else(|error| panic!("{error}"));
    }
    dialects.extend(added.dialects);
    let mut schedules = piper_schedule::Schedules::new();
    for schedule in added.schedules {
        schedules.add(schedule).unwrap_or_else(|error| panic!("{error}"));
    }
    piper_dialects::strategy::set_schedules(&mut dialects, &schedules);
    let ctx = Arc::new(Context::new(dialects));
    let mut reporter = Reporter::new(&ctx);
    let parsed = parse_module(&ctx, &SourceFile::new("test.pir", text), &mut reporter);
    let module = parsed.filter(|module| verify(module, &mut reporter)).and_then(|mut module| {
        let mut manager =
            pass_manager(&registry, pipeline).unwrap_or_else(|error| panic!("{error}"));
        let done = manager.run(&mut module, &mut reporter, &RunOptions::default(), &mut Silent);
        done.is_ok().then_some(module)
    });
    Done {
        text: module.map(|module| print_module(&module, PrintOptions::default())),
        messages: reporter.take().into_iter().map(|diagnostic| diagnostic.message).collect(),
    }
}
