//! The strategies of `docs/strategy-matrix.md`: schedules, replicas with sharded state, recomputation, and ways to cut the
//! model, each beside one device.
//!
//! `cargo run -p piper-run --features piper-run/llvm --example matrix` runs all of them and writes the page; the tests run a part.

use piper_codegen::Isolation;

use crate::Failure;
use crate::args::Level;
use crate::beside::{Beside, Outcome};
use crate::compare::Tier;
use crate::data::Corpus;
use crate::models::{Gpt, Layout, Tags};

/// Blocks of the model, however it is cut.
const BLOCKS: usize = 8;
/// Microbatches of each replica.
const MICROBATCHES: usize = 8;
/// What `zero` may say.
const ZERO_STAGES: &[u32] = &[0, 1, 2, 3];

/// One row of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is called; unique.
    pub name: String,
    /// Stages of the model, as [`Layout::stages`].
    pub stages: String,
    /// How the parts are tagged.
    pub tags: Tags,
    /// The embedding is added to what enters the head.
    pub has_skip: bool,
    /// The head is the embedding again.
    pub is_tied: bool,
    /// Axes of the mesh, as they are written.
    pub mesh: String,
    /// Devices of the mesh.
    pub devices: usize,
    /// Directives, the optimizer apart.
    pub directives: String,
}

impl Entry {
    /// The text of `model` under this strategy. Its blocks, stages and tie are the entry's.
    pub fn text(&self, model: &Gpt, optimizer: &str) -> String {
        let layout = Layout { stages: &self.stages, tags: self.tags, has_skip: self.has_skip };
        let model = Gpt { is_tied: self.is_tied, ..*model };
        model.text_of(layout, &self.mesh, &self.directives, optimizer)
    }

    /// What its numbers are held to with a fixed tree: the bits of one device. The two parts of a tied weight's gradient meet in
    /// another order than on one device.
    pub fn tier(&self, is_f64: bool) -> Tier {
        match (self.is_tied, is_f64) {
            (false, _) => Tier::Bitwise,
            (true, true) => Tier::F64,
            (true, false) => Tier::F32,
        }
    }

    /// Trains beside one device with a fixed tree. The text trained on is `corpus`.
    ///
    /// # Errors
    /// Whatever is wrong with compiling or running either.
    pub fn compare(
        &self,
        model: &Gpt,
        optimizer: &str,
        steps: u64,
        level: Level,
        isolation: Isolation,
        corpus: &Corpus,
    ) -> Result<Outcome, Failure> {
        let text = self.text(model, optimizer);
        Beside { corpus, steps, level, isolation, fixed_tree: true }.train(&self.name, &text)
    }
}

/// A schedule with what it asks of the model.
struct Schedule {
    name: &'static str,
    /// Stages on four ranks.
    stages: usize,
    directive: fn(count: &str) -> String,
}

const fn pipeline(name: &'static str, stages: usize, directive: fn(&str) -> String) -> Schedule {
    Schedule { name, stages, directive }
}

macro_rules! named {
    ($name:literal, $stages:literal) => {
        pipeline($name, $stages, |count| {
            format!(
                "strategy.pipeline over \"pp\" stages = \"PP\"{count} schedule = \"{}\" microbatches = {MICROBATCHES}",
                $name
            )
        })
    };
}

const SCHEDULES: [Schedule; 10] = [
    named!("gpipe", 4),
    named!("1f1b", 4),
    named!("interleaved1f1b", 8),
    named!("looped-bfs", 8),
    named!("zb-h1", 4),
    named!("zb-h2", 4),
    named!("interleaved-zb", 8),
    named!("zbv", 8),
    pipeline("dualpipe", 4, |count| {
        format!(
            "strategy.dualpipe over \"pp\" stages = \"PP\"{count} microbatches = {MICROBATCHES}"
        )
    }),
    pipeline("dualpipev", 8, |count| {
        format!(
            "strategy.dualpipe over \"pp\" stages = \"PP\"{count} microbatches = {MICROBATCHES} variant = \"v\""
        )
    }),
];

const RECOMPUTE: [(&str, &str); 3] = [
    ("", ""),
    (" recompute", "\nstrategy.recompute {PP = *}"),
    (" recompute norms", "\nstrategy.recompute {PP = *} only = [\"nn.rms_norm\", \"nn.gelu\"]"),
];

/// Blocks in equal stages, the embedding with the first and the head with the last.
fn even(stages: usize) -> String {
    let blocks = "t".repeat(BLOCKS / stages);
    format!("E{}L", vec![blocks; stages].join("|"))
}

/// Other ways to cut the model into 4 or 8 stages.
fn cuts(stages: usize) -> [(&'static str, &'static str, &'static str); 3] {
    match stages {
        4 => [
            (" uneven", "Ettt|t|ttt|tL", ""),
            (" embedding and head apart", "E|tttt|tttt|L", ""),
            (" an empty stage", "Etttt||tttt|L", " count = 4"),
        ],
        _ => [
            (" uneven", "Ett|t|t|t|t|t|t|L", ""),
            (" embedding and head apart", "E|tt|t|t|t|t|tt|L", ""),
            (" empty stages", "Ett||tt|t||t|tt|L", " count = 8"),
        ],
    }
}

/// All rows, in the order of the page.
pub fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    let base = Entry {
        name: String::new(),
        stages: String::new(),
        tags: Tags::Stages,
        has_skip: false,
        is_tied: false,
        mesh: "\"pp\" = 4".to_owned(),
        devices: 4,
        directives: String::new(),
    };
    for schedule in &SCHEDULES {
        let name = schedule.name;
        let of = |name: String, extra: &str| Entry {
            name,
            stages: even(schedule.stages),
            directives: (schedule.directive)("") + extra,
            ..base.clone()
        };
        for (suffix, recompute) in RECOMPUTE {
            all.push(of(format!("{name} pp4{suffix}"), recompute));
        }
        for zero in ZERO_STAGES {
            for (suffix, recompute) in &RECOMPUTE[..2] {
                let extra = format!("{recompute}\n{}", replicas(*zero));
                all.push(Entry {
                    mesh: "\"pp\" = 4, \"dp\" = 2".to_owned(),
                    devices: 8,
                    ..of(format!("{name} pp4 x dp2 zero {zero}{suffix}"), &extra)
                });
            }
        }
    }
    for schedule in &SCHEDULES {
        if !["1f1b", "interleaved1f1b", "zb-h1", "zbv", "dualpipe"].contains(&schedule.name) {
            continue;
        }
        let name = schedule.name;
        for (suffix, stages, count) in cuts(schedule.stages) {
            all.push(Entry {
                name: format!("{name} pp4{suffix}"),
                stages: stages.to_owned(),
                directives: (schedule.directive)(count),
                ..base.clone()
            });
        }
        let of = |suffix: &str| Entry {
            name: format!("{name} pp4{suffix}"),
            stages: even(schedule.stages),
            directives: (schedule.directive)(""),
            ..base.clone()
        };
        all.push(Entry { tags: Tags::Parts, ..of(" segments") });
        all.push(Entry { has_skip: true, ..of(" skip connection") });
        all.push(Entry { is_tied: true, ..of(" tied embedding") });
    }
    all.extend(special(&base));
    all
}

/// Replicas over `"dp"` that share their state so far: buckets of several parameters, gathered anew for every microbatch.
fn replicas(zero: u32) -> String {
    let options = match zero {
        0 => "",
        1 => " bucket = \"64KiB\"",
        2 => " bucket = \"64KiB\" reduce = \"each\"",
        _ => " bucket = \"64KiB\" gather = \"microbatch\"",
    };
    format!("strategy.zero over \"dp\" stage = {zero}{options}")
}

/// What is one of its kind: replicas alone, a backward in parts, schedules written by hand.
fn special(base: &Entry) -> Vec<Entry> {
    let mut all = Vec::new();
    for zero in ZERO_STAGES {
        for (suffix, recompute) in RECOMPUTE {
            all.push(Entry {
                name: format!("dp8 zero {zero}{suffix}"),
                stages: format!("E{}L", "t".repeat(BLOCKS)),
                mesh: "\"dp\" = 8".to_owned(),
                devices: 8,
                directives: format!("strategy.split \"MB\" into 2{recompute}\n{}", replicas(*zero)),
                ..base.clone()
            });
        }
    }
    for schedule in &SCHEDULES {
        if !["zb-h1", "interleaved-zb", "zbv", "dualpipe", "dualpipev"].contains(&schedule.name) {
            continue;
        }
        all.push(Entry {
            name: format!("{} pp4 recompute in both halves", schedule.name),
            stages: even(schedule.stages),
            directives: (schedule.directive)("")
                + "\nstrategy.recompute {PP = *} weights = \"again\"",
            ..base.clone()
        });
    }
    all.push(Entry {
        name: "1f1b pp4 recompute of some microbatches".to_owned(),
        stages: even(4),
        directives: (SCHEDULES[1].directive)("")
            + "\nstrategy.recompute {PP = 0|1, MB = 2:6}\nstrategy.recompute {PP = 2, PASS = F} only = [\"nn.attention\"]",
        ..base.clone()
    });
    all.push(Entry {
        name: "1f1b pp4 recompute by segment".to_owned(),
        stages: even(4),
        tags: Tags::Parts,
        directives: (SCHEDULES[1].directive)("") + "\nstrategy.recompute {PART = 1|3|5|7}",
        ..base.clone()
    });
    for (schedule, stages, layout, count) in [
        (&SCHEDULES[1], "Ett|ttt|t|ttL", "Ett|t*3|t|ttL", ""),
        (&SCHEDULES[7], "Ett|t||tt|tt||tL|", "Ett|t||(tt|)*2|tL|", " count = 8"),
    ] {
        all.push(Entry {
            name: format!("{} pp4 layout", schedule.name),
            stages: stages.to_owned(),
            tags: Tags::Letters,
            directives: format!("strategy.layout stages = \"PP\" \"{layout}\"\n")
                + &(schedule.directive)(count),
            ..base.clone()
        });
    }
    let pp2 = Entry { mesh: "\"pp\" = 2".to_owned(), devices: 2, ..base.clone() };
    all.push(Entry {
        name: "by hand: primitives pp2".to_owned(),
        stages: even(4),
        directives: BY_HAND.to_owned(),
        ..pp2.clone()
    });
    all.push(Entry {
        name: "by hand: backward in halves for some microbatches pp2".to_owned(),
        stages: even(2),
        directives: BY_MICROBATCH.to_owned(),
        ..pp2.clone()
    });
    all.push(Entry {
        name: "by hand: table pp2".to_owned(),
        stages: even(2),
        directives: "strategy.table over \"pp\" stages = \"PP\" rows = [\"0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3\", \"1F0 1F1 (1F2 | 1B0) 1I1 1F3 1W1 1B2 1B3\"]".to_owned(),
        ..pp2.clone()
    });
    all.push(Entry {
        name: "by hand: torch CSV pp2".to_owned(),
        stages: even(2),
        directives: "strategy.table over \"pp\" stages = \"PP\" rows = [\"0F0,0F1,0F2,0F3,,,0B0,0B1,0B2,0B3\", \",1F0,1F1,(1F2;1B0)OVERLAP_F_B,1B1,1F3,1B2,1B3\"]".to_owned(),
        ..pp2
    });
    all
}

/// Four stages on two ranks in the shape of a V, the halves of the backward apart where it pays.
const BY_HAND: &str = "strategy.split \"MB\" into 4
strategy.place {PP = 0} on {pp = 0}
strategy.place {PP = 1|2} on {pp = 1}
strategy.place {PP = 3} on {pp = 0}
strategy.split_backward {PP = 0|3}
strategy.order stages = \"PP\" on {pp = 0} \"0F0 0F1 3F0 3I0 3W0 0F2 3F1 3I1 3W1 0I0 0W0 0F3 3F2 3B2 0B1 3F3 3B3 0B2 0B3\"
strategy.order stages = \"PP\" on {pp = 1} \"1F0 2F0 1F1 2F1 2B0 1B0 1F2 (2F2 | 2B1) 1B1 1F3 2F3 2B2 1B2 2B3 1B3\"";

/// The last microbatches' weight gradients wait for the end, the others' come with the rest.
const BY_MICROBATCH: &str = "strategy.split \"MB\" into 4
strategy.place {PP = 0} on {pp = 0}
strategy.place {PP = 1} on {pp = 1}
strategy.split_backward {PP = 1, MB = 2:4}
strategy.recompute {PP = *, MB = 1:3}
strategy.order stages = \"PP\" on {pp = 0} \"0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3\"
strategy.order stages = \"PP\" on {pp = 1} \"1F0 1B0 1F1 1B1 1F2 1I2 1F3 1I3 1W2 1W3\"";
