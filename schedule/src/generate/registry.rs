//! Schedules that are not in the catalogue: other people's, under names of their own.
//!
//! Such a schedule gives what a rank runs, in which order; what follows from that (transfers, placement, the halves of
//! backwards) it gets as the published ones do. Nobody proved its tables, so each is checked before it is used.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{
    ALIASES, Config, Placed, Rejected, SCHEDULES, bare, check_size, check_stages, generate, unknown,
};
use crate::action::Slot;
use crate::table::Table;

type Rows = dyn Fn(&Config) -> Result<Vec<Vec<Slot>>, Rejected> + Send + Sync;

/// A schedule with a name of its own.
///
/// ```
/// use piper_schedule::generate::{NewSchedule, Placed, Schedules};
/// use piper_schedule::{Action, Config, Kind};
///
/// // One microbatch at a time: forward through all stages, and back.
/// let one_by_one = NewSchedule::each("one-by-one", "no overlap at all", Placed::Loop, |config, rank| {
///     let both = |mb| [Action::new(rank, Kind::F, mb).into(), Action::new(rank, Kind::B, mb).into()];
///     (0..config.microbatches).flat_map(both).collect()
/// });
/// let mut schedules = Schedules::default();
/// schedules.add(one_by_one)?;
/// let config = schedules.for_stages("one-by-one", 4, 4, 8)?;
/// let table = schedules.generate("one-by-one", &config)?;
/// assert_eq!(table.ranks[0].len(), 16);
/// # Ok::<(), piper_schedule::Rejected>(())
/// ```
#[derive(Clone)]
pub struct NewSchedule {
    /// The name by which it is asked for.
    pub name: Cow<'static, str>,
    /// One line for a list.
    pub summary: Cow<'static, str>,
    /// Where its stages live.
    pub placed: Placed,
    rows: Arc<Rows>,
}

impl fmt::Debug for NewSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewSchedule").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NewSchedule {
    /// From the row of each rank, independently of the others.
    pub fn each(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        placed: Placed,
        row: impl Fn(&Config, u32) -> Vec<Slot> + Send + Sync + 'static,
    ) -> Self {
        let rows = move |config: &Config| Ok((0..config.ranks).map(|r| row(config, r)).collect());
        Self::whole(name, summary, placed, rows)
    }

    /// From all rows at once; a configuration that it does not exist for may be refused.
    pub fn whole(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        placed: Placed,
        rows: impl Fn(&Config) -> Result<Vec<Vec<Slot>>, Rejected> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), summary: summary.into(), placed, rows: Arc::new(rows) }
    }

    /// The same, with something done around every call of its generator.
    pub fn wrapped(
        self,
        wrap: impl Fn(&dyn Fn() -> Result<Vec<Vec<Slot>>, Rejected>) -> Result<Vec<Vec<Slot>>, Rejected>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let rows = Arc::clone(&self.rows);
        let rows: Arc<Rows> = Arc::new(move |config: &Config| wrap(&|| rows(config)));
        Self { rows, ..self }
    }

    fn table(&self, config: &Config) -> Result<Table, Rejected> {
        check_size(&self.name, config)?;
        for (option, given) in [
            ("group", config.group.is_some()),
            ("overlap", config.overlap),
            ("max-activations", config.max_activations.is_some()),
        ] {
            if given {
                return Err(Rejected::new(&self.name, format!("has no option '{option}'")));
            }
        }
        check_stages(&self.name, self.placed, config)?;
        let rows = (self.rows)(config)?;
        if rows.len() != config.ranks as usize {
            let reason = format!("gives {} rows for its {} ranks", rows.len(), config.ranks);
            return Err(Rejected::new(&self.name, reason));
        }
        let table = self.placed.table(config, rows);
        table.check().map_err(|problems| {
            Rejected::new(&self.name, format!("gives a table that cannot run: {problems}"))
        })?;
        Ok(table)
    }
}

/// All schedules by name: the [catalogue](SCHEDULES), and those that were added.
#[derive(Clone, Debug, Default)]
pub struct Schedules {
    added: Vec<NewSchedule>,
}

impl Schedules {
    /// Those of the catalogue.
    pub const fn new() -> Self {
        Self { added: Vec::new() }
    }

    /// Adds a schedule.
    ///
    /// # Errors
    /// A name that is empty, or that a schedule has already; case, `-` and `_` do not matter.
    pub fn add(&mut self, schedule: NewSchedule) -> Result<(), Rejected> {
        let name = bare(&schedule.name);
        if name.is_empty() {
            return Err(Rejected::new("a schedule", "needs a name"));
        }
        if self.names().any(|known| bare(known) == name) {
            return Err(Rejected::new(&schedule.name, "is the name of a schedule already"));
        }
        self.added.push(schedule);
        Ok(())
    }

    /// Those that were added.
    pub fn added(&self) -> &[NewSchedule] {
        &self.added
    }

    /// All names, with the aliases.
    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let known = SCHEDULES.iter().map(|schedule| schedule.name);
        let aliases = ALIASES.iter().map(|(alias, ..)| *alias);
        known.chain(aliases).chain(self.added.iter().map(|schedule| &*schedule.name))
    }

    /// The one that was added under this name; `None` if it is one of the catalogue. Case, `-` and `_` do not matter.
    ///
    /// # Errors
    /// There is none of this name; the hint names the nearest one, or all.
    pub fn find(&self, name: &str) -> Result<Option<&NewSchedule>, Rejected> {
        let wanted = bare(name);
        if let Some(added) = self.added.iter().find(|schedule| bare(&schedule.name) == wanted) {
            return Ok(Some(added));
        }
        if self.names().any(|known| bare(known) == wanted) {
            return Ok(None);
        }
        let known = SCHEDULES.iter().map(|schedule| schedule.name);
        Err(unknown(name, known.chain(self.added.iter().map(|schedule| &*schedule.name))))
    }

    /// Whether there is a schedule of this name.
    ///
    /// # Errors
    /// There is none; the hint names the nearest one, or all.
    pub fn check(&self, name: &str) -> Result<(), Rejected> {
        self.find(name).map(|_| ())
    }

    /// As [`Config::for_stages`].
    ///
    /// # Errors
    /// As there.
    pub fn for_stages(
        &self,
        name: &str,
        stages: u32,
        ranks: u32,
        microbatches: u32,
    ) -> Result<Config, Rejected> {
        match self.find(name)? {
            None => Config::for_stages(name, stages, ranks, microbatches),
            Some(added) => Config::placed(&added.name, added.placed, stages, ranks, microbatches),
        }
    }

    /// As [`generate()`]. The table of a schedule that was added is proved complete and free of deadlock.
    ///
    /// # Errors
    /// As there, and a table that cannot run; the reason has the circle of ranks that wait for one another.
    pub fn generate(&self, name: &str, config: &Config) -> Result<Table, Rejected> {
        match self.find(name)? {
            None => generate(name, config),
            Some(added) => added.table(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NewSchedule, Schedules};
    use crate::generate::Placed;
    use crate::{Action, Kind, Slot};

    fn gpipe_rows(microbatches: u32, rank: u32, kinds: [Kind; 2]) -> Vec<Slot> {
        let all = |kind| (0..microbatches).map(move |mb| Action::new(rank, kind, mb).into());
        all(kinds[0]).chain(all(kinds[1])).collect()
    }

    fn schedules() -> Schedules {
        let mut schedules = Schedules::default();
        let mine = NewSchedule::each("mine", "as gpipe", Placed::Loop, |config, rank| {
            gpipe_rows(config.microbatches, rank, [Kind::F, Kind::B])
        });
        // Rank 0 wants its backwards first, which wait for rank 1, which waits for rank 0.
        let stuck = NewSchedule::each("stuck", "a circle", Placed::Loop, |config, rank| {
            let kinds = if rank == 0 { [Kind::B, Kind::F] } else { [Kind::F, Kind::B] };
            gpipe_rows(config.microbatches, rank, kinds)
        });
        schedules.add(mine).and_then(|()| schedules.add(stuck)).expect("free names");
        schedules
    }

    #[test]
    fn names_are_of_one_space() {
        let mut schedules = schedules();
        for taken in ["1F1B", "zb-h1", "Mine", "deepseek_dualpipe"] {
            let new = NewSchedule::each(taken, "", Placed::Loop, |_, _| Vec::new());
            let error = schedules.add(new).expect_err(taken);
            assert!(error.to_string().ends_with("is the name of a schedule already"), "{error}");
        }
        assert!(schedules.check("M-I-N-E").is_ok() && schedules.check("gpipe").is_ok());
        let hint = |name| schedules.check(name).expect_err("unknown").hint.expect("a hint");
        assert_eq!(hint("min"), "did you mean 'mine'?");
        assert_eq!(hint("gpip"), "did you mean 'gpipe'?");
        assert!(hint("whatever").ends_with(", mine, stuck"));
    }

    #[test]
    fn tables_are_those_of_the_generator() {
        let schedules = schedules();
        let config = schedules.for_stages("mine", 4, 4, 8).expect("it fits");
        let mine = schedules.generate("mine", &config).expect("a table");
        assert_eq!(mine, schedules.generate("gpipe", &config).expect("a table"));
        assert!(schedules.for_stages("mine", 5, 4, 8).is_err());
    }

    #[test]
    fn a_circle_is_shown() {
        let schedules = schedules();
        let config = schedules.for_stages("stuck", 2, 2, 2).expect("it fits");
        let error = schedules.generate("stuck", &config).expect_err("it deadlocks").to_string();
        assert!(
            error.starts_with("stuck gives a table that cannot run: the order deadlocks:\n  rank "),
            "{error}"
        );
    }

    #[test]
    fn wrong_rows_are_refused() {
        let mut schedules = Schedules::default();
        let few = NewSchedule::whole("few", "", Placed::Loop, |_| Ok(Vec::new()));
        let empty = NewSchedule::each("empty", "", Placed::Loop, |_, _| Vec::new());
        schedules.add(few).and_then(|()| schedules.add(empty)).expect("free names");
        let error = |name: &str| {
            let config = schedules.for_stages(name, 2, 2, 2).expect("it fits");
            schedules.generate(name, &config).expect_err("refused").to_string()
        };
        assert_eq!(error("few"), "few gives 0 rows for its 2 ranks");
        assert!(error("empty").contains("is missing; rank 0 should run it"), "{}", error("empty"));
    }
}
