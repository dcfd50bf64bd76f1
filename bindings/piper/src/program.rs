//! A module with the sources that its locations speak of.

use piper_dialects::strategy::{PlanSpec, plans};
use piper_ir::diag::Reporter;
use piper_ir::text::{PrintOptions, print_module};
use piper_ir::verify::verify;
use piper_ir::{Module, Sources};
use piper_passes::road;

use crate::{Failure, Message};

/// A module at whatever level, with the text its locations point into. Made by [`Compiler::parse`](crate::Compiler::parse) or
/// [`Compiler::program`](crate::Compiler::program); programs share nothing and may go to other threads.
#[derive(Debug)]
pub struct Program {
    /// The module: to build, walk and change with the interface of [`crate::ir`].
    pub module: Module,
    /// The texts that were read.
    pub sources: Sources,
    /// What messages call the module as a whole.
    pub name: String,
}

impl Program {
    /// The module as text.
    pub fn text(&self) -> String {
        print_module(&self.module, PrintOptions::default())
    }

    /// Checks the module, as every pass pipeline does before and after.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn verify(&self) -> Result<(), Failure> {
        let mut reporter = Reporter::new(self.module.ctx());
        let is_right = verify(&self.module, &mut reporter);
        self.outcome(reporter, is_right).map(drop)
    }

    /// The names of its strategies (`strategy.plan`), in order.
    pub fn plans(&self) -> Vec<String> {
        let name = |op| self.module.symbol_name(op).unwrap_or_default().to_owned();
        plans(&self.module).into_iter().map(name).collect()
    }

    /// The strategy of this name, or the only one; other strategies are taken out of the module.
    ///
    /// # Errors
    /// No plan, several and none named, none of the name, or one that is wrong.
    pub fn choose_plan(&mut self, wanted: Option<&str>) -> Result<PlanSpec, Failure> {
        let found = road::choose_plan(&mut self.module, &self.name, wanted)
            .map_err(|why| Failure::with_hint(why.message, why.hint))?;
        PlanSpec::read(&self.module, found).ok_or_else(|| {
            let wrong = Failure::new("the plan cannot be read and its verifier did not say why");
            self.verify().err().unwrap_or(wrong)
        })
    }

    /// What a reporter heard: a failure if there were errors or nothing was done, else its remarks and warnings.
    pub(crate) fn outcome(
        &self,
        mut reporter: Reporter<'_>,
        is_done: bool,
    ) -> Result<Vec<Message>, Failure> {
        let ctx = self.module.ctx();
        if !is_done && reporter.error_count() == 0 {
            let root = self.module.op_loc(self.module.root());
            reporter.error(root, "a pass failed and did not say why");
        }
        let errors = reporter.error_count();
        let said = reporter.take();
        match errors {
            0 => Ok(said.iter().map(|d| Message::of(ctx, &self.sources, d)).collect()),
            _ => Err(Failure::of(ctx, &self.sources, &said)),
        }
    }
}
