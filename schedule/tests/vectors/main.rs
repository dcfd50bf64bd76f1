//! Every deterministic vector row is reproduced; rejected configurations are rejected.
//!
//! Run with `--nocapture` for the rows reproduced per file. `test/vectors/README.md` says where the rows come from.

mod compute;
mod instructions;
mod lowering;
mod megatron;
mod metrics;
mod programs;
mod searched;

use std::collections::BTreeMap;

use piper_schedule::{Config, Slot, Table, torch_csv};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../test/vectors/");

fn read(file: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}{file}"))
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A line of `schedule,pp,v,mb,params,rank,actions`.
#[derive(Clone)]
struct Line {
    schedule: String,
    config: (u32, u32, u32),
    params: String,
    rank: String,
    actions: String,
}

impl Line {
    fn param(&self, key: &str) -> Option<u32> {
        self.params
            .split(';')
            .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    }
}

fn lines(file: &str) -> Vec<Line> {
    let text = read(file);
    let mut lines = text.lines();
    // printed_tables.csv puts where the table was printed first, and has no params.
    let printed = lines.next().expect("a header").starts_with("where,");
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let (head, params) = if printed {
                (&cells[1..], String::new())
            } else {
                (&cells[..], cells[4].to_string())
            };
            let number = |at: usize| head[at].parse().unwrap_or_else(|_| panic!("{file}: {line}"));
            let last = if printed { 4 } else { 5 };
            Line {
                schedule: head[0].to_string(),
                config: (number(1), number(2), number(3)),
                params,
                rank: head[last].to_string(),
                actions: head[last + 1].to_string(),
            }
        })
        .collect()
}

/// Compute slots of a row; idle cells and communication are dropped.
fn slots(actions: &str) -> Vec<Slot> {
    const LOWERED: [&str; 6] = ["SEND", "RECV", "UNSHARD", "RESHARD", "REDUCE_GRAD", "{"];
    let compute =
        actions.split_whitespace().filter(|cell| !LOWERED.iter().any(|word| cell.contains(word)));
    compute
        .filter_map(|cell| torch_csv::read_cell(cell, 0, cell).unwrap_or_else(|e| panic!("{e}")))
        .collect()
}

/// The generator's name for a `schedule` column, and its configuration.
fn named(line: &Line) -> (&str, Config) {
    let (p, v, m) = line.config;
    let config = Config::new(p, v, m);
    match line.schedule.as_str() {
        "deepspeed_1f1b" | "sail_1f1b" => ("1f1b", config),
        "sail_vpp" | "interleaved1f1b_lowered" | "interleaved1f1b_recv_deferred" => {
            ("interleaved1f1b", config)
        }
        "megatron_interleaved" => {
            ("interleaved1f1b", config.with_group(line.param("group").expect("a group")))
        }
        "megatron_interleaved_a2a_overlap" => (
            "interleaved1f1b",
            config.with_group(line.param("group").expect("a group")).with_overlap(),
        ),
        "deepseek_dualpipe" => ("dualpipe", config),
        "deepseek_dualpipev" => ("dualpipev", config),
        name => (name, config),
    }
}

/// Schedule, (P, V, M) and params: everything of a line but the rank.
type Key = (String, (u32, u32, u32), String);

/// Tables of a file.
fn tables(file: &str) -> BTreeMap<Key, Table> {
    let mut rows: BTreeMap<_, Vec<(usize, Vec<Slot>)>> = BTreeMap::new();
    for line in lines(file).into_iter().filter(|line| line.params != "ValueError") {
        let params: Vec<&str> =
            line.params.split(';').filter(|pair| !pair.starts_with("warmup")).collect();
        let key = (line.schedule.clone(), line.config, params.join(";"));
        rows.entry(key).or_default().push((line.rank.parse().unwrap(), slots(&line.actions)));
    }
    rows.into_iter()
        .map(|(key, mut rows)| {
            rows.sort_by_key(|(rank, _)| *rank);
            (key, Table::from_rows(rows.into_iter().map(|(_, row)| row).collect()))
        })
        .collect()
}
