//! What is known: dialects and passes. A value, not a global.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use piper_ir::diag::Reporter;
use piper_ir::pass::{
    self, Instrumentation, Origin, PassInfo, PassManager, PassRegistry, RegisterError, RunOptions,
};
use piper_ir::text::parse_module;
use piper_ir::verify::verify;
use piper_ir::{Context, Dialect, Module, SourceFile, Sources};
use piper_passes::pipeline_text::{pass_list, pass_manager, single_pass};
use piper_passes::registry::implied_pipeline;

use crate::{Failure, Message, Program};

/// Dialects and passes, and how passes run. Cheap to clone a program of; may be used by several threads at once.
#[derive(Clone, Debug)]
pub struct Compiler {
    dialects: Vec<Dialect>,
    registry: PassRegistry,
    /// How passes run: verification between them, threads, remarks.
    pub options: RunOptions,
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiler {
    /// Piper's dialects and passes. The module is verified after every pass.
    pub fn new() -> Self {
        Self {
            dialects: piper_dialects::all(),
            registry: piper_passes::registry::all(),
            options: RunOptions::default(),
        }
    }

    /// These dialects and passes, such as Piper's with those of plugins.
    pub fn with(dialects: Vec<Dialect>, registry: PassRegistry) -> Self {
        Self { dialects, registry, options: RunOptions::default() }
    }

    /// Adds a pass. What it builds on may be added after it. The module is verified whenever it has run, because it is not
    /// one of Piper's.
    ///
    /// # Errors
    /// A name that is taken, or that pipelines cannot write; the name of what it runs on likewise. Nothing is added then.
    pub fn register_pass(&mut self, mut pass: PassInfo) -> Result<&mut Self, RegisterError> {
        if pass.origin == Origin::Builtin {
            pass.origin = Origin::Host("Rust".into());
        }
        self.registry.try_register(pass)?;
        Ok(self)
    }

    /// Adds a dialect, for programs made from now on.
    ///
    /// # Errors
    /// Its name is taken, or it defines something under another name than its own; nothing is added then.
    pub fn register_dialect(&mut self, dialect: Dialect) -> Result<&mut Self, Failure> {
        dialect
            .check_beside(&self.dialects)
            .map_err(|why| Failure::with_hint(why.to_string(), why.hint()))?;
        self.dialects.push(dialect);
        Ok(self)
    }

    /// Adds the dialects that a text of `irdl` operations defines, for programs made from now on. `name` is what messages call the
    /// text.
    ///
    /// # Errors
    /// Everything that is wrong with the text; a dialect whose name is taken. Nothing is added then.
    pub fn register_dialect_text(&mut self, name: &str, text: &str) -> Result<&mut Self, Failure> {
        let loaded = piper_dialects::irdl::load(text, name, &self.dialects);
        self.dialects.extend(loaded.map_err(|refusal| {
            Failure::of(&refusal.ctx, &refusal.sources, &refusal.diagnostics)
        })?);
        Ok(self)
    }

    /// The dialects.
    pub fn dialects(&self) -> &[Dialect] {
        &self.dialects
    }

    /// The passes.
    pub fn passes(&self) -> &PassRegistry {
        &self.registry
    }

    /// An empty module, to be built.
    pub fn program(&self, name: impl Into<String>) -> Program {
        let ctx = Arc::new(Context::new(self.dialects.iter().cloned()));
        Program { module: Module::new(ctx), sources: Sources::default(), name: name.into() }
    }

    /// A parsed and verified text. `name` is what messages call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(&self, name: &str, text: &str) -> Result<Program, Failure> {
        self.parse_with_sources(name, text, Sources::default())
    }

    /// As [`parse`](Self::parse), where locations in the text speak of other sources, which messages then show.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse_with_sources(
        &self,
        name: &str,
        text: &str,
        sources: Sources,
    ) -> Result<Program, Failure> {
        let mut program = Program { sources, ..self.program(name) };
        let ctx = program.module.ctx_arc();
        let source = SourceFile::new(name, text);
        program.sources.add(source.clone());
        let mut reporter = Reporter::new(&ctx);
        let module =
            parse_module(&ctx, &source, &mut reporter).filter(|m| verify(m, &mut reporter));
        program.outcome(reporter, module.is_some())?;
        program.module = module.expect("a missing module is a failure");
        Ok(program)
    }

    /// Runs exactly these passes: `"canonicalize,cse"`, or with anchors, `"builtin.module(func.func(cse))"`. Gives remarks and
    /// warnings.
    ///
    /// # Errors
    /// A pipeline that is none, and whatever a pass finds; the module is then half changed and of no use.
    pub fn run(&self, program: &mut Program, pipeline: &str) -> Result<Vec<Message>, Failure> {
        const MODULE: &str = "builtin.module(";
        let text = match pipeline.trim_start().starts_with(MODULE) {
            true => pipeline.to_owned(),
            false => format!("{MODULE}{pipeline})"),
        };
        let manager = pass_manager(&self.registry, &text)
            .map_err(|error| Failure::new(format!("in the pipeline '{text}': {error}")))?;
        self.managed(program, manager)
    }

    /// Runs these passes, each after what it builds on, as `piper-opt --pass` does: `"dualpipe"`,
    /// `"lower-to-device{probe-gradients=true}"`. Gives remarks and warnings.
    ///
    /// # Errors
    /// As [`run`](Self::run); a pass of somebody else that works on the result of one that is not there.
    pub fn run_with_implied(
        &self,
        program: &mut Program,
        passes: &str,
    ) -> Result<Vec<Message>, Failure> {
        self.registry.check_required()?;
        let requests = pass_list(&self.registry, passes)
            .map_err(|error| Failure::new(format!("in the passes '{passes}': {error}")))?;
        let (mut said, mut already) = (Vec::new(), Vec::new());
        for request in requests {
            let implied =
                implied_pipeline(&self.registry, &program.module, &request.name, &already);
            if !implied.is_empty() {
                said.extend(self.run(program, &implied.join(","))?);
            }
            let manager = single_pass(&self.registry, &request, "builtin.module");
            said.extend(self.managed(program, manager.map_err(Failure::new)?)?);
            already.push(request.name);
        }
        Ok(said)
    }

    fn managed(
        &self,
        program: &mut Program,
        mut manager: PassManager,
    ) -> Result<Vec<Message>, Failure> {
        let ctx = program.module.ctx_arc();
        let mut reporter = Reporter::new(&ctx);
        let mut panicked = Panicked::default();
        // The module is given up after a panic, so that nobody sees it half changed.
        let module = &mut program.module;
        let mut run = || manager.run(module, &mut reporter, &self.options, &mut panicked).is_ok();
        match catch_unwind(AssertUnwindSafe(&mut run)) {
            Ok(is_done) => program.outcome(reporter, is_done),
            Err(payload) => {
                program.module = Module::new(ctx.clone());
                let pass = panicked.0.unwrap_or_else(|| "the pass manager".to_owned());
                Err(Failure::with_hint(
                    format!("{pass} panicked: {}", panic_text(&*payload)),
                    "this is a fault of the pass, not of its input; please report it",
                ))
            }
        }
    }
}

/// Which pass panicked, in words.
#[derive(Default)]
struct Panicked(Option<String>);

impl Instrumentation for Panicked {
    fn pass_panicked(&mut self, failure: &pass::Failure) {
        self.0 = Some(failure.pass_text());
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}
