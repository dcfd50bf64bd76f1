//! Whether a table is a pipeline step at all.
//!
//! Two questions, both answered in time linear in the number of actions. *Completeness*: every stage and microbatch has
//! one `F` and either one `B` or one `I` and one `W`, on the rank where the placement puts them. *Progress*: replayed
//! under data dependencies with every rank running its slots in order, all slots finish. A table can be complete and
//! still hang; then the answer is the cycle of ranks, each with the slot at which it stands and what it waits for.

use std::fmt;

use crate::action::{Action, Kind, Slot};
use crate::replay::Dependencies;
use crate::table::Table;

/// Where an action stands: `slot` counts the slots of `rank` from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Row of the table.
    pub rank: u32,
    /// Column within the row, counting slots.
    pub slot: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}, slot {}", self.rank, self.slot)
    }
}

/// One rank of a [`Deadlock`]: what it is about to run and what that waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The slot the rank cannot leave.
    pub at: Position,
    /// The action in it that is not ready.
    pub action: Action,
    /// The action it waits for.
    pub waits_for: Action,
    /// Where that one stands: on the next rank of the cycle, at or behind that rank's own stuck slot.
    pub found_at: Position,
}

/// Ranks that wait for one another in a circle; each waits for the next and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The ranks of the circle.
    pub cycle: Vec<Stuck>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the order deadlocks:")?;
        for stuck in &self.cycle {
            let Stuck { at, action, waits_for, found_at } = stuck;
            write!(f, "\n  {at}: {action} waits for {waits_for}, ")?;
            if at == found_at {
                f.write_str("which stands in the same slot, so the two cannot overlap")?;
            } else if at.rank == found_at.rank {
                write!(f, "which the same rank runs only later, at slot {}", found_at.slot)?;
            } else {
                write!(f, "which stands at {found_at}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Deadlock {}

/// One thing wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The action names a stage or microbatch the table does not have.
    OutOfRange {
        /// Where it stands.
        at: Position,
        /// The action.
        action: Action,
        /// Stages of the table.
        stages: u32,
        /// Microbatches of the table.
        microbatches: u32,
    },
    /// The action stands on a rank that is not its stage's home for this microbatch.
    NotAtHome {
        /// Where it stands.
        at: Position,
        /// The action.
        action: Action,
        /// The rank where it belongs, if its stage has a home at all.
        home: Option<u32>,
    },
    /// The action stands in the table twice.
    Repeated {
        /// The action.
        action: Action,
        /// Where it stands first.
        first: Position,
        /// Where it stands again.
        again: Position,
    },
    /// The action does not stand in the table.
    Missing {
        /// The action; a missing backward is reported as `B` where neither `I` nor `W` is there.
        action: Action,
        /// The rank that should run it, if its stage has a home.
        home: Option<u32>,
    },
    /// No rank holds the stage: in a table without a placement of its own, nothing of it stands there.
    Unplaced {
        /// The stage.
        stage: u32,
    },
    /// One stage and microbatch has both a whole backward and a half of it.
    WholeAndHalf {
        /// The `B`.
        whole: (Action, Position),
        /// The `I` or `W`.
        half: (Action, Position),
    },
    /// Complete, but ranks wait for one another.
    Deadlock(Deadlock),
}

impl Problem {
    /// The same problem with its positions changed, for tables that are a part of something longer.
    pub(crate) fn moved(self, to: &impl Fn(Position) -> Position) -> Problem {
        match self {
            Problem::OutOfRange { at, action, stages, microbatches } => {
                Problem::OutOfRange { at: to(at), action, stages, microbatches }
            }
            Problem::NotAtHome { at, action, home } => {
                Problem::NotAtHome { at: to(at), action, home }
            }
            Problem::Repeated { action, first, again } => {
                Problem::Repeated { action, first: to(first), again: to(again) }
            }
            Problem::WholeAndHalf { whole, half } => {
                Problem::WholeAndHalf { whole: (whole.0, to(whole.1)), half: (half.0, to(half.1)) }
            }
            Problem::Deadlock(Deadlock { cycle }) => {
                let moved = |stuck: Stuck| Stuck {
                    at: to(stuck.at),
                    found_at: to(stuck.found_at),
                    ..stuck
                };
                Problem::Deadlock(Deadlock { cycle: cycle.into_iter().map(moved).collect() })
            }
            missing @ (Problem::Missing { .. } | Problem::Unplaced { .. }) => missing,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::OutOfRange { at, action, stages, microbatches } => write!(
                f,
                "{at}: {action} does not exist: there are {stages} stages and {microbatches} microbatches, counted from 0"
            ),
            Problem::NotAtHome { at, action, home: Some(home) } => {
                write!(f, "{at}: {action} does not belong here: its stage lives on rank {home}")
            }
            Problem::NotAtHome { at, action, home: None } => {
                write!(
                    f,
                    "{at}: {action} does not belong here: the placement gives its stage no home"
                )
            }
            Problem::Repeated { action, first, again } => {
                write!(f, "{again}: {action} runs a second time; it is already at {first}")
            }
            Problem::Missing { action, home: Some(home) } => {
                write!(f, "{action} is missing; rank {home} should run it")
            }
            Problem::Missing { action, home: None } => write!(f, "{action} is missing"),
            Problem::Unplaced { stage } => write!(f, "stage {stage} runs on no rank"),
            Problem::WholeAndHalf { whole, half } => write!(
                f,
                "{}: {} repeats a part of {} at {}; write either B, or I and W",
                half.1, half.0, whole.0, whole.1
            ),
            Problem::Deadlock(deadlock) => deadlock.fmt(f),
        }
    }
}

/// Everything [`Table::check`] found; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

/// Further problems are counted, not printed: one slip in a generator breaks every microbatch alike.
const PRINTED: usize = 8;

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().take(PRINTED).enumerate() {
            write!(f, "{}{problem}", if at == 0 { "" } else { "\n" })?;
        }
        match self.0.len().saturating_sub(PRINTED) {
            0 => Ok(()),
            more => write!(f, "\n... and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

impl Table {
    /// Proves the table complete and free of deadlock.
    ///
    /// # Errors
    /// All completeness problems; or, when there is none, the cycle of ranks that wait for one another.
    pub fn check(&self) -> Result<(), Problems> {
        let problems = self.completeness();
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        Dependencies::of(self)
            .run(|_| 1, 0)
            .map(|_| ())
            .map_err(|deadlock| Problems(vec![Problem::Deadlock(deadlock)]))
    }

    pub(crate) fn completeness(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let cells = self.stages as usize * self.microbatches as usize;
        let mut seen: [Vec<Option<Position>>; 4] = std::array::from_fn(|_| vec![None; cells]);
        for (at, action) in self.positions() {
            if action.stage >= self.stages || action.mb >= self.microbatches {
                let (stages, microbatches) = (self.stages, self.microbatches);
                problems.push(Problem::OutOfRange { at, action, stages, microbatches });
                continue;
            }
            let home = self.placement.home(action.stage, action.mb);
            if home != Some(at.rank) {
                problems.push(Problem::NotAtHome { at, action, home });
            }
            let cell = action.stage as usize * self.microbatches as usize + action.mb as usize;
            match seen[action.kind as usize][cell] {
                Some(first) => problems.push(Problem::Repeated { action, first, again: at }),
                None => seen[action.kind as usize][cell] = Some(at),
            }
        }
        for stage in 0..self.stages {
            if self.placement.homes.get(stage as usize).is_none_or(Vec::is_empty) {
                problems.push(Problem::Unplaced { stage });
                continue;
            }
            for mb in 0..self.microbatches {
                let cell = stage as usize * self.microbatches as usize + mb as usize;
                let found = |kind: Kind| {
                    seen[kind as usize][cell].map(|at| (Action::new(stage, kind, mb), at))
                };
                let mut missing = |kind| {
                    let home = self.placement.home(stage, mb);
                    problems.push(Problem::Missing { action: Action::new(stage, kind, mb), home });
                };
                if found(Kind::F).is_none() {
                    missing(Kind::F);
                }
                match (found(Kind::B), found(Kind::I), found(Kind::W)) {
                    (Some(_), None, None) | (None, Some(_), Some(_)) => {}
                    (None, None, None) => missing(Kind::B),
                    (None, None, Some(_)) => missing(Kind::I),
                    (None, Some(_), None) => missing(Kind::W),
                    (Some(whole), i, w) => problems.extend(
                        i.into_iter().chain(w).map(|half| Problem::WholeAndHalf { whole, half }),
                    ),
                }
            }
        }
        problems
    }

    /// Every action with where it stands, rank by rank.
    pub fn positions(&self) -> impl Iterator<Item = (Position, Action)> + '_ {
        (0u32..).zip(&self.ranks).flat_map(|(rank, slots)| {
            (0u32..).zip(slots).flat_map(move |(slot, slot_actions): (u32, &Slot)| {
                slot_actions.actions().iter().map(move |action| (Position { rank, slot }, *action))
            })
        })
    }
}
