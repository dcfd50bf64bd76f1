//! Generators against the compute order of other projects' tables.

use piper_schedule::{Config, generate, torch_csv};

use crate::{Line, lines, named, read, slots};

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
