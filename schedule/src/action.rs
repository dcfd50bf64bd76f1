//! One unit of pipeline work and the slot it stands in.
//!
//! An action names a stage, what is done there, and the microbatch it is done for. The letters are those of the
//! zero-bubble literature: `F` forward, `B` whole backward, which splits into `I` (gradient of the input, what the
//! previous stage waits for) and `W` (gradient of the weights, which nobody waits for until the optimizer).

use std::fmt;

/// What an [`Action`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Forward of one stage.
    F,
    /// Whole backward: [`Kind::I`] and [`Kind::W`] in one.
    B,
    /// Input-gradient half of the backward.
    I,
    /// Weight-gradient half of the backward; runs at any time after its [`Kind::I`].
    W,
}

impl Kind {
    /// All kinds, in the order in which a microbatch meets them.
    pub const ALL: [Kind; 4] = [Kind::F, Kind::B, Kind::I, Kind::W];

    /// The letter that stands for the kind in every table.
    pub fn letter(self) -> char {
        match self {
            Kind::F => 'F',
            Kind::B => 'B',
            Kind::I => 'I',
            Kind::W => 'W',
        }
    }

    /// The kind a letter stands for; lower case is not accepted, so that a table has one spelling.
    pub fn from_letter(letter: char) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }
}

/// One stage's work for one microbatch. Prints as `3F1`: stage 3, forward, microbatch 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Action {
    /// Stage, counted from the model's input.
    pub stage: u32,
    /// What is computed.
    pub kind: Kind,
    /// Microbatch, counted from 0.
    pub mb: u32,
}

impl Action {
    /// `stage` `kind` `mb`, in the order in which they are written.
    pub fn new(stage: u32, kind: Kind, mb: u32) -> Action {
        Action { stage, kind, mb }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.stage, self.kind.letter(), self.mb)
    }
}

/// One step of a rank: an action, or several that may overlap because none waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A single action.
    One(Action),
    /// Actions that start together; at least two.
    Overlap(Vec<Action>),
}

impl Slot {
    /// The pair `first & second`, which may overlap.
    pub fn pair(first: Action, second: Action) -> Slot {
        Slot::Overlap(vec![first, second])
    }

    /// The slot's actions, in written order.
    pub fn actions(&self) -> &[Action] {
        match self {
            Slot::One(action) => std::slice::from_ref(action),
            Slot::Overlap(actions) => actions,
        }
    }
}

impl From<Action> for Slot {
    fn from(action: Action) -> Slot {
        Slot::One(action)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slot::One(action) => action.fmt(f),
            Slot::Overlap(actions) => {
                for (at, action) in actions.iter().enumerate() {
                    write!(f, "{}{action}", if at == 0 { "(" } else { " | " })?;
                }
                f.write_str(")")
            }
        }
    }
}
