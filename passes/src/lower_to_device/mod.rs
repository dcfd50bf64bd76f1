//! `lower-to-device`: from the graph of the whole step to one program for each class of devices.
//!
//! ```mlir
//! %x1 = dag.transfer %x : !dag.dist<tensor<8x4xf32>, @c on {mb = 0, pp = 0}, ...> -> ...   // position 7 of the global order
//! ```
//! becomes, at the same place of the order, an instruction of two programs:
//! ```mlir
//! device.program @pp0 ... { ... device.send %f0.0 to {pp = 1} over @p2p tag 7 on "comm" name "f0.0" ... }
//! device.program @pp1 ... { ... device.recv %f0.0 from {pp = 0} over @p2p tag 7 on "comm" name "f0.0" ... }
//! ```
//!
//! **Input**: a verified `dag.graph`, which is kept. **Output**: a `device.plan` after it, whose buffers have no offsets yet.
//! **Failures**: orders that contradict each other (the circle is printed), values without a static size, shards that have no
//! manifest (of an inner dimension).
//!
//! The parts: `topology` finds the classes of devices, `schedule` the one global order whose projections the programs are,
//! `programs` the instructions of each class, `manifest` what the runtime has to know of states, inputs and outputs. Events
//! between streams are placed by `memory_plan::sync`.

mod manifest;
mod node_code;
mod programs;
#[cfg(test)]
pub(crate) mod samples;
mod schedule;
#[cfg(test)]
mod tests;
mod topology;

use piper_dialects::dag::Graph;
use piper_ir::pass::{OptionDef, PassFailed, PassInfo, PassResult};
use piper_ir::{Module, Op, Reporter};

use crate::accumulate::gradients;
use crate::emit_plan::device_plans;
use crate::memory_plan::sync;

/// Name of the stream that computes.
pub const COMPUTE: &str = "compute";
/// Name of the stream that communicates.
pub const COMMUNICATE: &str = "comm";
/// Attribute of an instruction: the position, in its graph, of the operation it was made from.
pub const ORIGIN: &str = "origin";

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Report every `dag.gradient` as an output `grad.NAME`.
    pub probe_gradients: bool,
}

/// Lowers every `dag.graph` of a module; returns the `device.plan`s made.
///
/// # Errors
/// See the head of this file; faults are reported.
pub fn run(
    module: &mut Module,
    reporter: &mut Reporter<'_>,
    options: Options,
) -> Result<Vec<Op>, PassFailed> {
    let graphs: Vec<Op> =
        module.top_level().into_iter().filter(|op| Graph::cast(module, *op).is_some()).collect();
    if graphs.is_empty() {
        reporter
            .error(
                module.op_loc(module.root()),
                "there is no dag.graph to lower to device programs",
            )
            .hint("run build-dag and the passes that place the graph first");
        return Err(PassFailed);
    }
    graphs.into_iter().map(|graph| lower_graph(module, graph, reporter, options)).collect()
}

/// Lowers one graph; the `device.plan` stands after it.
///
/// # Errors
/// See the head of this file; faults are reported.
pub fn lower_graph(
    module: &mut Module,
    graph: Op,
    reporter: &mut Reporter<'_>,
    options: Options,
) -> Result<Op, PassFailed> {
    let ctx = module.ctx_arc();
    let mesh_name = Graph(graph).mesh(module).as_symbol(&ctx);
    let Some(mesh) = mesh_name.and_then(|name| module.lookup_nearest(graph, name.text(&ctx)))
    else {
        reporter.error(module.op_loc(graph), "the graph's mesh does not exist");
        return Err(PassFailed);
    };
    let topology = match topology::Topology::of(module, graph, mesh) {
        Ok(topology) => topology,
        Err((op, why)) => {
            let message = format!("a result of '{}' {why}", module.name_text(op));
            reporter.error(module.op_loc(op), message);
            return Err(PassFailed);
        }
    };
    if !options.probe_gradients {
        check_gradients_are_used(module, graph, reporter)?;
    }
    let schedule = schedule::schedule(module, graph, &topology, options.probe_gradients, reporter)?;
    let made = programs::build(module, graph, &topology, &schedule, reporter)?;
    for program in &made.programs {
        sync::insert(module, *program, &[]);
    }
    Ok(made.plan)
}

/// Gradients that nobody reads would be computed for nothing; most likely the plan lacks its optimizer.
fn check_gradients_are_used(
    module: &Module,
    graph: Op,
    reporter: &mut Reporter<'_>,
) -> Result<(), PassFailed> {
    let unused = gradients(module, graph).into_iter().find(|op| !module.has_used_result(*op));
    let Some(gradient) = unused else { return Ok(()) };
    let name = module.attr_by(gradient, "name").map_or(String::new(), |a| a.display(module.ctx()));
    reporter
        .error(module.op_loc(gradient), format!("nothing uses the gradient of {name}: the plan has no optimizer"))
        .hint("add a strategy.optimizer to the plan, or report gradients: lower-to-device{probe-gradients}");
    Err(PassFailed)
}

/// The passes of this module.
pub fn passes() -> Vec<PassInfo> {
    let options = vec![OptionDef::new(
        "probe-gradients",
        "report every complete gradient as an output grad.NAME",
        Some("false"),
    )];
    let pass = PassInfo::with_options(
        "lower-to-device",
        "One issue-ordered program for each class of devices",
        options,
        |given| {
            let probe_gradients = given.get::<bool>("probe-gradients")?.unwrap_or(false);
            Ok(move |cx: &mut piper_ir::pass::PassContext<'_, '_>| -> PassResult {
                run(cx.module, cx.reporter, Options { probe_gradients }).map(|_| ())
            })
        },
    );
    let is_lowered = |module: &Module| !device_plans(module).is_empty();
    vec![pass.done_when(is_lowered).describe(
        "Input: verified `dag.graph`s. Output: a `device.plan` after each. The communication of all programs is the \
         projection of one global order. Fails if the orders of the slices contradict each other.",
    )]
}
