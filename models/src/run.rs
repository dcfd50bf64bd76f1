//! How a model is to be trained: mesh, schedule, batch.

use crate::model::Model;

/// A pipeline schedule, as a directive says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// `strategy.pipeline` with this `schedule`.
    Pipeline(String),
    /// `strategy.dualpipe`, from both ends.
    DualPipe,
    /// `strategy.dualpipe` with `variant = "v"`.
    DualPipeV,
}

impl Schedule {
    /// A schedule by its name: `dualpipe`, `dualpipev`, or one of the pipelines.
    pub fn named(name: &str) -> Self {
        match name {
            "dualpipe" => Self::DualPipe,
            "dualpipev" => Self::DualPipeV,
            other => Self::Pipeline(other.to_owned()),
        }
    }
}

/// The layout of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Pipeline ranks.
    pub pp: u64,
    /// Stages a rank.
    pub v: u64,
    /// Ranks that share a layer's matrices. Only of models without experts.
    pub tp: u64,
    /// Ranks that share the experts; the batch is divided over them too.
    pub ep: u64,
    /// Replicas.
    pub dp: u64,
    /// The schedule.
    pub schedule: Schedule,
    /// Microbatches of each pipeline.
    pub microbatches: u64,
    /// Sequences of a microbatch on one replica.
    pub sequences: u64,
    /// ZeRO stage over `dp`.
    pub zero: u64,
    /// Whether functions keep what their gradient needs beside what enters them; else, and with `tp` above 1, that is recomputed,
    /// at no cost stated.
    pub keeps: bool,
    /// Whether the pairs of a schedule take turns at the exchanges with experts (`strategy.overlap`).
    pub overlap: bool,
    /// Element type of parameters and activations.
    pub dtype: &'static str,
}

impl Default for Run {
    /// One rank, one microbatch of one sequence.
    fn default() -> Self {
        Self {
            pp: 1,
            v: 1,
            tp: 1,
            ep: 1,
            dp: 1,
            schedule: Schedule::Pipeline("1f1b".to_owned()),
            microbatches: 1,
            sequences: 1,
            zero: 1,
            keeps: true,
            overlap: false,
            dtype: "bf16",
        }
    }
}

impl Run {
    /// Devices of the mesh.
    pub fn devices(&self) -> u64 {
        self.pp * self.tp * self.ep * self.dp
    }

    /// Sequences of a step.
    pub fn batch(&self) -> u64 {
        self.sequences * self.microbatches * self.ep * self.dp
    }

    /// Stages in all.
    pub fn stages(&self) -> u64 {
        self.pp * self.v
    }

    /// Checks that the model can be laid out so.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub fn check(&self, model: &Model) -> Result<(), String> {
        let numbers = [
            ("pp", self.pp),
            ("v", self.v),
            ("tp", self.tp),
            ("ep", self.ep),
            ("dp", self.dp),
            ("microbatches", self.microbatches),
            ("sequences", self.sequences),
        ];
        if let Some((name, _)) = numbers.iter().find(|(_, number)| *number == 0) {
            return Err(format!("{name} must be at least 1"));
        }
        match model.experts {
            None if self.ep > 1 => {
                return Err(format!("{} has no experts: ep must be 1", model.name));
            }
            Some(experts) if experts.count % self.ep != 0 => {
                return Err(format!("ep = {} does not divide {} experts", self.ep, experts.count));
            }
            Some(_) if self.tp > 1 => {
                return Err("tp is for models without experts; divide those by ep".to_owned());
            }
            _ => {}
        }
        if self.overlap && self.ep == 1 {
            return Err("overlap hides exchanges between experts, and with ep = 1 there are none"
                .to_owned());
        }
        if self.stages() > model.layers + 2 {
            return Err(format!(
                "{} stages, but only {} layers, the embedding and the head",
                self.stages(),
                model.layers
            ));
        }
        Ok(())
    }
}
