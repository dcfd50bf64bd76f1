//! DeepSpeed's instructions with their buffers, and DeepSeek's batches of transfers.

use piper_schedule::Config;
use piper_schedule::generate::{Instruction, instructions, p2p_batches};
use piper_schedule::lower::Transport;

use crate::lowering::ops;
use crate::programs::programs;
use crate::{lines, named, read};

#[test]
fn deepspeed_instructions_are_reproduced() {
    let text = read("deepspeed_trainschedule.csv");
    let mut reproduced = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u32>().unwrap();
        let config = Config::new(number(1), number(2), number(3));
        let steps = instructions(&config, number(5)).unwrap();
        let written = |step: &Vec<Instruction>| match step.is_empty() {
            true => ".".to_string(),
            false => step.iter().map(Instruction::to_string).collect::<Vec<_>>().join("+"),
        };
        let ours: Vec<String> = steps.iter().map(written).collect();
        assert_eq!(ours.join(" "), cells[7], "{line}");
        assert_eq!(cells[4].split("steps=").nth(1), Some(&*steps.len().to_string()), "{line}");
        reproduced += 1;
    }
    let total = text.lines().count() - 1;
    println!("deepspeed_trainschedule.csv: {reproduced}/{total} rows of instructions reproduced");
}

#[test]
fn p2p_batches_are_reproduced_and_finish() {
    let file = "deepseek_dualpipe_dualpipev_p2p_batches.csv";
    let all = lines(file);
    for line in &all {
        let (name, config) = named(line);
        let program = p2p_batches(name, &config).unwrap();
        let rank: usize = line.rank.parse().unwrap();
        assert_eq!(program.ranks[rank], ops(&line.actions), "{name} {config:?} rank {rank}");
    }
    println!("{file}: {}/{} rows reproduced", all.len(), all.len());
    let programs = programs(file);
    for ((name, config, _), program) in &programs {
        if let Err(faults) = program.check(Transport::Rendezvous) {
            panic!("{file}: {name} {config:?}: {}", faults[0]);
        }
    }
    println!("{file}: {} programs finish under rendezvous", programs.len());
}
