//! `overlap` and `sm_partition`: streams, turns, and parts of the device.

use piper_dialects::strategy::{
    Directive, Kind, PartitionSpec, ResourceOp, SplitBackwardOp, Work, filter_attr,
};
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Module, Op, Reporter};
use piper_plan::partition::usual_total;

use super::Primitives;
use crate::lower_to_device::COMPUTE;
use crate::resource::check_partitions;

/// The stream of exchanges where none is named.
const EXCHANGES: &str = "a2a";

/// Replaces an `overlap` by the primitives it stands for, which are returned. Any other directive is left alone. With `split` the
/// backward is cut as well, so that weight gradients can fill what exchanges leave.
pub fn overlap(module: &mut Module, directive: &Directive, split: bool) -> Vec<Op> {
    let Kind::Overlap { axis, stream, off } = &directive.kind else { return Vec::new() };
    let ctx = module.ctx_arc();
    let text = |text: &str| Some(ctx.str_attr(text));
    let mut primitives = Primitives::instead_of(module, directive.op);
    if split {
        let filter = filter_attr(&ctx, "PASS", ctx.str_attr("B"));
        primitives.add(SplitBackwardOp::NAME, [("filter", Some(filter))]);
    }
    let work = ctx.array_attr([ctx.str_attr(Work::Exchange.name())]);
    let stream = text(stream.as_deref().unwrap_or(EXCHANGES));
    primitives
        .add(ResourceOp::NAME, [("stream", stream), ("work", Some(work)), ("over", text(axis))]);
    if !off {
        primitives.add(ResourceOp::NAME, [("interleave", text(axis))]);
    }
    primitives.finish()
}

/// Whether a directive of the plan cuts backwards already.
pub(super) fn splits_backward(module: &Module, plan: Op) -> bool {
    let block = module.only_block(plan);
    block.is_some_and(|block| {
        module.ops(block).any(|op| SplitBackwardOp::cast(module, op).is_some())
    })
}

/// Replaces an `sm_partition` by two partitions, which are returned: the streams named, and all that compute.
///
/// # Errors
/// A device that cannot be divided so; one of which is not known how much it has.
pub fn sm_partition(
    module: &mut Module,
    directive: &Directive,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Op>, PassFailed> {
    let Kind::SmPartition { comm } = directive.kind else { return Ok(Vec::new()) };
    let ctx = module.ctx_arc();
    let get = |name: &str| module.attr_by(directive.op, name);
    let arch = get("arch").and_then(|a| a.as_str(&ctx)).unwrap_or_default();
    let written = get("total").and_then(|t| t.as_int(&ctx)).and_then(|t| u32::try_from(t).ok());
    let Some(total) = written.or_else(|| usual_total(arch)) else {
        let message = format!("how many SMs a device of \"{arch}\" has is not known");
        reporter.error(directive.loc, message).hint("add total = ..., for example total = 148");
        return Err(PassFailed);
    };
    if comm >= total {
        let message = format!("{comm} of {total} leave nothing to compute with");
        let error = reporter.error(directive.loc, message);
        if arch == "cpu" {
            error.hint("a virtual device has one worker unless it is run with --threads-per-device: write total = ... for as many as it will have");
        }
        return Err(PassFailed);
    }
    let streams = get("streams").and_then(|s| s.as_array(&ctx)).unwrap_or(&[]).to_vec();
    let mut computing: Vec<Attr> = vec![ctx.str_attr(COMPUTE)];
    computing.extend(compute_streams(module, directive.op));
    computing.retain(|stream| !streams.contains(stream));
    let unit = if arch == "cpu" { "workers" } else { "sms" };
    let number = |n: u32| Some(ctx.int_attr(n.into()));
    let shared = [("arch", get("arch")), ("method", get("method")), ("total", get("total"))];
    let limits = [("ctas", get("ctas")), ("min_ctas", get("min_ctas")), ("nccl", get("nccl"))];
    let named = |name: &str, size: u32, streams: Vec<Attr>| {
        [
            ("partition", Some(ctx.str_attr(name))),
            (unit, number(size)),
            ("streams", Some(ctx.array_attr(streams))),
        ]
    };
    let first: Vec<_> =
        named("comm", comm, streams).into_iter().chain(shared).chain(limits).collect();
    let second: Vec<_> =
        named("compute", total - comm, computing).into_iter().chain(shared).collect();
    let spec = |attrs: &[(&str, Option<Attr>)]| -> Option<PartitionSpec> {
        let value = |name: &str| attrs.iter().find(|(key, _)| *key == name)?.1;
        piper_dialects::strategy::partition_of(&ctx, value)
    };
    let asked: Vec<_> = [spec(&first), spec(&second)]
        .into_iter()
        .flatten()
        .map(|spec| (spec, directive.loc))
        .collect();
    // What is left is what it is: only the part asked for is the user's.
    let faults = reporter.error_count();
    if !check_partitions(&asked[..1.min(asked.len())], reporter)
        || !check_partitions(&asked, reporter)
        || reporter.error_count() > faults
    {
        return Err(PassFailed);
    }
    let mut primitives = Primitives::instead_of(module, directive.op);
    primitives.add(ResourceOp::NAME, first);
    primitives.add(ResourceOp::NAME, second);
    Ok(primitives.finish())
}

/// Streams that `resource` directives of the same plan give to compute nodes.
fn compute_streams(module: &Module, directive: Op) -> Vec<Attr> {
    let ctx = module.ctx();
    let compute = ctx.str_attr(Work::Compute.name());
    let mut streams: Vec<Attr> = Vec::new();
    for op in module.parent_block(directive).into_iter().flat_map(|block| module.ops(block)) {
        let Some(resource) = ResourceOp::cast(module, op) else { continue };
        let work = resource.work(module).and_then(|work| work.as_array(ctx)).unwrap_or(&[]);
        if let Some(stream) = resource.stream(module).filter(|_| work.contains(&compute))
            && !streams.contains(&stream)
        {
            streams.push(stream);
        }
    }
    streams
}
