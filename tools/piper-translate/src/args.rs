//! The command line.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use piper_schedule::Costs;
use piper_schedule::generate::{SCHEDULES, Schedules, aliases};

/// The arguments that are about schedules, which a module's kernels have nothing to do with.
const SCHEDULE_FLAGS: [&str; 23] = [
    "emit_schedule",
    "import_schedule",
    "list_schedules",
    "pp",
    "v",
    "microbatches",
    "group",
    "overlap",
    "max_activations",
    "format",
    "axis",
    "stages",
    "lowered",
    "max_active_stages",
    "merge_bw",
    "defer_recv",
    "p2p_batches",
    "instructions",
    "buffered_sends",
    "metrics",
    "costs",
    "pair_cost",
    "width",
];

/// Prints, reads, checks and converts pipeline schedules.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "piper-translate",
    version,
    no_binary_name = true,
    max_term_width = 100,
    after_help = "Examples:\n  piper-translate --emit-schedule=zb_h1 --pp=4 --microbatches=8 --format=table\n  \
        piper-translate --emit-schedule=interleaved1f1b --pp=2 --v=2 --microbatches=4 --lowered\n  \
        piper-translate --import-schedule=order.csv --to=pir\n  \
        piper-translate --import-schedule=order.csv --metrics --costs=2,3,2\n  \
        piper-translate --to-mlir examples/gpt.pir\n  \
        piper-translate --list-schedules"
)]
pub(crate) struct Args {
    /// Write the schedule of this name (--list-schedules prints all).
    #[arg(long, value_name = "NAME", required_unless_present_any = ["import_schedule", "list_schedules", "to_mlir"], conflicts_with = "import_schedule", requires_all = ["pp", "microbatches"])]
    pub(crate) emit_schedule: Option<String>,

    /// Read torch's pipeline-schedule CSV, with communication or without; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pp", "v", "microbatches", "group", "overlap"])]
    pub(crate) import_schedule: Option<PathBuf>,

    /// Write the kernels of a plan in MLIR's own dialects, from a module at any level; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = SCHEDULE_FLAGS)]
    pub(crate) to_mlir: Option<String>,

    /// --to-mlir: which plan to take, where a file has several.
    #[arg(long, value_name = "NAME", requires = "to_mlir", conflicts_with_all = SCHEDULE_FLAGS)]
    pub(crate) plan: Option<String>,

    /// Load a plugin: a library with schedules. May be repeated.
    #[arg(long, value_name = "FILE", conflicts_with = "import_schedule")]
    pub(crate) load_plugin: Vec<String>,

    /// --to-mlir: register the dialects that a file of `irdl` operations defines. May be repeated; later files may name what
    /// earlier ones define.
    #[arg(long, alias = "irdl-file", value_name = "FILE", requires = "to_mlir", conflicts_with_all = SCHEDULE_FLAGS)]
    pub(crate) load_dialect: Vec<String>,

    /// List the schedules and what each is.
    #[arg(long)]
    pub(crate) list_schedules: bool,

    /// Pipeline ranks.
    #[arg(long, value_name = "P")]
    pub(crate) pp: Option<u32>,

    /// Stages per rank [default: 2 for the V schedules and dualpipe, else 1].
    #[arg(long, value_name = "V")]
    pub(crate) v: Option<u32>,

    /// Microbatches.
    #[arg(long, value_name = "M")]
    pub(crate) microbatches: Option<u32>,

    /// interleaved1f1b: microbatches a chunk runs before the next chunk's turn.
    #[arg(long, value_name = "N")]
    pub(crate) group: Option<u32>,

    /// interleaved1f1b: fuse forwards and backwards to hide expert exchanges.
    #[arg(long)]
    pub(crate) overlap: bool,

    /// zb_auto, zbv_auto, v_half, v_min: most activations a rank may hold, counted in stages [default: P for zb_auto, 2P for
    /// zbv_auto, P+2 for v_half, 2*ceil((P+2)/3) for v_min].
    #[arg(long, value_name = "N")]
    pub(crate) max_activations: Option<u32>,

    /// Form of the output.
    #[arg(long, visible_alias = "to", value_enum, default_value_t = Format::Csv)]
    pub(crate) format: Format,

    /// pir: the mesh axis of the ranks.
    #[arg(long, value_name = "AXIS", default_value = "pp")]
    pub(crate) axis: String,

    /// pir: the tag that numbers the stages.
    #[arg(long, value_name = "TAG", default_value = "PP")]
    pub(crate) stages: String,

    /// Add gathers and drops of parameters, gradient reductions and transfers, as torch's runtime does.
    #[arg(long)]
    pub(crate) lowered: bool,

    /// --lowered: stages of a rank that have their parameters gathered at a time; 0 adds no gathers and drops.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) max_active_stages: u32,

    /// --lowered: first make a whole backward of both halves where they stand together.
    #[arg(long)]
    pub(crate) merge_bw: bool,

    /// --lowered: move every receive to where its tensor is first used.
    #[arg(long)]
    pub(crate) defer_recv: bool,

    /// dualpipe, dualpipev: add transfers in the batches of DeepSeek's implementation.
    #[arg(long, conflicts_with_all = ["lowered", "import_schedule"])]
    pub(crate) p2p_batches: bool,

    /// 1f1b: print DeepSpeed's instructions with their buffers, one line a rank, steps separated by spaces.
    #[arg(long, conflicts_with_all = ["lowered", "import_schedule", "p2p_batches", "metrics"])]
    pub(crate) instructions: bool,

    /// Check as if sends never waited for their receives (MPI's buffered mode); otherwise both sides wait (NCCL).
    #[arg(long)]
    pub(crate) buffered_sends: bool,

    /// Print makespan, idle time and activations instead of the schedule.
    #[arg(long)]
    pub(crate) metrics: bool,

    /// Durations of a forward and of the two halves of a backward, and of a transport between ranks: for --metrics, and for
    /// the search of zb_auto and its like.
    #[arg(long, value_name = "F,I,W[,C]", default_value = "1,1,1", value_parser = costs)]
    pub(crate) costs: Costs,

    /// Duration of a fused forward and backward [default: F+I+W].
    #[arg(long, value_name = "N")]
    pub(crate) pair_cost: Option<u32>,

    /// Columns of a table's lines; 0 for any number.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) width: usize,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One line a rank, comma separated, as torch reads it.
    Csv,
    /// Time across, ranks down.
    Table,
    /// The primitives of a strategy.plan.
    Pir,
}

fn costs(text: &str) -> Result<Costs, String> {
    let expected = "expected three or four numbers from 0 to 4294967295, such as 2,3,2";
    let numbers: Result<Vec<u32>, _> = text.split(',').map(|n| n.trim().parse()).collect();
    match numbers.map_err(|_| expected)?[..] {
        [f, i, w] => Ok(Costs::new(f.into(), i.into(), w.into())),
        [f, i, w, c] => Ok(Costs::new(f.into(), i.into(), w.into()).with_transport(c.into())),
        _ => Err(expected.into()),
    }
}

/// The text of `--list-schedules`.
pub(crate) fn list(schedules: &Schedules) -> String {
    let mut out = String::new();
    for schedule in SCHEDULES {
        let _ = writeln!(out, "{:16} {}", schedule.name, schedule.summary);
    }
    for added in schedules.added() {
        let _ = writeln!(out, "{:16} {}", added.name, added.summary);
    }
    for (alias, name) in aliases() {
        let _ = writeln!(out, "{alias:33} is {name}");
    }
    out
}
