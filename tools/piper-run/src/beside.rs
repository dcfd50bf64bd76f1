//! A plan trained beside one device, step by step on the same data: how tests, the catalogue and the figures compare strategies.

use std::time::Duration;

use piper_codegen::Isolation;
use piper_runtime::{MemoryUse, StopFlag};

use crate::Failure;
use crate::args::Level;
use crate::compare::Comparison;
use crate::compile::{Options, compile};
use crate::data::Corpus;
use crate::run::{EngineOptions, open};
use crate::train::Training;

/// How both are run.
#[derive(Clone, Debug)]
pub struct Beside<'a> {
    /// What is trained on.
    pub corpus: &'a Corpus,
    /// How many steps.
    pub steps: u64,
    /// What runs.
    pub level: Level,
    /// Where machine code is made.
    pub isolation: Isolation,
    /// Gradients are added up in a tree that is the same however the batch is divided.
    pub fixed_tree: bool,
}

/// How a plan compares with one device.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Differences over all steps.
    pub comparison: Comparison,
    /// The plan's loss of every step.
    pub losses: Vec<f64>,
    /// Planned bytes of the device that needs most; 0 where nothing is planned.
    pub peak_bytes: u64,
    /// The same of the one device.
    pub reference_bytes: u64,
}

impl Beside<'_> {
    /// Trains the plan of a text, called `name` in messages, and the same model with the same division of the batch on one device.
    ///
    /// # Errors
    /// Whatever is wrong with compiling or running either.
    pub fn train(&self, name: &str, text: &str) -> Result<Outcome, Failure> {
        let options = Options { fixed_tree: self.fixed_tree, ..Options::default() };
        let mut ours = compile(name, text, options)?;
        let mut single = compile("one device", text, Options { single: true, ..options })?;
        self.corpus.check(&ours.feeds)?;
        let engine = EngineOptions {
            level: self.level,
            gradients: true,
            compiler: self.isolation.clone().into(),
            timeout: Duration::from_secs(120),
            ..EngineOptions::default()
        };
        let training = Training {
            corpus: self.corpus,
            steps: self.steps,
            learning_rate: ours.learning_rate.clone(),
            stop: StopFlag::new(),
        };
        let mut run = open(&mut ours, &engine)?;
        let mut reference = open(&mut single, &engine)?;
        let trained = training.run(&mut *run, Some(&mut *reference), |_| ())?;
        let peak = |memory: Vec<(String, MemoryUse)>| {
            memory.iter().map(|(_, used)| used.planned + used.workspace).max().unwrap_or(0)
        };
        Ok(Outcome {
            comparison: trained.comparison.unwrap_or_default(),
            losses: trained.losses,
            peak_bytes: peak(run.memory()),
            reference_bytes: peak(reference.memory()),
        })
    }
}
