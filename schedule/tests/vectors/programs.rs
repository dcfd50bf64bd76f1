//! Programs with communication: those of other projects pass the check, and the one reported to hang is found hanging.

use std::collections::BTreeMap;

use piper_schedule::lower::{Fault, Lowering, Program, Transport, lower};
use piper_schedule::{Config, generate, torch_csv};

use crate::lowering::ops;
use crate::{Key, lines};

/// Programs of a file, by schedule and configuration.
pub(crate) fn programs(file: &str) -> BTreeMap<Key, Program> {
    let mut rows: BTreeMap<Key, Vec<Vec<piper_schedule::lower::Op>>> = BTreeMap::new();
    for line in lines(file) {
        let key = (line.schedule.clone(), line.config, line.params.clone());
        rows.entry(key).or_default().push(ops(&line.actions));
    }
    rows.into_iter().map(|(key, rows)| (key, Program::from_rows(rows))).collect()
}

#[test]
fn every_lowered_table_passes_the_check() {
    for name in ["interleaved1f1b", "looped_bfs", "interleaved_zb", "zbv", "dualpipev"] {
        let file = format!("torch_{name}_lowered.csv");
        let (mut passed, mut deferred) = (0, 0);
        let programs = programs(&file);
        for ((name, config, _), program) in &programs {
            if let Err(faults) = program.check(Transport::Rendezvous) {
                panic!("{file}: {name} {config:?}: {}", faults[0]);
            }
            passed += 1;
            let table = program.table();
            let late = lower(&table, &Lowering { defer: true, ..Lowering::default() }).unwrap();
            late.check(Transport::Buffered).unwrap();
            deferred += usize::from(late.check(Transport::Rendezvous).is_ok());
        }
        println!(
            "{file}: {passed}/{} tables pass the check, {deferred} of them with deferred receives",
            programs.len()
        );
    }
}

#[test]
fn naive_deferral_is_found_deadlocking() {
    let mut programs = programs("printed_tables.csv").into_iter();
    let (_, naive) =
        programs.find(|((name, ..), _)| name == "interleaved1f1b_recv_deferred").unwrap();
    let faults = naive.check(Transport::Rendezvous).unwrap_err();
    let [Fault::Deadlock(circle)] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!(
        circle.to_string(),
        "the program deadlocks:\n  \
         rank 0, slot 5: 0SEND_F1 waits for 1RECV_F1, which stands at rank 1, slot 5\n  \
         rank 1, slot 4: 1SEND_F0 waits for 2RECV_F0, which stands at rank 0, slot 6"
    );
    assert_eq!(naive.check(Transport::Buffered), Ok(()));
    println!("printed_tables.csv: the naive deferral deadlocks\n{circle}");
}

#[test]
fn printed_lowered_table_is_reproduced() {
    let programs = programs("printed_tables.csv");
    let lowered = programs.iter().find(|((name, ..), _)| name == "interleaved1f1b_lowered");
    let ((_, (p, v, m), _), printed) = lowered.unwrap();
    let table = generate("interleaved1f1b", &Config::new(*p, *v, *m)).unwrap();
    assert_eq!(&lower(&table, &Lowering::default()).unwrap(), printed);
    let text = torch_csv::write_program(printed);
    assert_eq!(&torch_csv::read_program(&text).unwrap().0, printed);
}
