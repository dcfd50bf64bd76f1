//! The table itself: a row of slots per rank, and where the stages live.

mod render;

pub use render::{StageNumbers, Style, render};

use crate::action::{Action, Slot};
use crate::placement::Placement;

/// A pipeline schedule of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// `ranks[r]` lists the slots of rank `r` in the order in which it runs them.
    pub ranks: Vec<Vec<Slot>>,
    /// Stages of the model, counted once even where a stage has two homes.
    pub stages: u32,
    /// Microbatches of the step.
    pub microbatches: u32,
    /// Home ranks of the stages.
    pub placement: Placement,
}

impl Table {
    /// The table that consists of these rows: stages and microbatches are those that occur, and a stage's home is where
    /// its actions stand.
    pub fn from_rows(ranks: Vec<Vec<Slot>>) -> Table {
        let actions = || ranks.iter().flatten().flat_map(Slot::actions);
        let count = |number: fn(&Action) -> u32| {
            actions().map(number).max().map_or(0, |last| last.saturating_add(1))
        };
        let (stages, microbatches) = (count(|action| action.stage), count(|action| action.mb));
        let placement = Placement::implied(&ranks, stages, microbatches);
        Table { ranks, stages, microbatches, placement }
    }

    /// All actions, rank by rank, without their slots.
    pub fn actions(&self) -> impl Iterator<Item = Action> + '_ {
        self.ranks.iter().flatten().flat_map(Slot::actions).copied()
    }
}
