//! The published schedules, by name.
//!
//! One schedule, one small file, written with the letters of its source: `P` ranks, `V` stages per rank, `M` microbatches,
//! `r` the rank whose row is being written. This file holds what they share: the catalogue, the configuration, and the
//! way a configuration is refused.

mod deepspeed;
mod dualpipe;
mod dualpipe_p2p;
mod dualpipev;
mod gpipe;
mod interleaved_1f1b;
mod interleaved_zb;
mod looped_bfs;
mod one_f_one_b;
mod registry;
mod rejected;
mod zb_auto;
mod zb_h1;
mod zb_h2;
mod zbv;

pub use deepspeed::{Instruction, instructions};
pub use dualpipe_p2p::p2p_batches;
pub use interleaved_1f1b::turns;
pub use registry::{NewSchedule, Schedules};
pub use rejected::Rejected;

use crate::action::Slot;
use crate::placement::Placement;
use crate::replay::Costs;
use crate::suggest::closest;
use crate::table::Table;

/// What a schedule is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Pipeline ranks, `P`.
    pub ranks: u32,
    /// Stages each rank holds, `V`.
    pub stages_per_rank: u32,
    /// Microbatches, `M`.
    pub microbatches: u32,
    /// `interleaved1f1b`: microbatches each chunk runs before the next chunk's turn (`N`). None: as torch, `M` in
    /// `max(1, M/P)` equal rounds.
    pub group: Option<u32>,
    /// `interleaved1f1b`: one more warm-up forward, and steady-state pairs that may overlap, so that the expert
    /// all-to-all of one microbatch hides behind the computation of another.
    pub overlap: bool,
    /// Searched schedules: most activations a rank may hold, in stages. None: the schedule's own limit.
    pub max_activations: Option<u32>,
    /// Searched schedules: the durations that the search assumes.
    pub costs: Costs,
}

impl Config {
    /// `P`, `V` and `M`, in this order.
    pub fn new(ranks: u32, stages_per_rank: u32, microbatches: u32) -> Config {
        Config {
            ranks,
            stages_per_rank,
            microbatches,
            group: None,
            overlap: false,
            max_activations: None,
            costs: Costs::new(1, 1, 1),
        }
    }

    /// Sets [`Config::group`].
    pub fn with_group(self, group: u32) -> Config {
        Config { group: Some(group), ..self }
    }

    /// Sets [`Config::overlap`].
    pub fn with_overlap(self) -> Config {
        Config { overlap: true, ..self }
    }

    /// Sets [`Config::max_activations`].
    pub fn with_max_activations(self, max_activations: u32) -> Config {
        Config { max_activations: Some(max_activations), ..self }
    }

    /// Sets [`Config::costs`].
    pub fn with_costs(self, costs: Costs) -> Config {
        Config { costs, ..self }
    }

    /// The configuration that spreads a model of `stages` stages over `ranks` ranks under the named schedule.
    ///
    /// # Errors
    /// The name is unknown, or the stages do not divide over the ranks as the schedule wants.
    pub fn for_stages(
        name: &str,
        stages: u32,
        ranks: u32,
        microbatches: u32,
    ) -> Result<Config, Rejected> {
        let schedule = Schedule::named(name)?;
        Self::placed(schedule.name, schedule.placed, stages, ranks, microbatches)
    }

    /// The configuration for stages that are placed so.
    fn placed(
        name: &str,
        placed: Placed,
        stages: u32,
        ranks: u32,
        microbatches: u32,
    ) -> Result<Config, Rejected> {
        let config = |v| Config::new(ranks, v, microbatches);
        match placed {
            _ if ranks == 0 => Err(Rejected::new(name, "needs at least 1 rank; got 0")),
            _ if stages == 0 => Err(Rejected::new(name, "needs at least 1 stage; got 0")),
            Placed::Bidirectional if stages == ranks => Ok(config(2)),
            Placed::Bidirectional => Err(Rejected::new(name, format!("needs one stage per rank, {ranks}; got {stages}"))
                .hint("each rank runs its stage in one direction and the mirrored rank's stage in the other")),
            Placed::Loop | Placed::Vee if stages.is_multiple_of(ranks) => Ok(config(stages / ranks)),
            Placed::Loop | Placed::Vee => Err(Rejected::new(
                name,
                format!("needs a number of stages that is a multiple of its {ranks} ranks; got {stages}"),
            )
            .hint(format!(
                "divide the model into {} stages, or run it on a number of ranks that divides {stages}",
                stages.div_ceil(ranks) * ranks
            ))),
        }
    }
}

/// How a schedule lays stages on ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// [`Placement::looped`].
    Loop,
    /// [`Placement::vee`]; `V` is 2.
    Vee,
    /// [`Placement::bidirectional`]; `V` is 2, as each rank runs two stages, though the model has only `P`.
    Bidirectional,
}

/// One entry of the catalogue.
pub struct Schedule {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// One line for a list.
    pub summary: &'static str,
    /// Where its stages live.
    pub placed: Placed,
    /// The constraints of the configuration beyond those of the placement.
    accepts: fn(&Config) -> Result<(), Rejected>,
    rows: Rows,
}

/// How a schedule is written.
enum Rows {
    /// The row of rank `r`, independently of the others.
    Each(fn(&Config, u32) -> Vec<Slot>),
    /// All rows at once, by a search that may find none.
    Whole(fn(&Config) -> Result<Vec<Vec<Slot>>, Rejected>),
}

/// All schedules that can be generated.
pub static SCHEDULES: &[Schedule] = &[
    gpipe::SCHEDULE,
    one_f_one_b::SCHEDULE,
    interleaved_1f1b::SCHEDULE,
    looped_bfs::SCHEDULE,
    zb_h1::SCHEDULE,
    zb_h2::SCHEDULE,
    interleaved_zb::SCHEDULE,
    zbv::SCHEDULE,
    dualpipe::SCHEDULE,
    dualpipev::SCHEDULE,
    zb_auto::ZB_AUTO,
    zb_auto::ZBV_AUTO,
    zb_auto::V_HALF,
    zb_auto::V_MIN,
];

/// A name, ours for the same schedule, and the configuration it implies.
type Alias = (&'static str, &'static str, fn(Config) -> Config);

/// Names of other projects' schedules, each with ours and with what it says about the configuration. Searched schedules of
/// sail-sg are names for the nearest of ours.
const ALIASES: &[Alias] = &[
    ("deepseek_dualpipe", "dualpipe", |config| config),
    ("deepseek_dualpipev", "dualpipev", |config| config),
    ("deepspeed_1f1b", "1f1b", |config| config),
    ("sail_1f1b", "1f1b", |config| config),
    ("sail_vpp", "interleaved1f1b", |config| config),
    ("sail_zb_h1", "zb_h1", |config| config),
    ("sail_zb_h2", "zb_h2", |config| config),
    ("sail_zbv", "zbv", |config| config),
    ("sail_v_half", "v_half", |config| config),
    ("sail_v_min", "v_min", |config| config),
    ("megatron_interleaved", "interleaved1f1b", megatron_group),
    ("megatron_interleaved_a2a_overlap", "interleaved1f1b", |config| {
        megatron_group(config).with_overlap()
    }),
];

/// Megatron-LM's group is P where none is given.
fn megatron_group(config: Config) -> Config {
    Config { group: config.group.or(Some(config.ranks)), ..config }
}

/// The alias of this name.
fn alias(name: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|(alias, ..)| bare(alias) == bare(name))
}

/// Other names for [`SCHEDULES`], with the name each stands for.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALIASES.iter().map(|(alias, name, _)| (*alias, *name))
}

/// A name without the marks people disagree on: `Interleaved-1F1B`, `interleaved_1f1b` and `interleaved1f1b` are one.
fn bare(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

impl Schedule {
    /// Whether its tables are searched for rather than written down; they depend on [`Config::costs`] and take longer.
    pub fn is_searched(&self) -> bool {
        matches!(self.rows, Rows::Whole(_))
    }

    /// Looks a schedule up by its name or an alias; case, `-` and `_` do not matter.
    ///
    /// # Errors
    /// The name is unknown; the hint names the nearest one, or all.
    pub fn named(name: &str) -> Result<&'static Schedule, Rejected> {
        let ours = alias(name).map_or(name, |(_, ours, _)| ours);
        let found = SCHEDULES.iter().find(|schedule| bare(schedule.name) == bare(ours));
        found.ok_or_else(|| unknown(name, SCHEDULES.iter().map(|schedule| schedule.name)))
    }
}

/// A name that is none of these.
fn unknown<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> Rejected {
    let begun: Vec<&str> =
        names.clone().filter(|full| bare(full).starts_with(&bare(name))).collect();
    let hint = match (&begun[..], closest(name, names.clone())) {
        ([one, others @ ..], _) if !bare(name).is_empty() => {
            let others: String = others.iter().map(|other| format!(" or '{other}'")).collect();
            format!("did you mean '{one}'{others}?")
        }
        (_, Some(near)) => format!("did you mean '{near}'?"),
        _ => format!("known schedules: {}", names.collect::<Vec<_>>().join(", ")),
    };
    Rejected::unknown(name).hint(hint)
}

/// Tables beyond this many actions are refused rather than left to exhaust memory.
const MOST_ACTIONS: u64 = 1 << 26;

/// The table of the named schedule.
///
/// # Errors
/// An unknown name, or a configuration that violates a constraint of the schedule; the reason names the constraint with
/// its value for this configuration, and the hint says what to change.
pub fn generate(name: &str, config: &Config) -> Result<Table, Rejected> {
    let schedule = Schedule::named(name)?;
    let config = &alias(name).map_or(*config, |(_, _, preset)| preset(*config));
    let refuse = |reason: String| Rejected::new(schedule.name, reason);
    check_size(schedule.name, config)?;
    if schedule.name != interleaved_1f1b::SCHEDULE.name {
        for (option, given) in [("group", config.group.is_some()), ("overlap", config.overlap)] {
            if given {
                return Err(refuse(format!("has no option '{option}'"))
                    .hint("only interleaved1f1b takes it"));
            }
        }
    }
    if config.max_activations.is_some() && matches!(schedule.rows, Rows::Each(_)) {
        return Err(refuse("has no option 'max-activations'".into())
            .hint("only zb_auto, zbv_auto, v_half and v_min take it"));
    }
    check_stages(schedule.name, schedule.placed, config)?;
    (schedule.accepts)(config)?;
    let ranks = match schedule.rows {
        Rows::Each(row) => (0..config.ranks).map(|r| row(config, r)).collect(),
        Rows::Whole(rows) => rows(config)?,
    };
    Ok(schedule.placed.table(config, ranks))
}

/// That there is something to do, and not too much.
fn check_size(name: &str, config: &Config) -> Result<(), Rejected> {
    let refuse = |reason: String| Rejected::new(name, reason);
    let Config { ranks: p, stages_per_rank: v, microbatches: m, .. } = *config;
    for (what, value) in [("rank", p), ("stage per rank", v), ("microbatch", m)] {
        if value == 0 {
            return Err(refuse(format!("needs at least 1 {what}; got 0")));
        }
    }
    let actions =
        u64::from(p).saturating_mul(u64::from(v)).saturating_mul(u64::from(m)).saturating_mul(3);
    if actions > MOST_ACTIONS {
        return Err(refuse(format!(
            "of {p} ranks x {v} stages x {m} microbatches is beyond {MOST_ACTIONS} actions"
        )));
    }
    Ok(())
}

/// That each rank has as many stages as the placement wants.
fn check_stages(name: &str, placed: Placed, config: &Config) -> Result<(), Rejected> {
    let Config { ranks: p, stages_per_rank: v, .. } = *config;
    if placed == Placed::Loop || v == 2 {
        return Ok(());
    }
    let refused = Rejected::new(name, format!("needs exactly 2 stages per rank; got {v}"));
    Err(match placed {
        Placed::Vee => refused.hint(format!("divide the model into {} stages", 2 * p)),
        _ => refused,
    })
}

impl Placed {
    /// The table of these rows.
    fn table(self, config: &Config, ranks: Vec<Vec<Slot>>) -> Table {
        let Config { ranks: p, stages_per_rank: v, microbatches: m, .. } = *config;
        let (stages, placement) = match self {
            Placed::Loop => (p * v, Placement::looped(p, v)),
            Placed::Vee => (p * v, Placement::vee(p)),
            Placed::Bidirectional => (p, Placement::bidirectional(p, m)),
        };
        Table { ranks, stages, microbatches: m, placement }
    }
}

/// Constraint of the schedules that give a rank one stage only.
fn one_stage_per_rank(name: &'static str, config: &Config, instead: &str) -> Result<(), Rejected> {
    match config.stages_per_rank {
        1 => Ok(()),
        v => Err(Rejected::new(name, format!("needs exactly 1 stage per rank; got {v}"))
            .hint(format!("with several stages per rank use {instead}"))),
    }
}
