//! What takes steps: one interface over the interpreter of the graph and the runtime of device programs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use piper_codegen::adapter::CodeReport;
use piper_interp::dag::{Interpreter, Tensors};
use piper_interp::tensor::Tensor;
use piper_ir::Reporter;
use piper_plan::Plan;
use piper_runtime::{
    KernelLibrary, MemoryUse, ReadBackError, Session, SliceMut, StepError, StepReport, TensorValue,
};

use crate::Failure;
use crate::compile::Compiled;
use crate::data::{Corpus, Feed};

/// Tensors by name, each element exactly as f64.
pub type Values = BTreeMap<String, Vec<f64>>;

/// What one step gave.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// The loss.
    pub loss: f64,
    /// Complete gradients before the optimizer, where the engine was asked to report them.
    pub gradients: Values,
    /// Time the devices took.
    pub wall: Duration,
}

/// Why there was no step.
#[derive(Debug)]
pub enum StepFault {
    /// The run was asked to end; nothing is half done.
    Stopped,
    /// Anything else.
    Failed(Failure),
}

impl From<Failure> for StepFault {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Takes steps of one strategy.
pub trait Engine {
    /// The next step, on the next batch of the corpus.
    ///
    /// # Errors
    /// A stop between steps, a device that fails or is stuck.
    fn step(&mut self, corpus: &Corpus) -> Result<Step, StepFault>;

    /// The parameters as they are now.
    ///
    /// # Errors
    /// Replicas that differ.
    fn parameters(&self) -> Result<Values, Failure>;

    /// Memory per device with the device's coordinates; empty where memory is not planned.
    fn memory(&self) -> Vec<(String, MemoryUse)> {
        Vec::new()
    }

    /// What machine code takes the steps, if any was made for it.
    fn code(&self) -> Option<&CodeReport> {
        None
    }

    /// The steps so far as a Perfetto trace; `None` where nothing runs at the same time as anything else.
    ///
    /// # Errors
    /// Another process that has recorded part of it is gone.
    fn trace(&self) -> Result<Option<String>, Failure> {
        Ok(None)
    }
}

/// Interprets the graph, devices and all, in one thread.
pub struct DagEngine<'m> {
    compiled: &'m Compiled,
    interpreter: Interpreter<'m>,
    state: Tensors,
    steps: u32,
}

impl<'m> DagEngine<'m> {
    /// An interpreter at the initial state.
    ///
    /// # Errors
    /// A graph that cannot be interpreted.
    pub fn new(compiled: &'m Compiled) -> Result<Self, Failure> {
        let fail = |error: piper_interp::dag::Error| located(compiled, &error);
        let interpreter =
            Interpreter::new(&compiled.program.module, compiled.graph).map_err(fail)?;
        let state = interpreter.initial_state().map_err(fail)?;
        Ok(Self { compiled, interpreter, state, steps: 0 })
    }
}

fn located(compiled: &Compiled, error: &piper_interp::dag::Error) -> Failure {
    let mut reporter = Reporter::new(compiled.ctx());
    error.report(&mut reporter);
    Failure::of(compiled.ctx(), &compiled.program.sources, reporter.diagnostics())
}

impl Engine for DagEngine<'_> {
    fn step(&mut self, corpus: &Corpus) -> Result<Step, StepFault> {
        let number = self.steps + 1;
        let data = self.compiled.feeds.iter().map(|feed| {
            let values: Vec<i32> = corpus.fill(u64::from(number), feed).collect();
            let tensor = Tensor::new([feed.rows, feed.length], values)
                .map_err(|e| Failure::new(e.to_string()))?;
            Ok((feed.name.clone(), tensor))
        });
        let data: Tensors = data.collect::<Result<_, Failure>>()?;
        let start = Instant::now();
        let step = self
            .interpreter
            .step(&data, &self.state, number)
            .map_err(|e| located(self.compiled, &e))?;
        let wall = start.elapsed();
        self.state = step.state;
        self.steps = number;
        let gradients = step.gradients.iter().map(|(name, tensor)| (name.clone(), tensor.to_f64()));
        let loss = step.outputs.get("loss").copied().unwrap_or(f64::NAN);
        Ok(Step { loss, gradients: gradients.collect(), wall })
    }

    fn parameters(&self) -> Result<Values, Failure> {
        let module = &self.compiled.program.module;
        let ctx = module.ctx();
        let names = module
            .walk(self.compiled.graph)
            .filter(|op| module.name_text(*op) == "dag.parameter")
            .filter_map(|op| module.attr_by(op, "name")?.as_str(ctx));
        Ok(names
            .filter_map(|name| Some((name.to_owned(), self.state.get(name)?.to_f64())))
            .collect())
    }
}

/// Runs device programs on threads.
pub struct PlanEngine {
    session: Session,
    feeds: Vec<Feed>,
    pub(crate) code: Option<CodeReport>,
}

/// Before the name of a parameter in the name of an output that is its gradient.
const GRADIENT: &str = "grad.";

impl PlanEngine {
    /// Loads a plan with its kernels.
    ///
    /// # Errors
    /// A plan that the verifier rejects, or that lacks a kernel.
    pub fn load(
        plan: Plan,
        feeds: Vec<Feed>,
        library: &dyn KernelLibrary,
        options: piper_runtime::Options,
    ) -> Result<Self, Failure> {
        let session = Session::load(plan, library, options)
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self { session, feeds, code: None })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

/// Fills inputs of a plan from a corpus.
pub(crate) fn source<'a>(
    feeds: &'a [Feed],
    corpus: &'a Corpus,
) -> impl piper_runtime::DataSource + 'a {
    move |step: u64, input: &piper_plan::Input, into: SliceMut<'_>| {
        let feed = feeds.iter().find(|f| f.name == input.name).ok_or("no data is known for it")?;
        let SliceMut::I32(into) = into else { return Err("tokens are i32".to_owned()) };
        into.iter_mut().zip(corpus.fill(step, feed)).for_each(|(to, value)| *to = value);
        Ok(())
    }
}

/// What a step of a plan comes to.
pub(crate) fn step_of(outcome: Result<StepReport, StepError>) -> Result<Step, StepFault> {
    let report = outcome.map_err(|error| match error {
        StepError::Stopped { .. } => StepFault::Stopped,
        error => StepFault::Failed(Failure::new(error.to_string())),
    })?;
    let loss = report.number("loss").unwrap_or(f64::NAN);
    let gradient = |(name, tensor): (&str, &TensorValue)| {
        Some((name.strip_prefix(GRADIENT)?.to_owned(), tensor.to_f64()))
    };
    let gradients = report.tensors().filter_map(gradient);
    Ok(Step { loss, gradients: gradients.collect(), wall: report.wall })
}

/// The parameters among the states: those that are not named after another, as moments are.
pub(crate) fn parameters_of<'a>(
    states: impl Iterator<Item = &'a str>,
    read: impl Fn(&str) -> Result<TensorValue, ReadBackError>,
) -> Result<Values, Failure> {
    let names: Vec<String> = states.map(str::to_owned).collect();
    let is_parameter =
        |name: &String| !name.rsplit_once('.').is_some_and(|(of, _)| names.iter().any(|n| n == of));
    let read = |name: &String| {
        let value = read(name).map_err(|error| Failure::new(error.to_string()))?;
        Ok((name.clone(), value.to_f64()))
    };
    names.iter().filter(|name| is_parameter(name)).map(read).collect()
}

impl Engine for PlanEngine {
    fn step(&mut self, corpus: &Corpus) -> Result<Step, StepFault> {
        step_of(self.session.step(&source(&self.feeds, corpus)))
    }

    fn parameters(&self) -> Result<Values, Failure> {
        parameters_of(self.session.states(), |name| self.session.state(name))
    }

    fn memory(&self) -> Vec<(String, MemoryUse)> {
        let mesh = self.session.plan().mesh();
        let uses = self.session.memory().into_iter().enumerate();
        uses.map(|(device, memory)| (mesh.render(device), memory)).collect()
    }

    fn code(&self) -> Option<&CodeReport> {
        self.code.as_ref()
    }

    fn trace(&self) -> Result<Option<String>, Failure> {
        Ok(Some(self.session.trace_json()))
    }
}
