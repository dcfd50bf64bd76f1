//! Figures of a schedule: how long it takes and what it holds, rank by rank.

use std::fmt::Write;

use crate::args::Args;
use crate::source::Source;

/// The text of `--metrics`.
pub(crate) fn of(source: &Source, args: &Args) -> Result<String, String> {
    let mut costs = args.costs;
    if let Some(pair) = args.pair_cost {
        costs = costs.with_pair(pair.into());
    }
    let table = &source.table;
    let replay = table.replay(&costs).map_err(|error| format!("error: {error}\n"))?;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {} ranks, {} stages, {} microbatches; F = {}, I = {}, W = {}, F&B = {}, transport = {}",
        source.name,
        table.ranks.len(),
        table.stages,
        table.microbatches,
        costs.f,
        costs.i,
        costs.w,
        costs.pair,
        costs.transport
    );
    let _ = writeln!(out, "makespan {}", replay.makespan);
    let titles = ["rank", "busy", "idle", "idle in span", "peak activations"];
    let rows: Vec<[String; 5]> = (0..table.ranks.len())
        .map(|rank| {
            [
                rank.to_string(),
                replay.busy[rank].to_string(),
                replay.idle(rank).to_string(),
                replay.idle_in_span(rank).to_string(),
                replay.peak_activations[rank].to_string(),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..titles.len())
        .map(|at| rows.iter().map(|row| row[at].len()).chain([titles[at].len()]).max().unwrap_or(0))
        .collect();
    let mut line = |cells: [&str; 5]| {
        let padded: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "{}", padded.join("  "));
    };
    line(titles);
    for row in &rows {
        line([&row[0], &row[1], &row[2], &row[3], &row[4]]);
    }
    Ok(out)
}
