//! The training loop: steps, with a reference beside them if asked for.

use std::time::Duration;

use piper_plan::ScalarSource;
use piper_runtime::StopFlag;

use crate::Failure;
use crate::compare::Comparison;
use crate::data::Corpus;
use crate::engine::{Engine, StepFault};

/// What a run is told beside its engines.
pub struct Training<'a> {
    /// The batches.
    pub corpus: &'a Corpus,
    /// Steps to take.
    pub steps: u64,
    /// The learning rate, in which differences of parameters are told.
    pub learning_rate: Option<ScalarSource>,
    /// Ends the run between steps.
    pub stop: StopFlag,
}

/// What a run gave.
#[derive(Clone, Debug, Default)]
pub struct Trained {
    /// The loss of every step.
    pub losses: Vec<f64>,
    /// Time that steps took, the reference's apart.
    pub wall: Duration,
    /// Time that the reference's steps took.
    pub reference_wall: Duration,
    /// The comparison, if there was a reference.
    pub comparison: Option<Comparison>,
    /// The run was asked to end before its last step.
    pub is_stopped: bool,
}

impl Training<'_> {
    /// Takes the steps; `shown` is called after each with its loss.
    ///
    /// # Errors
    /// A step that fails, of either engine; replicas that differ.
    pub fn run<'r>(
        &self,
        engine: &mut dyn Engine,
        mut reference: Option<&mut (dyn Engine + 'r)>,
        mut shown: impl FnMut(f64),
    ) -> Result<Trained, Failure> {
        let mut trained = Trained {
            comparison: reference.is_some().then(Comparison::default),
            ..Trained::default()
        };
        for number in 1..=self.steps {
            if self.stop.is_raised() {
                trained.is_stopped = true;
                break;
            }
            let step = match engine.step(self.corpus) {
                Ok(step) => step,
                Err(StepFault::Stopped) => {
                    trained.is_stopped = true;
                    break;
                }
                Err(StepFault::Failed(failure)) => return Err(failure),
            };
            trained.losses.push(step.loss);
            trained.wall += step.wall;
            if let (Some(reference), Some(comparison)) =
                (reference.as_deref_mut(), &mut trained.comparison)
            {
                let theirs = match reference.step(self.corpus) {
                    Ok(theirs) => theirs,
                    Err(StepFault::Stopped) => {
                        trained.is_stopped = true;
                        break;
                    }
                    Err(StepFault::Failed(failure)) => return Err(failure),
                };
                trained.reference_wall += theirs.wall;
                let rate = self.learning_rate.as_ref().map_or(1.0, |rate| rate.at(number));
                let parameters = (engine.parameters()?, reference.parameters()?);
                comparison.add(number, &step, &theirs, (&parameters.0, &parameters.1), rate);
            }
            shown(step.loss);
        }
        Ok(trained)
    }
}
