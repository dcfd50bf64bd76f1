//! Replay against derived metrics.

use std::fmt::Write as _;

use piper_schedule::{Costs, Placement, generate};

use crate::{Line, named, read, tables};

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
