//! Axes and coordinates in types: they exist, and none is used twice.

use piper_dialects::dag::{Dist, Home, MICROBATCH};
use piper_ir::{Name, Reporter};
use rustc_hash::FxHashSet;

use super::Checked;

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let mut seen = FxHashSet::default();
    for &op in &graph.ops {
        for value in graph.module.results(op) {
            if !seen.insert(graph.module.ty(value)) {
                continue;
            }
            let dist = graph.dist(value);
            if let Err(why) = fault(graph, &dist) {
                let ty = dist.ty(graph.ctx()).display(graph.ctx());
                reporter.error(graph.module.op_loc(op), format!("{why} in {ty}"));
            }
        }
    }
}

fn fault(graph: &Checked<'_>, dist: &Dist) -> Result<(), String> {
    let ctx = graph.ctx();
    let size = |axis: Name| {
        graph
            .sizes
            .get(axis)
            .ok_or_else(|| format!("there is no axis or group \"{}\"", axis.text(ctx)))
    };
    let mut used: Vec<Name> = Vec::new();
    match &dist.home {
        Home::Slice(at) => {
            for (axis, coordinate) in at {
                let size = size(*axis)?;
                if *coordinate >= size {
                    return Err(format!(
                        "axis \"{}\" has coordinates 0 to {}, not {coordinate}",
                        axis.text(ctx),
                        size - 1
                    ));
                }
                // A value of microbatch 3 is a shard along `mb`: there the home says which.
                if axis.text(ctx) != MICROBATCH {
                    used.push(*axis);
                }
            }
        }
        Home::Group(group) => {
            size(*group)?;
        }
    }
    for axis in dist.dims.iter().flatten().chain(&dist.partial) {
        size(*axis)?;
        if used.contains(axis) {
            return Err(format!("the axis \"{}\" is used twice", axis.text(ctx)));
        }
        used.push(*axis);
    }
    Ok(())
}
