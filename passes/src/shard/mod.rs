//! `shard`: parameters divided along a mesh axis, and with them what is computed from them.
//!
//! ```mlir
//! // before, with strategy.shard {PART = mlp} over "tp" parameters = {"up" = 1, "down" = 0} on a mesh of "tp" = 2
//! %up = dag.parameter "up" : !dag.dist<tensor<4x8xf32>, @cluster>
//! %y = dag.compute @f1(%x, %up, %down) F {PART = "mlp"} node "f1" -> !dag.dist<tensor<8x4xf32>, @cluster>
//! // after
//! %up = dag.parameter "up" : !dag.dist<tensor<4x8xf32>, @cluster, [{}, {"tp"}]>
//! %y = dag.compute @f1.tp(%x, %up, %down) F {PART = "mlp"} node "f1" -> !dag.dist<tensor<8x4xf32>, @cluster, partial = {"tp"}>
//! %whole = dag.all_reduce %y over ["tp"] -> !dag.dist<tensor<8x4xf32>, @cluster>
//! ```
//!
//! **Which values are divided** follows from the parameters by the operations' factor rules (`infer`); bodies get local
//! shapes. **Where they stop being** is the boundary of the selected nodes (`vary`): a partial sum that leaves is
//! all-reduced, a shard of dimension 0 gathered. **With the batch** divided over the same axis (a `replicate` or `zero` over it
//! stands after the `shard`), what enters and leaves the selected nodes is exchanged: an all-to-all moves the shard from the
//! batch dimension to that of the parameters and back. This is expert parallelism: the segment of the experts has tokens
//! sorted by expert, `[experts, batch, ...]`, and holds some experts for the tokens of all ranks. Where nothing ties the batch
//! to the parameters, it is gathered before and the sums are scattered after: sequence parallelism.
//!
//! Fails if nothing is selected, a pattern fits no parameter, a divided parameter is used outside, an operation cannot be
//! divided so, or a value would have to be exchanged in a way that no collective does. Comes after the batch is split, so that
//! the axis is minor to microbatches: one exchange stays within a microbatch.

mod infer;
mod vary;

use piper_dialects::strategy::{Directive, Kind};
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Loc, Name, Op};
use piper_schedule::text::filter::Filter;

use crate::nodes::graphs;
use crate::replicate::{self, Replication, directives};

pub(crate) use vary::vary;

/// One directive: which nodes, and which of their parameters along which dimension.
#[derive(Clone, Debug)]
pub(crate) struct Sharding {
    pub(crate) filter: Filter,
    pub(crate) parameters: Vec<(String, usize)>,
    pub(crate) loc: Loc,
}

/// A division of a graph over an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division<'a> {
    pub(crate) axis: Name,
    /// The axis's size.
    pub(crate) factor: i64,
    /// Whether the nodes that no sharding selects get parts of the batch; else they do the same everywhere.
    pub(crate) batch: bool,
    /// Whether microbatches are divided over the axis, not the batch before it is divided into microbatches.
    pub(crate) inside: bool,
    pub(crate) shardings: &'a [Sharding],
}

/// Where the axis comes among those that divide a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Position {
    /// Before all others.
    Major,
    /// After all others: only the most minor ones can be exchanged.
    Minor,
}

impl Division<'_> {
    /// Where the axis comes in dimensions.
    pub(crate) fn position(&self) -> Position {
        let is_major = self.shardings.is_empty() && !self.inside;
        if is_major { Position::Major } else { Position::Minor }
    }
}

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn(
        "shard",
        "Divide parameters along a mesh axis, with collectives at the boundaries of what uses them",
        run_pass,
    );
    vec![
        info.describe(
            "Consumes every strategy.shard of the plan, and a strategy.replicate or strategy.zero over the same axis. Works on a graph \
             whose batch is split and that is placed, before the optimizer.",
        )
        .after(&["build-dag"]),
    ]
}

fn run_pass(cx: &mut PassContext<'_, '_>) -> PassResult {
    for graph in graphs(cx.module) {
        let all = directives::of_graph(cx.module, graph);
        let mut axes: Vec<&str> = Vec::new();
        for directive in &all {
            if let Kind::Shard { axis, .. } = &directive.kind
                && !axes.contains(&&**axis)
            {
                axes.push(axis);
            }
        }
        if axes.is_empty() {
            let loc = cx.module.op_loc(graph);
            cx.reporter
                .error(loc, "pass 'shard' has nothing to do: the plan has no strategy.shard")
                .hint("strategy.shard {PART = mlp} over \"tp\" parameters = {\"*.up\" = 1, \"*.down\" = 0}");
            return Err(PassFailed);
        }
        for axis in axes {
            let consumed = over_axis(cx, graph, &all, axis)?;
            consumed.into_iter().for_each(|op| cx.module.erase(op));
        }
    }
    Ok(())
}

/// Applies the directives over one axis, which are returned.
fn over_axis(
    cx: &mut PassContext<'_, '_>,
    graph: Op,
    all: &[Directive],
    axis: &str,
) -> Result<Vec<Op>, PassFailed> {
    let mut shardings = Vec::new();
    let mut consumed = Vec::new();
    let mut replication: Option<(Replication, Loc)> = None;
    for directive in all {
        let loc = directive.loc;
        match &directive.kind {
            Kind::Shard { axis: own, filter, parameters } if own == axis => {
                if let Some((_, first)) = &replication {
                    cx.reporter
                        .error(loc, format!("the batch is divided over \"{axis}\" before this 'strategy.shard'"))
                        .note(*first, "divided here")
                        .hint("put strategy.shard before the strategy.replicate or strategy.zero over its axis");
                    return Err(PassFailed);
                }
                let (filter, parameters) = (filter.clone(), parameters.clone());
                shardings.push(Sharding { filter, parameters, loc });
            }
            kind => match Replication::of(kind).filter(|r| r.axis == axis) {
                Some(over_it) => replication = Some((over_it, loc)),
                None => continue,
            },
        }
        consumed.push(directive.op);
    }
    let loc = shardings[0].loc;
    match replication {
        Some((replication, loc)) => {
            replicate::run_beside(cx.module, graph, &replication, &shardings, loc, cx.reporter)?;
        }
        None => replicate::shard_only(cx.module, graph, axis, &shardings, loc, cx.reporter)?,
    }
    Ok(consumed)
}
