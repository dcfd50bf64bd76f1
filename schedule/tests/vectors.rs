//! Every deterministic vector row is reproduced, in compute order; rejected configurations are rejected.
//!
//! Run with `--nocapture` for the rows reproduced per file. `test/vectors/README.md` says where the rows come from.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use piper_schedule::{Config, Costs, Placement, Slot, Table, generate, torch_csv};

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

/// Rows reproduced and rows there are; panics at the first that differs.
fn reproduce(file: &str) -> (usize, usize) {
    let all = lines(file);
    let mut reproduced = 0;
    for line in &all {
        let (name, config) = named(line);
        let generated = generate(name, &config);
        if line.params == "ValueError" {
            let refused =
                generated.expect_err(&format!("{file}: {name} {config:?} must be rejected"));
            assert!(!refused.is_unknown_name() && refused.hint.is_some(), "{refused}");
        } else {
            let table =
                generated.unwrap_or_else(|error| panic!("{file}: {name} {config:?}: {error}"));
            table.check().unwrap_or_else(|error| panic!("{file}: {name} {config:?}: {error}"));
            let rank: usize = line.rank.parse().expect("a rank");
            assert_eq!(
                table.ranks[rank],
                slots(&line.actions),
                "{file}: {name} {config:?} rank {rank}"
            );
        }
        reproduced += 1;
    }
    (reproduced, all.len())
}

#[test]
fn every_deterministic_row_is_reproduced() {
    let files = [
        "torch_gpipe_1f1b.csv",
        "torch_interleaved1f1b.csv",
        "torch_looped_bfs.csv",
        "torch_interleaved_zb.csv",
        "torch_zbv.csv",
        "torch_dualpipev.csv",
        "torch_extra_configs.csv",
        "deepseek_dualpipe_dualpipev.csv",
        "megatron_interleaved.csv",
        "deepspeed_trainschedule.csv",
        "sail_1f1b_vpp.csv",
        "printed_tables.csv",
    ];
    for file in files {
        let (reproduced, total) = reproduce(file);
        println!("{file}: {reproduced}/{total} rows reproduced");
        assert!(total > 0 && reproduced == total);
    }
}

#[test]
fn zb_h1_is_interleaved_zb_of_one_stage() {
    let mut rows = 0;
    for file in ["torch_interleaved_zb.csv", "torch_extra_configs.csv"] {
        let wanted = |line: &Line| line.schedule == "interleaved_zb" && line.config.1 == 1;
        for line in lines(file).into_iter().filter(wanted) {
            let (p, v, m) = line.config;
            match generate("zb_h1", &Config::new(p, v, m)) {
                Ok(table) => assert_eq!(
                    table.ranks[line.rank.parse::<usize>().unwrap()],
                    slots(&line.actions)
                ),
                Err(error) => assert_eq!(line.params, "ValueError", "{error}"),
            }
            rows += 1;
        }
    }
    println!("zb_h1: {rows} rows with one stage per rank reproduced");
    assert!(rows > 0);
}

#[test]
fn torch_artifact_is_written_byte_for_byte() {
    let artifact = read("torch_artifacts/dualpipev_4rank_10mb.csv");
    let table = generate("dualpipev", &Config::new(4, 2, 10)).unwrap();
    let written = torch_csv::write(&table).unwrap();
    assert_eq!(written.trim_end(), artifact.replace('\r', "").trim_end());
    assert_eq!(torch_csv::read(&artifact).unwrap(), table);
}

#[test]
fn megatron_group_sizes_are_accepted_and_refused_alike() {
    let text = read("megatron_schedule_table.csv");
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u32>().unwrap();
        let config = Config::new(number(0), number(1), number(2)).with_group(number(3));
        assert_eq!(generate("interleaved1f1b", &config).is_ok(), cells[4] == "ok", "{line}");
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

#[test]
fn searched_schedules_pass_check() {
    for file in ["sail_zb_h1_h2.csv", "sail_zbv_vhalf_vmin.csv"] {
        let tables = tables(file);
        for ((name, (p, v, m), _), table) in &tables {
            table.check().unwrap_or_else(|error| panic!("{file}: {name} {p} {v} {m}: {error}"));
            let placement = if *v == 1 { Placement::looped(*p, 1) } else { Placement::vee(*p) };
            assert_eq!(table.placement, placement, "{file}: {name}");
        }
        println!("{file}: {} searched tables pass check", tables.len());
    }
}

#[test]
fn derived_metrics_are_reproduced() {
    let mut searched = tables("sail_zb_h1_h2.csv");
    searched.append(&mut tables("sail_zbv_vhalf_vmin.csv"));
    let text = read("derived_metrics.csv");
    let (mut reproduced, mut total) = (0, 0);
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let config =
            (cells[1].parse().unwrap(), cells[2].parse().unwrap(), cells[3].parse().unwrap());
        let as_line = Line {
            schedule: cells[0].to_string(),
            config,
            params: cells[4].to_string(),
            rank: String::new(),
            actions: String::new(),
        };
        let key = (as_line.schedule.clone(), config, as_line.params.clone());
        let (name, generator_config) = named(&as_line);
        let table = searched
            .get(&key)
            .cloned()
            .unwrap_or_else(|| generate(name, &generator_config).unwrap());
        let mut ours = String::new();
        for costs in [Costs::new(1, 1, 1), Costs::new(2, 3, 2)] {
            let replay = table.replay(&costs).unwrap();
            let largest = |of: fn(&piper_schedule::Replay, usize) -> u64| {
                (0..table.ranks.len()).map(|rank| of(&replay, rank)).max().unwrap()
            };
            let (idle, in_span) = (
                largest(piper_schedule::Replay::idle),
                largest(piper_schedule::Replay::idle_in_span),
            );
            write!(ours, "{},{idle},{in_span},", replay.makespan).unwrap();
        }
        let peaks = table.replay(&Costs::new(1, 1, 1)).unwrap().peak_activations;
        ours.push_str(&peaks.iter().map(u32::to_string).collect::<Vec<_>>().join("/"));
        total += 1;
        if ours == cells[5..].join(",") {
            reproduced += 1;
        } else {
            println!("{line}\n  ours: {ours}");
        }
    }
    println!("derived_metrics.csv: {reproduced}/{total} rows reproduced");
    assert_eq!(reproduced, total);
}
