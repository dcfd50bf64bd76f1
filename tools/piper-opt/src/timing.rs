//! `--mlir-timing`: where the time of a run went.

use std::fmt::Write;
use std::time::Duration;

use piper_ir::pass::PassRecord;

use crate::flags::{OutputFormat, TimingDisplay};

/// The times of a run, passes apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    /// Reading the input.
    pub(crate) parser: Duration,
    /// Verifying what was read.
    pub(crate) verifier: Duration,
    /// Writing the output.
    pub(crate) output: Duration,
    /// All of it.
    pub(crate) total: Duration,
}

/// A line of the report, with those that are part of it.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    wall: Duration,
    busy: Duration,
    children: Vec<Node>,
}

impl Node {
    fn leaf(name: impl Into<String>, time: Duration) -> Self {
        Self { name: name.into(), wall: time, busy: time, children: Vec::new() }
    }
}

/// The report.
pub(crate) fn report(
    phases: &Phases,
    records: &[PassRecord],
    display: TimingDisplay,
    format: OutputFormat,
) -> String {
    let mut nodes = vec![Node::leaf("Parser", phases.parser)];
    nodes.push(Node::leaf("Verifier", phases.verifier));
    nodes.extend(records.iter().flat_map(of_record));
    nodes.push(Node::leaf("Output", phases.output));
    let known: Duration = nodes.iter().map(|node| node.wall).sum();
    if display == TimingDisplay::List {
        nodes = merged(&nodes);
    }
    nodes.push(Node::leaf("Rest", phases.total.saturating_sub(known)));
    let busy = nodes.iter().map(|node| node.busy).sum();
    nodes.push(Node { busy, ..Node::leaf("Total", phases.total) });
    match format {
        OutputFormat::Text => table(&nodes, phases.total),
        OutputFormat::Json => json(&nodes, phases.total),
    }
}

/// The pass or pipeline, and the verifier that ran after it.
fn of_record(record: &PassRecord) -> Vec<Node> {
    // Of what threads did at once, as much time passed as of the pass itself.
    let shared = match record.busy.is_zero() {
        true => 1.0,
        false => record.wall.as_secs_f64() / record.busy.as_secs_f64(),
    };
    let part = |name: String, busy: Duration| {
        let wall = busy.mul_f64(shared);
        Node { name, wall, busy, children: Vec::new() }
    };
    let analyses = record.analyses.iter();
    let mut children: Vec<Node> =
        analyses.map(|a| part(format!("(A) {}", a.name), a.busy)).collect();
    children.extend(record.children.iter().flat_map(of_record));
    let name = if record.is_pipeline {
        format!("'{}' Pipeline", record.name)
    } else {
        record.name.clone()
    };
    let mut nodes = vec![Node { name, wall: record.wall, busy: record.busy, children }];
    if !record.verifying.is_zero() {
        nodes.push(part("(V) Verifier".to_owned(), record.verifying));
    }
    nodes
}

/// What has one name added up, without pipelines, the longest first.
fn merged(nodes: &[Node]) -> Vec<Node> {
    fn add(nodes: &[Node], into: &mut Vec<Node>) {
        for node in nodes {
            if !node.name.ends_with("' Pipeline") {
                match into.iter_mut().find(|known| known.name == node.name) {
                    Some(known) => {
                        known.wall += node.wall;
                        known.busy += node.busy;
                    }
                    None => into.push(Node { children: Vec::new(), ..node.clone() }),
                }
            }
            add(&node.children, into);
        }
    }
    let mut list = Vec::new();
    add(nodes, &mut list);
    list.sort_by(|a, b| b.wall.cmp(&a.wall).then_with(|| a.name.cmp(&b.name)));
    list
}

fn share(time: Duration, total: Duration) -> f64 {
    if total.is_zero() { 0.0 } else { time.as_secs_f64() / total.as_secs_f64() * 100.0 }
}

/// Whether threads worked at once anywhere, so that wall and busy time differ.
fn has_threads(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.busy > node.wall || has_threads(&node.children))
}

const RULE: &str =
    "===-------------------------------------------------------------------------===";

/// The head of a report.
pub(crate) fn heading(title: &str) -> String {
    let title = format!("... {title} report ...");
    let indent = (RULE.len() - title.len()) / 2;
    format!("{RULE}\n{:indent$}{title}\n{RULE}\n", "")
}

fn table(nodes: &[Node], total: Duration) -> String {
    fn lines(out: &mut String, nodes: &[Node], depth: usize, total: Duration, threads: bool) {
        for node in nodes {
            let mut time = |time: Duration| {
                let _ = write!(out, "  {:8.4} ({:5.1}%)", time.as_secs_f64(), share(time, total));
            };
            if threads {
                time(node.busy);
            }
            time(node.wall);
            let _ = writeln!(out, "  {:indent$}{}", "", node.name, indent = depth * 2);
            lines(out, &node.children, depth + 1, total, threads);
        }
    }
    let threads = has_threads(nodes);
    let mut out = heading("Execution time");
    let _ = writeln!(out, "  Total Execution Time: {:.4} seconds\n", total.as_secs_f64());
    let columns =
        if threads { "  ----User Time----  ----Wall Time----" } else { "  ----Wall Time----" };
    let _ = writeln!(out, "{columns}  ----Name----");
    lines(&mut out, nodes, 0, total, threads);
    out
}

fn json(nodes: &[Node], total: Duration) -> String {
    fn entry(node: &Node, total: Duration) -> serde_json::Value {
        let time = |time: Duration| serde_json::json!({"duration": time.as_secs_f64(), "percentage": share(time, total)});
        let passes: Vec<_> = node.children.iter().map(|child| entry(child, total)).collect();
        serde_json::json!({
            "name": node.name, "wall": time(node.wall), "user": time(node.busy), "passes": passes,
        })
    }
    let entries: Vec<String> = nodes.iter().map(|node| entry(node, total).to_string()).collect();
    format!("[\n{}\n]\n", entries.join(",\n"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use piper_ir::pass::{AnalysisRecord, PassRecord};

    use super::{Phases, report};
    use crate::flags::{OutputFormat, TimingDisplay};

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn sample() -> (Phases, Vec<PassRecord>) {
        let phases = Phases { parser: ms(200), verifier: ms(50), output: ms(100), total: ms(1000) };
        let pass = |name: &str, time| PassRecord {
            name: name.to_owned(),
            wall: ms(time),
            busy: ms(time),
            ..PassRecord::default()
        };
        let analysed = PassRecord {
            analyses: vec![AnalysisRecord { name: "Dominance", busy: ms(25), runs: 1 }],
            verifying: ms(25),
            ..pass("cse", 100)
        };
        let children = vec![analysed, pass("canonicalize", 150), pass("cse", 100)];
        let nested = PassRecord { is_pipeline: true, children, ..pass("func.func", 400) };
        (phases, vec![nested])
    }

    #[test]
    fn the_tree_has_the_shape_of_the_pipeline() {
        let (phases, records) = sample();
        let text = report(&phases, &records, TimingDisplay::Tree, OutputFormat::Text);
        let lines: Vec<&str> = text.lines().skip(6).collect();
        assert_eq!(
            lines,
            [
                "    0.2000 ( 20.0%)  Parser",
                "    0.0500 (  5.0%)  Verifier",
                "    0.4000 ( 40.0%)  'func.func' Pipeline",
                "    0.1000 ( 10.0%)    cse",
                "    0.0250 (  2.5%)      (A) Dominance",
                "    0.0250 (  2.5%)    (V) Verifier",
                "    0.1500 ( 15.0%)    canonicalize",
                "    0.1000 ( 10.0%)    cse",
                "    0.1000 ( 10.0%)  Output",
                "    0.2500 ( 25.0%)  Rest",
                "    1.0000 (100.0%)  Total",
            ]
        );
        assert!(text.contains("----Wall Time----  ----Name----") && !text.contains("User"));
    }

    #[test]
    fn the_list_adds_up_and_threads_have_their_column() {
        let (phases, mut records) = sample();
        records[0].children[1].busy = ms(300);
        let text = report(&phases, &records, TimingDisplay::List, OutputFormat::Text);
        let first: Vec<&str> = text.lines().skip(6).take(3).collect();
        assert_eq!(
            first,
            [
                "    0.2000 ( 20.0%)    0.2000 ( 20.0%)  Parser",
                "    0.2000 ( 20.0%)    0.2000 ( 20.0%)  cse",
                "    0.3000 ( 30.0%)    0.1500 ( 15.0%)  canonicalize",
            ]
        );
        assert!(text.contains("----User Time----") && !text.contains("Pipeline"));
    }

    #[test]
    fn the_json_form_nests() {
        let (phases, records) = sample();
        let text = report(&phases, &records, TimingDisplay::Tree, OutputFormat::Json);
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read[2]["passes"][0]["passes"][0]["name"], "(A) Dominance");
        assert_eq!(read[2]["wall"]["percentage"], 40.0);
        assert_eq!(read[5]["name"], "Total");
    }
}
