//! `resource`: streams for work, and parts of the device for streams.
//!
//! ```mlir
//! // before: strategy.resource stream "a2a" for exchange over "ep" in the plan
//! dag.graph @train of @loss on @cluster { ... }
//! // after
//! dag.graph @train of @loss on @cluster attributes {resources = [{over = "ep", stream = "a2a", work = ["exchange"]}]} { ... }
//! ```
//!
//! The record stands at the graph, so that nothing has to be kept in step with its operations; `lower-to-device` reads it.
//! `sm-partition` does the same for the directive of its name.
//!
//! **Failures**: a stream that nothing goes to; a partition of a stream that does not exist; a device that cannot be divided so, with the
//! nearest sizes that can.

mod work;

use piper_dialects::strategy::{
    Directive, Kind, Method, PartitionSpec, StreamSpec, partition_of, stream_of,
};
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Attr, Context, Loc, Module, Op, Reporter};
use piper_plan::partition as rules;

use crate::expand_directives;
use crate::lower_to_device::{COMMUNICATE, COMPUTE};
use crate::nodes::graphs;
use crate::replicate::directives;

pub(crate) use work::{is_collective, is_exchange, takes};

/// Attribute of a graph: streams and partitions.
pub const RESOURCES: &str = "resources";

/// The passes.
pub fn passes() -> Vec<PassInfo> {
    vec![
        PassInfo::from_fn("resource", "Give work to streams and streams to parts of the device", |cx| {
            run_pass(cx, "resource", |kind| matches!(kind, Kind::Stream(_) | Kind::Partition(_)))
        })
        .describe(
            "Consumes `strategy.resource stream` and `partition`, which become a record at the graph. Comes last before `lower-to-device`: a \
             stream that nothing goes to is an error.",
        )
        .after(&["build-dag"]),
        PassInfo::from_fn("sm-partition", "Divide each device between communication and computation", |cx| {
            run_pass(cx, "sm_partition", |kind| matches!(kind, Kind::SmPartition { .. }))
        })
        .describe(
            "Consumes `strategy.sm_partition`: expands it into two `resource partition`s (see expand-directives) and applies these. Refuses \
             what the architecture cannot do, with the nearest sizes.",
        )
        .after(&["build-dag"]),
    ]
}

fn run_pass(cx: &mut PassContext<'_, '_>, name: &str, wanted: fn(&Kind) -> bool) -> PassResult {
    let mut found = false;
    for graph in graphs(cx.module) {
        let mut applied: Vec<Directive> = Vec::new();
        for directive in directives::of_graph(cx.module, graph) {
            if !wanted(&directive.kind) {
                continue;
            }
            found = true;
            if directive.kind.is_named() {
                let made = expand_directives::sm_partition(cx.module, &directive, cx.reporter)?;
                applied.extend(made.into_iter().filter_map(|op| {
                    Some(Directive { op, loc: directive.loc, kind: Kind::read(cx.module, op)? })
                }));
            } else {
                applied.push(directive);
            }
        }
        apply(cx.module, graph, applied, cx.reporter)?;
    }
    if !found {
        let loc = cx.module.op_loc(cx.op);
        let message = format!("nothing to do: no plan has a 'strategy.{name}'");
        cx.reporter.error(loc, message).hint(match name {
            "resource" => "strategy.resource stream \"a2a\" for exchange over \"ep\"",
            _ => "strategy.sm_partition arch = \"sm_90\" comm = 24 streams = [\"comm\"]",
        });
        return Err(PassFailed);
    }
    Ok(())
}

/// Records directives at the graph and takes them out of the plan.
fn apply(
    module: &mut Module,
    graph: Op,
    applied: Vec<Directive>,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let ctx = module.ctx_arc();
    let errors = reporter.error_count();
    let mut record: Vec<Attr> =
        module.attr_by(graph, RESOURCES).and_then(|r| r.as_array(&ctx)).unwrap_or(&[]).to_vec();
    let known = Resources::of(module, graph);
    let mut streams = known.streams;
    let mut partitions: Vec<(PartitionSpec, Loc)> =
        known.partitions.into_iter().map(|p| (p, module.op_loc(graph))).collect();
    let block = module.only_block(graph).expect("a graph has a block");
    for directive in &applied {
        match &directive.kind {
            Kind::Stream(spec) => {
                let mut open = module.ops(block).filter(|op| takes(module, spec, *op));
                // What an earlier directive has is not there for a later one.
                if !open.any(|op| streams.iter().all(|known| !takes(module, known, op))) {
                    let message = format!("nothing goes to stream \"{}\"", spec.stream);
                    reporter.error(directive.loc, message).hint(
                        "the graph has no such work, or directives before this one have it all",
                    );
                }
                streams.push(spec.clone());
            }
            Kind::Partition(spec) => partitions.push((spec.clone(), directive.loc)),
            _ => {}
        }
        record.push(entry(module, &ctx, directive.op));
    }
    for (spec, loc) in &partitions {
        check_streams(spec, &streams, *loc, reporter);
    }
    check_partitions(&partitions, reporter);
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    module.set_attr_by(graph, RESOURCES, ctx.array_attr(record));
    applied.iter().for_each(|directive| module.erase(directive.op));
    Ok(())
}

/// A directive's attributes as a dictionary.
fn entry(module: &Module, ctx: &Context, op: Op) -> Attr {
    let names = ["stream", "work", "over", "filter", "partition"];
    let first = names.into_iter().filter_map(|name| Some((name, module.attr_by(op, name)?)));
    let rest = piper_dialects::strategy::partition_options(module, op).into_iter();
    ctx.dict_attr(first.chain(rest).map(|(name, attr)| (ctx.name(name), attr)))
}

/// The streams of a partition exist.
fn check_streams(
    spec: &PartitionSpec,
    streams: &[StreamSpec],
    loc: Loc,
    reporter: &mut Reporter<'_>,
) {
    let mut known = vec![COMPUTE, COMMUNICATE];
    for stream in streams {
        if !known.contains(&&*stream.stream) {
            known.push(&stream.stream);
        }
    }
    for stream in spec.streams.iter().filter(|s| !known.contains(&s.as_str())) {
        let close = piper_ir::diag::did_you_mean(stream, known.iter().copied());
        let hint = close.map_or_else(
            || format!("streams: {}", known.join(", ")),
            |close| format!("did you mean \"{close}\"?"),
        );
        reporter.error(loc, format!("there is no stream \"{stream}\"")).hint(hint);
    }
}

/// A partition as the plan knows it, without communicators. A total that is not known is 0.
pub(crate) fn planned(spec: &PartitionSpec) -> rules::Partition {
    rules::Partition {
        name: spec.name.clone(),
        method: match spec.method {
            Method::Green => rules::Method::Green,
            Method::Grid => rules::Method::Grid,
            Method::Workers => rules::Method::Workers,
        },
        size: spec.size,
        total: spec.total.or_else(|| rules::usual_total(&spec.arch)).unwrap_or(0),
        arch: spec.arch.clone(),
        ctas: spec
            .ctas
            .map(|(least, most)| (least, if most == u32::MAX { spec.size } else { most })),
        streams: spec.streams.clone(),
        comms: Vec::new(),
    }
}

/// Whether devices can be divided so; faults are reported at their directive.
pub(crate) fn check_partitions(
    partitions: &[(PartitionSpec, Loc)],
    reporter: &mut Reporter<'_>,
) -> bool {
    let errors = reporter.error_count();
    for (spec, loc) in partitions {
        let total = spec.total.or_else(|| rules::usual_total(&spec.arch));
        if total.is_none() {
            let message = format!("how many SMs a device of \"{}\" has is not known", spec.arch);
            reporter.error(*loc, message).hint("add total = ..., for example total = 148");
        }
        let limit = rules::most_ctas(spec.nccl);
        let asked = [spec.ctas.map(|c| c.0), spec.ctas.map(|c| c.1).filter(|c| *c != u32::MAX)];
        if let Some(asked) = asked.into_iter().flatten().find(|asked| *asked > limit) {
            let since = if limit == 32 { " before version 2.25" } else { "" };
            let message = format!("NCCL takes at most {limit} CTAs{since}, not {asked}");
            reporter.error(*loc, message).hint(format!("ctas = {limit} or less"));
        }
    }
    if reporter.error_count() > errors {
        return false;
    }
    let as_planned: Vec<rules::Partition> =
        partitions.iter().map(|(spec, _)| planned(spec)).collect();
    for fault in rules::infeasible(&as_planned) {
        reporter.error(partitions[fault.at].1, fault.message).hint = fault.hint;
    }
    reporter.error_count() == errors
}

/// What the record of a graph says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources {
    /// Streams, in the order in which they take work.
    pub(crate) streams: Vec<StreamSpec>,
    /// Parts of the device.
    pub(crate) partitions: Vec<PartitionSpec>,
}

impl Resources {
    /// The record of a graph; empty if it has none.
    pub(crate) fn of(module: &Module, graph: Op) -> Self {
        let ctx = module.ctx();
        let mut resources = Self::default();
        let record = module.attr_by(graph, RESOURCES).and_then(|r| r.as_array(ctx));
        for entry in record.unwrap_or(&[]) {
            let get = |name: &str| entry.get(ctx, name);
            resources.streams.extend(stream_of(ctx, get));
            resources.partitions.extend(partition_of(ctx, get));
        }
        resources
    }

    /// Whether nothing is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.partitions.is_empty()
    }

    /// The stream that takes an operation, if one does.
    pub(crate) fn stream_of(&self, module: &Module, op: Op) -> Option<&str> {
        let spec = self.streams.iter().find(|spec| takes(module, spec, op))?;
        Some(&spec.stream)
    }

    /// The partition that a stream runs on.
    pub(crate) fn partition_of(&self, stream: &str) -> Option<usize> {
        self.partitions.iter().position(|p| p.streams.iter().any(|s| s == stream))
    }
}
