//! Lowered tables, torch's own tests of the lowering passes, and step counts.

use std::collections::BTreeMap;

use piper_schedule::lower::{
    Lowering, Op, Program, defer_recv, lower, merge_bw, reduce_grad, send_recv, step_count, unshard,
};
use piper_schedule::{Placement, generate, torch_csv};

use crate::{lines, named, read};

/// A row with its idle cells.
pub(crate) fn ops(actions: &str) -> Vec<Op> {
    let op = |cell: &str| match cell {
        "." => Op::Idle,
        _ => torch_csv::read_op(cell, 0, cell).unwrap_or_else(|e| panic!("{e}")).expect("an op"),
    };
    actions.split_whitespace().map(op).collect()
}

#[test]
fn every_lowered_row_and_step_count_is_reproduced() {
    for name in ["interleaved1f1b", "looped_bfs", "interleaved_zb", "zbv", "dualpipev"] {
        let file = format!("torch_{name}_lowered.csv");
        let (mut reproduced, mut steps, mut tables) = (0, 0, 0);
        let all = lines(&file);
        // torch's idle cells use up turns when transfers are placed, and so shift steps; an order has none.
        let idle_rows = lines(&format!("torch_{name}.csv"));
        for line in &all {
            let (name, config) = named(line);
            let table = generate(name, &config).unwrap();
            let program = lower(&table, &Lowering::default()).unwrap();
            let rank: usize = line.rank.parse().unwrap();
            assert_eq!(program.ranks[rank], ops(&line.actions), "{file}: {config:?} rank {rank}");
            reproduced += 1;
            if let (Some(expected), 0) = (line.param("sim_steps"), rank) {
                tables += 1;
                let rows = idle_rows.iter().filter(|row| row.config == line.config);
                let rows = rows.map(|row| ops(&row.actions)).collect();
                let with_idle = Program { ranks: rows, ..Program::of(&table) };
                let found = step_count(&send_recv(&with_idle).unwrap()).unwrap();
                if found == u64::from(expected) {
                    steps += 1;
                } else {
                    println!("{file} {config:?}: {found} steps, expected {expected}");
                }
            }
        }
        println!(
            "{file}: {reproduced}/{} rows, {steps}/{tables} step counts reproduced",
            all.len()
        );
        assert_eq!((reproduced, steps), (all.len(), tables));
    }
}

/// `pass,case,stage_to_rank,num_stages,expect,rank,input,expected` by pass and case.
type Cases = BTreeMap<(String, String), Vec<Vec<String>>>;

#[test]
fn every_lowering_test_is_reproduced() {
    let text = read("torch_lowering_tests.csv");
    let mut cases = Cases::new();
    let mut total = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<String> = line.split(',').map(str::to_string).collect();
        cases.entry((cells[0].clone(), cells[1].clone())).or_default().push(cells);
        total += 1;
    }
    let mut reproduced = 0;
    for ((pass, case), rows) in &cases {
        let homes = rows[0][2].chars().map(|rank| vec![rank.to_digit(10).unwrap()]).collect();
        let program = Program {
            ranks: rows.iter().map(|cells| ops(&cells[6])).collect(),
            placement: Placement { homes, direction: Vec::new() },
            ..Program::from_rows(rows.iter().map(|cells| ops(&cells[6])).collect())
        };
        let lowered = match pass.as_str() {
            "unshard_reshard" => program.map_rows(|row| unshard(row, 3)),
            "reduce_grad" => program.map_rows(|row| reduce_grad(row, |_| 2)),
            "merge_bw" => program.map_rows(merge_bw),
            "send_recv" => send_recv(&program).unwrap(),
            "defer_recv" => defer_recv(&program),
            other => panic!("a pass named {other}"),
        };
        let expected: Vec<Vec<Op>> = rows.iter().map(|cells| ops(&cells[7])).collect();
        assert_eq!(lowered.ranks, expected, "{pass} {case}");
        if let Some(steps) = rows[0][4].strip_prefix("simulated_steps=") {
            assert_eq!(step_count(&lowered).unwrap().to_string(), steps, "{pass} {case}");
        }
        reproduced += rows.len();
    }
    println!("torch_lowering_tests.csv: {reproduced}/{total} rows reproduced");
    assert_eq!(reproduced, total);
}
