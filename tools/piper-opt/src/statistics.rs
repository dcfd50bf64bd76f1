//! `--mlir-pass-statistics`: what the passes counted.

use std::fmt::Write;

use piper_ir::pass::PassRecord;

use crate::flags::StatisticsDisplay;
use crate::timing::heading;

/// The report. A pass that counted nothing is not in it.
pub(crate) fn report(records: &[PassRecord], display: StatisticsDisplay) -> String {
    let mut out = heading("Pass statistics");
    match display {
        StatisticsDisplay::Pipeline => records.iter().for_each(|r| tree(&mut out, r, 0)),
        StatisticsDisplay::List => {
            let mut passes: Vec<PassRecord> = Vec::new();
            records.iter().for_each(|record| collect(record, &mut passes));
            passes.sort_by(|a, b| a.name.cmp(&b.name));
            passes.iter().for_each(|record| tree(&mut out, record, 0));
        }
    }
    out
}

/// Whether the pass or one inside the pipeline counted something.
fn counted(record: &PassRecord) -> bool {
    !record.statistics.is_empty() || record.children.iter().any(counted)
}

fn tree(out: &mut String, record: &PassRecord, depth: usize) {
    if !counted(record) {
        return;
    }
    let indent = depth * 2;
    if record.is_pipeline {
        let _ = writeln!(out, "{:indent$}'{}' Pipeline", "", record.name);
    } else {
        let _ = writeln!(out, "{:indent$}{}", "", record.name);
    }
    for (name, count) in &record.statistics {
        let _ = writeln!(out, "{:indent$}  (S) {count} {name}", "");
    }
    record.children.iter().for_each(|child| tree(out, child, depth + 1));
}

/// Adds up passes of one name.
fn collect(record: &PassRecord, passes: &mut Vec<PassRecord>) {
    record.children.iter().for_each(|child| collect(child, passes));
    if record.is_pipeline {
        return;
    }
    match passes.iter_mut().find(|known| known.name == record.name) {
        Some(known) => {
            for (name, count) in &record.statistics {
                match known.statistics.iter_mut().find(|(other, _)| other == name) {
                    Some((_, total)) => *total += count,
                    None => known.statistics.push((name, *count)),
                }
            }
        }
        None => passes.push(record.clone()),
    }
}

#[cfg(test)]
mod tests {
    use piper_ir::pass::PassRecord;

    use super::report;
    use crate::flags::StatisticsDisplay;

    #[test]
    fn counts_are_shown_by_place_or_by_pass() {
        let pass = |name: &str, statistics: &[(&'static str, u64)]| PassRecord {
            name: name.to_owned(),
            statistics: statistics.to_vec(),
            ..PassRecord::default()
        };
        let children = vec![
            pass("cse", &[("merged", 3), ("erased", 1)]),
            pass("silent", &[]),
            pass("cse", &[("merged", 4)]),
        ];
        let nested = PassRecord { is_pipeline: true, children, ..pass("func.func", &[]) };
        let records = [nested, pass("b", &[("x", 1)])];
        let lines = |display| -> Vec<String> {
            report(&records, display).lines().skip(3).map(str::to_owned).collect()
        };
        assert_eq!(
            lines(StatisticsDisplay::Pipeline),
            [
                "'func.func' Pipeline",
                "  cse",
                "    (S) 3 merged",
                "    (S) 1 erased",
                "  cse",
                "    (S) 4 merged",
                "b",
                "  (S) 1 x"
            ]
        );
        assert_eq!(
            lines(StatisticsDisplay::List),
            ["b", "  (S) 1 x", "cse", "  (S) 7 merged", "  (S) 1 erased"]
        );
    }
}
